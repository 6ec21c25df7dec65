/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts argv[2] argv[1] times, one after the other, by posix_spawn (a vfork child that executes).
 * With UNLINK the file is deleted at the end, before any report can be made.
 */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "gate.h"

extern char **environ;

int main(int argc, char **argv)
{
	char *args[] = { "blink", NULL };
	int bad = 0;

	if (argc != 3)
		return 2;
	gate__start();
	for (int i = 0; i < atoi(argv[1]); i++) {
		pid_t pid;
		int status;

		if (posix_spawn(&pid, argv[2], NULL, NULL, args, environ))
			return 2;
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	if (getenv("UNLINK"))
		unlink(argv[2]);
	gate__say("spawned %s bad %d\n", argv[1], bad);
	gate__end();
	return bad != 0;
}
