/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --max-overhead: a thread that attaches all probes at once and removes them at once, so that what
 * the targets lose stays within the budget. It decides by budget.h, measures by cputimes.h, and
 * what windows saw becomes estimates by duty.h.
 *
 * Locks: session.lock, then governor.lock or cputimes.lock; the governor never takes the session's
 * while it holds one of its own. Removing needs none but its own: it never waits.
 */
#ifndef TRACE_GOVERN_H
#define TRACE_GOVERN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/types.h"
#include "trace/links.h"

struct session;
struct governor;

/* pct: of the targets' CPU time. 0 or -errno, worded. */
int governor__new(struct session *s, double pct, struct governor **out);
void governor__free(struct governor *g);

/* Places what is listed, begins to count. What is listed from now on is placed at once while all
 * is, else with the next window. */
int governor__start(struct governor *g);
/* Ends counting and the thread; all that was counted is in the record then. */
void governor__stop(struct governor *g);

/* Lists places of a file (its path must stay openable until the owner forgets them). owner: whose
 * they are; its own descriptors aren't touched. As kernel__attach(). */
int governor__add(struct governor *g, const struct links *owner, const char *path,
		  const struct probe_place *places, size_t cnt, pid_t pid);
/* Its probes, where they are placed just now, become the owner's. */
void governor__forget(struct governor *g, struct links *owner);

/* Brings what estimates need up to date. Called with the session's lock held. */
void governor__publish(struct governor *g);

struct governor_info {
	bool exact; /* no time without probes so far */
	bool at_least;
	double coverage; /* part of the targets' progress that was counted; < 0 unknown */
	u64 windows;
	double window_ns; /* mean */
	double budget_pct;
	double cost_pct;
};

/* After governor__publish(), with the session's lock held. */
void governor__info(const struct governor *g, struct governor_info *info);

#endif
