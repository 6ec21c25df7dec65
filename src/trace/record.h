/* SPDX-License-Identifier: BSD-2-Clause */
/* What came out of the kernel so far: stacks and process images from the ring buffer, sums from the
 * tallies. */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include "abi.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"

struct recorded_stack {
	u64 id;
	u64 proc; /* of the first process seen with it: the frames without a file are its addresses
		   */
	u32 end;  /* AS_END_* */
	u32 frame_cnt;
	struct as_frame frames[];
};

struct recorded_proc {
	u64 proc;
	u64 start_boottime;
	u64 exec_id;  /* grows with each execve(2) of the process */
	u64 exe_file; /* file hash, 0 unknown */
	u32 pid;
	char comm[16];
	const char *cgroup; /* path in the unified hierarchy, "" unknown */
};

struct recorded_row {
	struct as_tally_key key;
	u64 cnt;
	u64 bytes;
};

struct record {
	struct arena arena;
	struct map stacks;   /* id -> struct recorded_stack * */
	struct map finished; /* id of one hit -> that of its stack */
	struct map procs;    /* proc -> struct recorded_proc * */
	VEC(struct recorded_row) rows;
	struct map row_at; /* hash of key -> index */
	u64 dropped;	   /* out of memory */
};

void record__fini(struct record *r);

void record__stack(struct record *r, const struct as_stack_event *ev);
void record__proc(struct record *r, const struct as_proc_event *ev, const char *cgroup);

/* The stack of this id, which one hit has, turned out to be that one. */
void record__finished(struct record *r, u64 id, const struct as_stack_event *whole);

/* What the stack of this id turned out to be; the id itself where that is known already. */
u64 record__whole(const struct record *r, u64 id);

/* Takes all rows out of a quiet tally (a map descriptor) and adds them up. 0 or -errno. */
int record__drain(struct record *r, int tally_fd, u32 room);

/* For maps by key: equal keys have equal hashes. */
u64 tally_key__hash(const struct as_tally_key *key);
bool tally_key__eq(const struct as_tally_key *a, const struct as_tally_key *b);

const struct recorded_stack *record__find_stack(const struct record *r, u64 id);
const struct recorded_proc *record__find_proc(const struct record *r, u64 proc);

#endif
