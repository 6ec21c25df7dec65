/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers requests for argv[1] seconds: argv[2] ns of CPU work each (10000), then one allocation by
 * one of twelve functions, in shares from 24 to 1 of 100; with `bursts` as argv[3] it allocates
 * only in the first half of every 400 ms. Prints how long requests took, in ns: `latency MEDIAN
 * P99.9 MAX` (steps of 100, to 0.1 s), and the truth: `expect FUNCTION COUNT BYTES`.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gate.h"
#include "spin.h"

#define NI	   __attribute__((noinline, noclone))
#define BUCKET_NS  100
#define BUCKET_CNT (1 << 20)

static uint32_t took_in[BUCKET_CNT];

#define SHARES(X) \
	X(a, 24)  \
	X(b, 18) X(c, 14) X(d, 11) X(e, 9) X(f, 7) X(g, 5) X(h, 4) X(i, 3) X(j, 2) X(k, 2) X(l, 1)

#define FUNCTION(name, share)                             \
	NI void requests_##name(void)                     \
	{                                                 \
		void *p = malloc(40 + share);             \
		__asm__ volatile("" : "+r"(p)::"memory"); \
		free(p);                                  \
	}
SHARES(FUNCTION)

static const struct kind {
	const char *name;
	void (*allocate)(void);
	uint32_t share;
} kinds[] = {
#define ROW(name, share) { "requests_" #name, requests_##name, share },
	SHARES(ROW)
};
#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

/* A hundred kinds in the order of their turns: spread, so that no stretch of time has another mix.
 */
static void order__make(uint8_t order[100])
{
	uint32_t at = 0;

	memset(order, 0xff, 100);
	for (size_t k = 0; k < KIND_CNT; k++)
		for (uint32_t n = 0; n < kinds[k].share; n++) {
			do
				at = (at + 37) % 100;
			while (order[at] != 0xff && ++at);
			order[at] = (uint8_t)k;
		}
}

static void latency__say(uint64_t cnt)
{
	uint64_t seen = 0, median = 0, late = 0, most = 0;

	for (uint64_t i = 0; i < BUCKET_CNT; i++) {
		if (!took_in[i])
			continue;
		seen += took_in[i];
		if (!median && seen * 2 >= cnt)
			median = i;
		if (!late && seen * 1000 >= cnt * 999)
			late = i;
		most = i;
	}
	gate__say("latency %llu %llu %llu\n", (unsigned long long)median * BUCKET_NS,
		  (unsigned long long)late * BUCKET_NS, (unsigned long long)most * BUCKET_NS);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = (uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9), turns, start, at;
	int bursts = argc > 3 && !strcmp(argv[3], "bursts");
	uint64_t done[KIND_CNT] = { 0 }, cnt = 0;
	uint8_t order[100];

	turns = turns__measure(argc > 2 ? (uint64_t)atoll(argv[2]) : 10000);
	order__make(order);
	memset(took_in, 0, sizeof(took_in));
	gate__start();
	start = now_ns(CLOCK_MONOTONIC);
	for (at = 0; at < limit_ns; cnt++) {
		uint8_t k = order[cnt % 100];
		uint64_t now;

		turn(turns);
		if (!bursts || at % 400000000 < 200000000) {
			kinds[k].allocate();
			done[k]++;
		}
		now = now_ns(CLOCK_MONOTONIC) - start;
		took_in[(now - at) / BUCKET_NS < BUCKET_CNT ? (now - at) / BUCKET_NS
							    : BUCKET_CNT - 1]++;
		at = now;
	}
	latency__say(cnt);
	for (size_t k = 0; k < KIND_CNT; k++)
		gate__say("expect %s %llu %llu\n", kinds[k].name, (unsigned long long)done[k],
			  (unsigned long long)done[k] * (40 + kinds[k].share));
	gate__end();
	return 0;
}
