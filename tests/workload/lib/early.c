/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared library whose constructor allocates: before main, and before the executable's own. */
#include <stdlib.h>

void early_touch(void);

static void *volatile kept;

static __attribute__((noinline, noclone)) void early_work(void)
{
	for (int i = 0; i < 3; i++)
		kept = malloc(37);
}

static __attribute__((constructor)) void early_constructor(void)
{
	early_work();
	__asm__ volatile("" ::: "memory");
}

/* A program that is linked with the library rather than preloads it calls this. */
void early_touch(void)
{
	kept = NULL;
}
