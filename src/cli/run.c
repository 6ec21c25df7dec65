/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording from start to report: open, start, poll until something ends it, stop, report. All
 * reports, asked for in between or at the end, are snapshots of the sums since the start.
 */
#include "cli/run.h"

#include <allocsnoop.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/signals.h"

/* The library wants to be polled about every 100 ms; signals are looked at as often. */
#define POLL_MS	      100
#define OLD_INTERVALS 3 /* of -i: what is live for so many is told apart */

#define NS_PER_MS 1000000ull

struct run {
	const struct cli_opts *o;
	struct allocsnoop *session;
	struct output out;
	struct progress progress;
	u64 end_ns;	    /* by the monotonic clock; UINT64_MAX: never */
	u64 next_report_ns; /* likewise */
	bool dated;	    /* reports carry the time: there is more than one */
	int output_err;	    /* writing failed: there is no point in trying again */
};

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* A point in time; UINT64_MAX for a duration of 0, which is none. */
static u64 after(u64 start_ns, u64 duration_ns)
{
	u64 ns;

	if (!duration_ns || __builtin_add_overflow(start_ns, duration_ns, &ns))
		return UINT64_MAX;
	return ns;
}

/* ---- start ---- */

/* With reports in between, what outlives several of them is worth a look; --older asks for a look
 * of the user's own. */
static u64 old_ns(const struct cli_opts *o)
{
	u64 ns;

	if (!o->live || o->older_ns)
		return 0;
	return __builtin_mul_overflow(o->interval_ns, OLD_INTERVALS, &ns) ? 0 : ns;
}

void run__options(const struct cli_opts *o, struct allocsnoop_opts *opts)
{
	*opts = (struct allocsnoop_opts){
		.sz = sizeof(*opts),
		.pids = o->pids.v,
		.pid_cnt = o->pids.cnt,
		.argv = o->words,
		.user = o->user,
		.comm = o->comm,
		.cgroup = o->cgroup,
		.follow = o->follow,
		.sample_rate = o->sample_rate,
		.sample_bytes = o->sample_bytes,
		.min_size = o->min_size,
		.max_size = o->max_size,
		.max_depth = o->max_depth,
		.max_table_memory = o->max_table_memory,
		.max_memory = o->max_memory,
		.live = o->live,
		.trace = o->events,
		.max_live = o->max_live,
		.max_rows = o->max_rows,
		.older_ns = o->older_ns,
		.old_ns = old_ns(o),
		.probes = o->probes.v,
		.probe_cnt = o->probes.cnt,
		.max_overhead = o->max_overhead,
		.overhead_if_possible = o->overhead_default,
		.lines = o->lines || o->format->lines,
		.threads = o->by == ALLOCSNOOP_BY_THREAD,
	};
}

void run__say_open(int err)
{
	say__library();
	if (err == -EPERM && geteuid() && !*allocsnoop__hint())
		say__hint("run it with sudo");
}

static int run__open(struct run *r)
{
	struct allocsnoop_opts opts;
	int err;

	run__options(r->o, &opts);
	opts.log = progress__log;
	opts.log_arg = &r->progress;
	err = allocsnoop__open(&opts, &r->session);
	if (err)
		run__say_open(err);
	return err;
}

/* Under sudo COMMAND becomes root without anybody having said so. */
void run__hint_user(const struct cli_opts *o)
{
	const char *user = getenv("SUDO_USER");

	if (!o->words || o->user || o->verbosity < 0 || geteuid())
		return;
	if (!user || !*user || !strcmp(user, "root"))
		return;
	err__fail(0, "'%s': runs as root", o->words[0]);
	err__hint("to run it as you: --user %s", user);
	say__failure();
}

static int run__start(struct run *r)
{
	u64 start_ns;
	int err;

	run__hint_user(r->o);
	err = allocsnoop__start(r->session);
	if (err) {
		say__library();
		return err;
	}
	/* Files must be opened while their processes live. COMMAND, started before, isn't favoured.
	 */
	setpriority(PRIO_PROCESS, 0, -10);
	start_ns = now_ns();
	r->end_ns = after(start_ns, r->o->duration_ns);
	r->next_report_ns = after(start_ns, r->o->interval_ns);
	r->dated = r->o->interval_ns;
	return 0;
}

/* ---- reports ---- */

static bool pipe_gone(const struct run *r)
{
	return output__pipe_gone(&r->out, r->output_err);
}

static int run__report(struct run *r, bool final)
{
	struct allocsnoop_profile *profile = NULL;
	int err = allocsnoop__profile(r->session, &profile);

	progress__erase(&r->progress);
	if (err) {
		say__library();
		return err;
	}
	err = r->output_err = output__write(&r->out, profile, r->dated);
	if (err && !pipe_gone(r))
		say__failure();
	if (final)
		output__tell_losses(&r->out, profile);
	allocsnoop_profile__free(profile);
	return err;
}

/* ---- the loop ---- */

static int poll_ms(const struct run *r)
{
	u64 until_ns = MIN(r->end_ns, r->next_report_ns);
	u64 now = now_ns();

	if (until_ns <= now)
		return 0;
	return MIN((until_ns - now + NS_PER_MS - 1) / NS_PER_MS, POLL_MS);
}

/* A report when its time has come or a signal asked for it. */
static int run__report_due(struct run *r)
{
	bool asked = signals__take_report();
	u64 now = now_ns();

	if (!asked && now < r->next_report_ns)
		return 0;
	if (r->o->format->single && !r->out.path) {
		say__line("no report now: only one of this format fits into a stream; use -o FILE");
		return 0;
	}
	if (now >= r->next_report_ns) /* intervals missed are not made up for */
		r->next_report_ns +=
			(1 + (now - r->next_report_ns) / r->o->interval_ns) * r->o->interval_ns;
	r->dated = true;
	return run__report(r, false);
}

/* Until the targets have ended, the time is up, a signal came (0), or something broke. */
static int run__loop(struct run *r)
{
	for (;;) {
		int got = allocsnoop__poll(r->session, poll_ms(r));
		int err;

		progress__start(&r->progress, r->session, r->o->words);
		if (got < 0 && got != -EINTR) {
			progress__erase(&r->progress);
			say__library();
			return got;
		}
		if (!got || signals__stop() || now_ns() >= r->end_ns)
			return 0;
		err = run__report_due(r);
		if (err)
			return err;
		progress__draw(&r->progress, r->session);
	}
}

/* ---- end ---- */

int run__command_status(struct allocsnoop *session)
{
	int status;

	if (allocsnoop__exit_status(session, &status))
		return EXIT_DONE;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run__all(struct run *r)
{
	int err, stop_err;

	err = run__open(r);
	if (err)
		return EXIT_FAILED;
	err = output__open(&r->out, r->o);
	if (err) {
		say__failure();
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	if (signals__stop()) {
		say__line("stopped before the tracing began");
		return EXIT_FAILED;
	}
	if (run__start(r))
		return EXIT_FAILED;
	err = run__loop(r);
	progress__erase(&r->progress);
	stop_err = allocsnoop__stop(r->session);
	if (stop_err)
		say__library();
	if (!r->output_err)
		run__report(r, true);
	if (err || stop_err || r->output_err)
		return EXIT_FAILED;
	return run__command_status(r->session);
}

int run__record(const struct cli_opts *o)
{
	struct run r = { .o = o };
	int status;
	bool quiet_end;

	signals__init();
	progress__init(&r.progress, o->verbosity);
	status = run__all(&r);
	quiet_end = pipe_gone(&r);
	allocsnoop__free(r.session);
	output__close(&r.out);
	progress__fini(&r.progress);
	if (quiet_end)
		signals__die_of_pipe();
	return status;
}
