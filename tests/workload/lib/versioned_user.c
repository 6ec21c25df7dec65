/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls both versions of versioned.c's je_malloc; linked with it by its test. */
#include <stddef.h>

void *je_malloc(size_t size);
void *je_malloc_old(size_t size);

__asm__(".symver je_malloc_old, je_malloc@OLD_1");

static void *volatile sink;

static __attribute__((noinline, noclone)) void v_old(void)
{
	for (int i = 0; i < 4; i++)
		sink = je_malloc_old(40);
}

static __attribute__((noinline, noclone)) void v_new(void)
{
	for (int i = 0; i < 6; i++)
		sink = je_malloc(60);
}

int main(void)
{
	v_old();
	v_new();
	return 0;
}
