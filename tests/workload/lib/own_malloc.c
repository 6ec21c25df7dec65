/* SPDX-License-Identifier: BSD-2-Clause */
/* An executable with a malloc of its own, which libc then uses too: strdup must come here. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

void *malloc(size_t size);
void *calloc(size_t cnt, size_t size);
void *realloc(void *p, size_t size);
void free(void *p);

static _Alignas(16) char pool[1 << 20];
static size_t used;
static void *volatile sink;

/* Each block knows its size, for realloc. */
__attribute__((noinline)) void *malloc(size_t size)
{
	char *p = pool + used;

	if (size > sizeof(pool) - used - 64)
		return NULL;
	used += (size + 31) & ~(size_t)15;
	*(size_t *)(void *)p = size;
	return p + 16;
}

/* Ends in malloc: one call of the program is still one allocation. */
__attribute__((noinline)) void *calloc(size_t cnt, size_t size)
{
	void *p = malloc(cnt * size);

	return p ? memset(p, 0, cnt * size) : p;
}

__attribute__((noinline)) void *realloc(void *p, size_t size)
{
	void *q = malloc(size);

	if (p && q)
		memcpy(q, p, ((size_t *)p)[-2] < size ? ((size_t *)p)[-2] : size);
	return q;
}

__attribute__((noinline)) void free(void *p)
{
	(void)p;
}

static __attribute__((noinline, noclone)) void o_malloc(void)
{
	for (int i = 0; i < 5; i++)
		sink = malloc(40);
}

static __attribute__((noinline, noclone)) void o_calloc(void)
{
	for (int i = 0; i < 6; i++)
		sink = calloc(5, 10);
}

static __attribute__((noinline, noclone)) void o_realloc(void)
{
	void *p = NULL;

	for (size_t i = 1; i <= 7; i++)
		p = realloc(p, i * 10);
	sink = p;
}

static __attribute__((noinline, noclone)) void o_strdup(void)
{
	for (int i = 0; i < 3; i++)
		sink = strdup("1234567");
}

int main(void)
{
	static const char truth[] = "expect o_malloc 5 200\nexpect o_calloc 6 300\n"
				    "expect o_realloc 7 280\nexpect strdup 3 24\n";

	o_malloc();
	o_calloc();
	o_realloc();
	o_strdup();
	return write(1, truth, sizeof(truth) - 1) < 0;
}
