/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library of late_library.c: late_run() asks for blocks at the end of a chain of functions
 * whose frames have different sizes. Built without frame pointers: only its unwind rows say where
 * they are.
 */
#include <stdlib.h>

#define NI	__attribute__((noinline, noclone))
#define FENCE() __asm__ volatile("" ::: "memory")

static void *volatile sink;

NI static void late_0(unsigned long i)
{
	sink = malloc(1000);
	FENCE();
	free(sink);
	FENCE();
	(void)i;
}

#define LATE(n, next)                                   \
	NI static void late_##n(unsigned long i)        \
	{                                               \
		volatile unsigned long room[1 + n * 3]; \
                                                        \
		room[n] = i;                            \
		next(i + room[n]);                      \
		FENCE();                                \
		room[0] = i;                            \
	}

LATE(1, late_0)
LATE(2, late_1)
LATE(3, late_2)
LATE(4, late_3)
LATE(5, late_4)
LATE(6, late_5)
LATE(7, late_6)
LATE(8, late_7)
LATE(9, late_8)
LATE(10, late_9)
LATE(11, late_10)
LATE(12, late_11)

void late_run(unsigned long times);

void late_run(unsigned long times)
{
	for (unsigned long i = 0; i < times; i++)
		late_12(i);
	FENCE();
}
