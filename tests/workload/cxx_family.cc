// SPDX-License-Identifier: BSD-2-Clause
//
// Every operator new and the C functions, under whichever allocator is preloaded: in some of them
// operator new ends in malloc, in others it does not. Prints `expect FUNCTION COUNT BYTES`.
#include <cstdlib>
#include <malloc.h>
#include <new>

#include "gate.h"

#define SITE static __attribute__((noinline, noclone)) void

static void *volatile sink;

struct alignas(64) wide {
	char bytes[192];
};

SITE n_new()
{
	for (int i = 0; i < 3; i++)
		sink = ::operator new(71);
}

SITE n_array()
{
	for (int i = 0; i < 4; i++)
		sink = ::operator new[](73);
}

SITE n_nothrow()
{
	for (int i = 0; i < 5; i++)
		sink = ::operator new(79, std::nothrow);
}

SITE n_array_nothrow()
{
	for (int i = 0; i < 6; i++)
		sink = ::operator new[](83, std::nothrow);
}

SITE n_aligned()
{
	for (int i = 0; i < 7; i++)
		sink = new wide;
}

SITE n_malloc()
{
	for (int i = 0; i < 8; i++)
		sink = malloc(89);
}

SITE n_calloc()
{
	for (int i = 0; i < 9; i++)
		sink = calloc(3, 97);
}

SITE n_realloc()
{
	void *p = NULL;

	for (size_t i = 1; i <= 4; i++)
		p = realloc(p, i * 1000);
	sink = p;
}

SITE n_posix_memalign()
{
	void *p;

	for (int i = 0; i < 2; i++)
		if (posix_memalign(&p, 128, 1024))
			_exit(3);
	sink = p;
}

SITE n_aligned_alloc()
{
	for (int i = 0; i < 3; i++)
		sink = aligned_alloc(64, 640);
}

int main()
{
	gate__start();
	n_new();
	n_array();
	n_nothrow();
	n_array_nothrow();
	n_aligned();
	n_malloc();
	n_calloc();
	n_realloc();
	n_posix_memalign();
	n_aligned_alloc();
	gate__say("expect n_new 3 213\nexpect n_array 4 292\nexpect n_nothrow 5 395\n"
		  "expect n_array_nothrow 6 498\n");
	gate__say("expect n_aligned 7 1344\nexpect n_malloc 8 712\nexpect n_calloc 9 2619\n"
		  "expect n_realloc 4 10000\n");
	gate__say("expect n_posix_memalign 2 2048\nexpect n_aligned_alloc 3 1920\n");
	gate__end();
	return 0;
}
