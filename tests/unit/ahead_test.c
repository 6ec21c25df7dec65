/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jobs ahead: each is done once and before it is waited for, in parallel where there are CPUs, and
 * never more than AHEAD_MAX before their results are used.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "base/ahead.h"
#include "check.h"

#define CNT 1000

static atomic_uint times[CNT], begun, used, too_far;

static void count(void *arg, size_t i)
{
	if (atomic_fetch_add(&begun, 1) >= atomic_load(&used) + AHEAD_MAX)
		atomic_fetch_add(&too_far, 1);
	atomic_fetch_add(&times[i], *(u32 *)arg);
}

static void test_all(size_t cnt)
{
	struct ahead a;
	u32 one = 1, wrong = 0;

	for (size_t i = 0; i < CNT; i++)
		times[i] = 0;
	begun = used = too_far = 0;
	ahead__start(&a, cnt, count, &one);
	for (size_t i = 0; i < cnt; i++) {
		atomic_store(&used, i);
		ahead__wait(&a, i);
		wrong += times[i] != 1;
	}
	ahead__end(&a);
	for (size_t i = 0; i < CNT; i++)
		wrong += times[i] != (i < cnt);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(too_far, 0);
}

/* Ends only when the two jobs are in progress at the same time. */
static void meet(void *arg, size_t i)
{
	(void)i;
	pthread_barrier_wait(arg);
}

static void test_parallel(void)
{
	pthread_barrier_t both;
	struct ahead a;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	CHECK_EQ(pthread_barrier_init(&both, NULL, 2), 0);
	ahead__start(&a, 2, meet, &both);
	ahead__wait(&a, 0);
	ahead__wait(&a, 1);
	ahead__end(&a);
	pthread_barrier_destroy(&both);
}

/* Nobody asks for the results: what hasn't begun never does. */
static void test_early_end(void)
{
	struct ahead a;
	u32 one = 1;

	begun = used = 0;
	ahead__start(&a, CNT, count, &one);
	ahead__end(&a);
	CHECK(begun <= AHEAD_MAX);
}

int main(void)
{
	test_all(0);
	test_all(1);
	test_all(2);
	test_all(CNT);
	test_parallel();
	test_early_end();
	return check__done();
}
