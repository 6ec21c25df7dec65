/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How wide columns are. Numbers are never cut: where a terminal is too narrow, first the columns go
 * that say what others say already, then names lose their middles, the longest first, and last
 * those that rows are about.
 */
#include "report/layout.h"

#include "report/text.h"

#define BETWEEN	   2  /* blanks before each column */
#define NAME_MIN   24 /* names keep so much while there are columns to spare */
#define NAME_LEAST 8
#define PAD_MAX	   60 /* without a terminal: few very long names must not push the others away */

void layout__widen(struct layout *l, size_t column, const struct str *cell)
{
	size_t width = look__width(cell);

	if (!l->opts->width)
		width = MIN(width, (size_t)PAD_MAX);
	l->columns[column].width = MAX(l->columns[column].width, width);
}

/* How long names may be. */
struct bounds {
	size_t main, beside;
};

static size_t column__width(const struct layout_column *c, struct bounds b)
{
	return c->left ? MIN(c->width, c->main ? b.main : b.beside) : c->width;
}

/* Columns of the terminal that are asked for then. */
static size_t layout__width(const struct layout *l, struct bounds b)
{
	size_t width = l->indent;

	for (size_t i = 0; i < l->cnt; i++) {
		if (l->columns[i].shown)
			width += BETWEEN + column__width(&l->columns[i], b);
	}
	return width;
}

/* Lowers one of b's bounds, as far as it must be and not below `least`. */
static void layout__lower(const struct layout *l, struct bounds *b, size_t *bound, size_t least)
{
	while (*bound > least && layout__width(l, *b) > l->opts->width)
		--*bound;
}

static struct layout_column *most_spare(struct layout *l)
{
	struct layout_column *most = NULL;

	for (size_t i = 0; i < l->cnt; i++) {
		struct layout_column *c = &l->columns[i];

		if (c->shown && c->spare && (!most || c->spare > most->spare))
			most = c;
	}
	return most;
}

void layout__fit(struct layout *l)
{
	struct layout_column *spare;
	struct bounds b = { 0 };

	if (!l->opts->width)
		return;
	while (layout__width(l, (struct bounds){ NAME_MIN, NAME_MIN }) > l->opts->width &&
	       (spare = most_spare(l)))
		spare->shown = false;
	for (size_t i = 0; i < l->cnt; i++)
		b.main = b.beside = MAX(b.main, l->columns[i].left ? l->columns[i].width : 0);
	layout__lower(l, &b, &b.beside, NAME_MIN / 2);
	layout__lower(l, &b, &b.main, NAME_MIN);
	layout__lower(l, &b, &b.beside, NAME_LEAST);
	layout__lower(l, &b, &b.main, NAME_LEAST);
	for (size_t i = 0; i < l->cnt; i++)
		l->columns[i].width = column__width(&l->columns[i], b);
}

void layout__add(const struct layout *l, size_t column, struct str *cell, enum paint paint,
		 struct str *line)
{
	const struct layout_column *c = &l->columns[column];
	size_t own, pad;

	if (!c->shown)
		return;
	if (l->opts->width && c->left)
		paint__fit(cell, c->width, l->opts->ascii);
	own = look__width(cell);
	pad = own < c->width ? c->width - own : 0;
	str__addf(line, "%*s", BETWEEN + (c->left ? 0 : (int)pad), "");
	if (cell->len) {
		paint__begin(line, l->opts, paint);
		str__addn(line, cell->s, cell->len);
		paint__end(line, l->opts, paint);
	}
	str__addf(line, "%*s", c->left ? (int)pad : 0, "");
	line->oom |= cell->oom;
}
