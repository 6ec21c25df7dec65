/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of names as the kernel side matches them, against fnmatch(3). */
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/types.h"
#include "trace/globs.h"
#include "check.h"

#define ROUNDS 200000

static bool is_match(const struct as_globs *g, const char *name)
{
	char comm[AS_COMM_SIZE] = "";

	strncpy(comm, name, sizeof(comm) - 1);
	return as_globs_match(g, comm);
}

static const struct {
	const char *globs;
	const char *name;
	bool match;
} rows[] = {
	{ "nginx", "nginx", true },
	{ "nginx", "nginx2", false },
	{ "nginx", "ngin", false },
	{ "nginx", "", false },
	{ "*", "", true },
	{ "*", "anything at all", true },
	{ "?", "", false },
	{ "a*b*c", "aXbYc", true },
	{ "a*b*c", "abc", true },
	{ "a*b*c", "acb", false },
	{ "***x", "x", true },
	{ "cc1*,ld,as", "ld", true },
	{ "cc1*,ld,as", "cc1plus", true },
	{ "cc1*,ld,as", "lda", false },
	{ "[a-c]x", "bx", true },
	{ "[!a-c]x", "bx", false },
	{ "[]]x", "]x", true },
	{ "[[:digit:]]*", "7z", true },
	{ "[[:digit:]]*", "z7", false },
	{ "[a,b]", "b", true },
	{ "[a", "[a", true }, /* no bracket expression */
	{ "a\\*", "a*", true },
	{ "a\\*", "ab", false },
	{ "a\\,b", "a,b", true },
	{ "\xff\xfe*", "\xff\xfe!", true }, /* hostile names are bytes */
	{ "123456789012345", "123456789012345", true },
	{ "12345678901234?*", "123456789012345", true },
	{ "aaaaaaaaaaaaaaa,bbbbbbbbbbbbbbb,ccccccccccccccc,ddddddddddddddd,eeeeeeeeeeeeeee",
	  "eeeeeeeeeeeeeee", true },
};

static void rows__test(void)
{
	struct as_globs g;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(globs__read(rows[i].globs, &g), 0);
		if (is_match(&g, rows[i].name) != rows[i].match) {
			check_failures++;
			fprintf(stderr, "'%s' and '%s': not %d\n", rows[i].globs, rows[i].name,
				rows[i].match);
		}
	}
}

/* Names and patterns of a small alphabet, so that they often match. */
static void random__fill(char *s, size_t max, const char *alphabet)
{
	size_t len = (size_t)rand() % (max + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = alphabet[(size_t)rand() % strlen(alphabet)];
	s[len] = '\0';
}

static void fnmatch__test(void)
{
	char pattern[AS_COMM_SIZE], name[AS_COMM_SIZE];
	u32 matches = 0;
	struct as_globs g;

	srand(1);
	for (u32 i = 0; i < ROUNDS; i++) {
		bool want;

		random__fill(pattern, sizeof(pattern) - 1, "aab*?");
		random__fill(name, sizeof(name) - 1, "ab");
		if (!*pattern)
			continue;
		CHECK_EQ(globs__read(pattern, &g), 0);
		want = !fnmatch(pattern, name, 0);
		matches += want;
		CHECK_EQ(is_match(&g, name), want);
	}
	CHECK(matches > ROUNDS / 50);
}

static void errors__test(void)
{
	char many[20 * AS_COMM_SIZE + 1] = "";
	struct as_globs g;

	CHECK_EQ(globs__read("", &g), -EINVAL);
	CHECK_EQ(globs__read(",", &g), -EINVAL);
	CHECK_EQ(globs__read("a,,b", &g), -EINVAL);
	CHECK_EQ(globs__read("a,", &g), -EINVAL);
	CHECK_EQ(globs__read("1234567890123456", &g), -EINVAL);
	CHECK(strstr(err__hint_msg(), "first 15 bytes"));
	CHECK_EQ(globs__read("*1234567890123456*", &g), -EINVAL);
	for (int i = 0; i < 16; i++)
		strcat(many, i ? ",bbbbbbbbbbbbbbb" : "bbbbbbbbbbbbbbb");
	CHECK_EQ(globs__read(many, &g), 0); /* 16 states each, 64 to a word, 4 words */
	strcat(many, ",x");
	CHECK_EQ(globs__read(many, &g), -EINVAL);
	CHECK(strstr(err__msg(), "too many patterns"));
}

int main(void)
{
	rows__test();
	fnmatch__test();
	errors__test();
	return check__done();
}
