/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose a block is when processes part: fork, vfork, exec, posix_spawn; and blocks from before the
 * tracer came. Prints `expect`, `live`, `freed` and `exit` SITE COUNT BYTES, and `unknown COUNT`:
 * frees of blocks that the freeing process was not seen to allocate.
 *
 *   live_edges OTHER     OTHER is a program to spawn
 *   live_edges early     passes its gate only after its first ten blocks
 *   live_edges again     executes itself
 *   live_edges headless  allocates in a thread when main() has ended by pthread_exit
 */
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "gate.h"

#define SITE	__attribute__((noinline, noclone)) void
#define FENCE() __asm__ volatile("" ::: "memory")

extern char **environ;

static void *volatile keep[64];

SITE fill(void *(*from)(size_t size), int cnt, size_t size)
{
	for (int i = 0; i < cnt; i++)
		keep[i] = from(size);
}

static void drop(int cnt)
{
	for (int i = 0; i < cnt; i++)
		free(keep[i]);
}

/* A function that allocates and is in no other's stack. */
#define MAKER(name)                                                \
	__attribute__((noinline, noclone)) void *name(size_t size) \
	{                                                          \
		void *p = malloc(size);                            \
                                                                   \
		FENCE();                                           \
		return p;                                          \
	}

MAKER(e_parent)
MAKER(e_child)
MAKER(e_grown)
MAKER(e_before_exec)
MAKER(e_vfork)
MAKER(e_vfork_freed)
MAKER(e_first)
MAKER(e_early)
MAKER(e_late)
MAKER(e_again)
MAKER(e_headless)

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(3);
}

/* The child frees four of the parent's ten, and leaves two of its own three. */
SITE fork_frees(void)
{
	pid_t pid;

	fill(e_parent, 10, 1000);
	pid = fork();
	if (!pid) {
		drop(4);
		fill(e_child, 3, 50);
		free(keep[0]);
		_exit(0);
	}
	wait_for(pid);
	gate__say("expect e_parent 10 10000\nlive e_parent 10 10000\n");
	gate__say("expect e_child 3 150\nfreed e_child 1 50\nexit e_child 2 100\n");
}

/* While both live: the parent frees its blocks, the child has its copies of them. */
SITE fork_apart(void)
{
	int to_child[2], status = 0;
	char byte = 0;
	pid_t pid;

	fill(e_grown, 6, 60);
	if (pipe(to_child))
		_exit(3);
	pid = fork();
	if (!pid) {
		status = read(to_child[0], &byte, 1) != 1; /* the parent has freed four */
		drop(1);
		_exit(status);
	}
	drop(4);
	if (write(to_child[1], &byte, 1) != 1)
		_exit(3);
	wait_for(pid);
	gate__say("expect e_grown 6 360\nfreed e_grown 4 240\nlive e_grown 2 120\n");
	close(to_child[0]);
	close(to_child[1]);
}

SITE fork_execs(char *other)
{
	char *args[] = { other, NULL };
	pid_t pid = fork();

	if (!pid) {
		fill(e_before_exec, 5, 200);
		execv(other, args);
		_exit(4);
	}
	wait_for(pid);
	gate__say("expect e_before_exec 5 1000\nexit e_before_exec 5 1000\n");
}

/* What a vfork child allocates stays in its parent's memory. */
SITE vfork_leaves(void)
{
	pid_t pid = vfork();

	if (!pid) {
		fill(e_vfork, 4, 300);
		fill(e_vfork_freed, 2, 310);
		free(keep[0]);
		_exit(0);
	}
	wait_for(pid);
	free(keep[1]);
	gate__say("expect e_vfork 4 1200\nlive e_vfork 4 1200\n");
	gate__say("expect e_vfork_freed 2 620\nfreed e_vfork_freed 2 620\n");
}

SITE spawns(char *other)
{
	char *args[] = { other, NULL };
	pid_t pid;

	if (posix_spawn(&pid, other, NULL, NULL, args, environ))
		_exit(3);
	wait_for(pid);
}

static void part(char *other)
{
	gate__start();
	fork_frees();
	fork_apart();
	fork_execs(other);
	vfork_leaves();
	spawns(other);
	/* Two processes that run OTHER. */
	gate__say("expect blink_leak 6 6666\nexit blink_leak 6 6666\nunknown 5\n");
}

/* Of ten blocks from before the gate three are freed and two moved. */
static __attribute__((noinline, noclone)) void come_late(void)
{
	void *early[10];

	fill(e_early, 10, 100);
	memcpy(early, (void *)keep, sizeof(early));
	gate__start();
	drop(3);
	fill(e_late, 5, 10);
	free(keep[4]);
	early[8] = realloc(early[8], 3000);
	early[9] = realloc(early[9], 30);
	gate__say("expect come_late 2 3030\nlive come_late 2 3030\n");
	gate__say("expect e_late 5 50\nfreed e_late 1 10\nlive e_late 4 40\nunknown 3\n");
	gate__end();
	_exit(early[8] == early[9]);
}

/* Its first image's blocks end with it, though the process goes on. */
static void again(char *self, int second)
{
	char *args[] = { self, "again", "second", NULL };

	if (!second) {
		gate__start();
		fill(e_first, 7, 70);
		execv(self, args);
		_exit(4);
	}
	fill(e_again, 2, 90);
	gate__say("expect e_first 7 490\nexit e_first 7 490\n");
	gate__say("expect e_again 2 180\nlive e_again 2 180\n");
	_exit(0);
}

/* main: its thread */
static void *outlive(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	gate__start();
	fill(e_headless, 3, 500);
	free(keep[0]);
	gate__say("expect e_headless 3 1500\nlive e_headless 2 1000\nfreed e_headless 1 500\n");
	gate__end();
	_exit(0);
}

static void headless(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	if (pthread_create(&thread, NULL, outlive, &self))
		_exit(5);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "early"))
		come_late();
	if (!strcmp(argv[1], "again"))
		again(argv[0], argc > 2);
	if (!strcmp(argv[1], "headless"))
		headless();
	part(argv[1]);
	gate__end();
	_exit(0);
}
