/* SPDX-License-Identifier: BSD-2-Clause */
/* The tool: the library's first user, which sees its public header and nothing else. */
#include <allocsnoop.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/say.h"

/*
 * A program started with descriptor 1 closed would get a BPF map there, and write its report into
 * it. Not writable, so that the report fails; closed on exec, so that COMMAND finds what we found.
 */
static void fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
}

static int print_end(void)
{
	errno = EIO;
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_DONE;
	err__fail(-errno, "cannot write 'standard output': %s", strerror(errno));
	say__failure();
	return EXIT_FAILED;
}

static int dispatch(const struct cli_opts *o)
{
	if (o->version) {
		printf("allocsnoop %s\n", allocsnoop__version());
		return print_end();
	}
	if (o->help) {
		help__print(o->help == HELP_ALL);
		return print_end();
	}
	if (o->verb == VERB_DOCTOR)
		return run__doctor(o);
	if (o->verb & VERB_SAVED)
		return run__saved(o);
	if (o->verb == VERB_TOP)
		return run__top(o);
	return o->verb == VERB_LIST ? run__list(o) : run__record(o);
}

int main(int argc, char **argv)
{
	struct cli_opts o;
	int status;

	fill_standard_streams();
	if (cli_opts__parse(&o, argc, argv)) {
		say__failure();
		cli_opts__fini(&o);
		return EXIT_USAGE;
	}
	status = dispatch(&o);
	cli_opts__fini(&o);
	return status;
}
