/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of what a profile owns, for the views and sums that are made from others. */
#ifndef PROFILE_COPY_H
#define PROFILE_COPY_H

#include "profile/profile.h"

/* The frame with its strings, in the arena; NULL: out of memory. */
struct allocsnoop_frame *frame__copy(struct arena *a, const struct allocsnoop_frame *f);

/* The strings of info that aren't the struct's own: into the arena. 0 or -ENOMEM. */
int info__copy(struct arena *a, struct allocsnoop_info *to, const struct allocsnoop_info *from);

/* Appends. 0 or -ENOMEM. */
int profile__copy_processes(struct allocsnoop_profile *to, const struct allocsnoop_profile *from);
int profile__copy_losses(struct allocsnoop_profile *to, const struct allocsnoop_profile *from);
int profile__copy_points(struct allocsnoop_profile *to, const struct allocsnoop_profile *from);

/* All that isn't a row. */
int profile__copy_rest(struct allocsnoop_profile *to, const struct allocsnoop_profile *from);

#endif
