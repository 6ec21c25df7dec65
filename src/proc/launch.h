/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts COMMAND and follows its children with ptrace, so that probes are in place before any of
 * them runs a single instruction of a new program. Knows nothing of BPF: it stops processes at the
 * moments that matter and calls back. PTRACE_SEIZE with TRACEFORK | TRACEVFORK | TRACECLONE |
 * TRACEEXEC only; never EXITKILL, never SIGSTOP: when this process is killed the kernel lets all of
 * them run on.
 */
#ifndef PROC_LAUNCH_H
#define PROC_LAUNCH_H

#include <sys/types.h>

#include "base/types.h"

struct launch;

struct launch_ops {
	/* A new process (not a thread) is stopped before its first instruction. shares_mm: it still
	 * runs in its parent's address space (vfork, CLONE_VM). Called for COMMAND itself with
	 * parent 0, while it waits in our own image for launch__go(). parent is the process that
	 * made it; when that was killed in the same moment it may be gone already, or be the one
	 * that adopted the orphan, which is no tracee. */
	void (*born)(void *arg, pid_t pid, pid_t parent, bool shares_mm);
	/* pid has just exec'ed and is stopped before its first instruction; former is the thread
	 * that called exec: when it isn't pid, the old leader is gone and per-task probes must be
	 * placed again. */
	void (*exec)(void *arg, pid_t pid, pid_t former);
	/* Thread tid of pid stopped by a signal that the kernel side sent (si_code SI_KERNEL): true
	 * when it was ours (then it is swallowed), false to deliver it. */
	bool (*stop)(void *arg, pid_t pid, pid_t tid, int sig);
	/* The process is gone. */
	void (*gone)(void *arg, pid_t pid, int wait_status);
	void *arg;
};

struct rlimit;

struct launch_opts {
	char *const *argv; /* NULL-terminated; searched in PATH */
	const char *user;  /* NULL: unchanged; else uid, gid, groups, HOME, USER, LOGNAME, SHELL of
			      that user */
	const struct rlimit *nofile; /* COMMAND's RLIMIT_NOFILE; NULL: as the caller's is now */
};

/*
 * Forks a helper thread that owns the tracees and COMMAND itself, stopped before its exec. All
 * callbacks run on that thread. Returns when COMMAND is seized and ops.born has been called for it,
 * so that the caller can finish its set-up; launch__go() lets it exec. -ENOENT/-EACCES: COMMAND
 * can't be found or executed (checked before anything is started), -EINVAL unknown user: worded.
 * opts is borrowed until it returns, ops.arg until launch__free(). While a launch lives no other
 * thread of this process may wait for just any child (pid -1 without __WNOTHREAD): it would take
 * the tracees' reports away. Descriptors without O_CLOEXEC are inherited, as by any exec.
 */
int launch__start(const struct launch_opts *opts, const struct launch_ops *ops, struct launch **l);

/* Lets COMMAND exec. Returns 0 once the exec succeeded and ops.exec has returned, or its -errno,
 * worded. */
int launch__go(struct launch *l);

pid_t launch__pid(const struct launch *l);

/* True when no tracee is left (also those whose parent has ended before them are waited for). */
bool launch__done(const struct launch *l);

/* COMMAND's wait status; -EAGAIN while it runs. */
int launch__exit_status(const struct launch *l, int *wait_status);

/* An eventfd that becomes readable when the last tracee is gone. */
int launch__done_fd(const struct launch *l);

/*
 * Lets every tracee run on untraced, ends the thread, frees. NULL is fine. A COMMAND that hasn't
 * exec'ed yet is killed and reaped; one that runs stays a child of this process, which may wait for
 * it. Not from a callback.
 */
void launch__free(struct launch *l);

#endif
