/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of text of a fixed size, each part with a role (what it is, not what it looks like): what
 * `top` draws on, and what a terminal or a test reads. Text that is put here may come from anybody:
 * whatever a terminal would obey, or would show nothing of, becomes a replacement character;
 * without UTF-8 all but ASCII does.
 */
#ifndef CLI_TOP_CANVAS_H
#define CLI_TOP_CANVAS_H

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

enum role {
	ROLE_PLAIN,
	ROLE_TITLE,
	ROLE_HEAD,   /* headings of columns */
	ROLE_SORTED, /* of the one that rows are sorted by */
	ROLE_CHOSEN, /* the row under the cursor */
	ROLE_FAINT,  /* ended processes, hints */
	ROLE_WARN,   /* losses, errors */
	ROLE_TREND,
	ROLE_PROMPT,
	ROLE_MAX
};

struct canvas_span {
	size_t end; /* bytes of the line's text up to here, from the span before */
	enum role role;
};

struct canvas_line {
	struct str text; /* UTF-8, printable */
	VEC(struct canvas_span) spans;
	int width; /* columns */
};

struct canvas {
	int rows, cols;
	bool utf8;
	struct canvas_line *lines;
	int y; /* the line that is written to; at `rows` nothing is */
	bool oom;
	int cursor_x, cursor_y; /* where the user types; x < 0: nowhere */
};

/* Empties it and gives it this size; 0 or -ENOMEM. A zeroed struct has none. */
int canvas__begin(struct canvas *c, int rows, int cols, bool utf8);
void canvas__fini(struct canvas *c);

/* Appends to the line what fits in. */
void canvas__put(struct canvas *c, enum role role, const char *text);
void canvas__putf(struct canvas *c, enum role role, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Exactly `width` columns (less at the right edge): filled with blanks, or cut with a mark. */
void canvas__cell(struct canvas *c, enum role role, const char *text, int width, bool left);

/* Blanks up to the column, or to the right edge. */
void canvas__fill(struct canvas *c, enum role role, int upto);

/* Ends the line; the part of the next ones is up to the next call. */
void canvas__next(struct canvas *c);

/* Columns that the text would take. */
int canvas__width(const struct canvas *c, const char *text);

/* Bytes of the text that fit into `cols` columns, at least one character; 0 of "". */
size_t canvas__fit(const struct canvas *c, const char *text, int cols);

/* The sign, or what stands for it without UTF-8. */
const char *canvas__sign(const struct canvas *c, const char *sign, const char *ascii);

#endif
