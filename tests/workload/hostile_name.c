/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that names itself with what breaks reports: a separator, a newline, an escape sequence
 * for terminals, a byte that is not UTF-8, a quote and a backslash.
 */
#include <stdlib.h>
#include <sys/prctl.h>

#include "gate.h"

static __attribute__((noinline, noclone)) void hostile_work(void)
{
	void *p = malloc(77);

	__asm__ volatile("" : "+r"(p)::"memory");
}

int main(void)
{
	prctl(PR_SET_NAME, "a;b\nc\033[31m\xff\"\\");
	gate__start();
	for (int i = 0; i < 9; i++)
		hostile_work();
	gate__end();
	return 0;
}
