/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile: samples with their stacks, processes and losses. Built once, then immutable. The
 * vocabulary of its rows is the public header's; this file adds how it is built and the views
 * (group, sort) that make another profile from one.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <allocsnoop.h>

#include "base/arena.h"
#include "base/types.h"
#include "base/vec.h"

struct allocsnoop_profile {
	struct arena arena; /* owns every string, frame and frame list */
	struct allocsnoop_info info;
	VEC(struct allocsnoop_sample) samples;
	VEC(struct allocsnoop_process) processes;
	VEC(struct allocsnoop_loss) losses;
};

struct allocsnoop_profile *profile__new(void); /* NULL: out of memory */
void profile__free(struct allocsnoop_profile *p);

/* Copies what it is given (strings are interned in the arena; frames and the frame list must
 * already live in the arena). 0 or -ENOMEM. */
int profile__add_sample(struct allocsnoop_profile *p, const struct allocsnoop_sample *s);
int profile__add_process(struct allocsnoop_profile *p, const struct allocsnoop_process *proc);
/* Counts of 0 are left out; an equal name is added up. */
int profile__add_loss(struct allocsnoop_profile *p, const char *name, const char *text, u64 count);

/* Sums info.alloc_* and info.live_* and the standard errors from the samples. */
void profile__finish(struct allocsnoop_profile *p);

/*
 * Group: a new profile whose samples are sums over the rows that share the key of `by`. BY_STACK
 * merges equal (comm, allocator, names of the frames); BY_PROCESS the same with the pid, so
 * the pid stays; BY_FUNCTION keeps frames 0 and 1 (the caller of the allocator, operator new and
 * the like skipped); BY_FILE the module of that frame; BY_SIZE the size class. The result shares
 * nothing with p. NULL: out of memory.
 *
 * What differs among the rows of a sum is neutral in it: pid 0, comm and allocator "", type NULL,
 * stack_id 0; size_low and size_high span all rows. A BY_FUNCTION frame has neither offset nor
 * line. A BY_FILE row has one frame, whose function and module are the file's path; a BY_SIZE row
 * none. A row whose caller is unknown keeps its `end` and has only the allocator's frame, or none.
 */
struct allocsnoop_profile *profile__group(const struct allocsnoop_profile *p,
					  enum allocsnoop_by by);

/* One row without frames for each (pid, comm), for a table of processes; else as profile__group().
 */
struct allocsnoop_profile *profile__sum_processes(const struct allocsnoop_profile *p);

/* A row's number of the kind asked for, and the profile's total of that kind. */
u64 sample__value(const struct allocsnoop_sample *s, enum allocsnoop_value value);
u64 profile__total(const struct allocsnoop_profile *p, enum allocsnoop_value value);

/* a + b, UINT64_MAX when that overflows: sums of hostile sizes must not wrap to small numbers. */
u64 sum__add(u64 a, u64 b);

/* Sorts rows by the value, descending; ties by the other value, then by names and stack id: stable
 * output. */
void profile__sort(struct allocsnoop_profile *p, enum allocsnoop_value value);

#endif
