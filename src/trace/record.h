/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came out of the kernel so far: stacks and process images from the ring buffer, sums from the
 * tallies. It doesn't grow for ever: fold.h says what is given up, and when.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"
#include "trace/duty.h"

/* In place of a stack's id: it was aged out. (Of 2^64 ids one is the same.) */
#define STACK_AGED 1

struct recorded_stack {
	u64 id;
	u64 proc; /* of the first process seen with it: the frames without a file are its addresses
		   */
	u32 end;  /* AS_END_* */
	u32 frame_cnt;
	u32 used;      /* the newest drain that brought a hit or told of it again */
	bool victim;   /* about to be aged out */
	u32 row_bytes; /* what its rows took when it was last looked at */
	struct as_frame frames[];
};

/* A process image; or, as pid 0, those of one name that have ended and were folded. */
struct recorded_proc {
	u64 proc;
	u64 start_boottime;
	u64 exec_id;  /* grows with each execve(2) of the process */
	u64 exe_file; /* file hash, 0 unknown */
	u32 pid;
	u32 count;		     /* images folded into it; 0: it's one itself */
	u32 over;		     /* AS_OVER_*; 0: it runs */
	u32 over_at;		     /* the newest drain begun by then */
	bool has_rows;		     /* it has allocated */
	bool queued;		     /* among those that may be folded */
	bool leaving;		     /* --live: its rows are being given back */
	struct recorded_proc *group; /* being folded into it */
	struct as_heap heap;	     /* --live: once it was given back; proc 0: not yet */
	char comm[16];
	const char *cgroup; /* path in the unified hierarchy, "" unknown; behind the struct */
};

/* Where threads are told apart: one that has ended. */
struct recorded_thread {
	u64 proc;
	u32 tid;
	char comm[16];
};

struct recorded_row {
	struct as_tally_key key; /* first: see keyed__compact() */
	u64 cnt;
	u64 bytes;
	u32 used;		  /* the newest drain that added to it */
	u32 images;		  /* process images in it */
	struct duty_row *windows; /* --max-overhead: what windows say; NULL: nothing */
};

/* --live: what the kernel has given back. Its image is over: nothing changes any more. */
struct past_row {
	struct as_live_row sums; /* its key first; peak_* are of the image's peak */
	u64 before_cnt;		 /* live when the profile before was taken */
	u64 before_bytes;
	u32 used; /* as in struct recorded_row */
	u32 images;
};

struct record {
	struct map stacks;	       /* id -> struct recorded_stack * */
	struct map finished;	       /* id of one hit -> that of its stack */
	struct map awaited;	       /* id of one hit -> 1: its stack is still to be finished */
	VEC(struct recorded_row) late; /* rows of such hits */
	struct map procs;	       /* proc -> struct recorded_proc * */
	struct map by_pid;	       /* pid -> its newest image */
	struct map threads; /* mix(proc, tid) -> struct recorded_thread *, that have ended */
	VEC(struct recorded_row) rows;
	struct map row_at; /* hash of key -> index */
	VEC(struct past_row) past;
	struct map past_at;
	VEC(u64) ended;	 /* images that are over, the oldest first; 0: not any more */
	size_t ended_at; /* the first that counts */
	u32 drains;	 /* begun so far */
	u32 chosen_at;	 /* the newest one when stacks were chosen to be aged out */
	u32 group_cnt;
	u64 stack_bytes;   /* of `stacks` */
	u64 dropped;	   /* out of memory */
	u64 aged_cnt;	   /* stacks aged out */
	u64 unnamed_cnt;   /* images folded without their names, as there were too many */
	u64 threads_cnt;   /* rows that were told apart by thread, and aren't any more */
	struct duty *duty; /* --max-overhead: what windows counted; else NULL */
};

void record__fini(struct record *r);

void record__stack(struct record *r, const struct as_stack_event *ev);

/* *before: the image of the process that isn't the newest one any more (this one, when it was told
 * of late), NULL none. NULL: known already, or no memory. */
struct recorded_proc *record__proc(struct record *r, const struct as_proc_event *ev,
				   const char *cgroup, struct recorded_proc **before);

/* The stack of this id, which one hit has, will be finished, or not; until then its row waits. */
void record__await(struct record *r, u64 id);

/* A thread has ended. */
void record__thread(struct record *r, const struct as_thread_event *ev);

/* The last name of a thread that has ended; NULL: it lives, or is unknown. */
const char *record__thread_name(const struct record *r, u64 proc, u32 tid);

/* No row waits any more: the stacks that are finished have been. */
void record__settle(struct record *r);

/* The stack of this id, which one hit has, turned out to be that one. */
void record__finished(struct record *r, u64 id, const struct as_stack_event *whole);

/* What the stack of this id turned out to be; the id itself where that is known already. */
u64 record__whole(const struct record *r, u64 id);

/* Takes all rows out of a quiet tally (a map descriptor) and adds them up. 0 or -errno. */
int record__drain(struct record *r, int tally_fd, u32 room);

/* The same with rows at hand. */
void record__add(struct record *r, const struct as_tally_key *keys, const struct as_tally *vals,
		 u32 cnt);

/* Keeps a row that the kernel gives back, and adds to that of the same key. 0 or -ENOMEM. */
int record__past(struct record *r, const struct past_row *row);

/* For maps by key: equal keys have equal hashes. */
u64 tally_key__hash(const struct as_tally_key *key);
bool tally_key__eq(const struct as_tally_key *a, const struct as_tally_key *b);

const struct recorded_stack *record__find_stack(const struct record *r, u64 id);
struct recorded_proc *record__find_proc(const struct record *r, u64 proc);
struct recorded_proc *record__newest(const struct record *r, u32 pid); /* image of the process */

#endif
