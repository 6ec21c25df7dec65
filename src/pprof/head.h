/* SPDX-License-Identifier: BSD-2-Clause */
/* What a written profile says of the recording as a whole. */
#ifndef PPROF_HEAD_H
#define PPROF_HEAD_H

#include "pprof/out.h"

/* Sample types (the one of this value is what pprof shows unless it's asked for another), period,
 * times, comments for people, and all that our reader wants beside them. */
void head__write(struct out *o, const struct allocsnoop_profile *p, enum allocsnoop_value value);

#endif
