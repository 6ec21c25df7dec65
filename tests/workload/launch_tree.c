/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes processes in every way there is and says how many: launch_tree HOW COUNT. It prints
 * "expect processes=N shared=N execs=N" (children made, those that start in their parent's memory,
 * execs of them) and exits with the sum of their exit codes modulo 100, so that a child that was
 * lost or hurt on the way shows.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char self[4096];
static int code_sum;

static void reap(pid_t pid)
{
	int st;

	if (waitpid(pid, &st, 0) != pid || !WIFEXITED(st)) {
		fprintf(stderr, "child %d: lost or killed\n", pid);
		exit(120);
	}
	code_sum += WEXITSTATUS(st);
}

static pid_t by_fork(char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		execv(self, argv);
		_exit(121);
	}
	return pid;
}

static pid_t by_vfork(char **argv)
{
	pid_t pid = vfork();

	if (!pid) {
		execv(self, argv);
		_exit(121);
	}
	return pid;
}

static pid_t by_spawn(char **argv)
{
	pid_t pid;

	return posix_spawn(&pid, self, NULL, NULL, argv, environ) ? -1 : pid;
}

/* Shares the memory of its parent and isn't a vfork; ends without exec. */
static int shared_main(void *arg)
{
	syscall(SYS_exit, (int)(long)arg);
	return 0;
}

static pid_t by_clone(char **argv)
{
	static char stacks[8][16384] __attribute__((aligned(16)));
	static int n;

	return clone(shared_main, stacks[n++ % 8] + 16384, CLONE_VM | SIGCHLD,
		     (void *)atol(argv[2]));
}

static const struct {
	const char *name;
	pid_t (*make)(char **argv);
	int shared;
	int execs;
} hows[] = {
	{ "fork", by_fork, 0, 1 },
	{ "vfork", by_vfork, 1, 1 },
	{ "spawn", by_spawn, 1, 1 },
	{ "clone", by_clone, 1, 0 },
};

/* Every process of a binary tree of this depth forks two and waits for them. */
static int tree(int depth)
{
	pid_t pid[2];
	int sum = 1, st;

	if (!depth)
		return 1;
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(tree(depth - 1));
	}
	for (int i = 0; i < 2; i++) {
		if (waitpid(pid[i], &st, 0) != pid[i] || !WIFEXITED(st))
			_exit(255);
		sum += WEXITSTATUS(st);
	}
	return sum;
}

static int run(int how, int cnt)
{
	char code[16], *argv[] = { self, "exit", code, NULL };
	pid_t pids[4];

	printf("expect processes=%d shared=%d execs=%d\n", cnt, hows[how].shared * cnt,
	       hows[how].execs * cnt);
	fflush(stdout);
	for (int i = 0; i < cnt; i += 4) {
		int n = cnt - i < 4 ? cnt - i : 4;

		for (int k = 0; k < n; k++) {
			snprintf(code, sizeof(code), "%d", (i + k) % 7);
			pids[k] = hows[how].make(argv);
		}
		for (int k = 0; k < n; k++)
			reap(pids[k]);
		if (i % 100 == 0) {
			printf("%d\n", i);
			fflush(stdout);
		}
	}
	printf("ok %d\n", code_sum);
	fflush(stdout);
	return code_sum % 100;
}

int main(int argc, char **argv)
{
	if (argc < 3 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 122;
	if (!strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (!strcmp(argv[1], "tree")) {
		printf("expect processes=%d shared=0 execs=0\n", (2 << atoi(argv[2])) - 2);
		fflush(stdout);
		return tree(atoi(argv[2])) % 100;
	}
	for (int i = 0; i < 4; i++)
		if (!strcmp(argv[1], hows[i].name))
			return run(i, atoi(argv[2]));
	return 122;
}
