/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a workload starts and when it goes on. By hand WAIT and HOLD (seconds) are handy; tests use
 * pipes, so that nothing depends on how busy the machine is: GO_FIFO is read once before the work,
 * HOLD_FIFO once after it. Nothing here allocates.
 */
#ifndef TESTS_WORKLOAD_GATE_H
#define TESTS_WORKLOAD_GATE_H

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* printf to standard output without a buffer from malloc: what a workload says is not in its sums.
 */
static inline void __attribute__((format(printf, 1, 2))) gate__say(const char *format, ...)
{
	char line[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(1, line, (size_t)len) != len)
		_exit(9);
}

static inline void gate__nap(const char *variable)
{
	const char *seconds = getenv(variable);

	if (seconds)
		usleep((useconds_t)(atof(seconds) * 1e6));
}

/* The read end is open before the word is printed: who reads the word may write without waiting. */
static inline void gate__pass(const char *variable, const char *word)
{
	const char *path = getenv(variable);
	struct pollfd fifo = { -1, POLLIN, 0 };
	char byte;

	if (!path)
		return;
	alarm(110); /* a test that died must not leave this process behind */
	fifo.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fifo.fd < 0 || write(1, word, strlen(word)) < 0)
		_exit(9);
	if (poll(&fifo, 1, -1) != 1 || read(fifo.fd, &byte, 1) != 1)
		_exit(9);
	close(fifo.fd);
}

static inline void gate__start(void)
{
	gate__nap("WAIT");
	gate__pass("GO_FIFO", "ready\n");
}

static inline void gate__end(void)
{
	gate__nap("HOLD");
	gate__pass("HOLD_FIFO", "done\n");
}

#endif
