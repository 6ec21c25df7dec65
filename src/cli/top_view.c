/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole screen of `top`: header, table or page, and the line at the bottom. */
#include "cli/top_view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_LEAST 4 /* headings and three rows: the header gives way to them */

void top_view__init(struct top_view *v, struct top_model *m, const struct cli_opts *o)
{
	*v = (struct top_view){ .model = m, .live = o->live, .interval_ns = o->interval_ns };
	v->sort = top_column__by_key(v, 'r');
	if (o->value_given || o->live)
		v->sort = top_column__of_value((enum allocsnoop_value)o->value);
}

void top_view__fini(struct top_view *v)
{
	vec__free(&v->list);
}

struct top_level *top_view__level(struct top_view *v)
{
	return &v->levels[v->depth];
}

void top_view__say(struct top_view *v, bool warns, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(v->message, sizeof(v->message), fmt, args);
	va_end(args);
	v->message_warns = warns;
}

void top_view__press(struct top_view *v, u32 key)
{
	v->message[0] = '\0';
	if (v->input != TOP_INPUT_NONE)
		top_input__press(v, key);
	else
		top_keys__press(v, key);
}

/* ---- the line at the bottom ---- */

static void draw_hints(const struct top_view *v, struct canvas *c)
{
	const char *hint;

	for (size_t i = 0; (hint = top_keys__hint(v, i)); i++) {
		if (!*hint)
			continue;
		if (c->lines[c->y].width + 2 + (int)strlen(hint) > c->cols)
			return;
		if (c->lines[c->y].width)
			canvas__put(c, ROLE_FAINT, "  ");
		canvas__put(c, ROLE_FAINT, hint);
	}
}

/* The end of what is typed stays in sight. */
static void draw_input(const struct top_view *v, struct canvas *c, const char *label)
{
	const char *text = v->typed;
	int room;

	canvas__put(c, ROLE_PROMPT, label);
	room = c->cols - c->lines[c->y].width - 1;
	while (*text && canvas__width(c, text) > room)
		text += canvas__fit(c, text, 1);
	canvas__put(c, ROLE_PLAIN, text);
	c->cursor_x = MIN(c->lines[c->y].width, MAX(0, c->cols - 1));
	c->cursor_y = c->y;
}

static void draw_bottom(const struct top_view *v, struct canvas *c)
{
	c->y = c->rows - 1;
	switch (v->input) {
	case TOP_INPUT_FILTER:
		draw_input(v, c, "filter: ");
		break;
	case TOP_INPUT_SAVE:
		draw_input(v, c, "save to: ");
		break;
	case TOP_INPUT_REPLACE:
		draw_input(v, c, "exists; replace it? y, n: ");
		break;
	default:
		if (*v->message)
			canvas__put(c, v->message_warns ? ROLE_WARN : ROLE_PROMPT, v->message);
		else
			draw_hints(v, c);
		break;
	}
}

int top_view__draw(struct top_view *v, struct canvas *c)
{
	bool table = top_view__level(v)->kind < TOP_STACK;
	int err = canvas__begin(c, v->rows, v->cols, v->utf8), used;

	if (!err && table)
		err = top_list__fill(v);
	if (err || v->rows <= 0 || v->cols <= 0)
		return err;
	used = top_header__draw(v, c, v->rows - 1 - ROWS_LEAST);
	if (table)
		top_table__draw(v, c, v->rows - 1 - used);
	else
		top_page__draw(v, c, v->rows - 1 - used);
	draw_bottom(v, c);
	return c->oom ? -ENOMEM : 0;
}
