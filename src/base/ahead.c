/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jobs begin in the order of their numbers, so the one that is waited for has always begun or can:
 * when the threads are as far ahead as they may be, all before it are done.
 */
#include "base/ahead.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *run(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (a->next < a->cnt) {
		size_t i = a->next;

		if (i >= a->used + AHEAD_MAX) {
			pthread_cond_wait(&a->changed, &a->lock);
			continue;
		}
		a->next++;
		pthread_mutex_unlock(&a->lock);
		a->job(a->arg, i);
		pthread_mutex_lock(&a->lock);
		a->done[i] = true;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Signals are for the threads that expect them. */
static void staff(struct ahead *a, size_t cnt)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (a->thread_cnt < cnt && !pthread_create(&a->threads[a->thread_cnt], NULL, run, a))
		a->thread_cnt++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ahead__start(struct ahead *a, size_t cnt, void (*job)(void *arg, size_t i), void *arg)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*a = (struct ahead){ .job = job, .arg = arg, .cnt = cnt };
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (cnt < 2 || cpus < 2)
		return;
	a->done = calloc(cnt, sizeof(*a->done));
	if (a->done)
		staff(a, MIN(cnt, MIN((size_t)cpus, AHEAD_THREADS)));
}

void ahead__wait(struct ahead *a, size_t i)
{
	if (!a->thread_cnt) {
		a->job(a->arg, i);
		return;
	}
	pthread_mutex_lock(&a->lock);
	a->used = i;
	pthread_cond_broadcast(&a->changed);
	while (!a->done[i])
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

void ahead__end(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->next = a->cnt;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	for (u32 i = 0; i < a->thread_cnt; i++)
		pthread_join(a->threads[i], NULL);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->changed);
	free(a->done);
}
