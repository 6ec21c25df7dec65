/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers frames and sorts stacks; see numbered.h. */
#include "report/numbered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void numbered__fini(struct numbered *n)
{
	arena__free(&n->arena);
	str__free(&n->buf);
	map__free(&n->by_frame);
	map__free(&n->by_text);
	vec__free(&n->frames);
	vec__free(&n->ids);
	vec__free(&n->stacks);
}

/* ---- frames ---- */

/* The number of the text in `buf`, and of its frame when it's a new one. */
static int number_text(struct numbered *n, const struct allocsnoop_frame *frame, u32 *id)
{
	const char *text = n->buf.oom ? NULL : arena__intern(&n->arena, n->buf.s ? n->buf.s : "");
	u64 known;

	if (!text)
		return -ENOMEM;
	if (map__get(&n->by_text, (uintptr_t)text, &known)) {
		*id = (u32)known;
		return 0;
	}
	if (n->frames.cnt >= UINT32_MAX)
		return -ENOMEM;
	*id = (u32)n->frames.cnt;
	if (vec__push(&n->frames, ((struct numbered_frame){ frame, text })))
		return -ENOMEM;
	return map__put(&n->by_text, (uintptr_t)text, *id);
}

static void add_clean(struct str *s, const char *text)
{
	str__add_utf8(s, text, strlen(text), true);
}

static int number_frame(struct numbered *n, const struct allocsnoop_frame *f, u32 *id)
{
	u64 known;
	int err;

	if (map__get(&n->by_frame, (uintptr_t)f, &known)) {
		*id = (u32)known;
		return 0;
	}
	str__clear(&n->buf);
	str__addf(&n->buf, "0x%" PRIx64 ": ", f->offset);
	add_clean(&n->buf, *f->function ? f->function : "[unknown]");
	if (f->file && *f->file) {
		str__add(&n->buf, " (");
		add_clean(&n->buf, f->file);
		str__addf(&n->buf, ":%u)", f->line);
	} else if (*f->module) {
		str__add(&n->buf, " (in ");
		add_clean(&n->buf, f->module);
		str__add(&n->buf, ")");
	}
	err = number_text(n, f, id);
	return err ? err : map__put(&n->by_frame, (uintptr_t)f, *id);
}

/* ---- stacks ---- */

/* The outermost "frame": whose stack it is. */
static int push_process(struct numbered *n, const struct allocsnoop_sample *s)
{
	u32 id;
	int err;

	str__clear(&n->buf);
	add_clean(&n->buf, *s->comm ? s->comm : s->pid_cnt > 1 ? "[several]" : "[unknown]");
	if (s->pid)
		str__addf(&n->buf, " (pid %u)", s->pid);
	err = number_text(n, NULL, &id);
	return err ? err : vec__push(&n->ids, id);
}

static int push_thread(struct numbered *n, const struct allocsnoop_sample *s)
{
	u32 id;
	int err;

	if (!s->tid && !s->thread)
		return 0;
	str__clear(&n->buf);
	add_clean(&n->buf, s->thread ? s->thread : "");
	str__addf(&n->buf, " (tid %u)", s->tid);
	err = number_text(n, NULL, &id);
	return err ? err : vec__push(&n->ids, id);
}

static int push_end(struct numbered *n, const struct allocsnoop_sample *s)
{
	u32 id;
	int err;

	if (!s->truncated && s->end == ALLOCSNOOP_COMPLETE)
		return 0;
	str__clear(&n->buf);
	str__addf(&n->buf, "[%s]", allocsnoop__end_name(s->end));
	err = number_text(n, NULL, &id);
	return err ? err : vec__push(&n->ids, id);
}

/* A row of --by size or type, or one whose stack was lost. */
static int push_frameless(struct numbered *n, const struct allocsnoop_sample *s)
{
	u32 id;
	int err;

	str__clear(&n->buf);
	if (s->type && *s->type)
		add_clean(&n->buf, s->type);
	else if (*s->allocator)
		add_clean(&n->buf, s->allocator);
	else
		str__addf(&n->buf, "[%" PRIu64 "-%" PRIu64 " bytes]", s->size_low, s->size_high);
	err = number_text(n, NULL, &id);
	return err ? err : vec__push(&n->ids, id);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The first frame behind the allocator's, C++'s own way to it included; 0: there is none. A view
 * may have hidden the allocator's. */
static size_t caller(const struct allocsnoop_sample *s)
{
	size_t i = s->frame_cnt && !strcmp(s->frames[0]->function, s->allocator);

	while (i < s->frame_cnt && (begins(s->frames[i]->function, "operator new(") ||
				    begins(s->frames[i]->function, "operator new[](")))
		i++;
	return i < s->frame_cnt ? i : 0;
}

static int push_frames(struct numbered *n, const struct allocsnoop_sample *s, unsigned flags)
{
	size_t i = flags & NUMBERED_CALLERS ? caller(s) : 0;
	int err = 0;
	u32 id;

	if (!s->frame_cnt)
		return push_frameless(n, s);
	for (; i < s->frame_cnt && !err; i++) {
		err = number_frame(n, s->frames[i], &id);
		if (!err)
			err = vec__push(&n->ids, id);
	}
	return err;
}

static void reverse(u32 *ids, size_t cnt)
{
	for (size_t i = 0; i < cnt / 2; i++) {
		u32 id = ids[i];

		ids[i] = ids[cnt - 1 - i];
		ids[cnt - 1 - i] = id;
	}
}

static int push_stack(struct numbered *n, const struct allocsnoop_sample *s, size_t row,
		      unsigned flags)
{
	struct numbered_stack stack = { .first = n->ids.cnt, .row = row };
	int err = push_frames(n, s, flags);

	if (!err)
		err = push_end(n, s);
	if (!err && flags & NUMBERED_THREADS)
		err = push_thread(n, s);
	if (!err && flags & NUMBERED_PROCESSES)
		err = push_process(n, s);
	if (err)
		return err;
	stack.cnt = (u32)(n->ids.cnt - stack.first);
	if (flags & NUMBERED_ROOT_FIRST)
		reverse(&n->ids.v[stack.first], stack.cnt);
	return vec__push(&n->stacks, stack);
}

/* ---- order ---- */

const u32 *numbered__ids(const struct numbered *n, const struct numbered_stack *s)
{
	return &n->ids.v[s->first];
}

bool numbered__equal(const struct numbered *n, const struct numbered_stack *a,
		     const struct numbered_stack *b)
{
	return a->cnt == b->cnt &&
	       !memcmp(numbered__ids(n, a), numbered__ids(n, b), a->cnt * sizeof(*n->ids.v));
}

static int by_ids(const void *left, const void *right, void *arg)
{
	const struct numbered_stack *a = left, *b = right;
	const u32 *a_ids = numbered__ids(arg, a), *b_ids = numbered__ids(arg, b);

	for (u32 i = 0; i < MIN(a->cnt, b->cnt); i++) {
		if (a_ids[i] != b_ids[i])
			return a_ids[i] < b_ids[i] ? -1 : 1;
	}
	if (a->cnt != b->cnt)
		return a->cnt < b->cnt ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static bool has_several_processes(const struct allocsnoop_profile *p)
{
	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i], *first = &p->samples.v[0];

		if (s->pid != first->pid || strcmp(s->comm, first->comm))
			return true;
	}
	return false;
}

int numbered__init(struct numbered *n, const struct allocsnoop_profile *p, unsigned flags)
{
	int err = 0;

	*n = (struct numbered){};
	if (flags & NUMBERED_PROCESSES && !has_several_processes(p))
		flags &= ~NUMBERED_PROCESSES;
	for (size_t i = 0; i < p->samples.cnt && !err; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		if (s->alloc_count || s->alloc_bytes || s->live_bytes || s->peak_bytes)
			err = push_stack(n, s, i, flags);
	}
	if (err)
		return err__fail(err, "cannot write the report: out of memory");
	if (n->stacks.cnt)
		qsort_r(n->stacks.v, n->stacks.cnt, sizeof(*n->stacks.v), by_ids, n);
	return 0;
}
