/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's stack walk in user space: the same text, over a copy of the stack. For walks that
 * the kernel couldn't finish because a file's rows came later than the hit.
 */
#ifndef TRACE_UNWINDER_H
#define TRACE_UNWINDER_H

#include "abi.h"
#include "base/types.h"
#include "slot.bpf.h"
#include "trace/tables.h"

/* Where a walk looks things up. */
struct unwinder_world {
	const struct tables *tables;
	u32 max_depth; /* frames */
	/* The executable mapping at addr and what is known of its file; false: there is none. */
	bool (*mapping)(void *arg, u64 addr, struct as_mapping *m);
	/* Bytes of a file, all or none. */
	bool (*text)(void *arg, u64 file, u64 off, void *to, u32 size);
	void *arg;
};

struct unwinder {
	const struct unwinder_world *world;
	const struct as_copy_event *copy;
	struct as_slot slot; /* what the walk works in */
};

/*
 * Goes on where the copy was made, behind the first u->slot.ev.frame_cnt frames of u->slot.ev. All
 * frames, the end and the id that the kernel would have given are there then. False: not even the
 * last frame's mapping is known.
 */
bool unwinder__finish(struct unwinder *u, const struct unwinder_world *world,
		      const struct as_copy_event *copy);

#endif
