/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof's format, which is also how profiles are saved: what its writer and its reader share. See
 * profile.proto for the messages and docs/formats.md for what means what.
 */
#ifndef PPROF_PPROF_H
#define PPROF_PPROF_H

#include "profile.pb-c.h"
#include "profile/profile.h"

/* Numbers of the top level's fields, as in profile.proto. */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME = 9,
	PPROF_DURATION = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_RECORDING = 1000,
	PPROF_PROCESS = 1001,
	PPROF_LOSS = 1002,
	PPROF_POINT = 1003,
};

/* What values are, in the order in which we write them; the last two in mode live only. */
enum pprof_column {
	COLUMN_ALLOC_COUNT,
	COLUMN_ALLOC_BYTES,
	COLUMN_LIVE_COUNT,
	COLUMN_LIVE_BYTES,
	COLUMN_CNT,
};

/* clang-format off */
/* Members that have the same name in the message and in the profile. */
#define PPROF_ROW_NUMBERS(X) \
	X(sampled_count) X(freed_count) X(freed_bytes) X(exit_count) X(exit_bytes) \
	X(untracked_count) X(untracked_bytes) X(temporary_count) X(peak_count) X(peak_bytes) \
	X(grown_count) X(grown_bytes) X(old_count) X(old_bytes) X(collected) X(at_least) \
	X(truncated) X(pid) X(pid_cnt) X(tid) X(size_low) X(size_high) X(stack_id) \
	X(base_alloc_count) X(base_alloc_bytes) X(base_live_count) X(base_live_bytes)
/* These are never below 0. */
#define PPROF_ROW_REALS(X) \
	X(alloc_count_var) X(alloc_bytes_var) X(live_count_var) X(live_bytes_var) \
	X(freed_mean_ns) X(live_mean_ns)

#define PPROF_INFO_NUMBERS(X) \
	X(exact) X(duration_ns) X(events) X(failed_count) X(older_ns) X(old_ns) \
	X(unknown_frees) X(grown) X(trace) X(windows) X(at_least) X(started_ns) X(diff) \
	X(base_duration_ns) X(filtered) X(all_alloc_count) X(all_alloc_bytes) \
	X(all_live_count) X(all_live_bytes) X(profile_cnt)
#define PPROF_INFO_REALS(X) \
	X(sampling_value) X(alloc_count_se) X(alloc_bytes_se) X(live_count_se) \
	X(live_bytes_se) X(budget_pct) X(cost_pct) X(window_ns)

#define PPROF_PROCESS_NUMBERS(X) \
	X(pid) X(exited) X(live_count) X(live_bytes) X(peak_bytes) X(peak_count) X(peak_ns) \
	X(rss_anon) X(unknown_frees) X(alloc_count) X(alloc_bytes) X(sampled_count) X(count) \
	X(at_least)
#define PPROF_PROCESS_REALS(X) \
	X(alloc_count_se) X(alloc_bytes_se)

#define PPROF_POINT_NUMBERS(X) \
	X(time_ns) X(alloc_count) X(alloc_bytes) X(live_count) X(live_bytes)
/* clang-format on */

/* A frame 0 for stacks that don't begin with the allocator's function. */
#define PPROF_ALLOCATOR "[allocator]"

/* Reads a heap profile, ours or others'. 0 or -errno, worded. */
int pprof__read(FILE *in, struct allocsnoop_profile **profile);

#endif
