/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions by what they allocate, over all stacks: the table of the page is exact, whatever its
 * tree leaves out. A function counts once in a stack, however often it is in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

static u64 hash_name(u64 h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (u8)*s) * 0x100000001b3ULL;
	return h;
}

static int function__find(struct html_functions *f, const struct allocsnoop_frame *frame,
			  size_t *index)
{
	struct html_function fn = { .function = frame->function, .module = frame->module };
	u64 hash = map__mix(hash_name(hash_name(0, fn.function), fn.module), 0), last = 0;
	int err;

	map__get(&f->by_hash, hash, &last);
	for (size_t i = last; i; i = f->all.v[i - 1].next) {
		const struct html_function *old = &f->all.v[i - 1];

		*index = i - 1;
		if (!strcmp(old->function, fn.function) && !strcmp(old->module, fn.module))
			return 0;
	}
	fn.next = last;
	*index = f->all.cnt;
	err = vec__push(&f->all, fn);
	return err ? err : map__put(&f->by_hash, hash, f->all.cnt);
}

static int function__of(struct html_functions *f, const struct allocsnoop_frame *frame,
			size_t *index)
{
	u64 old;
	int err;

	if (map__get(&f->known, (uintptr_t)frame, &old)) {
		*index = old;
		return 0;
	}
	err = function__find(f, frame, index);
	return err ? err : map__put(&f->known, (uintptr_t)frame, *index);
}

static void add_values(u64 *to, const u64 *values)
{
	for (size_t k = 0; k < HTML_KINDS; k++)
		to[k] = sum__add(to[k], values[k]);
}

static int add_stack(struct html_functions *f, const struct allocsnoop_sample *s, size_t stack)
{
	const struct allocsnoop_frame *caller = sample__caller(s);
	u64 values[HTML_KINDS];
	size_t index;
	int err;

	for (size_t k = 0; k < HTML_KINDS; k++)
		values[k] = html_kinds[k].value(s);
	if (!caller && s->frame_cnt)
		caller = s->frames[0];
	for (size_t i = 0; i < s->frame_cnt; i++) {
		err = function__of(f, s->frames[i], &index);
		if (err)
			return err;
		if (f->all.v[index].stack == stack)
			continue;
		f->all.v[index].stack = stack;
		add_values(f->all.v[index].total, values);
	}
	if (!caller)
		return 0;
	err = function__of(f, caller, &index);
	if (!err)
		add_values(f->all.v[index].self, values);
	return err;
}

static int cmp_functions(const void *x, const void *y, void *arg)
{
	const struct html_function *a = x, *b = y;
	double share_a = html__share(a->total, arg), share_b = html__share(b->total, arg);
	int diff;

	if (share_a != share_b)
		return share_a < share_b ? 1 : -1;
	diff = strcmp(a->function, b->function);
	return diff ? diff : strcmp(a->module, b->module);
}

int html_functions__sum(struct html_functions *f, const struct allocsnoop_profile *p,
			const u64 *totals)
{
	int err = 0;

	for (size_t i = 0; !err && i < p->samples.cnt; i++)
		err = add_stack(f, &p->samples.v[i], i + 1);
	if (f->all.cnt)
		qsort_r(f->all.v, f->all.cnt, sizeof(*f->all.v), cmp_functions, (void *)totals);
	return err;
}

void html_functions__fini(struct html_functions *f)
{
	vec__free(&f->all);
	map__free(&f->by_hash);
	map__free(&f->known);
}
