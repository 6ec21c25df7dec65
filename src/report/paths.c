/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges stacks by what a format shows of them; see paths.h. */
#include "report/paths.h"

#include <errno.h>
#include <string.h>

#include "report/row.h"

static int push_frame(struct paths *p, const struct allocsnoop_frame *f, bool leaf)
{
	u64 key = (uintptr_t)f + leaf, known;
	u32 item;
	int err;

	if (map__get(&p->known, key, &known))
		return vec__push(&p->items, (u32)known);
	err = p->item_of(p->arg, f, leaf, &item);
	if (!err)
		err = map__put(&p->known, key, item);
	return err ? err : vec__push(&p->items, item);
}

/* Takes the label. */
static int push_label(struct paths *p, bool leaf)
{
	const struct allocsnoop_frame f = { .function = p->label.len ? p->label.s : "",
					    .module = "" };
	u32 item;
	int err = p->label.oom ? -ENOMEM : p->item_of(p->arg, &f, leaf, &item);

	str__clear(&p->label);
	return err ? err : vec__push(&p->items, item);
}

static int push_row(struct paths *p, const struct allocsnoop_sample *s)
{
	int err;

	row__process(&p->label, s, p->by);
	err = push_label(p, false);
	row__thread(&p->label, s, p->by);
	if (!err && p->label.len)
		err = push_label(p, false);
	row__end(&p->label, s);
	if (!err && p->label.len)
		err = push_label(p, false);
	if (!s->frame_cnt)
		row__frameless(&p->label, s, p->by);
	if (!err && p->label.len)
		err = push_label(p, true);
	for (size_t i = s->frame_cnt; !err && i > 0; i--)
		err = push_frame(p, s->frames[i - 1], i == 1);
	return err ? err : p->label.oom ? -ENOMEM : 0;
}

static u64 path__hash(const struct paths *p, const struct path *path)
{
	u64 h = path->cnt;

	for (size_t i = 0; i < path->cnt; i++)
		h = (h ^ p->items.v[path->first + i]) * 0x9e3779b97f4a7c15ULL;
	return map__mix(h, path->cnt);
}

static bool path__equal(const struct paths *p, const struct path *a, const struct path *b)
{
	return a->cnt == b->cnt &&
	       !memcmp(p->items.v + a->first, p->items.v + b->first, a->cnt * sizeof(u32));
}

static int path__new(struct paths *p, const struct path *path, u64 hash, const u64 *values)
{
	int err = p->paths.cnt < UINT32_MAX ? vec__push(&p->paths, *path) : -ENOMEM;

	for (size_t i = 0; !err && i < p->value_cnt; i++)
		err = vec__push(&p->values, values[i]);
	return err ? err : map__put(&p->by_hash, hash, p->paths.cnt);
}

int paths__add(struct paths *p, const struct allocsnoop_sample *row, const u64 *values)
{
	struct path path = { .first = p->items.cnt };
	u64 hash, last = 0, any = 0;
	int err;

	for (size_t i = 0; i < p->value_cnt; i++)
		any |= values[i];
	if (!any)
		return 0;
	err = push_row(p, row);
	if (err)
		return err;
	path.cnt = p->items.cnt - path.first;
	hash = path__hash(p, &path);
	map__get(&p->by_hash, hash, &last);
	path.next = last;
	for (size_t i = last; i; i = p->paths.v[i - 1].next) {
		u64 *sums = p->values.v + (i - 1) * p->value_cnt;

		if (!path__equal(p, &p->paths.v[i - 1], &path))
			continue;
		for (size_t n = 0; n < p->value_cnt; n++)
			sums[n] = sum__add(sums[n], values[n]);
		p->items.cnt = path.first;
		return 0;
	}
	return path__new(p, &path, hash, values);
}

void paths__fini(struct paths *p)
{
	vec__free(&p->items);
	vec__free(&p->paths);
	vec__free(&p->values);
	map__free(&p->by_hash);
	map__free(&p->known);
	str__free(&p->label);
}
