/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signals a recording obeys. SIGINT, SIGTERM and SIGHUP ask for the final report; a second one
 * quits at once. SIGUSR1 asks for a report now. SIGPIPE becomes the error of the write that caused
 * it.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

void signals__init(void);
/* The same for commands that have nothing to end in good order: the first signal quits. */
void signals__init_quitting(void);
bool signals__stop(void);	 /* the end was asked for */
bool signals__take_report(void); /* a report was asked for since the last call */

/* A file to remove when a second signal quits; NULL: none. The name must stay valid meanwhile. */
void signals__set_temporary(const char *path);

/* A terminal that is in use: a second signal gives it back before it quits. The state and the bytes
 * must stay valid until NULL is set. */
struct termios;
void signals__set_terminal(const struct termios *found, const char *bytes, size_t len);

/* Ctrl-Z is a wish, too: for the terminal first. */
void signals__catch_suspend(void);
bool signals__take_suspend(void);
void signals__suspend(void); /* stops here, until somebody lets the program go on */

/* Ends like a program that SIGPIPE killed; returns only where the caller's parent ignores SIGPIPE.
 */
void signals__die_of_pipe(void);

#endif
