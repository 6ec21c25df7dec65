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
#include "spin.h"

#define NI	__attribute__((noinline, noclone))
#define EACH_NS 20000

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

	turns = turns__measure(EACH_NS);
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
