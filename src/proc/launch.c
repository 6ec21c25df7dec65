/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ptrace launcher. One helper thread is parent and tracer of COMMAND and tracer of all that
 * descends from it; it sleeps in waitid() and answers every stop before it takes the next one.
 *
 * The idea that makes it harmless: a tracee is only ever stopped by itself, at events we asked for,
 * and the kernel lets go of all tracees of a thread that ends, however it ends. So there is no
 * detaching code: launch__free() ends the thread, kill -9 ends the process, and both come to the
 * same. (PTRACE_DETACH needs a stopped tracee, so it would have to interrupt each of them, wait,
 * and put back the signals it met: more to go wrong.)
 *
 * A signal on its way to a tracee is looked at with WNOWAIT: a stop that was waited for and not yet
 * answered forgets its signal when the tracer dies, one that was only looked at delivers it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "proc/command.h"
#include "proc/launch.h"
#include "proc/task.h"
#include "proc/waker.h"

#define OPTIONS \
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)
/* Every child and tracee of this thread and no other thread's: a user of the library has children
 * of its own. */
#define WAIT_FLAGS (__WALL | __WNOTHREAD)

/* A traced thread. It is in the table from the first report by or about it until it is reaped. */
struct tracee {
	pid_t tid;
	pid_t tgid;
	pid_t ppid;    /* when it was first seen */
	pid_t creator; /* thread held in its fork event until this child is announced; 0: none */
	bool vfork;    /* created by vfork, as the creator's event said */
	bool known;    /* announced with ops.born; threads: always */
	bool waits;    /* stopped, not announced yet */
	bool held;     /* in its own fork event, until the child is announced */
	int stop_sig;  /* of that stop, while it waits */
};

struct launch {
	struct launch_ops ops;
	struct command cmd; /* until the fork */
	char *name;
	pid_t owner; /* this process */
	pid_t pid;   /* COMMAND */
	int go[2];   /* a byte: exec now; end of file: don't */
	int report[2];
	int done_fd;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	bool ready;    /* the thread has seized COMMAND, or could not (`err`, `doing`) */
	bool execed;   /* COMMAND runs */
	bool exited;   /* and has ended with wait_status */
	bool done;     /* no tracee is left */
	bool stopping; /* launch__free() wants the thread to end */
	int err;       /* also why COMMAND didn't exec */
	bool as_user;  /* it was because it couldn't become the other user */
	const char *doing;
	int wait_status;
	struct waker waker;

	/* the thread's own */
	pid_t self;
	bool has_kcmp;
	struct map tracees; /* tid -> struct tracee * */
};

/* ---- the table of tracees ---- */

static struct tracee *find(const struct launch *l, pid_t tid)
{
	u64 val;

	return map__get(&l->tracees, (u64)tid, &val) ? (struct tracee *)(uintptr_t)val : NULL;
}

/* NULL: it is gone already, isn't ours, or there is no memory to remember it. */
static struct tracee *adopt(struct launch *l, pid_t tid)
{
	struct proc_ids ids;
	struct tracee *t;

	/* The id of a child that was killed and reaped at once may be somebody else's by now. */
	if (proc_task__ids(tid, &ids) || ids.tracer != l->self)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct tracee){
		.tid = tid, .tgid = ids.tgid, .ppid = ids.ppid, .known = ids.tgid != tid
	};
	if (!map__put(&l->tracees, (u64)tid, (uintptr_t)t))
		return t;
	free(t);
	return NULL;
}

static void forget(struct launch *l, pid_t tid)
{
	struct tracee *t = find(l, tid);

	if (!t)
		return;
	map__del(&l->tracees, (u64)tid);
	free(t);
}

/* ---- letting tracees go on ---- */

/* Any of these may fail with ESRCH: it was killed meanwhile, and its exit will be reported. */
static void resume(pid_t tid, int sig)
{
	ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)sig);
}

/* A group-stop (Ctrl-Z, SIGSTOP) goes on until SIGCONT, as it would untraced. */
static void resume_stop(pid_t tid, int sig)
{
	if (sig == SIGTRAP)
		resume(tid, 0);
	else
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
}

/*
 * The id of a held leader may have passed to the thread of it that called exec meanwhile, whose
 * stop mustn't be answered here: so look at what it is stopped by.
 */
static void release_creator(struct launch *l, struct tracee *child)
{
	struct tracee *t = find(l, child->creator);
	siginfo_t si;
	int event;

	child->creator = 0;
	if (!t || !t->held)
		return;
	t->held = false;
	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si))
		return;
	event = si.si_code >> 8;
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	    event == PTRACE_EVENT_CLONE)
		resume(t->tid, 0);
}

/* ---- births ---- */

static bool same_mm(pid_t a, pid_t b)
{
	return !syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

static pid_t process_of(const struct launch *l, pid_t tid)
{
	const struct tracee *t = find(l, tid);

	return t ? t->tgid : 0;
}

/* Tells of the new process t, which is stopped, and lets it and its creator go on. */
static void announce(struct launch *l, struct tracee *t)
{
	pid_t creator = process_of(l, t->creator);
	pid_t parent = creator ? creator : t->ppid;
	bool shares_mm = l->has_kcmp ? same_mm(t->tid, parent) : t->vfork;

	l->ops.born(l->ops.arg, t->tid, parent, shares_mm);
	t->known = true;
	t->waits = false;
	resume_stop(t->tid, t->stop_sig);
	release_creator(l, t);
}

/*
 * Without kcmp(2) a child that stops before its creator's event is read has to wait for it, to hear
 * whether it shares the memory. The creator may have been killed before it could report: then a
 * sign of life or death of its process must do.
 */
static void announce_waiting(struct launch *l, pid_t tgid)
{
	u64 tid, val;

	for (size_t i = 0; map__next(&l->tracees, &i, &tid, &val);) {
		struct tracee *t = (struct tracee *)(uintptr_t)val;

		if (t->waits && (t->ppid == tgid || !find(l, t->ppid)))
			announce(l, t);
	}
}

/* A stop at an event of the tracee's own: its first one, a group-stop, or the end of one. */
static void on_stop(struct launch *l, pid_t tid, int sig)
{
	struct tracee *t = find(l, tid);

	if (!t)
		t = adopt(l, tid);
	if (!t || t->known) {
		resume_stop(tid, sig);
		return;
	}
	t->waits = true;
	t->stop_sig = sig;
	if (l->has_kcmp || t->creator || !find(l, t->ppid))
		announce(l, t);
}

/* tid has made a thread or a process. The two may report in either order. */
static void on_fork(struct launch *l, pid_t tid, int event)
{
	struct tracee *t = find(l, tid), *child;
	unsigned long id;

	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &id))
		return;
	child = find(l, (pid_t)id);
	if (!child)
		child = adopt(l, (pid_t)id);
	if (!child || child->known || !t) {
		resume(tid, 0);
		return;
	}
	child->creator = tid;
	child->vfork = event == PTRACE_EVENT_VFORK;
	t->held = true;
	if (child->waits)
		announce(l, child);
}

/* ---- exec and exit ---- */

static void set_flag(struct launch *l, bool *flag)
{
	pthread_mutex_lock(&l->lock);
	*flag = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

/* The other threads have been reaped one by one before this; only the old leader vanishes without a
 * word, when another thread takes over its id. */
static void on_exec(struct launch *l, pid_t pid)
{
	unsigned long former;
	struct tracee *t;

	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &former))
		return;
	if ((pid_t)former != pid)
		forget(l, (pid_t)former);
	t = find(l, pid);
	if (!t)
		t = adopt(l, pid);
	if (t) {
		t->known = true;
		t->held = false;
	}
	l->ops.exec(l->ops.arg, pid, (pid_t)former);
	if (pid == l->pid)
		set_flag(l, &l->execed);
	resume(pid, 0);
	if (!l->has_kcmp)
		announce_waiting(l, pid);
}

static void command_exited(struct launch *l, int wait_status)
{
	struct command_error e = { 0 };

	pthread_mutex_lock(&l->lock);
	l->wait_status = wait_status;
	if (!l->execed && read(l->report[0], &e, sizeof(e)) != sizeof(e))
		e.err = -EINTR;
	l->err = e.err;
	l->as_user = e.as_user;
	l->exited = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

/* A leader is reaped last of its threads: its end is the end of the process. */
static void on_exit_of(struct launch *l, pid_t tid, int wait_status)
{
	struct tracee *t = find(l, tid), was;

	if (!t)
		return;
	was = *t;
	release_creator(l, &was);
	forget(l, tid);
	if (was.known && tid == was.tgid)
		l->ops.gone(l->ops.arg, tid, wait_status);
	if (tid == l->pid)
		command_exited(l, wait_status);
	if (!l->has_kcmp)
		announce_waiting(l, was.tgid);
}

/* ---- signals ---- */

/* Signals that do nothing by default, so that the kernel side may use one to stop a thread. */
static bool may_be_ours(int sig)
{
	return sig == SIGWINCH || sig == SIGCHLD || sig == SIGURG;
}

static void on_signal(struct launch *l, pid_t tid, int sig)
{
	pid_t pid = process_of(l, tid);
	siginfo_t si;

	if (may_be_ours(sig) && !ptrace(PTRACE_GETSIGINFO, tid, NULL, &si) &&
	    si.si_code == SI_KERNEL && l->ops.stop(l->ops.arg, pid ? pid : tid, tid, sig))
		sig = 0;
	resume(tid, sig);
}

/* ---- the loop ---- */

/*
 * The waker lives for as long as there is a tracee: without one, what waitid() says is the truth
 * about the last stragglers (a child whose creator was killed before it could report it).
 */
static bool keep_going(struct launch *l)
{
	bool go;

	pthread_mutex_lock(&l->lock);
	go = !l->stopping;
	if (go && l->tracees.cnt && !l->waker.pid)
		waker__start(&l->waker);
	if (!l->tracees.cnt)
		waker__kill(&l->waker);
	pthread_mutex_unlock(&l->lock);
	return go;
}

static void waker_gone(struct launch *l)
{
	pthread_mutex_lock(&l->lock);
	l->waker.pid = 0;
	pthread_mutex_unlock(&l->lock);
}

static void dispatch(struct launch *l, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	if (!WIFSTOPPED(status)) {
		if (tid == l->waker.pid)
			waker_gone(l);
		else
			on_exit_of(l, tid, status);
		return;
	}
	switch (event) {
	case PTRACE_EVENT_STOP:
		on_stop(l, tid, sig);
		return;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_fork(l, tid, event);
		return;
	case PTRACE_EVENT_EXEC:
		on_exec(l, tid);
		return;
	case 0:
		on_signal(l, tid, sig);
		return;
	}
	resume(tid, 0);
}

/* Answers one report; false when there is nobody left to report. */
static bool step(struct launch *l)
{
	siginfo_t si = { 0 };
	int status;
	pid_t tid;

	if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT | WAIT_FLAGS))
		return errno == EINTR;
	if (si.si_code == CLD_TRAPPED && si.si_status < 0x100) {
		on_signal(l, si.si_pid, si.si_status);
		return true;
	}
	tid = waitpid(si.si_pid, &status, WNOHANG | WAIT_FLAGS);
	if (tid > 0)
		dispatch(l, tid, status);
	return true;
}

/* Forks COMMAND, seizes it while it waits for its byte, and tells of it. */
static int begin(struct launch *l)
{
	struct tracee *t;

	l->self = gettid();
	l->has_kcmp = same_mm(l->owner, l->owner);
	l->doing = "start";
	l->pid = fork();
	if (l->pid < 0)
		return -errno;
	if (!l->pid) {
		close(l->go[1]);
		command__exec(&l->cmd, l->go[0], l->report[1]);
	}
	l->doing = "trace";
	if (ptrace(PTRACE_SEIZE, l->pid, NULL, (void *)OPTIONS))
		return -errno;
	t = adopt(l, l->pid);
	if (!t)
		return -ENOMEM;
	t->known = true;
	l->ops.born(l->ops.arg, l->pid, 0, false);
	return waker__start(&l->waker);
}

static void forget_all(struct launch *l)
{
	u64 tid, val;

	for (size_t i = 0; map__next(&l->tracees, &i, &tid, &val);)
		free((void *)(uintptr_t)val);
	map__free(&l->tracees);
}

static void tell_done(struct launch *l)
{
	u64 one = 1;

	set_flag(l, &l->done);
	/* An eventfd that nobody has read yet takes it without blocking. */
	if (write(l->done_fd, &one, sizeof(one)) != sizeof(one))
		return;
}

static void *tracer(void *arg)
{
	struct launch *l = arg;
	int err = begin(l);
	bool stopped;

	l->err = err;
	set_flag(l, &l->ready);
	if (!err)
		while (keep_going(l) && step(l))
			;
	pthread_mutex_lock(&l->lock);
	waker__end(&l->waker);
	stopped = l->stopping;
	pthread_mutex_unlock(&l->lock);
	forget_all(l);
	if (!stopped)
		tell_done(l);
	return NULL;
}

/* ---- the caller's side ---- */

/* The thread starts with all signals blocked, so that the tool's handlers run elsewhere; COMMAND
 * gets the mask of the caller. */
static int start_thread(struct launch *l)
{
	sigset_t all;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &l->cmd.mask);
	err = pthread_create(&l->thread, NULL, tracer, l);
	pthread_sigmask(SIG_SETMASK, &l->cmd.mask, NULL);
	if (err)
		return err__fail(-err, "cannot start a thread: %s", strerror(err));
	l->has_thread = true;
	pthread_mutex_lock(&l->lock);
	while (!l->ready)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
	if (!l->err)
		return 0;
	err = err__fail(l->err, "cannot %s '%s': %s", l->doing, l->name, strerror(-l->err));
	if (err == -EPERM)
		err__hint("ptrace is refused: by seccomp in a container, or "
			  "kernel.yama.ptrace_scope");
	return err;
}

static int open_all(struct launch *l)
{
	l->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* COMMAND's report is there before its exit is: whoever reads never has to wait. */
	if (l->done_fd < 0 || pipe2(l->go, O_CLOEXEC) || pipe2(l->report, O_CLOEXEC | O_NONBLOCK))
		return err__fail(-errno, "cannot start '%s': %s", l->name, strerror(errno));
	return 0;
}

int launch__start(const struct launch_opts *opts, const struct launch_ops *ops, struct launch **out)
{
	struct launch *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return err__fail(-ENOMEM, "out of memory");
	*l = (struct launch){
		.ops = *ops,
		.owner = getpid(),
		.go = { -1, -1 },
		.report = { -1, -1 },
		.done_fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	err = command__init(&l->cmd, opts);
	if (err)
		goto fail;
	l->name = strdup(opts->argv[0]);
	if (waker__init(&l->waker) || !l->name)
		err = err__fail(-ENOMEM, "out of memory");
	if (!err)
		err = open_all(l);
	if (!err)
		err = start_thread(l);
	if (err)
		goto fail;
	command__fini(&l->cmd);
	*out = l;
	return 0;
fail:
	launch__free(l);
	return err;
}

static int word_failure(const struct launch *l)
{
	int err;

	if (l->err == -EINTR)
		return err__fail(l->err, "'%s' was killed before it could run", l->name);
	if (!l->as_user)
		return err__fail(l->err, "cannot run '%s': %s", l->name, strerror(-l->err));
	err = err__fail(l->err, "cannot run '%s' as another user: %s", l->name, strerror(-l->err));
	if (err == -EPERM)
		err__hint("run as root");
	return err;
}

int launch__go(struct launch *l)
{
	bool execed;

	/* We hold a reading end too: no SIGPIPE when COMMAND was killed while it waited. */
	if (write(l->go[1], "", 1) != 1)
		return err__fail(-errno, "cannot start '%s': %s", l->name, strerror(errno));
	pthread_mutex_lock(&l->lock);
	while (!l->execed && !l->exited && !l->done)
		pthread_cond_wait(&l->changed, &l->lock);
	if (!l->execed && !l->exited)
		l->err = -ECHILD; /* somebody else's wait(2) has taken its exit */
	execed = l->execed;
	pthread_mutex_unlock(&l->lock);
	return execed ? 0 : word_failure(l);
}

pid_t launch__pid(const struct launch *l)
{
	return l->pid;
}

static bool get_flag(const struct launch *l, const bool *flag)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&l->lock;
	bool val;

	pthread_mutex_lock(lock);
	val = *flag;
	pthread_mutex_unlock(lock);
	return val;
}

bool launch__done(const struct launch *l)
{
	return get_flag(l, &l->done);
}

int launch__exit_status(const struct launch *l, int *wait_status)
{
	if (!get_flag(l, &l->exited))
		return -EAGAIN;
	*wait_status = l->wait_status;
	return 0;
}

int launch__done_fd(const struct launch *l)
{
	return l->done_fd;
}

static void close_all(struct launch *l)
{
	int fds[] = { l->go[0], l->go[1], l->report[0], l->report[1], l->done_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void end_thread(struct launch *l)
{
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	waker__kill(&l->waker);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
}

void launch__free(struct launch *l)
{
	if (!l)
		return;
	if (l->has_thread)
		end_thread(l);
	/* Not COMMAND yet: still our own copy, waiting for its byte. */
	if (l->pid > 0 && !l->execed && !l->exited) {
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
	}
	close_all(l);
	command__fini(&l->cmd);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	waker__fini(&l->waker);
	free(l->name);
	free(l);
}
