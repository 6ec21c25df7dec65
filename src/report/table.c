/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the text report. The one idea: cells are made twice, once to learn the widths and
 * once to print, so a report of any length needs no memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/table.h"

/* ---- lines ---- */

static void make_cell(struct table *t, const struct column *c, const struct allocsnoop_sample *s)
{
	str__clear(&t->cell);
	if (s)
		c->cell(t, s, &t->cell);
	else
		str__add(&t->cell, c->head);
	t->line.oom |= t->cell.oom;
}

/* s NULL: the headings. Above its frames a row is their title. */
static int print_cells(struct table *t, const struct allocsnoop_sample *s)
{
	bool stacks = t->opts->by == ALLOCSNOOP_BY_STACK;

	for (size_t c = 0; c < column_cnt; c++) {
		enum paint paint = columns[c].paint;

		if (!t->layout.columns[c].shown)
			continue;
		if (!s || (stacks && paint == PAINT_NONE))
			paint = s ? PAINT_TITLE : PAINT_ASIDE;
		make_cell(t, &columns[c], s);
		layout__add(&t->layout, c, &t->cell, paint, &t->line);
	}
	return text__line(&t->line, t->out);
}

static void widen(struct table *t, const struct allocsnoop_sample *s)
{
	for (size_t c = 0; c < column_cnt; c++) {
		if (!t->layout.columns[c].shown)
			continue;
		make_cell(t, &columns[c], s);
		layout__widen(&t->layout, c, &t->cell);
	}
}

/* ---- the whole ---- */

static bool is_live(const struct table *t)
{
	return !strcmp(t->p->info.mode, "live");
}

static const struct allocsnoop_sample *table__row(const struct table *t, size_t i)
{
	return t->rows ? t->rows[i] : &t->p->samples.v[i];
}

static void add_title(struct table *t)
{
	static const char *const rows[] = {
		[ALLOCSNOOP_BY_STACK] = "stacks",     [ALLOCSNOOP_BY_FUNCTION] = "functions",
		[ALLOCSNOOP_BY_FILE] = "files",	      [ALLOCSNOOP_BY_PROCESS] = "processes",
		[ALLOCSNOOP_BY_SIZE] = "block sizes", [ALLOCSNOOP_BY_THREAD] = "threads",
		[ALLOCSNOOP_BY_TYPE] = "types",
	};
	size_t by = t->opts->by;

	str__addf(&t->line, "%s by %s", by < ARRAY_SIZE(rows) ? rows[by] : "rows",
		  t->section->title);
	if (!t->shown)
		str__add(&t->line, ": none");
	else
		look__first(&t->line, t->shown, t->cnt);
	str__add(&t->line, t->shown ? ":" : "");
}

static void add_rest(struct table *t, const struct allocsnoop_sample *rest)
{
	if (t->section->part != PART_ROWS)
		return;
	look__bytes(&t->line, rest->alloc_bytes);
	if (t->p->info.exact && rest->alloc_bytes >= 1024)
		str__addf(&t->line, " (%" PRIu64 " B)", rest->alloc_bytes);
	str__add(&t->line, " in ");
	look__count(&t->line, rest->alloc_count, "allocation, ", "allocations, ");
	if (!is_live(t))
		return;
	look__bytes(&t->line, rest->live_bytes);
	str__add(&t->line, " live in ");
	look__count(&t->line, rest->live_count, "block, ", "blocks, ");
}

static int print_rest(struct table *t)
{
	struct allocsnoop_sample rest = { 0 };
	u64 value = 0;

	if (t->shown == t->cnt)
		return 0;
	for (size_t i = t->shown; i < t->cnt; i++) {
		const struct allocsnoop_sample *s = table__row(t, i);

		sample__add(&rest, s);
		value = sum__add(value, t->section->value(s, t->section->arg));
	}
	str__add(&t->line, t->shown && t->opts->by == ALLOCSNOOP_BY_STACK ? "\n" : "");
	str__add(&t->line, "  ");
	look__count(&t->line, t->cnt - t->shown, "more row not shown: ", "more rows not shown: ");
	add_rest(t, &rest);
	look__share(&t->line, value, t->total);
	return text__wrapped(&t->line, t->opts, strlen("    "), t->out);
}

static u8 column__spare(const struct table *t, const struct column *c)
{
	size_t value = t->opts->value;

	return value < 32 && c->shows >> value & 1 ? 0 : c->spare;
}

static void lay_out(struct table *t)
{
	t->layout = (struct layout){ .opts = t->opts, .cnt = column_cnt };
	for (size_t c = 0; c < column_cnt; c++)
		t->layout.columns[c] = (struct layout_column){
			.shown = column__wanted(t, &columns[c]),
			.left = columns[c].left,
			.main = columns[c].main,
			.spare = column__spare(t, &columns[c]),
		};
	widen(t, NULL);
	for (size_t i = 0; i < t->shown; i++)
		widen(t, table__row(t, i));
	layout__fit(&t->layout);
}

static int print_rows(struct table *t)
{
	bool stacks = t->opts->by == ALLOCSNOOP_BY_STACK;
	int err;

	lay_out(t);
	err = print_cells(t, NULL);
	for (size_t i = 0; !err && i < t->shown; i++) {
		if (stacks && i > 0)
			err = text__line(&t->line, t->out);
		if (!err)
			err = print_cells(t, table__row(t, i));
		if (!err && stacks)
			err = stack__write(table__row(t, i), t->opts, t->out);
	}
	return err;
}

static int print_table(struct table *t)
{
	int err;

	for (size_t i = 0; i < t->p->samples.cnt; i++)
		t->total =
			sum__add(t->total, t->section->value(&t->p->samples.v[i], t->section->arg));
	add_title(t);
	err = text__painted(&t->line, t->opts, PAINT_TITLE, t->out);
	if (!err && t->shown)
		err = print_rows(t);
	if (!err)
		err = print_rest(t);
	str__free(&t->cell);
	str__free(&t->line);
	return err;
}

static u64 value_asked_for(const struct allocsnoop_sample *s, const void *arg)
{
	return sample__value(s, *(const enum allocsnoop_value *)arg);
}

/* In mode live the rows have a value of 0 when nothing is left of them: they are no news. */
static size_t rows_worth_showing(const struct table *t)
{
	size_t cnt = t->cnt;

	while (is_live(t) && cnt && !value_asked_for(table__row(t, cnt - 1), &t->opts->value))
		cnt--;
	return cnt;
}

const char *text__value_name(enum allocsnoop_value value)
{
	static const char *const names[] = {
		[ALLOCSNOOP_ALLOC_BYTES] = "allocated bytes",
		[ALLOCSNOOP_ALLOC_COUNT] = "number of allocations",
		[ALLOCSNOOP_LIVE_BYTES] = "live bytes",
		[ALLOCSNOOP_LIVE_COUNT] = "number of live blocks",
		[ALLOCSNOOP_PEAK_BYTES] = "live bytes at the peak of their process",
		[ALLOCSNOOP_GROWN_BYTES] = "growth since the last report",
		[ALLOCSNOOP_TEMPORARY_COUNT] = "number of temporary blocks",
	};

	return (size_t)value < ARRAY_SIZE(names) ? names[value] : "value";
}

void text__write_none(const struct allocsnoop_info *info, FILE *out)
{
	bool left_out = info->filtered && info->all_alloc_count;

	fputs(left_out ? "no stacks match\n" : "no allocations were seen\n", out);
}

int table__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		 FILE *out)
{
	const struct section all_rows = {
		.title = text__value_name(opts->value),
		.value = value_asked_for,
		.arg = &opts->value,
	};
	struct table t = { .p = p, .opts = opts, .out = out, .section = &all_rows };
	u32 top = opts->top ? opts->top : TEXT_ROWS_BY_DEFAULT;

	t.cnt = p->samples.cnt;
	if (!t.cnt) {
		text__write_none(&p->info, out);
		return 0;
	}
	t.shown = MIN(top, rows_worth_showing(&t));
	return print_table(&t);
}

int table__write_section(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, const struct section *section,
			 FILE *out)
{
	struct table t = { .p = p, .opts = opts, .out = out, .section = section };
	u32 top = opts->top ? opts->top : TEXT_SECTION_ROWS_BY_DEFAULT;
	int err = profile__rank(p, section->value, section->arg, &t.rows, &t.cnt);

	if (err)
		return err__fail(err, "cannot write the report: %s", strerror(-err));
	t.shown = MIN(top, t.cnt);
	if (t.cnt)
		fputc('\n', out);
	if (t.cnt)
		err = print_table(&t);
	free(t.rows);
	return err;
}
