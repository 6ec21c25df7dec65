/* SPDX-License-Identifier: BSD-2-Clause */
/* Eight threads add to one row of the sums as fast as they can: no addition may get lost. */
#include <pthread.h>
#include <stdlib.h>

#include "gate.h"

#define THREADS 8
#define CALLS	50000

static __attribute__((noinline, noclone)) void *thread_work(void *arg)
{
	for (int i = 0; i < CALLS; i++) {
		void *p = malloc(4);

		__asm__ volatile("" : "+r"(p)::"memory");
		free(p);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	gate__start();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_work, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gate__end();
	return 0;
}
