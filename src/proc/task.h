/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says about a process. All return 0 or -errno (-ESRCH when it is gone); nothing is
 * worded. */
#ifndef PROC_TASK_H
#define PROC_TASK_H

#include <sys/types.h>

#include "base/types.h"

struct proc_task {
	pid_t tgid; /* the process the id belongs to (ids of threads are accepted) */
	pid_t ppid;
	char comm[16];	 /* of the group leader, as stored (hostile bytes possible) */
	char state;	 /* R S D Z ... */
	u64 start_ticks; /* clock ticks since boot: with tgid it names a process for good */
	bool kernel;	 /* a kernel thread: no address space, ever */
	u32 uid;	 /* real */
	u32 threads;
};

/* The cheap part of it: one file. */
struct proc_ids {
	pid_t tgid;
	pid_t ppid;
	pid_t tracer; /* thread that traces it with ptrace, 0: none */
	u32 uid;      /* real */
	u32 threads;  /* 0: only the shell of a dead process is left */
};

int proc_task__ids(pid_t id, struct proc_ids *ids);

int proc_task__read(pid_t id, struct proc_task *t);
int proc_task__exe(pid_t pid, char *buf, size_t size); /* " (deleted)" cut off */
int proc_task__cputime(pid_t pid, u64 *ns);	       /* user + system of the whole process */

/* Bytes of anonymous memory that the kernel holds for the process; 0 unknown. */
u64 proc_task__rss_anon(pid_t pid);

/* 1 for an ELF64 process, 0 for a 32-bit one, -errno when it can't be told. */
int proc_task__is_64bit(pid_t pid);

/* Calls fn for each process (group leaders only), kernel threads left out. */
int proc_tasks__each(int (*fn)(void *arg, pid_t pid), void *arg);

/* A live thread of the process other than a zombie leader: pid itself unless its leader has exited.
 */
pid_t proc_task__live_thread(pid_t pid);

/* A thread's name, as stored; false when it has ended. */
bool proc_task__thread_comm(pid_t pid, pid_t tid, char comm[16]);

#endif
