/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes in mode live: what is live of the memory that each one holds, and its peak. Side by
 * side, because memory that grows while live doesn't is fragmentation or reserve, and no leak.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/text.h"

struct heap_table {
	FILE *out;
	const struct allocsnoop_process **rows;
	size_t cnt;
	size_t shown;
	bool exact;
	struct str cell;
	struct str line;
};

struct heap_column {
	const char *head;
	void (*cell)(const struct allocsnoop_process *p, struct str *cell);
	bool exact; /* only when every allocation was counted */
	bool left;
};

static void live_cell(const struct allocsnoop_process *p, struct str *cell)
{
	look__bytes(cell, p->live_bytes);
}

static void rss_cell(const struct allocsnoop_process *p, struct str *cell)
{
	if (p->rss_anon)
		look__bytes(cell, p->rss_anon);
	else
		str__add(cell, "-");
}

static void share_cell(const struct allocsnoop_process *p, struct str *cell)
{
	look__share(cell, p->live_bytes, p->rss_anon);
}

static void blocks_cell(const struct allocsnoop_process *p, struct str *cell)
{
	str__addf(cell, "%" PRIu64, p->live_count);
}

static void peak_cell(const struct allocsnoop_process *p, struct str *cell)
{
	look__bytes(cell, p->peak_bytes);
}

static void peak_blocks_cell(const struct allocsnoop_process *p, struct str *cell)
{
	str__addf(cell, "%" PRIu64, p->peak_count);
}

static void peak_time_cell(const struct allocsnoop_process *p, struct str *cell)
{
	look__ns(cell, (double)p->peak_ns);
}

static void name_cell(const struct allocsnoop_process *p, struct str *cell)
{
	look__name(cell, *p->comm ? p->comm : "[unknown]");
	str__addf(cell, " (pid %u%s)", p->pid, p->exited ? ", exited" : "");
}

static const struct heap_column columns[] = {
	{ "live", live_cell, false, false },
	{ "of RssAnon", rss_cell, false, false },
	{ "share", share_cell, false, false },
	{ "blocks", blocks_cell, false, false },
	{ "peak", peak_cell, true, false },
	{ "blocks", peak_blocks_cell, true, false },
	{ "reached after", peak_time_cell, true, false },
	{ "process", name_cell, false, true },
};

/* proc NULL: the heading. */
static void make_cell(struct heap_table *t, const struct heap_column *c,
		      const struct allocsnoop_process *proc)
{
	str__clear(&t->cell);
	if (proc)
		c->cell(proc, &t->cell);
	else
		str__add(&t->cell, c->head);
	t->line.oom |= t->cell.oom;
}

static void widen(struct heap_table *t, const struct allocsnoop_process *proc, size_t *widths)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		make_cell(t, &columns[c], proc);
		widths[c] = MAX(widths[c], MIN(look__width(&t->cell), TEXT_PAD_MAX));
	}
}

static int print_cells(struct heap_table *t, const struct allocsnoop_process *proc,
		       const size_t *widths)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (columns[c].exact && !t->exact)
			continue;
		make_cell(t, &columns[c], proc);
		look__padded(&t->line, &t->cell, widths[c], columns[c].left);
	}
	return text__line(&t->line, t->out);
}

static int print_title(struct heap_table *t)
{
	str__add(&t->line, "\nprocesses by live bytes");
	if (t->shown < t->cnt)
		str__addf(&t->line, ", the first %zu of %zu", t->shown, t->cnt);
	str__add(&t->line, " (RssAnon has reserve, fragments too):");
	return text__line(&t->line, t->out);
}

static int print_table(struct heap_table *t)
{
	size_t widths[ARRAY_SIZE(columns)] = { 0 };
	int err = print_title(t);

	widen(t, NULL, widths);
	for (size_t i = 0; i < t->shown; i++)
		widen(t, t->rows[i], widths);
	if (!err)
		err = print_cells(t, NULL, widths);
	for (size_t i = 0; !err && i < t->shown; i++)
		err = print_cells(t, t->rows[i], widths);
	return err;
}

int heap__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		FILE *out)
{
	struct heap_table t = { .out = out, .exact = p->info.exact };
	u32 top = opts->top ? opts->top : TEXT_SECTION_ROWS_BY_DEFAULT;
	int err = profile__rank_processes(p, &t.rows, &t.cnt);

	if (err)
		return err__fail(err, "cannot write the report: %s", strerror(-err));
	t.shown = MIN(top, t.cnt);
	if (t.cnt)
		err = print_table(&t);
	free(t.rows);
	str__free(&t.cell);
	str__free(&t.line);
	return err;
}
