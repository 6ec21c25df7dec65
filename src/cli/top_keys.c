/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of `top`: what they do, the help page and the line at the bottom are read off one table.
 * (Columns have keys of their own.) */
#include <string.h>

#include "cli/top_view.h"

struct top_key {
	const char *names; /* in the help page */
	u32 codes[4];	   /* 0: none */
	void (*press)(struct top_view *v);
	const char *help;
	const char *hint; /* at the bottom; "": none */
	u8 hinted;	  /* where: ON_*; 0: everywhere */
};

enum { ON_FIRST = 1, ON_DEEPER = 2, ON_TABLES = 4 };

static bool is_table(const struct top_view *v)
{
	return v->levels[v->depth].kind < TOP_STACK;
}

/* ---- moving ---- */

static void move(struct top_view *v, s64 by)
{
	struct top_level *l = top_view__level(v);
	size_t at = is_table(v) ? l->at : l->offset, back = (size_t)-by;

	if (by < 0)
		at = at > back ? at - back : 0;
	else
		at += (size_t)by;
	if (is_table(v))
		top_list__choose(v, at);
	else
		l->offset = MIN(at, v->line_cnt > v->room ? v->line_cnt - v->room : 0);
}

static void press_up(struct top_view *v)
{
	move(v, -1);
}

static void press_down(struct top_view *v)
{
	move(v, 1);
}

static void press_page_up(struct top_view *v)
{
	move(v, -(s64)MAX(v->room, 1u));
}

static void press_page_down(struct top_view *v)
{
	move(v, (s64)MAX(v->room, 1u));
}

static void press_home(struct top_view *v)
{
	move(v, -INT32_MAX);
}

static void press_end(struct top_view *v)
{
	move(v, INT32_MAX);
}

/* ---- levels ---- */

static struct top_level *level__push(struct top_view *v, enum top_kind kind, u64 about)
{
	struct top_level *l;

	if (v->depth + 1 >= TOP_LEVELS)
		return NULL;
	l = &v->levels[++v->depth];
	*l = (struct top_level){ .kind = kind, .about = about };
	return l;
}

static void press_enter(struct top_view *v)
{
	const struct top_row *r = is_table(v) ? top_list__chosen(v) : NULL;
	struct top_level *from = top_view__level(v), *to;

	if (!r)
		return;
	if (from->kind != TOP_PROCESSES) {
		to = level__push(v, TOP_STACK, r->key);
		if (to)
			to->of_names = from->kind == TOP_NAMES;
		return;
	}
	to = level__push(v, TOP_STACKS, r->key);
	if (to)
		snprintf(to->name, sizeof(to->name), "%s", r->comm);
}

static void pop(struct top_view *v)
{
	v->depth--;
}

static void press_escape(struct top_view *v)
{
	struct top_level *l = top_view__level(v);

	if (*l->filter)
		l->filter[0] = '\0';
	else if (v->depth)
		pop(v);
}

static void press_quit(struct top_view *v)
{
	if (v->depth)
		pop(v);
	else
		v->quit = true;
}

static void press_quit_now(struct top_view *v)
{
	v->quit = true;
}

static void press_names(struct top_view *v)
{
	struct top_level *l = top_view__level(v);

	if (l->kind == TOP_NAMES)
		pop(v);
	else if (is_table(v))
		level__push(v, TOP_NAMES, 0);
}

static void open_page(struct top_view *v, enum top_kind kind)
{
	if (top_view__level(v)->kind == kind)
		pop(v);
	else
		level__push(v, kind, 0);
}

static void press_help(struct top_view *v)
{
	open_page(v, TOP_HELP);
}

static void press_notes(struct top_view *v)
{
	open_page(v, TOP_NOTES);
}

/* ---- the rest ---- */

static void press_filter(struct top_view *v)
{
	if (is_table(v))
		top_input__begin(v, TOP_INPUT_FILTER, top_view__level(v)->filter);
}

static void press_save(struct top_view *v)
{
	char name[TOP_INPUT_MAX];

	if (!v->model->profile)
		return;
	top_save__propose(name);
	top_input__begin(v, TOP_INPUT_SAVE, name);
}

static void sort_by(struct top_view *v, const struct top_column *col)
{
	v->sort = col;
	v->backwards = false;
}

static void press_sort_left(struct top_view *v)
{
	if (is_table(v))
		sort_by(v, top_column__next(v, -1));
}

static void press_sort_right(struct top_view *v)
{
	if (is_table(v))
		sort_by(v, top_column__next(v, 1));
}

static void press_backwards(struct top_view *v)
{
	v->backwards = !v->backwards;
}

static void press_pause(struct top_view *v)
{
	v->paused = !v->paused;
}

static void press_redraw(struct top_view *v)
{
	v->redraw = true;
}

/* clang-format off */
static const struct top_key keys[] = {
	{ "h ?", { 'h', '?' }, press_help, "this page", "h help", 0 },
	{ "q", { 'q' }, press_quit, "back; from the first screen: quit", "q quit", ON_FIRST },
	{ "enter", { TOP_KEY_ENTER, '\n', TOP_KEY_RIGHT }, press_enter,
	  "open a process: its stacks; a stack: its frames", "enter open", ON_TABLES },
	{ "esc backspace", { TOP_KEY_ESCAPE, TOP_KEY_BACKSPACE, '\b', TOP_KEY_LEFT }, press_escape,
	  "remove the filter, or go back", "esc back", ON_DEEPER },
	{ "f /", { 'f', '/' }, press_filter,
	  "only rows with this text in a name: process, container, function, file", "f filter",
	  ON_TABLES },
	{ "a", { 'a' }, press_names, "stacks of all processes, and back", "a all stacks", ON_TABLES },
	{ "< >", { '<', ',' }, press_sort_left, "sort by the column to the left or right", "<> sort",
	  ON_TABLES },
	{ "", { '>', '.' }, press_sort_right, "", "", 0 },
	{ "s", { 's' }, press_save, "save the profile that is shown: the format is the extension's",
	  "s save", 0 },
	{ "p space", { 'p', ' ' }, press_pause, "hold the numbers, and go on; all is counted meanwhile",
	  "p pause", 0 },
	{ "w", { 'w' }, press_notes, "what was lost, and warnings", "w warnings", 0 },
	{ "I", { 'I' }, press_backwards, "the other way round", "", 0 },
	{ "up down j k", { TOP_KEY_UP, 'k' }, press_up, "move; page up, page down, home, end, g, G too",
	  "", 0 },
	{ "", { TOP_KEY_DOWN, 'j' }, press_down, "", "", 0 },
	{ "", { TOP_KEY_PAGE_UP, TOP_CTRL('b') }, press_page_up, "", "", 0 },
	{ "", { TOP_KEY_PAGE_DOWN, TOP_CTRL('f') }, press_page_down, "", "", 0 },
	{ "", { TOP_KEY_HOME, 'g' }, press_home, "", "", 0 },
	{ "", { TOP_KEY_END, 'G' }, press_end, "", "", 0 },
	{ "Q", { 'Q' }, press_quit_now, "quit at once", "", 0 },
	{ "ctrl-L", { TOP_CTRL('l') }, press_redraw, "draw everything anew", "", 0 },
};
/* clang-format on */

void top_keys__press(struct top_view *v, u32 key)
{
	const struct top_column *col;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		for (size_t n = 0; n < ARRAY_SIZE(keys[i].codes) && keys[i].codes[n]; n++) {
			if (keys[i].codes[n] == key) {
				keys[i].press(v);
				return;
			}
		}
	}
	col = is_table(v) ? top_column__by_key(v, key) : NULL;
	if (col)
		sort_by(v, col);
}

const char *top_keys__help(size_t i, const char **names)
{
	for (size_t n = 0; n < ARRAY_SIZE(keys); n++) {
		if (!*keys[n].names || i--)
			continue;
		*names = keys[n].names;
		return keys[n].help;
	}
	return NULL;
}

const char *top_keys__hint(const struct top_view *v, size_t i)
{
	u8 on = (v->depth ? ON_DEEPER : ON_FIRST) | (is_table(v) ? ON_TABLES : 0);

	if (i >= ARRAY_SIZE(keys))
		return NULL;
	return !keys[i].hinted || keys[i].hinted & on ? keys[i].hint : "";
}
