/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the text report says when frees were followed. The one idea: every allocated block is in
 * exactly one line of the header (live, younger, freed, at exit, untracked, unfollowed), so that
 * nobody takes for a leak what is none; the sections after the table look at the same rows from
 * other sides.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "report/table.h"

/* ---- header ---- */

static void add_live(struct str *s, const struct allocsnoop_info *info,
		     const struct allocsnoop_sample *all, bool ascii)
{
	const struct amount live = {
		.label = "live",
		.unit = "block",
		.units = "blocks",
		.bytes = info->live_bytes,
		.count = info->live_count,
		.bytes_se = info->live_bytes_se,
		.count_se = info->live_count_se,
		.sampled_cnt = look__live_samples(all),
		.counted = look__is_counted(all),
		.ascii = ascii,
	};

	text__add_amount(s, &live, info->exact);
	if (!info->older_ns)
		return;
	str__addf(s, TEXT_LABEL "live counts only blocks older than ", "filter");
	look__ns(s, (double)info->older_ns);
	str__add(s, "\n");
}

/* No errors: of estimates only the live ones have them. */
static void add_blocks(struct str *s, const char *label, u64 bytes, u64 count, const char *what)
{
	if (!count)
		return;
	str__addf(s, TEXT_LABEL, label);
	look__bytes(s, bytes);
	str__add(s, " in ");
	look__count(s, count, "block", "blocks");
	str__addf(s, "%s\n", what);
}

/* What is left of `all` without the parts; estimates are rounded, so parts may exceed the whole. */
static u64 without(u64 all, u64 part)
{
	return all - MIN(all, part);
}

/* Live, but not old enough for the filter. */
static void add_younger(struct str *s, const struct allocsnoop_info *info)
{
	u64 bytes = without(info->alloc_bytes, info->live_bytes);
	u64 count = without(info->alloc_count, info->live_count);

	if (!info->older_ns)
		return;
	bytes = without(bytes, info->freed_bytes);
	bytes = without(bytes, info->exit_bytes);
	bytes = without(bytes, info->untracked_bytes);
	count = without(count, info->freed_count);
	count = without(count, info->exit_count);
	count = without(count, info->untracked_count);
	add_blocks(s, "younger", bytes, count, ": not freed, but not counted as live either");
}

static void add_grown(struct str *s, const struct allocsnoop_info *info)
{
	if (!info->grown)
		return;
	str__addf(s, TEXT_LABEL, "grown");
	look__signed_bytes(s, info->grown_bytes);
	str__addf(s, " in %+" PRId64 " block%s since the last report\n", info->grown_count,
		  info->grown_count == 1 || info->grown_count == -1 ? "" : "s");
}

static void add_temporary(struct str *s, const struct allocsnoop_info *info)
{
	if (!info->temporary_count)
		return;
	str__addf(s, TEXT_LABEL, "temporary");
	look__count(s, info->temporary_count, "block, ", "blocks, ");
	look__share(s, info->temporary_count, info->alloc_count);
	str__add(s, " of all: freed before the thread's next one\n");
}

/* Rows of garbage collectors and of pools without a free: their blocks are the untracked ones that
 * no loss explains. */
static struct allocsnoop_sample collected_sum(const struct allocsnoop_profile *p)
{
	struct allocsnoop_sample sum = { 0 };

	for (size_t i = 0; i < p->samples.cnt; i++) {
		if (p->samples.v[i].collected)
			sample__add(&sum, &p->samples.v[i]);
	}
	return sum;
}

static void add_untracked(struct str *s, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;
	const struct allocsnoop_sample gc = collected_sum(p);

	add_blocks(s, "untracked", without(info->untracked_bytes, gc.untracked_bytes),
		   without(info->untracked_count, gc.untracked_count),
		   ": live or freed, see the losses");
	if (!gc.alloc_count)
		return;
	str__addf(s, TEXT_LABEL, "unfollowed");
	look__bytes(s, gc.alloc_bytes);
	str__add(s, " in ");
	look__count(s, gc.alloc_count, "block", "blocks");
	str__add(s, " of collectors or pools: no frees can be seen\n");
}

static void add_unknown(struct str *s, const struct allocsnoop_info *info)
{
	if (!info->unknown_frees)
		return;
	str__addf(s, TEXT_LABEL, "unknown");
	look__count(s, info->unknown_frees, "free of a block", "frees of blocks");
	str__add(s, " from before the start or a fork\n");
}

/* ---- lifetimes ---- */

/* Powers of two that are read as 1 us, 1 ms, 1 s and so on; printed as what they are. */
static const u8 life_bounds[] = { 10, 13, 17, 20, 23, 27, 30, 33, 36, 39, 42, 45 };

static u64 life_sum(const u64 *classes, size_t from, size_t to)
{
	u64 sum = 0;

	for (size_t i = from; i < to; i++)
		sum = sum__add(sum, classes[i]);
	return sum;
}

/* Parts of a list that begins at *line; where the next one may pass 80 columns, in a new line. */
static void add_comma(struct str *s, size_t *line)
{
	const size_t longest = strlen(", 99.9 % < 134 ms,");

	if (s->len - *line + longest <= 80) {
		str__add(s, ", ");
		return;
	}
	str__add(s, ",\n");
	*line = s->len;
	str__addf(s, TEXT_LABEL, "");
}

/* "12.3 % < 1.0 us, 99.8 % < 1.0 ms, all < 8.6 s": shares of all blocks that are younger. */
static void add_lifetimes(struct str *s, const char *label, const char *what, const u64 *classes)
{
	u64 all = life_sum(classes, 0, ALLOCSNOOP_LIFE_CLASSES), below = 0;
	size_t from = 0, line = s->len;

	if (!all)
		return;
	str__addf(s, TEXT_LABEL "%s ", label, what);
	for (size_t i = 0; i < ARRAY_SIZE(life_bounds) && below < all; i++) {
		u64 more = life_sum(classes, from, life_bounds[i]);

		from = life_bounds[i];
		if (!more)
			continue;
		if (below)
			add_comma(s, &line);
		below = sum__add(below, more);
		if (below >= all)
			str__add(s, "all");
		else
			look__share(s, below, all);
		str__add(s, " < ");
		look__ns(s, (double)(1ull << life_bounds[i]));
	}
	if (below < all) {
		if (below)
			add_comma(s, &line);
		str__addf(s, "%s >= ", below ? "the rest" : "all");
		look__ns(s, (double)(1ull << from));
	}
	str__add(s, "\n");
}

static void add_all_lifetimes(struct str *s, const struct allocsnoop_profile *p)
{
	struct allocsnoop_lifetimes all = { 0 };

	for (size_t i = 0; i < p->samples.cnt; i++) {
		if (p->samples.v[i].lifetimes)
			lifetimes__add(&all, p->samples.v[i].lifetimes);
	}
	add_lifetimes(s, "lifetimes", "of freed blocks:", all.freed);
	add_lifetimes(s, "ages", "of blocks not freed:", all.live);
}

void live__add_header(struct str *s, const struct allocsnoop_profile *p,
		      const struct allocsnoop_sample *all, bool ascii)
{
	const struct allocsnoop_info *info = &p->info;

	add_live(s, info, all, ascii);
	add_younger(s, info);
	add_grown(s, info);
	add_blocks(s, "freed", info->freed_bytes, info->freed_count, "");
	add_temporary(s, info);
	add_blocks(s, "at exit", info->exit_bytes, info->exit_count,
		   ": given back by exit or exec, no leaks");
	add_untracked(s, p);
	add_unknown(s, info);
	add_all_lifetimes(s, p);
}

/* ---- sections ---- */

static u64 grown_bytes(const struct allocsnoop_sample *s, const void *arg)
{
	(void)arg;
	return sample__value(s, ALLOCSNOOP_GROWN_BYTES);
}

static u64 peak_bytes(const struct allocsnoop_sample *s, const void *arg)
{
	(void)arg;
	return s->peak_bytes;
}

static u64 exit_bytes(const struct allocsnoop_sample *s, const void *arg)
{
	(void)arg;
	return s->exit_bytes;
}

static u64 old_bytes(const struct allocsnoop_sample *s, const void *arg)
{
	(void)arg;
	return s->old_bytes;
}

static int write_grown(const struct allocsnoop_profile *p,
		       const struct allocsnoop_report_opts *opts, FILE *out)
{
	const struct section grown = {
		.part = PART_GROWN,
		.title = "growth since the last report",
		.value = grown_bytes,
	};

	if (!p->info.grown || opts->value == ALLOCSNOOP_GROWN_BYTES)
		return 0;
	return table__write_section(p, opts, &grown, out);
}

static int write_old(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out)
{
	struct section old = { .part = PART_OLD, .value = old_bytes };
	struct str title = { 0 };
	int err;

	if (!p->info.old_ns)
		return 0;
	str__add(&title, "bytes not freed for ");
	look__ns(&title, (double)p->info.old_ns);
	str__add(&title, " or longer");
	old.title = title.s;
	err = title.oom ? err__fail(-ENOMEM, "cannot write the report: out of memory")
			: table__write_section(p, opts, &old, out);
	str__free(&title);
	return err;
}

static int write_peak(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	const struct section peak = {
		.part = PART_PEAK,
		.title = "live bytes at the peak of their process",
		.value = peak_bytes,
	};

	return opts->value == ALLOCSNOOP_PEAK_BYTES ? 0 : table__write_section(p, opts, &peak, out);
}

static int write_exit(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	const struct section at_exit = {
		.part = PART_EXIT,
		.title = "bytes not freed before exit (given back by it: no leaks)",
		.value = exit_bytes,
	};

	return table__write_section(p, opts, &at_exit, out);
}

int live__write_sections(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, FILE *out)
{
	static int (*const writes[])(const struct allocsnoop_profile *p,
				     const struct allocsnoop_report_opts *opts, FILE *out) = {
		write_grown, write_old, process__write_heaps, write_peak, write_exit,
	};
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(writes); i++)
		err = writes[i](p, opts, out);
	return err;
}
