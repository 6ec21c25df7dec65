/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks whose lives are known in time: freed at once, held for 50 ms, gone by and present at the
 * largest moment of the heap, old and new at the end. Prints, besides `expect`, `live` and `freed`
 * SITE COUNT BYTES:
 *   temporary SITE COUNT        freed before the thread's next allocation
 *   held LEAST MOST             ns that each of t_held's blocks lived, measured from inside and
 * outside peak SITE COUNT BYTES       live at the largest moment; of `total`, over all peak_ns
 * BEFORE AFTER        ns from the gate to the peak at least, and from there to the end at least
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "gate.h"

#define SITE	 static __attribute__((noinline, noclone)) void
#define HELD_CNT 100

static void *keep[256];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

SITE t_at_once(void)
{
	for (int i = 0; i < 200; i++)
		free(malloc(64));
	gate__say(
		"expect t_at_once 200 12800\nfreed t_at_once 200 12800\ntemporary t_at_once 200\n");
}

/* Of two only the second one is freed before another is allocated. */
SITE t_pair(void)
{
	for (int i = 0; i < 100; i++) {
		void *first = malloc(10), *second = malloc(20);

		free(first);
		free(second);
	}
	gate__say("expect t_pair 200 3000\nfreed t_pair 200 3000\ntemporary t_pair 100\n");
}

SITE t_never(void)
{
	for (int i = 0; i < 50; i++)
		keep[i] = malloc(30);
	for (int i = 0; i < 49; i++)
		free(keep[i]);
	gate__say("expect t_never 50 1500\nfreed t_never 49 1470\nlive t_never 1 30\n");
	gate__say("temporary t_never 0\n");
}

SITE t_held(void)
{
	uint64_t least = ~0ull, most = 0, before[HELD_CNT], after[HELD_CNT];

	for (int i = 0; i < HELD_CNT; i++) {
		before[i] = now_ns();
		keep[i] = malloc(500);
		after[i] = now_ns();
	}
	usleep(50000);
	for (int i = 0; i < HELD_CNT; i++) {
		uint64_t inside = now_ns() - after[i], outside;

		free(keep[i]);
		outside = now_ns() - before[i];
		least = inside < least ? inside : least;
		most = outside > most ? outside : most;
	}
	gate__say("expect t_held 100 50000\nfreed t_held 100 50000\nheld %llu %llu\n",
		  (unsigned long long)least, (unsigned long long)most);
}

SITE p_a(int at, int cnt)
{
	for (int i = 0; i < cnt; i++)
		keep[at + i] = malloc(10000);
}

SITE p_b(int at, int cnt)
{
	for (int i = 0; i < cnt; i++)
		keep[at + i] = malloc(20000);
}

SITE p_c(int at, int cnt)
{
	for (int i = 0; i < cnt; i++)
		keep[at + i] = malloc(1000);
}

static void drop(int at, int cnt)
{
	for (int i = 0; i < cnt; i++)
		free(keep[at + i]);
}

/* A first hill, a higher one, a third that stays below it. */
static void hills(uint64_t start)
{
	uint64_t before, after;

	p_a(0, 10);
	drop(0, 9);
	p_b(20, 5);
	p_a(0, 9);
	p_c(40, 49);
	before = now_ns();
	p_c(89, 1); /* the largest moment */
	after = now_ns();
	drop(0, 10);
	drop(20, 3);
	p_c(100, 20);
	usleep(20000);
	gate__say("expect p_a 19 190000\nlive p_a 0 0\npeak p_a 10 100000\n");
	gate__say("expect p_b 5 100000\nlive p_b 2 40000\npeak p_b 5 100000\n");
	gate__say("expect p_c 70 70000\nlive p_c 70 70000\npeak p_c 50 50000\n");
	/* With t_never's last block. */
	gate__say("peak total 66 250030\npeak_ns %llu %llu\n", (unsigned long long)(before - start),
		  (unsigned long long)(now_ns() - after));
}

SITE o_old(void)
{
	for (int i = 0; i < 8; i++)
		keep[i] = malloc(80);
}

SITE o_new(void)
{
	for (int i = 0; i < 9; i++)
		keep[i] = malloc(90);
}

/* The old ones are 2.5 seconds old when the new ones come. */
static void ages(void)
{
	o_old();
	usleep(2500000);
	o_new();
	gate__say("expect o_old 8 640\nlive o_old 8 640\nexpect o_new 9 810\nlive o_new 0 0\n");
}

int main(int argc, char **argv)
{
	uint64_t start;

	gate__start();
	start = now_ns();
	if (argc > 1 && !strcmp(argv[1], "ages")) {
		ages();
		_exit(0);
	}
	t_at_once();
	t_pair();
	t_never();
	t_held();
	hills(start);
	gate__end();
	_exit(0);
}
