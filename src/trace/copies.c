/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the mappings that a stack was walked in, and the files' tables, and finishes the walk. */
#include "trace/copies.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/session.h"
#include "trace/unwinder.h"

#define COPIES_BYTES_MAX (64ull << 20)
#define EVENT_AWAIT_MS	 5000

static void look__put(struct look *l)
{
	if (!l || --l->user_cnt)
		return;
	vec__free(&l->mappings);
	free(l);
}

void copies__fini(struct copies *c)
{
	free(c->unwinder);
	for (size_t i = c->first; i < c->waiting.cnt; i++) {
		free(c->waiting.v[i].ev);
		look__put(c->waiting.v[i].look);
	}
	vec__free(&c->waiting);
	for (u32 i = 0; i < COPIES_LOOKS; i++)
		look__put(c->looks[i]);
}

static u64 now__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- mappings ---- */

static void look__note(void *arg, const struct as_map_event *ev)
{
	struct look *l = arg;

	if (vec__push(&l->mappings, *ev))
		l->ns = 0; /* out of memory: look again next time */
}

/* The entry of the process, or of the one that is to be forgotten for it. */
static struct look **copies__look_of(struct copies *c, u32 tgid)
{
	for (u32 i = 0; i < COPIES_LOOKS; i++) {
		if (c->looks[i] && c->looks[i]->tgid == tgid)
			return &c->looks[i];
	}
	return &c->looks[c->next++ % COPIES_LOOKS];
}

/*
 * The process' mappings as they are; files among them that are new are opened. Copies come in
 * crowds, from a few processes at a time: one look serves all that were made before it. NULL: out
 * of memory.
 */
static struct look *copies__look(struct session *s, const struct as_copy_event *ev)
{
	struct look **at = copies__look_of(&s->copies, ev->tgid), *l = *at;

	if (l && l->tgid == ev->tgid && l->ns > ev->taken_ns)
		return l;
	look__put(l);
	*at = l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->user_cnt = 1;
	l->tgid = ev->tgid;
	l->ns = now__ns();
	finder__look(s, ev->tgid, look__note, l);
	return l;
}

/* They come in the order of their addresses, and a hostile process has many. */
static bool copies__seen(const struct copies *c, u64 addr, struct as_mapping *m)
{
	const struct look *l = c->look;
	size_t low = 0, high = l ? l->mappings.cnt : 0;
	const struct as_map_event *ev;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->mappings.v[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!l || low == l->mappings.cnt)
		return false;
	ev = &l->mappings.v[low];
	if (addr < ev->start || ev->proc != c->now->proc)
		return false;
	*m = (struct as_mapping){
		.start = ev->start, .end = ev->end, .bias = ev->pgoff - ev->start, .file = ev->file
	};
	return true;
}

/*
 * As the kernel saw it in the walk, else as it is now, else (the process has ended, or is another
 * program by now) as the kernel noted it when it was made.
 */
static bool copies__mapping(void *arg, u64 addr, struct as_mapping *m)
{
	struct session *s = arg;
	const struct as_copy_event *ev = s->copies.now;
	const struct traced_file *f;

	if (addr >= ev->map_start && addr < ev->map_end)
		*m = (struct as_mapping){ .start = ev->map_start,
					  .end = ev->map_end,
					  .bias = ev->map_bias,
					  .file = ev->map_file };
	else if (!copies__seen(&s->copies, addr, m) &&
		 !kernel__recall(&s->kernel, ev->proc, addr, m))
		return false;
	f = files__find(&s->files, m->file);
	m->flags = AS_MAPPING_EXEC | (f ? f->known.flags : 0);
	m->table = f ? f->known.table : 0;
	m->chunk_cnt = f ? f->known.chunk_cnt : 0;
	return true;
}

static bool copies__text(void *arg, u64 file, u64 off, void *to, u32 size)
{
	struct session *s = arg;
	const struct traced_file *f = files__find(&s->files, file);

	return f && f->fd >= 0 && pread(f->fd, to, size, off) == (ssize_t)size;
}

/* ---- stacks ---- */

/* Says how many were finished, when it's more than before. */
static void copies__tell(struct session *s)
{
	struct copies *c = &s->copies;

	if (c->told_cnt == c->finished_cnt)
		return;
	c->told_cnt = c->finished_cnt;
	session__log(s, ALLOCSNOOP_DEBUG,
		     "%llu stacks came through files that were new, and were finished later",
		     (unsigned long long)c->finished_cnt);
}

static bool copy__fits(const struct as_copy_event *ev, const struct recorded_stack *partial)
{
	return partial && partial->frame_cnt <= AS_DEPTH_MAX && ev->size <= AS_COPY_MAX;
}

static void copies__finish(struct session *s, const struct as_copy_event *ev,
			   const struct look *look)
{
	const struct recorded_stack *partial = record__find_stack(&s->record, ev->id);
	const struct unwinder_world world = {
		.tables = &s->files.tables,
		.max_depth = kernel__max_depth(&s->kernel),
		.mapping = copies__mapping,
		.text = copies__text,
		.arg = s,
	};
	struct copies *c = &s->copies;
	struct as_stack_event *whole;

	if (!c->unwinder)
		c->unwinder = calloc(1, sizeof(*c->unwinder));
	if (!c->unwinder || !copy__fits(ev, partial))
		return;
	whole = &c->unwinder->slot.ev;
	whole->proc = ev->proc;
	whole->frame_cnt = partial->frame_cnt;
	memcpy(whole->frames, partial->frames, partial->frame_cnt * sizeof(whole->frames[0]));
	c->now = ev;
	c->look = look;
	if (!unwinder__finish(c->unwinder, &world, ev))
		return;
	c->finished_cnt += whole->frame_cnt > partial->frame_cnt;
	record__finished(&s->record, ev->id, whole);
}

/* ---- waiting ---- */

static void copies__finish_first(struct session *s)
{
	struct copies *c = &s->copies;
	struct waiting_copy w = c->waiting.v[c->first++];

	copies__finish(s, w.ev, w.look);
	c->bytes -= w.ev->size;
	free(w.ev);
	look__put(w.look);
	if (c->first == c->waiting.cnt)
		c->first = c->waiting.cnt = 0;
}

/* False: out of memory. */
static bool copies__wait(struct copies *c, const struct as_copy_event *ev, struct look *look,
			 u64 file_cnt)
{
	size_t size = offsetof(struct as_copy_event, bytes) + ev->size;
	struct waiting_copy w = { .ev = malloc(size), .look = look, .file_cnt = file_cnt };

	if (!w.ev)
		return false;
	memcpy(w.ev, ev, size);
	if (vec__push(&c->waiting, w)) {
		free(w.ev);
		return false;
	}
	if (look)
		look->user_cnt++;
	c->bytes += ev->size;
	return true;
}

void copies__take(struct session *s, const struct as_copy_event *ev)
{
	struct copies *c = &s->copies;
	struct look *look = copies__look(s, ev);
	u64 file_cnt = opener__cnt(&s->opener);

	if (ev->size > AS_COPY_MAX)
		return;
	if (c->first == c->waiting.cnt && opener__all_done(&s->opener, file_cnt)) {
		copies__finish(s, ev, look);
		return;
	}
	if (s->event) { /* which tells of this stack next, and by its last id */
		pthread_mutex_unlock(&s->lock);
		finder__await(s, file_cnt, EVENT_AWAIT_MS);
		pthread_mutex_lock(&s->lock);
		copies__finish(s, ev, look);
		return;
	}
	record__await(&s->record, ev->id);
	if (!copies__wait(c, ev, look, file_cnt))
		c->limited_cnt++;
	while (c->bytes > COPIES_BYTES_MAX) {
		c->limited_cnt++;
		copies__finish_first(s);
	}
}

void copies__work(struct session *s)
{
	struct copies *c = &s->copies;

	while (c->first < c->waiting.cnt &&
	       opener__all_done(&s->opener, c->waiting.v[c->first].file_cnt))
		copies__finish_first(s);
	if (!c->waiting.cnt)
		record__settle(&s->record);
	copies__tell(s);
}

void copies__end(struct session *s)
{
	copies__work(s);
	while (s->copies.first < s->copies.waiting.cnt) {
		s->copies.limited_cnt++;
		copies__finish_first(s);
	}
	copies__tell(s);
}

u64 copies__await_cnt(const struct copies *c)
{
	return c->first < c->waiting.cnt ? c->waiting.v[c->waiting.cnt - 1].file_cnt : 0;
}
