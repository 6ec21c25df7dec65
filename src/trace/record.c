/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps what the kernel sends. */
#include "trace/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "trace/fold.h"

#define DRAIN_BATCH 8192

static void map__free_values(struct map *m)
{
	u64 key, val;

	for (size_t i = 0; map__next(m, &i, &key, &val);)
		free((void *)(uintptr_t)val);
	map__free(m);
}

void record__fini(struct record *r)
{
	map__free_values(&r->stacks);
	map__free_values(&r->procs);
	map__free_values(&r->threads);
	map__free(&r->finished);
	map__free(&r->by_pid);
	map__free(&r->awaited);
	vec__free(&r->late);
	map__free(&r->row_at);
	map__free(&r->past_at);
	for (size_t i = 0; i < r->rows.cnt; i++)
		free(r->rows.v[i].windows);
	vec__free(&r->rows);
	vec__free(&r->past);
	vec__free(&r->ended);
	if (r->duty)
		duty__fini(r->duty);
	free(r->duty);
}

static void *record__find(const struct map *m, u64 key)
{
	u64 val;

	return map__get(m, key, &val) ? (void *)(uintptr_t)val : NULL;
}

const struct recorded_stack *record__find_stack(const struct record *r, u64 id)
{
	return record__find(&r->stacks, id);
}

struct recorded_proc *record__find_proc(const struct record *r, u64 proc)
{
	return record__find(&r->procs, proc);
}

struct recorded_proc *record__newest(const struct record *r, u32 pid)
{
	return record__find(&r->by_pid, pid);
}

/* A stack that is told of again is in use. */
void record__stack(struct record *r, const struct as_stack_event *ev)
{
	size_t size = ev->frame_cnt * sizeof(ev->frames[0]);
	struct recorded_stack *s = record__find(&r->stacks, ev->id);

	if (s) {
		s->used = r->drains;
		return;
	}
	s = calloc(1, sizeof(*s) + size);
	if (!s || map__put(&r->stacks, ev->id, (uintptr_t)s)) {
		free(s);
		r->dropped++;
		return;
	}
	s->id = ev->id;
	s->proc = ev->proc;
	s->end = ev->end;
	s->frame_cnt = ev->frame_cnt;
	s->used = r->drains;
	memcpy(s->frames, ev->frames, size);
	r->stack_bytes += sizeof(*s) + size;
}

void record__finished(struct record *r, u64 id, const struct as_stack_event *whole)
{
	record__stack(r, whole);
	if (!record__find(&r->stacks, whole->id))
		return; /* out of memory, and counted */
	if (map__put(&r->finished, id, whole->id))
		r->dropped++;
	else if (id != whole->id)
		record__forget_stack(r, id);
}

static struct recorded_proc *proc__new(const struct as_proc_event *ev, const char *cgroup)
{
	struct recorded_proc *p = calloc(1, sizeof(*p) + strlen(cgroup) + 1);

	if (!p)
		return NULL;
	p->proc = ev->proc;
	p->start_boottime = ev->start_boottime;
	p->exec_id = ev->exec_id;
	p->exe_file = ev->exe_file;
	p->pid = ev->tgid;
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	p->comm[sizeof(p->comm) - 1] = '\0';
	p->cgroup = strcpy((char *)(p + 1), cgroup);
	return p;
}

static bool proc__is_newer(const struct recorded_proc *p, const struct recorded_proc *than)
{
	return p->start_boottime != than->start_boottime ? p->start_boottime > than->start_boottime
							 : p->exec_id > than->exec_id;
}

struct recorded_proc *record__proc(struct record *r, const struct as_proc_event *ev,
				   const char *cgroup, struct recorded_proc **before)
{
	struct recorded_proc *p, *newest;

	*before = NULL;
	if (record__find(&r->procs, ev->proc))
		return NULL;
	p = proc__new(ev, cgroup);
	if (!p || map__put(&r->procs, ev->proc, (uintptr_t)p)) {
		free(p);
		r->dropped++;
		return NULL;
	}
	newest = record__find(&r->by_pid, p->pid);
	if (newest && !proc__is_newer(p, newest))
		*before = p; /* told of late */
	else if (!map__put(&r->by_pid, p->pid, (uintptr_t)p))
		*before = newest;
	return p;
}

/* The newest one of a process's threads with this id has the name. */
void record__thread(struct record *r, const struct as_thread_event *ev)
{
	u64 key = map__mix(ev->proc, ev->tid);
	struct recorded_thread *t = record__find(&r->threads, key);

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t || map__put(&r->threads, key, (uintptr_t)t)) {
			free(t);
			r->dropped++;
			return;
		}
	}
	t->proc = ev->proc;
	t->tid = ev->tid;
	memcpy(t->comm, ev->comm, sizeof(t->comm));
	t->comm[sizeof(t->comm) - 1] = '\0';
}

const char *record__thread_name(const struct record *r, u64 proc, u32 tid)
{
	const struct recorded_thread *t = record__find(&r->threads, map__mix(proc, tid));

	return t && t->proc == proc && t->tid == tid ? t->comm : NULL;
}

bool tally_key__eq(const struct as_tally_key *a, const struct as_tally_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

u64 tally_key__hash(const struct as_tally_key *key)
{
	return map__mix(map__mix(key->stack, key->proc), (u64)key->site << 32 | key->size_class);
}

/* The index of a key in rows of `size` bytes that begin with theirs; *h: where it belongs. A hash
 * that another key has is mixed on. */
static bool keyed__find(const void *rows, size_t size, const struct map *at,
			const struct as_tally_key *key, u64 *h, u64 *index)
{
	for (*h = tally_key__hash(key); map__get(at, *h, index); *h = map__mix(*h, 1)) {
		if (tally_key__eq((const void *)((const char *)rows + *index * size), key))
			return true;
	}
	return false;
}

size_t keyed__compact(void *rows, size_t size, size_t cnt, struct map *at, keyed_merge_fn merge)
{
	char *v = rows;
	size_t kept = 0;
	u64 h, index;

	map__clear(at);
	for (size_t i = 0; i < cnt; i++) {
		char *row = v + i * size;

		if (keyed__find(v, size, at, (const void *)row, &h, &index)) {
			merge(v + index * size, row);
			continue;
		}
		if (kept != i)
			memcpy(v + kept * size, row, size);
		map__put(at, h, kept++); /* there is room: see map__clear() */
	}
	return kept;
}

static void record__note_rows(struct record *r, u64 proc)
{
	struct recorded_proc *p = record__find_proc(r, proc);

	if (p)
		p->has_rows = true;
}

/* The row of a key, made when it's new; NULL out of memory. */
static struct recorded_row *record__row(struct record *r, const struct as_tally_key *key)
{
	struct recorded_row row = { .key = *key, .images = 1 };
	u64 h, at;

	if (keyed__find(r->rows.v, sizeof(row), &r->row_at, key, &h, &at))
		return &r->rows.v[at];
	if (vec__push(&r->rows, row))
		return NULL;
	if (map__put(&r->row_at, h, r->rows.cnt - 1)) {
		r->rows.cnt--;
		return NULL;
	}
	record__note_rows(r, key->proc);
	return &r->rows.v[r->rows.cnt - 1];
}

int record__past(struct record *r, const struct past_row *row)
{
	u64 h, at;

	if (keyed__find(r->past.v, sizeof(*row), &r->past_at, &row->sums.key, &h, &at)) {
		past_row__fold(&r->past.v[at], row);
		return 0;
	}
	if (vec__push(&r->past, *row))
		return -ENOMEM;
	record__note_rows(r, row->sums.key.proc);
	if (!map__put(&r->past_at, h, r->past.cnt - 1))
		return 0;
	r->past.cnt--;
	return -ENOMEM;
}

u64 record__whole(const struct record *r, u64 id)
{
	u64 whole;

	return map__get(&r->finished, id, &whole) ? whole : id;
}

/* Does what is drained now belong to a window? Growth needs no probes, and is always seen. */
static bool record__stages(const struct record *r, const struct as_tally_key *key)
{
	return r->duty && r->duty->staging && key->site < AS_GROWTH_MMAP;
}

void record__add(struct record *r, const struct as_tally_key *keys, const struct as_tally *vals,
		 u32 cnt)
{
	u64 val;

	for (u32 i = 0; i < cnt; i++) {
		struct as_tally_key key = keys[i];
		struct recorded_row *row, late = {
			.key = keys[i],
			.cnt = vals[i].cnt,
			.bytes = vals[i].bytes,
		};

		if (!r->duty && map__get(&r->awaited, key.stack, &val) &&
		    !vec__push(&r->late, late))
			continue;
		key.stack = record__whole(r, key.stack);
		map__del(&r->finished, keys[i].stack); /* one hit is in one row, once */
		row = record__row(r, &key);
		if (!row) {
			r->dropped += vals[i].cnt;
			continue;
		}
		row->used = r->drains;
		if (record__stages(r, &key)) {
			if (duty__stage(r->duty, &row->windows, row - r->rows.v, vals[i].cnt,
					vals[i].bytes))
				r->dropped += vals[i].cnt;
			continue;
		}
		row->cnt += vals[i].cnt;
		row->bytes += vals[i].bytes;
	}
}

void record__await(struct record *r, u64 id)
{
	if (map__put(&r->awaited, id, 1))
		r->dropped++; /* its row will name the part of the stack that is known */
}

void record__settle(struct record *r)
{
	if (r->awaited.cnt)
		map__free(&r->awaited);
	for (size_t i = 0; i < r->late.cnt; i++) {
		struct as_tally sum = { r->late.v[i].cnt, r->late.v[i].bytes };

		record__add(r, &r->late.v[i].key, &sum, 1);
	}
	vec__free(&r->late);
	if (r->duty)
		record__join_finished(r);
}

int record__drain(struct record *r, int fd, u32 room)
{
	CLEANUP(free__p) struct as_tally_key *keys = calloc(DRAIN_BATCH, sizeof(*keys));
	CLEANUP(free__p) struct as_tally *vals = calloc(DRAIN_BATCH, sizeof(*vals));
	u32 batch = 0, cnt;
	int err = 0;

	if (!keys || !vals)
		return -ENOMEM;
	/* Each call but the last takes at least one row out, so the map's room bounds the calls. */
	for (u32 i = 0; i <= room; i++) {
		cnt = DRAIN_BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, i ? &batch : NULL, &batch, keys, vals,
						      &cnt, NULL);
		if (err && errno != ENOENT)
			return -errno;
		record__add(r, keys, vals, cnt);
		if (err) /* -ENOENT: that was the end */
			break;
	}
	return 0;
}
