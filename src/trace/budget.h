/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may tracing cost now (--max-overhead)? Decisions only, without a clock or a kernel: the
 * governor tells what was used and lost, and is told what to do. Two states: `on`, attached all the
 * time and exact; else one short window in each slot of time. Credit grows with the targets'
 * progress and is spent by what they lose.
 */
#ifndef TRACE_BUDGET_H
#define TRACE_BUDGET_H

#include <stdbool.h>

#include "base/types.h"

#define BUDGET_WINDOW_NS  5000000.0
#define BUDGET_STORM	  0.5 /* of a CPU's time lost to hits: too much for even one window more */
#define BUDGET_PROGRAM_NS 300.0 /* what our program adds to an empty probe, until it's measured */

struct budget {
	double share; /* of the targets' own progress that may be lost: 0.05 */
	u32 cpus;
	bool on;
	double credit;	    /* ns that may be lost now; below 0 too much was */
	double cpu_rate;    /* CPU ns that the targets need per ns, of late */
	double rate_weight; /* of that average, up to 1 */
	double lost_rate;   /* ns lost per ns in a window, of late */
	double own_ns;	    /* of CPU that placing and removing all probes takes, of late */
	u32 windows;	    /* since it isn't on */
	u32 calm;      /* of them the last ones in which staying attached would have been allowed */
	double cpu_ns; /* sums since the start */
	double lost_ns;
};

struct budget_slot {
	u64 len_ns;
	u64 start_ns; /* of the window, from the slot's start */
	u64 open_ns;  /* the window's length */
};

void budget__init(struct budget *b, double share, u32 cpus);

/* Within wall_ns the targets used cpu_ns, lost_ns of it for us (or taken from them by our own
 * threads). True: they must be left alone now, where it is on. */
bool budget__spend(struct budget *b, double wall_ns, double cpu_ns, double lost_ns);

/* Not on any more; lost_rate: what it came to, a guess for the first window. */
void budget__leave(struct budget *b, double lost_rate);

/* The next slot, from what is known before it. at: uniform in [0, 1), where the window shall be. */
struct budget_slot budget__plan(const struct budget *b, double at);

/* A window was open for wall_ns, and the hits in it cost lost_ns; own_ns: placing and removing
 * took. True: it is on again. */
bool budget__window(struct budget *b, double wall_ns, double lost_ns, double own_ns);

#endif
