/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of the text report's tables: each is a line in a table (heading, how a cell is made,
 * when it is wanted). */
#include <math.h>
#include <string.h>

#include "report/table.h"

static void share_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	look__share(cell, t->section->value(s, t->section->arg), t->total);
}

static void bar_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	paint__bar(cell, t->section->value(s, t->section->arg), t->total, t->opts->ascii);
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

/* Of a lower bound there is no interval. */
static bool at_least_cell(const struct allocsnoop_sample *s, struct str *cell)
{
	if (s->at_least)
		str__add(cell, "at least");
	return s->at_least;
}

static void interval_cell(const struct table *t, const struct allocsnoop_sample *s, double var,
			  bool bytes, struct str *cell)
{
	const struct interval i = {
		.se = sqrt(var),
		.sampled_cnt = s->sampled_count,
		.counted = look__is_counted(s),
		.bytes = bytes,
		.ascii = t->opts->ascii,
	};

	if (!at_least_cell(s, cell))
		look__interval(cell, &i);
}

static void bytes_interval_cell(const struct table *t, const struct allocsnoop_sample *s,
				struct str *cell)
{
	interval_cell(t, s, s->alloc_bytes_var, true, cell);
}

static void count_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->alloc_count);
}

static void count_interval_cell(const struct table *t, const struct allocsnoop_sample *s,
				struct str *cell)
{
	interval_cell(t, s, s->alloc_count_var, false, cell);
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

static void live_interval_cell(const struct table *t, const struct allocsnoop_sample *s, double var,
			       bool bytes, struct str *cell)
{
	const struct interval i = {
		.se = sqrt(var),
		.sampled_cnt = look__live_samples(s),
		.counted = look__is_counted(s),
		.bytes = bytes,
		.ascii = t->opts->ascii,
	};

	look__interval(cell, &i);
}

static void live_bytes_interval_cell(const struct table *t, const struct allocsnoop_sample *s,
				     struct str *cell)
{
	live_interval_cell(t, s, s->live_bytes_var, true, cell);
}

static void live_count_interval_cell(const struct table *t, const struct allocsnoop_sample *s,
				     struct str *cell)
{
	live_interval_cell(t, s, s->live_count_var, false, cell);
}

static void age_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	if (s->collected)
		str__add(cell, "unfollowed");
	else if (s->live_count && s->live_mean_ns > 0) /* profiles of others don't tell it */
		look__ns(cell, s->live_mean_ns);
	else
		str__add(cell, "-");
}

static void freed_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->freed_count);
}

static void temporary_cell(const struct table *t, const struct allocsnoop_sample *s,
			   struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->temporary_count);
}

static void grown_bytes_cell(const struct table *t, const struct allocsnoop_sample *s,
			     struct str *cell)
{
	(void)t;
	look__signed_bytes(cell, s->grown_bytes);
}

static void grown_count_cell(const struct table *t, const struct allocsnoop_sample *s,
			     struct str *cell)
{
	(void)t;
	str__addf(cell, "%+" PRId64, s->grown_count);
}

static void peak_bytes_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	look__bytes(cell, s->peak_bytes);
}

static void peak_count_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->peak_count);
}

static void exit_bytes_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	look__bytes(cell, s->exit_bytes);
}

static void exit_count_cell(const struct table *t, const struct allocsnoop_sample *s,
			    struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->exit_count);
}

static void old_bytes_cell(const struct table *t, const struct allocsnoop_sample *s,
			   struct str *cell)
{
	(void)t;
	look__bytes(cell, s->old_bytes);
}

static void old_count_cell(const struct table *t, const struct allocsnoop_sample *s,
			   struct str *cell)
{
	(void)t;
	str__addf(cell, "%" PRIu64, s->old_count);
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
		str__addf(cell, " (%u process%s)", s->pid_cnt, s->pid_cnt == 1 ? "" : "es");
}

static void thread_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	look__name(cell, s->thread && *s->thread ? s->thread : "[unknown]");
	if (s->tid)
		str__addf(cell, " (tid %u)", s->tid);
}

static void type_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	(void)t;
	look__name(cell, s->type && *s->type ? s->type : "[unknown]");
}

/* NULL: the row sums several, or it isn't known. */
static const struct allocsnoop_process *row__process(const struct table *t,
						     const struct allocsnoop_sample *s)
{
	for (size_t i = 0; s->pid && i < t->p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &t->p->processes.v[i];

		if (proc->pid == s->pid && !strcmp(proc->comm, s->comm))
			return proc;
	}
	return NULL;
}

static void exe_cell(const struct table *t, const struct allocsnoop_sample *s, struct str *cell)
{
	const struct allocsnoop_process *proc = row__process(t, s);

	if (!proc)
		return;
	look__name(cell, proc->exe);
	str__add(cell, proc->exited ? " (exited)" : "");
}

static void container_cell(const struct table *t, const struct allocsnoop_sample *s,
			   struct str *cell)
{
	const struct allocsnoop_process *proc = row__process(t, s);

	look__name(cell, proc && *proc->container ? proc->container : "-");
}

#define BY(name)    (1u << ALLOCSNOOP_BY_##name)
#define PART(name)  (1u << PART_##name)
#define VALUE(name) (1u << ALLOCSNOOP_##name)
#define EXACT	    WANTED_EXACT
#define SAMPLED	    WANTED_SAMPLED
#define LIVE	    WANTED_LIVE
#define ALLOC	    WANTED_ALLOC
#define CONTAINER   WANTED_CONTAINER
#define TERMINAL    WANTED_TERMINAL

/* clang-format off */
const struct column columns[] = {
	{ "share", share_cell, .left = false },
	{ "", bar_cell, .wanted = TERMINAL, .left = true, .paint = PAINT_BAR, .spare = 9 },

	{ "old", old_bytes_cell, .parts = PART(OLD) },
	{ "blocks", old_count_cell, .parts = PART(OLD) },
	{ "grown", grown_bytes_cell, .parts = PART(GROWN) },
	{ "blocks", grown_count_cell, .parts = PART(GROWN) },
	{ "live", live_bytes_cell, .parts = PART(OLD) | PART(GROWN), .spare = 6 },
	{ "blocks", live_count_cell, .parts = PART(OLD) | PART(GROWN), .spare = 7 },
	{ "age", age_cell, .parts = PART(OLD) | PART(GROWN), .spare = 5 },
	{ "peak", peak_bytes_cell, .parts = PART(PEAK) },
	{ "blocks", peak_count_cell, .parts = PART(PEAK) },
	{ "bytes", exit_bytes_cell, .parts = PART(EXIT) },
	{ "blocks", exit_count_cell, .parts = PART(EXIT) },

	{ "peak", peak_bytes_cell, .parts = PART(ROWS), .values = VALUE(PEAK_BYTES) },
	{ "grown", grown_bytes_cell, .parts = PART(ROWS), .values = VALUE(GROWN_BYTES) },
	{ "temporary", temporary_cell, .parts = PART(ROWS), .values = VALUE(TEMPORARY_COUNT) },
	{ "live", live_bytes_cell, .wanted = LIVE, .parts = PART(ROWS) },
	{ "bytes", live_exact_cell, .wanted = LIVE | EXACT, .parts = PART(ROWS), .spare = 8 },
	{ "95 %", live_bytes_interval_cell, .wanted = LIVE | SAMPLED, .parts = PART(ROWS) },
	{ "blocks", live_count_cell, .wanted = LIVE, .parts = PART(ROWS) },
	{ "95 %", live_count_interval_cell, .wanted = LIVE | SAMPLED, .parts = PART(ROWS), .spare = 4 },
	{ "age", age_cell, .wanted = LIVE, .parts = PART(ROWS) },
	{ "allocated", bytes_cell, .wanted = LIVE, .parts = PART(ROWS), .spare = 6,
	  .shows = VALUE(ALLOC_BYTES) },
	{ "in calls", count_cell, .wanted = LIVE, .parts = PART(ROWS), .spare = 5,
	  .shows = VALUE(ALLOC_COUNT) },
	{ "freed", freed_cell, .wanted = LIVE, .parts = PART(ROWS), .spare = 7 },

	{ "size", bytes_cell, .wanted = ALLOC },
	{ "bytes", exact_bytes_cell, .wanted = ALLOC | EXACT, .spare = 8 },
	{ "95 %", bytes_interval_cell, .wanted = ALLOC | SAMPLED },
	{ "count", count_cell, .wanted = ALLOC },
	{ "95 %", count_interval_cell, .wanted = ALLOC | SAMPLED, .spare = 4 },

	{ "block size", size_cell, .by = BY(SIZE) },
	{ "function", function_cell, .by = BY(FUNCTION), .left = true, .main = true },
	{ "file", function_cell, .by = BY(FILE), .left = true, .main = true },
	{ "type", type_cell, .by = BY(TYPE), .left = true, .main = true },
	{ "module", module_cell, .by = BY(FUNCTION), .left = true, .paint = PAINT_ASIDE },
	{ "allocator", allocator_cell, .by = BY(FUNCTION), .left = true, .paint = PAINT_ASIDE },
	{ "thread", thread_cell, .by = BY(THREAD), .left = true, .main = true },
	{ "process", process_cell, .by = BY(FUNCTION) | BY(FILE) | BY(TYPE), .left = true, .spare = 2 },
	{ "process", process_cell, .by = BY(STACK) | BY(PROCESS) | BY(THREAD) | BY(SIZE), .left = true },
	{ "container", container_cell, .wanted = CONTAINER, .by = BY(PROCESS), .left = true },
	{ "executable", exe_cell, .by = BY(PROCESS), .left = true, .paint = PAINT_ASIDE },
};
/* clang-format on */

const size_t column_cnt = ARRAY_SIZE(columns);
_Static_assert(ARRAY_SIZE(columns) <= LAYOUT_MAX, "a layout holds them all");

/* Bits of numbers that are none of their enum are shifted out of sight, not into harm. */
static bool among(u32 set, u32 bit)
{
	return !set || (bit < 32 && set >> bit & 1);
}

bool column__wanted(const struct table *t, const struct column *c)
{
	u32 holds = t->p->info.exact ? WANTED_EXACT : WANTED_SAMPLED;

	holds |= strcmp(t->p->info.mode, "live") ? WANTED_ALLOC : WANTED_LIVE;
	holds |= profile__has_containers(t->p) ? WANTED_CONTAINER : 0;
	holds |= t->opts->width ? WANTED_TERMINAL : 0;
	return !(c->wanted & ~holds) && among(c->parts, t->section->part) &&
	       among(c->values, t->opts->value) && among(c->by, t->opts->by);
}
