/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report for people: what was traced and how sure the numbers are, then the rows, then what was
 * not seen. A reader who stops after the header must not be misled.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/units.h"
#include "report/text.h"
#include "report/writer.h"

/* ---- lines ---- */

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

int text__wrapped(struct str *line, const struct allocsnoop_report_opts *opts, size_t indent,
		  FILE *out)
{
	struct str s = { .oom = line->oom };
	int err;

	paint__wrap(&s, line->s ? line->s : "", line->len, opts->width, indent);
	str__clear(line);
	err = print_str(&s, out);
	str__free(&s);
	return err;
}

int text__painted(struct str *line, const struct allocsnoop_report_opts *opts, enum paint paint,
		  FILE *out)
{
	struct str lines = { 0 }, painted = { .oom = line->oom };
	int err;

	paint__wrap(&lines, line->s ? line->s : "", line->len, opts->width, strlen("    "));
	paint__begin(&painted, opts, paint);
	if (lines.len)
		str__addn(&painted, lines.s, lines.len - strlen("\n"));
	paint__end(&painted, opts, paint);
	painted.oom |= lines.oom;
	str__clear(line);
	err = text__line(&painted, out);
	str__free(&lines);
	str__free(&painted);
	return err;
}

/* ---- header ---- */

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
	if (look__is_unknown(info, sampled_cnt)) {
		str__add(s, ", exact or sampled: not known\n");
		return;
	}
	str__add(s, ", estimated from ");
	look__count(s, sampled_cnt, "sample", "samples");
	if (info->budget_pct > 0) {
		str__add(s, " in ");
		look__count(s, info->windows, "window", "windows");
	}
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
static void add_coverage(struct str *s, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;
	char buf[32];

	if (!(info->budget_pct > 0))
		return;
	str__addf(s, TEXT_LABEL, "coverage");
	if (info->exact)
		str__add(s, "all");
	else if (info->coverage >= 0)
		str__addf(s, "%.3g %% of the targets' progress", info->coverage * 100);
	else
		str__add(s, info->events || p->processes.cnt ? "not known"
							     : "none: no process was met");
	if (info->windows) {
		str__add(s, ", in ");
		look__count(s, info->windows, "window", "windows");
		str__addf(s, " of %s", units__format_ns((u64)info->window_ns, buf));
	}
	str__addf(s, "; cost %.2g %% of a budget of %g %% (--max-overhead)\n", info->cost_pct,
		  info->budget_pct);
	if (info->at_least)
		str__addf(s, TEXT_LABEL "%s\n", "",
			  info->windows ? "lower bounds where probes took most of the time or no "
					  "window came"
					: "lower bounds: it ended before the first window");
}

/* A total of an estimate: "1610612736 ± 12700000 bytes (95 %)". */
static void add_estimate(struct str *s, const struct amount *a, u64 val, double se,
			 const char *unit)
{
	const struct interval interval = {
		.se = se,
		.sampled_cnt = a->sampled_cnt,
		.counted = a->counted,
		.ascii = a->ascii,
	};

	str__addf(s, "%s%" PRIu64, a->at_least ? "at least " : "", val);
	if (a->at_least) {
		str__addf(s, " %s", unit);
		return;
	}
	if (a->sampled_cnt < TEXT_FEW_SAMPLES && !(a->counted && se == 0)) {
		str__addf(s, " %s (few samples)", unit);
		return;
	}
	str__add(s, " ");
	look__interval(s, &interval);
	str__addf(s, " %s (95 %%)", unit);
}

void text__add_amount(struct str *s, const struct amount *a, bool exact)
{
	const char *unit = a->count == 1 ? a->unit : a->units;

	str__addf(s, TEXT_LABEL, a->label);
	str__add(s, a->at_least ? "at least " : "");
	look__bytes(s, a->bytes);
	if (exact) {
		if (a->bytes >= 1024)
			str__addf(s, " (%" PRIu64 " bytes)", a->bytes);
		str__addf(s, " in %" PRIu64 " %s\n", a->count, unit);
		return;
	}
	str__add(s, ": ");
	add_estimate(s, a, a->bytes, a->bytes_se, "bytes");
	str__addf(s, "\n" TEXT_LABEL, "");
	add_estimate(s, a, a->count, a->count_se, unit);
	str__add(s, "\n");
}

static void add_total(struct str *s, const struct allocsnoop_info *info,
		      const struct allocsnoop_sample *all, bool ascii)
{
	const struct amount total = {
		.label = "total",
		.unit = "allocation",
		.units = "allocations",
		.bytes = info->alloc_bytes,
		.count = info->alloc_count,
		.bytes_se = info->alloc_bytes_se,
		.count_se = info->alloc_count_se,
		.sampled_cnt = all->sampled_count,
		.counted = look__is_counted(all),
		.at_least = info->at_least,
		.ascii = ascii,
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
	if (exited && exited == all)
		str__add(s, all == 1 ? ", exited" : ", all exited");
	else if (exited)
		str__addf(s, ", %" PRIu64 " of them exited", exited);
	str__add(s, "\n");
}

static void add_failed(struct str *s, const struct allocsnoop_info *info)
{
	if (!info->failed_count)
		return;
	str__addf(s, TEXT_LABEL, "failed");
	look__count(s, info->failed_count, "call", "calls");
	str__addf(s, " %s, in no other number\n",
		  is_growth(info)  ? "that failed"
		  : !is_live(info) ? "with impossible sizes"
		  : info->exact	   ? "that failed"
				   : "seen to fail (returns of kept ones only)");
}

/* How long, and when: a saved profile is looked at much later. Profiles of others may know neither.
 */
static void add_duration(struct str *s, const struct allocsnoop_info *info)
{
	time_t started = (time_t)(info->started_ns / 1000000000);
	char buf[32];
	struct tm tm;

	if (!info->duration_ns && !info->started_ns)
		return;
	str__addf(s, TEXT_LABEL "%s", "duration",
		  info->duration_ns ? units__format_ns(info->duration_ns, buf) : "not known");
	if (info->started_ns && localtime_r(&started, &tm) &&
	    strftime(buf, sizeof(buf), "%F %T", &tm))
		str__addf(s, ", %s %s", info->profile_cnt > 1 ? "the first from" : "from", buf);
	str__add(s, "\n");
}

static void add_events(struct str *s, const struct allocsnoop_info *info)
{
	if (!info->events && (info->alloc_count || info->alloc_bytes))
		return;
	str__addf(s, TEXT_LABEL "%" PRIu64, "events", info->events);
	if (!is_growth(info))
		str__add(s, info->events == 1 ? " allocation call" : " allocation calls");
	str__add(s, "\n");
}

static void add_header(struct str *s, const struct allocsnoop_profile *p,
		       const struct allocsnoop_report_opts *opts)
{
	const struct allocsnoop_info *info = &p->info;
	struct allocsnoop_sample all;

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
	add_coverage(s, p);
	add_duration(s, info);
	add_processes(s, p);
	add_events(s, info);
	add_failed(s, info);
	filter__add_header(s, info, opts);
	add_total(s, info, &all, opts->ascii);
	if (is_live(info))
		live__add_header(s, p, &all, opts->ascii);
	if (!p->losses.cnt)
		return;
	str__addf(s, TEXT_LABEL, "losses");
	look__count(s, p->losses.cnt, "kind", "kinds");
	str__add(s, ", listed at the end\n");
}

/* Lines that begin with a label or with its width of blanks. */
static void dress_header(struct str *s, const struct str *plain,
			 const struct allocsnoop_report_opts *opts)
{
	const size_t label = strlen("unfollowed  ");

	for (size_t i = 0; i < plain->len;) {
		const char *line = plain->s + i, *end = memchr(line, '\n', plain->len - i);
		size_t len = end ? (size_t)(end - line) : plain->len - i;
		struct str wrapped = { 0 };

		paint__wrap(&wrapped, line, len, opts->width, label);
		if (wrapped.len > label) {
			paint__begin(s, opts, PAINT_ASIDE);
			str__addn(s, wrapped.s, label);
			paint__end(s, opts, PAINT_ASIDE);
			str__addn(s, wrapped.s + label, wrapped.len - label);
		} else {
			str__addn(s, wrapped.s ? wrapped.s : "", wrapped.len);
		}
		s->oom |= wrapped.oom;
		str__free(&wrapped);
		i += len + 1;
	}
}

static int write_header(const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct str plain = { 0 }, s = { 0 };
	int err;

	if (p->info.diff)
		diff__add_header(&plain, p, opts);
	else
		add_header(&plain, p, opts);
	s.oom = plain.oom;
	if (!plain.oom)
		dress_header(&s, &plain, opts);
	str__add(&s, "\n");
	err = print_str(&s, out);
	str__free(&plain);
	str__free(&s);
	return err;
}

/* ---- losses ---- */

static void add_losses(struct str *s, const struct allocsnoop_profile *p,
		       const struct allocsnoop_report_opts *opts)
{
	int name_width = 0, count_width = 0;
	struct str line = { 0 };

	if (!p->losses.cnt) {
		str__add(s, "\nno losses\n");
		return;
	}
	for (size_t i = 0; i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		name_width = MAX(name_width, (int)strlen(l->name));
		count_width = MAX(count_width, snprintf(NULL, 0, "%" PRIu64, l->count));
	}
	str__add(s, "\n");
	paint__begin(s, opts, PAINT_WARN);
	str__add(s, "losses:");
	paint__end(s, opts, PAINT_WARN);
	str__add(s, "\n");
	for (size_t i = 0; i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		str__clear(&line);
		str__addf(&line, "  %*" PRIu64 "  %-*s  ", count_width, l->count, name_width,
			  l->name);
		look__name(&line, l->text);
		s->oom |= line.oom;
		paint__wrap(s, line.s ? line.s : "", line.len, opts->width,
			    count_width + name_width + 6);
	}
	str__free(&line);
}

/* ---- the whole ---- */

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

static int write_tree(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	int err = tree__write(p, opts, out);

	/* The processes of a difference are those of later only. */
	if (err || p->info.diff)
		return err;
	return is_live(&p->info) ? process__write_heaps(p, opts, out)
				 : process__write(p, opts, out);
}

/* A profile by process or thread still has its stacks, for programs; people want one row each. */
static int write_rows(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	bool threads = opts->by == ALLOCSNOOP_BY_THREAD;
	struct allocsnoop_profile *sums;
	int err;

	if (opts->tree)
		return write_tree(p, opts, out);
	if (p->info.diff)
		return diff__write_rows(p, opts, out);
	if (opts->by != ALLOCSNOOP_BY_PROCESS && !threads)
		return write_tables(p, opts, out);
	sums = threads ? profile__sum_threads(p) : profile__sum_processes(p);
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
	int err = write_header(p, opts, out);

	if (!err)
		err = write_rows(p, opts, out);
	add_losses(&s, p, opts);
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
