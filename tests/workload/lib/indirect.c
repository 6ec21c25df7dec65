/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator function that jumps where no disassembly can follow. Prints blocks, bytes, 0. */
#include <stddef.h>
#include <stdio.h>

enum { CALLS = 30, SIZE = 48 };

static char heap[CALLS * SIZE];
static size_t used;
static void *volatile sink;

static void *take(size_t size)
{
	used += size;
	return heap + used - size;
}

static void *(*volatile path)(size_t size);

__attribute__((noinline, noclone)) void *mi_new(size_t size)
{
	return path(size);
}

__attribute__((noinline, noclone)) static void x_new(void)
{
	sink = mi_new(SIZE);
}

int main(void)
{
	path = take;
	for (int i = 0; i < CALLS; i++)
		x_new();
	printf("%d %d 0\n", CALLS, CALLS * SIZE);
	return 0;
}
