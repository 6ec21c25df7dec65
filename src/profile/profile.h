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
#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

struct allocsnoop_profile {
	struct arena arena; /* owns every string, frame and frame list */
	struct allocsnoop_info info;
	VEC(struct allocsnoop_sample) samples;
	VEC(struct allocsnoop_process) processes;
	VEC(struct allocsnoop_loss) losses;
	VEC(struct allocsnoop_point) points;
};

struct allocsnoop_profile *profile__new(void); /* NULL: out of memory */
void profile__free(struct allocsnoop_profile *p);

/* Copies what it is given (strings are interned in the arena; frames, the frame list and lifetimes
 * must already live in the arena). 0 or -ENOMEM. */
int profile__add_sample(struct allocsnoop_profile *p, const struct allocsnoop_sample *s);
int profile__add_process(struct allocsnoop_profile *p, const struct allocsnoop_process *proc);
/* Counts of 0 are left out; an equal name is added up. */
int profile__add_loss(struct allocsnoop_profile *p, const char *name, const char *text, u64 count);

/* Is some process in a container, pod or service? */
bool profile__has_containers(const struct allocsnoop_profile *p);

/* Sums into info, from the samples: counts and bytes of every kind, and the standard errors. */
void profile__finish(struct allocsnoop_profile *p);

/*
 * Group: a new profile whose samples are sums over the rows that share the key of `by`. BY_STACK
 * merges equal (comm, allocator, names of the frames); BY_PROCESS the same with the pid, so
 * the pid stays, BY_THREAD with pid and tid; BY_TYPE the type; BY_FUNCTION keeps frames 0 and 1
 * (the caller of the allocator, operator new and the like skipped); BY_FILE the module of that
 * frame; BY_SIZE the size class. The result shares nothing with p. NULL: out of memory.
 *
 * What differs among the rows of a sum is neutral in it: pid 0, comm and allocator "", type NULL,
 * stack_id 0; size_low and size_high span all rows. Rows of garbage collectors are never summed
 * with others. A BY_FUNCTION frame has neither offset nor
 * line. A BY_FILE row has one frame, whose function and module are the file's path; a BY_SIZE
 * or BY_TYPE row none. A row whose caller is unknown keeps its `end` and has only the allocator's
 * frame, or none.
 */
struct allocsnoop_profile *profile__group(const struct allocsnoop_profile *p,
					  enum allocsnoop_by by);

/* One row without frames for each (pid, comm), for a table of processes; else as profile__group().
 */
struct allocsnoop_profile *profile__sum_processes(const struct allocsnoop_profile *p);
/* Likewise for each thread. */
struct allocsnoop_profile *profile__sum_threads(const struct allocsnoop_profile *p);

/* The frame to blame: the first above the allocator's that isn't a wrapper of it (operator new and
 * the like). NULL: there is only the allocator's, or none. */
const struct allocsnoop_frame *sample__caller(const struct allocsnoop_sample *s);

/* A row's number of the kind asked for. */
u64 sample__value(const struct allocsnoop_sample *s, enum allocsnoop_value value);

/* Rows of a difference: the number before, what it grew by (saturating), and the variance of that;
 * 0 of values that differences don't have. */
u64 sample__base(const struct allocsnoop_sample *s, enum allocsnoop_value value);
s64 sample__change(const struct allocsnoop_sample *s, enum allocsnoop_value value);
double sample__variance(const struct allocsnoop_sample *s, enum allocsnoop_value value);

/*
 * Filter: a new profile with the rows that `focus` and `ignore` let through, without the frames
 * that `hide`, `lines` and `no_inlines` take away; *view is NULL where that is p as it is. It
 * borrows frames and lists of p. Frames are matched as they are without `hide`, but not those that
 * are left out as inlined. 0, -EINVAL (a bad regular expression) or -ENOMEM; worded.
 */
int profile__filter(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		    struct allocsnoop_profile **view);

/* "rows were chosen: 10 of 200 bytes allocated"; nothing where they weren't. */
void info__say_part(struct str *s, const struct allocsnoop_info *info);

/* Adds the numbers of s to those of `to`: all but the sizes' range and the lifetimes. */
void sample__add(struct allocsnoop_sample *to, const struct allocsnoop_sample *s);
void lifetimes__add(struct allocsnoop_lifetimes *to, const struct allocsnoop_lifetimes *from);
/* All rows as one, without a stack. */
void profile__sum(const struct allocsnoop_profile *p, struct allocsnoop_sample *sum);

/* a + b, UINT64_MAX when that overflows: sums of hostile sizes must not wrap to small numbers. */
u64 sum__add(u64 a, u64 b);

/* Sorts rows by the value (differences: by its change, what shrank most comes last), descending;
 * ties by the other value, then by names and stack id: stable output. */
void profile__sort(struct allocsnoop_profile *p, enum allocsnoop_value value);

/*
 * Rows by a second value, without another copy: pointers to those where it is above 0, the greatest
 * first, ties in the profile's order. The caller frees the list. 0 or -ENOMEM.
 */
typedef u64 (*sample_value_fn)(const struct allocsnoop_sample *s, const void *arg);
int profile__rank(const struct allocsnoop_profile *p, sample_value_fn value, const void *arg,
		  const struct allocsnoop_sample ***rows, size_t *cnt);

/* Processes with live bytes or a peak, by live bytes, then by peak; likewise. */
int profile__rank_processes(const struct allocsnoop_profile *p,
			    const struct allocsnoop_process ***processes, size_t *cnt);

/* Processes that have allocated, by bytes (by_count: by calls), then by pid; likewise. */
int profile__rank_allocators(const struct allocsnoop_profile *p, bool by_count,
			     const struct allocsnoop_process ***processes, size_t *cnt);

#endif
