/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --live of growth: the mappings of each process image, as the kernel tells of them. A mapping may
 * be given back in parts, and moved; each part remembers what it is of. Allocations are summed in
 * the kernel's rows, all that follows here.
 */
#ifndef TRACE_RANGES_H
#define TRACE_RANGES_H

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"

struct live;

/* One mapping, as it was made. */
struct range_origin {
	u64 born; /* CLOCK_MONOTONIC, ns */
	u64 died; /* when the last of it went; meaningless before */
	u64 left; /* bytes still mapped */
	u64 seen; /* the look (struct ranges) that has counted it */
	u32 row;  /* in `live_rows` */
	u32 refs; /* parts, mapped or kept in case they stay */
};

/* A part that is mapped. */
struct range {
	u64 start;
	u64 end;
	struct range_origin *origin;
};

struct range_row {
	u64 live_cnt;
	u64 live_bytes;
	u64 freed_cnt;
	u64 freed_bytes;
	u64 untracked_cnt;
	u64 untracked_bytes;
	u64 life_ns;
	u64 peak_of; /* as in struct as_live_row */
	u64 peak_cnt;
	u64 peak_bytes;
	u32 life[AS_LIFE_CLASSES];
};

struct range_space;

struct ranges {
	struct map spaces;	    /* process image -> struct range_space * */
	struct map leaving;	    /* tid -> struct range_leaving * */
	VEC(struct range_row) rows; /* by row of `live_rows` */
	u64 cnt;		    /* parts */
	u64 max;
	u64 full_cnt; /* mappings not followed, as there were max */
	u64 dropped;  /* out of memory */
	u64 looks;
};

void ranges__fini(struct ranges *r);
void ranges__event(struct ranges *r, const struct as_range_event *ev);

/* Forgets the mappings of a process image that is over. */
void ranges__forget(struct ranges *r, u64 space);

/* The same for good: *heap becomes that of the image, where mappings of it were followed. */
void ranges__take_heap(struct ranges *r, u64 space, struct as_heap *heap);

/* Completes a row that will be another's from now on. */
void ranges__take_row(struct ranges *r, u32 at, struct as_live_row *to);

/* Completes the rows and heaps of a moment of the live heap: first the sums, then the ages. */
void ranges__add_sums(const struct ranges *r, struct live *l);
void ranges__add_ages(struct ranges *r, struct live *l, u64 older_ns, u64 old_ns);

#endif
