/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A moment of the live heap: the kernel's sums, which count since the start, and the ages of the
 * blocks that are live now.
 */
#ifndef TRACE_LIVE_H
#define TRACE_LIVE_H

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"

struct session;

struct live_row {
	struct as_live_row sums; /* peak_cnt and peak_bytes are of the newest peak */
	/* Of the blocks found that are at least older_ns old: */
	u64 older_cnt;
	u64 older_bytes;
	u64 age_ns;  /* sum */
	u64 old_cnt; /* at least old_ns */
	u64 old_bytes;
	u32 ages[AS_LIFE_CLASSES];
	u64 before_cnt; /* live when the profile before was taken */
	u64 before_bytes;
	u32 images; /* process images in it */
};

struct live {
	VEC(struct live_row) rows; /* the first AS_CLASS_CNT have no stack; empty ones are unused */
	size_t kernel_row_cnt;	   /* the others behind them were given back */
	VEC(struct as_heap) heaps;
	struct map heap_at; /* proc -> index */
	u64 now_ns;	    /* CLOCK_MONOTONIC */
};

/* Copies the sums and looks at each block and each mapping. 0 or -errno. */
int live__take(struct live *l, struct session *s);
/* Adds what is live now, to its row. */
void live__add_age(struct live *l, const struct as_block *b, u64 older_ns, u64 old_ns);
void live__fini(struct live *l);

/* What is live by the sums. */
u64 live_row__cnt(const struct live_row *r);
u64 live_row__bytes(const struct live_row *r);

u64 live_sums__cnt(const struct as_live_row *r);
u64 live_sums__bytes(const struct as_live_row *r);

/* Adds the numbers. */
void live_sums__add(struct as_live_row *to, const struct as_live_row *from);

/* Adds the numbers of another row of the same process image. */
void live_row__add(struct live_row *to, const struct live_row *from);

/* The heap of a process image, NULL when it had no room or no block. */
const struct as_heap *live__heap(const struct live *l, u64 proc);

#endif
