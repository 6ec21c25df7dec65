/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The peak of a heap that two threads fill at once, through the same rows: the highest sum there
 * was, and what the rows had then. Each round is higher than the one before, and at its end both
 * threads stand still with all of it, so the right answer is known.
 */
#include <pthread.h>
#include <sched.h>

#include "heap.h"
#include "../unit/check.h"

#define ROUNDS 15000
#define BLOCKS 4 /* of a thread in a round */
#define ROWS   2
#define SPINS  10000

static u64 arrived, wrong_peaks, wrong_rows;

/* Both leave at the same moment; `n` counts their meetings from 1. */
static void meet(u64 n)
{
	__sync_fetch_and_add(&arrived, 1);
	for (u32 i = 0; __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < 2 * n; i++) {
		if (i > SPINS)
			sched_yield();
	}
}

static struct as_block block_of(u64 round, u32 i)
{
	return (struct as_block){ .size = round, .row = AS_CLASS_CNT + i % ROWS };
}

static void *work(void *arg)
{
	bool first = arg;
	u64 met = 0;

	for (u64 round = 1; round <= ROUNDS; round++) {
		u64 all = 2 * BLOCKS * round;

		meet(++met);
		for (u32 i = 0; i < BLOCKS; i++) {
			struct as_block b = block_of(round, i);

			row__born(&b);
		}
		meet(++met);
		wrong_peaks += first && heap__at(1)->peak_bytes != all;
		meet(++met);
		for (u32 i = 0; i < BLOCKS; i++) {
			struct as_block b = block_of(round, i);

			row__died(&b, 1, false);
		}
		meet(++met);
		wrong_rows += first &&
			      (sums__of(0).peak_bytes != all || sums__of(0).peak_cnt != 2 * BLOCKS);
	}
	return NULL;
}

int main(void)
{
	pthread_t second;

	scene__init(64);
	live_row_cnt = AS_CLASS_CNT + ROWS;
	for (u32 i = 0; i < live_row_cnt; i++)
		row__at(i)->heap = 1;
	heap__at(1); /* it's made when it's first asked for */
	CHECK(!pthread_create(&second, NULL, work, NULL));
	work((void *)1);
	pthread_join(second, NULL);
	CHECK_EQ(wrong_peaks, 0);
	CHECK_EQ(wrong_rows, 0);
	return check__done();
}
