/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of processes: who has allocated most, where there are several (on a whole machine the
 * first question), and, in mode live, what is live of the memory that each one holds, and its peak.
 * Side by side, because memory that grows while live doesn't is fragmentation or reserve, and no
 * leak.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/layout.h"
#include "report/text.h"

#define HOLDS_EXACT	 1u  /* every allocation was counted */
#define HOLDS_SAMPLED	 2u  /* it wasn't */
#define HOLDS_CONTAINERS 4u  /* some process is in a container */
#define HOLDS_ALLOC	 8u  /* the table is about what was allocated */
#define HOLDS_HEAP	 16u /* ... about what is live */
#define HOLDS_TERMINAL	 32u /* the report goes to one */

struct process_table {
	FILE *out;
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	const struct allocsnoop_process **rows;
	size_t cnt;
	size_t shown;
	bool by_count;
	u32 holds; /* HOLDS_* */
	struct layout layout;
	struct str cell;
	struct str line;
};

struct process_column {
	const char *head;
	void (*cell)(const struct process_table *t, const struct allocsnoop_process *proc,
		     struct str *cell);
	u32 wanted; /* HOLDS_*, or'ed: all of them must hold */
	bool left;
	enum paint paint;
	u8 spare; /* as of a layout's column */
};

static void live_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		      struct str *cell)
{
	(void)t;
	look__bytes(cell, proc->live_bytes);
}

static void rss_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		     struct str *cell)
{
	(void)t;
	if (proc->rss_anon)
		look__bytes(cell, proc->rss_anon);
	else
		str__add(cell, "-");
}

static void live_share_cell(const struct process_table *t, const struct allocsnoop_process *proc,
			    struct str *cell)
{
	(void)t;
	look__share(cell, proc->live_bytes, proc->rss_anon);
}

static void blocks_cell(const struct process_table *t, const struct allocsnoop_process *proc,
			struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, proc->live_count);
}

/* Profiles of others don't tell peaks. */
static bool is_peak_known(const struct allocsnoop_process *proc)
{
	return proc->peak_bytes || proc->peak_ns || !proc->live_bytes;
}

static void peak_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		      struct str *cell)
{
	(void)t;
	if (is_peak_known(proc))
		look__bytes(cell, proc->peak_bytes);
	else
		str__add(cell, "-");
}

static void peak_blocks_cell(const struct process_table *t, const struct allocsnoop_process *proc,
			     struct str *cell)
{
	(void)t;
	if (is_peak_known(proc))
		str__addf(cell, "%" PRIu64, proc->peak_count);
	else
		str__add(cell, "-");
}

static void peak_time_cell(const struct process_table *t, const struct allocsnoop_process *proc,
			   struct str *cell)
{
	(void)t;
	if (is_peak_known(proc))
		look__ns(cell, (double)proc->peak_ns);
	else
		str__add(cell, "-");
}

static void share_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		       struct str *cell)
{
	const struct allocsnoop_info *info = &t->p->info;

	look__share(cell, t->by_count ? proc->alloc_count : proc->alloc_bytes,
		    t->by_count ? info->alloc_count : info->alloc_bytes);
}

static void bar_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		     struct str *cell)
{
	const struct allocsnoop_info *info = &t->p->info;

	paint__bar(cell, t->by_count ? proc->alloc_count : proc->alloc_bytes,
		   t->by_count ? info->alloc_count : info->alloc_bytes, t->opts->ascii);
}

static void size_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		      struct str *cell)
{
	(void)t;
	look__bytes(cell, proc->alloc_bytes);
}

static void bytes_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		       struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, proc->alloc_bytes);
}

/* Of a lower bound there is no interval. */
static bool at_least_cell(const struct allocsnoop_process *proc, struct str *cell)
{
	if (proc->at_least)
		str__add(cell, "at least");
	return proc->at_least;
}

static void interval_cell(const struct process_table *t, const struct allocsnoop_process *proc,
			  double se, bool bytes, struct str *cell)
{
	const struct interval i = {
		.se = se,
		.sampled_cnt = proc->sampled_count,
		.counted = proc->sampled_count == proc->alloc_count &&
			   (proc->alloc_count || !proc->alloc_bytes),
		.bytes = bytes,
		.ascii = t->opts->ascii,
	};

	if (!at_least_cell(proc, cell))
		look__interval(cell, &i);
}

static void bytes_interval_cell(const struct process_table *t,
				const struct allocsnoop_process *proc, struct str *cell)
{
	interval_cell(t, proc, proc->alloc_bytes_se, true, cell);
}

static void count_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		       struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, proc->alloc_count);
}

static void count_interval_cell(const struct process_table *t,
				const struct allocsnoop_process *proc, struct str *cell)
{
	interval_cell(t, proc, proc->alloc_count_se, false, cell);
}

static void name_cell(const struct process_table *t, const struct allocsnoop_process *proc,
		      struct str *cell)
{
	(void)t;
	look__name(cell, *proc->comm ? proc->comm : "[unknown]");
	if (proc->pid)
		str__addf(cell, " (pid %u%s)", proc->pid, proc->exited ? ", exited" : "");
	else
		str__addf(cell, " (%" PRIu64 " %s)", proc->count,
			  proc->exited	     ? "exited"
			  : proc->count == 1 ? "process"
					     : "processes");
}

static void container_cell(const struct process_table *t, const struct allocsnoop_process *proc,
			   struct str *cell)
{
	(void)t;
	look__name(cell, *proc->container ? proc->container : "-");
}

#define ALLOC	   HOLDS_ALLOC
#define HEAP	   HOLDS_HEAP
#define EXACT	   HOLDS_EXACT
#define SAMPLED	   HOLDS_SAMPLED
#define CONTAINERS HOLDS_CONTAINERS
#define TERMINAL   HOLDS_TERMINAL

static const struct process_column columns[] = {
	{ "share", share_cell, ALLOC, .left = false },
	{ "", bar_cell, ALLOC | TERMINAL, .left = true, .paint = PAINT_BAR, .spare = 9 },
	{ "size", size_cell, ALLOC, .left = false },
	{ "bytes", bytes_cell, ALLOC | EXACT, .spare = 8 },
	{ "95 %", bytes_interval_cell, ALLOC | SAMPLED, .left = false },
	{ "count", count_cell, ALLOC, .left = false },
	{ "95 %", count_interval_cell, ALLOC | SAMPLED, .spare = 4 },

	{ "live", live_cell, HEAP, .left = false },
	{ "of RssAnon", rss_cell, HEAP, .left = false },
	{ "share", live_share_cell, HEAP, .left = false },
	{ "blocks", blocks_cell, HEAP, .left = false },
	{ "peak", peak_cell, HEAP | EXACT, .left = false },
	{ "blocks", peak_blocks_cell, HEAP | EXACT, .spare = 5 },
	{ "reached after", peak_time_cell, HEAP | EXACT, .spare = 4 },

	{ "process", name_cell, .left = true },
	{ "container", container_cell, CONTAINERS, .left = true },
};

/* proc NULL: the heading. */
static void make_cell(struct process_table *t, const struct process_column *c,
		      const struct allocsnoop_process *proc)
{
	str__clear(&t->cell);
	if (proc)
		c->cell(t, proc, &t->cell);
	else
		str__add(&t->cell, c->head);
	t->line.oom |= t->cell.oom;
}

static void widen(struct process_table *t, const struct allocsnoop_process *proc)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (!t->layout.columns[c].shown)
			continue;
		make_cell(t, &columns[c], proc);
		layout__widen(&t->layout, c, &t->cell);
	}
}

static int print_cells(struct process_table *t, const struct allocsnoop_process *proc)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (!t->layout.columns[c].shown)
			continue;
		make_cell(t, &columns[c], proc);
		layout__add(&t->layout, c, &t->cell, proc ? columns[c].paint : PAINT_ASIDE,
			    &t->line);
	}
	return text__line(&t->line, t->out);
}

static int print_title(struct process_table *t)
{
	bool heap = t->holds & HOLDS_HEAP;

	fputc('\n', t->out);
	str__addf(&t->line, "processes by %s",
		  heap		? "live bytes"
		  : t->by_count ? "number of allocations"
				: "allocated bytes");
	look__first(&t->line, t->shown, t->cnt);
	str__add(&t->line, heap ? " (RssAnon has reserve, fragments too):" : ":");
	return text__painted(&t->line, t->opts, PAINT_TITLE, t->out);
}

static void lay_out(struct process_table *t)
{
	t->layout = (struct layout){ .opts = t->opts, .cnt = ARRAY_SIZE(columns) };
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		t->layout.columns[c] = (struct layout_column){
			.shown = !(columns[c].wanted & ~t->holds),
			.left = columns[c].left,
			.spare = columns[c].spare,
		};
	widen(t, NULL);
	for (size_t i = 0; i < t->shown; i++)
		widen(t, t->rows[i]);
	layout__fit(&t->layout);
}

static int print_table(struct process_table *t)
{
	int err = print_title(t);

	lay_out(t);
	if (!err)
		err = print_cells(t, NULL);
	for (size_t i = 0; !err && i < t->shown; i++)
		err = print_cells(t, t->rows[i]);
	return err;
}

/* Takes the rows. */
static int print_rows(struct process_table *t, const struct allocsnoop_report_opts *opts)
{
	u32 top = opts->top ? opts->top : TEXT_SECTION_ROWS_BY_DEFAULT;
	int err;

	t->opts = opts;
	t->shown = MIN(top, t->cnt);
	t->holds |= opts->width ? HOLDS_TERMINAL : 0;
	t->holds |= t->p->info.exact ? HOLDS_EXACT : HOLDS_SAMPLED;
	t->holds |= profile__has_containers(t->p) ? HOLDS_CONTAINERS : 0;
	err = print_table(t);
	free(t->rows);
	str__free(&t->cell);
	str__free(&t->line);
	return err;
}

int process__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		   FILE *out)
{
	struct process_table t = { .out = out, .p = p, .holds = HOLDS_ALLOC };
	int err;

	t.by_count = opts->value == ALLOCSNOOP_ALLOC_COUNT;
	err = profile__rank_allocators(p, t.by_count, &t.rows, &t.cnt);
	if (err)
		return err__fail(err, "cannot write the report: %s", strerror(-err));
	if (t.cnt > 1)
		return print_rows(&t, opts);
	free(t.rows);
	return 0;
}

int process__write_heaps(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct process_table t = { .out = out, .p = p, .holds = HOLDS_HEAP };
	int err = profile__rank_processes(p, &t.rows, &t.cnt);

	if (err)
		return err__fail(err, "cannot write the report: %s", strerror(-err));
	if (t.cnt)
		return print_rows(&t, opts);
	free(t.rows);
	return 0;
}
