/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of `top`: chooses the columns that there is room for, and draws the rows in sight. */
#include <string.h>

#include "cli/top_view.h"

#define COLUMNS_MAX 24
#define RANKS	    16
#define MARKER_COLS 1 /* before each row */

struct layout {
	const struct top_column *columns[COLUMNS_MAX];
	int widths[COLUMNS_MAX];
	size_t cnt;
};

/* What rows are sorted by is always there. */
static u8 rank(const struct top_view *v, const struct top_column *col)
{
	return col->key && col->key == v->sort->key ? 0 : col->rank;
}

static const struct top_column *by_rank(const struct top_view *v, u8 wanted, size_t nth)
{
	for (const struct top_column *col = top_columns; col->head; col++) {
		if (rank(v, col) == wanted && top_column__is_there(v, col) && !nth--)
			return col;
	}
	return NULL;
}

/* Marks what fits, the most important first. */
static void layout__choose(const struct top_view *v, int room, bool *chosen)
{
	for (u8 at = 0; at < RANKS; at++) {
		const struct top_column *col;

		for (size_t nth = 0; (col = by_rank(v, at, nth)); nth++) {
			if (at && col->width + 1 > room)
				continue;
			chosen[col - top_columns] = true;
			room -= col->width + 1;
		}
	}
}

/* Gives each column what it can use, the last ones first: names before pictures. */
static void layout__widen(struct layout *l, int room)
{
	for (size_t i = 0; i < l->cnt; i++)
		room -= l->widths[i] + (i > 0);
	for (size_t i = l->cnt; i-- > 0 && room > 0;) {
		int more = MIN(room, MAX(0, l->columns[i]->most - l->widths[i]));

		l->widths[i] += more;
		room -= more;
	}
	if (l->cnt && room > 0)
		l->widths[l->cnt - 1] += room;
}

static void layout__make(const struct top_view *v, struct layout *l, int room)
{
	bool chosen[COLUMNS_MAX] = {};

	*l = (struct layout){};
	layout__choose(v, room + 1, chosen);
	for (size_t i = 0; i < COLUMNS_MAX && top_columns[i].head; i++) {
		if (!chosen[i])
			continue;
		l->columns[l->cnt] = &top_columns[i];
		l->widths[l->cnt++] = top_columns[i].width;
	}
	layout__widen(l, room);
}

static void draw_heads(const struct top_view *v, const struct layout *l, struct canvas *c)
{
	canvas__fill(c, ROLE_HEAD, MARKER_COLS);
	for (size_t i = 0; i < l->cnt; i++) {
		const struct top_column *col = l->columns[i];
		bool sorted = col->key && col->key == v->sort->key;

		if (i)
			canvas__put(c, ROLE_HEAD, " ");
		canvas__cell(c, sorted ? ROLE_SORTED : ROLE_HEAD, col->head, l->widths[i],
			     col->left);
	}
	canvas__fill(c, ROLE_HEAD, c->cols);
	canvas__next(c);
}

static void draw_row(const struct top_view *v, const struct layout *l, const struct top_row *r,
		     bool chosen, struct canvas *c)
{
	enum role row_role = chosen ? ROLE_CHOSEN : r->ended ? ROLE_FAINT : ROLE_PLAIN;
	struct str s = {};

	canvas__put(c, row_role, chosen ? ">" : " ");
	for (size_t i = 0; i < l->cnt; i++) {
		const struct top_column *col = l->columns[i];
		enum role role = row_role == ROLE_PLAIN ? col->role : row_role;

		if (i)
			canvas__put(c, row_role, " ");
		str__clear(&s);
		col->cell(v, r, l->widths[i], &s);
		canvas__cell(c, role, s.s ? s.s : "", l->widths[i], col->left);
		c->oom |= s.oom;
	}
	if (chosen)
		canvas__fill(c, row_role, c->cols);
	str__free(&s);
	canvas__next(c);
}

/* The cursor is always in sight, and no room is left empty. */
static void level__scroll(struct top_level *l, size_t cnt, size_t room)
{
	if (l->offset + room > cnt)
		l->offset = cnt > room ? cnt - room : 0;
	if (l->at < l->offset)
		l->offset = l->at;
	if (room && l->at >= l->offset + room)
		l->offset = l->at - room + 1;
}

void top_table__draw(struct top_view *v, struct canvas *c, int rows)
{
	struct top_level *l = top_view__level(v);
	struct layout layout;

	layout__make(v, &layout, MAX(0, c->cols - MARKER_COLS));
	if (rows > 1) {
		draw_heads(v, &layout, c);
		rows--;
	}
	v->room = (size_t)MAX(rows, 0);
	level__scroll(l, v->list.cnt, v->room);
	for (size_t i = l->offset; i < v->list.cnt && i < l->offset + v->room; i++)
		draw_row(v, &layout, v->list.v[i].row, i == l->at, c);
	if (!v->list.cnt && rows > 0)
		canvas__put(c, ROLE_FAINT,
			    *l->filter ? " nothing matches the filter" : " nothing was allocated");
}
