/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library of edge.c: what is bound when it is first called, and (with -DLATE) what is loaded by
 * dlopen. lazy_choice has a resolver that allocates: the dynamic linker calls it in the middle of
 * the first call, from a frame that was aligned to hold the vector registers.
 */
#include <stdlib.h>

#define NI	__attribute__((noinline, noclone))
#define FENCE() __asm__ volatile("" ::: "memory")

static void *volatile sink;

#ifdef LATE
void late_call(void);

NI static void late_leaf(void)
{
	sink = malloc(50301);
	FENCE();
}

void late_call(void)
{
	late_leaf();
	FENCE();
}
#else
void lazy_call(void);
void lazy_choice(void);

NI static void lazy_leaf(void)
{
	sink = malloc(50201);
	FENCE();
}

void lazy_call(void)
{
	lazy_leaf();
	FENCE();
}

NI static void lazy_chosen(void)
{
	sink = malloc(50203);
	FENCE();
}

NI static void (*choose(void))(void)
{
	sink = malloc(50202);
	return lazy_chosen;
}

void lazy_choice(void) __attribute__((ifunc("choose")));
#endif
