/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a session and their probes: every live target has probes in every known
 * allocator. */
#ifndef TRACE_TARGETS_H
#define TRACE_TARGETS_H

#include <stdbool.h>
#include <sys/types.h>

struct session;
struct as_map_event;
struct launch_ops;

/* -p: checks the ids (threads give their process) and fills s->pids. Worded. */
int targets__check(struct session *s, const pid_t *pids, size_t cnt);

/* -p and every process: probes in place on return. Worded. */
int targets__attach_pids(struct session *s);
int targets__attach_every(struct session *s);

/* The launcher's callbacks; arg is the session. */
void targets__launch_ops(struct session *s, struct launch_ops *ops);

/* A target has mapped a file that isn't known: make it so. Called with the lock held. */
void targets__map(struct session *s, const struct as_map_event *ev);

/* Makes all that a process has mapped known, and calls fn for each executable mapping of it. Called
 * with the lock held. */
void targets__look(struct session *s, pid_t pid,
		   void (*fn)(void *arg, const struct as_map_event *ev), void *arg);

/* Ends those whose process has ended (-p); true while any is left. Called with the lock held. */
bool targets__alive(struct session *s);

/* Gives all probes to the closer. */
void targets__release(struct session *s);

#endif
