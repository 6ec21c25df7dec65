/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, starts, polls, drains and ends a recording. */
#include "trace/session.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "proc/launch.h"
#include "proc/task.h"
#include "trace/giveback.h"
#include "trace/govern.h"
#include "trace/growth.h"
#include "trace/over.h"
#include "trace/targets.h"
#include "trace/tidy.h"

#define TABLE_BYTES_DEFAULT (256ull << 20)
#define DEPTH_DEFAULT	    512
#define BLOCKS_DEFAULT	    (1u << 20)
#define BLOCKS_NONE	    1		 /* mappings are followed by us */
#define ROWS_DEFAULT	    (128u << 10) /* 41 MB */
#define ROWS_MAX	    (1u << 24)
#define BLOCKS_MAX	    (1u << 29) /* for more the kernel makes no hash table of spilled ones */
#define POLL_SLICE_MS	    20	       /* the kernel doesn't wake us for every record */
#define SLOW_CHECK_NS	    500000000ull
#define SLOW_PERCENT	    10
#define TRACE_ALL                                                                 \
	(ALLOCSNOOP_TRACE_MALLOC | ALLOCSNOOP_TRACE_MMAP | ALLOCSNOOP_TRACE_BRK | \
	 ALLOCSNOOP_TRACE_FAULT)
#define SLOW_CHECK_ROWS 16384
#define TIDY_NS		1000000000ull
#define GIVE_BACK_NS	200000000ull
#define MEMORY_DEFAULT	(256ull << 20)
#define AWAIT_MS	1000
#define STOP_AWAIT_MS	5000

static u64 now__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void session__note_start(struct session *s)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	s->start_ns = now__ns();
	s->started_ns = (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void session__log(struct session *s, enum allocsnoop_log_level level, const char *fmt, ...)
{
	char line[4400];
	va_list args;

	if (!s->log)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	s->log(s->log_arg, level, line);
}

/* ---- options ---- */

static int opts__check(const struct allocsnoop_opts *o)
{
	if (o->pid_cnt && o->argv)
		return err__fail(-EINVAL, "process ids and a command exclude each other");
	if (o->sample_rate < 0 || o->sample_rate > 1 || o->sample_rate != o->sample_rate)
		return err__fail(-EINVAL, "sample rate %g: must lie in (0, 1]", o->sample_rate);
	if (o->sample_bytes && o->sample_rate != 0 && o->sample_rate != 1)
		return err__fail(-EINVAL, "a sample rate and sample bytes exclude each other");
	if (o->max_size && o->min_size > o->max_size)
		return err__fail(-EINVAL, "min size %llu is above max size %llu",
				 (unsigned long long)o->min_size, (unsigned long long)o->max_size);
	if (o->max_depth > AS_DEPTH_MAX)
		return err__fail(-EINVAL, "max depth %u: at most %d frames", o->max_depth,
				 AS_DEPTH_MAX);
	if (o->user && !o->argv)
		return err__fail(-EINVAL, "a user can only be given for a command");
	if ((o->older_ns || o->old_ns) && !o->live)
		return err__fail(-EINVAL, "an age needs live: without it no block is followed");
	if (o->event && !o->live)
		return err__fail(-EINVAL, "events need live: without it no block is followed");
	if (o->trace & ~TRACE_ALL)
		return err__fail(-EINVAL, "trace %#x: unknown kinds of events", o->trace);
	if (o->live && o->trace & ALLOCSNOOP_TRACE_FAULT)
		return err__fail(-EINVAL, "live can't follow faults: pages go one by one, by many "
					  "ways that no stack tells of");
	if (o->live && (o->trace & ALLOCSNOOP_TRACE_MALLOC || o->probe_cnt) &&
	    o->trace & ~ALLOCSNOOP_TRACE_MALLOC)
		return err__fail(-EINVAL,
				 "live follows blocks or mappings, not both: blocks lie in "
				 "mappings");
	if (o->event && o->trace & ~ALLOCSNOOP_TRACE_MALLOC)
		return err__fail(-EINVAL, "events are of malloc's blocks only");
	if (o->max_live > BLOCKS_MAX)
		return err__fail(-EINVAL, "max live %llu: at most %u blocks",
				 (unsigned long long)o->max_live, BLOCKS_MAX);
	if (o->max_rows > ROWS_MAX)
		return err__fail(-EINVAL, "max rows %u: at most %u", o->max_rows, ROWS_MAX);
	if (o->argv && !o->argv[0])
		return err__fail(-EINVAL, "the command is empty");
	if (!(o->max_overhead >= 0 && o->max_overhead <= 100))
		return err__fail(-EINVAL, "max overhead %g: must lie in (0, 100]", o->max_overhead);
	if (o->max_overhead && o->trace && !(o->trace & ALLOCSNOOP_TRACE_MALLOC) && !o->probe_cnt)
		return err__fail(-EINVAL, "a budget is for probes, and growth alone places none");
	if (o->live && o->max_overhead)
		return err__fail(-EINVAL, "a budget can't be kept with live: a block whose free "
					  "falls between two windows would seem to leak");
	return 0;
}

static int session__copy_argv(struct session *s, char *const *argv)
{
	size_t cnt = 0;

	while (argv[cnt])
		cnt++;
	s->argv = calloc(cnt + 1, sizeof(*s->argv));
	if (!s->argv)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		s->argv[i] = strdup(argv[i]);
		if (!s->argv[i])
			return -ENOMEM;
	}
	return 0;
}

static int session__take_probes(struct session *s, const struct allocsnoop_opts *o)
{
	int err = 0;

	for (size_t i = 0; i < o->probe_cnt && !err; i++)
		err = probe_set__add(&s->probes, o->probes[i]);
	probe_set__finish(&s->probes);
	s->probes.only = o->probe_cnt && !(o->trace & ALLOCSNOOP_TRACE_MALLOC);
	return err;
}

static int session__take_opts(struct session *s, const struct allocsnoop_opts *o)
{
	int err = opts__check(o);

	s->log = o->log;
	s->log_arg = o->log_arg;
	s->event = o->event;
	s->event_arg = o->event_arg;
	s->every = !o->pid_cnt && !o->argv;
	s->follow = o->follow;
	s->trace = o->trace ? o->trace : ALLOCSNOOP_TRACE_MALLOC;
	if (o->probe_cnt) /* they are placed and counted as malloc is */
		s->trace |= ALLOCSNOOP_TRACE_MALLOC;
	s->live = o->live;
	s->threads = o->threads;
	s->older_ns = o->older_ns;
	s->old_ns = o->old_ns;
	s->max_memory = o->max_memory ? o->max_memory : MEMORY_DEFAULT;
	if (!err)
		err = filter__init(&s->filter, o);
	if (!err && o->argv)
		err = session__copy_argv(s, o->argv);
	if (!err && o->user) {
		s->user = strdup(o->user);
		err = s->user ? 0 : -ENOMEM;
	}
	if (!err)
		err = session__take_probes(s, o);
	s->ranges.max = o->max_live ? o->max_live : BLOCKS_DEFAULT;
	s->sample_rate = o->sample_rate ? o->sample_rate : 1;
	s->sample_bytes = o->sample_bytes;
	if (o->sample_bytes)
		sampler__by_bytes(&s->sampler, o->sample_bytes);
	else
		sampler__by_rate(&s->sampler, s->sample_rate);
	return err;
}

/* ---- the ring buffer ---- */

static bool stack_event__whole(const struct as_stack_event *ev, size_t size)
{
	return size >= offsetof(struct as_stack_event, frames) && ev->frame_cnt <= AS_FRAME_CAP &&
	       size >= offsetof(struct as_stack_event, frames) +
			       ev->frame_cnt * sizeof(ev->frames[0]);
}

static bool copy_event__whole(const struct as_copy_event *ev, size_t size)
{
	return size >= offsetof(struct as_copy_event, bytes) &&
	       size - offsetof(struct as_copy_event, bytes) >= ev->size;
}

static void session__copy(struct session *s, const struct as_copy_event *ev)
{
	copies__take(s, ev);
	kernel__copy_done(&s->kernel, ev->size);
}

static void session__tell(struct session *s, const struct as_block_event *ev)
{
	const struct as_tally_key *key = kernel__live_key(&s->kernel, ev->row);
	const struct recorded_proc *proc = record__find_proc(&s->record, key->proc);
	struct allocsnoop_event out = {
		.kind = ev->freed ? ALLOCSNOOP_EVENT_FREE : ALLOCSNOOP_EVENT_ALLOC,
		.pid = proc ? proc->pid : 0,
		.tid = ev->tid,
		.addr = ev->addr,
		.size = ev->size,
		.time_ns = ev->time - MIN(s->start_ns, ev->time),
		.lifetime_ns = ev->time - ev->born,
		.stack_id = record__whole(&s->record, key->stack),
	};

	s->event(s->event_arg, &out);
}

static int session__event(void *ctx, void *data, size_t size)
{
	struct session *s = ctx;

	if (size < sizeof(u32))
		return 0;
	switch (*(u32 *)data) {
	case AS_EVENT_STACK:
		if (stack_event__whole(data, size))
			record__stack(&s->record, data);
		break;
	case AS_EVENT_COPY:
		if (copy_event__whole(data, size))
			session__copy(s, data);
		break;
	case AS_EVENT_PROC:
		if (size >= sizeof(struct as_proc_event))
			over__proc(s, data);
		break;
	case AS_EVENT_OVER:
		if (size >= sizeof(struct as_over_event))
			over__event(s, data);
		break;
	case AS_EVENT_THREAD:
		if (size >= sizeof(struct as_thread_event))
			record__thread(&s->record, data);
		break;
	case AS_EVENT_FULL:
		s->flip_asked = true;
		break;
	case AS_EVENT_BLOCK:
		if (size < sizeof(struct as_block_event))
			break;
		session__tell(s, data);
		return --s->events_left ? 0 : -EAGAIN;
	case AS_EVENT_RANGE:
		if (size < sizeof(struct as_range_event))
			break;
		ranges__event(&s->ranges, data);
		return --s->events_left ? 0 : -EAGAIN;
	}
	return 0;
}

/* Takes in all that waits now; what comes meanwhile may wait, or a fast program and a slow callback
 * would keep us here. */
int session__consume(struct session *s)
{
	int n;

	s->events_left = kernel__ring_size(&s->kernel) / sizeof(struct as_block_event);
	n = ring_buffer__consume(s->ring);
	return n == -EAGAIN ? 0 : n;
}

/* ---- open and start ---- */

static int session__open_kernel(struct session *s, const struct allocsnoop_opts *o)
{
	struct kernel_opts k = {
		.all = s->every,
		.follow = s->argv != NULL,
		.leaderless = s->leaderless,
		.min_size = o->min_size,
		.max_size = o->max_size ? o->max_size : ~0ull,
		.max_depth = o->max_depth ? o->max_depth : DEPTH_DEFAULT,
		.sampler = &s->sampler,
		.live = o->live,
		.threads = o->threads,
		.max_live = !(s->trace & ALLOCSNOOP_TRACE_MALLOC) ? BLOCKS_NONE
			    : o->max_live			  ? o->max_live
								  : BLOCKS_DEFAULT,
		.max_rows = o->max_rows ? o->max_rows : ROWS_DEFAULT,
		.events = o->event != NULL,
		.filter = &s->filter,
		.layers = o->probe_cnt != 0,
		.trace = s->trace,
		.max_overhead = o->max_overhead,
		.budget_asked = !o->overhead_if_possible,
	};
	libbpf_print_fn_t before = libbpf_set_print(NULL); /* ours is the one line */
	int err = kernel__open(&s->kernel, &k);

	if (!err && s->kernel.governed)
		err = governor__new(s, o->max_overhead, &s->governor);
	else if (!err && o->max_overhead)
		session__log(s, ALLOCSNOOP_WARN,
			     "no budget: this kernel's probes can't come and go quickly enough for "
			     "--max-overhead %g; every process is slowed by what it allocates",
			     o->max_overhead);
	if (!err)
		err = files__init(&s->files, &s->kernel,
				  o->max_table_memory ? o->max_table_memory : TABLE_BYTES_DEFAULT);
	s->files.probes = o->probe_cnt ? &s->probes : NULL;
	if (!err)
		err = closer__new(&s->closer);
	if (!err)
		err = finder__start(s);
	if (!err) {
		s->ring = ring_buffer__new(kernel__ring_fd(&s->kernel), session__event, s, NULL);
		err = s->ring ? 0
			      : err__fail(-errno, "cannot map the ring buffer: %s",
					  strerror(errno));
	}
	libbpf_set_print(before);
	return err;
}

int session__open(struct session *s, const struct allocsnoop_opts *o)
{
	int err;

	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	err = session__take_opts(s, o);
	if (!err)
		err = targets__check(s, o->pids, o->pid_cnt);
	if (!err)
		err = session__open_kernel(s, o);
	if (!err)
		return 0;
	session__close(s);
	return err;
}

static u64 targets__cpu_ns(struct session *s)
{
	u64 sum = 0, pid, val, ns;

	for (size_t i = 0; map__next(&s->targets, &i, &pid, &val);)
		sum += proc_task__cputime(pid, &ns) ? 0 : ns;
	return sum;
}

static int session__begin(struct session *s)
{
	kernel__grow(&s->kernel, true);
	if (s->governor)
		return governor__start(s->governor);
	kernel__count(&s->kernel, true);
	return 0;
}

static int session__launch(struct session *s)
{
	struct launch_opts opts = { .argv = s->argv, .user = s->user, .nofile = &s->kernel.nofile };
	struct launch_ops ops;
	int err;

	targets__launch_ops(s, &ops);
	err = launch__start(&opts, &ops, &s->launch);
	if (err)
		return err;
	err = session__begin(s);
	return err ? err : launch__go(s->launch);
}

int session__start(struct session *s)
{
	int err;

	if (s->started)
		return err__fail(-EINVAL, "the session was already started");
	err = kernel__watch_maps(&s->kernel);
	if (!err && s->follow)
		err = kernel__watch_children(&s->kernel);
	if (!err)
		err = growth__attach(&s->kernel);
	if (err)
		return err;
	s->started = true;
	if (s->argv) {
		session__note_start(s);
		return session__launch(s);
	}
	err = s->every ? targets__attach_every(s) : targets__attach_pids(s);
	if (err)
		return err;
	s->cpu_before_ns = targets__cpu_ns(s);
	session__note_start(s);
	err = session__begin(s);
	if (!err)
		finder__wake(s);
	return err;
}

/* ---- probes ---- */

int session__attach(struct session *s, struct links *l, const char *path,
		    const struct probe_place *places, size_t cnt, pid_t pid)
{
	if (s->governor)
		return governor__add(s->governor, l, path, places, cnt, pid);
	return kernel__attach(&s->kernel, l, path, places, cnt, pid);
}

void session__detach(struct session *s, struct links *l, u64 tag)
{
	if (s->governor)
		governor__forget(s->governor, l);
	closer__give(s->closer, l, tag);
}

void session__detach_now(struct session *s, struct links *l)
{
	if (s->governor)
		governor__forget(s->governor, l);
	links__close(l);
}

/* ---- while it runs ---- */

/* With live a kept call's return is probed, too, and sooner or later its block's free. */
static u64 session__hits(const struct session *s, const struct kernel_counts *c)
{
	return s->live ? c->calls + c->kept + c->calls : c->calls;
}

/*
 * One warning when the probes take more than a tenth of the CPU time that the targets need without
 * them. The cost of a hit is an estimate, so it can't be more than nearly all of the time.
 */
static void session__check_slow(struct session *s)
{
	/* To count with --live is to look at each row. */
	u64 pause = SLOW_CHECK_NS * (1 + kernel__live_row_cnt(&s->kernel) / SLOW_CHECK_ROWS);
	struct kernel_counts c;
	u64 now = now__ns(), hits, lost, cpu;
	double times;

	/* What growth costs isn't worth a word. */
	if (s->slow_told || s->every || s->follow || s->governor ||
	    !(s->trace & ALLOCSNOOP_TRACE_MALLOC) || now - s->slow_checked_ns < pause)
		return;
	s->slow_checked_ns = now;
	kernel__counts(&s->kernel, &c);
	cpu = targets__cpu_ns(s);
	cpu -= MIN(cpu, s->cpu_before_ns);
	hits = session__hits(s, &c);
	lost = MIN(hits * s->kernel.hit_ns, cpu - cpu / 20);
	if (lost < SLOW_CHECK_NS / 10 || lost * 100 < (cpu - lost) * SLOW_PERCENT)
		return;
	s->slow_told = true;
	times = (double)cpu / (cpu - lost);
	session__log(
		s, ALLOCSNOOP_WARN,
		"the targets take %s %.1f times as long while traced (%.1f us a call): a short -d "
		"spares them%s",
		times > 19 ? "at least" : "about", times,
		(double)hits / c.calls * s->kernel.hit_ns / 1000,
		s->live ? ", and so does leaving --live out, with --max-overhead 5"
			: "; --max-overhead 5 sets a budget");
}

static void session__make_room(struct session *s)
{
	u64 now = now__ns();

	if (s->live && now - s->gave_back_ns >= GIVE_BACK_NS) {
		s->gave_back_ns = now;
		session__give_back(s);
	}
	if (now - s->tidied_ns < TIDY_NS)
		return;
	s->tidied_ns = now;
	session__tidy(s);
}

/* Flip first: rows of the quiet tally name only stacks whose records were in the ring before. */
static int session__drain_once(struct session *s)
{
	int quiet = kernel__flip(&s->kernel), err;

	if (quiet < 0)
		return quiet;
	session__consume(s);
	copies__work(s);
	err = record__drain(&s->record, quiet, s->kernel.tally_rows);
	if (err)
		return err__fail(err, "cannot read the table of sums: %s", strerror(-err));
	return 0;
}

/*
 * A flip waits for the programs that still run, so after one the caches hold all that happened
 * before; after a flush and a second flip it's all in the quiet tally.
 */
int session__take_rows(struct session *s)
{
	int err;

	s->record.drains++;
	err = session__drain_once(s);

	if (!err)
		err = kernel__flush(&s->kernel);
	return err ? err : session__drain_once(s);
}

static void session__tell_no_fd(struct session *s)
{
	struct rlimit r = {};

	pthread_mutex_lock(&s->opener.lock);
	if (s->opener.no_fd_cnt && !s->no_fd_told) {
		s->no_fd_told = true;
		getrlimit(RLIMIT_NOFILE, &r);
		session__log(s, ALLOCSNOOP_WARN,
			     "all %llu descriptors are in use: '%s' and files found later are not "
			     "traced; raise the hard limit, ulimit -Hn",
			     (unsigned long long)r.rlim_cur,
			     s->opener.no_fd_path ? s->opener.no_fd_path : "?");
	}
	pthread_mutex_unlock(&s->opener.lock);
}

/* Called with the lock held. 0 or more, or -errno. */
static int session__take_in(struct session *s)
{
	int n = session__consume(s);

	copies__work(s);
	if (!s->flip_asked)
		return n;
	s->flip_asked = false;
	return session__drain_once(s);
}

void session__keep_up(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	session__take_in(s); /* an error comes again with the next poll */
	pthread_mutex_unlock(&s->lock);
}

static int session__poll_once(struct session *s, int timeout_ms)
{
	int n, fd = ring_buffer__epoll_fd(s->ring);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	n = poll(&p, 1, timeout_ms);
	if (n < 0)
		return -errno;
	pthread_mutex_lock(&s->lock);
	n = session__take_in(s);
	session__check_slow(s);
	session__tell_no_fd(s);
	session__make_room(s);
	if (n >= 0)
		n = targets__alive(s);
	pthread_mutex_unlock(&s->lock);
	release__check(s);
	return n;
}

int session__poll(struct session *s, int timeout_ms)
{
	u64 end = now__ns() + (u64)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000;
	int n;

	if (!s->started || s->stopped)
		return 0;
	do {
		n = session__poll_once(s, timeout_ms >= 0 && timeout_ms < POLL_SLICE_MS
						  ? timeout_ms
						  : POLL_SLICE_MS);
		if (n <= 0)
			return n;
	} while (timeout_ms < 0 || now__ns() < end);
	return n;
}

int session__drain(struct session *s)
{
	int err;

	pthread_mutex_lock(&s->lock);
	err = session__take_rows(s);
	pthread_mutex_unlock(&s->lock);
	/* Stacks that come through files which are still being read get their chance. */
	finder__await(s, copies__await_cnt(&s->copies), s->stopped ? STOP_AWAIT_MS : AWAIT_MS);
	pthread_mutex_lock(&s->lock);
	copies__end(s);
	record__settle(&s->record);
	if (!err && s->governor)
		governor__publish(s->governor);
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* ---- the end ---- */

static void session__tell_missed(struct session *s)
{
	const char *spec;
	char why[512];

	for (size_t at = 0; (spec = probe_set__missed(&s->probes, &at, why, sizeof(why)));)
		session__log(s, ALLOCSNOOP_WARN, "probe '%s': %s", spec, why);
}

int session__stop(struct session *s)
{
	if (s->stopped || !s->started)
		return 0;
	if (s->governor)
		governor__stop(s->governor);
	kernel__count(&s->kernel, false);
	kernel__grow(&s->kernel, false);
	s->stop_ns = now__ns();
	s->stopped = true;
	/* Nobody, and not we either, needs to wait for the report to be rid of them. */
	targets__unprobe(s);
	session__tell_missed(s);
	return 0;
}

void session__close(struct session *s)
{
	if (s->kernel.skel && s->started)
		session__stop(s);
	launch__free(s->launch);
	s->launch = NULL;
	finder__fini(s);
	if (s->closer)
		targets__release(s);
	governor__free(s->governor);
	closer__free(s->closer);
	ring_buffer__free(s->ring);
	record__fini(&s->record);
	copies__fini(&s->copies);
	ranges__fini(&s->ranges);
	files__fini(&s->files);
	filter__fini(&s->filter);
	cgroups__fini(&s->cgroups);
	probe_set__free(&s->probes);
	kernel__close(&s->kernel);
	for (char **a = s->argv; a && *a; a++)
		free(*a);
	free(s->argv);
	free(s->user);
	vec__free(&s->pids);
	vec__free(&s->before);
	pthread_mutex_destroy(&s->lock);
}

bool session__names(const struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->pids.cnt; i++) {
		if (s->pids.v[i] == pid)
			return true;
	}
	return s->launch && launch__pid(s->launch) == pid;
}

u64 session__elapsed_ns(const struct session *s)
{
	if (!s->start_ns)
		return 0;
	return (s->stop_ns ? s->stop_ns : now__ns()) - s->start_ns;
}

struct process_count {
	const struct filter *filter;
	u32 cnt;
};

static int count__process(void *arg, pid_t pid)
{
	struct process_count *c = arg;

	c->cnt += pid != getpid() && filter__has(c->filter, pid);
	return 0;
}

u32 session__process_cnt(struct session *s)
{
	struct process_count c = { .filter = &s->filter };
	u32 cnt;

	if (s->every) {
		proc_tasks__each(count__process, &c);
		return c.cnt;
	}
	if (s->follow)
		return kernel__proc_cnt(&s->kernel);
	pthread_mutex_lock(&s->lock);
	cnt = s->targets.cnt;
	pthread_mutex_unlock(&s->lock);
	return cnt;
}

void session__losses(struct session *s, u64 losses[LOSS_CNT])
{
	memcpy(losses, s->losses, sizeof(s->losses));
	kernel__losses(&s->kernel, losses);
	losses[LOSS_FILE_GONE] += s->opener.gone_cnt;
	losses[LOSS_ATTACH_FAILED] += s->opener.no_fd_cnt;
	losses[AS_LOSS_STACK_COPY_LIMITED] += s->copies.limited_cnt;
	losses[AS_LOSS_NO_THREAD_STATE] += s->files.jumps_lost_cnt;
	losses[LOSS_FILE_32BIT] += s->files.file_32bit_cnt;
	losses[LOSS_TABLE_MEMORY] += s->files.tables.over_cnt;
	losses[LOSS_RANGES_CUT] += s->files.ranges_cut_cnt;
	losses[LOSS_MEMORY] += s->record.dropped + s->ranges.dropped;
	losses[AS_LOSS_BLOCKS_FULL] += s->ranges.full_cnt;
	losses[LOSS_STACKS_AGED] += s->record.aged_cnt;
	losses[LOSS_NAMES_MERGED] += s->record.unnamed_cnt;
	losses[LOSS_THREADS_MERGED] += s->record.threads_cnt;
}
