/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps sorted, disjoint parts of mappings; cuts, moves and counts them. */
#include "trace/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/live.h"

struct range_space {
	u64 proc;
	VEC(struct range) v; /* by address */
	struct as_heap heap; /* the kernel's doesn't see what is given back */
};

/* What a thread has said to give back: it may stay, or move. */
struct range_leaving {
	struct range_space *space;
	VEC(struct range) v;
};

static void *map__ptr(const struct map *m, u64 key)
{
	u64 val;

	return map__get(m, key, &val) ? (void *)(uintptr_t)val : NULL;
}

/* The element of this key, made when it's new; NULL out of memory. */
static void *map__make(struct map *m, u64 key, size_t size)
{
	void *p = map__ptr(m, key);

	if (p)
		return p;
	p = calloc(1, size);
	if (p && map__put(m, key, (uintptr_t)p)) {
		free(p);
		return NULL;
	}
	return p;
}

static void origin__put(struct range_origin *o)
{
	if (!--o->refs)
		free(o);
}

/* ---- sums ---- */

static struct range_row *ranges__row(struct ranges *r, u32 row)
{
	static const struct range_row none;

	while (r->rows.cnt <= row) {
		if (vec__push(&r->rows, none)) {
			r->dropped++;
			return NULL;
		}
	}
	return &r->rows.v[row];
}

/* As peak__note() in bpf/live.bpf.h. */
static void row__note_peak(struct range_row *row, const struct as_heap *h)
{
	if (row->peak_of == h->peak_bytes)
		return;
	row->peak_cnt = row->live_cnt;
	row->peak_bytes = row->live_bytes;
	row->peak_of = h->peak_bytes;
}

static void heap__grow(struct as_heap *h, u64 now)
{
	if (h->live_bytes <= h->peak_bytes)
		return;
	h->peak_bytes = h->live_bytes;
	h->peak_cnt = h->live_cnt;
	h->peak_ns = now;
}

static u32 life__class(u64 ns)
{
	u32 class = ns ? 63 - __builtin_clzll(ns) : 0;

	return MIN(class, (u32)AS_LIFE_CLASSES - 1);
}

/* Bytes of a mapping go. */
static void part__freed(struct ranges *r, struct range_space *s, const struct range *part, u64 now)
{
	struct range_origin *o = part->origin;
	struct range_row *row = &r->rows.v[o->row];
	u64 size = part->end - part->start;

	row__note_peak(row, &s->heap);
	row->freed_bytes += size;
	row->live_bytes -= size;
	s->heap.live_bytes -= size;
	o->left -= size;
	if (o->left)
		return;
	o->died = MAX(now, o->born);
	row->freed_cnt++;
	row->live_cnt--;
	row->life_ns += o->died - o->born;
	row->life[life__class(o->died - o->born)]++;
	s->heap.live_cnt--;
}

/* They haven't gone. */
static void part__unfreed(struct ranges *r, struct range_space *s, const struct range *part)
{
	struct range_origin *o = part->origin;
	struct range_row *row = &r->rows.v[o->row];
	u64 size = part->end - part->start;

	if (!o->left) {
		row->freed_cnt--;
		row->live_cnt++;
		row->life_ns -= o->died - o->born;
		row->life[life__class(o->died - o->born)]--;
		s->heap.live_cnt++;
	}
	o->left += size;
	row->freed_bytes -= size;
	row->live_bytes += size;
	s->heap.live_bytes += size;
}

/* ---- parts ---- */

/* Index of the first part that ends above addr. */
static size_t space__at(const struct range_space *s, u64 addr)
{
	size_t low = 0, high = s->v.cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->v.v[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int space__insert(struct ranges *r, struct range_space *s, const struct range *part)
{
	size_t at = space__at(s, part->start);
	int err = vec__push(&s->v, *part);

	if (err)
		return err;
	memmove(&s->v.v[at + 1], &s->v.v[at], (s->v.cnt - 1 - at) * sizeof(*part));
	s->v.v[at] = *part;
	r->cnt++;
	return 0;
}

static void space__remove(struct ranges *r, struct range_space *s, size_t at)
{
	s->v.cnt--;
	memmove(&s->v.v[at], &s->v.v[at + 1], (s->v.cnt - at) * sizeof(*s->v.v));
	r->cnt--;
}

/* Cuts [start, end) out of the part at an index; what lies on either side stays. The number of
 * parts that are left of it, or -ENOMEM. */
static int space__cut(struct ranges *r, struct range_space *s, size_t at, u64 start, u64 end)
{
	struct range *part = &s->v.v[at];
	struct range above = { .start = end, .end = part->end, .origin = part->origin };

	if (part->start < start && part->end > end) {
		part->end = start; /* first: parts are found by their ends */
		if (space__insert(r, s, &above)) {
			part->end = above.end;
			return -ENOMEM;
		}
		above.origin->refs++;
		return 2;
	}
	if (part->start < start) {
		part->end = start;
		return 1;
	}
	if (part->end > end) {
		part->start = end;
		return 1;
	}
	space__remove(r, s, at);
	return 0;
}

/* Everything in [start, end) goes; to `kept` where that isn't sure yet. */
static void space__free(struct ranges *r, struct range_space *s, u64 start, u64 end, u64 now,
			struct range_leaving *kept)
{
	for (size_t at = space__at(s, start); at < s->v.cnt && s->v.v[at].start < end;) {
		struct range part = s->v.v[at];
		int left;

		part.start = MAX(part.start, start);
		part.end = MIN(part.end, end);
		part.origin->refs++; /* ours */
		left = space__cut(r, s, at, part.start, part.end);
		if (left < 0) {
			r->dropped++;
			origin__put(part.origin);
			return;
		}
		if (!left) /* the part's own */
			origin__put(part.origin);
		at += left;
		part__freed(r, s, &part, now);
		if (!kept || vec__push(&kept->v, part))
			origin__put(part.origin);
	}
}

static void leaving__clear(struct range_leaving *l)
{
	for (size_t i = 0; i < l->v.cnt; i++)
		origin__put(l->v.v[i].origin);
	l->v.cnt = 0;
	l->space = NULL;
}

/* ---- events ---- */

static void ranges__lose(struct ranges *r, u32 at, u64 size)
{
	struct range_row *row = ranges__row(r, at);

	if (!row)
		return;
	row->untracked_cnt++;
	row->untracked_bytes += size;
}

static void ranges__made(struct ranges *r, struct range_space *s, const struct as_range_event *ev)
{
	struct range part = { .start = ev->start, .end = ev->end };
	u64 size = ev->end - ev->start;
	struct range_row *row;

	space__free(r, s, ev->start, ev->end, ev->time, NULL);
	if (ev->row == AS_ROW_NONE)
		return;
	row = ranges__row(r, ev->row);
	if (!row)
		return;
	part.origin = r->cnt < r->max ? calloc(1, sizeof(*part.origin)) : NULL;
	if (!part.origin || !size) {
		r->full_cnt += r->cnt >= r->max;
		free(part.origin);
		ranges__lose(r, ev->row, size);
		return;
	}
	*part.origin =
		(struct range_origin){ .born = ev->time, .left = size, .row = ev->row, .refs = 1 };
	if (space__insert(r, s, &part)) {
		free(part.origin);
		ranges__lose(r, ev->row, size);
		return;
	}
	row__note_peak(row, &s->heap);
	row->live_cnt++;
	row->live_bytes += size;
	s->heap.live_cnt++;
	s->heap.live_bytes += size;
	heap__grow(&s->heap, ev->time);
}

/* Threads end without a word; more than this many aren't in munmap(2) at once. */
#define LEAVING_MAX 65536

static void ranges__clear_leaving(struct ranges *r)
{
	u64 tid, val;

	for (size_t i = 0; map__next(&r->leaving, &i, &tid, &val);) {
		struct range_leaving *l = (void *)(uintptr_t)val;

		leaving__clear(l);
		vec__free(&l->v);
		free(l);
	}
	map__free(&r->leaving);
}

static void ranges__leaves(struct ranges *r, struct range_space *s, const struct as_range_event *ev)
{
	struct range_leaving *l;

	if (r->leaving.cnt >= LEAVING_MAX)
		ranges__clear_leaving(r);
	l = map__make(&r->leaving, ev->tid, sizeof(*l));
	if (l) {
		leaving__clear(l);
		l->space = s;
	}
	space__free(r, s, ev->start, ev->end, ev->time, l);
}

/* What a thread has said to leave is there, moved by so much, as far as the old end. */
static void ranges__put_back(struct ranges *r, struct range_space *s,
			     const struct as_range_event *ev, u64 end, u64 distance)
{
	struct range_leaving *l = map__ptr(&r->leaving, ev->tid);

	if (!l || l->space != s)
		return;
	for (size_t i = 0; i < l->v.cnt; i++) {
		struct range part = l->v.v[i];

		part.end = MIN(part.end, end);
		if (part.start >= part.end)
			continue;
		part__unfreed(r, s, &part);
		part.start += distance;
		part.end += distance;
		part.origin->refs++;
		if (!space__insert(r, s, &part))
			continue;
		r->dropped++;
		part__freed(r, s, &part, ev->time);
		origin__put(part.origin);
	}
	leaving__clear(l);
}

static void ranges__moved(struct ranges *r, struct range_space *s, const struct as_range_event *ev)
{
	space__free(r, s, ev->to, ev->to + (ev->end - ev->start), ev->time, NULL);
	ranges__put_back(r, s, ev, ev->end, ev->to - ev->start);
}

void ranges__event(struct ranges *r, const struct as_range_event *ev)
{
	struct range_space *s = map__make(&r->spaces, ev->space, sizeof(*s));

	if (!s || ev->end < ev->start) {
		r->dropped += !s;
		return;
	}
	s->proc = ev->space;
	if (ev->what == AS_RANGE_MADE)
		ranges__made(r, s, ev);
	else if (ev->what == AS_RANGE_LEAVES)
		ranges__leaves(r, s, ev);
	else if (ev->what == AS_RANGE_STAYS)
		ranges__put_back(r, s, ev, ~0ull, 0);
	else if (ev->what == AS_RANGE_MOVED)
		ranges__moved(r, s, ev);
}

/* ---- reports ---- */

static void live_row__add_range(struct as_live_row *to, const struct range_row *row)
{
	to->freed_cnt += row->freed_cnt;
	to->freed_bytes += row->freed_bytes;
	to->untracked_cnt += row->untracked_cnt;
	to->untracked_bytes += row->untracked_bytes;
	to->life_ns += row->life_ns;
	to->peak_of = row->peak_of;
	to->peak_cnt = row->peak_cnt;
	to->peak_bytes = row->peak_bytes;
	for (u32 i = 0; i < AS_LIFE_CLASSES; i++)
		to->life[i] += row->life[i];
}

void ranges__add_sums(const struct ranges *r, struct live *l)
{
	u64 proc, val, at;

	for (size_t i = 0; i < r->rows.cnt && i < l->rows.cnt; i++)
		live_row__add_range(&l->rows.v[i].sums, &r->rows.v[i]);
	for (size_t i = 0; map__next(&r->spaces, &i, &proc, &val);) {
		const struct range_space *s = (void *)(uintptr_t)val;

		if (!map__get(&l->heap_at, proc, &at))
			continue;
		l->heaps.v[at] = s->heap;
		l->heaps.v[at].proc = proc;
	}
}

/* Several parts of one mapping are one block. */
void ranges__add_ages(struct ranges *r, struct live *l, u64 older_ns, u64 old_ns)
{
	u64 proc, val, look = ++r->looks;

	for (size_t i = 0; map__next(&r->spaces, &i, &proc, &val);) {
		const struct range_space *s = (void *)(uintptr_t)val;

		for (size_t n = 0; n < s->v.cnt; n++) {
			struct range_origin *o = s->v.v[n].origin;
			const struct as_block b = { .size = o->left,
						    .born = o->born,
						    .row = o->row };

			if (o->seen != look)
				live__add_age(l, &b, older_ns, old_ns);
			o->seen = look;
		}
	}
}

/* ---- the end ---- */

static void space__clear(struct ranges *r, struct range_space *s)
{
	for (size_t i = 0; i < s->v.cnt; i++)
		origin__put(s->v.v[i].origin);
	r->cnt -= s->v.cnt;
	vec__free(&s->v);
}

/* Its heap stays: what it had at its peak is reported still. */
void ranges__forget(struct ranges *r, u64 space)
{
	struct range_space *s = map__ptr(&r->spaces, space);

	if (s)
		space__clear(r, s);
}

/* Threads that the end has met in munmap(2). */
static void ranges__stop_leaving(struct ranges *r, const struct range_space *s)
{
	u64 tid, val;

	for (size_t i = 0; map__next(&r->leaving, &i, &tid, &val);) {
		struct range_leaving *l = (void *)(uintptr_t)val;

		if (l->space == s)
			leaving__clear(l);
	}
}

void ranges__take_heap(struct ranges *r, u64 space, struct as_heap *heap)
{
	struct range_space *s = map__ptr(&r->spaces, space);

	if (!s)
		return;
	*heap = s->heap;
	heap->proc = space;
	ranges__stop_leaving(r, s);
	space__clear(r, s);
	map__del(&r->spaces, space);
	free(s);
}

void ranges__take_row(struct ranges *r, u32 at, struct as_live_row *to)
{
	if (at >= r->rows.cnt)
		return;
	live_row__add_range(to, &r->rows.v[at]);
	r->rows.v[at] = (struct range_row){};
}

void ranges__fini(struct ranges *r)
{
	u64 key, val;

	ranges__clear_leaving(r);
	for (size_t i = 0; map__next(&r->spaces, &i, &key, &val);) {
		space__clear(r, (void *)(uintptr_t)val);
		free((void *)(uintptr_t)val);
	}
	map__free(&r->spaces);
	vec__free(&r->rows);
}
