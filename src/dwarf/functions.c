/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A unit's functions and what was inlined into them, as one list in the order of the tree: an
 * entry's descendants follow it, up to its `end`.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "dwarf/dwarf.h"

#define DEPTH_MAX 1024 /* of the tree; deeper ones are no compiler's */
#define NONE	  UINT32_MAX
#define LOOK_BACK 256 /* functions that may lie in another one */

struct function_range {
	u64 low;
	u64 high;
};

struct function {
	struct dwarf_function f;
	u32 parent; /* NONE: a function's own code */
	u32 end;    /* one past its last descendant */
	u32 first;  /* of ranges */
	u32 range_cnt;
};

/* Addresses of a function that isn't inlined, by `low`; `most` as in struct unit_range. */
struct function_place {
	u64 low;
	u64 high;
	u64 most;
	u32 at;
};

struct dwarf_functions {
	VEC(struct function) v;
	VEC(struct function_range) ranges;
	VEC(struct function_place) places;
};

/* ---- the walk ---- */

struct walk {
	struct dwarf_unit *u;
	struct cursor c;
	struct dwarf_die die;
	u64 off; /* of it */
	u32 depth;
	int (*entry)(struct walk *w);
	void *arg;
	u32 above[DEPTH_MAX]; /* NONE, or the function that entries of this depth are in */
	dwarf_range_fn fn;    /* for each_function_range */
};

/* Each entry of the unit, but its root. */
static int walk__run(struct walk *w)
{
	struct dwarf_unit *u = w->u;
	const u8 *begin = u->data;
	int err;

	w->c = (struct cursor){ .p = begin + u->header_size, .end = begin + u->size };
	err = dwarf_die__read(u, &w->c, &w->die);
	if (err || !w->die.has_children)
		return err;
	w->above[0] = NONE;
	while (!err && cursor__left(&w->c)) {
		w->off = u->off + (u64)(w->c.p - begin);
		err = dwarf_die__read(u, &w->c, &w->die);
		if (err)
			break;
		if (!w->die.tag) {
			if (!w->depth--)
				break;
			continue;
		}
		if (w->depth + 1 == DEPTH_MAX)
			return -EINVAL;
		w->above[w->depth + 1] = w->above[w->depth];
		err = w->entry(w);
		w->depth += w->die.has_children;
	}
	return err;
}

/* ---- the list ---- */

static int function__add_range(void *arg, u64 low, u64 high)
{
	struct walk *w = arg;
	struct dwarf_functions *fs = w->arg;
	struct function_range r = { low, high };

	fs->v.v[fs->v.cnt - 1].range_cnt++;
	if (budget__bytes(w->u->file->budget, sizeof(struct function_place) + sizeof(r)))
		return -E2BIG;
	return vec__push(&fs->ranges, r);
}

static int functions__add_places(struct dwarf_functions *fs, u32 at)
{
	const struct function *f = &fs->v.v[at];
	int err = 0;

	for (u32 i = 0; i < f->range_cnt && !err; i++) {
		const struct function_range *r = &fs->ranges.v[f->first + i];
		struct function_place place = { .low = r->low, .high = r->high, .at = at };

		err = vec__push(&fs->places, place);
	}
	return err;
}

static int functions__entry(struct walk *w)
{
	struct dwarf_functions *fs = w->arg;
	bool inlined = w->die.tag == DW_TAG_inlined_subroutine;
	struct function f = {
		.f = { .die = w->off, .inlined = inlined },
		.parent = inlined ? w->above[w->depth] : NONE,
		.first = (u32)fs->ranges.cnt,
	};
	int err;

	if (!inlined && w->die.tag != DW_TAG_subprogram)
		return 0;
	w->above[w->depth + 1] = NONE;
	if ((inlined && f.parent == NONE) || fs->v.cnt == NONE || fs->ranges.cnt >= NONE)
		return 0;
	if (w->die.v[ATTR_CALL_FILE].form)
		f.f.call_file = w->die.v[ATTR_CALL_FILE].n;
	if (w->die.v[ATTR_CALL_LINE].form)
		f.f.call_line = (u32)MIN(w->die.v[ATTR_CALL_LINE].n, UINT32_MAX);
	err = budget__bytes(w->u->file->budget, sizeof(f));
	if (!err)
		err = vec__push(&fs->v, f);
	if (!err)
		err = dwarf_die__each_range(w->u, &w->die, function__add_range, w);
	/* One damaged list says nothing about the others. */
	if (err && err != -EINVAL)
		return err;
	if (!fs->v.v[fs->v.cnt - 1].range_cnt) {
		fs->v.cnt--;
		return 0;
	}
	w->above[w->depth + 1] = (u32)fs->v.cnt - 1;
	return inlined ? 0 : functions__add_places(fs, (u32)fs->v.cnt - 1);
}

/* From the last one: a parent's end is that of its last descendant. */
static void functions__set_ends(struct dwarf_functions *fs)
{
	for (size_t i = fs->v.cnt; i--;) {
		struct function *f = &fs->v.v[i];

		f->end = MAX(f->end, (u32)i + 1);
		if (f->parent != NONE)
			fs->v.v[f->parent].end = MAX(fs->v.v[f->parent].end, f->end);
	}
}

static int place__compare(const void *a, const void *b)
{
	const struct function_place *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high > y->high ? -1 : x->high < y->high;
}

static void functions__sort(struct dwarf_functions *fs)
{
	u64 most = 0;

	if (fs->places.cnt)
		qsort(fs->places.v, fs->places.cnt, sizeof(*fs->places.v), place__compare);
	for (size_t i = 0; i < fs->places.cnt; i++) {
		most = MAX(most, fs->places.v[i].high);
		fs->places.v[i].most = most;
	}
}

static int functions__read(struct dwarf_unit *u, struct dwarf_functions *fs)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->u = u;
	w->entry = functions__entry;
	w->arg = fs;
	err = walk__run(w);
	free(w);
	/* What came before damage is as good as any. */
	if (err && err != -EINVAL)
		return err;
	functions__set_ends(fs);
	functions__sort(fs);
	return 0;
}

void dwarf_functions__free(struct dwarf_functions *fs)
{
	if (!fs)
		return;
	vec__free(&fs->v);
	vec__free(&fs->ranges);
	vec__free(&fs->places);
	free(fs);
}

int dwarf_unit__read_functions(struct dwarf_unit *u)
{
	struct dwarf_functions *fs;
	int err;

	if (u->functions || u->functions_err)
		return u->functions_err;
	err = dwarf_unit__load(u);
	fs = err ? NULL : calloc(1, sizeof(*fs));
	if (!err)
		err = fs ? functions__read(u, fs) : -ENOMEM;
	if (err) {
		dwarf_functions__free(fs);
		u->functions_err = err;
		return err;
	}
	u->functions = fs;
	return 0;
}

/* ---- look-up ---- */

static bool function__has(const struct dwarf_functions *fs, const struct function *f, u64 pc)
{
	for (u32 i = 0; i < f->range_cnt; i++) {
		const struct function_range *r = &fs->ranges.v[f->first + i];

		if (pc >= r->low && pc < r->high)
			return true;
	}
	return false;
}

/* NONE: in no function. */
static u32 functions__outermost(const struct dwarf_functions *fs, u64 pc)
{
	size_t low = 0, high = fs->places.cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (fs->places.v[mid].low <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	for (u32 i = 0; i < LOOK_BACK && low && fs->places.v[low - 1].most > pc; i++, low--) {
		if (pc < fs->places.v[low - 1].high)
			return fs->places.v[low - 1].at;
	}
	return NONE;
}

u32 dwarf_unit__chain(const struct dwarf_unit *u, u64 pc,
		      const struct dwarf_function *chain[DWARF_CHAIN_MAX])
{
	const struct dwarf_functions *fs = u->functions;
	u32 at = functions__outermost(fs, pc), cnt = 0, i, end;

	if (at == NONE)
		return 0;
	end = fs->v.v[at].end;
	for (i = at + 1; i < end;) {
		const struct function *f = &fs->v.v[i];

		/* A function within a function is a place of its own. */
		if (!f->f.inlined || f->parent != at || !function__has(fs, f, pc)) {
			i = f->end;
			continue;
		}
		at = i++;
		end = f->end;
	}
	for (; at != NONE && cnt < DWARF_CHAIN_MAX; at = fs->v.v[at].parent)
		chain[cnt++] = &fs->v.v[at].f;
	return cnt;
}

/* ---- units that don't tell their addresses ---- */

static int ranges__entry(struct walk *w)
{
	int err;

	if (w->die.tag != DW_TAG_subprogram)
		return 0;
	err = dwarf_die__each_range(w->u, &w->die, w->fn, w->arg);
	return err == -EINVAL ? 0 : err;
}

int dwarf_unit__each_function_range(struct dwarf_unit *u, dwarf_range_fn fn, void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->u = u;
	w->entry = ranges__entry;
	w->fn = fn;
	w->arg = arg;
	err = walk__run(w);
	free(w);
	return err;
}
