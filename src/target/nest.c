/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jumps and ranges. A function belongs to the allocator when it is an allocator function, or when
 * it can be reached only from such: called from them, never from elsewhere, not exported, and its
 * address stored nowhere. So glibc's _mid_memalign is inside, and strdup is not.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/calls.h"
#include "target/disasm.h"
#include "target/nest.h"
#include "target/site.h"
#include "target/text.h"
#include "target/walk.h"

#define HELPER_DEPTH 2	/* jumps through functions that aren't sites */
#define SEEN_MAX     64 /* pieces of code followed for one site */

/* ---- jumps ---- */

struct jumper {
	struct site_file *f;
	struct walk *w;
	const walk_names *names;
	u32 site;
	u64 start; /* of the piece being looked at */
	u64 end;
	int depth;
	u32 seen_cnt;
	u64 seen[SEEN_MAX];
};

static s32 site_at(const struct site_file *f, u64 off)
{
	for (size_t i = 0; i < f->sites.cnt; i++)
		if (f->sites.v[i].func_off == off)
			return (s32)i;
	return -1;
}

static u8 site_layer(const struct site_file *f, s32 at)
{
	return f->sites.v[at].row->layer;
}

static u8 layer_of(const struct jumper *j)
{
	return site_layer(j->f, (s32)j->site);
}

static int add_jump(struct jumper *j, s32 to, const char *import)
{
	struct site_jump jump = { .from = j->site, .to = to, .import = import };

	for (size_t i = 0; i < j->f->jumps.cnt; i++) {
		const struct site_jump *old = &j->f->jumps.v[i];

		if (old->from == j->site && old->to == to && !strcmp(old->import, import))
			return 0;
	}
	return vec__push(&j->f->jumps, jump);
}

/* The dynamic linker may choose this file's own function of the name or another file's: both. */
static int add_import(struct jumper *j, const struct catalog_row *row)
{
	int err = row->layer == layer_of(j) ? add_jump(j, -1, row->symbol) : 0;

	for (size_t i = 0; i < j->names->cnt && !err; i++) {
		s32 to;

		if (j->names->v[i].row != row)
			continue;
		to = site_at(j->f, j->names->v[i].off);
		if (to >= 0 && (u32)to != j->site && site_layer(j->f, to) == layer_of(j))
			err = add_jump(j, to, "");
	}
	return err;
}

static bool jumper_seen(struct jumper *j, u64 off)
{
	for (u32 i = 0; i < j->seen_cnt; i++)
		if (j->seen[i] == off)
			return true;
	if (j->seen_cnt == SEEN_MAX)
		return true;
	j->seen[j->seen_cnt++] = off;
	return false;
}

static int on_jump(void *arg, const struct walk_branch *b)
{
	struct jumper *j = arg;
	u64 start = j->start, end = j->end;
	s32 to;
	int ret;

	if (b->kind == BRANCH_CALL)
		return 0;
	if (b->import)
		return add_import(j, b->import);
	if (b->off >= start && b->off < end)
		return 0;
	to = site_at(j->f, b->off);
	if (to >= 0 && site_layer(j->f, to) == layer_of(j))
		return (u32)to == j->site ? 0 : add_jump(j, to, "");
	if (j->depth == HELPER_DEPTH || jumper_seen(j, b->off))
		return 0;
	/* A helper, or the function's own cold part: what it jumps to counts as well. */
	j->depth++;
	j->start = b->off;
	j->end = text__func_end(j->w->t, b->off, 0);
	ret = walk__branches(j->w, j->start, j->end, on_jump, j);
	j->depth--;
	j->start = start;
	j->end = end;
	return ret;
}

int nest__jumps(struct site_file *f, struct walk *w, const walk_names *names)
{
	for (size_t i = 0; i < f->sites.cnt; i++) {
		const struct site *s = &f->sites.v[i];
		struct jumper j = { .f = f, .w = w, .names = names, .site = (u32)i };
		int err;

		j.start = s->func_off;
		j.end = text__func_end(w->t, s->func_off, s->func_size);
		err = walk__branches(w, j.start, j.end, on_jump, &j);
		if (err < 0)
			return err;
	}
	return 0;
}

/* ---- ranges ---- */

enum { OUTSIDE, SITE, INSIDE };

struct ranger {
	struct site_file *f;
	struct walk *w;
	const struct text *t;
	const struct calls *c;
	u8 layer;
	u8 *state; /* per function of the text */
	VEC(u32) todo;
};

static size_t func_index(const struct text *t, const struct text_func *f)
{
	return (size_t)(f - t->funcs.v);
}

/* Everything that can be reached from the sites, as far as nobody else may enter it by a pointer.
 */
static int reach(struct ranger *r)
{
	while (r->todo.cnt) {
		const struct text_func *f = &r->t->funcs.v[r->todo.v[--r->todo.cnt]];
		size_t cnt;
		const struct call *call = calls__from(r->c, f->start, f->end, &cnt);

		for (size_t i = 0; i < cnt; i++) {
			const struct text_func *to = text__func_at(r->t, call[i].to);
			size_t k = to ? func_index(r->t, to) : 0;

			if (!to || r->state[k] != OUTSIDE || to->exported || to->taken)
				continue;
			r->state[k] = INSIDE;
			if (vec__push(&r->todo, (u32)k))
				return -ENOMEM;
		}
	}
	return 0;
}

static bool is_outside(const struct ranger *r, const struct text_func *caller)
{
	return !caller || r->state[func_index(r->t, caller)] == OUTSIDE;
}

static int is_jump_to(void *arg, const struct walk_branch *b)
{
	return b->off == *(const u64 *)arg;
}

/*
 * Jumps with an 8-bit distance aren't in the scan: nearly every byte may look like one. Those from
 * neighbours to this very start are few, and the neighbour's disassembly tells the real ones.
 */
static bool short_jump_from_outside(const struct ranger *r, const struct text_func *f)
{
	u64 lo = f->start > 129 ? f->start - 129 : 0;
	u8 code[129 + 128];
	size_t n = text__read(r->t, lo, code, sizeof(code));
	u64 start = f->start;

	for (size_t i = 0; i + 1 < n; i++) {
		const struct text_func *caller;

		if (code[i] != 0xeb && (code[i] & 0xf0) != 0x70)
			continue;
		if (lo + i + 2 + (u64)(s64)(int8_t)code[i + 1] != start)
			continue;
		caller = text__func_of(r->t, lo + i);
		if (!is_outside(r, caller))
			continue;
		if (!caller ||
		    walk__branches(r->w, caller->start, text__func_end(r->t, caller->start, 0),
				   is_jump_to, &start))
			return true;
	}
	return false;
}

static bool called_from_outside(const struct ranger *r, const struct text_func *f)
{
	size_t cnt;
	const struct call *call = calls__to(r->c, f->start, f->start + 1, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (is_outside(r, text__func_of(r->t, call[i].from)))
			return true;
	return short_jump_from_outside(r, f);
}

static int put_out(struct ranger *r, size_t k)
{
	r->state[k] = OUTSIDE;
	return vec__push(&r->todo, (u32)k);
}

/* What somebody outside calls is outside, and so is what that calls, and so on. */
static int drop_outsiders(struct ranger *r)
{
	for (size_t i = 0; i < r->t->funcs.cnt; i++)
		if (r->state[i] == INSIDE && called_from_outside(r, &r->t->funcs.v[i]) &&
		    put_out(r, i))
			return -ENOMEM;
	while (r->todo.cnt) {
		const struct text_func *f = &r->t->funcs.v[r->todo.v[--r->todo.cnt]];
		size_t cnt;
		const struct call *call = calls__from(r->c, f->start, f->end, &cnt);

		for (size_t i = 0; i < cnt; i++) {
			const struct text_func *to = text__func_at(r->t, call[i].to);

			if (to && r->state[func_index(r->t, to)] == INSIDE &&
			    put_out(r, func_index(r->t, to)))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Functions are aligned to 16 bytes: what is between two ranges is padding when it is shorter. */
#define PADDING 16

/* Ranges come in ascending order; those that touch become one. */
static int add_range(struct site_file *f, u8 layer, u64 start, u64 end)
{
	struct site_range *last = f->ranges.cnt ? &f->ranges.v[f->ranges.cnt - 1] : NULL;
	struct site_range range = { start, end, layer };

	if (start >= end)
		return 0;
	if (!last || last->layer != layer || start >= last->end + PADDING)
		return vec__push(&f->ranges, range);
	last->end = MAX(last->end, end);
	return 0;
}

static int ranges_by_calls(struct ranger *r)
{
	const struct site_file *f = r->f;
	int err = 0;

	for (size_t i = 0; i < f->sites.cnt; i++) {
		const struct text_func *func = text__func_at(r->t, f->sites.v[i].func_off);

		if (!func || f->sites.v[i].row->layer != r->layer)
			continue;
		r->state[func_index(r->t, func)] = SITE;
		if (vec__push(&r->todo, (u32)func_index(r->t, func)))
			return -ENOMEM;
	}
	if (r->c->cut) /* not all callers are known */
		r->todo.cnt = 0;
	err = reach(r);
	if (!err)
		err = drop_outsiders(r);
	for (size_t i = 0; i < r->t->funcs.cnt && !err; i++)
		if (r->state[i] != OUTSIDE)
			err = add_range(r->f, r->layer, r->t->funcs.v[i].start,
					r->t->funcs.v[i].end);
	return err;
}

/* A shared library that is nothing but an allocator: none of its calls is the program's. */
static bool is_allocator_library(const struct text *t)
{
	static const char *const sonames[] = {
		"libjemalloc*", "libtcmalloc*", "libmimalloc*", "librpmalloc*",
		"libsnmalloc*", "libscudo*",	"libhoard*",	"libclang_rt.scudo*",
	};

	for (size_t i = 0; i < ARRAY_SIZE(sonames); i++)
		if (!fnmatch(sonames[i], t->soname, 0))
			return true;
	return false;
}

static int by_off(const void *a, const void *b)
{
	const struct text_seg *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* All code but the functions whose allocations are the program's. */
static int whole_text(struct site_file *f, const struct text *t)
{
	struct text_seg *segs = calloc(t->segs.cnt + 1, sizeof(*segs));
	int err = segs ? 0 : -ENOMEM;

	if (segs && t->segs.cnt) {
		memcpy(segs, t->segs.v, t->segs.cnt * sizeof(*segs));
		qsort(segs, t->segs.cnt, sizeof(*segs), by_off);
	}
	for (size_t i = 0; i < t->segs.cnt && !err; i++) {
		u64 start = segs[i].off, end = start + segs[i].size;

		for (size_t k = 0; k < t->funcs.cnt && !err; k++) {
			const struct text_func *func = &t->funcs.v[k];

			if (!func->foreign || func->start < start || func->start >= end)
				continue;
			err = add_range(f, 0, start, func->start);
			start = MIN(func->end, end);
		}
		if (!err)
			err = add_range(f, 0, start, end);
	}
	free(segs);
	return err;
}

static int layer_ranges(struct site_file *f, struct walk *w, const struct calls *c, u8 layer)
{
	struct ranger r = { .f = f, .w = w, .t = w->t, .c = c, .layer = layer };
	int err;

	r.state = calloc(w->t->funcs.cnt + 1, 1);
	if (!r.state)
		return -ENOMEM;
	err = ranges_by_calls(&r);
	free(r.state);
	vec__free(&r.todo);
	return err;
}

int nest__ranges(struct site_file *f, struct walk *w, const struct calls *c)
{
	u32 layers = 0;
	int err = 0;

	for (size_t i = 0; i < f->sites.cnt; i++)
		layers |= 1u << f->sites.v[i].row->layer;
	if (layers & 1)
		err = is_allocator_library(w->t) ? whole_text(f, w->t) : layer_ranges(f, w, c, 0);
	for (u8 layer = 1; layer <= PROBE_LAYER_MAX && !err; layer++)
		if (layers >> layer & 1)
			err = layer_ranges(f, w, c, layer);
	return err;
}

/* ---- functions that only sites enter ---- */

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

bool nest__only_from(const struct text *t, const struct calls *c, u64 off, const u64 *offs,
		     size_t off_cnt)
{
	const struct text_func *f = text__func_at(t, off);
	const struct call *call;
	size_t cnt;

	if (!f || f->exported || f->taken || c->cut)
		return false;
	call = calls__to(c, off, off + 1, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct text_func *caller = text__func_of(t, call[i].from);

		if (!caller || caller == f ||
		    !bsearch(&caller->start, offs, off_cnt, sizeof(*offs), cmp_u64))
			return false;
	}
	return cnt > 0;
}
