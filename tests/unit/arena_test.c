/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory from an arena is zeroed, aligned and its own; equal strings are one. */
#include "base/arena.h"

#include <stdlib.h>

#include "check.h"

static void memory(void)
{
	struct arena a = { 0 };
	u8 *mem[3000];
	size_t size[3000];

	srand(3);
	for (int i = 0; i < 3000; i++) {
		size[i] = rand() % 50 ? (size_t)rand() % 300 : (size_t)rand() % 200000;
		mem[i] = arena__alloc(&a, size[i]);
		CHECK(mem[i] && (uintptr_t)mem[i] % 16 == 0);
		for (size_t k = 0; k < size[i]; k++)
			if (mem[i][k])
				CHECK(!"zeroed");
		memset(mem[i], i & 0xff ? i & 0xff : 1, size[i]);
	}
	for (int i = 0; i < 3000; i++)
		for (size_t k = 0; k < size[i]; k++)
			if (mem[i][k] != (i & 0xff ? i & 0xff : 1))
				CHECK(!"kept");
	CHECK(!arena__alloc(&a, SIZE_MAX));
	CHECK(!arena__alloc(&a, SIZE_MAX / 2));
	arena__free(&a);
	CHECK(!a.blocks && !a.used);
	arena__free(&a);
}

static void strings(void)
{
	struct arena a = { 0 };
	const char *first[5000];
	char text[32];

	CHECK(!arena__intern(&a, NULL));
	CHECK_STR(arena__strdup(&a, "abc"), "abc");
	CHECK_STR(arena__strndup(&a, "abcdef", 3), "abc");
	CHECK_STR(arena__strndup(&a, "ab", 30), "ab");
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name%d", i);
		first[i] = arena__intern(&a, text);
		CHECK_STR(first[i], text);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name%d", i);
		CHECK(arena__intern(&a, text) == first[i]);
	}
	CHECK_EQ(a.str_cnt, 5000);
	CHECK(arena__intern(&a, "") == arena__intern(&a, ""));
	arena__free(&a);
}

int main(void)
{
	memory();
	strings();
	return check__done();
}
