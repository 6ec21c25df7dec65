/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_canvas.h. The one idea: text goes through glyph__next(), whoever it comes from. */
#include "cli/top_canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define TEXT_MAX  4096	 /* bytes looked at: names of attackers have megabytes */
#define MARKS_MAX 2	 /* combining characters on one base */
#define UNKNOWN	  0xfffd /* U+FFFD, for what can't be shown */

struct glyph {
	u32 code;
	int width;
	char bytes[5];
};

/* Of zero width, or obeyed by terminals that know about writing from right to left: who can't see
 * a character must be told that it is there. */
static bool is_invisible(u32 code)
{
	static const struct {
		u32 first, last;
	} ranges[] = {
		{ 0xad, 0xad },	    { 0x61c, 0x61c },	  { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
		{ 0x180b, 0x180f }, { 0x200b, 0x200f },	  { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },	  { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

/* One code point of valid UTF-8. */
static u32 code__read(const char **text)
{
	const u8 *p = (const u8 *)*text;
	int more = p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	u32 code = more ? p[0] & (0x3f >> more) : p[0];

	for (int i = 1; i <= more; i++)
		code = code << 6 | (p[i] & 0x3f);
	*text += more + 1;
	return code;
}

static bool glyph__next(bool utf8, const char **text, struct glyph *g)
{
	const char *from = *text;

	if (!*from)
		return false;
	g->code = code__read(text);
	g->width = g->code < 0x80 ? 1 : wcwidth((wchar_t)g->code);
	snprintf(g->bytes, sizeof(g->bytes), "%.*s", (int)(*text - from), from);
	if (!utf8 && g->code >= 0x80) {
		g->width = 1;
		strcpy(g->bytes, "?");
	} else if (g->width < 0 || is_invisible(g->code)) {
		g->code = UNKNOWN;
		g->width = 1;
		strcpy(g->bytes, "\xef\xbf\xbd");
	}
	return true;
}

/* Valid UTF-8 without control characters, of a bounded length. */
static const char *text__clean(struct str *s, const char *text)
{
	size_t len = strnlen(text, TEXT_MAX);

	str__add_utf8(s, text, len, true);
	return s->oom || !s->s ? "" : s->s;
}

static size_t fit(bool utf8, const char *text, int cols, int *width)
{
	const char *from = text, *end = text;
	struct glyph g;

	for (*width = 0; glyph__next(utf8, &text, &g); end = text) {
		if (*width + g.width > cols)
			break;
		*width += g.width;
	}
	return (size_t)(end - from);
}

int canvas__width(const struct canvas *c, const char *text)
{
	struct str clean = {};
	int width;

	fit(c->utf8, text__clean(&clean, text), INT32_MAX / 2, &width);
	str__free(&clean);
	return width;
}

size_t canvas__fit(const struct canvas *c, const char *text, int cols)
{
	const char *p = text;
	struct glyph g;
	int width;
	size_t len = fit(c->utf8, text, cols, &width);

	if (!len && glyph__next(c->utf8, &p, &g))
		len = (size_t)(p - text);
	return len;
}

const char *canvas__sign(const struct canvas *c, const char *sign, const char *ascii)
{
	return c->utf8 ? sign : ascii;
}

/* ---- lines ---- */

static struct canvas_line *canvas__line(struct canvas *c)
{
	return c->y < c->rows ? &c->lines[c->y] : NULL;
}

void canvas__fini(struct canvas *c)
{
	for (int i = 0; i < c->rows; i++) {
		str__free(&c->lines[i].text);
		vec__free(&c->lines[i].spans);
	}
	free(c->lines);
	*c = (struct canvas){};
}

int canvas__begin(struct canvas *c, int rows, int cols, bool utf8)
{
	if (rows != c->rows) {
		canvas__fini(c);
		c->lines = calloc((size_t)MAX(rows, 1), sizeof(*c->lines));
		if (!c->lines)
			return -ENOMEM;
		c->rows = rows;
	}
	for (int i = 0; i < c->rows; i++) {
		str__clear(&c->lines[i].text);
		c->lines[i].spans.cnt = 0;
		c->lines[i].width = 0;
	}
	c->cols = cols;
	c->utf8 = utf8;
	c->y = 0;
	c->oom = false;
	c->cursor_x = -1;
	return 0;
}

static void line__end_span(struct canvas *c, struct canvas_line *line, enum role role)
{
	size_t cnt = line->spans.cnt;

	c->oom |= line->text.oom;
	if (cnt && line->spans.v[cnt - 1].role == role)
		line->spans.v[cnt - 1].end = line->text.len;
	else if (vec__push(&line->spans, ((struct canvas_span){ line->text.len, role })))
		c->oom = true;
}

/* What of the clean text fits into `cols` columns; *cut: not all of it. */
static void line__add(struct canvas *c, struct canvas_line *line, const char *text, int cols,
		      bool *cut)
{
	struct glyph g;
	int marks = MARKS_MAX; /* nothing to put them on */

	*cut = false;
	while (glyph__next(c->utf8, &text, &g)) {
		if (!g.width && marks++ >= MARKS_MAX)
			continue;
		if (g.width > cols) {
			*cut = true;
			return;
		}
		if (g.width)
			marks = 0;
		cols -= g.width;
		line->width += g.width;
		str__add(&line->text, g.bytes);
	}
}

void canvas__put(struct canvas *c, enum role role, const char *text)
{
	struct canvas_line *line = canvas__line(c);
	struct str clean = {};
	bool cut;

	if (!line)
		return;
	line__add(c, line, text__clean(&clean, text), c->cols - line->width, &cut);
	c->oom |= clean.oom;
	str__free(&clean);
	line__end_span(c, line, role);
}

void canvas__putf(struct canvas *c, enum role role, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	canvas__put(c, role, text);
}

static void line__blanks(struct canvas_line *line, int cnt)
{
	if (cnt <= 0)
		return;
	str__addf(&line->text, "%*s", cnt, "");
	line->width += cnt;
}

void canvas__fill(struct canvas *c, enum role role, int upto)
{
	struct canvas_line *line = canvas__line(c);

	if (!line)
		return;
	line__blanks(line, MIN(upto, c->cols) - line->width);
	line__end_span(c, line, role);
}

void canvas__cell(struct canvas *c, enum role role, const char *text, int width, bool left)
{
	struct canvas_line *line = canvas__line(c);
	struct str clean = {};
	int end, own;
	bool cut;

	if (!line)
		return;
	width = MIN(width, c->cols - line->width);
	end = line->width + width;
	text = text__clean(&clean, text);
	fit(c->utf8, text, INT32_MAX / 2, &own);
	if (own <= width) {
		line__blanks(line, left ? 0 : width - own);
		line__add(c, line, text, end - line->width, &cut);
	} else if (width > 0) {
		line__add(c, line, text, width - 1, &cut);
		str__add(&line->text, canvas__sign(c, "…", "~"));
		line->width++;
	}
	line__blanks(line, end - line->width);
	c->oom |= clean.oom;
	str__free(&clean);
	line__end_span(c, line, role);
}

void canvas__next(struct canvas *c)
{
	if (c->y < c->rows)
		c->y++;
}
