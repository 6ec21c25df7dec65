/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From opened files to probes and unwind tables. Sites come first and are probed at once, tables
 * after: a thread for each. Where a process stands still meanwhile, and before the counting begins,
 * both are done together by whoever asks.
 */
#ifndef TRACE_FINDER_H
#define TRACE_FINDER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

struct session;
struct traced_file;
struct as_map_event;

struct finder {
	pthread_mutex_t study; /* one at a time; taken before the session's lock */
	pthread_mutex_t lock;  /* of all that follows */
	pthread_cond_t changed;
	bool more; /* the opener has something fresh */
	bool ending;
	VEC(struct traced_file *) untabled;
	pthread_t attacher;
	pthread_t tabler;
	bool attaching; /* the threads run */
	bool tabling;
};

/* Starts the opener and the threads. Worded. */
int finder__start(struct session *s);
void finder__fini(struct session *s);

/* The counting has begun: files that were opened meanwhile are the threads' now. */
void finder__wake(struct session *s);

/*
 * Makes all files that were opened known, tables included, and probes them in all targets. The
 * first error; files after it are looked at all the same. stopped: who maps them stands still, so
 * no call was missed.
 */
int finder__study(struct session *s, bool stopped);

/* What a process (0: every one) maps. */
struct scan {
	struct session *s;
	pid_t pid;
	VEC(u64) files; /* hashes, once for each mapping */
	bool allocator; /* some mapped file has one */
	bool libraries; /* some mapped file is a dynamic executable: its libraries may still come */
	struct traced_file *exe; /* the first file without either */
};

/* Looks at all that a process has mapped; new files get probes in all targets. */
int finder__scan(struct session *s, pid_t pid, struct scan *scan);

/* Calls fn for each executable mapping of a process; new files are left to the threads. */
void finder__look(struct session *s, pid_t pid,
		  void (*fn)(void *arg, const struct as_map_event *ev), void *arg);

/* Waits until the first `cnt` files that were opened are done, at most so long; false: they
 * aren't. Without the session's lock. */
bool finder__await(struct session *s, u64 cnt, u32 ms);

#endif
