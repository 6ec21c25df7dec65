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

/* ---- widths ---- */

struct block {
	u32 first, last;
};

static const struct block wide[] = {
	{ 0x1100, 0x115f },   /* Hangul Jamo, initial consonants */
	{ 0x2e80, 0x303e },   /* CJK radicals to CJK punctuation */
	{ 0x3041, 0xa4cf },   /* Kana, CJK ideographs, Yi */
	{ 0xac00, 0xd7a3 },   /* Hangul syllables */
	{ 0xf900, 0xfaff },   /* CJK compatibility ideographs */
	{ 0xfe30, 0xfe6f },   /* CJK compatibility forms */
	{ 0xff01, 0xff60 },   /* fullwidth forms */
	{ 0xffe0, 0xffe6 },   /* fullwidth signs */
	{ 0x1f300, 0x1f64f }, /* pictographs, emoticons */
	{ 0x1f680, 0x1f6ff }, /* transport signs */
	{ 0x1f900, 0x1f9ff }, /* more pictographs */
	{ 0x20000, 0x3fffd }, /* CJK ideographs, extensions */
};

static const struct block empty[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd },   { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },   { 0x200b, 0x200f },
	{ 0x202a, 0x202e }, { 0x2060, 0x2069 }, { 0x20d0, 0x20ff },   { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0001, 0xe01ef },
};

static bool is_in(const struct block *blocks, size_t cnt, u32 c)
{
	for (size_t i = 0; i < cnt && c >= blocks[i].first; i++) {
		if (c <= blocks[i].last)
			return true;
	}
	return false;
}

/* The character at s: its bytes, and its columns in *columns. Names were cleaned: it's UTF-8. */
static size_t character(const char *s, size_t len, size_t *columns)
{
	u32 c = (u8)s[0];
	size_t bytes = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	c &= bytes == 1 ? 0x7f : 0x7f >> bytes;
	bytes = MIN(bytes, len);
	for (size_t i = 1; i < bytes; i++)
		c = c << 6 | ((u8)s[i] & 0x3f);
	*columns = is_in(empty, ARRAY_SIZE(empty), c) ? 0 : 1 + is_in(wide, ARRAY_SIZE(wide), c);
	return bytes;
}

size_t paint__columns(const char *s, size_t len)
{
	size_t all = 0, columns;

	for (size_t i = 0; i < len; all += columns)
		i += character(s + i, len - i, &columns);
	return all;
}

/* Bytes of as many first characters as go into so many columns. */
static size_t head_of(const char *s, size_t len, size_t columns)
{
	size_t i = 0;

	while (i < len) {
		size_t own, bytes = character(s + i, len - i, &own);

		if (own > columns)
			break;
		columns -= own;
		i += bytes;
	}
	return i;
}

/* Where as many last characters begin as go into so many columns. */
static size_t tail_of(const char *s, size_t len, size_t columns)
{
	size_t all = paint__columns(s, len), i = 0, own = 0;

	/* What combines with a character that is gone goes too. */
	while (i < len) {
		size_t bytes = character(s + i, len - i, &own);

		if (all <= columns && own)
			break;
		i += bytes;
		all -= own;
	}
	return i;
}

void paint__fit(struct str *s, size_t width, bool ascii)
{
	const char *gap = ascii ? "..." : "…";
	size_t gap_width = ascii ? 3 : 1, first, last;
	struct str cut = { 0 };

	if (paint__columns(s->s, s->len) <= width)
		return;
	if (width <= gap_width) {
		s->len = head_of(s->s, s->len, width);
		return;
	}
	first = (width - gap_width + 1) / 2;
	last = tail_of(s->s, s->len, width - gap_width - first);
	str__addn(&cut, s->s, head_of(s->s, s->len, first));
	str__add(&cut, gap);
	str__addn(&cut, s->s + last, s->len - last);
	str__clear(s);
	str__addn(s, cut.s ? cut.s : "", cut.len);
	s->oom |= cut.oom;
	str__free(&cut);
}

/* Where a line of so many columns is broken best: bytes of what stays; all of it where it can't. */
static size_t break_at(const char *line, size_t len, size_t columns, size_t from)
{
	size_t most = head_of(line, len, columns), at = most;

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
