/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands: each returns the exit status. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int run__record(const struct cli_opts *o);
int run__list(const struct cli_opts *o);
int run__doctor(const struct cli_opts *o);
int run__saved(const struct cli_opts *o); /* report, diff, merge */

#endif
