/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbered jobs that take long, done by threads ahead of the one that uses their results in order.
 * Only so far ahead that few results wait, however many jobs there are.
 */
#ifndef BASE_AHEAD_H
#define BASE_AHEAD_H

#include <pthread.h>

#include "base/types.h"

#define AHEAD_THREADS 16 /* at most; else as many as there are CPUs */
#define AHEAD_MAX     32 /* results that wait, at most */

struct ahead {
	void (*job)(void *arg, size_t i);
	void *arg;
	size_t cnt;
	size_t next; /* job to begin */
	size_t used; /* jobs whose results aren't needed any more */
	bool *done;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[AHEAD_THREADS];
	u32 thread_cnt; /* 0, for a single job or when none can be had: ahead__wait() does them */
};

/* Begins jobs 0 to cnt - 1. */
void ahead__start(struct ahead *a, size_t cnt, void (*job)(void *arg, size_t i), void *arg);

/* Returns when job i is done. To be called for 0, 1, 2 and on: those before i count as used. */
void ahead__wait(struct ahead *a, size_t i);

/* Jobs that haven't begun are left out. */
void ahead__end(struct ahead *a);

#endif
