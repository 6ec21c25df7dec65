/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that takes a known time of CPU and no memory. */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline, noclone)) void turn(uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

/* Turns in ns of CPU time: the best of some tries. */
static inline uint64_t turns__measure(uint64_t ns)
{
	uint64_t best = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t from = now_ns(CLOCK_PROCESS_CPUTIME_ID), took, turns;

		turn(1000000);
		took = now_ns(CLOCK_PROCESS_CPUTIME_ID) - from;
		turns = 1000000ull * ns / (took ? took : 1);
		best = turns > best ? turns : best;
	}
	return best;
}

#endif
