/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile in the making: what names.c and heap.c share. */
#ifndef MAKING_H
#define MAKING_H

#include "names.h"

/* Numbers that are rounded, each among its kind. */
enum rounded {
	ROUND_ALLOC_CNT,
	ROUND_ALLOC_BYTES,
	ROUND_LIVE_CNT,
	ROUND_LIVE_BYTES,
	ROUND_FREED_CNT,
	ROUND_FREED_BYTES,
	ROUND_EXIT_CNT,
	ROUND_EXIT_BYTES,
	ROUND_UNTRACKED_CNT,
	ROUND_UNTRACKED_BYTES,
	ROUND_TEMPORARY_CNT,
	ROUND_OLD_CNT,
	ROUND_OLD_BYTES,
	ROUND_GROWN_CNT,
	ROUND_GROWN_BYTES,
	ROUND_LIFE_FREED,
	ROUND_LIFE_LIVE,
	ROUND_MAX
};

struct stack_frames {
	const struct allocsnoop_frame **v;
	u32 cnt;
	enum allocsnoop_end end;
};

struct making {
	struct names *names;
	struct session *s;
	struct allocsnoop_profile *p;
	struct map frames; /* mix(file, offset) -> struct frame_list * */
	struct map stacks; /* stack id -> its place below */
	VEC(struct stack_frames) named;
	u64 unknown_stacks;	/* allocations whose stack never came */
	struct live live;	/* --live */
	struct map images;	/* --live: proc -> struct image * */
	struct map threads;	/* mix(proc, tid) -> its name */
	struct map totals;	/* proc -> struct allocsnoop_sample *, a sum without a stack */
	struct map allocators;	/* struct site * -> its name */
	double left[ROUND_MAX]; /* see estimate__round() */
};

/* ---- frames.c ---- */

/* The frames of a stack, the allocator's first; of a lost one only that. */
int making__name_stack(struct making *m, const struct recorded_stack *raw,
		       const struct traced_site *site, const char *allocator,
		       enum allocsnoop_end lost, struct stack_frames *sf);

/*
 * Looks up the source lines of all that was recorded. Before a profile is made, and without the
 * session's lock, as it may take a while: files are let go by this thread only, so those that are
 * found stay. 0 or -ENOMEM.
 */
int names__find_all_lines(struct names *n, struct session *s);

/* ---- names.c ---- */

/* Makes a row's sample. at: its number. */
int making__row(struct making *m, const struct recorded_row *row, size_t at);

/* ---- heap.c: --live ---- */

/* All rows of the live heap, from the kernel's sums. */
int making__live_rows(struct making *m);

/* The live members of a sample, or a process. */
int sample__live(struct making *m, size_t at, const struct recorded_proc *proc,
		 struct allocsnoop_sample *out);
void process__live(struct making *m, const struct recorded_proc *proc,
		   struct allocsnoop_process *out);

#endif
