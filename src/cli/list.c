/* SPDX-License-Identifier: BSD-2-Clause */
/* `allocsnoop list`: what would be probed, and why. */
#include <allocsnoop.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/say.h"
#include "cli/signals.h"

static int list__one(const struct cli_opts *o, struct progress *log, pid_t pid)
{
	struct allocsnoop_list_opts opts = {
		.sz = sizeof(opts),
		.pid = pid,
		.path = o->words ? o->words[0] : NULL,
		.probes = o->probes.v,
		.probe_cnt = o->probes.cnt,
		.malloc_too = o->events & ALLOCSNOOP_TRACE_MALLOC,
		.log = progress__log,
		.log_arg = log,
	};
	int err = allocsnoop__list(&opts, stdout);

	if (err && !ferror(stdout))
		say__library();
	return err;
}

static int list__end(void)
{
	errno = EIO;
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_DONE;
	if (errno == EPIPE) {
		signals__die_of_pipe();
		return EXIT_FAILED;
	}
	err__fail(-errno, "cannot write 'standard output': %s", strerror(errno));
	say__failure();
	return EXIT_FAILED;
}

int run__list(const struct cli_opts *o)
{
	struct progress log;
	int err = 0, status;

	progress__init(&log, o->verbosity);
	if (!o->pids.cnt)
		err = list__one(o, &log, 0);
	for (size_t i = 0; i < o->pids.cnt; i++) {
		int one = list__one(o, &log, o->pids.v[i]);

		err = err ? err : one;
	}
	progress__fini(&log);
	status = list__end();
	return err ? EXIT_FAILED : status;
}
