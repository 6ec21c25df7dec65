/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nobody frees the blocks of a process that has ended. Where many come and go they would fill the
 * table, so they are taken out when they are more than an eighth of what it shall hold.
 */
#include "trace/sweep.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "trace/blocks.h"
#include "trace/over.h"

#define SWEEP_SHARE 8 /* of --max-live */

struct sweep {
	struct session *s;
	u32 heap_cnt;
	bool *over; /* by heap */
	u64 blocks; /* of heaps that are over */
};

static u64 heap__blocks(const struct kernel *k, u32 at)
{
	return __atomic_load_n(&k->heaps[at].live_cnt, __ATOMIC_RELAXED);
}

static u64 sweep__all(const struct sweep *w)
{
	u64 sum = 0;

	for (u32 i = 1; i < w->heap_cnt; i++)
		sum += heap__blocks(&w->s->kernel, i);
	return sum;
}

/* Heap 0 is of many images: they can't be told apart. */
static void sweep__look(struct sweep *w)
{
	const struct kernel *k = &w->s->kernel;

	for (u32 i = 1; i < w->heap_cnt; i++) {
		u64 blocks = heap__blocks(k, i);
		const struct recorded_proc *proc =
			blocks ? record__find_proc(&w->s->record, k->heaps[i].proc) : NULL;

		w->over[i] = proc && over__has(w->s, proc);
		w->blocks += w->over[i] ? blocks : 0;
	}
}

static void sweep__block(void *arg, const struct as_block *b, const struct block_place *at)
{
	struct sweep *w = arg;
	struct kernel *k = &w->s->kernel;
	u32 heap = b->row < k->row_max ? k->live_rows[b->row].heap : 0;

	if (heap >= w->heap_cnt || !w->over[heap] || !blocks__remove(k, at))
		return;
	__atomic_sub_fetch(&k->heaps[heap].live_cnt, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&k->heaps[heap].live_bytes, b->size, __ATOMIC_RELAXED);
}

/* The same for mappings. */
static void sweep__ranges(struct session *s)
{
	struct ranges *r = &s->ranges;
	u64 proc, val;

	if (r->cnt < r->max / SWEEP_SHARE + 1)
		return;
	for (size_t i = 0; map__next(&s->record.procs, &i, &proc, &val);) {
		if (over__has(s, (const struct recorded_proc *)(uintptr_t)val))
			ranges__forget(r, proc);
	}
}

void session__sweep(struct session *s)
{
	struct sweep w = { .s = s, .heap_cnt = kernel__heap_cnt(&s->kernel) };
	u64 least = s->kernel.max_live / SWEEP_SHARE + 1;

	sweep__ranges(s);
	if (sweep__all(&w) < least)
		return;
	CLEANUP(free__p) bool *by_heap = calloc(w.heap_cnt, sizeof(*by_heap));

	if (!by_heap)
		return;
	w.over = by_heap;
	sweep__look(&w);
	if (w.blocks >= least)
		blocks__each(&s->kernel, sweep__block, &w);
}
