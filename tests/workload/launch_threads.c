/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that come and go, hold on, or exec: launch_threads HOW [COUNT].
 *   join N       N threads created and joined, at most 50 at a time
 *   hold N       N threads work until a byte comes from standard input; prints "running" first
 *   exec N       a thread that isn't the leader execs this program while N others live
 *   orphan-exec  the same after the leader has ended
 *   both N       N threads fork (half of them vfork) while another execs
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096];
static atomic_int running, stop;
static atomic_long work;

static void *brief(void *arg)
{
	atomic_fetch_add(&work, (long)arg);
	return NULL;
}

static void *hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&running, 1);
	while (!atomic_load(&stop)) {
		atomic_fetch_add(&work, 1);
		usleep(1000);
	}
	return NULL;
}

static void *do_exec(void *arg)
{
	char *argv[] = { self, "after", NULL };

	(void)arg;
	execv(self, argv);
	_exit(121);
}

static void *do_fork(void *arg)
{
	atomic_fetch_add(&running, 1);
	for (;;) {
		pid_t pid = (long)arg & 1 ? fork() : vfork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

static void start(void *(*fn)(void *), long arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, (void *)arg))
		exit(120);
}

static void start_all(void *(*fn)(void *), int cnt)
{
	for (int i = 0; i < cnt; i++)
		start(fn, i);
	while (atomic_load(&running) < cnt)
		usleep(100);
}

static int join(int cnt)
{
	pthread_t t[50];

	for (int i = 0; i < cnt; i += 50) {
		int n = cnt - i < 50 ? cnt - i : 50;

		for (int k = 0; k < n; k++)
			if (pthread_create(&t[k], NULL, brief, (void *)(long)(i + k)))
				return 120;
		for (int k = 0; k < n; k++)
			pthread_join(t[k], NULL);
	}
	printf("sum %ld\n", work);
	return 5;
}

static int hold_all(int cnt)
{
	char c;

	start_all(hold, cnt);
	puts("running");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 119;
	atomic_store(&stop, 1);
	puts("done");
	return 6;
}

int main(int argc, char **argv)
{
	int cnt = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 2 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 122;
	if (!strcmp(argv[1], "join"))
		return join(cnt);
	if (!strcmp(argv[1], "hold"))
		return hold_all(cnt);
	if (!strcmp(argv[1], "after")) {
		printf("after exec: %s\n", getpid() == gettid() ? "leader" : "not the leader");
		return 42;
	}
	if (!strcmp(argv[1], "exec"))
		start_all(hold, cnt);
	if (!strcmp(argv[1], "both"))
		start_all(do_fork, cnt);
	start(do_exec, 0);
	if (!strcmp(argv[1], "orphan-exec"))
		pthread_exit(NULL);
	for (;;)
		pause();
}
