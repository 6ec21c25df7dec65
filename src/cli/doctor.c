/* SPDX-License-Identifier: BSD-2-Clause */
/* `allocsnoop doctor`: what works on this machine, and what helps. The verdict is the report's last
 * line and the exit status. */
#include <allocsnoop.h>
#include <errno.h>
#include <stdio.h>

#include "cli/run.h"
#include "cli/say.h"
#include "cli/signals.h"

int run__doctor(const struct cli_opts *o)
{
	struct allocsnoop_doctor_opts opts = { .sz = sizeof(opts), .format = o->format_name };
	int err = allocsnoop__doctor(&opts, stdout);

	if (err == -EPIPE) {
		signals__die_of_pipe();
		return EXIT_FAILED;
	}
	if (err && err != -EPERM && err != -ENOTSUP)
		say__library();
	return err ? EXIT_FAILED : EXIT_DONE;
}
