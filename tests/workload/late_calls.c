/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads argv[1], a library with an allocator of its own, and calls that allocator argv[2] times, a
 * millisecond apart; then says how long after the loading each call was. Who probes the library
 * later than that misses the first ones, and no others.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

#include "gate.h"

static void *volatile sink;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static __attribute__((noinline, noclone)) void late_call(void *(*je_malloc)(size_t))
{
	sink = je_malloc(101);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	static long at[2000];
	int cnt = argc == 3 ? atoi(argv[2]) : 0;
	void *lib, *symbol;
	long start;

	if (cnt < 1 || cnt > 2000)
		return 2;
	gate__start();
	lib = dlopen(argv[1], RTLD_NOW);
	symbol = lib ? dlsym(lib, "je_malloc") : NULL;
	if (!symbol)
		return 3;
	start = now_us();
	for (int i = 0; i < cnt; i++) {
		at[i] = now_us() - start;
		late_call((void *(*)(size_t))symbol);
		usleep(1000);
	}
	for (int i = 0; i < cnt; i++)
		gate__say("call %d %ld\n", i, at[i]);
	gate__end();
	return 0;
}
