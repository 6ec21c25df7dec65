/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An image that is over has no thread that could change its rows. One thing is left that names
 * them: a vfork(2) child that outlives its killed parent goes on in the parent's space for a while.
 * So rows are given back in two steps, with a pause between them: first no look-up and no
 * remembered walk leads to them any more, so that only calls that have begun by then do; when those
 * have returned, the rows are empty for others.
 */
#include "trace/giveback.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "base/cleanup.h"
#include "trace/blocks.h"
#include "trace/fold.h"
#include "trace/over.h"
#include "trace/session.h"

#define SHORT_SHARE 2 /* of the rows, or of the heaps, are in use */

static u64 kernel__rows_used(const struct kernel *k)
{
	u64 reused = __atomic_load_n(&k->skel->bss->rows_reused, __ATOMIC_RELAXED);

	return kernel__live_row_cnt(k) + reused - k->rows_given;
}

static u64 kernel__heaps_used(const struct kernel *k)
{
	u64 reused = __atomic_load_n(&k->skel->bss->heaps_reused, __ATOMIC_RELAXED);

	return kernel__heap_cnt(k) + reused - k->heaps_given;
}

static bool kernel__is_short(const struct kernel *k)
{
	return kernel__rows_used(k) > k->row_max / SHORT_SHARE ||
	       kernel__heaps_used(k) > k->heap_max / SHORT_SHARE;
}

/* ---- first step ---- */

/* Images that are over and still have rows. With leave, those whose sums are all known are to leave
 * them. */
static bool session__over(struct session *s, bool leave)
{
	bool any = false;
	u64 key, val;

	for (size_t i = 0; map__next(&s->record.procs, &i, &key, &val);) {
		struct recorded_proc *p = (void *)(uintptr_t)val;

		if (p->count || p->queued || !over__has(s, p))
			continue;
		if (leave && !record__is_settled(&s->record, p))
			continue;
		any = true;
		p->leaving = leave;
	}
	return any;
}

static bool proc__is_leaving(const struct session *s, u64 proc)
{
	const struct recorded_proc *p = proc ? record__find_proc(&s->record, proc) : NULL;

	return p && p->leaving;
}

static void session__hide(struct session *s)
{
	struct kernel *k = &s->kernel;
	u32 rows = kernel__live_row_cnt(k), heaps = kernel__heap_cnt(k);

	for (u32 i = AS_CLASS_CNT; i < rows; i++) {
		struct as_tally_key key = k->live_rows[i].key;

		if (proc__is_leaving(s, key.proc))
			bpf_map__delete_elem(k->skel->maps.live_row_at, &key, sizeof(key), 0);
	}
	for (u32 i = 1; i < heaps; i++) {
		u64 proc = k->heaps[i].proc;

		if (proc__is_leaving(s, proc))
			bpf_map__delete_elem(k->skel->maps.heap_at, &proc, sizeof(proc), 0);
	}
	kernel__new_tables(k); /* forgets walks */
}

/* ---- second step ---- */

struct leaving {
	struct kernel *k;
	bool *rows; /* by number */
};

static void leaving__block(void *arg, const struct as_block *b, const struct block_place *at)
{
	struct leaving *l = arg;
	struct as_heap *heap;

	if (b->row >= l->k->row_max || !l->rows[b->row] || !blocks__remove(l->k, at))
		return;
	heap = &l->k->heaps[l->k->live_rows[b->row].heap];
	__atomic_sub_fetch(&heap->live_cnt, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&heap->live_bytes, b->size, __ATOMIC_RELAXED);
}

static void past_row__settle_peak(struct past_row *row, const struct as_heap *heap)
{
	struct as_live_row *sums = &row->sums;

	if (heap->proc != sums->key.proc)
		sums->peak_cnt = sums->peak_bytes = 0; /* it had none */
	else if (sums->peak_of != heap->peak_bytes) {
		sums->peak_cnt = live_sums__cnt(sums);
		sums->peak_bytes = live_sums__bytes(sums);
	}
	sums->peak_of = 0;
	sums->heap = 0;
}

/* The row's sums are the record's, and the row is anybody's. */
static int session__take_row(struct session *s, u32 at)
{
	struct kernel *k = &s->kernel;
	struct past_row row = { .sums = k->live_rows[at], .used = s->record.drains, .images = 1 };
	u64 id = row.sums.key.stack;

	ranges__take_row(&s->ranges, at, &row.sums);
	past_row__settle_peak(&row, &k->heaps[row.sums.heap]);
	row.sums.key.stack = record__whole(&s->record, id);
	if (at < s->before.cnt) {
		row.before_cnt = s->before.v[at].cnt;
		row.before_bytes = s->before.v[at].bytes;
	}
	if (row.sums.alloc_cnt && record__past(&s->record, &row))
		return -1;
	if (at < s->before.cnt)
		s->before.v[at] = (struct live_before){};
	map__del(&s->record.finished, id);
	k->past_kept += row.sums.alloc_cnt;
	memset(&k->live_rows[at], 0, sizeof(k->live_rows[at]));
	if (!bpf_map__update_elem(k->skel->maps.free_rows, NULL, 0, &at, sizeof(at), BPF_ANY))
		k->rows_given++;
	return 0;
}

static void session__take_heaps(struct session *s)
{
	struct kernel *k = &s->kernel;
	u32 cnt = kernel__heap_cnt(k);

	for (u32 i = 1; i < cnt; i++) {
		struct recorded_proc *p = record__find_proc(&s->record, k->heaps[i].proc);

		if (!p || !p->leaving)
			continue;
		p->heap = k->heaps[i];
		memset(&k->heaps[i], 0, sizeof(k->heaps[i]));
		if (!bpf_map__update_elem(k->skel->maps.free_heaps, NULL, 0, &i, sizeof(i),
					  BPF_ANY))
			k->heaps_given++;
	}
}

/* Of mappings user space has the heaps. */
static void session__take_mappings(struct session *s)
{
	struct as_heap none;
	u32 cnt = kernel__heap_cnt(&s->kernel);
	u64 key, val;

	if (!s->ranges.spaces.cnt)
		return;
	for (u32 i = 1; i < cnt; i++) {
		struct as_heap *heap = &s->kernel.heaps[i];

		if (proc__is_leaving(s, heap->proc))
			ranges__take_heap(&s->ranges, heap->proc, heap);
	}
	for (size_t i = 0; map__next(&s->record.procs, &i, &key, &val);) {
		if (((const struct recorded_proc *)(uintptr_t)val)->leaving)
			ranges__take_heap(&s->ranges, key, &none);
	}
}

static void session__retire_leaving(struct session *s)
{
	u64 key, val;

	for (size_t i = 0; map__next(&s->record.procs, &i, &key, &val);) {
		struct recorded_proc *p = (void *)(uintptr_t)val;

		if (!p->leaving)
			continue;
		p->leaving = false;
		record__retire(&s->record, p);
	}
}

/* 0, or -1 when there was no memory: the rest stays for the next time. */
static int session__take(struct session *s)
{
	struct kernel *k = &s->kernel;
	u32 cnt = kernel__live_row_cnt(k);
	CLEANUP(free__p) bool *rows = calloc(k->row_max, sizeof(*rows));
	struct leaving l = { .k = k, .rows = rows };
	int err = rows ? 0 : -1;

	if (err)
		return err;
	for (u32 i = AS_CLASS_CNT; i < cnt; i++)
		rows[i] = proc__is_leaving(s, k->live_rows[i].key.proc);
	if (blocks__each(k, leaving__block, &l))
		return -1;
	session__take_mappings(s);
	for (u32 i = AS_CLASS_CNT; i < cnt && !err; i++)
		err = rows[i] ? session__take_row(s, i) : 0;
	if (err)
		return err;
	session__take_heaps(s);
	session__retire_leaving(s);
	return 0;
}

void session__give_back(struct session *s)
{
	if (s->leaving) {
		s->leaving = session__take(s) != 0;
		return;
	}
	if (!kernel__is_short(&s->kernel) || !session__over(s, false) || session__take_rows(s))
		return;
	s->leaving = session__over(s, true);
	if (s->leaving)
		session__hide(s);
}
