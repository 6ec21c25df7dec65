/* SPDX-License-Identifier: BSD-2-Clause */
/* See the header. */
#include "target/text.h"
#include "target/walk.h"
#include "target/wrap.h"

#define DEPTH_MAX 2  /* helpers on the way, as libc++abi's operator_new_impl */
#define SEEN_MAX  64 /* functions looked at for one operator */

struct wrap {
	struct walk *w;
	const walk_names *names;
	const struct catalog_row *row;
	const struct catalog_row *import;
	u64 start; /* of the code being looked at */
	u64 end;
	int depth;
	u32 seen_cnt;
	u64 seen[SEEN_MAX];
};

static bool is_free(const struct catalog_row *row)
{
	return row->role == ROLE_FREE;
}

static bool seen(struct wrap *p, u64 off)
{
	for (u32 i = 0; i < p->seen_cnt; i++)
		if (p->seen[i] == off)
			return true;
	if (p->seen_cnt == SEEN_MAX)
		return true;
	p->seen[p->seen_cnt++] = off;
	return false;
}

/* delete[](void *, size_t) -> delete[](void *) -> delete(void *): operators are no helpers. */
static bool is_operator(const struct wrap *p, u64 off)
{
	for (size_t i = 0; i < p->names->cnt; i++)
		if (p->names->v[i].off == off && p->names->v[i].row->cxx_new)
			return true;
	return false;
}

static int on_branch(void *arg, const struct walk_branch *b)
{
	struct wrap *p = arg;
	u64 start = p->start, end = p->end;
	int depth = p->depth, ret = 0;

	/* Operators clean up after themselves: new's error path may free, so roles must match. */
	if (b->import && b->import->layer == p->row->layer &&
	    is_free(b->import) == is_free(p->row)) {
		p->import = b->import;
		return 1;
	}
	if (!b->off || (b->off >= start && b->off < end))
		return 0;
	if (!is_operator(p, b->off) && p->depth++ == DEPTH_MAX)
		goto out;
	if (!text__func_at(p->w->t, b->off) || seen(p, b->off))
		goto out;
	p->start = b->off;
	p->end = text__func_end(p->w->t, b->off, 0);
	ret = walk__branches(p->w, p->start, p->end, on_branch, p);
out:
	p->depth = depth;
	p->start = start;
	p->end = end;
	return ret;
}

const struct catalog_row *wrap__import(struct walk *w, const walk_names *names,
				       const struct catalog_row *row, u64 off, u64 size)
{
	struct wrap p = { .w = w, .names = names, .row = row, .start = off };

	p.end = text__func_end(w->t, off, size);
	walk__branches(w, p.start, p.end, on_branch, &p);
	return p.import;
}
