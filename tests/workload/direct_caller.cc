// SPDX-License-Identifier: BSD-2-Clause
//
// Which of two callers reaches the leaf? Probes at function entries lose exactly the frame that
// answers this when the stack is walked by frame pointers alone. Built with and without them.
#include <cstdlib>

#include "gate.h"

#define NI	 __attribute__((noinline, noclone))
#define FENCE(x) asm volatile("" : "+r"(x)::"memory")

static void *volatile sink;

NI int leaf_malloc(int n)
{
	sink = malloc(n);
	asm volatile("" ::: "memory");
	return n + 1;
}

NI int leaf_new(int n)
{
	int *p = new int(n);

	sink = p;
	asm volatile("" ::: "memory");
	return *p + 1;
}

NI int path_red(int n)
{
	int r = leaf_malloc(n);

	FENCE(r);
	return r * 3;
}

NI int path_blue(int n)
{
	int r = leaf_malloc(n);

	FENCE(r);
	return r * 5;
}

NI int path_green(int n)
{
	int r = leaf_new(n);

	FENCE(r);
	return r * 7;
}

NI int big_frame(int n)
{
	volatile char pad[3000];

	pad[n % 3000] = 1;
	int r = leaf_malloc(72);

	FENCE(r);
	return r + pad[n % 3000];
}

int main()
{
	int s = 0;

	gate__start();
	for (int i = 0; i < 10; i++)
		s += path_red(48);
	for (int i = 0; i < 20; i++)
		s += path_blue(48);
	for (int i = 0; i < 11; i++)
		s += path_green(i);
	for (int i = 0; i < 5; i++)
		s += big_frame(i);
	gate__end();
	return s == 0;
}
