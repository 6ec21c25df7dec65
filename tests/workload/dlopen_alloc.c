/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads argv[1], a library with an allocator of its own, while it is being traced, and calls that
 * allocator at once. A file that was never seen must be counted from its first call.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "gate.h"

#define SITE static __attribute__((noinline, noclone)) void

static void *volatile sink;

SITE d_malloc(void *(*je_malloc)(size_t))
{
	for (int i = 0; i < 7; i++)
		sink = je_malloc(101);
}

SITE d_calloc(void *(*je_calloc)(size_t, size_t))
{
	for (int i = 0; i < 5; i++)
		sink = je_calloc(3, 67);
}

SITE d_mallocx(void *(*je_mallocx)(size_t, int))
{
	for (int i = 0; i < 3; i++)
		sink = je_mallocx(500, 0);
}

int main(int argc, char **argv)
{
	void *lib, *symbol[3];

	if (argc != 2)
		return 2;
	gate__start();
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib)
		return 3;
	symbol[0] = dlsym(lib, "je_malloc");
	symbol[1] = dlsym(lib, "je_calloc");
	symbol[2] = dlsym(lib, "je_mallocx");
	d_malloc((void *(*)(size_t))symbol[0]);
	d_calloc((void *(*)(size_t, size_t))symbol[1]);
	d_mallocx((void *(*)(size_t, int))symbol[2]);
	gate__say("expect d_malloc 7 707\nexpect d_calloc 5 1005\nexpect d_mallocx 3 1500\n");
	gate__end();
	return sink == NULL;
}
