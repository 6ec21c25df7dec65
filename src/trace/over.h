/* SPDX-License-Identifier: BSD-2-Clause */
/* Which process images are over. The kernel tells; where its word was lost, we notice later. */
#ifndef TRACE_OVER_H
#define TRACE_OVER_H

#include "trace/session.h"

/* A new image: the one that it has replaced is over. */
void over__proc(struct session *s, const struct as_proc_event *ev);

void over__event(struct session *s, const struct as_over_event *ev);

/* Looks at `cnt` of the images that are said to run, others each time. */
void over__look(struct session *s, u32 cnt);

/* Replaced by execve(2), or ended with its process. What a target that the caller named had at its
 * end stays live: the recording ends with it. */
bool over__has(const struct session *s, const struct recorded_proc *proc);

/* Has the image's process ended? */
bool proc__exited(const struct session *s, const struct recorded_proc *proc);

#endif
