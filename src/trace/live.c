/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes snapshots of the live heap. */
#include "trace/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/blocks.h"
#include "trace/ranges.h"

void live__fini(struct live *l)
{
	vec__free(&l->rows);
	vec__free(&l->heaps);
	map__free(&l->heap_at);
}

u64 live_row__cnt(const struct live_row *r)
{
	u64 gone = r->sums.freed_cnt + r->sums.untracked_cnt;

	return r->sums.alloc_cnt - MIN(gone, r->sums.alloc_cnt);
}

u64 live_row__bytes(const struct live_row *r)
{
	u64 gone = r->sums.freed_bytes + r->sums.untracked_bytes;

	return r->sums.alloc_bytes - MIN(gone, r->sums.alloc_bytes);
}

void live_row__add(struct live_row *to, const struct live_row *from)
{
	struct as_live_row *a = &to->sums;
	const struct as_live_row *b = &from->sums;

	a->alloc_cnt += b->alloc_cnt;
	a->alloc_bytes += b->alloc_bytes;
	a->freed_cnt += b->freed_cnt;
	a->freed_bytes += b->freed_bytes;
	a->untracked_cnt += b->untracked_cnt;
	a->untracked_bytes += b->untracked_bytes;
	a->temporary_cnt += b->temporary_cnt;
	a->life_ns += b->life_ns;
	a->peak_cnt += b->peak_cnt;
	a->peak_bytes += b->peak_bytes;
	to->older_cnt += from->older_cnt;
	to->older_bytes += from->older_bytes;
	to->age_ns += from->age_ns;
	to->old_cnt += from->old_cnt;
	to->old_bytes += from->old_bytes;
	for (u32 i = 0; i < AS_LIFE_CLASSES; i++) {
		a->life[i] += b->life[i];
		to->ages[i] += from->ages[i];
	}
}

const struct as_heap *live__heap(const struct live *l, u64 proc)
{
	u64 at;

	return map__get(&l->heap_at, proc, &at) ? &l->heaps.v[at] : NULL;
}

struct aging {
	struct live *live;
	u64 older_ns;
	u64 old_ns;
};

static u32 age__class(u64 ns)
{
	u32 class = ns ? 63 - __builtin_clzll(ns) : 0;

	return MIN(class, (u32)AS_LIFE_CLASSES - 1);
}

void live__add_age(struct live *l, const struct as_block *b, u64 older_ns, u64 old_ns)
{
	u64 age = l->now_ns - MIN(b->born, l->now_ns);
	struct live_row *r;

	if (b->row >= l->rows.cnt)
		return; /* not counted, or newer than the copy */
	r = &l->rows.v[b->row];
	if (age < older_ns)
		return;
	r->older_cnt++;
	r->older_bytes += b->size;
	r->age_ns += age;
	r->ages[age__class(age)]++;
	if (!old_ns || age < old_ns)
		return;
	r->old_cnt++;
	r->old_bytes += b->size;
}

static void aging__block(void *arg, const struct as_block *b, const struct block_place *at)
{
	const struct aging *a = arg;

	(void)at;
	live__add_age(a->live, b, a->older_ns, a->old_ns);
}

/* Unchanged since the peak: what is live now was live then. */
static void live__settle_peaks(struct live *l)
{
	for (size_t i = 0; i < l->rows.cnt; i++) {
		struct live_row *r = &l->rows.v[i];
		const struct as_heap *heap = live__heap(l, r->sums.key.proc);

		if (!heap || r->sums.peak_id == heap->peak_id)
			continue;
		r->sums.peak_cnt = live_row__cnt(r);
		r->sums.peak_bytes = live_row__bytes(r);
		r->sums.peak_id = heap->peak_id;
	}
}

int live__take(struct live *l, struct kernel *k, struct ranges *ranges, u64 older_ns, u64 old_ns)
{
	struct aging aging = { .live = l, .older_ns = older_ns, .old_ns = old_ns };
	u32 rows = kernel__live_row_cnt(k), heaps = kernel__heap_cnt(k);
	struct timespec ts;
	int err = 0;

	memset(l, 0, sizeof(*l));
	for (u32 i = 0; i < rows && !err; i++) {
		struct live_row row = { .sums = k->live_rows[i] };

		if (i < AS_CLASS_CNT)
			row.sums.key.size_class = i;
		err = vec__push(&l->rows, row);
	}
	for (u32 i = 0; i < heaps && !err; i++) {
		err = vec__push(&l->heaps, k->heaps[i]);
		if (!err && l->heaps.v[i].proc)
			err = map__put(&l->heap_at, l->heaps.v[i].proc, i);
	}
	if (err)
		return err;
	ranges__add_sums(ranges, l);
	live__settle_peaks(l);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	l->now_ns = (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
	ranges__add_ages(ranges, l, older_ns, old_ns);
	return blocks__each(k, aging__block, &aging);
}
