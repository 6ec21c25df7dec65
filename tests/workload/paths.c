/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * argv[1] different stacks, each asking for one block in each of argv[2] rounds; argv[3] (0: as
 * many as it can) calls a second. A stack is a number: two functions call each other in the order
 * of its bits. Every round but the last leaves the second half of the stacks out, so their last
 * call is long ago when it comes.
 */
#include <stdlib.h>
#include <time.h>

#include "gate.h"

#define NI   __attribute__((noinline, noclone))
#define BITS 16

static size_t size_of(unsigned path)
{
	return 32 + path % 100;
}

NI void path_end(unsigned path)
{
	void *p = malloc(size_of(path));

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
}

NI void path_one(unsigned path, int bit);

NI void path_zero(unsigned path, int bit)
{
	if (bit == BITS)
		path_end(path);
	else if (path >> bit & 1)
		path_one(path, bit + 1);
	else
		path_zero(path, bit + 1);
	__asm__ volatile("");
}

NI void path_one(unsigned path, int bit)
{
	if (bit == BITS)
		path_end(path);
	else if (path >> bit & 1)
		path_one(path, bit + 1);
	else
		path_zero(path, bit + 1);
	__asm__ volatile("");
}

static void pace(unsigned long long done, unsigned long rate, const struct timespec *start)
{
	unsigned long long ns = done * 1000000000ull / rate;
	struct timespec until = { .tv_sec = start->tv_sec + (time_t)(ns / 1000000000),
				  .tv_nsec = start->tv_nsec + (long)(ns % 1000000000) };

	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int main(int argc, char **argv)
{
	unsigned cnt = argc > 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	unsigned long rate = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	unsigned long long done = 0, bytes = 0;
	struct timespec start;

	if (!cnt || cnt > 1u << BITS || !rounds)
		return 2;
	gate__start();
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned round = 0; round < rounds; round++) {
		unsigned most = round && round + 1 < rounds ? cnt / 2 : cnt;

		for (unsigned path = 0; path < most; path++) {
			path_zero(path, 0);
			bytes += size_of(path);
			if (rate && ++done % 20 == 0)
				pace(done, rate, &start);
			else if (!rate)
				done++;
		}
	}
	gate__say("expect path_end %llu %llu\n", done, bytes);
	gate__end();
	return 0;
}
