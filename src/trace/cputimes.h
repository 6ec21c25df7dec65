/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much CPU time the targets have used, by the names of their processes, and how often they were
 * hit. One number for each name that only grows: of the living threads what they have, of the ended
 * ones what they had, and where a process takes another name, what it had before stays with the
 * old one. So the difference of two readings is what was used in between. (A running thread's time
 * is up to a tick old: right on average, as readings come at random times.)
 */
#ifndef TRACE_CPUTIMES_H
#define TRACE_CPUTIMES_H

#include <pthread.h>

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"

struct kernel;

struct cpu_group {
	struct as_group_key key;
	double cpu; /* ns; the sum of the next three */
	u64 alive, dead;
	double adjust;
	u64 open_hits, closed_hits;
	double duty_cpu, duty_lost; /* of all time that isn't counted exactly */
	double mark_cpu;	    /* when the window began */
	u64 mark_hits;
	double window_cpu, window_lost; /* of the window that ended last */
};

/* A process at the last reading. */
struct cpu_proc {
	u32 tgid;
	u32 group;
	u64 ns;
};

struct cputimes {
	pthread_mutex_t lock; /* the governor reads, and whoever makes a profile */
	VEC(struct cpu_group) groups;
	struct map group_at; /* hash of the name -> index */
	VEC(struct cpu_proc) procs;
	struct map proc_at;	   /* tgid -> index */
	VEC(struct cpu_proc) next; /* the reading in progress */
	struct map next_at;
	u64 at_ns;	/* when the last reading was */
	double hit_ns;	/* what a hit costs, by now */
	double trap_ns; /* of that, what an empty program's does */
	/* Sums over all groups since the start. */
	double cpu, lost;
	double exact_cpu, exact_lost; /* of them of time that is counted exactly */
	u64 hits;
	bool out_of_memory;
};

/* A lock that the governor's thread may want while a window is open: whoever holds it runs on in
 * its stead, however busy the machine is. */
void urgent_mutex__init(pthread_mutex_t *m);

void cputimes__init(struct cputimes *c, double trap_ns);
void cputimes__fini(struct cputimes *c);

/* Reads all again. duty: what came since the last time isn't counted exactly. 0 or -errno. */
int cputimes__read(struct cputimes *c, struct kernel *k, bool duty);

/* A window is about to open; it has opened, and the times were read; it has closed, likewise. (Hits
 * that count only while it's open are known before.) */
void cputimes__begin(struct cputimes *c);
void cputimes__mark(struct cputimes *c);
void cputimes__window(struct cputimes *c);

#endif
