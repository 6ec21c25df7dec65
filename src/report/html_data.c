/* SPDX-License-Identifier: BSD-2-Clause */
/* The trees and the functions as JSON: by columns and by differences, as the numbers of neighbours
 * are alike and most are small. html/data.js reads it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

#define FUNCTIONS_MAX	  2000
#define FUNCTION_COST_MAX (300 * 1024) /* bytes of names that only the table has */
#define FLUSH_AT	  (64 * 1024)

void html__array(struct html *h, const char *key)
{
	char before = h->j.buf.len ? h->j.buf.s[h->j.buf.len - 1] : ',';

	str__addf(&h->j.buf, "%s\"%s\":[", before == '{' ? "" : ",\n", key);
}

void html__number(struct html *h, const char *before, u64 val)
{
	str__addf(&h->j.buf, "%s%" PRIu64, before, val);
}

static int flush_often(struct html *h)
{
	return h->j.buf.len >= FLUSH_AT ? html__flush(h) : 0;
}

/* ---- the trees ---- */

/* The nodes in preorder, so that most follow their parents. */
struct order {
	u32 *nodes;
	u32 *number; /* of a node */
	size_t cnt;
};

static void order__walk(struct order *o, const struct html_tree *t)
{
	const struct html_node *n = t->nodes.v;
	u32 at = 0;

	for (;;) {
		o->number[at] = o->cnt;
		o->nodes[o->cnt++] = at;
		if (n[at].child) {
			at = n[at].child;
			continue;
		}
		while (at && !n[at].sibling)
			at = n[at].parent;
		if (!at)
			return;
		at = n[at].sibling;
	}
}

static int order__make(struct order *o, const struct html_tree *t)
{
	o->nodes = calloc(t->nodes.cnt, sizeof(*o->nodes));
	o->number = calloc(t->nodes.cnt, sizeof(*o->number));
	if (!o->nodes || !o->number)
		return -ENOMEM;
	order__walk(o, t);
	return 0;
}

/* [how far back the parent is, frame, ...], without the root. */
static int add_nodes(struct html *h, const struct html_tree *t, const struct order *o)
{
	const struct html_node *n = t->nodes.v;
	int err = 0;

	html__array(h, "nodes");
	for (size_t i = 1; !err && i < o->cnt; i++) {
		const struct html_node *node = &n[o->nodes[i]];

		html__number(h, i > 1 ? "," : "", i - o->number[node->parent]);
		html__number(h, ",", h->names.frames.v[node->frame].out - 1);
		err = flush_often(h);
	}
	str__add(&h->j.buf, "]");
	return err;
}

/* The rows in the order of their nodes, ended by NULL. */
static const struct html_row **rows__order(const struct html_tree *t, const struct order *o)
{
	const struct html_row **rows = calloc(t->rows.cnt + 1, sizeof(*rows));
	size_t cnt = 0;

	for (size_t i = 0; rows && i < o->cnt; i++) {
		const struct html_node *n = &t->nodes.v[o->nodes[i]];

		if (n->row)
			rows[cnt++] = &t->rows.v[n->row - 1];
		if (n->other)
			rows[cnt++] = &t->rows.v[n->other - 1];
	}
	return rows;
}

typedef u64 (*row_number_fn)(const struct html_row *row);

static u64 row_self(const struct html_row *r)
{
	return r->self;
}

static u64 row_stacks(const struct html_row *r)
{
	return r->stacks;
}

static u64 row_low(const struct html_row *r)
{
	return r->size_low;
}

static u64 row_span(const struct html_row *r)
{
	return r->size_high - r->size_low;
}

static u64 row_sampled(const struct html_row *r)
{
	return r->sampled_cnt;
}

static u64 row_at_least(const struct html_row *r)
{
	return r->at_least;
}

static int add_column(struct html *h, const char *key, const struct html_row **rows,
		      row_number_fn number)
{
	int err = 0;

	html__array(h, key);
	for (size_t i = 0; !err && rows[i]; i++) {
		html__number(h, i ? "," : "", number(rows[i]));
		err = flush_often(h);
	}
	str__add(&h->j.buf, "]");
	return err;
}

static int add_places(struct html *h, const struct html_row **rows, const struct order *o)
{
	u32 last = 0;

	html__array(h, "node");
	for (size_t i = 0; rows[i]; i++) {
		u32 node = o->number[rows[i]->node];

		html__number(h, i ? "," : "", node - last);
		last = node;
	}
	str__add(&h->j.buf, "]");
	return html__flush(h);
}

static int add_kind(struct html *h, const struct html_row **rows, size_t k)
{
	int err;

	html__array(h, html_kinds[k].name);
	for (size_t i = 0; rows[i]; i++)
		html__number(h, i ? "," : "", rows[i]->values[k]);
	str__add(&h->j.buf, "]");
	err = html__flush(h);
	if (err || !html_kinds[k].var || h->stacks->info.exact)
		return err;
	str__addf(&h->j.buf, ",\n\"%s_var\":[", html_kinds[k].name);
	for (size_t i = 0; rows[i]; i++)
		str__addf(&h->j.buf, "%s%.5g", i ? "," : "", rows[i]->vars[k]);
	str__add(&h->j.buf, "]");
	return html__flush(h);
}

static int add_rows(struct html *h, const struct html_row **rows, const struct order *o)
{
	const struct allocsnoop_info *info = &h->stacks->info;
	int err;

	str__add(&h->j.buf, ",\n\"rows\":{");
	err = add_places(h, rows, o);
	if (!err)
		err = add_column(h, "self", rows, row_self);
	if (!err)
		err = add_column(h, "stacks", rows, row_stacks);
	if (!err)
		err = add_column(h, "low", rows, row_low);
	if (!err)
		err = add_column(h, "span", rows, row_span);
	if (!err && !info->exact)
		err = add_column(h, "sampled", rows, row_sampled);
	if (!err && info->at_least)
		err = add_column(h, "at_least", rows, row_at_least);
	for (size_t k = 0; !err && k < HTML_KINDS; k++) {
		if (h->shown[k])
			err = add_kind(h, rows, k);
	}
	str__add(&h->j.buf, "}");
	return err;
}

static int add_tree(struct html *h, const struct html_tree *t)
{
	const struct html_row **rows = NULL;
	struct order o = {};
	int err = order__make(&o, t);

	str__addf(&h->j.buf, "{\"pruned\":{\"stacks\":%zu,\"of\":%zu,\"below\":%.17g}", t->pruned,
		  t->stack_cnt, t->below);
	if (!err) {
		rows = rows__order(t, &o);
		err = rows ? add_nodes(h, t, &o) : -ENOMEM;
	}
	if (!err)
		err = add_rows(h, rows, &o);
	str__add(&h->j.buf, "}");
	free(rows);
	free(o.nodes);
	free(o.number);
	return err;
}

int html__add_trees(struct html *h)
{
	int err = 0;

	html__array(h, "trees");
	for (size_t i = 0; !err && i < ARRAY_SIZE(h->trees); i++) {
		str__add(&h->j.buf, i ? ",\n" : "");
		err = add_tree(h, &h->trees[i]);
	}
	str__add(&h->j.buf, "]");
	return err;
}

/* ---- functions ---- */

struct ids {
	u32 *v;
	size_t cnt, cap;
};

static int use_string(struct html_names *n, const char *s, struct ids *ids)
{
	u32 id;
	int err = html_names__string(n, s, &id);

	if (!err)
		err = html_names__use_string(n, id);
	return err ? err : vec__push(ids, n->strings.v[id].out);
}

/* How many the table has: as many as their names' cost allows. */
static int functions__choose(struct html *h, struct ids *ids, size_t *cnt)
{
	size_t most = h->names.cost + FUNCTION_COST_MAX;
	int err = 0;

	for (*cnt = 0; !err && *cnt < MIN(h->functions.all.cnt, (size_t)FUNCTIONS_MAX); ++*cnt) {
		const struct html_function *f = &h->functions.all.v[*cnt];

		if (h->names.cost > most)
			break;
		err = use_string(&h->names, f->function, ids);
		if (!err)
			err = use_string(&h->names, f->module, ids);
	}
	return err;
}

static void add_sums(struct html *h, const char *what, size_t k, size_t cnt)
{
	str__addf(&h->j.buf, ",\n\"%s_%s\":[", what, html_kinds[k].name);
	for (size_t i = 0; i < cnt; i++) {
		const struct html_function *f = &h->functions.all.v[i];

		html__number(h, i ? "," : "", *what == 's' ? f->self[k] : f->total[k]);
	}
	str__add(&h->j.buf, "]");
}

int html__add_functions(struct html *h)
{
	struct ids ids = {};
	size_t cnt;
	int err = functions__choose(h, &ids, &cnt);

	str__addf(&h->j.buf, ",\n\"functions\":{\"of\":%zu", h->functions.all.cnt);
	html__array(h, "names");
	for (size_t i = 0; i < ids.cnt; i++)
		html__number(h, i ? "," : "", ids.v[i]);
	str__add(&h->j.buf, "]");
	for (size_t k = 0; k < HTML_KINDS; k++) {
		if (!h->shown[k])
			continue;
		add_sums(h, "self", k, cnt);
		add_sums(h, "total", k, cnt);
	}
	str__add(&h->j.buf, "}");
	free(ids.v);
	return err ? err : html__flush(h);
}
