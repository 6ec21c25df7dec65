/* SPDX-License-Identifier: BSD-2-Clause */
/* What the library says while `top` has the screen: kept to be looked at. It comes from several
 * threads. */
#ifndef CLI_TOP_NOTES_H
#define CLI_TOP_NOTES_H

#include <allocsnoop.h>
#include <pthread.h>

#include "base/types.h"

#define TOP_NOTES_MAX 100 /* the newest ones */

struct top_notes {
	pthread_mutex_t lock;
	int verbosity; /* -1 quiet, 0, 1 verbose */
	char *lines[TOP_NOTES_MAX];
	size_t cnt;    /* said so far; number i is in lines[i % TOP_NOTES_MAX] */
	size_t unread; /* since the last call of top_notes__take_news() */
};

void top_notes__init(struct top_notes *n, int verbosity);
void top_notes__fini(struct top_notes *n);

/* An allocsnoop_log_fn; arg is the struct top_notes. */
void top_notes__log(void *arg, enum allocsnoop_log_level level, const char *line);

/* A copy of the i-th of those that are kept, the oldest first; the caller frees it. NULL past the
 * last. */
char *top_notes__get(struct top_notes *n, size_t i);

/* A copy of the newest line where there is one since the last call, else NULL. */
char *top_notes__take_news(struct top_notes *n);

#endif
