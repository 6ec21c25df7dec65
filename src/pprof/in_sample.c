/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of a profile that is being read: labels, stacks (rows with equal ones share the list) and
 * numbers. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "pprof/in.h"

/* ---- labels ---- */

enum label_kind { LABEL_TEXT, LABEL_ID, LABEL_SIZE, LABEL_RANGE };

/* clang-format off */
static const struct {
	const char *key;
	enum label_kind kind;
	size_t into;
} labels[] = {
	{ "comm", LABEL_TEXT, offsetof(struct in_labels, comm) },
	{ "thread", LABEL_TEXT, offsetof(struct in_labels, thread) },
	{ "allocator", LABEL_TEXT, offsetof(struct in_labels, allocator) },
	{ "type", LABEL_TEXT, offsetof(struct in_labels, type) },
	{ "cgroup", LABEL_TEXT, offsetof(struct in_labels, cgroup) },
	{ "container", LABEL_TEXT, offsetof(struct in_labels, container) },
	{ "pid", LABEL_ID, offsetof(struct in_labels, pid) },
	{ "tid", LABEL_ID, offsetof(struct in_labels, tid) },
	{ "bytes", LABEL_SIZE, offsetof(struct in_labels, bytes) },
	{ "size_class", LABEL_RANGE, offsetof(struct in_labels, sizes) },
};
/* clang-format on */

/* A number as a number or as text; others are ignored. */
static u64 label__number(const Pb__Label *m, const char *text)
{
	u64 val = m->num > 0 ? (u64)m->num : 0;

	if (*text && units__parse_u64(text, &val))
		val = 0;
	return val;
}

/* "1024-2047", as our writer has it; anything else is no range. */
static void range__read(const char *text, u64 *low, u64 *high)
{
	const char *dash = strchr(text, '-');
	char first[24] = "";

	if (!dash || (size_t)(dash - text) >= sizeof(first))
		return;
	memcpy(first, text, (size_t)(dash - text));
	if (units__parse_u64(first, low) || units__parse_u64(dash + 1, high) || *low > *high)
		*low = *high = 0;
}

static int label__read(struct in *in, const Pb__Label *m, struct in_labels *l)
{
	const char *key, *text;
	size_t row = 0;
	void *into;
	u64 val;
	int err = in__string(in, m->key, &key);

	if (!err)
		err = in__string(in, m->str, &text);
	if (err)
		return err;
	while (row < ARRAY_SIZE(labels) && strcmp(labels[row].key, key))
		row++;
	if (row == ARRAY_SIZE(labels))
		return 0;
	into = (u8 *)l + labels[row].into;
	val = label__number(m, text);
	switch (labels[row].kind) {
	case LABEL_TEXT:
		*(const char **)into = text;
		break;
	case LABEL_ID:
		*(u32 *)into = val <= UINT32_MAX ? (u32)val : 0;
		break;
	case LABEL_SIZE:
		*(u64 *)into = val;
		break;
	case LABEL_RANGE:
		range__read(text, &l->sizes.low, &l->sizes.high);
		break;
	}
	return 0;
}

static int labels__read(struct in *in, const Pb__Sample *m, struct in_labels *l)
{
	int err = 0;

	*l = (struct in_labels){
		.comm = "", .thread = "", .allocator = "", .type = "", .cgroup = "", .container = ""
	};
	for (size_t i = 0; i < m->n_label && !err; i++)
		err = label__read(in, m->label[i], l);
	return err;
}

/* ---- stacks ---- */

static int list__fill(struct in *in, const Pb__Sample *m, size_t nr)
{
	in->list.cnt = 0;
	for (size_t i = 0; i < m->n_location_id; i++) {
		const struct in_location *loc;
		u64 at;

		if (!ids__find(in, &in->location_ids, m->location_id[i], &at))
			return err__fail(-EINVAL,
					 "damaged: sample %zu names location %" PRIu64
					 ", which isn't there",
					 nr, m->location_id[i]);
		loc = &in->locations.v[at];
		if (in->list.cnt + loc->frame_cnt > IN_FRAMES_MAX)
			return err__fail(-EINVAL, "sample %zu has more than %u frames", nr,
					 IN_FRAMES_MAX);
		for (u32 k = 0; k < loc->frame_cnt; k++) {
			if (vec__push(&in->list, &loc->frames[k]))
				return in__no_memory();
		}
	}
	return 0;
}

static int stack__new(struct in *in, u64 hash, size_t next, struct in_stack **out)
{
	size_t size = in->list.cnt * sizeof(*in->list.v);
	struct in_stack s = { .frame_cnt = in->list.cnt, .next = next };
	int err = in__take(in, 2 * sizeof(s) + 4 * sizeof(struct map_slot));

	if (err)
		return err;
	s.frames = arena__alloc(&in->p->arena, size);
	if (!s.frames)
		return in__no_memory();
	if (size)
		memcpy(s.frames, in->list.v, size);
	s.id = in->ours ? 0 : foreign__stack_id(in);
	if (vec__push(&in->stacks, s) || map__put(&in->stacks_by_hash, hash, in->stacks.cnt))
		return in__no_memory();
	*out = &in->stacks.v[in->stacks.cnt - 1];
	return 0;
}

/* The list that was there already, or a new one. */
static int stack__find(struct in *in, struct in_stack **out)
{
	size_t size = in->list.cnt * sizeof(*in->list.v);
	u64 hash = 0, newest = 0;

	for (size_t i = 0; i < in->list.cnt; i++)
		hash = map__mix(hash, (uintptr_t)in->list.v[i]);
	map__get(&in->stacks_by_hash, hash, &newest);
	for (size_t i = newest; i; i = in->stacks.v[i - 1].next) {
		struct in_stack *s = &in->stacks.v[i - 1];

		if (s->frame_cnt == in->list.cnt &&
		    (!size || !memcmp(s->frames, in->list.v, size))) {
			*out = s;
			return 0;
		}
	}
	return stack__new(in, hash, newest, out);
}

/* ---- numbers ---- */

static int values__read(struct in *in, const Pb__Sample *m, size_t nr, struct allocsnoop_sample *s)
{
	u64 *const into[COLUMN_CNT] = { &s->alloc_count, &s->alloc_bytes, &s->live_count,
					&s->live_bytes };

	if (m->n_value != in->type_cnt)
		return err__fail(-EINVAL, "damaged: sample %zu has %zu values of %zu", nr,
				 m->n_value, in->type_cnt);
	for (size_t i = 0; i < COLUMN_CNT; i++) {
		s64 val = in->columns[i] >= 0 ? m->value[in->columns[i]] : 0;

		if (val < 0) {
			err__fail(-EINVAL, "sample %zu has a negative value: it is a difference",
				  nr);
			err__hint("take the difference of two whole profiles with 'allocsnoop "
				  "diff'");
			return -EINVAL;
		}
		*into[i] = (u64)val;
	}
	return 0;
}

static double real(double val)
{
	return isfinite(val) && val > 0 ? val : 0;
}

static int lifetimes__read(struct in *in, const Pb__Row *m, struct allocsnoop_sample *s)
{
	struct allocsnoop_lifetimes *l;

	if (!m->has_lifetimes)
		return 0;
	l = arena__alloc(&in->p->arena, sizeof(*l));
	if (!l)
		return in__no_memory();
	for (size_t i = 0; i + 2 < m->n_lifetimes; i += 3) {
		u64 class = m->lifetimes[i];

		if (class >= ALLOCSNOOP_LIFE_CLASSES)
			return err__fail(-EINVAL, "damaged: a lifetime of class %" PRIu64, class);
		l->freed[class] = m->lifetimes[i + 1];
		l->live[class] = m->lifetimes[i + 2];
	}
	s->lifetimes = l;
	return 0;
}

#define READ_ROW(name)	    s->name = m->name;
#define READ_ROW_REAL(name) s->name = real(m->name);

/* A value of a difference, or one that was too large, is in the row. */
static int row__values(struct in *in, const Pb__Sample *sample, size_t nr,
		       struct allocsnoop_sample *s)
{
	const Pb__Row *m = sample->row;

	if (!in->p->info.diff && !m->alloc_count && !m->alloc_bytes && !m->live_count &&
	    !m->live_bytes)
		return values__read(in, sample, nr, s);
	s->alloc_count = m->alloc_count;
	s->alloc_bytes = m->alloc_bytes;
	s->live_count = m->live_count;
	s->live_bytes = m->live_bytes;
	return 0;
}

static int row__read(struct in *in, const Pb__Sample *sample, size_t nr, const struct in_labels *l,
		     struct allocsnoop_sample *s)
{
	const Pb__Row *m = sample->row;
	int err = row__values(in, sample, nr, s);

	if (err)
		return err;
	if (m->end >= ALLOCSNOOP_END_MAX)
		return err__fail(-EINVAL, "damaged: sample %zu has an unknown end", nr);
	PPROF_ROW_NUMBERS(READ_ROW)
	PPROF_ROW_REALS(READ_ROW_REAL)
	s->end = m->end;
	s->allocator = l->allocator;
	if (!in->p->info.diff) {
		s->base_alloc_count = s->base_alloc_bytes = 0;
		s->base_live_count = s->base_live_bytes = 0;
	}
	return lifetimes__read(in, m, s);
}

static int sample__read(struct in *in, const Pb__Sample *m, size_t nr)
{
	struct allocsnoop_sample s = {};
	struct in_stack *stack = NULL;
	struct in_labels l;
	int err = labels__read(in, m, &l);

	if (!err)
		err = list__fill(in, m, nr);
	if (!err && !in->ours)
		err = foreign__lead(in, l.allocator, &s.allocator);
	if (!err)
		err = stack__find(in, &stack);
	if (!err)
		err = in->ours ? row__read(in, m, nr, &l, &s) : values__read(in, m, nr, &s);
	if (err)
		return err;
	s.frames = stack->frames;
	s.frame_cnt = stack->frame_cnt;
	s.comm = l.comm;
	s.thread = *l.thread ? l.thread : NULL;
	s.type = *l.type ? l.type : NULL;
	if (!in->ours) {
		s.stack_id = stack->id;
		err = foreign__finish_sample(in, &l, &s);
	}
	if (err)
		return err;
	return profile__add_sample(in->p, &s) ? in__no_memory() : 0;
}

static int read_sample(struct in *in, const struct wire_field *f, size_t nr)
{
	const Pb__Sample *m;
	int err = 0;

	m = in__unpack(in, &pb__sample__descriptor, f, &err);
	if (m && in->ours && !m->row)
		err = err__fail(-EINVAL, "damaged: sample %zu is not ours", nr);
	if (m && !err)
		err = in__take(in, 2 * sizeof(struct allocsnoop_sample));
	return err ? err : sample__read(in, m, nr);
}

int in__read_samples(struct in *in)
{
	return in__each(in, PPROF_SAMPLE, read_sample);
}
