/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of the text report's tree: numbers, the branches it hangs on, and a name. */
#include <math.h>
#include <string.h>

#include "report/tree_text.h"

#define LEVELS_MAX	 20 /* levels of indentation; deeper ones are counted */
#define LEVEL_WIDTH	 3
#define NAME_ROOM	 24 /* columns of the terminal that names keep */
#define BAR_FROM_COLUMNS 100

enum { SHARE, BAR, CHANGE, SIZE, ERROR, COUNT, BEFORE, AFTER, NUMBER_COLUMNS };

/* ---- numbers ---- */

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
		/* What a sampled profile of two hasn't got may have been missed. */
		.counted = n->hits == n->blocks && (!t->p->info.diff || !n->total == !n->base),
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

int tree_line__words(struct tree_text *t, const struct tree_node *numbers, const char *words,
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
	return tree_line__words(t, NULL, words, HANG_TRUNK);
}

/* numbers: they aren't those of the line above. */
int tree_line__node(struct tree_text *t, const struct tree_node *n, enum hang hang, bool numbers)
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

/* ---- headings ---- */

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

void tree_line__layout(struct tree_text *t)
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

int tree_line__heads(struct tree_text *t)
{
	for (size_t c = 0; c < NUMBER_COLUMNS; c++) {
		make_head(t, c);
		layout__add(&t->layout, c, &t->cell, PAINT_ASIDE, &t->line);
	}
	return text__line(&t->line, t->out);
}
