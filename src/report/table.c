/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the text report. The one idea: a column is a line in a table (heading, when it is
 * wanted, how a cell is made); cells are made twice, once to learn the widths and once to print, so
 * a report of any length needs no memory.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "report/text.h"
#include "report/writer.h"

struct table {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	size_t shown; /* rows */
	struct str cell;
	struct str line;
};

enum wanted {
	ALWAYS,
	EXACT,	 /* only when every allocation was counted */
	SAMPLED, /* only when it wasn't */
	LIVE,	 /* only when frees were followed */
};

struct column {
	const char *head;
	void (*cell)(const struct table *t, const struct allocsnoop_sample *s, struct str *cell);
	enum wanted wanted;
	bool left; /* names; numbers stand right */
	u32 by;	   /* 1 << enum allocsnoop_by, or'ed; 0: any */
};

#define BY(name) (1u << ALLOCSNOOP_BY_##name)

/* ---- cells ---- */

static void share_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	look__share(cell, sample__value(s, t->opts->value), profile__total(t->p, t->opts->value));
}

static void bytes_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	look__bytes(cell, s->alloc_bytes);
}

static void exact_bytes_cell(const struct table *t, const struct allocsnoop_sample *s,
			     struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->alloc_bytes);
}

static void bytes_interval_cell(const struct table *t, const struct allocsnoop_sample *s,
				struct str *cell)
{
	(void)t;
	look__interval(cell, sqrt(s->alloc_bytes_var), s->sampled_count, true);
}

static void count_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->alloc_count);
}

static void count_interval_cell(const struct table *t, const struct allocsnoop_sample *s,
				struct str *cell)
{
	(void)t;
	look__interval(cell, sqrt(s->alloc_count_var), s->sampled_count, false);
}

static void live_bytes_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	look__bytes(cell, s->live_bytes);
}

static void live_exact_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->live_bytes);
}

static void live_count_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->live_count);
}

static void size_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	if (s->size_low == s->size_high)
		str__addf(cell, "%" PRIu64 " B", s->size_low);
	else
		str__addf(cell, "%" PRIu64 " - %" PRIu64 " B", s->size_low, s->size_high);
}

/* The frame that a row by function or by file is about; NULL when the stack was lost or cut. */
static const struct allocsnoop_frame *row__frame(const struct table *t,
						 const struct allocsnoop_sample *s)
{
	size_t i = t->opts->by == ALLOCSNOOP_BY_FUNCTION;

	return i < s->frame_cnt ? s->frames[i] : NULL;
}

static void function_cell(const struct table *t, const struct allocsnoop_sample *s,
			  struct str *cell)
{
	const struct allocsnoop_frame *f = row__frame(t, s);

	if (f)
		look__name(cell, f->function);
	else
		str__addf(cell, "[unknown caller: %s]", allocsnoop__end_name(s->end));
}

static void module_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	const struct allocsnoop_frame *f = row__frame(t, s);

	if (f)
		look__basename(cell, f->module);
}

static void allocator_cell(const struct table *t, const struct allocsnoop_sample *s,
			   struct str *cell)
{
	(void)t;
	look__name(cell, s->allocator);
}

static void process_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	if (*s->comm)
		look__name(cell, s->comm);
	else
		str__add(cell, s->pid_cnt > 1 ? "[several]" : "[unknown]");
	if (s->pid)
		str__addf(cell, " (pid %u)", s->pid);
	else if (s->pid_cnt)
		str__addf(cell, " (%u processes)", s->pid_cnt);
}

static void exe_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	for (size_t i = 0; s->pid && i < t->p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &t->p->processes.v[i];

		if (proc->pid != s->pid || strcmp(proc->comm, s->comm))
			continue;
		look__name(cell, proc->exe);
		str__add(cell, proc->exited ? " (exited)" : "");
		return;
	}
}

static const struct column columns[] = {
	{ "share", share_cell, ALWAYS, false, 0 },
	{ "live", live_bytes_cell, LIVE, false, 0 },
	{ "live bytes", live_exact_cell, LIVE, false, 0 },
	{ "live blocks", live_count_cell, LIVE, false, 0 },
	{ "size", bytes_cell, ALWAYS, false, 0 },
	{ "bytes", exact_bytes_cell, EXACT, false, 0 },
	{ "95 %", bytes_interval_cell, SAMPLED, false, 0 },
	{ "count", count_cell, ALWAYS, false, 0 },
	{ "95 %", count_interval_cell, SAMPLED, false, 0 },
	{ "block size", size_cell, ALWAYS, false, BY(SIZE) },
	{ "function", function_cell, ALWAYS, true, BY(FUNCTION) },
	{ "file", function_cell, ALWAYS, true, BY(FILE) },
	{ "module", module_cell, ALWAYS, true, BY(FUNCTION) },
	{ "allocator", allocator_cell, ALWAYS, true, BY(FUNCTION) },
	{ "process", process_cell, ALWAYS, true, 0 },
	{ "executable", exe_cell, ALWAYS, true, BY(PROCESS) },
};

static bool column__wanted(const struct table *t, const struct column *c)
{
	/* Masked: a shift by a number that is no enum allocsnoop_by must do no harm. */
	if (c->by && !(c->by & 1u << (t->opts->by & 31)))
		return false;
	switch (c->wanted) {
	case EXACT:
		return t->p->info.exact;
	case SAMPLED:
		return !t->p->info.exact;
	case LIVE:
		return !strcmp(t->p->info.mode, "live");
	case ALWAYS:
		break;
	}
	return true;
}

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

/* s NULL: the headings. */
static int print_cells(struct table *t, const struct allocsnoop_sample *s, const size_t *widths)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (!column__wanted(t, &columns[c]))
			continue;
		make_cell(t, &columns[c], s);
		look__padded(&t->line, &t->cell, widths[c], columns[c].left);
	}
	return text__line(&t->line, t->out);
}

static void widen(struct table *t, const struct allocsnoop_sample *s, size_t *widths)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (!column__wanted(t, &columns[c]))
			continue;
		make_cell(t, &columns[c], s);
		widths[c] = MAX(widths[c], MIN(look__width(&t->cell), TEXT_PAD_MAX));
	}
}

/* ---- the whole ---- */

void sum_rows(const struct allocsnoop_profile *p, size_t from, struct allocsnoop_sample *sum)
{
	*sum = (struct allocsnoop_sample){ .comm = "", .allocator = "" };
	for (size_t i = from; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		sum->alloc_count = sum__add(sum->alloc_count, s->alloc_count);
		sum->alloc_bytes = sum__add(sum->alloc_bytes, s->alloc_bytes);
		sum->live_count = sum__add(sum->live_count, s->live_count);
		sum->live_bytes = sum__add(sum->live_bytes, s->live_bytes);
		sum->sampled_count = sum__add(sum->sampled_count, s->sampled_count);
	}
}

static void add_title(struct table *t)
{
	static const char *const rows[] = {
		[ALLOCSNOOP_BY_STACK] = "stacks",     [ALLOCSNOOP_BY_FUNCTION] = "functions",
		[ALLOCSNOOP_BY_FILE] = "files",	      [ALLOCSNOOP_BY_PROCESS] = "processes",
		[ALLOCSNOOP_BY_SIZE] = "block sizes",
	};
	static const char *const values[] = {
		[ALLOCSNOOP_ALLOC_BYTES] = "allocated bytes",
		[ALLOCSNOOP_ALLOC_COUNT] = "number of allocations",
		[ALLOCSNOOP_LIVE_BYTES] = "live bytes",
		[ALLOCSNOOP_LIVE_COUNT] = "number of live blocks",
	};
	size_t by = t->opts->by, value = t->opts->value;

	str__addf(&t->line, "%s by %s", by < ARRAY_SIZE(rows) ? rows[by] : "rows",
		  value < ARRAY_SIZE(values) ? values[value] : "value");
	if (t->shown < t->p->samples.cnt)
		str__addf(&t->line, ", the first %zu of %zu", t->shown, t->p->samples.cnt);
	str__add(&t->line, ":");
}

static int print_rest(struct table *t)
{
	struct allocsnoop_sample rest;
	size_t cnt = t->p->samples.cnt - t->shown;

	if (!cnt)
		return 0;
	sum_rows(t->p, t->shown, &rest);
	str__add(&t->line, t->opts->by == ALLOCSNOOP_BY_STACK ? "\n" : "");
	str__addf(&t->line, "  %zu more rows not shown: ", cnt);
	look__bytes(&t->line, rest.alloc_bytes);
	if (t->p->info.exact && rest.alloc_bytes >= 1024)
		str__addf(&t->line, " (%" PRIu64 " B)", rest.alloc_bytes);
	str__addf(&t->line, " in %" PRIu64 " allocations, ", rest.alloc_count);
	if (!strcmp(t->p->info.mode, "live")) {
		look__bytes(&t->line, rest.live_bytes);
		str__addf(&t->line, " live in %" PRIu64 " blocks, ", rest.live_count);
	}
	share_cell(t, &rest, &t->line);
	return text__line(&t->line, t->out);
}

static int print_table(struct table *t)
{
	size_t widths[ARRAY_SIZE(columns)] = { 0 };
	bool stacks = t->opts->by == ALLOCSNOOP_BY_STACK;
	int err;

	add_title(t);
	err = text__line(&t->line, t->out);
	widen(t, NULL, widths);
	for (size_t i = 0; i < t->shown; i++)
		widen(t, &t->p->samples.v[i], widths);
	if (!err)
		err = print_cells(t, NULL, widths);
	for (size_t i = 0; !err && i < t->shown; i++) {
		if (stacks && i > 0)
			err = text__line(&t->line, t->out);
		if (!err)
			err = print_cells(t, &t->p->samples.v[i], widths);
		if (!err && stacks)
			err = stack__write(&t->p->samples.v[i], t->out);
	}
	return err ? err : print_rest(t);
}

int table__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		 FILE *out)
{
	struct table t = { .p = p, .opts = opts, .out = out };
	u32 top = opts->top ? opts->top : TEXT_ROWS_BY_DEFAULT;
	int err;

	if (!p->samples.cnt) {
		fputs("no allocations were seen\n", out);
		return 0;
	}
	t.shown = MIN(top, p->samples.cnt);
	err = print_table(&t);
	str__free(&t.cell);
	str__free(&t.line);
	return err;
}
