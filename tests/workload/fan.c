/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 2^argv[1] different call paths with one allocation each; then fifty allocations at the end of one
 * path that is argv[2] calls deep.
 */
#include <stdlib.h>

#include "gate.h"

#define NI	__attribute__((noinline, noclone))
#define FENCE() __asm__ volatile("" ::: "memory")

static void *volatile sink;

NI void fan_left(int depth, int bits);
NI void fan_right(int depth, int bits);

NI void fan_tip(void)
{
	sink = malloc(24);
	FENCE();
}

static inline __attribute__((always_inline)) void step(int depth, int bits)
{
	if (depth == 0)
		fan_tip();
	else if (bits & 1)
		fan_right(depth - 1, bits >> 1);
	else
		fan_left(depth - 1, bits >> 1);
	FENCE();
}

NI void fan_left(int depth, int bits)
{
	step(depth, bits);
}

/* The nop keeps the compiler from merging it with fan_left. */
NI void fan_right(int depth, int bits)
{
	step(depth, bits);
	__asm__ volatile("nop");
}

NI void deep_tip(void)
{
	sink = malloc(4096);
	FENCE();
}

NI void deep_rec(int depth)
{
	if (depth > 1)
		deep_rec(depth - 1);
	else
		deep_tip();
	FENCE();
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 15;
	int deep = argc > 2 ? atoi(argv[2]) : 400;

	gate__start();
	for (int bits = 0; bits < 1 << depth; bits++)
		step(depth, bits);
	for (int i = 0; i < 50; i++)
		deep_rec(deep);
	gate__say("paths %d deep 50\n", 1 << depth);
	gate__end();
	return 0;
}
