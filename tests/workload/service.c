/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fifteen blocks, and its process id as it sees it itself. Built twice by its test: the one that
 * runs in a container, and its decoy, which has other names and the same path outside.
 */
#include <stdlib.h>

#include "gate.h"

#ifdef DECOY
#define service_leak   decoy_leak
#define service_worker decoy_worker
#endif

#define NI __attribute__((noinline, noclone))

static void *volatile keep[32];

NI void service_leak(int i)
{
	keep[i] = malloc(1234);
	__asm__ volatile("" ::: "memory");
}

NI void service_worker(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		service_leak(i);
		__asm__ volatile("" ::: "memory");
	}
}

int main(void)
{
	gate__start();
	service_worker(15);
	gate__say("pid %d\n", getpid());
	gate__end();
	return 0;
}
