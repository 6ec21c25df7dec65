/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rows a table of `top` has, and in which order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/top_view.h"

#define ENDED_SHOWN 5 /* updates: then a process that has ended needs a rank by totals */

/* ---- the filter ---- */

static bool has(const char *name, const char *text)
{
	return strcasestr(name, text) != NULL;
}

static bool stack__has(const struct allocsnoop_sample *s, const char *text)
{
	for (size_t i = 0; i < s->frame_cnt; i++) {
		if (has(s->frames[i]->function, text) || has(s->frames[i]->module, text))
			return true;
	}
	return has(s->allocator, text);
}

static bool row__has(const struct top_row *r, const char *text)
{
	char pid[16];

	if (has(r->comm, text))
		return true;
	if (r->sample)
		return stack__has(r->sample, text);
	snprintf(pid, sizeof(pid), "%u", r->pid);
	return !strcmp(pid, text) || (r->info && has(r->info->container, text));
}

/* Names don't change: what came of a filter holds for as long as the row is there. */
static bool row__passes(struct top_row *r, const struct top_level *l)
{
	if (!*l->filter)
		return true;
	if (r->filter_at != l->filter_at) {
		r->filter_at = l->filter_at;
		r->filter_hit = row__has(r, l->filter);
	}
	return r->filter_hit;
}

/* ---- the order ---- */

static int compare_u64(u64 a, u64 b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static const char *row__name(const struct top_row *r)
{
	const struct allocsnoop_frame *f = top_row__caller(r);

	return f ? f->function : r->comm;
}

/* By the column, then by what hardly changes: rows of equal values must not dance. */
static int compare(const void *pa, const void *pb, void *arg)
{
	const struct top_item *ia = pa, *ib = pb;
	const struct top_row *a = ia->row, *b = ib->row;
	const struct top_view *v = arg;
	int got = v->sort->value ? compare_u64(ia->value, ib->value)
				 : strcasecmp(row__name(a), row__name(b));

	got = v->backwards ? -got : got;
	if (!got)
		got = compare_u64(a->now.bytes, b->now.bytes);
	if (!got)
		got = strcmp(row__name(a), row__name(b));
	if (!got)
		got = compare_u64(b->pid, a->pid);
	return got ? got : compare_u64(a->key, b->key);
}

/* ---- the list ---- */

static const struct top_table *level__table(const struct top_view *v, const struct top_level *l)
{
	switch (l->kind) {
	case TOP_PROCESSES:
		return &v->model->processes;
	case TOP_STACKS:
		return &v->model->stacks;
	default:
		return &v->model->names;
	}
}

static bool is_old(const struct top_view *v, const struct top_row *r)
{
	return r->ended > ENDED_SHOWN && !v->sort->totals && !v->ended;
}

static int list__add(struct top_view *v, const struct top_level *l, struct top_row *r)
{
	struct top_item item = { .row = r };
	u64 amount;

	if (l->kind == TOP_STACKS && r->process != l->about)
		return 0;
	amount = top_row__amount(v, r);
	v->list_sum = v->list_sum > UINT64_MAX - amount ? UINT64_MAX : v->list_sum + amount;
	if (!row__passes(r, l))
		return 0;
	if (is_old(v, r)) {
		v->unlisted++;
		return 0;
	}
	if (v->sort->value)
		item.value = v->sort->value(r);
	return vec__push(&v->list, item);
}

/* The cursor stays with its row; where that is gone, with its place. */
static void list__find_chosen(struct top_view *v, struct top_level *l)
{
	size_t at = 0;

	if (!l->chosen) {
		l->at = 0;
		return;
	}
	while (at < v->list.cnt && v->list.v[at].row->key != l->chosen)
		at++;
	if (at == v->list.cnt)
		at = v->list.cnt ? MIN(l->at, v->list.cnt - 1) : 0;
	l->at = at;
	l->chosen = at < v->list.cnt ? v->list.v[at].row->key : 0;
}

/* Sorting takes a while where there are many rows: not for each key. */
static bool list__is_made(struct top_view *v, const struct top_level *l)
{
	struct top_made now;

	memset(&now, 0, sizeof(now)); /* compared as bytes */
	now.about = l->about;
	now.sort = v->sort;
	now.update = v->model->update;
	now.filter_at = *l->filter ? l->filter_at : 0;
	now.kind = l->kind;
	now.backwards = v->backwards;
	now.ended = v->ended;
	if (!memcmp(&now, &v->made, sizeof(now)))
		return true;
	memcpy(&v->made, &now, sizeof(now));
	return false;
}

static int list__make(struct top_view *v, const struct top_level *l)
{
	const struct top_table *t = level__table(v, l);
	int err = 0;

	v->list.cnt = 0;
	v->list_sum = 0;
	v->unlisted = 0;
	for (size_t i = 0; i < t->rows.cnt && !err; i++)
		err = list__add(v, l, t->rows.v[i]);
	if (v->list.cnt)
		qsort_r(v->list.v, v->list.cnt, sizeof(*v->list.v), compare, v);
	if (err)
		memset(&v->made, 0, sizeof(v->made));
	return err;
}

int top_list__fill(struct top_view *v)
{
	struct top_level *l = top_view__level(v);
	int err = list__is_made(v, l) ? 0 : list__make(v, l);

	list__find_chosen(v, l);
	return err;
}

const struct top_row *top_list__chosen(struct top_view *v)
{
	size_t at = top_view__level(v)->at;

	return at < v->list.cnt ? v->list.v[at].row : NULL;
}

void top_list__choose(struct top_view *v, size_t at)
{
	struct top_level *l = top_view__level(v);

	l->at = v->list.cnt ? MIN(at, v->list.cnt - 1) : 0;
	/* At the top it's whoever is there, not the one that is there now. */
	l->chosen = l->at ? v->list.v[l->at].row->key : 0;
}
