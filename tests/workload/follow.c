/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes count. Prints `expect` (and `freed`, `exit`) SITE COUNT BYTES of those that
 * should.
 *
 *   follow tree     makes children in every way there is, and one that outlives it
 *   follow leaf N   allocates N times: expect f_leaf
 *   follow moves    waits at IN_FIFO and at OUT_FIFO; counts are of what it does in between, and of
 *                   what becomes of those blocks afterwards
 *   follow renames  the same without waiting: its name is `chosen` in between
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "gate.h"

#define SITE	__attribute__((noinline, noclone)) void
#define FENCE() __asm__ volatile("" ::: "memory")
#define MANY	200

extern char **environ;

static void *volatile keep[64];

/* A function that allocates and is in no other's stack. */
#define MAKER(name)                             \
	SITE name(int cnt, size_t size)         \
	{                                       \
		for (int i = 0; i < cnt; i++) { \
			keep[i] = malloc(size); \
			FENCE();                \
		}                               \
	}

MAKER(f_main)
MAKER(f_fork)
MAKER(f_grand)
MAKER(f_vfork)
MAKER(f_clone)
MAKER(f_leaf)
MAKER(f_thread)
MAKER(f_orphan)
MAKER(f_many)
MAKER(f_before)
MAKER(f_inside)
MAKER(f_after)

static void reap(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(3);
}

static void by_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		pid = fork();
		if (!pid) {
			f_grand(7, 30);
			_exit(0);
		}
		f_fork(5, 20);
		reap(pid);
		_exit(0);
	}
	reap(pid);
}

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		f_vfork(2, 40);
		_exit(0);
	}
	reap(pid);
}

static int clone_main(void *arg)
{
	(void)arg;
	f_clone(4, 50);
	syscall(SYS_exit, 0);
	return 0;
}

static void by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	reap(clone(clone_main, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
}

static void by_exec(void)
{
	char *eleven[] = { "follow", "leaf", "11", NULL };
	char *thirteen[] = { "follow", "leaf", "13", NULL };
	pid_t pid = fork();

	if (!pid) {
		execv("/proc/self/exe", eleven);
		_exit(4);
	}
	reap(pid);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, thirteen, environ))
		_exit(5);
	reap(pid);
}

static void *thread_main(void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		f_thread(6, 70);
		_exit(0);
	}
	reap(pid);
	return arg;
}

static void by_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, NULL) || pthread_join(thread, NULL))
		_exit(6);
}

/* Allocates when this process has ended. */
static void orphan(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		_exit(7);
	if (fork())
		return;
	close(ends[1]);
	while (read(ends[0], &byte, 1) > 0)
		;
	f_orphan(8, 80);
	_exit(0);
}

static int tree(void)
{
	gate__start();
	f_main(3, 10);
	by_fork();
	by_vfork();
	by_clone();
	unsetenv("GO_FIFO"); /* the next ones go on at once, and say nothing */
	setenv("QUIET", "1", 1);
	by_exec();
	by_thread();
	for (int i = 0; i < MANY; i++) {
		pid_t pid = fork();

		if (!pid) {
			f_many(1, 16);
			_exit(0);
		}
		reap(pid);
	}
	gate__say("expect f_main 3 30\nexpect f_fork 5 100\nexpect f_grand 7 210\n"
		  "expect f_vfork 2 80\nexpect f_clone 4 200\nexpect f_leaf 24 1440\n"
		  "expect f_thread 6 420\nexpect f_orphan 8 640\nexpect f_many %d %d\n",
		  MANY, MANY * 16);
	orphan();
	return 0;
}

static int leaf(int cnt)
{
	gate__start();
	f_leaf(cnt, 60);
	if (!getenv("QUIET"))
		gate__say("expect f_leaf %d %d\n", cnt, cnt * 60);
	return 0;
}

static void part(const char *fifo, const char *word, const char *name)
{
	if (fifo)
		gate__pass(fifo, word);
	else
		prctl(PR_SET_NAME, name);
}

static int moves(bool by_name)
{
	gate__start();
	f_before(7, 200);
	part(by_name ? NULL : "IN_FIFO", "in\n", "chosen");
	f_inside(5, 100);
	part(by_name ? NULL : "OUT_FIFO", "out\n", "follow");
	free(keep[0]);
	free(keep[1]);
	keep[2] = realloc(keep[2], 5000);
	f_after(1, 300);
	gate__say("expect f_inside 5 500\nfreed f_inside 3 300\nexpect f_before 0 0\n"
		  "expect f_after 0 0\nexpect total 5 500\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "tree"))
		return tree();
	if (!strcmp(what, "leaf") && argc == 3)
		return leaf(atoi(argv[2]));
	if (!strcmp(what, "moves") || !strcmp(what, "renames"))
		return moves(!strcmp(what, "renames"));
	return 2;
}
