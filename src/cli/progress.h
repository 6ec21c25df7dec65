/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording says on standard error while it runs: on a terminal one line that is redrawn and
 * erased at the end, elsewhere one line at the start. The library's log comes from other threads
 * and must not be mixed into the line, so everything goes through one lock.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <allocsnoop.h>
#include <pthread.h>

#include "base/types.h"

struct progress {
	pthread_mutex_t lock;
	int verbosity; /* -1 quiet, 0, 1 verbose */
	bool terminal;
	bool started;	 /* the line at the start was said */
	int width;	 /* of the line on the screen; 0: there is none */
	u64 drawn_ns;	 /* elapsed when it was drawn last */
	u64 last_events; /* and the events then */
};

void progress__init(struct progress *p, int verbosity);

/* Says the line at the start, once; after the first poll, when COMMAND has mapped its libraries,
 * and not at all when it has ended by then. */
void progress__start(struct progress *p, struct allocsnoop *session, bool command);

/* Redraws the line when a quarter of a second has passed. */
void progress__draw(struct progress *p, struct allocsnoop *session);
void progress__erase(struct progress *p);

/* An allocsnoop_log_fn; arg is the struct progress. */
void progress__log(void *arg, enum allocsnoop_log_level level, const char *line);

void progress__fini(struct progress *p);

#endif
