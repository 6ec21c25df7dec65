/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * musl's public functions call each other through their public names: calloc and strdup call
 * malloc, posix_memalign calls aligned_alloc. One call here is one allocation. Built by its test
 * with musl-gcc (this build, against glibc, gives the same numbers).
 */
#include <stdlib.h>
#include <string.h>

#include "gate.h"

#define SITE static __attribute__((noinline, noclone)) void

static void *volatile keep[64];
static int keep_cnt;

SITE m_plain(void)
{
	for (int i = 0; i < 9; i++)
		keep[keep_cnt++] = malloc(120);
}

SITE m_zeroed(void)
{
	for (int i = 0; i < 6; i++)
		keep[keep_cnt++] = calloc(10, 50);
}

SITE m_posix(void)
{
	for (int i = 0; i < 4; i++) {
		void *p = NULL;

		if (posix_memalign(&p, 64, 700))
			_exit(3);
		keep[keep_cnt++] = p;
	}
}

SITE m_c11(void)
{
	for (int i = 0; i < 3; i++)
		keep[keep_cnt++] = aligned_alloc(256, 768);
}

SITE m_dup(void)
{
	for (int i = 0; i < 2; i++)
		keep[keep_cnt++] = strdup("0123456789abcdefghi");
}

SITE m_drop(void)
{
	for (int i = 0; i < 9; i += 2)
		free(keep[i]);
}

int main(void)
{
	gate__start();
	m_plain();
	m_zeroed();
	m_posix();
	m_c11();
	m_dup();
	m_drop();
	gate__end();
	return write(1, "nested ok\n", 10) != 10;
}
