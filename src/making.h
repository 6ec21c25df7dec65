/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile in the making: what names.c and heap.c share. */
#ifndef MAKING_H
#define MAKING_H

#include "names.h"

struct making {
	struct names *names;
	struct session *s;
	struct allocsnoop_profile *p;
	struct map frames;  /* mix(file, offset) -> struct allocsnoop_frame * */
	struct map stacks;  /* stack id -> struct stack_frames * */
	u64 unknown_stacks; /* allocations whose stack never came */
	struct live live;   /* --live */
	struct map images;  /* --live: proc -> struct image * */
};

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
