/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps what the kernel sends. */
#include "trace/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"

#define DRAIN_BATCH 8192

void record__fini(struct record *r)
{
	map__free(&r->stacks);
	map__free(&r->finished);
	map__free(&r->procs);
	map__free(&r->row_at);
	vec__free(&r->rows);
	arena__free(&r->arena);
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

const struct recorded_proc *record__find_proc(const struct record *r, u64 proc)
{
	return record__find(&r->procs, proc);
}

void record__stack(struct record *r, const struct as_stack_event *ev)
{
	size_t size = ev->frame_cnt * sizeof(ev->frames[0]);
	struct recorded_stack *s;

	if (record__find(&r->stacks, ev->id))
		return;
	s = arena__alloc(&r->arena, sizeof(*s) + size);
	if (!s || map__put(&r->stacks, ev->id, (uintptr_t)s)) {
		r->dropped++;
		return;
	}
	s->id = ev->id;
	s->proc = ev->proc;
	s->end = ev->end;
	s->frame_cnt = ev->frame_cnt;
	memcpy(s->frames, ev->frames, size);
}

void record__finished(struct record *r, u64 id, const struct as_stack_event *whole)
{
	record__stack(r, whole);
	if (!record__find(&r->stacks, whole->id))
		return; /* out of memory, and counted */
	if (map__put(&r->finished, id, whole->id))
		r->dropped++;
	else
		map__del(&r->stacks, id);
}

void record__proc(struct record *r, const struct as_proc_event *ev, const char *cgroup)
{
	struct recorded_proc *p;

	if (record__find(&r->procs, ev->proc))
		return;
	p = arena__alloc(&r->arena, sizeof(*p));
	if (!p || map__put(&r->procs, ev->proc, (uintptr_t)p)) {
		r->dropped++;
		return;
	}
	p->proc = ev->proc;
	p->start_boottime = ev->start_boottime;
	p->exec_id = ev->exec_id;
	p->exe_file = ev->exe_file;
	p->pid = ev->tgid;
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	p->comm[sizeof(p->comm) - 1] = '\0';
	p->cgroup = arena__intern(&r->arena, cgroup);
	if (!p->cgroup)
		p->cgroup = "";
}

bool tally_key__eq(const struct as_tally_key *a, const struct as_tally_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

u64 tally_key__hash(const struct as_tally_key *key)
{
	return map__mix(map__mix(key->stack, key->proc), (u64)key->site << 32 | key->size_class);
}

/* The row of a key, made when it's new; NULL out of memory. A hash that another key has is mixed
 * on. */
static struct recorded_row *record__row(struct record *r, const struct as_tally_key *key)
{
	u64 h = tally_key__hash(key), at;
	struct recorded_row row = { .key = *key };

	while (map__get(&r->row_at, h, &at)) {
		if (tally_key__eq(&r->rows.v[at].key, key))
			return &r->rows.v[at];
		h = map__mix(h, 1);
	}
	if (vec__push(&r->rows, row))
		return NULL;
	if (map__put(&r->row_at, h, r->rows.cnt - 1)) {
		r->rows.cnt--;
		return NULL;
	}
	return &r->rows.v[r->rows.cnt - 1];
}

u64 record__whole(const struct record *r, u64 id)
{
	u64 whole;

	return map__get(&r->finished, id, &whole) ? whole : id;
}

static void record__add(struct record *r, const struct as_tally_key *keys,
			const struct as_tally *vals, u32 cnt)
{
	for (u32 i = 0; i < cnt; i++) {
		struct as_tally_key key = keys[i];
		struct recorded_row *row;

		key.stack = record__whole(r, key.stack);
		map__del(&r->finished, keys[i].stack); /* one hit is in one row, once */
		row = record__row(r, &key);
		if (!row) {
			r->dropped += vals[i].cnt;
			continue;
		}
		row->cnt += vals[i].cnt;
		row->bytes += vals[i].bytes;
	}
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
