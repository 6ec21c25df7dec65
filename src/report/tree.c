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
#include "profile/tree.h"
#include "report/layout.h"
#include "report/text.h"

#define SMALL_PART	 200 /* smaller than a 200th, 0.5 %: summed up */
#define LEVELS_MAX	 20  /* levels of indentation; deeper ones are counted */
#define LEVEL_WIDTH	 3
#define NAME_ROOM	 24 /* columns of the terminal that names keep */
#define BAR_FROM_COLUMNS 100

enum { SHARE, BAR, CHANGE, SIZE, ERROR, COUNT, BEFORE, AFTER, NUMBER_COLUMNS };

/* A node that is open: what is still to come of what is below it. */
struct level {
	const struct tree_node *next; /* child */
	u32 children;		      /* to be shown */
	struct tree_node itself;      /* what the node with children has without them */
	bool own;		      /* something */
	struct tree_node rest;	      /* sum of children that aren't shown */
	u32 rest_cnt;
	u32 left; /* lines to come, of all of them */
};

struct tree_text {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	struct tree tree;
	VEC(struct level) levels;
	u64 least;	/* nodes of at least this weight are shown */
	size_t ties;	/* how many of those that have just that */
	bool measuring; /* widths are made, nothing is printed */
	struct layout layout;
	struct str cell;
	struct str aside;
	struct str line;
};

/* ---- which nodes ---- */

/* Does the node stand alone below its parent, with the same numbers, so that they aren't repeated?
 */
static bool is_continued(const struct tree_node *n)
{
	const struct tree_node *p = n->parent;

	return p->frame && p->kind == TREE_FRAME && n->kind == TREE_FRAME && p->child_cnt == 1 &&
	       !p->self && p->base == n->base;
}

static u64 weight(const struct tree_text *t, const struct tree_node *n)
{
	return tree__weight(t->p, n);
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

/* ---- a line ---- */

static bool value_counts(const struct tree_text *t)
{
	return t->opts->value == ALLOCSNOOP_ALLOC_COUNT ||
	       t->opts->value == ALLOCSNOOP_LIVE_COUNT ||
	       t->opts->value == ALLOCSNOOP_TEMPORARY_COUNT;
}

static void add_interval(struct tree_text *t, const struct tree_node *n)
{
	const struct interval i = {
		.se = sqrt(n->var),
		.sampled_cnt = n->hits,
		.counted = n->hits == n->blocks,
		.bytes = !value_counts(t),
		.ascii = t->opts->ascii,
	};

	if (n->at_least)
		str__add(&t->cell, "at least");
	else
		look__interval(&t->cell, &i);
}

static void add_change(struct tree_text *t, const struct tree_node *n)
{
	u64 by = n->total > n->base ? n->total - n->base : n->base - n->total;
	s64 change = (s64)MIN(by, (u64)INT64_MAX);

	change = n->total < n->base ? -change : change;
	if (value_counts(t))
		str__addf(&t->cell, change ? "%+" PRId64 : "%" PRId64, change);
	else
		look__signed_bytes(&t->cell, change);
}

static void make_number(struct tree_text *t, const struct tree_node *n, size_t column)
{
	u64 val = column == COUNT ? n->blocks : column == BEFORE ? n->base : n->total;
	u64 part = weight(t, n), whole = weight(t, t->tree.root);

	str__clear(&t->cell);
	if (column == SHARE)
		look__share(&t->cell, part, whole);
	else if (column == BAR)
		paint__bar(&t->cell, part, whole, t->opts->ascii);
	else if (column == CHANGE)
		add_change(t, n);
	else if (column == ERROR)
		add_interval(t, n);
	else if (!value_counts(t) && column != COUNT)
		look__bytes(&t->cell, val);
	else
		str__addf(&t->cell, "%" PRIu64, val);
}

static void add_numbers(struct tree_text *t, const struct tree_node *n)
{
	for (size_t c = 0; c < NUMBER_COLUMNS; c++) {
		if (!t->layout.columns[c].shown)
			continue;
		str__clear(&t->cell);
		if (n)
			make_number(t, n, c);
		if (t->measuring)
			layout__widen(&t->layout, c, &t->cell);
		else
			layout__add(&t->layout, c, &t->cell, c == BAR ? PAINT_BAR : PAINT_NONE,
				    &t->line);
	}
}

static size_t numbers_width(const struct tree_text *t)
{
	size_t width = 0;

	for (size_t c = 0; c < NUMBER_COLUMNS; c++)
		width += t->layout.columns[c].shown ? 2 + t->layout.columns[c].width : 0;
	return width;
}

/* Levels that are drawn: on a terminal only as many as leave room for names. */
static size_t levels_max(const struct tree_text *t)
{
	size_t taken = numbers_width(t) + 2 + NAME_ROOM;

	if (!t->opts->width)
		return LEVELS_MAX;
	if (t->opts->width < taken + 4 * LEVEL_WIDTH)
		return 4;
	return MIN((t->opts->width - taken) / LEVEL_WIDTH, (size_t)LEVELS_MAX);
}

/* How a line hangs on those above. */
enum hang {
	HANG_BRANCH, /* begins a branch of the level that is open last */
	HANG_TRUNK,  /* goes on with it */
	HANG_TWIG,   /* is all there is of a branch of the trunk */
};

/* The lines from the levels above to what follows them. Returns the columns they take. */
static size_t add_branches(struct tree_text *t, enum hang hang)
{
	static const char *const signs[2][4] = {
		{ "│  ", "   ", "├─ ", "└─ " },
		{ "|  ", "   ", "|- ", "`- " },
	};
	const char *const *sign = signs[t->opts->ascii];
	bool continued = hang != HANG_BRANCH;
	size_t cnt = t->levels.cnt - 1, max = levels_max(t), columns;
	size_t skipped = cnt > max ? cnt - max : 0;
	struct str s = { 0 };

	if (skipped && !continued)
		str__addf(&s, "+%zu ", skipped);
	else if (skipped)
		str__addf(&s, "%*s", snprintf(NULL, 0, "+%zu ", skipped), "");
	for (size_t i = 1 + skipped; i <= cnt; i++) {
		bool last = !t->levels.v[i].left, own = i == cnt && !continued;

		str__add(&s, sign[(own ? 2 : 0) + (last ? 1 : 0)]);
	}
	str__add(&s, hang == HANG_TWIG ? sign[2] : "");
	columns = look__width(&s);
	if (s.len) {
		paint__begin(&t->line, t->opts, PAINT_ASIDE);
		str__addn(&t->line, s.s, s.len);
		paint__end(&t->line, t->opts, PAINT_ASIDE);
	}
	t->line.oom |= s.oom;
	str__free(&s);
	return columns;
}

static void add_aside(struct tree_text *t, const struct allocsnoop_frame *f,
		      void (*add)(struct str *s, const struct allocsnoop_frame *f))
{
	size_t before = t->aside.len;

	str__add(&t->aside, "  ");
	add(&t->aside, f);
	if (t->aside.len == before + 2)
		t->aside.len = before;
}

/* The module where it isn't that of the line above. */
static void make_name(struct tree_text *t, const struct tree_node *n, enum hang hang)
{
	const struct allocsnoop_frame *above = n->parent->frame;
	bool known = hang == HANG_TRUNK && above && !strcmp(above->module, n->frame->module);

	str__clear(&t->cell);
	str__clear(&t->aside);
	look__name(&t->cell, n->frame->function);
	str__add(&t->cell, n->frame->inlined ? " (inlined)" : "");
	str__add(&t->cell, n->repeat_len == 1 ? " (recursive)" : "");
	if (!known)
		add_aside(t, n->frame, stack__add_module);
	add_aside(t, n->frame, stack__add_place);
}

/* The name, as long as the terminal has room, and what stands beside it, if there is. */
static void add_name(struct tree_text *t, size_t columns, enum paint paint)
{
	size_t taken = numbers_width(t) + 2 + columns, aside = look__width(&t->aside), room;

	if (t->opts->width) {
		room = t->opts->width > taken + NAME_ROOM / 2 ? t->opts->width - taken
							      : NAME_ROOM / 2;
		if (room < NAME_ROOM / 2 + aside && room < look__width(&t->cell) + aside) {
			str__clear(&t->aside);
			aside = 0;
		}
		paint__fit(&t->cell, room - MIN(aside, room), t->opts->ascii);
	}
	paint__begin(&t->line, t->opts, paint);
	str__addn(&t->line, t->cell.s ? t->cell.s : "", t->cell.len);
	paint__end(&t->line, t->opts, paint);
	if (t->aside.len) {
		paint__begin(&t->line, t->opts, PAINT_ASIDE);
		str__addn(&t->line, t->aside.s, t->aside.len);
		paint__end(&t->line, t->opts, PAINT_ASIDE);
	}
	t->line.oom |= t->cell.oom | t->aside.oom;
}

static int print_words(struct tree_text *t, const struct tree_node *numbers, const char *words,
		       enum hang hang)
{
	add_numbers(t, numbers);
	if (t->measuring)
		return 0;
	str__add(&t->line, "  ");
	add_branches(t, hang);
	paint__begin(&t->line, t->opts, PAINT_ASIDE);
	str__add(&t->line, words);
	paint__end(&t->line, t->opts, PAINT_ASIDE);
	return text__line(&t->line, t->out);
}

static int print_repeat(struct tree_text *t, const struct tree_node *n)
{
	char words[80];

	if (n->repeat_len < 2 || t->measuring)
		return 0;
	snprintf(words, sizeof(words), "[these %u frames repeat]", n->repeat_len);
	return print_words(t, NULL, words, HANG_TRUNK);
}

/* numbers: they aren't those of the line above. */
static int print_node(struct tree_text *t, const struct tree_node *n, enum hang hang, bool numbers)
{
	static const enum paint paints[] = {
		[TREE_FRAME] = PAINT_NONE,
		[TREE_PROCESS] = PAINT_TITLE,
		[TREE_END] = PAINT_WARN,
	};
	size_t columns;
	int err;

	add_numbers(t, numbers ? n : NULL);
	if (t->measuring)
		return 0;
	str__add(&t->line, "  ");
	columns = add_branches(t, hang);
	make_name(t, n, hang);
	add_name(t, columns, paints[n->kind]);
	err = text__line(&t->line, t->out);
	return err ? err : print_repeat(t, n);
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
	return print_words(t, &rest, words, hang);
}

static int print_itself(struct tree_text *t, struct level *l, enum hang hang)
{
	struct tree_node itself = l->itself;

	l->own = false;
	return print_words(t, &itself, "[itself]", hang);
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
	int err = print_node(t, n, HANG_BRANCH, true);

	while (!err) {
		level__init(&l, t, n);
		if (l.children != 1 || n->kind != TREE_FRAME || n->child->kind != TREE_FRAME)
			return l.left ? vec__push(&t->levels, l) : 0;
		err = print_twigs(t, &l);
		n = n->child;
		if (!err)
			err = print_node(t, n, HANG_TRUNK, !is_continued(n));
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

static void make_head(struct tree_text *t, size_t column)
{
	const char *blocks = strcmp(t->p->info.mode, "live") ? "count" : "blocks";
	const char *const heads[NUMBER_COLUMNS] = {
		[SHARE] = "share", [BAR] = "",		[SIZE] = "size",   [ERROR] = "95 %",
		[COUNT] = blocks,  [BEFORE] = "before", [AFTER] = "after", [CHANGE] = "change",
	};

	str__clear(&t->cell);
	str__add(&t->cell, heads[column]);
}

static void lay_out(struct tree_text *t)
{
	const bool diff = t->p->info.diff, shown[NUMBER_COLUMNS] = {
		[SHARE] = true,
		[BAR] = t->opts->width >= BAR_FROM_COLUMNS,
		[CHANGE] = diff,
		[SIZE] = !diff && !value_counts(t),
		[ERROR] = !t->p->info.exact && t->opts->value <= ALLOCSNOOP_LIVE_COUNT,
		[COUNT] = !diff,
		[BEFORE] = diff,
		[AFTER] = diff,
	};

	t->layout = (struct layout){ .opts = t->opts, .cnt = NUMBER_COLUMNS };
	for (size_t c = 0; c < NUMBER_COLUMNS; c++) {
		t->layout.columns[c] =
			(struct layout_column){ .shown = shown[c], .left = c == BAR };
		make_head(t, c);
		layout__widen(&t->layout, c, &t->cell);
	}
}

static int print_heads(struct tree_text *t)
{
	for (size_t c = 0; c < NUMBER_COLUMNS; c++) {
		make_head(t, c);
		layout__add(&t->layout, c, &t->cell, PAINT_ASIDE, &t->line);
	}
	return text__line(&t->line, t->out);
}

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
	lay_out(t);
	t->measuring = true;
	err = print_levels(t);
	t->measuring = false;
	if (!err)
		err = print_heads(t);
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
		fprintf(t->out, "tree by %s%s\n", text__value_name(t->opts->value),
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
		fputs("no allocations were seen\n", out);
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
