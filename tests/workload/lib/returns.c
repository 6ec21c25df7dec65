/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls whose return addresses another tool's return probes replace: nested functions, a recursion,
 * functions that jump to others, and one function called from two places with the same stack. Each
 * place allocates a size of its own, and says before the work which functions are on its stack,
 * leaf first: `stack SIZE COUNT FUNCTION...`; what is above main is left out.
 */
#include <stdlib.h>

#include "../gate.h"

#define NI    __attribute__((noinline, noclone))
#define TIMES 50
#define DEPTH 5

static void *volatile sink;

/* After the call, so that it isn't the last thing that the function does. */
#define KEEP(call)                                 \
	do {                                       \
		sink = (call);                     \
		free(sink);                        \
		__asm__ volatile("" ::: "memory"); \
	} while (0)

NI void inner(size_t size)
{
	KEEP(malloc(size));
}

NI void outer(size_t size)
{
	inner(size);
	__asm__ volatile("" ::: "memory");
}

NI void recursion(int depth)
{
	if (depth > 1)
		recursion(depth - 1);
	else
		KEEP(malloc(40102));
	__asm__ volatile("" ::: "memory");
}

/* These two jump: what they were called with is their callee's. */
NI void *last_jump(size_t size)
{
	return malloc(size);
}

NI void *first_jump(size_t size)
{
	return last_jump(size);
}

NI void jumps(void)
{
	KEEP(first_jump(40103));
}

NI void fresh(void)
{
	KEEP(realloc(NULL, 40104));
}

/* Jumps twice. */
NI void fresh_array(void)
{
	KEEP(reallocarray(NULL, 10, 4010));
}

/* Equal frames, called from one place: only inner's return address tells them apart. */
NI void one_side(void)
{
	inner(40105);
	__asm__ volatile("" ::: "memory");
}

NI void other_side(void)
{
	inner(40106);
	__asm__ volatile("" ::: "memory");
}

static void (*volatile sides[])(void) = { one_side, other_side };

int main(void)
{
	gate__say("stack 40100 %d reallocarray fresh_array main\n", TIMES);
	gate__say("stack 40101 %d malloc inner outer main\n", TIMES);
	gate__say("stack 40102 %d malloc recursion recursion recursion recursion recursion main\n",
		  TIMES);
	gate__say("stack 40103 %d malloc jumps main\n", TIMES);
	gate__say("stack 40104 %d realloc fresh main\n", TIMES);
	gate__say("stack 40105 %d malloc inner one_side main\n", TIMES);
	gate__say("stack 40106 %d malloc inner other_side main\n", TIMES);
	gate__start();
	for (int i = 0; i < TIMES; i++) {
		outer(40101);
		recursion(DEPTH);
		jumps();
		fresh();
		fresh_array();
		for (int side = 0; side < 2; side++)
			sides[side]();
	}
	gate__end();
	return 0;
}
