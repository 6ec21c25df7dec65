/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says, against what the kernel says by other ways: getpid, times, ps's own sources. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc/task.h"
#include "check.h"

static int ready[2];

static void *thread_main(void *arg)
{
	pid_t tid = gettid();

	(void)arg;
	CHECK_EQ(write(ready[1], &tid, sizeof(tid)), sizeof(tid));
	for (;;)
		pause();
	return NULL;
}

static void test_self(void)
{
	struct proc_task t, u;
	pthread_t thread;
	pid_t tid;

	CHECK_EQ(proc_task__read(getpid(), &t), 0);
	CHECK_EQ(t.tgid, getpid());
	CHECK_EQ(t.ppid, getppid());
	CHECK_STR(t.comm, "task_test");
	CHECK_EQ(t.state, 'R');
	CHECK_EQ(t.uid, getuid());
	CHECK_EQ(t.threads, 1);
	CHECK(!t.kernel);

	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	CHECK_EQ(pthread_create(&thread, NULL, thread_main, NULL), 0);
	CHECK_EQ(read(ready[0], &tid, sizeof(tid)), sizeof(tid));
	CHECK(tid != getpid());
	CHECK_EQ(proc_task__read(tid, &u), 0);
	CHECK_EQ(u.tgid, getpid());
	CHECK_EQ(u.start_ticks, t.start_ticks);
	CHECK_EQ(u.threads, 2);
	CHECK_STR(u.comm, "task_test");
}

/* Started between two readings of the clock that its start is told in. */
static u64 boot_ticks(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (u64)ts.tv_sec * 100 + (u64)ts.tv_nsec / 10000000;
}

static pid_t child(void (*fn)(void))
{
	pid_t pid;
	char c;
	int p[2];

	CHECK_EQ(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		fn();
		if (write(p[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK_EQ(read(p[0], &c, 1), 1);
	close(p[0]);
	close(p[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void hostile_name(void)
{
	prctl(PR_SET_NAME, "a) Z 1 (\n\xff)");
}

static void test_hostile_name(void)
{
	u64 before = boot_ticks();
	pid_t pid = child(hostile_name);
	struct proc_task t;

	CHECK_EQ(sysconf(_SC_CLK_TCK), 100);
	/* A state that is known for sure: before it sleeps in pause() it may have to wait for a
	 * CPU. */
	kill(pid, SIGSTOP);
	CHECK_EQ(waitpid(pid, NULL, WUNTRACED), pid);
	CHECK_EQ(proc_task__read(pid, &t), 0);
	CHECK_STR(t.comm, "a) Z 1 (\n\xff)");
	CHECK_EQ(t.state, 'T');
	CHECK_EQ(t.ppid, getpid());
	CHECK(t.start_ticks >= before && t.start_ticks <= boot_ticks());
	end(pid);
}

static void test_zombie_and_gone(void)
{
	pid_t pid = fork();
	char buf[256];
	struct proc_task t;
	siginfo_t si;
	u64 ns;

	if (!pid)
		_exit(0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	CHECK_EQ(proc_task__read(pid, &t), 0);
	CHECK_EQ(t.state, 'Z');
	CHECK(!t.kernel);
	CHECK_EQ(proc_task__live_thread(pid), -ESRCH);
	CHECK_EQ(proc_task__exe(pid, buf, sizeof(buf)), -ESRCH);
	waitpid(pid, NULL, 0);
	CHECK_EQ(proc_task__read(pid, &t), -ESRCH);
	CHECK_EQ(proc_task__live_thread(pid), -ESRCH);
	CHECK_EQ(proc_task__cputime(pid, &ns), -ESRCH);
	CHECK_EQ(proc_task__is_64bit(pid), -ESRCH);
	CHECK_EQ(proc_task__read(0, &t), -ESRCH);
	CHECK_EQ(proc_task__read(-5, &t), -ESRCH);
	CHECK_EQ(proc_task__cputime(0, &ns), -ESRCH);
	CHECK_EQ(proc_task__cputime(-1, &ns), -ESRCH);
}

static void trace_me(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void nothing(void)
{
}

static void test_ids(void)
{
	pid_t a = child(trace_me), b = child(nothing);
	struct proc_ids ids;

	CHECK_EQ(proc_task__ids(a, &ids), 0);
	CHECK_EQ(ids.tgid, a);
	CHECK_EQ(ids.ppid, getpid());
	CHECK_EQ(ids.tracer, getpid());
	CHECK_EQ(ids.uid, getuid());
	CHECK_EQ(ids.threads, 1);
	CHECK_EQ(proc_task__ids(b, &ids), 0);
	CHECK_EQ(ids.tracer, 0);
	end(a);
	end(b);
}

static void *outlive(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void test_dead_leader(void)
{
	pid_t pid = fork(), tid;
	struct proc_task t;
	pthread_t thread;

	if (!pid) {
		if (pthread_create(&thread, NULL, outlive, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	do {
		CHECK_EQ(proc_task__read(pid, &t), 0);
		usleep(1000);
	} while (t.state != 'Z');
	tid = proc_task__live_thread(pid);
	CHECK(tid > 0 && tid != pid);
	CHECK_EQ(proc_task__read(tid, &t), 0);
	CHECK_EQ(t.tgid, pid);
	CHECK(proc_task__rss_anon(pid) > 0);
	CHECK_EQ(proc_task__live_thread(getpid()), getpid());
	end(pid);
}

static pid_t run(const char *path)
{
	pid_t pid = fork();
	int p[2];
	char c;

	/* The pipe closes at exec: then its file is the new one. */
	CHECK_EQ(pipe2(p, O_CLOEXEC), 0);
	if (!pid) {
		execl(path, path, "100", NULL);
		_exit(1);
	}
	close(p[1]);
	CHECK_EQ(read(p[0], &c, 1), 0);
	close(p[0]);
	return pid;
}

static void check_exe(const char *path, bool unlinked)
{
	char cmd[512], exe[4096], small[4];
	pid_t pid;

	snprintf(cmd, sizeof(cmd), "cp /bin/sleep '%s'", path);
	CHECK_EQ(system(cmd), 0);
	pid = run(path);
	do {
		usleep(1000);
		CHECK_EQ(proc_task__exe(pid, exe, sizeof(exe)), 0);
	} while (strstr(exe, "task_test") && !strstr(exe, path));
	if (unlinked)
		CHECK_EQ(unlink(path), 0);
	CHECK_EQ(proc_task__exe(pid, exe, sizeof(exe)), 0);
	CHECK_STR(exe, path);
	CHECK_EQ(proc_task__exe(pid, small, sizeof(small)), -ENAMETOOLONG);
	CHECK_EQ(proc_task__is_64bit(pid), 1);
	end(pid);
	if (!unlinked)
		CHECK_EQ(unlink(path), 0);
}

static void test_exe(void)
{
	char dir[] = "/tmp/task-test.XXXXXX", path[128];

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/nap", dir);
	check_exe(path, false);
	check_exe(path, true);
	snprintf(path, sizeof(path), "%s/nap (deleted)", dir);
	check_exe(path, false);
	check_exe(path, true);
	CHECK_EQ(rmdir(dir), 0);
}

static void test_cputime(void)
{
	struct rusage before, after;
	u64 ns, low, high;
	volatile unsigned x = 0;

	for (unsigned i = 0; i < 20000000; i++)
		x += i;
	getrusage(RUSAGE_SELF, &before);
	CHECK_EQ(proc_task__cputime(getpid(), &ns), 0);
	getrusage(RUSAGE_SELF, &after);
	low = (u64)(before.ru_utime.tv_sec + before.ru_stime.tv_sec) * 1000000 +
	      (u64)(before.ru_utime.tv_usec + before.ru_stime.tv_usec);
	high = (u64)(after.ru_utime.tv_sec + after.ru_stime.tv_sec) * 1000000 +
	       (u64)(after.ru_utime.tv_usec + after.ru_stime.tv_usec);
	/* getrusage rounds both of its parts down to a microsecond. */
	CHECK(ns / 1000 + 1 >= low && ns / 1000 <= high + 2);
}

struct found {
	bool self;
	bool parent;
	bool kernel;
	int cnt;
};

static int note(void *arg, pid_t pid)
{
	struct found *f = arg;
	struct proc_task t;

	f->cnt++;
	f->self |= pid == getpid();
	f->parent |= pid == getppid();
	if (!proc_task__read(pid, &t))
		f->kernel |= t.kernel || t.tgid != pid;
	return 0;
}

static int stop_at_once(void *arg, pid_t pid)
{
	(void)arg;
	(void)pid;
	return 55;
}

static void test_each(void)
{
	struct found f = { 0 };
	struct proc_task t;

	CHECK_EQ(proc_tasks__each(note, &f), 0);
	CHECK(f.self && !f.kernel);
	CHECK(f.parent || !getppid());
	CHECK_EQ(proc_tasks__each(stop_at_once, NULL), 55);
	/* Where kernel threads can be seen, the first of them is. */
	if (!proc_task__read(2, &t) && !strcmp(t.comm, "kthreadd")) {
		CHECK(t.kernel);
		CHECK(proc_task__is_64bit(2) < 0);
	}
}

int main(void)
{
	alarm(60);
	test_self();
	test_hostile_name();
	test_zombie_and_gone();
	test_ids();
	test_dead_leader();
	test_exe();
	test_cputime();
	test_each();
	return check__done();
}
