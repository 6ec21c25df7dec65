/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that a tracer must pass on unchanged: launch_signals HOW [COUNT].
 *   kill      a child is killed by SIGKILL while it works
 *   stop      a child is stopped and continued; the parent hears of both
 *   urgent N  N SIGURGs that the kernel itself sends (out-of-band data), each waited for
 *   own N     N SIGURGs from kill(2), each waited for
 *   both N    N of either kind in turn, none waited for
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static int fd[2]; /* a TCP connection */
static sigset_t block, none;

static void on_signal(int sig)
{
	(void)sig;
	seen++;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static int kill_child(void)
{
	pid_t pid = start_child();
	int st;

	kill(pid, SIGKILL);
	if (waitpid(pid, &st, 0) != pid)
		return 120;
	printf("killed by %d\n", WIFSIGNALED(st) ? WTERMSIG(st) : -1);
	return 3;
}

static int stop_child(void)
{
	pid_t pid = start_child();
	int st;

	/* In an orphaned process group SIGTSTP does nothing; the child's own one isn't. */
	setpgid(pid, pid);
	for (int i = 0; i < 20; i++) {
		kill(pid, i % 2 ? SIGSTOP : SIGTSTP);
		if (waitpid(pid, &st, WUNTRACED) != pid || !WIFSTOPPED(st))
			return 120;
		printf("stopped by %d\n", WSTOPSIG(st));
		kill(pid, SIGCONT);
		if (waitpid(pid, &st, WCONTINUED) != pid || !WIFCONTINUED(st))
			return 121;
	}
	kill(pid, SIGTERM);
	if (waitpid(pid, &st, 0) != pid)
		return 122;
	printf("ended by %d\n", WIFSIGNALED(st) ? WTERMSIG(st) : -1);
	return 4;
}

/* A connected pair of TCP sockets: only those have urgent data that raises SIGURG. */
static int connect_pair(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&sin, sizeof(sin)) || listen(listener, 1) ||
	    getsockname(listener, (void *)&sin, &len) || connect(fd[0], (void *)&sin, len))
		return -1;
	fd[1] = accept(listener, NULL, NULL);
	return fcntl(fd[1], F_SETOWN, getpid());
}

/* Returns when the signal is pending. */
static void send_urgent(void)
{
	char c;

	send(fd[0], "!", 1, MSG_OOB);
	while (recv(fd[1], &c, 1, MSG_OOB) != 1)
		;
}

/* What is pending is delivered, or swallowed by the tracer. */
static void deliver(void)
{
	sigprocmask(SIG_SETMASK, &none, NULL);
	sigprocmask(SIG_SETMASK, &block, NULL);
}

static int count(const char *how, int cnt)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int both = !strcmp(how, "both"), by_kernel = both || !strcmp(how, "urgent");

	sigaction(SIGURG, &sa, NULL);
	sigaddset(&block, SIGURG);
	sigprocmask(SIG_SETMASK, &block, NULL);
	if (by_kernel && connect_pair())
		return 120;
	for (int i = 0; i < cnt; i++) {
		if (by_kernel)
			send_urgent();
		if (both)
			deliver();
		if (!by_kernel || both)
			kill(getpid(), SIGURG);
		if (both)
			deliver();
		while (!both && seen == i)
			sigsuspend(&none);
	}
	printf("seen %d\n", (int)seen);
	return 7;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "kill"))
		return kill_child();
	if (argc > 1 && !strcmp(argv[1], "stop"))
		return stop_child();
	if (argc > 2)
		return count(argv[1], atoi(argv[2]));
	return 123;
}
