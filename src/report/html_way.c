/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks as ways through a tree: lists of numbers of frames, sorted, so that those which begin
 * alike stand together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_way.h"

static bool has_processes(const struct html_tree *t)
{
	return t->by == ALLOCSNOOP_BY_STACK || t->by == ALLOCSNOOP_BY_PROCESS ||
	       t->by == ALLOCSNOOP_BY_THREAD;
}

static int push_label(struct html_tree *t, u32 flags)
{
	u32 id;
	int err;

	if (t->label.oom)
		return -ENOMEM;
	err = html_names__label(t->names, t->label.s ? t->label.s : "", flags, &id);
	return err ? err : vec__push(&t->steps, id);
}

static int push_process(struct html_tree *t, const struct allocsnoop_sample *s)
{
	str__clear(&t->label);
	str__add(&t->label, *s->comm ? s->comm : s->pid_cnt > 1 ? "[several]" : "[unknown]");
	if (s->pid && t->by != ALLOCSNOOP_BY_STACK)
		str__addf(&t->label, " (pid %u)", s->pid);
	return push_label(t, HTML_PROCESS);
}

static int push_thread(struct html_tree *t, const struct allocsnoop_sample *s)
{
	str__clear(&t->label);
	str__addf(&t->label, "%s (tid %u)", s->thread, s->tid);
	return push_label(t, HTML_NOTE);
}

static int push_end(struct html_tree *t, const struct allocsnoop_sample *s)
{
	str__clear(&t->label);
	str__addf(&t->label, "[%s]", allocsnoop__end_name(s->end));
	return push_label(t, HTML_NOTE);
}

static int push_frameless(struct html_tree *t, const struct allocsnoop_sample *s)
{
	str__clear(&t->label);
	if (t->by == ALLOCSNOOP_BY_SIZE)
		str__addf(&t->label, "[%" PRIu64 "-%" PRIu64 " bytes]", s->size_low, s->size_high);
	else if (t->by == ALLOCSNOOP_BY_TYPE)
		str__add(&t->label, s->type ? s->type : "[type unknown]");
	else
		str__add(&t->label, *s->allocator ? s->allocator : "[unknown]");
	return push_label(t, HTML_NOTE);
}

static int push_frames(struct html_tree *t, const struct allocsnoop_sample *s, size_t from)
{
	int err = 0;
	u32 id;

	for (size_t i = s->frame_cnt; !err && i > from; i--) {
		err = html_names__frame(t->names, s->frames[i - 1], &id);
		if (!err)
			err = vec__push(&t->steps, id);
	}
	return err;
}

/* Frames from the leaf to the one who called the allocator. */
static u32 caller_distance(const struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame *caller = sample__caller(s);

	for (size_t i = 0; caller && i < s->frame_cnt; i++) {
		if (s->frames[i] == caller)
			return i;
	}
	return 0;
}

/* From the root down; without the first `from` frames at its end. */
static int push_way(struct html_tree *t, const struct allocsnoop_sample *s, size_t from)
{
	int err = has_processes(t) ? push_process(t, s) : 0;

	if (!err && t->by == ALLOCSNOOP_BY_THREAD && s->thread)
		err = push_thread(t, s);
	if (!err && (s->truncated || s->end != ALLOCSNOOP_COMPLETE))
		err = push_end(t, s);
	if (!err && !s->frame_cnt)
		err = push_frameless(t, s);
	return err ? err : push_frames(t, s, from);
}

static void reverse(u32 *v, size_t cnt)
{
	for (size_t i = 0; i < cnt / 2; i++) {
		u32 tmp = v[i];

		v[i] = v[cnt - 1 - i];
		v[cnt - 1 - i] = tmp;
	}
}

static int add_way(struct html_tree *t, const struct allocsnoop_sample *s)
{
	struct html_way way = { .s = s, .first = t->steps.cnt };
	u32 distance = caller_distance(s);
	int err = push_way(t, s, t->up ? distance : 0);

	if (err)
		return err;
	way.cnt = t->steps.cnt - way.first;
	way.self = t->up ? way.cnt : distance + 1;
	if (t->up)
		reverse(t->steps.v + way.first, way.cnt);
	return vec__push(&t->ways, way);
}

static int cmp_ways(const void *x, const void *y, void *arg)
{
	const struct html_way *a = x, *b = y;
	const struct html_tree *t = arg;
	const u32 *step_a = t->steps.v + a->first, *step_b = t->steps.v + b->first;
	u32 cnt = MIN(a->cnt, b->cnt);

	for (u32 i = 0; i < cnt; i++) {
		if (step_a[i] != step_b[i])
			return step_a[i] < step_b[i] ? -1 : 1;
	}
	if (a->cnt != b->cnt)
		return a->cnt < b->cnt ? -1 : 1;
	return (a->s > b->s) - (a->s < b->s); /* both are elements of one array */
}

int html_ways__make(struct html_tree *t)
{
	int err = 0;

	for (size_t i = 0; !err && i < t->p->samples.cnt; i++)
		err = add_way(t, &t->p->samples.v[i]);
	if (!err && t->ways.cnt)
		qsort_r(t->ways.v, t->ways.cnt, sizeof(*t->ways.v), cmp_ways, t);
	return err;
}
