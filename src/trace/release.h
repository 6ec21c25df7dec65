/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets go of files that nobody maps any more: their probes are removed and their descriptors
 * closed, so that no file system stays busy and no deleted file keeps its space; their tables are
 * given back. What the recording names of them stays. Mapped again, such a file is a new one.
 */
#ifndef TRACE_RELEASE_H
#define TRACE_RELEASE_H

#include <stdbool.h>

#include "base/types.h"

struct session;

struct release {
	u64 exits;	/* seen when it was last looked */
	bool again;	/* look once more soon: an exit isn't done with when it's counted */
	u64 looked_ns;	/* CLOCK_MONOTONIC */
	u64 scanned_ns; /* all mappings */
	u64 scan_cost_ns;
	size_t drop_at; /* files that remain, at which it's worth looking for what nothing names */
};

/* Looks whether it's time to look. Without the session's lock, by the thread that polls. */
void release__check(struct session *s);

#endif
