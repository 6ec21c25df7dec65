/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes from 256 bytes to 64 KiB, small ones often and large ones seldom, from one function; with
 * `large` as argv[2] every thousandth is a megabyte: far below, about and far above the interval of
 * a byte sampler. No rate of calls can estimate bytes well when so few calls hold most of them, so
 * that is left out where calls are sampled. Prints the truth: `expect COUNT BYTES`. The seed is
 * fixed, every run allocates the same; argv[1] is the number of calls.
 */
#include <stdint.h>
#include <stdlib.h>

#include "gate.h"

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Four times as large is half as frequent, so each of the four groups has its share of the bytes.
 */
static size_t pick(void)
{
	size_t low = (size_t)256 << 2 * __builtin_ctzll(next() | 1ull << 3);

	return low + next() % (3 * low);
}

static __attribute__((noinline, noclone)) void mixed_work(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 30000;
	int large = argc > 2 && !strcmp(argv[2], "large");
	uint64_t bytes = 0;

	gate__start();
	for (int i = 0; i < calls; i++) {
		size_t size = large && i % 1000 == 0 ? 1 << 20 : pick();

		mixed_work(size);
		bytes += size;
	}
	gate__say("expect %d %llu\n", calls, (unsigned long long)bytes);
	gate__end();
	return 0;
}
