/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with a leak as large as it is told: `leak BLOCKS` keeps BLOCKS of 64 bytes that it has
 * forgotten, 100 of 1,000 bytes in a cache, and gives back what it works with. Prints what is live
 * at its end, `live FUNCTION COUNT BYTES`.
 */
#include <stdio.h>
#include <stdlib.h>

#define CACHED 100
#define ROUNDS 300

static void *volatile forgotten;
static void *cache[CACHED];

static void __attribute__((noinline)) leak_here(void)
{
	forgotten = malloc(64);
}

static void __attribute__((noinline)) fill_cache(int i)
{
	cache[i] = malloc(1000);
}

static void __attribute__((noinline)) work(void)
{
	forgotten = malloc(5000);
	free(forgotten);
}

int main(int argc, char **argv)
{
	int blocks = argc > 1 ? atoi(argv[1]) : 0;
	static char out[BUFSIZ];

	setvbuf(stdout, out, _IOFBF, sizeof(out)); /* no buffer of malloc's */
	for (int i = 0; i < blocks; i++)
		leak_here();
	for (int i = 0; i < CACHED; i++)
		fill_cache(i);
	for (int i = 0; i < ROUNDS; i++)
		work();
	printf("live leak_here %d %d\n", blocks, blocks * 64);
	printf("live fill_cache %d %d\n", CACHED, CACHED * 1000);
	printf("live work 0 0\n");
	return 0;
}
