/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What gets a thread out of a blocking wait for its children: a child that does nothing until it is
 * killed. A signal to the thread would need a handler, which belongs to the program that uses this
 * library; pthread_cancel() needs libgcc_s at run time and unwinds through the callbacks.
 */
#ifndef PROC_WAKER_H
#define PROC_WAKER_H

#include <sys/types.h>

struct waker {
	pid_t pid;   /* 0: none */
	pid_t owner; /* the process it belongs to */
	void *stack;
};

int waker__init(struct waker *w);
void waker__fini(struct waker *w); /* after waker__end() */

/* A new one, child of the calling thread, which has all signals blocked. 0 or -errno. */
int waker__start(struct waker *w);

/* Wakes the thread, from any thread: its wait reports this child. */
void waker__kill(const struct waker *w);

/* By its parent thread: kills and reaps it, when there is one. */
void waker__end(struct waker *w);

#endif
