/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing strings, the cleaning of hostile names, and the words of errors. */
#include "base/str.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>

#include "base/err.h"
#include "check.h"

#define FFFD "\xef\xbf\xbd"

static void check_clean(const char *text, size_t n, bool printable, const char *want)
{
	struct str s = { 0 };

	str__add_utf8(&s, text, n, printable);
	CHECK_STR(s.s, want);
	CHECK_EQ(s.len, strlen(want));
	str__free(&s);
}

#define CLEAN(text, want)     check_clean(text, sizeof(text) - 1, false, want)
#define PRINTABLE(text, want) check_clean(text, sizeof(text) - 1, true, want)

static void utf8(void)
{
	CLEAN("", "");
	CLEAN("malloc", "malloc");
	CLEAN("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	CLEAN("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
	/* The examples of Unicode 15, tables 3-8 to 3-11 */
	CLEAN("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
	CLEAN("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
	CLEAN("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B");
	CLEAN("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", FFFD FFFD FFFD FFFD "A");
	CLEAN("\xe2\x82", FFFD); /* cut off at the end */
	CLEAN("a\nb\x1b[31m", "a\nb\x1b[31m");
	PRINTABLE("a\nb\x1b[31m\x7f", "a" FFFD "b" FFFD "[31m" FFFD);
	PRINTABLE("\xc2\x9b"
		  "31m\xc2\xa0",
		  FFFD "31m\xc2\xa0"); /* C1: CSI in one character */
	PRINTABLE("a\0b", "a" FFFD "b");
	/* a line separator, an override and an isolate of direction; their neighbours stay */
	PRINTABLE("\u2027\u2028\u202e\u202f", "\u2027" FFFD FFFD "\u202f");
	PRINTABLE("\u2065\u2066\u2069\u206a", "\u2065" FFFD FFFD "\u206a");
}

/* What comes out is always valid UTF-8, says iconv; and valid UTF-8 comes out unchanged. */
static void random_bytes(void)
{
	iconv_t cd = iconv_open("UTF-32LE", "UTF-8");
	static char wide[4096];
	char bytes[64];

	CHECK(cd != (iconv_t)-1);
	srand(1);
	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)rand() % sizeof(bytes);
		char *in, *out = wide;
		size_t in_left = n, out_left = sizeof(wide);
		struct str s = { 0 };
		bool valid;

		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)(rand() % 3 ? 0x80 + rand() % 0x80 : rand());
		in = bytes;
		valid = iconv(cd, &in, &in_left, &out, &out_left) != (size_t)-1;
		str__add_utf8(&s, bytes, n, false);
		CHECK(!valid || (s.len == n && !memcmp(s.s, bytes, n)));
		in = s.s;
		in_left = s.len;
		out = wide;
		out_left = sizeof(wide);
		CHECK(iconv(cd, &in, &in_left, &out, &out_left) == 0);
		str__free(&s);
	}
	iconv_close(cd);
}

static void growing(void)
{
	struct str s = { 0 };
	char big[5000];

	memset(big, 'x', sizeof(big));
	str__add(&s, "a");
	str__addf(&s, "-%d-%s", 42, "b");
	str__addn(&s, "cdef", 2);
	CHECK_STR(s.s, "a-42-bcd");
	for (int i = 0; i < 100; i++)
		str__addn(&s, big, sizeof(big));
	CHECK_EQ(s.len, 8 + 100 * sizeof(big));
	CHECK_EQ(strlen(s.s), s.len);
	str__addf(&s, "%.*s", (int)sizeof(big), big);
	CHECK_EQ(s.len, 8 + 101 * sizeof(big));
	str__clear(&s);
	CHECK_STR(s.s, "");
	str__addn(&s, big, SIZE_MAX / 2); /* can't be had; nothing is read */
	CHECK(s.oom);
	str__add(&s, "no");
	CHECK_STR(s.s, "");
	str__free(&s);
	CHECK(!s.s && !s.oom);
}

/* As printf has them. */
static void numbers(void)
{
	static const u64 edges[] = { 0,	 1,   9,	  10,	      15,	 16,
				     99, 100, UINT32_MAX, 1ULL << 63, UINT64_MAX };
	struct str s = { 0 };
	char want[64];

	for (size_t i = 0; i < ARRAY_SIZE(edges) + 64; i++) {
		u64 number =
			i < ARRAY_SIZE(edges) ? edges[i] : UINT64_MAX >> (i - ARRAY_SIZE(edges));

		str__clear(&s);
		str__add_u64(&s, number);
		str__add(&s, " ");
		str__add_hex(&s, number);
		snprintf(want, sizeof(want), "%" PRIu64 " %" PRIx64, number, number);
		CHECK_STR(s.s, want);
	}
	str__free(&s);
}

static void errors(void)
{
	err__clear();
	CHECK_STR(err__msg(), "");
	CHECK_EQ(err__fail(-ENOENT, "cannot open '%s'", "a\x1b[2J\n\xc2\x9bz"), -ENOENT);
	CHECK_STR(err__msg(), "cannot open 'a?[2J???z'");
	err__hint("run as %s", "root");
	CHECK_STR(err__hint_msg(), "run as root");
	CHECK_EQ(err__fail(-EINVAL, "outer: %s", err__msg()), -EINVAL);
	CHECK_STR(err__msg(), "outer: cannot open 'a?[2J???z'");
	CHECK_STR(err__hint_msg(), "");
}

int main(void)
{
	utf8();
	random_bytes();
	growing();
	numbers();
	errors();
	return check__done();
}
