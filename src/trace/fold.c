/* SPDX-License-Identifier: BSD-2-Clause */
/* Folds images and ages stacks: rows get another key, and those that have the same one then become
 * one. */
#include "trace/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/live.h"

#define GROUPS_MAX 4096 /* names of folded images that are told apart */
#define OTHER_COMM "[other]"
#define MAP_ENTRY  40 /* bytes an entry of a map takes, at its usual load */
#define ALLOC_COST 16

/* ---- rows ---- */

static void row__add(struct recorded_row *to, const struct recorded_row *from)
{
	to->cnt += from->cnt;
	to->bytes += from->bytes;
	to->used = MAX(to->used, from->used);
	duty_row__join(&to->windows, from->windows);
}

static void past_row__add(struct past_row *to, const struct past_row *from)
{
	live_sums__add(&to->sums, &from->sums);
	to->before_cnt += from->before_cnt;
	to->before_bytes += from->before_bytes;
	to->used = MAX(to->used, from->used);
}

/* Rows of one stack, in different images. */
static void row__fold(void *to, const void *from)
{
	row__add(to, from);
	((struct recorded_row *)to)->images += ((const struct recorded_row *)from)->images;
}

void past_row__fold(void *to, const void *from)
{
	past_row__add(to, from);
	((struct past_row *)to)->images += ((const struct past_row *)from)->images;
}

/* Rows of different stacks, in one image (or group, where the images may be the same ones). */
static void row__join(void *to, const void *from)
{
	struct recorded_row *row = to;

	row__add(to, from);
	row->images = MAX(row->images, ((const struct recorded_row *)from)->images);
}

static void past_row__join(void *to, const void *from)
{
	struct past_row *row = to;

	past_row__add(to, from);
	row->images = MAX(row->images, ((const struct past_row *)from)->images);
}

/* Gives back what a table doesn't need any more; without memory for a smaller index it stays. */
static void map__shrink(struct map *m)
{
	struct map smaller = {};
	u64 key, val;

	if (m->cap / 8 < m->cnt)
		return;
	for (size_t i = 0; map__next(m, &i, &key, &val);) {
		if (map__put(&smaller, key, val)) {
			map__free(&smaller);
			return;
		}
	}
	map__free(m);
	*m = smaller;
}

#define vec__shrink(vec)                                                      \
	do {                                                                  \
		size_t room__ = MAX((vec)->cnt, 1u);                          \
		void *less__ = realloc((vec)->v, room__ * sizeof(*(vec)->v)); \
                                                                              \
		if (less__) {                                                 \
			(vec)->v = less__;                                    \
			(vec)->cap = room__;                                  \
		}                                                             \
	} while (0)

static void record__compact(struct record *r, keyed_merge_fn row, keyed_merge_fn past_row)
{
	r->rows.cnt = keyed__compact(r->rows.v, sizeof(*r->rows.v), r->rows.cnt, &r->row_at, row);
	r->past.cnt =
		keyed__compact(r->past.v, sizeof(*r->past.v), r->past.cnt, &r->past_at, past_row);
	for (size_t i = 0; i < r->rows.cnt; i++) {
		if (r->rows.v[i].windows)
			r->rows.v[i].windows->at = i;
	}
	vec__shrink(&r->rows);
	vec__shrink(&r->past);
	map__shrink(&r->row_at);
	map__shrink(&r->past_at);
}

/* Rows that came before their stacks were finished (with windows none waits). */
void record__join_finished(struct record *r)
{
	bool any = false;

	if (!r->finished.cnt)
		return;
	for (size_t i = 0; i < r->rows.cnt; i++) {
		u64 id = r->rows.v[i].key.stack, whole = record__whole(r, id);

		if (whole == id)
			continue;
		r->rows.v[i].key.stack = whole;
		map__del(&r->finished, id);
		any = true;
	}
	if (any)
		record__compact(r, row__join, past_row__join);
}

/* ---- images ---- */

void record__over(struct record *r, struct recorded_proc *p, u32 how)
{
	if (p->over)
		return;
	p->over = how;
	p->over_at = r->drains;
}

void record__retire(struct record *r, struct recorded_proc *p)
{
	if (p->queued || p->count)
		return;
	if (vec__push(&r->ended, p->proc))
		r->dropped++;
	else
		p->queued = true;
}

size_t record__retired_cnt(const struct record *r)
{
	return r->ended.cnt - r->ended_at;
}

bool record__is_settled(const struct record *r, const struct recorded_proc *p)
{
	return p->over && p->over_at < r->drains && !r->awaited.cnt && !r->late.cnt;
}

static struct recorded_proc *record__new_group(struct record *r, u64 id,
					       const struct recorded_proc *like)
{
	struct recorded_proc *g = calloc(1, sizeof(*g));

	if (!g || map__put(&r->procs, id, (uintptr_t)g)) {
		free(g);
		return NULL;
	}
	g->proc = id;
	g->exe_file = like->exe_file;
	g->cgroup = "";
	g->over = AS_OVER_ENDED;
	memcpy(g->comm, like->comm, sizeof(g->comm));
	r->group_cnt++;
	return g;
}

/* The group of these names. Its id is even: no image's is. NULL: out of memory. */
static struct recorded_proc *record__group(struct record *r, const struct recorded_proc *like)
{
	static const struct recorded_proc other = { .comm = OTHER_COMM };
	struct recorded_proc *g;
	u64 words[2], id;

	memcpy(words, like->comm, sizeof(words));
	id = map__mix(map__mix(words[0], words[1]), like->exe_file) & ~1ull;
	while ((g = record__find_proc(r, id))) {
		if (g->exe_file == like->exe_file && !memcmp(g->comm, like->comm, sizeof(g->comm)))
			return g;
		id = map__mix(id, 1) & ~1ull;
	}
	if (r->group_cnt < GROUPS_MAX || like == &other)
		return record__new_group(r, id, like);
	r->unnamed_cnt++;
	return record__group(r, &other);
}

/* Marks those to fold; their number. */
static size_t record__mark_fold(struct record *r, size_t keep)
{
	size_t cnt = 0;

	while (record__retired_cnt(r) > keep) {
		struct recorded_proc *p = record__find_proc(r, r->ended.v[r->ended_at]);

		if (!record__is_settled(r, p))
			break;
		p->group = record__group(r, p);
		if (!p->group)
			break;
		r->ended_at++;
		cnt++;
	}
	return cnt;
}

/* A group has no moment of its peak: the highest of one image stands for it. */
static void group__add(struct recorded_proc *g, const struct recorded_proc *p)
{
	u64 unknown = g->heap.unknown_frees + p->heap.unknown_frees;

	if (!g->heap.proc || p->heap.peak_bytes > g->heap.peak_bytes)
		g->heap = p->heap;
	g->heap.unknown_frees = unknown;
	g->count++;
}

static void record__drop_proc(struct record *r, struct recorded_proc *p)
{
	u64 newest;

	if (p->group)
		group__add(p->group, p);
	if (map__get(&r->by_pid, p->pid, &newest) && newest == (uintptr_t)p)
		map__del(&r->by_pid, p->pid);
	map__del(&r->procs, p->proc);
	free(p);
}

static u64 record__group_of(const struct record *r, u64 proc)
{
	const struct recorded_proc *p = record__find_proc(r, proc);

	return p && p->group ? p->group->proc : proc;
}

static bool key__drop_thread(struct as_tally_key *key)
{
	bool any = as_key_tid(key);

	key->size_class = as_key_class(key);
	return any;
}

/* A group's threads aren't told apart. Their rows become one before images do: they are of one. */
static void record__join_threads(struct record *r)
{
	bool any = false;

	for (size_t i = 0; i < r->rows.cnt; i++) {
		struct as_tally_key *key = &r->rows.v[i].key;

		if (record__group_of(r, key->proc) != key->proc)
			any |= key__drop_thread(key);
	}
	for (size_t i = 0; i < r->past.cnt; i++) {
		struct as_tally_key *key = &r->past.v[i].sums.key;

		if (record__group_of(r, key->proc) != key->proc)
			any |= key__drop_thread(key);
	}
	if (any)
		record__compact(r, row__join, past_row__join);
}

/* Names of threads whose process is folded, or of all. */
static void record__drop_threads(struct record *r, bool all)
{
	struct map left = {};
	u64 key, val;

	for (size_t i = 0; map__next(&r->threads, &i, &key, &val);) {
		struct recorded_thread *t = (void *)(uintptr_t)val;
		const struct recorded_proc *p = record__find_proc(r, t->proc);

		/* Without memory for what is left some have no names. */
		if (all || (p && p->group) || map__put(&left, key, val))
			free(t);
	}
	map__free(&r->threads);
	r->threads = left;
}

void record__fold_threads(struct record *r)
{
	for (size_t i = 0; i < r->rows.cnt; i++)
		r->threads_cnt += key__drop_thread(&r->rows.v[i].key);
	for (size_t i = 0; i < r->past.cnt; i++)
		r->threads_cnt += key__drop_thread(&r->past.v[i].sums.key);
	record__compact(r, row__join, past_row__join);
	record__drop_threads(r, true);
}

/* What a process was on its way to another program (a shell's child before execve), without having
 * allocated: no report names it. */
static void record__drop_passed(struct record *r)
{
	size_t left = r->ended_at;

	for (size_t i = r->ended_at; i < r->ended.cnt; i++) {
		struct recorded_proc *p = record__find_proc(r, r->ended.v[i]);

		if (p->over == AS_OVER_REPLACED && !p->has_rows && record__is_settled(r, p))
			record__drop_proc(r, p);
		else
			r->ended.v[left++] = p->proc;
	}
	r->ended.cnt = left;
}

void record__fold(struct record *r, size_t keep)
{
	size_t cnt, first;

	if (record__retired_cnt(r) > keep)
		record__drop_passed(r);
	cnt = record__mark_fold(r, keep);
	first = r->ended_at - cnt;
	if (!cnt)
		return;
	record__join_threads(r);
	for (size_t i = 0; i < r->rows.cnt; i++)
		r->rows.v[i].key.proc = record__group_of(r, r->rows.v[i].key.proc);
	for (size_t i = 0; i < r->past.cnt; i++)
		r->past.v[i].sums.key.proc = record__group_of(r, r->past.v[i].sums.key.proc);
	record__compact(r, row__fold, past_row__fold);
	record__drop_threads(r, false);
	for (size_t i = first; i < r->ended_at; i++)
		record__drop_proc(r, record__find_proc(r, r->ended.v[i]));
	r->ended.cnt -= r->ended_at;
	memmove(r->ended.v, r->ended.v + r->ended_at, r->ended.cnt * sizeof(*r->ended.v));
	r->ended_at = 0;
	map__shrink(&r->procs);
	map__shrink(&r->by_pid);
}

/* ---- stacks ---- */

static u64 stack__size(const struct recorded_stack *s)
{
	return sizeof(*s) + s->frame_cnt * sizeof(s->frames[0]);
}

static struct recorded_stack *record__stack_of(const struct record *r, u64 id)
{
	return (struct recorded_stack *)record__find_stack(r, id);
}

void record__forget_stack(struct record *r, u64 id)
{
	struct recorded_stack *s = record__stack_of(r, id);

	if (!s)
		return;
	map__del(&r->stacks, id);
	r->stack_bytes -= stack__size(s);
	free(s);
}

u64 record__bytes(const struct record *r)
{
	return r->stack_bytes + r->stacks.cnt * (ALLOC_COST + MAP_ENTRY) +
	       r->rows.cnt * (sizeof(*r->rows.v) + MAP_ENTRY +
			      (r->duty ? sizeof(struct duty_row) + ALLOC_COST : 0)) +
	       r->past.cnt * (sizeof(*r->past.v) + MAP_ENTRY) + r->finished.cnt * MAP_ENTRY +
	       r->threads.cnt * (sizeof(struct recorded_thread) + ALLOC_COST + MAP_ENTRY) +
	       r->procs.cnt * (sizeof(struct recorded_proc) + ALLOC_COST + 2 * MAP_ENTRY);
}

static void stack__use(struct record *r, u64 id, u32 used, u32 row_size)
{
	struct recorded_stack *s = record__stack_of(r, id);

	if (!s)
		return;
	s->used = MAX(s->used, used);
	s->row_bytes += row_size + MAP_ENTRY;
}

/* Notes of each stack when it was hit last, and what its rows take. */
static void record__look_at_stacks(struct record *r)
{
	u64 key, val;

	for (size_t i = 0; map__next(&r->stacks, &i, &key, &val);) {
		struct recorded_stack *s = (void *)(uintptr_t)val;

		s->victim = false;
		s->row_bytes = 0;
	}
	for (size_t i = 0; i < r->rows.cnt; i++)
		stack__use(r, r->rows.v[i].key.stack, r->rows.v[i].used, sizeof(*r->rows.v));
	for (size_t i = 0; i < r->past.cnt; i++)
		stack__use(r, r->past.v[i].sums.key.stack, r->past.v[i].used, sizeof(*r->past.v));
	for (size_t i = 0; map__next(&r->finished, &i, &key, &val);)
		stack__use(r, val, r->drains, 0);
	for (size_t i = 0; map__next(&r->awaited, &i, &key, &val);)
		stack__use(r, key, r->drains, 0);
}

static int by_used(const void *a, const void *b)
{
	const struct recorded_stack *x = *(void *const *)a, *y = *(void *const *)b;

	return x->used != y->used ? (x->used > y->used) - (x->used < y->used)
				  : (x->id > y->id) - (x->id < y->id);
}

void record__choose(struct record *r, u64 bytes, const struct map *pinned,
		    void (*fn)(void *arg, u64 id), void *arg)
{
	VEC(struct recorded_stack *) old = {};
	u64 id, val, ignored, freed = 0;

	record__look_at_stacks(r);
	r->chosen_at = r->drains;
	for (size_t i = 0; map__next(&r->stacks, &i, &id, &val);) {
		struct recorded_stack *s = (void *)(uintptr_t)val;

		if (s->used < r->drains && !(pinned && map__get(pinned, id, &ignored)) &&
		    vec__push(&old, s))
			break; /* out of memory: age fewer */
	}
	if (old.cnt)
		qsort(old.v, old.cnt, sizeof(*old.v), by_used);
	for (size_t i = 0; i < old.cnt && freed < bytes; i++) {
		old.v[i]->victim = true;
		freed += stack__size(old.v[i]) + ALLOC_COST + MAP_ENTRY + old.v[i]->row_bytes;
		fn(arg, old.v[i]->id);
	}
	vec__free(&old);
}

/* Rows added to by the last drain show that the stack is in use. */
static void record__spare(struct record *r, u64 id, u32 used)
{
	struct recorded_stack *s = record__stack_of(r, id);

	if (s && used > r->chosen_at)
		s->victim = false;
}

static u64 record__aged_stack(const struct record *r, u64 id)
{
	const struct recorded_stack *s = record__find_stack(r, id);

	return s && s->victim && s->used <= r->chosen_at ? STACK_AGED : id;
}

void record__age(struct record *r, const struct map *pinned)
{
	VEC(u64) gone = {};
	u64 id, val;

	for (size_t i = 0; i < r->rows.cnt; i++)
		record__spare(r, r->rows.v[i].key.stack, r->rows.v[i].used);
	for (size_t i = 0; map__next(&r->finished, &i, &id, &val);)
		record__spare(r, val, r->drains);
	for (size_t i = 0; pinned && map__next(pinned, &i, &id, &val);)
		record__spare(r, id, r->drains);
	for (size_t i = 0; i < r->rows.cnt; i++)
		r->rows.v[i].key.stack = record__aged_stack(r, r->rows.v[i].key.stack);
	for (size_t i = 0; i < r->past.cnt; i++)
		r->past.v[i].sums.key.stack = record__aged_stack(r, r->past.v[i].sums.key.stack);
	record__compact(r, row__join, past_row__join);
	for (size_t i = 0; map__next(&r->stacks, &i, &id, &val);) {
		if (record__aged_stack(r, id) == STACK_AGED && vec__push(&gone, id))
			break; /* without rows it is the oldest next time */
	}
	for (size_t i = 0; i < gone.cnt; i++) {
		r->aged_cnt += record__find_stack(r, gone.v[i])->row_bytes != 0;
		record__forget_stack(r, gone.v[i]);
	}
	map__shrink(&r->stacks);
	map__shrink(&r->finished);
	vec__free(&gone);
}
