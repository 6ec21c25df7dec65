/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the mappings that a stack was walked in, and the files' tables, and finishes the walk. */
#include "trace/copies.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/session.h"
#include "trace/targets.h"
#include "trace/unwinder.h"

void copies__fini(struct copies *c)
{
	free(c->unwinder);
	for (u32 i = 0; i < COPIES_LOOKS; i++)
		vec__free(&c->looks[i].mappings);
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
static struct look *copies__look_of(struct copies *c, u32 tgid)
{
	for (u32 i = 0; i < COPIES_LOOKS; i++) {
		if (c->looks[i].tgid == tgid)
			return &c->looks[i];
	}
	return &c->looks[c->next++ % COPIES_LOOKS];
}

/*
 * The process' mappings as they are, with tables for the files that had none yet. Copies come in
 * crowds, from a few processes at a time: one look serves all that were made before it.
 */
static const struct look *copies__look(struct session *s, const struct as_copy_event *ev)
{
	struct look *l = copies__look_of(&s->copies, ev->tgid);

	if (l->tgid == ev->tgid && l->ns > ev->taken_ns)
		return l;
	l->tgid = ev->tgid;
	l->ns = now__ns();
	l->mappings.cnt = 0;
	targets__look(s, ev->tgid, look__note, l);
	return l;
}

/* They come in the order of their addresses, and a hostile process has many. */
static bool copies__seen(const struct copies *c, u64 addr, struct as_mapping *m)
{
	const struct look *l = c->look;
	size_t low = 0, high = l->mappings.cnt;
	const struct as_map_event *ev;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->mappings.v[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == l->mappings.cnt)
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

	return f && pread(f->fd, to, size, off) == (ssize_t)size;
}

/* ---- stacks ---- */

static bool copy__fits(const struct as_copy_event *ev, const struct recorded_stack *partial)
{
	return partial && partial->frame_cnt <= AS_DEPTH_MAX && ev->size <= AS_COPY_MAX;
}

void copies__finish(struct session *s, const struct as_copy_event *ev)
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
	c->look = copies__look(s, ev);
	if (!unwinder__finish(c->unwinder, &world, ev))
		return;
	c->finished_cnt += whole->frame_cnt > partial->frame_cnt;
	record__finished(&s->record, ev->id, whole);
}

void copies__tell(struct session *s)
{
	struct copies *c = &s->copies;

	if (c->told_cnt == c->finished_cnt)
		return;
	c->told_cnt = c->finished_cnt;
	session__log(s, ALLOCSNOOP_DEBUG,
		     "%llu stacks came through files that were new, and were finished later",
		     (unsigned long long)c->finished_cnt);
}
