/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report for people: what was traced and how sure the numbers are, then the rows, then what was
 * not seen. A reader who stops after the header must not be misled.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "report/text.h"
#include "report/writer.h"

static bool is_live(const struct allocsnoop_info *info)
{
	return !strcmp(info->mode, "live");
}

/* Is something else than calls of allocators among what was traced? */
static bool is_growth(const struct allocsnoop_info *info)
{
	return info->trace & ~ALLOCSNOOP_TRACE_MALLOC;
}

static void add_traced(struct str *s, const struct allocsnoop_info *info)
{
	static const struct {
		u32 trace;
		const char *text;
	} kinds[] = {
		{ ALLOCSNOOP_TRACE_MALLOC, "allocation calls" },
		{ ALLOCSNOOP_TRACE_MMAP, "mmap" },
		{ ALLOCSNOOP_TRACE_BRK, "growth of the break" },
		{ ALLOCSNOOP_TRACE_FAULT, "first touches of anonymous memory" },
	};
	const char *between = "";

	str__addf(s, TEXT_LABEL, "traced");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!(info->trace & kinds[i].trace))
			continue;
		str__addf(s, "%s%s", between, kinds[i].text);
		between = ", ";
	}
	str__add(s, "\n");
}

static void add_mode(struct str *s, const struct allocsnoop_info *info, u64 sampled_cnt)
{
	str__addf(s, TEXT_LABEL, "mode");
	look__name(s, info->mode);
	if (info->exact) {
		str__addf(s, ", exact: every %s was counted%s\n",
			  is_growth(info) ? "event" : "allocation call",
			  !is_live(info)    ? ""
			  : is_growth(info) ? ", and what was given back"
					    : ", and every free");
		return;
	}
	str__addf(s, ", estimated from %" PRIu64 " samples", sampled_cnt);
	if (info->budget_pct > 0)
		str__addf(s, " in %" PRIu64 " windows", info->windows);
	if (info->sampling == ALLOCSNOOP_RATE)
		str__addf(s, ", each allocation kept with probability %g", info->sampling_value);
	if (info->sampling == ALLOCSNOOP_BYTES) {
		str__add(s, ", one kept per ");
		look__bytes(s, (u64)info->sampling_value);
		str__add(s, " on average");
	}
	str__add(s, info->budget_pct > 0 ? " (ratio to progress)\n" : " (Horvitz-Thompson)\n");
}

/* What there was of --max-overhead, and what came of it. */
static void add_coverage(struct str *s, const struct allocsnoop_info *info)
{
	char buf[32];

	if (!(info->budget_pct > 0))
		return;
	str__addf(s, TEXT_LABEL, "coverage");
	if (info->exact)
		str__add(s, "all");
	else if (info->coverage >= 0)
		str__addf(s, "%.3g %% of the targets' progress", info->coverage * 100);
	else
		str__add(s, "not known");
	if (info->windows)
		str__addf(s, ", in %" PRIu64 " windows of %s", info->windows,
			  units__format_ns((u64)info->window_ns, buf));
	str__addf(s, "; cost %.2g %% of a budget of %g %% (--max-overhead)\n", info->cost_pct,
		  info->budget_pct);
	if (info->at_least)
		str__addf(s, TEXT_LABEL "%s\n", "",
			  info->windows ? "lower bounds where probes took most of the time or no "
					  "window came"
					: "lower bounds: it ended before the first window");
}

/* A total of an estimate: "1610612736 ± 12700000 bytes (95 %)". */
static void add_estimate(struct str *s, u64 val, double se, u64 sampled_cnt, const char *unit,
			 bool at_least)
{
	str__addf(s, "%s%" PRIu64, at_least ? "at least " : "", val);
	if (at_least) {
		str__addf(s, " %s", unit);
		return;
	}
	if (sampled_cnt < TEXT_FEW_SAMPLES) {
		str__addf(s, " %s (few samples)", unit);
		return;
	}
	str__add(s, " ");
	look__interval(s, se, sampled_cnt, false);
	str__addf(s, " %s (95 %%)", unit);
}

void text__add_amount(struct str *s, const struct amount *a, bool exact)
{
	str__addf(s, TEXT_LABEL, a->label);
	str__add(s, a->at_least ? "at least " : "");
	look__bytes(s, a->bytes);
	if (exact) {
		if (a->bytes >= 1024)
			str__addf(s, " (%" PRIu64 " bytes)", a->bytes);
		str__addf(s, " in %" PRIu64 " %s\n", a->count, a->unit);
		return;
	}
	str__add(s, ": ");
	add_estimate(s, a->bytes, a->bytes_se, a->sampled_cnt, "bytes", a->at_least);
	str__addf(s, "\n" TEXT_LABEL, "");
	add_estimate(s, a->count, a->count_se, a->sampled_cnt, a->unit, a->at_least);
	str__add(s, "\n");
}

static void add_total(struct str *s, const struct allocsnoop_info *info, u64 sampled_cnt)
{
	const struct amount total = {
		.label = "total",
		.unit = "allocations",
		.bytes = info->alloc_bytes,
		.count = info->alloc_count,
		.bytes_se = info->alloc_bytes_se,
		.count_se = info->alloc_count_se,
		.sampled_cnt = sampled_cnt,
		.at_least = info->at_least,
	};

	text__add_amount(s, &total, info->exact);
}

static void add_processes(struct str *s, const struct allocsnoop_profile *p)
{
	u64 all = 0, exited = 0;

	if (!p->processes.cnt)
		return;
	for (size_t i = 0; i < p->processes.cnt; i++) {
		u64 cnt = MAX(p->processes.v[i].count, 1u);

		all += cnt;
		exited += p->processes.v[i].exited ? cnt : 0;
	}
	str__addf(s, TEXT_LABEL "%" PRIu64, "processes", all);
	if (exited)
		str__addf(s, ", %" PRIu64 " of them exited", exited);
	str__add(s, "\n");
}

static void add_header(struct str *s, const struct allocsnoop_profile *p,
		       const struct allocsnoop_report_opts *opts)
{
	const struct allocsnoop_info *info = &p->info;
	struct allocsnoop_sample all;
	char buf[32];

	profile__sum(p, &all);
	if (*info->target) {
		str__addf(s, TEXT_LABEL, "target");
		if (info->profile_cnt > 1)
			str__addf(s, "sum of %u profiles: ", info->profile_cnt);
		look__name(s, info->target);
		str__add(s, "\n");
	}
	if (is_growth(info))
		add_traced(s, info);
	add_mode(s, info, all.sampled_count);
	add_coverage(s, info);
	str__addf(s, TEXT_LABEL "%s\n", "duration", units__format_ns(info->duration_ns, buf));
	add_processes(s, p);
	str__addf(s, TEXT_LABEL "%" PRIu64 "%s\n", "events", info->events,
		  is_growth(info) ? "" : " allocation calls");
	if (info->failed_count)
		str__addf(s, TEXT_LABEL "%" PRIu64 " calls %s, in no other number\n", "failed",
			  info->failed_count,
			  is_growth(info)  ? "that failed"
			  : !is_live(info) ? "with impossible sizes"
			  : info->exact	   ? "that failed"
					   : "seen to fail (returns of kept ones only)");
	filter__add_header(s, info, opts);
	add_total(s, info, all.sampled_count);
	if (is_live(info))
		live__add_header(s, p, &all);
	if (p->losses.cnt)
		str__addf(s, TEXT_LABEL "%zu kinds, listed at the end\n", "losses", p->losses.cnt);
	str__add(s, "\n");
}

static void add_losses(struct str *s, const struct allocsnoop_profile *p)
{
	int name_width = 0, count_width = 0;

	if (!p->losses.cnt) {
		str__add(s, "\nno losses\n");
		return;
	}
	for (size_t i = 0; i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		name_width = MAX(name_width, (int)strlen(l->name));
		count_width = MAX(count_width, snprintf(NULL, 0, "%" PRIu64, l->count));
	}
	str__add(s, "\nlosses:\n");
	for (size_t i = 0; i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		str__addf(s, "  %*" PRIu64 "  %-*s  ", count_width, l->count, name_width, l->name);
		look__name(s, l->text);
		str__add(s, "\n");
	}
}

static int print_str(struct str *s, FILE *out)
{
	if (s->oom)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	fwrite(s->s, 1, s->len, out);
	str__clear(s);
	return ferror(out) ? writer__done(out) : 0;
}

int text__line(struct str *line, FILE *out)
{
	while (line->len && line->s[line->len - 1] == ' ')
		line->len--;
	str__add(line, "\n");
	return print_str(line, out);
}

static int write_tables(const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	int err = table__write(p, opts, out);

	if (!err && is_live(&p->info))
		err = live__write_sections(p, opts, out);
	if (!err && !is_live(&p->info) && opts->by != ALLOCSNOOP_BY_PROCESS)
		err = process__write(p, opts, out);
	return err;
}

/* A profile by process still has its stacks, for programs; people want one row a process. */
static int write_rows(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	struct allocsnoop_profile *sums;
	int err;

	if (p->info.diff)
		return diff__write_rows(p, opts, out);
	if (opts->by != ALLOCSNOOP_BY_PROCESS)
		return write_tables(p, opts, out);
	sums = profile__sum_processes(p);
	if (!sums)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	profile__sort(sums, opts->value);
	err = write_tables(sums, opts, out);
	profile__free(sums);
	return err;
}

static int write_all(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out)
{
	struct str s = { 0 };
	int err;

	if (p->info.diff)
		diff__add_header(&s, p, opts);
	else
		add_header(&s, p, opts);
	err = print_str(&s, out);
	if (!err)
		err = write_rows(p, opts, out);
	add_losses(&s, p);
	if (!err)
		err = print_str(&s, out);
	str__free(&s);
	return err ? err : writer__done(out);
}

static int text_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	/* A program that embeds the library may have set a locale with a decimal comma. */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;
	int err;

	if (!c)
		return err__fail(-errno, "cannot write the report: %s", strerror(errno));
	old = uselocale(c);
	err = write_all(p, opts, out);
	uselocale(old);
	freelocale(c);
	return err;
}

const struct writer writer_text = {
	.name = "text",
	.help = "for people: header, stacks by value, losses",
	.extension = "txt",
	.write = text_write,
};
