/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files the moment they are mapped: a thread that does nothing else reads the kernel's events
 * of new mappings, since a process of a millisecond takes its mappings with it. What is opened
 * waits, in order, for whoever studies it. Every other way to see a mapping (iterators at the
 * start, a stop by ptrace, a copy of a stack) comes here, too.
 */
#ifndef TRACE_OPENER_H
#define TRACE_OPENER_H

#include <pthread.h>

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"

struct kernel;
struct ring_buffer;

#define OPENER_GONE_MAX	 1024
#define OPENER_FOUND_MAX 64

struct opened_file {
	u64 hash; /* the kernel's, see struct as_file_key */
	int fd;
	char *path; /* as we see it; " (deleted)" cut off */
	u64 number; /* counts all that were opened */
	bool asked; /* by one who studies it himself, and now */
};

typedef VEC(struct opened_file) opened_files;

struct opener {
	struct kernel *k;
	struct ring_buffer *ring;
	int end_fd; /* eventfd: the thread shall end */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of all that follows */
	struct map known;     /* hash -> 1: has been opened */
	opened_files fresh;
	u64 opened_cnt;
	VEC(u64) undone;	   /* numbers of files that have no table yet, ascending */
	u64 gone[OPENER_GONE_MAX]; /* hashes of files that couldn't be opened, the last ones */
	u32 next_gone;
	struct as_exec_event found[OPENER_FOUND_MAX]; /* where unknown programs were found, the last
							 ones */
	u32 next_found;
	u64 gone_cnt;		 /* files that nobody could open */
	u64 no_fd_cnt;		 /* files left out as there were no descriptors */
	char *no_fd_path;	 /* the first of them; taken by who tells of it */
	void (*more)(void *arg); /* something is fresh, not asked for; called with the lock held */
	void *arg;
};

/* Begins to read events. more: see above; by any thread. Worded. */
int opener__start(struct opener *o, struct kernel *k, void (*more)(void *arg), void *arg);

/* Ends the thread, and forgets all. */
void opener__fini(struct opener *o);

/* A mapping is seen: its file is opened if that wasn't done. By any thread. asked: the caller takes
 * what is fresh. 0 or -ENOMEM. */
int opener__see(struct opener *o, const struct as_map_event *ev, bool asked);

/* Hands over what is fresh, in order; without what was asked for, unless that's wanted, too. */
void opener__take(struct opener *o, bool asked, opened_files *out);

/* Studied to the end, table included. */
void opener__done(struct opener *o, u64 number);

u64 opener__cnt(struct opener *o); /* files opened so far */

/* Are all of the first `cnt` that were opened done? */
bool opener__all_done(struct opener *o, u64 cnt);

/* Its next mapping makes it a new file. */
void opener__forget(struct opener *o, u64 hash);

#endif
