/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing string. Names of traced programs are bytes chosen by somebody else: str__add_utf8() is
 * the one gate they pass before they are shown or written.
 */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Room for n more bytes and the NUL. */
static bool reserve(struct str *s, size_t n)
{
	size_t cap = s->cap ? s->cap : 32;
	char *mem;

	if (s->oom)
		return false;
	if (n < s->cap - s->len)
		return true;
	if (n > PTRDIFF_MAX / 2 - s->len)
		goto oom;
	while (cap - s->len <= n)
		cap *= 2;
	mem = realloc(s->s, cap);
	if (!mem)
		goto oom;
	s->s = mem;
	s->cap = cap;
	return true;
oom:
	s->oom = true;
	return false;
}

void str__addn(struct str *s, const char *text, size_t n)
{
	if (!reserve(s, n))
		return;
	if (n)
		memcpy(s->s + s->len, text, n);
	s->len += n;
	s->s[s->len] = '\0';
}

void str__add(struct str *s, const char *text)
{
	str__addn(s, text, strlen(text));
}

void str__addf(struct str *s, const char *fmt, ...)
{
	va_list args;
	int n = -1;

	/* Mostly there is room, and once is enough. */
	for (size_t room = 64; reserve(s, room - 1); room = (size_t)n + 1) {
		room = s->cap - s->len;
		va_start(args, fmt);
		n = vsnprintf(s->s + s->len, room, fmt, args);
		va_end(args);
		if (n < 0 || (size_t)n < room)
			break;
	}
	if (n >= 0 && !s->oom)
		s->len += (size_t)n;
	if (s->s)
		s->s[s->len] = '\0';
}

static void add_digits(struct str *s, u64 number, u32 base)
{
	char digits[20]; /* of UINT64_MAX */
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[number % base];
	while (number /= base);
	str__addn(s, digits + at, sizeof(digits) - at);
}

void str__add_u64(struct str *s, u64 number)
{
	add_digits(s, number, 10);
}

void str__add_hex(struct str *s, u64 number)
{
	add_digits(s, number, 16);
}

void str__clear(struct str *s)
{
	s->len = 0;
	s->oom = false;
	if (s->s)
		s->s[0] = '\0';
}

void str__free(struct str *s)
{
	free(s->s);
	*s = (struct str){ 0 };
}

/*
 * The well-formed lead bytes and the range of the byte after each (Unicode 15, table 3-7); further
 * bytes are 80..bf.
 */
static const struct {
	u8 first, last; /* of the lead byte */
	u8 low, high;	/* of the second byte */
	u8 len;
} utf8_rows[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

/*
 * Length of the sequence at p (n > 0 bytes are there): of the whole character when *ok, else of
 * the maximal subpart that one U+FFFD stands for.
 */
static size_t utf8_len(const u8 *p, size_t n, bool *ok)
{
	size_t row, len;

	*ok = p[0] < 0x80;
	for (row = 0; row < ARRAY_SIZE(utf8_rows); row++)
		if (p[0] >= utf8_rows[row].first && p[0] <= utf8_rows[row].last)
			break;
	if (row == ARRAY_SIZE(utf8_rows))
		return 1;
	if (n < 2 || p[1] < utf8_rows[row].low || p[1] > utf8_rows[row].high)
		return 1;
	for (len = 2; len < utf8_rows[row].len; len++)
		if (len >= n || p[len] < 0x80 || p[len] > 0xbf)
			return len;
	*ok = true;
	return len;
}

/* Also what reorders the text around it: names could show other names (UAX #9, UTS #55). */
static bool is_control(const u8 *p, size_t len)
{
	if (len == 1)
		return p[0] < 0x20 || p[0] == 0x7f;
	if (len == 2)
		return p[0] == 0xc2 && p[1] < 0xa0; /* C1 */
	if (len != 3 || p[0] != 0xe2)
		return false;
	return (p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) || /* U+2028 to U+202E */
	       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);	 /* U+2066 to U+2069 */
}

void str__add_utf8(struct str *s, const char *text, size_t n, bool printable)
{
	const u8 *p = (const u8 *)text;
	size_t len;
	bool ok;

	str__addn(s, "", 0);
	for (size_t i = 0; i < n && !s->oom; i += len) {
		len = utf8_len(p + i, n - i, &ok);
		if (ok && !(printable && is_control(p + i, len)))
			str__addn(s, text + i, len);
		else
			str__addn(s, REPLACEMENT, strlen(REPLACEMENT));
	}
}
