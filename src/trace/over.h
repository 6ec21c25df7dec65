/* SPDX-License-Identifier: BSD-2-Clause */
/* --live: which process images are over, so that the kernel has taken back what they had. */
#ifndef TRACE_OVER_H
#define TRACE_OVER_H

#include "trace/session.h"

struct over {
	const struct session *s;
	struct map newest; /* process -> exec id of its newest image */
};

/* Looks at the images that are known by now. 0 or -ENOMEM. */
int over__init(struct over *o, const struct session *s);
void over__fini(struct over *o);

/* Replaced by execve(2), or ended with its process. What a target that the caller named had at its
 * end stays live: the recording ends with it. */
bool over__has(const struct over *o, const struct recorded_proc *proc);

bool proc__exited(const struct recorded_proc *proc);

#endif
