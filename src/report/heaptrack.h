/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of heaptrack's writer share. The file is a list of events, a profile holds sums:
 * so heaptrack_split.c finds blocks that have exactly a row's sums, heaptrack.c decides when they
 * come and go, and heaptrack_events.c writes that.
 */
#ifndef REPORT_HEAPTRACK_H
#define REPORT_HEAPTRACK_H

#include <stdio.h>

#include "profile/profile.h"
#include "report/numbered.h"

/* Blocks of one size. */
struct heaptrack_run {
	u64 cnt;
	u64 size;
	u32 info; /* number of its line in the file; 0 is none of them */
};

/* Blocks of one fate: of the mean size, rounded down, and as many as needed of one byte more. */
struct heaptrack_part {
	struct heaptrack_run run[2];
};

enum heaptrack_fate {
	FATE_KEPT,   /* live at the peak, and at the end */
	FATE_PEAK,   /* at the peak only */
	FATE_LATE,   /* at the end only */
	FATE_PASSED, /* at neither */
	FATE_CNT
};

struct heaptrack_split {
	struct heaptrack_part part[FATE_CNT];
	u64 temporary_cnt; /* of FATE_PASSED */
	u64 excess_cnt;	   /* temporary ones that were live at the peak: FATE_PEAK has them */
	bool no_peak;	   /* what the row had at the peak agrees with nothing, and was left out */
};

/*
 * Finds blocks, with sizes in the row's range, that have its sums: those allocated, live at the
 * peak, live at the end. Not every range of a foreign file is true; then sizes may be any. `most`:
 * as many as possible are at both. 0, or -EINVAL: there are no such blocks.
 */
int heaptrack_split__find(const struct allocsnoop_sample *s, bool most,
			  struct heaptrack_split *split);

u64 heaptrack_part__cnt(const struct heaptrack_part *part);
u64 heaptrack_part__bytes(const struct heaptrack_part *part);
u64 heaptrack_part__largest(const struct heaptrack_part *part); /* size; 0: none */

/* ---- all rows ---- */

#define HEAPTRACK_BUFFER 65536

/* When passing blocks of a row come and go. */
enum heaptrack_passing {
	PASS_WITH,  /* beside the row's other blocks */
	PASS_APART, /* before any other row's (first half); when all frees are done (second) */
	PASS_NEVER, /* not in this half */
};

struct heaptrack_row {
	struct heaptrack_split split;
	u32 trace;
	enum heaptrack_passing before, after; /* the peak */
};

struct heaptrack {
	const struct allocsnoop_profile *p;
	FILE *out;
	struct numbered n;
	struct map strings; /* interned text -> its number */
	u32 string_cnt, trace_cnt, info_cnt;
	VEC(struct heaptrack_row) rows; /* in the order of numbered.stacks */
	u64 peak, kept; /* bytes at the peak; of them, bytes that are there at the end */
	u64 peak_ns;
	size_t last;   /* the row whose block makes the peak */
	u64 excess;    /* temporary blocks that can't be shown as such where they belong */
	bool no_peak;  /* some part of the peak is unknown, or contradicts the rest */
	u64 now;       /* bytes that are live */
	u64 done, all; /* events of this half */
	u64 from_ms, to_ms, stamp_ms;
	bool failed; /* the stream: nothing more is of use */
	size_t len;
	char buf[HEAPTRACK_BUFFER];
};

/* Writes all events, and flushes the buffer. The peak's row loses a block if that is temporary. */
void heaptrack__put_events(struct heaptrack *h);

#endif
