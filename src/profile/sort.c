/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of rows. Two runs of the same program must print the same report, so ties are broken by
 * what the reader sees (names) before what he doesn't (ids, which depend on inodes).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static int cmp_u64(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static enum allocsnoop_value other_value(enum allocsnoop_value value)
{
	static const enum allocsnoop_value other[] = {
		[ALLOCSNOOP_ALLOC_BYTES] = ALLOCSNOOP_ALLOC_COUNT,
		[ALLOCSNOOP_ALLOC_COUNT] = ALLOCSNOOP_ALLOC_BYTES,
		[ALLOCSNOOP_LIVE_BYTES] = ALLOCSNOOP_LIVE_COUNT,
		[ALLOCSNOOP_LIVE_COUNT] = ALLOCSNOOP_LIVE_BYTES,
		[ALLOCSNOOP_PEAK_BYTES] = ALLOCSNOOP_LIVE_BYTES,
		[ALLOCSNOOP_GROWN_BYTES] = ALLOCSNOOP_LIVE_BYTES,
		[ALLOCSNOOP_TEMPORARY_COUNT] = ALLOCSNOOP_ALLOC_COUNT,
	};

	return (size_t)value < ARRAY_SIZE(other) ? other[value] : ALLOCSNOOP_ALLOC_COUNT;
}

/* Stacks of one program share their frame objects, so most frames are equal by address. */
static int cmp_frames(const struct allocsnoop_sample *a, const struct allocsnoop_sample *b)
{
	size_t cnt = MIN(a->frame_cnt, b->frame_cnt);
	int diff;

	for (size_t i = 0; i < cnt; i++) {
		if (a->frames[i] == b->frames[i])
			continue;
		diff = strcmp(a->frames[i]->function, b->frames[i]->function);
		if (diff)
			return diff;
	}
	return cmp_u64(a->frame_cnt, b->frame_cnt);
}

static int cmp_names(const struct allocsnoop_sample *a, const struct allocsnoop_sample *b)
{
	int diff = strcmp(a->comm, b->comm);

	if (!diff)
		diff = strcmp(a->allocator, b->allocator);
	return diff ? diff : cmp_frames(a, b);
}

static int cmp_or_null(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int cmp_labels(const struct allocsnoop_sample *a, const struct allocsnoop_sample *b)
{
	int diff = cmp_u64(a->size_low, b->size_low);

	if (!diff)
		diff = cmp_u64(a->pid, b->pid);
	if (!diff)
		diff = cmp_or_null(a->thread, b->thread);
	if (!diff)
		diff = cmp_u64(a->tid, b->tid);
	return diff ? diff : cmp_or_null(a->type, b->type);
}

/* Of stacks with equal functions. */
static int cmp_places(const struct allocsnoop_sample *a, const struct allocsnoop_sample *b)
{
	size_t cnt = MIN(a->frame_cnt, b->frame_cnt);
	int diff = 0;

	for (size_t i = 0; !diff && i < cnt; i++) {
		const struct allocsnoop_frame *f = a->frames[i], *g = b->frames[i];

		if (f == g)
			continue;
		diff = strcmp(f->module, g->module);
		if (!diff)
			diff = cmp_or_null(f->file, g->file);
		if (!diff)
			diff = cmp_u64(f->line, g->line);
	}
	return diff;
}

static int cmp_rest(const struct allocsnoop_sample *a, const struct allocsnoop_sample *b)
{
	int diff = cmp_names(a, b);

	if (!diff)
		diff = cmp_labels(a, b);
	if (!diff)
		diff = cmp_u64(a->stack_id, b->stack_id);
	return diff ? diff : cmp_places(a, b);
}

static int cmp_values(const void *x, const void *y, void *arg)
{
	const struct allocsnoop_sample *a = x, *b = y;
	enum allocsnoop_value value = *(enum allocsnoop_value *)arg, other = other_value(value);
	int diff = cmp_u64(sample__value(b, value), sample__value(a, value));

	if (!diff)
		diff = cmp_u64(sample__value(b, other), sample__value(a, other));
	return diff ? diff : cmp_rest(a, b);
}

static int cmp_change(const struct allocsnoop_sample *a, const struct allocsnoop_sample *b,
		      enum allocsnoop_value value)
{
	s64 x = sample__change(a, value), y = sample__change(b, value);

	return (x < y) - (x > y);
}

/* What didn't change comes with the greatest first: it stands where growth meets shrinking. */
static int cmp_changes(const void *x, const void *y, void *arg)
{
	const struct allocsnoop_sample *a = x, *b = y;
	enum allocsnoop_value value = *(enum allocsnoop_value *)arg;
	int diff = cmp_change(a, b, value);

	if (!diff)
		diff = cmp_change(a, b, other_value(value));
	return diff ? diff : cmp_values(x, y, arg);
}

void profile__sort(struct allocsnoop_profile *p, enum allocsnoop_value value)
{
	if (p->samples.cnt)
		qsort_r(p->samples.v, p->samples.cnt, sizeof(*p->samples.v),
			p->info.diff ? cmp_changes : cmp_values, &value);
}

/* ---- ranks ---- */

struct ranking {
	sample_value_fn value;
	const void *arg;
};

static int cmp_ranked(const void *x, const void *y, void *arg)
{
	const struct allocsnoop_sample *a = *(const struct allocsnoop_sample *const *)x;
	const struct allocsnoop_sample *b = *(const struct allocsnoop_sample *const *)y;
	const struct ranking *r = arg;
	int diff = cmp_u64(r->value(b, r->arg), r->value(a, r->arg));

	return diff ? diff : (a > b) - (a < b); /* both are elements of one array */
}

int profile__rank(const struct allocsnoop_profile *p, sample_value_fn value, const void *arg,
		  const struct allocsnoop_sample ***rows, size_t *cnt)
{
	struct ranking r = { value, arg };
	const struct allocsnoop_sample **list = calloc(p->samples.cnt + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	*cnt = 0;
	for (size_t i = 0; i < p->samples.cnt; i++) {
		if (value(&p->samples.v[i], arg))
			list[(*cnt)++] = &p->samples.v[i];
	}
	qsort_r(list, *cnt, sizeof(*list), cmp_ranked, &r);
	*rows = list;
	return 0;
}

static int cmp_processes(const void *x, const void *y)
{
	const struct allocsnoop_process *a = *(const struct allocsnoop_process *const *)x;
	const struct allocsnoop_process *b = *(const struct allocsnoop_process *const *)y;
	int diff = cmp_u64(b->live_bytes, a->live_bytes);

	if (!diff)
		diff = cmp_u64(b->peak_bytes, a->peak_bytes);
	if (!diff)
		diff = cmp_u64(a->pid, b->pid);
	return diff ? diff : (a > b) - (a < b);
}

int profile__rank_processes(const struct allocsnoop_profile *p,
			    const struct allocsnoop_process ***processes, size_t *cnt)
{
	const struct allocsnoop_process **list = calloc(p->processes.cnt + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	*cnt = 0;
	for (size_t i = 0; i < p->processes.cnt; i++) {
		if (p->processes.v[i].live_bytes || p->processes.v[i].peak_bytes)
			list[(*cnt)++] = &p->processes.v[i];
	}
	qsort(list, *cnt, sizeof(*list), cmp_processes);
	*processes = list;
	return 0;
}

static int cmp_allocators(const void *x, const void *y, void *arg)
{
	const struct allocsnoop_process *a = *(const struct allocsnoop_process *const *)x;
	const struct allocsnoop_process *b = *(const struct allocsnoop_process *const *)y;
	int by_bytes = cmp_u64(b->alloc_bytes, a->alloc_bytes);
	int by_count = cmp_u64(b->alloc_count, a->alloc_count);
	int diff = *(bool *)arg ? by_count : by_bytes;

	if (!diff)
		diff = by_bytes ? by_bytes : by_count;
	if (!diff)
		diff = cmp_u64(a->pid, b->pid);
	return diff ? diff : (a > b) - (a < b);
}

int profile__rank_allocators(const struct allocsnoop_profile *p, bool by_count,
			     const struct allocsnoop_process ***processes, size_t *cnt)
{
	const struct allocsnoop_process **list = calloc(p->processes.cnt + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	*cnt = 0;
	for (size_t i = 0; i < p->processes.cnt; i++) {
		if (p->processes.v[i].alloc_count)
			list[(*cnt)++] = &p->processes.v[i];
	}
	qsort_r(list, *cnt, sizeof(*list), cmp_allocators, &by_count);
	*processes = list;
	return 0;
}
