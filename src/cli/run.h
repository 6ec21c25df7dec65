/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands: each returns the exit status. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <allocsnoop.h>

#include "cli/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int run__record(const struct cli_opts *o);
int run__list(const struct cli_opts *o);
int run__doctor(const struct cli_opts *o);
int run__saved(const struct cli_opts *o); /* report, diff, merge */
int run__top(const struct cli_opts *o);

/* run.c: parts of a recording. */
/* What the library is asked for; without a log. */
void run__options(const struct cli_opts *o, struct allocsnoop_opts *opts);
void run__say_open(int err); /* why it couldn't be opened */
void run__hint_user(const struct cli_opts *o);
/* COMMAND's own exit status; 0 while it runs on, or when there is none. */
int run__command_status(struct allocsnoop *session);

#endif
