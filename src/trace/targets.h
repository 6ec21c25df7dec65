/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a session and their probes: every live target has probes in every known
 * allocator. */
#ifndef TRACE_TARGETS_H
#define TRACE_TARGETS_H

#include <stdbool.h>
#include <sys/types.h>

struct session;
struct traced_file;
struct launch_ops;

/* -p: checks the ids (threads give their process) and fills s->pids. Worded. */
int targets__check(struct session *s, const pid_t *pids, size_t cnt);

/* -p and every process: probes in place on return. Worded. */
int targets__attach_pids(struct session *s);
int targets__attach_every(struct session *s);

/* The launcher's callbacks; arg is the session. */
void targets__launch_ops(struct session *s, struct launch_ops *ops);

/* A newly found allocator: probes in every process that has probes of its own, or in all. And the
 * end of them. Called with the lock held, unless it's all. */
int targets__attach_file(struct session *s, struct traced_file *f);
void targets__detach_file(struct session *s, struct traced_file *f);

/* Probes that could not be placed are a loss, and the first file of them is named. */
void targets__tell_unprobed(struct session *s, const char *path, size_t cnt, int err);

/* Ends those whose process has ended (-p); true while any is left. Called with the lock held. */
bool targets__alive(struct session *s);

/* The recording is over: gives what probes it can to the closer. Without the lock. */
void targets__unprobe(struct session *s);

/* Gives all probes to the closer. */
void targets__release(struct session *s);

#endif
