/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations at the moments that tracers miss: in an ELF constructor, in a child right after fork,
 * in a vfork child, in the program that a thread executes, in grandchildren, in children of
 * threads. Each moment has its function and its size; `expect FUNCTION COUNT BYTES` is printed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "gate.h"

#define SITE static __attribute__((noinline, noclone)) void
#define TAKE(size)                                        \
	do {                                              \
		void *p = malloc(size);                   \
		__asm__ volatile("" : "+r"(p)::"memory"); \
	} while (0)

static const char *const self = "/proc/self/exe";

SITE c_constructor(void)
{
	TAKE(11);
}

SITE c_forked(void)
{
	TAKE(13);
}

SITE c_grandchild(void)
{
	TAKE(17);
}

SITE c_vforked(void)
{
	TAKE(19);
}

SITE c_executed(void)
{
	TAKE(23);
}

SITE c_thread_forked(void)
{
	TAKE(29);
}

SITE c_main(void)
{
	TAKE(31);
}

static __attribute__((constructor)) void constructor(void)
{
	c_constructor();
}

static void need(int ok)
{
	if (!ok)
		_exit(3);
}

static void reap(pid_t pid)
{
	int status;

	need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void forks(void)
{
	pid_t pid = fork();

	if (pid) {
		reap(pid);
		return;
	}
	c_forked();
	pid = fork();
	if (!pid) {
		c_grandchild();
		_exit(0);
	}
	reap(pid);
	_exit(0);
}

/* A vfork child shares the memory of its parent, which waits: it may not return, but it may
 * allocate. */
static void vforks(void)
{
	pid_t pid = vfork();

	if (!pid) {
		c_vforked();
		_exit(0);
	}
	reap(pid);
}

static void *thread_forks(void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		c_thread_forked();
		_exit(0);
	}
	reap(pid);
	return arg;
}

/* exec from a thread that is not the first one: the process keeps its id, the thread takes it over.
 */
static void *thread_execs(void *arg)
{
	execl(self, "constructors", "executed", NULL);
	_exit(4);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "executed")) {
		c_executed();
		return 0;
	}
	gate__start();
	c_main();
	for (int i = 0; i < 10; i++) {
		forks();
		vforks();
		need(!pthread_create(&thread, NULL, thread_forks, NULL));
		need(!pthread_join(thread, NULL));
		pid = fork();
		if (!pid) {
			need(!pthread_create(&thread, NULL, thread_execs, NULL));
			pthread_join(thread, NULL);
		}
		reap(pid);
	}
	gate__say(
		"expect c_constructor 11 121\nexpect c_forked 10 130\nexpect c_grandchild 10 170\n"
		"expect c_vforked 10 190\nexpect c_executed 10 230\nexpect c_thread_forked 10 290\n"
		"expect c_main 1 31\n");
	gate__end();
	return 0;
}
