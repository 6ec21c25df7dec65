/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nothing but malloc(64) and free, four frames below main's caller: what a tracer costs per call.
 * Runs for about argv[1] seconds, argv[2] frames deeper, and prints nanoseconds per iteration: CPU
 * time, then wall time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

NI void storm_leaf(void)
{
	void *p = malloc(64);

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
	__asm__ volatile("" ::: "memory");
}

NI void storm_mid(int cnt)
{
	for (int i = 0; i < cnt; i++)
		storm_leaf();
}

NI void storm_top(int cnt, int deeper)
{
	if (deeper > 0)
		storm_top(cnt, deeper - 1);
	else
		storm_mid(cnt);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = (uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9);
	int deeper = argc > 2 ? atoi(argv[2]) : 0;
	uint64_t cpu, wall, cnt = 0;

	gate__start();
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	wall = now_ns(CLOCK_MONOTONIC);
	while (now_ns(CLOCK_MONOTONIC) - wall < limit_ns) {
		storm_top(2000, deeper);
		cnt += 2000;
	}
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	gate__say("%.1f %.1f %llu\n", (double)cpu / (double)cnt, (double)wall / (double)cnt,
		  (unsigned long long)cnt);
	gate__end();
	return 0;
}
