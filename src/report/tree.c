/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All rows as one tree: from the program's start to the allocator, or the other way round. The one
 * idea: a line has numbers where they change; frames that only call the next one follow without
 * any. Only where several branches go on, they are indented: a trunk that loses a twig now and then
 * stays where it is. What is too small to be shown is summed up where it would stand, so nothing is
 * missing: what is below a line adds up to its numbers.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/tree_text.h"

#define SMALL_PART 200 /* smaller than a 200th, 0.5 %: summed up */

/* ---- which nodes ---- */

/* Does the node stand alone below its parent, with the same numbers, so that they aren't repeated?
 */
static bool is_continued(const struct tree_node *n)
{
	const struct tree_node *p = n->parent;

	return p->frame && p->kind == TREE_FRAME && n->kind == TREE_FRAME && p->child_cnt == 1 &&
	       !p->self && p->base == n->base;
}

static int cmp_weights(const void *x, const void *y)
{
	u64 a = *(const u64 *)x, b = *(const u64 *)y;

	return (a < b) - (a > b);
}

/* --top: so many lines with numbers. */
static int choose_first(struct tree_text *t, size_t top)
{
	VEC(u64) weights = { 0 };
	int err = 0;

	for (const struct tree_node *n = tree__next(t->tree.root, true); n && !err;
	     n = tree__next(n, true)) {
		if (!is_continued(n))
			err = vec__push(&weights, weight(t, n));
	}
	if (!err && weights.cnt > top) {
		qsort(weights.v, weights.cnt, sizeof(*weights.v), cmp_weights);
		t->least = weights.v[top - 1];
		while (t->ties < top && weights.v[top - 1 - t->ties] == t->least)
			t->ties++;
	} else {
		t->ties = weights.cnt;
	}
	vec__free(&weights);
	return err;
}

static void choose_large(struct tree_text *t)
{
	u64 all = weight(t, t->tree.root);

	t->least = all / SMALL_PART + (all % SMALL_PART != 0);
	t->ties = SIZE_MAX;
}

static bool is_shown(struct tree_text *t, const struct tree_node *n)
{
	if (is_continued(n))
		return true; /* as its parent is */
	if (weight(t, n) != t->least)
		return weight(t, n) > t->least;
	if (!t->ties)
		return false;
	t->ties--;
	return true;
}

/* ---- levels ---- */

static void sum_rest(struct level *l, const struct tree_node *n)
{
	l->rest.total = sum__add(l->rest.total, n->total);
	l->rest.blocks = sum__add(l->rest.blocks, n->blocks);
	l->rest.base = sum__add(l->rest.base, n->base);
	l->rest.moved = sum__add(l->rest.moved, n->moved);
	l->rest.hits = sum__add(l->rest.hits, n->hits);
	l->rest.var += n->var;
	l->rest.at_least |= n->at_least;
	l->rest_cnt++;
}

/* What the node has apart from its children. */
static void sum_itself(struct level *l, const struct tree_node *n)
{
	l->itself = *n;
	l->itself.total = n->self;
	for (const struct tree_node *c = n->child; c; c = c->next) {
		l->itself.blocks -= MIN(l->itself.blocks, c->blocks);
		l->itself.base -= MIN(l->itself.base, c->base);
		l->itself.moved -= MIN(l->itself.moved, c->moved);
		l->itself.hits -= MIN(l->itself.hits, c->hits);
		l->itself.var = fmax(0, l->itself.var - c->var);
	}
}

/* Children are in order of their weights, so those that are shown come first. */
static void level__init(struct level *l, struct tree_text *t, const struct tree_node *n)
{
	*l = (struct level){ .next = n->child };
	for (const struct tree_node *c = n->child; c; c = c->next) {
		if (!l->rest_cnt && is_shown(t, c))
			l->children++;
		else
			sum_rest(l, c);
	}
	if (n->child)
		sum_itself(l, n);
	l->own = l->itself.total || l->itself.base;
	l->left = l->children + (l->rest_cnt > 0) + l->own;
}

static int print_rest(struct tree_text *t, struct level *l, enum hang hang)
{
	struct tree_node rest = l->rest;
	char words[64];

	snprintf(words, sizeof(words), "%u more%s", l->rest_cnt,
		 t->opts->top	    ? ""
		 : l->rest_cnt == 1 ? ", below 0.5 %"
				    : ", each below 0.5 %");
	l->rest_cnt = 0;
	return tree_line__words(t, &rest, words, hang);
}

static int print_itself(struct tree_text *t, struct level *l, enum hang hang)
{
	struct tree_node itself = l->itself;

	l->own = false;
	return tree_line__words(t, &itself, "[itself]", hang);
}

static int print_twigs(struct tree_text *t, struct level *l)
{
	int err = l->own ? print_itself(t, l, HANG_TWIG) : 0;

	return err || !l->rest_cnt ? err : print_rest(t, l, HANG_TWIG);
}

/* From n on as long as there is one way only; then opens the level of what is below. */
static int print_trunk(struct tree_text *t, const struct tree_node *n)
{
	struct level l;
	int err = tree_line__node(t, n, HANG_BRANCH, true);

	while (!err) {
		level__init(&l, t, n);
		if (l.children != 1 || n->kind != TREE_FRAME || n->child->kind != TREE_FRAME)
			return l.left ? vec__push(&t->levels, l) : 0;
		err = print_twigs(t, &l);
		n = n->child;
		if (!err)
			err = tree_line__node(t, n, HANG_TRUNK, !is_continued(n));
	}
	return err;
}

static int level__print_one(struct tree_text *t, struct level *l)
{
	const struct tree_node *n = l->next;

	l->left--;
	if (l->children) {
		l->children--;
		l->next = n->next;
		return print_trunk(t, n); /* may move the levels */
	}
	return l->own ? print_itself(t, l, HANG_BRANCH) : print_rest(t, l, HANG_BRANCH);
}

static int print_levels(struct tree_text *t)
{
	size_t ties = t->ties;
	struct level l;
	int err;

	level__init(&l, t, t->tree.root);
	err = vec__push(&t->levels, l);
	while (!err && t->levels.cnt) {
		struct level *open = &t->levels.v[t->levels.cnt - 1];

		if (open->left)
			err = level__print_one(t, open);
		else
			t->levels.cnt--;
	}
	t->ties = ties;
	return err;
}

/* ---- the whole ---- */

static int print_tree(struct tree_text *t)
{
	int err;

	str__addf(&t->line, "tree by %s%s, %s:", t->p->info.diff ? "change of " : "",
		  text__value_name(t->opts->value),
		  t->opts->by == ALLOCSNOOP_BY_FUNCTION ? "callers below what they call"
							: "callers above what they call");
	err = text__painted(&t->line, t->opts, PAINT_TITLE, t->out);
	if (err)
		return err;
	tree_line__layout(t);
	t->measuring = true;
	err = print_levels(t);
	t->measuring = false;
	if (!err)
		err = tree_line__heads(t);
	return err ? err : print_levels(t);
}

static int write_tree(struct tree_text *t)
{
	bool bottom_up = t->opts->by == ALLOCSNOOP_BY_FUNCTION;
	const struct tree_opts tree_opts = {
		.value = t->opts->value,
		.by = t->opts->by,
		.bottom_up = bottom_up,
		.processes = !bottom_up,
		.fold = true,
	};
	int err = tree__init(&t->tree, t->p, &tree_opts);

	if (err)
		return err;
	if (!weight(t, t->tree.root)) {
		fprintf(t->out, "tree by %s%s%s\n", t->p->info.diff ? "change of " : "",
			text__value_name(t->opts->value),
			t->p->info.diff ? ": nothing changed" : ": none");
		return 0;
	}
	choose_large(t);
	if (t->opts->top) {
		t->least = t->ties = 0;
		err = choose_first(t, t->opts->top);
	}
	return err ? err : print_tree(t);
}

int tree__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		FILE *out)
{
	struct tree_text t = { .p = p, .opts = opts, .out = out };
	int err;

	if (!p->samples.cnt) {
		text__write_none(&p->info, out);
		return 0;
	}
	err = write_tree(&t);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	tree__fini(&t.tree);
	vec__free(&t.levels);
	str__free(&t.cell);
	str__free(&t.aside);
	str__free(&t.line);
	return err;
}
