/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What heaptrack's two parts share. heaptrack's file is a list of events, a profile holds sums: so
 * heaptrack_split.c finds blocks that have exactly a row's sums, and heaptrack.c lets them come and
 * go.
 */
#ifndef REPORT_HEAPTRACK_H
#define REPORT_HEAPTRACK_H

#include "profile/profile.h"

/* Blocks of one size. */
struct heaptrack_run {
	u64 cnt;
	u64 size;
	u32 info; /* number of its line in the file; given by heaptrack.c */
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

#endif
