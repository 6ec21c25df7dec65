/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows processes and their mappings, and keeps the probes where they belong. */
#include "trace/targets.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "proc/launch.h"
#include "proc/task.h"
#include "trace/session.h"

static struct target *targets__find(struct session *s, pid_t pid)
{
	u64 val;

	return map__get(&s->targets, pid, &val) ? (void *)(uintptr_t)val : NULL;
}

static struct target *targets__add(struct session *s, pid_t pid, u32 flags)
{
	struct target *t = calloc(1, sizeof(*t));

	if (!t || map__put(&s->targets, pid, (uintptr_t)t)) {
		free(t);
		s->losses[LOSS_MEMORY]++;
		return NULL;
	}
	t->pid = pid;
	t->pidfd = -1;
	if (kernel__set_proc(&s->kernel, pid, flags))
		s->losses[LOSS_ATTACH_FAILED]++;
	return t;
}

static void target_file__free(struct session *s, struct target_file *probed)
{
	session__detach(s, &probed->links, probed->file->hash);
	free(probed);
}

static void target__detach(struct session *s, struct target *t)
{
	for (size_t i = 0; i < t->probed.cnt; i++)
		target_file__free(s, t->probed.v[i]);
	vec__free(&t->probed);
}

static void target__free(struct session *s, struct target *t)
{
	target__detach(s, t);
	if (t->pidfd >= 0)
		close(t->pidfd);
	free(t);
}

static void targets__remove(struct session *s, pid_t pid)
{
	struct target *t = targets__find(s, pid);

	if (!t)
		return;
	map__del(&s->targets, pid);
	if (!s->follow) /* else the kernel side does, and the number may be a child's by now */
		kernel__set_proc(&s->kernel, pid, 0);
	target__free(s, t);
}

/* ---- probes ---- */

void targets__tell_unprobed(struct session *s, const char *path, size_t cnt, int err)
{
	s->losses[LOSS_ATTACH_FAILED] += cnt;
	if (s->unprobed_told)
		return;
	s->unprobed_told = true;
	if (err == -EMFILE || err == -ENFILE)
		session__log(s, ALLOCSNOOP_WARN,
			     "no descriptors are left: no probes in '%s', nor in files found "
			     "later; raise the hard limit, ulimit -Hn",
			     path);
	else
		session__log(s, ALLOCSNOOP_WARN, "cannot place probes in '%s': %s", path,
			     strerror(-err));
}

/* The thread that has found the file and the one that has found the process may both come here. */
static bool target__has(const struct target *t, const struct traced_file *f)
{
	for (size_t i = 0; i < t->probed.cnt; i++) {
		if (t->probed.v[i]->file == f)
			return true;
	}
	return false;
}

static int target__attach_file(struct session *s, struct target *t, struct traced_file *f)
{
	/* A thread that lives: of a process whose leader has ended, the leader's own task has no
	 * address space. */
	pid_t task = s->launch ? t->pid : proc_task__live_thread(t->pid);
	struct target_file *probed;
	int err;

	if (!f->places.cnt || target__has(t, f))
		return 0;
	probed = calloc(1, sizeof(*probed));
	if (!probed)
		return -ENOMEM;
	probed->file = f;
	err = session__attach(s, &probed->links, f->fd_path, f->places.v, f->places.cnt, task);
	if (!err)
		err = vec__push(&t->probed, probed);
	if (err) {
		session__detach_now(s, &probed->links);
		free(probed);
	}
	if (err && err != -ESRCH)
		targets__tell_unprobed(s, f->path, f->places.cnt, err);
	return err;
}

/* Probes in every allocator known so far: one that can't be probed hides none of the others. */
static int target__attach(struct session *s, struct target *t)
{
	int err, first = 0;

	t->attached = true;
	for (size_t i = 0; i < s->files.all.cnt && first != -ESRCH; i++) {
		err = target__attach_file(s, t, s->files.all.v[i]);
		if (err && !first)
			first = err;
	}
	return first;
}

int targets__attach_file(struct session *s, struct traced_file *f)
{
	int err = 0, first = 0;
	u64 pid, val;

	if (!f->places.cnt)
		return 0;
	if (s->every || s->follow) {
		err = session__attach(s, &f->links, f->fd_path, f->places.v, f->places.cnt,
				      LINKS_ALL_PROCESSES);
		if (err)
			targets__tell_unprobed(s, f->path, f->places.cnt, err);
		return err;
	}
	for (size_t i = 0; map__next(&s->targets, &i, &pid, &val);) {
		struct target *t = (void *)(uintptr_t)val;

		err = t->attached ? target__attach_file(s, t, f) : 0;
		if (err && err != -ESRCH && !first)
			first = err;
	}
	return first;
}

static void target__detach_file(struct session *s, struct target *t, const struct traced_file *f)
{
	for (size_t i = 0; i < t->probed.cnt; i++) {
		if (t->probed.v[i]->file != f)
			continue;
		target_file__free(s, t->probed.v[i]);
		t->probed.v[i--] = t->probed.v[--t->probed.cnt];
	}
}

void targets__detach_file(struct session *s, struct traced_file *f)
{
	u64 pid, val;

	session__detach(s, &f->links, f->hash);
	for (size_t i = 0; map__next(&s->targets, &i, &pid, &val);)
		target__detach_file(s, (void *)(uintptr_t)val, f);
}

static void file__tell_no_allocator(struct session *s, struct traced_file *f)
{
	if (!f || f->told || s->probes.only || !s->files.probed)
		return;
	f->told = true;
	session__log(s, ALLOCSNOOP_WARN, "no allocator symbols in '%s'%s", f->path,
		     f->sites.has_symbols ? ""
					  : ": it is stripped, so its allocations can't be seen");
}

/* ---- -p ---- */

static int pid__check(pid_t id, struct proc_task *t)
{
	int err;

	if (id <= 0) {
		err = err__fail(-EINVAL, "process id %d: not a process", (int)id);
		err__hint("without -p every process is traced");
		return err;
	}
	if (proc_task__read(id, t) || proc_task__live_thread(t->tgid) < 0) {
		err = err__fail(-ESRCH, "process %d: no such process", (int)id);
		err__hint("it may have ended; start it under allocsnoop: allocsnoop -- COMMAND");
		return err;
	}
	if (t->kernel) {
		err = err__fail(
			-EINVAL,
			"process %d ('%s') is a kernel thread: it has no user-space allocator",
			(int)id, t->comm);
		err__hint("choose a user process; ps -e shows kernel threads in [brackets]");
		return err;
	}
	if (t->tgid == getpid()) {
		err = err__fail(-EINVAL, "process %d is allocsnoop itself", (int)id);
		err__hint("trace a second allocsnoop from a first one");
		return err;
	}
	if (proc_task__is_64bit(t->tgid) == 0) {
		err = err__fail(-ENOTSUP, "process %d ('%s') is a 32-bit process: not traced",
				(int)id, t->comm);
		err__hint("only 64-bit processes can be traced");
		return err;
	}
	return 0;
}

int targets__check(struct session *s, const pid_t *pids, size_t cnt)
{
	struct proc_task t;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		bool twice = false;

		err = pid__check(pids[i], &t);
		if (err)
			return err;
		if (t.tgid != pids[i])
			session__log(s, ALLOCSNOOP_WARN,
				     "%d is a thread of process %d: tracing the process",
				     (int)pids[i], (int)t.tgid);
		for (size_t j = 0; j < s->pids.cnt; j++)
			twice |= s->pids.v[j] == t.tgid;
		if (!twice)
			err = vec__push(&s->pids, t.tgid);
		s->leaderless |= proc_task__live_thread(t.tgid) != t.tgid;
	}
	return err;
}

static int pid__fail(pid_t pid, int err)
{
	if (err == -ESRCH) {
		err__fail(err, "process %d has ended", (int)pid);
		err__hint("start it under allocsnoop: allocsnoop -- COMMAND");
	} else {
		err__fail(err, "cannot place probes in process %d: %s", (int)pid, strerror(-err));
		if (err == -EMFILE)
			err__hint("each probe is a descriptor: raise the hard limit, ulimit -Hn");
		else
			err__hint("`allocsnoop list -p %d` shows what would be probed", (int)pid);
	}
	return err;
}

static int pid__attach(struct session *s, pid_t pid, bool *allocator)
{
	struct target *t;
	struct scan scan;
	int err;

	pthread_mutex_lock(&s->lock);
	t = targets__add(s, pid, AS_PROC_TARGET);
	if (t)
		t->pidfd = syscall(SYS_pidfd_open, pid, 0);
	err = !t ? -ENOMEM : t->pidfd < 0 ? -errno : s->follow ? 0 : target__attach(s, t);
	pthread_mutex_unlock(&s->lock);
	if (err == -ENOMEM)
		return err;
	if (!err)
		err = finder__scan(s, pid, &scan);
	if (err)
		return pid__fail(pid, err);
	*allocator |= scan.allocator;
	if (!scan.allocator)
		file__tell_no_allocator(s, scan.exe);
	return 0;
}

/* The first of the probes has nothing to be placed on. */
static int probes__fail(const struct session *s)
{
	char why[512];
	size_t at = 0;
	const char *spec = probe_set__missed(&s->probes, &at, why, sizeof(why));
	int err = err__fail(-ENOENT, "nothing to trace: probe '%s': %s", spec ? spec : "", why);

	err__hint("`allocsnoop list --probe ... -p %d` shows what was looked at",
		  (int)s->pids.v[0]);
	return err;
}

/* Then a target without an allocator is none. */
static bool probes__alone(const struct session *s)
{
	return s->trace == ALLOCSNOOP_TRACE_MALLOC;
}

int targets__attach_pids(struct session *s)
{
	bool allocator = false;
	int err = 0;

	for (size_t i = 0; i < s->pids.cnt && !err; i++)
		err = pid__attach(s, s->pids.v[i], &allocator);
	if (err || allocator || !probes__alone(s))
		return err;
	if (s->probes.only)
		return probes__fail(s);
	err = err__fail(-ENOENT,
			"nothing to trace: no process named by -p has an allocator with symbols");
	err__hint("`allocsnoop list -p %d` shows what was looked at", (int)s->pids.v[0]);
	return err;
}

int targets__attach_every(struct session *s)
{
	struct scan scan;
	int err = finder__scan(s, 0, &scan);

	if (!probes__alone(s))
		return 0;
	if (err && !s->files.site_cnt)
		return err__fail(err, "cannot look at the processes' mappings: %s", strerror(-err));
	if (!s->files.site_cnt && s->opener.no_fd_cnt) {
		err = err__fail(-EMFILE, "no descriptors are left for the files of the processes");
		err__hint("raise the hard limit, ulimit -Hn");
		return err;
	}
	if (!s->files.site_cnt && !s->probes.only)
		return err__fail(-ENOENT,
				 "no process on this machine has an allocator with symbols");
	return 0;
}

/* ---- COMMAND ---- */

static void launch__born(void *arg, pid_t pid, pid_t parent, bool shares_mm)
{
	struct session *s = arg;
	struct target *t;

	(void)parent;
	pthread_mutex_lock(&s->lock);
	t = targets__add(s, pid, AS_PROC_TARGET | AS_PROC_STOP);
	/* Perf uprobes fire for whoever runs in the address space: a vfork child already has its
	 * parent's. */
	if (t && !(shares_mm && !s->kernel.use_multi))
		target__attach(s, t);
	pthread_mutex_unlock(&s->lock);
}

static void launch__exec(void *arg, pid_t pid, pid_t former)
{
	struct session *s = arg;
	struct target *t;
	struct scan scan;

	pthread_mutex_lock(&s->lock);
	t = targets__find(s, pid);
	if (t && former != pid) {
		/* The task that the probes were for is gone, and with it their address space; but a
		 * multi link would still fire beside a new one. So the old ones end first, now. */
		for (size_t i = 0; i < t->probed.cnt; i++) {
			session__detach_now(s, &t->probed.v[i]->links);
			free(t->probed.v[i]);
		}
		t->probed.cnt = 0;
		t->attached = false;
	}
	if (t && !t->attached)
		target__attach(s, t);
	pthread_mutex_unlock(&s->lock);
	if (t && !finder__scan(s, pid, &scan) && !scan.allocator && !scan.libraries)
		file__tell_no_allocator(s, scan.exe);
}

static bool launch__stop(void *arg, pid_t pid, pid_t tid, int sig)
{
	struct session *s = arg;
	struct scan scan;
	bool ours = kernel__take_stop(&s->kernel, tid);

	(void)sig;
	if (ours)
		finder__scan(s, pid, &scan);
	return ours;
}

static void launch__gone(void *arg, pid_t pid, int wait_status)
{
	struct session *s = arg;

	(void)wait_status;
	pthread_mutex_lock(&s->lock);
	targets__remove(s, pid);
	pthread_mutex_unlock(&s->lock);
}

void targets__launch_ops(struct session *s, struct launch_ops *ops)
{
	*ops = (struct launch_ops){
		.born = launch__born,
		.exec = launch__exec,
		.stop = launch__stop,
		.gone = launch__gone,
		.arg = s,
	};
}

/* ---- ends ---- */

bool targets__alive(struct session *s)
{
	if (s->every)
		return true;
	if (s->launch)
		return !launch__done(s->launch);
	for (size_t i = 0; i < s->pids.cnt; i++) {
		struct target *t = targets__find(s, s->pids.v[i]);
		struct pollfd p = { .fd = t ? t->pidfd : -1, .events = POLLIN };

		if (t && poll(&p, 1, 0) > 0)
			targets__remove(s, s->pids.v[i]);
	}
	return s->targets.cnt || (s->follow && kernel__proc_cnt(&s->kernel));
}

static void target__unprobe(struct session *s, struct target *t)
{
	for (size_t i = 0; i < t->probed.cnt; i++)
		session__detach(s, &t->probed.v[i]->links, t->probed.v[i]->file->hash);
}

void targets__unprobe(struct session *s)
{
	u64 pid, val;

	/* While a file is studied its links may be in the making; a launcher places probes at any
	 * time. What isn't removed now is removed at the end. */
	if (s->launch || pthread_mutex_trylock(&s->finder.study))
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; map__next(&s->targets, &i, &pid, &val);)
		target__unprobe(s, (void *)(uintptr_t)val);
	for (size_t i = 0; i < s->files.all.cnt; i++)
		session__detach(s, &s->files.all.v[i]->links, s->files.all.v[i]->hash);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->finder.study);
}

void targets__release(struct session *s)
{
	u64 pid, val;

	for (size_t i = 0; map__next(&s->targets, &i, &pid, &val);)
		target__free(s, (void *)(uintptr_t)val);
	map__free(&s->targets);
	for (size_t i = 0; i < s->files.all.cnt; i++)
		session__detach(s, &s->files.all.v[i]->links, s->files.all.v[i]->hash);
}
