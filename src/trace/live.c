/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes snapshots of the live heap. */
#include "trace/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/blocks.h"
#include "trace/ranges.h"
#include "trace/session.h"

void live__fini(struct live *l)
{
	vec__free(&l->rows);
	vec__free(&l->heaps);
	map__free(&l->heap_at);
}

u64 live_sums__cnt(const struct as_live_row *r)
{
	return r->alloc_cnt - MIN(r->freed_cnt + r->untracked_cnt, r->alloc_cnt);
}

u64 live_sums__bytes(const struct as_live_row *r)
{
	return r->alloc_bytes - MIN(r->freed_bytes + r->untracked_bytes, r->alloc_bytes);
}

u64 live_row__cnt(const struct live_row *r)
{
	return live_sums__cnt(&r->sums);
}

u64 live_row__bytes(const struct live_row *r)
{
	return live_sums__bytes(&r->sums);
}

void live_sums__add(struct as_live_row *a, const struct as_live_row *b)
{
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
	for (u32 i = 0; i < AS_LIFE_CLASSES; i++)
		a->life[i] += MIN(b->life[i], UINT32_MAX - a->life[i]);
}

void live_row__add(struct live_row *to, const struct live_row *from)
{
	live_sums__add(&to->sums, &from->sums);
	to->older_cnt += from->older_cnt;
	to->older_bytes += from->older_bytes;
	to->age_ns += from->age_ns;
	to->old_cnt += from->old_cnt;
	to->old_bytes += from->old_bytes;
	to->before_cnt += from->before_cnt;
	to->before_bytes += from->before_bytes;
	to->images = MAX(to->images, from->images);
	for (u32 i = 0; i < AS_LIFE_CLASSES; i++)
		to->ages[i] += from->ages[i];
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

		if (!heap || r->sums.peak_of == heap->peak_bytes)
			continue;
		r->sums.peak_cnt = live_row__cnt(r);
		r->sums.peak_bytes = live_row__bytes(r);
		r->sums.peak_of = heap->peak_bytes;
	}
}

static int live__take_rows(struct live *l, const struct session *s)
{
	u32 rows = kernel__live_row_cnt(&s->kernel);
	int err = 0;

	for (u32 i = 0; i < rows && !err; i++) {
		struct live_row row = { .sums = s->kernel.live_rows[i], .images = 1 };

		if (i < AS_CLASS_CNT)
			row.sums.key.size_class = i;
		if (i < s->before.cnt) {
			row.before_cnt = s->before.v[i].cnt;
			row.before_bytes = s->before.v[i].bytes;
		}
		err = vec__push(&l->rows, row);
	}
	l->kernel_row_cnt = l->rows.cnt;
	return err;
}

static int live__take_past(struct live *l, const struct record *r)
{
	int err = 0;

	for (size_t i = 0; i < r->past.cnt && !err; i++) {
		const struct past_row *past = &r->past.v[i];
		struct live_row row = {
			.sums = past->sums,
			.before_cnt = past->before_cnt,
			.before_bytes = past->before_bytes,
			.images = past->images,
		};

		err = vec__push(&l->rows, row);
	}
	return err;
}

static int live__take_heaps(struct live *l, const struct kernel *k)
{
	u32 heaps = kernel__heap_cnt(k);
	int err = 0;

	for (u32 i = 0; i < heaps && !err; i++) {
		err = vec__push(&l->heaps, k->heaps[i]);
		if (!err && l->heaps.v[i].proc)
			err = map__put(&l->heap_at, l->heaps.v[i].proc, i);
	}
	return err;
}

int live__take(struct live *l, struct session *s)
{
	struct aging aging = { .live = l, .older_ns = s->older_ns, .old_ns = s->old_ns };
	struct timespec ts;
	int err;

	memset(l, 0, sizeof(*l));
	err = live__take_rows(l, s);
	if (!err)
		err = live__take_heaps(l, &s->kernel);
	if (err)
		return err;
	ranges__add_sums(&s->ranges, l);
	live__settle_peaks(l);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	l->now_ns = (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
	ranges__add_ages(&s->ranges, l, s->older_ns, s->old_ns);
	err = blocks__each(&s->kernel, aging__block, &aging);
	return err ? err : live__take_past(l, &s->record);
}
