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
	u64 ns; /* they are as they were at some moment after this (CLOCK_MONOTONIC) */
	VEC(struct as_map_event) mappings;
};

struct copies {
	struct unwinder *unwinder;
	const struct as_copy_event *now; /* being finished, */
	const struct look *look;	 /* with these mappings */
	struct look looks[COPIES_LOOKS];
	u32 next;	  /* to replace */
	u64 finished_cnt; /* stacks that have more frames by it */
	u64 told_cnt;	  /* of them */
};

void copies__fini(struct copies *c);

/* A copy has come; its stack is in the record. Called with the session's lock held. */
void copies__finish(struct session *s, const struct as_copy_event *ev);

/* Says how many were finished, when it's more than before. */
void copies__tell(struct session *s);

#endif
