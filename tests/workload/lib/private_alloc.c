/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library with an allocator of its own, exported under the names of a prefixed jemalloc. It never
 * calls malloc: what it gives out comes from a static array, so only its own functions can be seen.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *je_malloc(size_t size);
void *je_calloc(size_t cnt, size_t size);
void *je_mallocx(size_t size, int flags);
void je_free(void *p);

static _Alignas(16) char pool[1 << 20];
static size_t used;

static void *take(size_t size)
{
	size_t at = used;

	size = (size + 15) & ~(size_t)15;
	if (size > sizeof(pool) - used)
		return NULL;
	used += size;
	return pool + at;
}

__attribute__((noinline)) void *je_malloc(size_t size)
{
	return take(size);
}

__attribute__((noinline)) void *je_calloc(size_t cnt, size_t size)
{
	void *p = take(cnt * size);

	return p ? memset(p, 0, cnt * size) : p;
}

__attribute__((noinline)) void *je_mallocx(size_t size, int flags)
{
	(void)flags;
	return take(size);
}

__attribute__((noinline)) void je_free(void *p)
{
	(void)p;
}
