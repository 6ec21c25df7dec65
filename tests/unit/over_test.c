/* SPDX-License-Identifier: BSD-2-Clause */
/* Which process images are over: ended, replaced, half dead, named by the caller. */
#include "trace/over.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "proc/task.h"

#define TICK_NS 10000000ull

static struct session session;

static void *pause__forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A child that lives on in a second thread; its first one ends, where that is asked for. */
static pid_t child__start(bool headless)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	if (pthread_create(&thread, NULL, pause__forever, NULL))
		_exit(1);
	if (headless)
		pthread_exit(NULL);
	pause__forever(NULL);
	_exit(0);
}

static char child__state(pid_t pid)
{
	struct proc_task t;

	return proc_task__read(pid, &t) ? 'X' : t.state;
}

static void child__await_zombie(pid_t pid)
{
	for (int i = 0; i < 1000 && child__state(pid) != 'Z'; i++)
		usleep(10000);
	CHECK_EQ(child__state(pid), 'Z');
}

/* An image of a process, as the kernel side tells of it. */
static const struct recorded_proc *image__add(pid_t pid, u64 id, u64 exec_id)
{
	struct as_proc_event ev = { .tgid = pid, .proc = id, .exec_id = exec_id };
	struct proc_task t;

	CHECK_EQ(proc_task__read(pid, &t), 0);
	ev.start_boottime = t.start_ticks * TICK_NS + TICK_NS / 2;
	over__proc(&session, &ev);
	return record__find_proc(&session.record, id);
}

static bool is_over(const struct recorded_proc *proc)
{
	over__look(&session, 100); /* no kernel tells us here */
	over__look(&session, 100); /* the first one may have come to the end of the list */
	return over__has(&session, proc);
}

/* As the whole process looks: its other threads may take a little longer than its first. */
static bool child__ended(pid_t pid)
{
	struct proc_task t;

	return proc_task__read(pid, &t) || (t.state == 'Z' && t.threads <= 1);
}

static void child__await_end(pid_t pid)
{
	for (int i = 0; i < 1000 && !child__ended(pid); i++)
		usleep(10000);
	CHECK(child__ended(pid));
}

static void ended__test(void)
{
	pid_t pid = child__start(false), half = child__start(true);
	const struct recorded_proc *whole = image__add(pid, 1, 1), *headless;

	child__await_zombie(half); /* as it looks */
	headless = image__add(half, 2, 1);
	CHECK(!is_over(whole));
	CHECK(!is_over(headless));
	kill(pid, SIGKILL);
	kill(half, SIGKILL);
	child__await_end(pid);
	CHECK(is_over(whole)); /* not waited for yet */
	waitpid(pid, NULL, 0);
	CHECK(is_over(whole));
	waitpid(half, NULL, 0);
	CHECK(is_over(headless));
}

static void replaced__test(void)
{
	const struct recorded_proc *old = image__add(getpid(), 3, 1), *now, *other;

	CHECK(!is_over(old));
	now = image__add(getpid(), 4, 2);
	CHECK(is_over(old));
	CHECK(!is_over(now));
	other = image__add(getppid(), 5, 1); /* another process's images are nobody else's */
	CHECK(!is_over(other));
}

/* Its end is the end of the recording. */
static void named__test(void)
{
	pid_t pid = child__start(false);
	const struct recorded_proc *old = image__add(pid, 6, 1), *now = image__add(pid, 7, 2);

	CHECK_EQ(vec__push(&session.pids, pid), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(is_over(old));
	CHECK(!is_over(now));
}

int main(void)
{
	ended__test();
	replaced__test();
	named__test();
	record__fini(&session.record);
	vec__free(&session.pids);
	return check__done();
}
