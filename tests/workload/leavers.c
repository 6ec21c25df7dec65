/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * argv[1] children, one after the other and argv[3] milliseconds apart, of which each leaves
 * argv[2] blocks behind at its exit. The parent has one block, from first to last. Without children
 * it leaves the blocks itself.
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

NI void *leaver_stays(void)
{
	return malloc(77);
}

static void leave(unsigned long long blocks)
{
	for (unsigned long long i = 0; i < blocks; i++)
		leaver_leaves(16 + i % 50);
}

int main(int argc, char **argv)
{
	unsigned long long children = argc > 3 ? strtoull(argv[1], NULL, 10) : 0;
	unsigned long long blocks = argc > 3 ? strtoull(argv[2], NULL, 10) : 0, bytes = 0;
	useconds_t pause = argc > 3 ? (useconds_t)atoi(argv[3]) * 1000 : 0;
	void *volatile kept;

	if (!blocks)
		return 2;
	gate__start();
	kept = leaver_stays();
	for (unsigned long long i = 0; i < children; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			leave(blocks);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 3;
		usleep(pause);
	}
	if (!children) {
		leave(blocks);
		children = 1;
	}
	for (unsigned long long n = 0; n < blocks; n++)
		bytes += 16 + n % 50;
	gate__say("expect leaver_leaves %llu %llu\nexpect leaver_stays 1 77\n", children * blocks,
		  children * bytes);
	free(kept);
	gate__end();
	return 0;
}
