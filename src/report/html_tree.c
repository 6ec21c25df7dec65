/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call tree of the page, and what is left out of it. The one idea: whichever number the reader
 * looks at, the nodes that matter must be there; so the tree grows from its root, always where the
 * largest part of any total goes. No node has more than its parent, so when the page is full, those
 * that are left out are smaller than all that are there. Their stacks are summed where they leave
 * the tree: nothing is missing from any total, nor from a node that is there.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/html_way.h"

#define NODE_COST   10 /* bytes in the page, about */
#define NUMBER_COST 6

double html__share(const u64 *values, const u64 *totals)
{
	double most = 0;

	for (size_t k = 0; k < HTML_KINDS; k++) {
		if (values[k])
			most = fmax(most, (double)values[k] / (double)totals[k]);
	}
	return most;
}

/* ---- branches: what may be added, as a heap with the largest on top ---- */

/* Equal ones in the order of the ways: the same profile makes the same page. */
static bool branch__before(const struct html_branch *a, const struct html_branch *b)
{
	return a->share != b->share ? a->share > b->share : a->first < b->first;
}

static void branch__swap(struct html_branch *a, struct html_branch *b)
{
	struct html_branch tmp = *a;

	*a = *b;
	*b = tmp;
}

static int heap__push(struct html_tree *t, struct html_branch branch)
{
	int err = vec__push(&t->heap, branch);
	struct html_branch *v = t->heap.v;

	if (err)
		return err;
	for (size_t i = t->heap.cnt - 1; i && branch__before(&v[i], &v[(i - 1) / 2]);
	     i = (i - 1) / 2)
		branch__swap(&v[i], &v[(i - 1) / 2]);
	return 0;
}

static struct html_branch heap__pop(struct html_tree *t)
{
	struct html_branch *v = t->heap.v, top = v[0];
	size_t cnt = --t->heap.cnt, i = 0;

	v[0] = v[cnt];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < cnt && branch__before(&v[child + 1], &v[child]))
			child++;
		if (child >= cnt || !branch__before(&v[child], &v[i]))
			return top;
		branch__swap(&v[child], &v[i]);
		i = child;
	}
}

/* ---- rows ---- */

static void row__add(struct html_row *r, const struct allocsnoop_sample *s)
{
	for (size_t k = 0; k < HTML_KINDS; k++) {
		r->values[k] = sum__add(r->values[k], html_kinds[k].value(s));
		if (html_kinds[k].var)
			r->vars[k] += html_kinds[k].var(s);
	}
	r->size_low = MIN(r->size_low, s->size_low);
	r->size_high = MAX(r->size_high, s->size_high);
	r->sampled_cnt = sum__add(r->sampled_cnt, s->sampled_count);
	r->at_least |= s->at_least;
}

static int tree__add_row(struct html_tree *t, u32 node, u32 self, u32 *of_node)
{
	struct html_row row = { .node = node, .self = self, .size_low = UINT64_MAX };
	int err;

	if (*of_node)
		return 0;
	err = vec__push(&t->rows, row);
	if (!err)
		*of_node = t->rows.cnt;
	return err;
}

/* A stack that ends at this node. */
static int tree__end(struct html_tree *t, u32 node, const struct html_way *way)
{
	int err = tree__add_row(t, node, way->self, &t->nodes.v[node].row);

	if (!err)
		row__add(&t->rows.v[t->nodes.v[node].row - 1], way->s);
	return err;
}

/* Too many places with something left out: it's summed further up. */
static int tree__prune(struct html_tree *t, const struct html_branch *b)
{
	struct html_node *n = &t->nodes.v[b->parent];
	struct html_row *row;
	int err;

	while (n->depth && !n->other && t->other_cnt >= t->limits.others)
		n = &t->nodes.v[n->parent];
	t->other_cnt += !n->other;
	err = tree__add_row(t, n - t->nodes.v, t->up ? n->depth : 0, &n->other);
	if (err)
		return err;
	row = &t->rows.v[n->other - 1];
	for (size_t i = b->first; i < b->first + b->cnt; i++)
		row__add(row, t->ways.v[i].s);
	row->stacks += b->cnt;
	t->pruned += b->cnt;
	return 0;
}

/* ---- growing ---- */

static double ways__share(const struct html_tree *t, size_t first, size_t cnt)
{
	u64 values[HTML_KINDS] = {};

	for (size_t k = 0; k < HTML_KINDS; k++) {
		for (size_t i = first; t->totals[k] && i < first + cnt; i++)
			values[k] = sum__add(values[k], html_kinds[k].value(t->ways.v[i].s));
	}
	return html__share(values, t->totals);
}

static u32 way__step(const struct html_tree *t, size_t way, u32 depth)
{
	return t->steps.v[t->ways.v[way].first + depth];
}

/* Ways through a node, split by their next step; those that end there come first. */
static int tree__split(struct html_tree *t, u32 node, size_t first, size_t cnt)
{
	u32 depth = t->nodes.v[node].depth;
	size_t end = first + cnt, i = first;
	int err = 0;

	for (; !err && i < end && t->ways.v[i].cnt == depth; i++)
		err = tree__end(t, node, &t->ways.v[i]);
	while (!err && i < end) {
		struct html_branch b = { .first = i, .parent = node };

		while (i < end && way__step(t, i, depth) == way__step(t, b.first, depth))
			i++;
		b.cnt = i - b.first;
		b.share = ways__share(t, b.first, b.cnt);
		if (b.share > 0)
			err = heap__push(t, b);
	}
	return err;
}

static int tree__add_node(struct html_tree *t, u32 parent, u32 frame, u32 *node)
{
	struct html_node n = { .parent = parent, .frame = frame };
	int err;

	if (t->nodes.cnt) {
		n.depth = t->nodes.v[parent].depth + 1;
		n.sibling = t->nodes.v[parent].child;
	}
	*node = t->nodes.cnt;
	err = vec__push(&t->nodes, n);
	if (!err && *node)
		t->nodes.v[parent].child = *node;
	return err;
}

static bool tree__is_full(const struct html_tree *t, u32 frame)
{
	size_t row_cost = NUMBER_COST * (HTML_KINDS + 4);
	size_t cost =
		t->names->cost - t->cost_before + t->nodes.cnt * NODE_COST + t->rows.cnt * row_cost;

	cost += html_names__frame_cost(t->names, frame) + NODE_COST + row_cost;
	return cost > t->limits.cost || t->nodes.cnt >= t->limits.nodes;
}

/* 1: it's full, and the branch stays out. */
static int tree__grow(struct html_tree *t, const struct html_branch *b)
{
	u32 frame = way__step(t, b->first, t->nodes.v[b->parent].depth), node;
	int err;

	if (tree__is_full(t, frame)) {
		t->below = b->share;
		err = tree__prune(t, b);
		return err ? err : 1;
	}
	err = html_names__use_frame(t->names, frame);
	if (!err)
		err = tree__add_node(t, b->parent, frame, &node);
	return err ? err : tree__split(t, node, b->first, b->cnt);
}

/* They take more than the tree. */
static void tree__drop_ways(struct html_tree *t)
{
	vec__free(&t->steps);
	vec__free(&t->ways);
	vec__free(&t->heap);
	str__free(&t->label);
}

int html_tree__build(struct html_tree *t)
{
	u32 root;
	int err = html_ways__make(t);

	t->cost_before = t->names->cost;
	if (!err)
		err = tree__add_node(t, 0, 0, &root);
	if (!err)
		err = tree__split(t, root, 0, t->ways.cnt);
	while (!err && t->heap.cnt) {
		struct html_branch b = heap__pop(t);

		err = tree__grow(t, &b);
	}
	for (size_t i = 0; err >= 0 && i < t->heap.cnt; i++)
		err = tree__prune(t, &t->heap.v[i]);
	t->stack_cnt = t->ways.cnt;
	tree__drop_ways(t);
	return err < 0 ? err : 0;
}

void html_tree__fini(struct html_tree *t)
{
	tree__drop_ways(t);
	vec__free(&t->nodes);
	vec__free(&t->rows);
}
