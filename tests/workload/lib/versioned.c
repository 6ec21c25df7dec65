/* SPDX-License-Identifier: BSD-2-Clause */
/* Two functions exported as je_malloc, an old version and the default one, as glibc does it. */
#include <stddef.h>

void *old_malloc(size_t size);
void *new_malloc(size_t size);

static char pool[1 << 16];

__attribute__((noinline)) void *old_malloc(size_t size)
{
	return pool + size % 7;
}

__attribute__((noinline)) void *new_malloc(size_t size)
{
	return pool + size % 11;
}

__asm__(".symver old_malloc, je_malloc@OLD_1");
__asm__(".symver new_malloc, je_malloc@@NEW_2");
