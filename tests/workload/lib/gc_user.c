/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls Boehm's collector, declared here because its headers are not needed for two functions. */
#include <stddef.h>
#include <unistd.h>

void GC_init(void);
void *GC_malloc(size_t size);
void *GC_malloc_atomic(size_t size);

static void *volatile sink;

static __attribute__((noinline, noclone)) void g_malloc(void)
{
	for (int i = 0; i < 5; i++)
		sink = GC_malloc(48);
}

static __attribute__((noinline, noclone)) void g_atomic(void)
{
	for (int i = 0; i < 6; i++)
		sink = GC_malloc_atomic(100);
}

int main(void)
{
	static const char truth[] = "expect g_malloc 5 240\nexpect g_atomic 6 600\n";

	GC_init();
	g_malloc();
	g_atomic();
	return write(1, truth, sizeof(truth) - 1) < 0;
}
