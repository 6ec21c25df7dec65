/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks for unit tests: each failure is printed with its place; the program's exit status tells.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(cond)                                                                          \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			check_failures++;                                                    \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
		}                                                                            \
	} while (0)

#define CHECK_EQ(a, b)                                                                            \
	do {                                                                                      \
		long long check_a = (long long)(a), check_b = (long long)(b);                     \
		if (check_a != check_b) {                                                         \
			check_failures++;                                                         \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__, \
				#a, check_a, check_b, #b);                                        \
		}                                                                                 \
	} while (0)

#define CHECK_STR(a, b)                                                                          \
	do {                                                                                     \
		const char *check_a = (a), *check_b = (b);                                       \
		if (!check_a || !check_b || strcmp(check_a, check_b)) {                          \
			check_failures++;                                                        \
			fprintf(stderr, "%s:%d: %s is '%s', not '%s'\n", __FILE__, __LINE__, #a, \
				check_a ? check_a : "(null)", check_b ? check_b : "(null)");     \
		}                                                                                \
	} while (0)

static inline int check__done(void)
{
	if (check_failures)
		fprintf(stderr, "%d checks failed\n", check_failures);
	return check_failures ? 1 : 0;
}

#endif
