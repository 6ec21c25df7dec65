/* SPDX-License-Identifier: BSD-2-Clause */
/* What only terminals get; see paint.h. The escape sequences are those of ECMA-48 (SGR). */
#include "report/paint.h"

#include <string.h>

static const char *const sequences[] = {
	[PAINT_TITLE] = "\x1b[1m",
	[PAINT_ASIDE] = "\x1b[2m",
	[PAINT_BAR] = "\x1b[36m",
	[PAINT_WARN] = "\x1b[33m",
};

void paint__begin(struct str *s, const struct allocsnoop_report_opts *opts, enum paint paint)
{
	if (opts->colour && paint != PAINT_NONE)
		str__add(s, sequences[paint]);
}

void paint__end(struct str *s, const struct allocsnoop_report_opts *opts, enum paint paint)
{
	if (opts->colour && paint != PAINT_NONE)
		str__add(s, "\x1b[0m");
}

void paint__bar(struct str *s, u64 part, u64 whole, bool ascii)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	u64 length; /* eighths of a column */

	if (!whole || !part)
		return;
	part = MIN(part, whole);
	length = (u64)(((unsigned __int128)part * PAINT_BAR_WIDTH * 8 + whole / 2) / whole);
	for (u64 i = 0; i < length / 8; i++)
		str__add(s, ascii ? "#" : "█");
	if (!ascii)
		str__add(s, eighths[length % 8]);
	else if (length % 8 >= 4)
		str__add(s, "-");
}

static bool begins_character(char c)
{
	return ((u8)c & 0xc0) != 0x80;
}

static size_t columns_of(const char *s, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += begins_character(s[i]);
	return columns;
}

/* Bytes of the first `columns` characters. */
static size_t bytes_of(const char *s, size_t len, size_t columns)
{
	size_t i = 0;

	while (i < len && (columns || !begins_character(s[i])))
		columns -= begins_character(s[i++]);
	return i;
}

void paint__fit(struct str *s, size_t width, bool ascii)
{
	const char *gap = ascii ? "..." : "…";
	size_t gap_width = ascii ? 3 : 1, columns = columns_of(s->s, s->len), first, last;
	struct str cut = { 0 };

	if (columns <= width)
		return;
	if (width <= gap_width) {
		s->len = bytes_of(s->s, s->len, width);
		return;
	}
	first = (width - gap_width + 1) / 2;
	last = width - gap_width - first;
	str__addn(&cut, s->s, bytes_of(s->s, s->len, first));
	str__add(&cut, gap);
	first = bytes_of(s->s, s->len, columns - last);
	str__addn(&cut, s->s + first, s->len - first);
	str__clear(s);
	str__addn(s, cut.s ? cut.s : "", cut.len);
	s->oom |= cut.oom;
	str__free(&cut);
}

/* Where a line of so many columns is broken best: bytes of what stays; all of it where it can't. */
static size_t break_at(const char *line, size_t len, size_t columns, size_t from)
{
	size_t most = bytes_of(line, len, columns), at = most;

	if (most == len)
		return len;
	while (at > from && line[at] != ' ')
		at--;
	if (at > from)
		return at;
	while (most < len && line[most] != ' ')
		most++;
	return most;
}

void paint__wrap(struct str *s, const char *line, size_t len, size_t width, size_t indent)
{
	size_t at = len, from = indent;

	if (width > 2 * indent)
		at = break_at(line, len, width, from);
	str__addn(s, line, at);
	str__add(s, "\n");
	while (at < len) {
		line += at + 1; /* a blank */
		len -= at + 1;
		at = break_at(line, len, width - indent, 0);
		str__addf(s, "%*s", (int)indent, "");
		str__addn(s, line, at);
		str__add(s, "\n");
	}
}
