/* SPDX-License-Identifier: BSD-2-Clause */
/* What only terminals get: colours, bars, and lines that fit. */
#ifndef REPORT_PAINT_H
#define REPORT_PAINT_H

#include <allocsnoop.h>

#include "base/str.h"

enum paint {
	PAINT_NONE,
	PAINT_TITLE, /* what stands above: bold */
	PAINT_ASIDE, /* what is read last: dim */
	PAINT_BAR,
	PAINT_WARN, /* what is missing */
};

/* Begins and ends a colour; nothing without opts->colour. */
void paint__begin(struct str *s, const struct allocsnoop_report_opts *opts, enum paint paint);
void paint__end(struct str *s, const struct allocsnoop_report_opts *opts, enum paint paint);

/* Columns that text takes on a terminal: ideographs take two, combining characters none (by blocks
 * of Unicode, after UAX #11). */
size_t paint__columns(const char *s, size_t len);

#define PAINT_BAR_WIDTH 8

/* A part of a whole as a bar of up to PAINT_BAR_WIDTH columns, in eighths of one. */
void paint__bar(struct str *s, u64 part, u64 whole, bool ascii);

/* Takes characters out of the middle until it has `width` columns: both ends of a name tell. */
void paint__fit(struct str *s, size_t width, bool ascii);

/* A line that is longer than `width` (0: no limit) goes on, indented, in the next one; broken at
 * blanks. `line` has no newline; one is added. */
void paint__wrap(struct str *s, const char *line, size_t len, size_t width, size_t indent);

#endif
