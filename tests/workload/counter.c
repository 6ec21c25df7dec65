/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates for ever and counts how often, in a page of the file argv[1] that others may map: how
 * fast a program runs is read there, from outside, without asking a tracer. Ends when the file's
 * second word becomes non-zero or after 100 seconds.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "gate.h"

static __attribute__((noinline, noclone)) void counter_work(void)
{
	void *p = malloc(64);

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
}

int main(int argc, char **argv)
{
	volatile uint64_t *word;
	int fd;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDWR);
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED)
		return 2;
	alarm(100);
	gate__start();
	while (!word[1]) {
		counter_work();
		word[0]++;
	}
	gate__say("counted %llu\n", (unsigned long long)word[0]);
	gate__end();
	return 0;
}
