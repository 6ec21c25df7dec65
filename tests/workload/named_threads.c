/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that allocate through one function, each another number of blocks. Half of them end at
 * once, the others with the process. They take their names after their first block. `expect NAME
 * COUNT BYTES`.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "gate.h"

#define THREADS 8

static pthread_barrier_t all_done;

static __attribute__((noinline)) void work(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(40);

		(void)p;
	}
}

static void *thread(void *arg)
{
	int n = (int)(intptr_t)arg;
	char name[16];

	work(1);
	snprintf(name, sizeof(name), "worker %d", n);
	prctl(PR_SET_NAME, name);
	work(100 * n);
	if (n % 2)
		return NULL;
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&all_done); /* the main thread has been at its gate */
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_done, NULL, THREADS / 2 + 1);
	gate__start();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)(i + 1));
	for (int i = 0; i < THREADS; i += 2)
		pthread_join(threads[i], NULL);
	work(33);
	pthread_barrier_wait(&all_done);
	for (int i = 1; i <= THREADS; i++)
		gate__say("expect worker_%d %d %d\n", i, 100 * i + 1, 40 * (100 * i + 1));
	gate__say("expect named_threads 33 1320\n");
	gate__end();
	pthread_barrier_wait(&all_done);
	for (int i = 1; i < THREADS; i += 2)
		pthread_join(threads[i], NULL);
	return 0;
}
