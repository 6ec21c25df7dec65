/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * COMMAND before it runs: which file it is and as whom it runs. All that can fail for a reason the
 * user can mend is settled before anything is forked; what is left for the child are system calls
 * that are safe after fork() in a process with threads.
 */
#ifndef PROC_COMMAND_H
#define PROC_COMMAND_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/types.h"
#include "proc/launch.h"

struct command {
	char *const *argv; /* borrowed */
	char *path;	   /* what execve() gets */
	char **sh_argv;	   /* /bin/sh path ARG...: for a script without #! */
	char **envp;	   /* environ itself unless it is another user's */
	char *home_vars[4];
	bool other_user;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int group_cnt;
	bool limits_nofile;
	struct rlimit nofile;
	sigset_t mask; /* signals that COMMAND starts with blocked */
};

/* Why COMMAND doesn't run: what the child writes to its report pipe. */
struct command_error {
	int err;     /* -errno */
	u32 as_user; /* 1: it couldn't become the user; 0: exec failed */
};

/* Finds the file and the user. -ENOENT, -EACCES, -EINVAL (unknown user), -ENOMEM: worded. */
int command__init(struct command *c, const struct launch_opts *opts);
void command__fini(struct command *c);

/* In the child: waits for a byte from go_fd and becomes COMMAND; end of file instead: exits. When
 * that fails a struct command_error goes to report_fd and the child exits with 127 or 126. */
_Noreturn void command__exec(const struct command *c, int go_fd, int report_fd);

#endif
