/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks that ended in the kernel at a file that was new: finished here, once the file has its
 * table, from the copy of the stack that the kernel sent.
 */
#ifndef TRACE_COPIES_H
#define TRACE_COPIES_H

#include "abi.h"
#include "base/types.h"
#include "base/vec.h"

struct session;
struct unwinder;

#define COPIES_LOOKS 16

/* The executable mappings of a process. */
struct look {
	u32 tgid;
	u32 user_cnt;
	u64 ns; /* they are as they were at some moment after this (CLOCK_MONOTONIC) */
	VEC(struct as_map_event) mappings;
};

/* A copy that waits for the tables of its files. */
struct waiting_copy {
	struct as_copy_event *ev;
	struct look *look;
	u64 file_cnt; /* so many files were opened by then: all of its own are among them */
};

struct copies {
	struct unwinder *unwinder;
	const struct as_copy_event *now; /* being finished, */
	const struct look *look;	 /* with these mappings */
	struct look *looks[COPIES_LOOKS];
	u32 next;			  /* to replace */
	VEC(struct waiting_copy) waiting; /* in order */
	size_t first;			  /* of them; those before are done */
	u64 bytes;			  /* that wait */
	u64 finished_cnt;		  /* stacks that have more frames by it */
	u64 told_cnt;			  /* of them */
	u64 limited_cnt;		  /* copies that couldn't wait long enough */
};

void copies__fini(struct copies *c);

/* These are called with the session's lock held. A copy has come; its stack is in the record. */
void copies__take(struct session *s, const struct as_copy_event *ev);

/* Finishes those whose files are done. */
void copies__work(struct session *s);

/* Finishes all that wait, however far that gets them. */
void copies__end(struct session *s);

/* What the last one waits for; see opener__all_done(). */
u64 copies__await_cnt(const struct copies *c);

#endif
