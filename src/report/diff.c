/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A difference for people: what has grown first, what has shrunk most last, each with the numbers
 * before and after, and with the error of the change where they are estimates: a change that
 * sampling alone may have made is marked.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "report/layout.h"
#include "report/text.h"

#define INTERVAL_95 1.96 /* half the width of the interval, in standard errors */

struct diff_table {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	size_t first;	/* rows shown from the top */
	size_t last;	/* and from the end: what has shrunk most */
	size_t changed; /* rows with a change */
	struct layout layout;
	struct str cell;
	struct str line;
};

struct diff_column {
	const char *head;
	void (*cell)(const struct diff_table *t, const struct allocsnoop_sample *s,
		     struct str *cell);
	bool sampled; /* only where numbers are estimates */
	bool left;
	u8 spare; /* as of a layout's column */
};

static bool is_bytes(enum allocsnoop_value value)
{
	return value == ALLOCSNOOP_ALLOC_BYTES || value == ALLOCSNOOP_LIVE_BYTES;
}

/* The same of blocks where it's bytes, and the other way round. */
static enum allocsnoop_value other_unit(enum allocsnoop_value value)
{
	static const enum allocsnoop_value other[] = {
		[ALLOCSNOOP_ALLOC_BYTES] = ALLOCSNOOP_ALLOC_COUNT,
		[ALLOCSNOOP_ALLOC_COUNT] = ALLOCSNOOP_ALLOC_BYTES,
		[ALLOCSNOOP_LIVE_BYTES] = ALLOCSNOOP_LIVE_COUNT,
		[ALLOCSNOOP_LIVE_COUNT] = ALLOCSNOOP_LIVE_BYTES,
	};

	return (size_t)value < ARRAY_SIZE(other) ? other[value] : ALLOCSNOOP_ALLOC_COUNT;
}

static void add_amount(struct str *s, enum allocsnoop_value value, u64 amount)
{
	if (is_bytes(value))
		look__bytes(s, amount);
	else
		str__addf(s, "%" PRIu64, amount);
}

static void add_change(struct str *s, enum allocsnoop_value value, s64 change)
{
	if (is_bytes(value))
		look__signed_bytes(s, change);
	else
		str__addf(s, change ? "%+" PRId64 : "%" PRId64, change);
}

/* ---- header ---- */

static void add_side(struct str *s, const char *label, const char *target, u64 duration_ns)
{
	char buf[32];

	bool named = target && *target;

	if (!named && !duration_ns)
		return;
	str__addf(s, TEXT_LABEL, label);
	if (named)
		look__name(s, target);
	if (duration_ns) /* profiles of others may not know */
		str__addf(s, "%s%s", named ? ", in " : "in ", units__format_ns(duration_ns, buf));
	str__add(s, "\n");
}

static void add_mode(struct str *s, const struct allocsnoop_info *info, u64 sampled_cnt)
{
	str__addf(s, TEXT_LABEL, "mode");
	look__name(s, info->mode);
	str__add(s, ", a difference");
	str__add(s, info->exact ? " of exact counts\n" : ", estimated from ");
	if (!info->exact)
		look__count(s, sampled_cnt, "sample\n", "samples\n");
	if (info->at_least)
		str__addf(s, TEXT_LABEL "of lower bounds: see --max-overhead\n", "");
}

/* Hits that the value rests on: of those behind the row most may be freed, see look.c. */
static u64 samples(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	double est = (double)s->live_count + (double)s->base_live_count, cnt;

	if (value != ALLOCSNOOP_LIVE_BYTES && value != ALLOCSNOOP_LIVE_COUNT)
		return s->sampled_count;
	cnt = s->live_count_var > 0 ? est * est / s->live_count_var : 0;
	return cnt < (double)s->sampled_count ? (u64)round(cnt) : s->sampled_count;
}

/* What a sampled profile hasn't got may have been missed. */
static bool is_counted(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	return s->sampled_count == sum__add(s->alloc_count, s->base_alloc_count) &&
	       !sample__value(s, value) == !sample__base(s, value);
}

static void add_interval(struct str *s, const struct allocsnoop_sample *row,
			 enum allocsnoop_value value, double se, bool ascii)
{
	const struct interval i = {
		.se = se,
		.sampled_cnt = samples(row, value),
		.counted = is_counted(row, value),
		.bytes = is_bytes(value),
		.ascii = ascii,
	};

	look__interval(s, &i);
}

/* A total's name, its error, and what it counts. */
struct total {
	const char *label;
	enum allocsnoop_value value;
	double se;
	const char *unit;
};

static void add_total(struct str *s, const struct total *t, const struct allocsnoop_info *info,
		      const struct allocsnoop_sample *all, bool ascii)
{
	s64 change = sample__change(all, t->value);

	str__addf(s, TEXT_LABEL, t->label);
	if (info->exact && !change) {
		str__addf(s, "no change: %" PRIu64 " %s\n", sample__value(all, t->value), t->unit);
		return;
	}
	add_change(s, t->value, change);
	if (is_bytes(t->value) && (change >= 1024 || change <= -1024))
		str__addf(s, " (%+" PRId64 ")", change);
	if (!info->exact) {
		str__add(s, " ");
		add_interval(s, all, t->value, t->se, ascii);
	}
	str__addf(s, ", from %" PRIu64 " to %" PRIu64 " %s\n", sample__base(all, t->value),
		  sample__value(all, t->value), t->unit);
}

void diff__add_header(struct str *s, const struct allocsnoop_profile *p,
		      const struct allocsnoop_report_opts *opts)
{
	const struct allocsnoop_info *info = &p->info;
	const struct total totals[] = {
		{ "allocated", ALLOCSNOOP_ALLOC_BYTES, info->alloc_bytes_se, "bytes" },
		{ "", ALLOCSNOOP_ALLOC_COUNT, info->alloc_count_se, "calls" },
		{ "live", ALLOCSNOOP_LIVE_BYTES, info->live_bytes_se, "bytes" },
		{ "", ALLOCSNOOP_LIVE_COUNT, info->live_count_se, "blocks" },
	};
	struct allocsnoop_sample all;

	profile__sum(p, &all);
	add_side(s, "before", info->base_target, info->base_duration_ns);
	add_side(s, "after", info->target, info->duration_ns);
	add_mode(s, info, all.sampled_count);
	filter__add_header(s, info, opts);
	for (size_t i = 0; i < (strcmp(info->mode, "live") ? 2 : ARRAY_SIZE(totals)); i++)
		add_total(s, &totals[i], info, &all, opts->ascii);
	if (p->losses.cnt)
		str__addf(s, TEXT_LABEL "of both, listed at the end\n", "losses");
}

/* ---- cells ---- */

static void change_cell(const struct diff_table *t, const struct allocsnoop_sample *s,
			struct str *cell)
{
	add_change(cell, t->opts->value, sample__change(s, t->opts->value));
}

static void error_cell(const struct diff_table *t, const struct allocsnoop_sample *s,
		       struct str *cell)
{
	double se = sqrt(sample__variance(s, t->opts->value));
	double change = fabs((double)sample__change(s, t->opts->value));
	u64 cnt = samples(s, t->opts->value);

	if (s->at_least) {
		str__add(cell, "lower bounds");
		return;
	}
	add_interval(cell, s, t->opts->value, se, t->opts->ascii);
	if (cnt >= TEXT_FEW_SAMPLES && change < INTERVAL_95 * se)
		str__add(cell, ", within noise");
}

static void before_cell(const struct diff_table *t, const struct allocsnoop_sample *s,
			struct str *cell)
{
	add_amount(cell, t->opts->value, sample__base(s, t->opts->value));
}

static void after_cell(const struct diff_table *t, const struct allocsnoop_sample *s,
		       struct str *cell)
{
	add_amount(cell, t->opts->value, sample__value(s, t->opts->value));
}

static void other_cell(const struct diff_table *t, const struct allocsnoop_sample *s,
		       struct str *cell)
{
	enum allocsnoop_value other = other_unit(t->opts->value);

	add_change(cell, other, sample__change(s, other));
	str__add(cell, is_bytes(other)			? ""
		       : other == ALLOCSNOOP_LIVE_COUNT ? " blocks"
							: " calls");
}

static void add_frame(struct str *cell, const struct allocsnoop_sample *s, size_t i)
{
	if (i < s->frame_cnt)
		look__name(cell, s->frames[i]->function);
	else
		str__addf(cell, "[unknown caller: %s]", allocsnoop__end_name(s->end));
}

static void add_size(struct str *cell, const struct allocsnoop_sample *s)
{
	if (s->size_low == s->size_high)
		str__addf(cell, "%" PRIu64 " B", s->size_low);
	else
		str__addf(cell, "%" PRIu64 " - %" PRIu64 " B", s->size_low, s->size_high);
}

static void add_comm(struct str *cell, const struct allocsnoop_sample *s)
{
	look__name(cell, *s->comm ? s->comm : "[several or unknown]");
	if (s->pid_cnt > 1)
		str__addf(cell, " (%u processes)", s->pid_cnt);
}

/* What the row is of. */
static void name_cell(const struct diff_table *t, const struct allocsnoop_sample *s,
		      struct str *cell)
{
	switch (t->opts->by) {
	case ALLOCSNOOP_BY_FUNCTION:
		add_frame(cell, s, 1);
		break;
	case ALLOCSNOOP_BY_FILE:
		add_frame(cell, s, 0);
		break;
	case ALLOCSNOOP_BY_SIZE:
		add_size(cell, s);
		break;
	case ALLOCSNOOP_BY_TYPE:
		look__name(cell, s->type && *s->type ? s->type : "[unknown type]");
		break;
	case ALLOCSNOOP_BY_THREAD:
		look__name(cell, s->thread && *s->thread ? s->thread : "[unknown thread]");
		str__add(cell, " of ");
		add_comm(cell, s);
		break;
	default:
		add_comm(cell, s);
	}
}

static const struct diff_column columns[] = {
	{ "change", change_cell, .left = false }, { "95 %", error_cell, .sampled = true },
	{ "before", before_cell, .spare = 2 },	  { "after", after_cell, .spare = 1 },
	{ "in", other_cell, .spare = 3 },	  { "", name_cell, .left = true },
};

/* ---- lines ---- */

static bool has_stacks(const struct diff_table *t)
{
	return t->opts->by == ALLOCSNOOP_BY_STACK;
}

/* s NULL: the headings. */
static void make_cell(struct diff_table *t, const struct diff_column *c,
		      const struct allocsnoop_sample *s)
{
	static const char *const heads[] = {
		[ALLOCSNOOP_BY_STACK] = "process",   [ALLOCSNOOP_BY_FUNCTION] = "function",
		[ALLOCSNOOP_BY_FILE] = "file",	     [ALLOCSNOOP_BY_PROCESS] = "process",
		[ALLOCSNOOP_BY_SIZE] = "block size", [ALLOCSNOOP_BY_THREAD] = "thread",
		[ALLOCSNOOP_BY_TYPE] = "type",
	};
	size_t by = t->opts->by;

	str__clear(&t->cell);
	if (s)
		c->cell(t, s, &t->cell);
	else if (*c->head)
		str__add(&t->cell, c->head);
	else
		str__add(&t->cell, by < ARRAY_SIZE(heads) ? heads[by] : "row");
	t->line.oom |= t->cell.oom;
}

static void widen(struct diff_table *t, const struct allocsnoop_sample *s)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		make_cell(t, &columns[c], s);
		layout__widen(&t->layout, c, &t->cell);
	}
}

/* Above its frames a row is their title. */
static int print_cells(struct diff_table *t, const struct allocsnoop_sample *s)
{
	enum paint paint = !s ? PAINT_ASIDE : has_stacks(t) ? PAINT_TITLE : PAINT_NONE;

	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		make_cell(t, &columns[c], s);
		layout__add(&t->layout, c, &t->cell, paint, &t->line);
	}
	return text__line(&t->line, t->out);
}

/* The rows that are shown: from the top, then from the end. */
static const struct allocsnoop_sample *table__row(const struct diff_table *t, size_t i)
{
	return &t->p->samples.v[i < t->first ? i : t->p->samples.cnt - t->last + (i - t->first)];
}

static int print_row(struct diff_table *t, size_t i)
{
	int err = 0;

	if (has_stacks(t) && i > 0)
		err = text__line(&t->line, t->out);
	if (!err)
		err = print_cells(t, table__row(t, i));
	if (!err && has_stacks(t))
		err = stack__write(table__row(t, i), t->opts, t->out);
	return err;
}

static void lay_out(struct diff_table *t)
{
	t->layout = (struct layout){ .opts = t->opts, .cnt = ARRAY_SIZE(columns) };
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		t->layout.columns[c] = (struct layout_column){
			.shown = !columns[c].sampled || !t->p->info.exact,
			.left = columns[c].left,
			.main = columns[c].left,
			.spare = columns[c].spare,
		};
	widen(t, NULL);
	for (size_t i = 0; i < t->first + t->last; i++)
		widen(t, table__row(t, i));
	layout__fit(&t->layout);
}

/* ---- rows that aren't shown ---- */

/* What lies between the two ends. */
static int print_rest(struct diff_table *t)
{
	struct allocsnoop_sample rest = { .comm = "", .allocator = "" };
	size_t end = t->p->samples.cnt - t->last;

	if (t->first + t->last >= t->changed)
		return 0;
	for (size_t i = t->first; i < end; i++)
		sample__add(&rest, &t->p->samples.v[i]);
	str__add(&t->line, "\n  ");
	look__count(&t->line, t->changed - t->first - t->last,
		    "more row with a change not shown: ", "more rows with a change not shown: ");
	add_change(&t->line, t->opts->value, sample__change(&rest, t->opts->value));
	str__add(&t->line, " together");
	return text__line(&t->line, t->out);
}

static void add_title(struct diff_table *t)
{
	static const char *const rows[] = {
		[ALLOCSNOOP_BY_STACK] = "stacks",     [ALLOCSNOOP_BY_FUNCTION] = "functions",
		[ALLOCSNOOP_BY_FILE] = "files",	      [ALLOCSNOOP_BY_PROCESS] = "processes",
		[ALLOCSNOOP_BY_SIZE] = "block sizes", [ALLOCSNOOP_BY_THREAD] = "threads",
		[ALLOCSNOOP_BY_TYPE] = "types",
	};
	size_t by = t->opts->by, shown = t->first + t->last;

	str__addf(&t->line, "%s by change of %s", by < ARRAY_SIZE(rows) ? rows[by] : "rows",
		  text__value_name(t->opts->value));
	if (!t->changed)
		str__add(&t->line, ": nothing changed");
	else if (shown < t->changed)
		str__addf(&t->line, ", %zu of %zu that changed:", shown, t->changed);
	else
		str__add(&t->line, ":");
}

/* As many of both ends as there are, growth first where there are too many. */
static void choose_rows(struct diff_table *t)
{
	size_t top = t->opts->top ? t->opts->top : TEXT_ROWS_BY_DEFAULT, grown = 0, shrunk = 0;

	for (size_t i = 0; i < t->p->samples.cnt; i++) {
		s64 change = sample__change(&t->p->samples.v[i], t->opts->value);

		grown += change > 0;
		shrunk += change < 0;
	}
	t->changed = grown + shrunk;
	t->first = MIN(grown, MAX(top - top / 2, top - MIN(top, shrunk)));
	t->last = MIN(shrunk, top - t->first);
}

static int print_table(struct diff_table *t)
{
	size_t shown;
	int err;

	choose_rows(t);
	shown = t->first + t->last;
	add_title(t);
	err = text__painted(&t->line, t->opts, PAINT_TITLE, t->out);
	if (err || !shown)
		return err;
	lay_out(t);
	err = print_cells(t, NULL);
	for (size_t i = 0; !err && i < shown; i++)
		err = print_row(t, i);
	return err ? err : print_rest(t);
}

int diff__write_rows(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out)
{
	struct diff_table t = { .p = p, .opts = opts, .out = out };
	struct allocsnoop_profile *sums = NULL;
	int err;

	if (opts->by == ALLOCSNOOP_BY_PROCESS || opts->by == ALLOCSNOOP_BY_THREAD) {
		t.p = sums = opts->by == ALLOCSNOOP_BY_THREAD ? profile__sum_threads(p)
							      : profile__sum_processes(p);
		if (!sums)
			return err__fail(-ENOMEM, "cannot write the report: out of memory");
		profile__sort(sums, opts->value);
	}
	err = print_table(&t);
	str__free(&t.cell);
	str__free(&t.line);
	profile__free(sums);
	return err;
}
