/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of one or several profiles, summed where their keys are equal: what the views (group.c),
 * differences (diff.c) and sums of profiles (merge.c) are made with.
 */
#ifndef PROFILE_GROUP_H
#define PROFILE_GROUP_H

#include "profile/profile.h"

struct view;
struct group;

/* Rows of a difference: by all labels but ids of processes and threads, and by names. */
extern const struct view view_diff;
/* Rows of a sum of profiles: by all labels and all that is known of the frames. */
extern const struct view view_merge;

/* Where a row comes from. */
struct origin {
	u32 profile;	     /* which of them */
	u32 pid;	     /* there: rows whose pid is 0 may be of several */
	size_t counted_from; /* rows of `to` below this one don't count it in pid_cnt */
};

/* Can these be compared, or added up? `what` is said to be impossible else. 0 or -EINVAL, worded.
 */
int info__check_alike(const struct allocsnoop_info *a, const struct allocsnoop_info *b,
		      const char *what);

/* Rows are added to `to`, whose info says whether they are of a difference. NULL: out of memory. */
struct group *group__new(struct allocsnoop_profile *to, const struct view *view);

/* Adds the row, which is copied, frames too. 0 or -ENOMEM. */
int group__add(struct group *g, const struct allocsnoop_sample *s, struct origin from);

void group__free(struct group *g);

#endif
