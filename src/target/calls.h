/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who calls whom in one file, by a scan of the bytes: every place that looks like a direct call or
 * jump with a 32-bit distance and hits a function's start. Bytes that only look like one make a
 * caller too many, never one too few, which is the safe side.
 */
#ifndef TARGET_CALLS_H
#define TARGET_CALLS_H

#include "base/types.h"
#include "base/vec.h"

struct text;

struct call {
	u64 from; /* file offset of the branch's opcode */
	u64 to;	  /* of its target */
};

#define CALLS_WINDOW 64 /* bytes after a watched entry to which branches are recorded too */

struct calls {
	VEC(struct call) by_from; /* sorted by from */
	VEC(struct call) by_to;	  /* the same, sorted by to */
	bool cut;		  /* too much code: not all of it was looked at */
};

/*
 * Scans the code (and marks functions whose address is stored or loaded as `taken`). `entries` are
 * file offsets of functions whose first bytes are watched. 0 or -errno.
 */
int calls__scan(struct calls *c, struct text *t, const u64 *entries, size_t entry_cnt);
void calls__free(struct calls *c);

/* The calls made from / that hit [start, end): a piece of the sorted array. */
const struct call *calls__from(const struct calls *c, u64 start, u64 end, size_t *cnt);
const struct call *calls__to(const struct calls *c, u64 start, u64 end, size_t *cnt);

#endif
