/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * argv[1] children, one after the other and argv[3] milliseconds apart, of which each leaves
 * argv[2] blocks behind at its exit. The parent has one block, from first to last. Without children
 * it leaves the blocks itself. argv[4]: see size_of().
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

NI void leaver_leaves(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p)::"memory");
}

/* Within a few powers of two, or, so that a stack has many rows, in `octaves` of them. */
static size_t size_of(unsigned long long i, unsigned octaves)
{
	return octaves ? 16ull << i % octaves : 16 + i % 50;
}

NI void *leaver_stays(void)
{
	return malloc(77);
}

static void leave(unsigned long long blocks, unsigned octaves)
{
	for (unsigned long long i = 0; i < blocks; i++)
		leaver_leaves(size_of(i, octaves));
}

int main(int argc, char **argv)
{
	unsigned long long children = argc > 3 ? strtoull(argv[1], NULL, 10) : 0;
	unsigned long long blocks = argc > 3 ? strtoull(argv[2], NULL, 10) : 0, bytes = 0;
	useconds_t pause = argc > 3 ? (useconds_t)atoi(argv[3]) * 1000 : 0;
	unsigned octaves = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
	void *volatile kept;

	if (!blocks)
		return 2;
	gate__start();
	kept = leaver_stays();
	for (unsigned long long i = 0; i < children; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			leave(blocks, octaves);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 3;
		usleep(pause);
	}
	if (!children) {
		leave(blocks, octaves);
		children = 1;
	}
	for (unsigned long long n = 0; n < blocks; n++)
		bytes += size_of(n, octaves);
	gate__say("expect leaver_leaves %llu %llu\nexpect leaver_stays 1 77\n", children * blocks,
		  children * bytes);
	free(kept);
	gate__end();
	return 0;
}
