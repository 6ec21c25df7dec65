/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handlers that set flags. The flags are this program's only globals: a handler has no argument to
 * carry them in. Handlers, not SIG_IGN or a blocked mask: COMMAND inherits those through exec,
 * while handlers fall back to the default.
 */
#include "cli/signals.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/*
 * timeout(1) sends its signal to the process and then to the group, so one wish arrives twice. A
 * second press of Ctrl-C takes longer than this.
 */
#define ONE_WISH_NS 100000000

static _Atomic int64_t stop_ns; /* when the end was asked for; 0: not yet */
static atomic_int report_wanted;
static _Atomic(const char *) temporary;
static atomic_int suspend_wanted;
static _Atomic(const struct termios *) terminal_found; /* NULL: no terminal is in use */
static const char *terminal_bytes;
static size_t terminal_len;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static bool terminal__takes_bytes(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && p.revents & POLLOUT;
}

/*
 * All of these may be called in a handler. A terminal that was stopped (Ctrl-S), or that nobody
 * reads, is started again and loses what it has not shown: who quits at once doesn't wait for it.
 */
static void terminal__restore(void)
{
	const struct termios *found = atomic_load(&terminal_found);
	struct termios flowing;

	if (!found)
		return;
	if (!terminal__takes_bytes()) {
		flowing = *found;
		flowing.c_iflag &= ~(tcflag_t)IXON; /* as if Ctrl-Q came */
		tcsetattr(STDIN_FILENO, TCSANOW, &flowing);
		tcflush(STDOUT_FILENO, TCOFLUSH);
	}
	if (terminal__takes_bytes() && write(STDOUT_FILENO, terminal_bytes, terminal_len) < 0)
		(void)0; /* it has gone, perhaps */
	tcsetattr(STDIN_FILENO, TCSANOW, found);
}

static void on_stop(int sig)
{
	const char *path = atomic_load(&temporary);
	int64_t now = now_ns(), first = 0;

	if (atomic_compare_exchange_strong(&stop_ns, &first, now) || now - first < ONE_WISH_NS)
		return;
	if (path)
		unlink(path);
	terminal__restore();
	signal(sig, SIG_DFL);
	raise(sig); /* delivered when the handler returns */
}

static void on_report(int sig)
{
	(void)sig;
	atomic_store(&report_wanted, 1);
}

static void on_suspend(int sig)
{
	(void)sig;
	atomic_store(&suspend_wanted, 1);
}

static void on_pipe(int sig)
{
	(void)sig;
}

/* SA_RESTART: a report half written to a slow pipe goes on; waiting for events never restarts. */
static void handle(int sig, void (*fn)(int), bool unless_ignored)
{
	struct sigaction act = { .sa_handler = fn, .sa_flags = SA_RESTART };
	struct sigaction old;

	sigemptyset(&act.sa_mask);
	if (unless_ignored && !sigaction(sig, NULL, &old) && old.sa_handler == SIG_IGN)
		return;
	sigaction(sig, &act, NULL);
}

void signals__init(void)
{
	handle(SIGINT, on_stop, false); /* a script's background job starts with it ignored */
	handle(SIGTERM, on_stop, false);
	handle(SIGHUP, on_stop, true); /* nohup */
	handle(SIGUSR1, on_report, false);
	handle(SIGPIPE, on_pipe, true);
}

void signals__init_quitting(void)
{
	signals__init();
	atomic_store(&stop_ns, 1); /* as if the first one had come long ago */
}

bool signals__stop(void)
{
	return atomic_load(&stop_ns);
}

bool signals__take_report(void)
{
	return atomic_exchange(&report_wanted, 0);
}

void signals__set_temporary(const char *path)
{
	atomic_store(&temporary, path);
}

void signals__set_terminal(const struct termios *found, const char *bytes, size_t len)
{
	atomic_store(&terminal_found, NULL);
	terminal_bytes = bytes;
	terminal_len = len;
	atomic_store(&terminal_found, found);
}

void signals__catch_suspend(void)
{
	handle(SIGTSTP, on_suspend, true);
}

bool signals__take_suspend(void)
{
	return atomic_exchange(&suspend_wanted, 0);
}

void signals__suspend(void)
{
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	signals__catch_suspend();
}

void signals__die_of_pipe(void)
{
	struct sigaction old;

	if (!sigaction(SIGPIPE, NULL, &old) && old.sa_handler == SIG_IGN)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}
