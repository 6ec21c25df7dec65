/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates 50,000 times in a second of its own CPU time, from two functions in turns of four to
 * one, for argv[1] seconds; with `bursts` as argv[2] only in the first half of every 400 ms. Prints
 * the truth: `expect FUNCTION COUNT BYTES`.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gate.h"

#define NI	__attribute__((noinline, noclone))
#define EACH_NS 20000

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static NI void turn(uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

/* Turns in EACH_NS of CPU time: the best of some tries. */
static uint64_t turns__measure(void)
{
	uint64_t best = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t from = now_ns(CLOCK_PROCESS_CPUTIME_ID), took, turns;

		turn(1000000);
		took = now_ns(CLOCK_PROCESS_CPUTIME_ID) - from;
		turns = 1000000ull * EACH_NS / (took ? took : 1);
		best = turns > best ? turns : best;
	}
	return best;
}

NI void steady_small(void)
{
	void *p = malloc(100);

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
}

NI void steady_large(void)
{
	void *p = malloc(1000);

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = (uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9), turns, wall;
	int bursts = argc > 2 && !strcmp(argv[2], "bursts");
	unsigned long long small = 0, large = 0;

	turns = turns__measure();
	gate__start();
	wall = now_ns(CLOCK_MONOTONIC);
	for (uint64_t at = 0; at < limit_ns; at = now_ns(CLOCK_MONOTONIC) - wall) {
		int on = !bursts || at % 400000000 < 200000000;

		for (int i = 0; i < 50; i++) {
			turn(turns);
			if (on && i % 5)
				steady_small();
			else if (on)
				steady_large();
		}
		small += on ? 40 : 0;
		large += on ? 10 : 0;
	}
	gate__say("expect steady_small %llu %llu\n", small, small * 100);
	gate__say("expect steady_large %llu %llu\n", large, large * 1000);
	gate__end();
	return 0;
}
