/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that lives a millisecond: three allocations and gone, without exit handlers. */
#include <stdlib.h>
#include <unistd.h>

static __attribute__((noinline, noclone)) void blink_leak(void **out)
{
	for (int i = 0; i < 3; i++) {
		out[i] = malloc(1111);
		__asm__ volatile("" ::: "memory");
	}
}

int main(void)
{
	void *out[3];

	blink_leak(out);
	__asm__ volatile("" ::"r"(out) : "memory");
	_exit(0);
}
