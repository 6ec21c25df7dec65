/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child process that costs a stack and an entry in the process table. It shares memory and
 * descriptors with its parent, so that it copies no page and keeps no file open; it has no exit
 * signal, so neither SIGCHLD nor a plain waitpid() in another thread tells of it; the kernel kills
 * it when its parent thread ends, however that ends.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/waker.h"

#define STACK_SIZE 65536

int waker__init(struct waker *w)
{
	*w = (struct waker){ .owner = getpid(), .stack = malloc(STACK_SIZE) };
	return w->stack ? 0 : -ENOMEM;
}

void waker__fini(struct waker *w)
{
	free(w->stack);
	*w = (struct waker){ 0 };
}

/* It runs with the thread-local storage of its parent: nothing here may fail and set errno. */
__attribute__((no_sanitize("address", "undefined"))) static int sleep_for_ever(void *arg)
{
	const struct waker *w = arg;

	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* The parent may have gone before it was told: then this is somebody else's child. */
	while (syscall(SYS_getppid) == w->owner)
		pause();
	return 0;
}

int waker__start(struct waker *w)
{
	char *top = (char *)w->stack + STACK_SIZE;
	pid_t pid = clone(sleep_for_ever, top, CLONE_VM | CLONE_FILES | CLONE_FS, w);

	if (pid < 0)
		return -errno;
	w->pid = pid;
	return 0;
}

void waker__kill(const struct waker *w)
{
	if (w->pid)
		kill(w->pid, SIGKILL);
}

void waker__end(struct waker *w)
{
	waker__kill(w);
	if (w->pid)
		waitpid(w->pid, NULL, __WALL | __WNOTHREAD);
	w->pid = 0;
}
