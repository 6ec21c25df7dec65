/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every allocation function of C, each called from its own function with its own size, the calls
 * that fail and the degenerate ones among them. Prints what must be seen: `expect SITE COUNT
 * BYTES`, where COUNT is of successful calls, and `live SITE COUNT BYTES` of the blocks left at the
 * end.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"

#define SITE static __attribute__((noinline, noclone)) void

static void *volatile keep[256];
static int keep_cnt;
static volatile size_t huge = (size_t)1 << 63;

static void hold(void *p)
{
	keep[keep_cnt++] = p;
}

static void need(int ok)
{
	if (!ok)
		_exit(3);
}

SITE s_malloc(void)
{
	gate__say("expect s_malloc 7 707\nlive s_malloc 4 404\n");
	for (int i = 0; i < 7; i++) {
		void *p = malloc(101);

		if (i < 3)
			free(p);
		else
			hold(p);
	}
}

SITE s_malloc_zero(void)
{
	void *a, *b;

	gate__say("expect s_malloc_zero 2 0\nlive s_malloc_zero 1 0\n");
	a = malloc(0);
	b = malloc(0);
	need(a && b && a != b);
	free(a);
	hold(b);
}

SITE s_malloc_fail(void)
{
	gate__say("expect s_malloc_fail 0 0\nlive s_malloc_fail 0 0\n");
	for (int i = 0; i < 3; i++)
		need(!malloc(huge));
}

SITE s_calloc(void)
{
	gate__say("expect s_calloc 5 1005\nlive s_calloc 5 1005\n");
	for (int i = 0; i < 5; i++)
		hold(calloc(3, 67));
}

/* The product is 2^64: it must not wrap to size 0. */
SITE s_calloc_overflow(void)
{
	gate__say("expect s_calloc_overflow 0 0\nlive s_calloc_overflow 0 0\n");
	for (int i = 0; i < 4; i++)
		need(!calloc(huge, 2));
}

SITE s_realloc_null(void)
{
	gate__say("expect s_realloc_null 2 606\nlive s_realloc_null 2 606\n");
	for (int i = 0; i < 2; i++)
		hold(realloc(NULL, 303));
}

/* One malloc and three reallocs; the kernel moves the large block, glibc the others. */
SITE s_realloc_chain(void)
{
	void *p;

	gate__say("expect s_realloc_chain 4 905141\nlive s_realloc_chain 1 77\n");
	p = malloc(64);
	p = realloc(p, 5000);
	p = realloc(p, 900000);
	hold(realloc(p, 77));
}

SITE s_realloc_fail(void)
{
	void *p;

	gate__say("expect s_realloc_fail 1 409\nlive s_realloc_fail 1 409\n");
	p = malloc(409);
	need(!realloc(p, huge));
	hold(p);
}

/* realloc(p, 0) is free(p): its NULL is no failure and no allocation, nor is the block of no bytes
 * that some allocators give instead. */
SITE s_realloc_zero(void)
{
	void *p;

	gate__say("expect s_realloc_zero 1 511\nlive s_realloc_zero 0 0\n");
	p = malloc(511);
	hold(realloc(p, 0));
}

SITE s_reallocarray(void)
{
	void *p = NULL;

	gate__say("expect s_reallocarray 2 182\nlive s_reallocarray 2 182\n");
	for (int i = 0; i < 2; i++) {
		p = reallocarray(NULL, 7, 13);
		hold(p);
	}
	need(!reallocarray(p, huge, 2));
}

/* The call with alignment 3 fails by its return value: only who sees that can leave it out. */
SITE s_posix_memalign(void)
{
	void *p;

	gate__say("expect s_posix_memalign 3 3003 or 4 4005\nlive s_posix_memalign 3 3003\n");
	for (int i = 0; i < 3; i++) {
		need(!posix_memalign(&p, 64, 1001));
		hold(p);
	}
	need(posix_memalign(&p, 3, 1002) == EINVAL);
}

SITE s_aligned_alloc(void)
{
	gate__say("expect s_aligned_alloc 2 2560\nlive s_aligned_alloc 2 2560\n");
	for (int i = 0; i < 2; i++)
		hold(aligned_alloc(128, 1280));
}

SITE s_memalign(void)
{
	gate__say("expect s_memalign 1 1501\nlive s_memalign 1 1501\n");
	hold(memalign(256, 1501));
}

/* Small alignments take another way through glibc: memalign jumps to malloc. */
SITE s_memalign_small(void)
{
	gate__say("expect s_memalign_small 1 1503\nlive s_memalign_small 1 1503\n");
	hold(memalign(8, 1503));
}

SITE s_valloc(void)
{
	gate__say("expect s_valloc 1 1601\nlive s_valloc 1 1601\n");
	hold(valloc(1601));
}

SITE s_pvalloc(void)
{
	gate__say("expect s_pvalloc 1 1701\nlive s_pvalloc 1 1701\n");
	hold(pvalloc(1701));
}

/* The caller of malloc is strdup here. */
SITE s_strdup(void)
{
	char text[51];

	gate__say("expect strdup 4 204\nlive strdup 4 204\n");
	memset(text, 'x', 50);
	text[50] = 0;
	for (int i = 0; i < 4; i++)
		hold(strdup(text));
}

SITE s_free_null(void)
{
	gate__say("expect s_free_null 0 0\nlive s_free_null 0 0\n");
	for (int i = 0; i < 1000; i++)
		free(NULL);
}

/* A loop over one call site has the same stack pointer and return address each time. */
SITE s_loop_realloc(void)
{
	void *p = NULL;

	gate__say("expect s_loop_realloc 10 5500\nlive s_loop_realloc 1 1000\n");
	for (size_t i = 1; i <= 10; i++)
		p = realloc(p, i * 100);
	hold(p);
}

int main(void)
{
	gate__start();
	s_malloc();
	s_malloc_zero();
	s_malloc_fail();
	s_calloc();
	s_calloc_overflow();
	s_realloc_null();
	s_realloc_chain();
	s_realloc_fail();
	s_realloc_zero();
	s_reallocarray();
	s_posix_memalign();
	s_aligned_alloc();
	s_memalign();
	s_memalign_small();
	s_valloc();
	s_pvalloc();
	s_strdup();
	s_free_null();
	s_loop_realloc();
	gate__say("expect total 47 926134 or 48 927136\nlive total 30 15756\n");
	gate__end();
	_exit(0);
}
