/* SPDX-License-Identifier: BSD-2-Clause */
/* The governor's thread, and its list of probes; see govern.h. */
#include "trace/govern.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "trace/budget.h"
#include "trace/cputimes.h"
#include "trace/session.h"
#include "trace/targets.h"

#define WATCH_NS     20000000ull  /* on: between cheap looks at the hits */
#define READ_NS	     200000000ull /* on: between readings of CPU times */
#define VISITS_MAX   16		  /* CPUs: of more, each has less of a say */
#define STORM_ALARMS 2
#define TRAP_ERROR   0.10 /* a real hit isn't the one that was tried, by so much at least */

struct attachment {
	const struct links *owner;
	char *path;
	struct probe_place *places;
	size_t cnt;
	pid_t pid;
	struct links links;
	bool told; /* that it couldn't be placed */
};

struct governor {
	struct session *s;
	struct budget budget;
	struct cputimes cpu;
	struct ring_buffer *alarms;
	u32 alarm_cnt; /* since the last look */
	struct closer *closer;
	pthread_t thread;
	bool running;
	int end_fd; /* readable: the thread shall end */
	u64 random;
	cpu_set_t cpus;	      /* that it may run on */
	pthread_mutex_t lock; /* of the list */
	VEC(struct attachment *) list;
	bool attached;
	bool ever_duty;
	bool duty;	/* attached by windows, just now */
	u64 slot_ns;	/* when the slot began */
	double past_ns; /* of slots and rests of them, before */
	u64 own_ns;	/* CPU time of the thread, as far as it's accounted for */
	u64 hits;	/* likewise */
	u64 read_ns;
	double read_cpu, read_lost;
};

static u64 clock__ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static u64 now__ns(void)
{
	return clock__ns(CLOCK_MONOTONIC);
}

/* Uniform in [0, 1): SplitMix64. */
static double governor__random(struct governor *g)
{
	u64 z = g->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* ---- the list ---- */

static void attachment__free(struct attachment *a)
{
	if (!a)
		return;
	links__close(&a->links);
	free(a->path);
	free(a->places);
	free(a);
}

static int attachment__place(struct governor *g, struct attachment *a)
{
	return kernel__attach(&g->s->kernel, &a->links, a->path, a->places, a->cnt, a->pid);
}

static int attachment__new(const struct links *owner, const char *path,
			   const struct probe_place *places, size_t cnt, pid_t pid,
			   struct attachment **out)
{
	struct attachment *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->owner = owner;
	a->path = strdup(path);
	a->places = calloc(cnt, sizeof(*places));
	a->cnt = cnt;
	a->pid = pid;
	if (!a->path || !a->places) {
		attachment__free(a);
		return -ENOMEM;
	}
	memcpy(a->places, places, cnt * sizeof(*places));
	*out = a;
	return 0;
}

int governor__add(struct governor *g, const struct links *owner, const char *path,
		  const struct probe_place *places, size_t cnt, pid_t pid)
{
	struct attachment *a;
	int err = attachment__new(owner, path, places, cnt, pid, &a);

	if (err)
		return err;
	pthread_mutex_lock(&g->lock);
	err = g->attached ? attachment__place(g, a) : 0;
	if (!err)
		err = vec__push(&g->list, a);
	pthread_mutex_unlock(&g->lock);
	if (err)
		attachment__free(a);
	return err;
}

/* Probes that can't be handed over end now. */
static void links__move(struct links *to, struct links *from)
{
	for (size_t i = 0; i < from->fds.cnt; i++) {
		if (vec__push(&to->fds, from->fds.v[i]))
			close(from->fds.v[i]);
	}
	from->fds.cnt = 0;
}

void governor__forget(struct governor *g, struct links *owner)
{
	size_t left = 0;

	pthread_mutex_lock(&g->lock);
	for (size_t i = 0; i < g->list.cnt; i++) {
		struct attachment *a = g->list.v[i];

		if (a->owner != owner) {
			g->list.v[left++] = a;
			continue;
		}
		links__move(owner, &a->links);
		attachment__free(a);
	}
	g->list.cnt = left;
	pthread_mutex_unlock(&g->lock);
}

/* Those that can't be placed: how many, why the first one can't, and where that is. */
struct unplaced {
	size_t cnt;
	int err;
	char path[PATH_MAX];
};

/* What is of no process any more isn't missed. */
static void unplaced__add(struct unplaced *u, struct attachment *a, int err)
{
	ssize_t n;

	if (err == -ESRCH || a->told)
		return;
	a->told = true;
	u->cnt += a->cnt;
	if (u->err)
		return;
	u->err = err;
	n = readlink(a->path, u->path, sizeof(u->path) - 1); /* a descriptor of ours */
	u->path[n > 0 ? n : 0] = '\0';
}

/* The probes of the window before are gone by then, however many files wait for their turn: no call
 * is counted by both. */
static void governor__attach(struct governor *g)
{
	struct unplaced unplaced = {};
	int err;

	closer__await(g->closer, 0);
	pthread_mutex_lock(&g->lock);
	g->attached = true;
	for (size_t i = 0; i < g->list.cnt; i++) {
		err = attachment__place(g, g->list.v[i]);
		if (err)
			unplaced__add(&unplaced, g->list.v[i], err);
	}
	pthread_mutex_unlock(&g->lock);
	if (!unplaced.cnt)
		return;
	pthread_mutex_lock(&g->s->lock);
	targets__tell_unprobed(g->s, unplaced.path, unplaced.cnt, unplaced.err);
	pthread_mutex_unlock(&g->s->lock);
}

/* The kernel removes the breakpoints first and waits then, each thread for one file. */
static void governor__detach(struct governor *g)
{
	struct links all = {};

	pthread_mutex_lock(&g->lock);
	g->attached = false;
	for (size_t i = 0; i < g->list.cnt; i++)
		links__move(&all, &g->list.v[i]->links);
	pthread_mutex_unlock(&g->lock);
	closer__give(g->closer, &all, 0);
}

/* ---- time ---- */

static int governor__alarm(void *arg, void *data, size_t size)
{
	struct governor *g = arg;

	(void)data;
	(void)size;
	g->alarm_cnt++;
	return 0;
}

/* False: it's time to end. Alarms wake it where they are asked for. */
static bool governor__sleep(struct governor *g, u64 until, bool alarms)
{
	struct pollfd p[] = {
		{ .fd = g->end_fd, .events = POLLIN },
		{ .fd = alarms ? ring_buffer__epoll_fd(g->alarms) : -1, .events = POLLIN },
	};

	for (;;) {
		u64 now = now__ns(), left = until - MIN(until, now);
		struct timespec ts = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
		int n = ppoll(p, ARRAY_SIZE(p), &ts, NULL);

		if (p[0].revents)
			return false;
		if (n > 0 || !left)
			return true;
	}
}

/* ---- costs ---- */

/* CPU time of this thread since the last time. */
static double governor__own(struct governor *g)
{
	u64 now = clock__ns(CLOCK_THREAD_CPUTIME_ID), own = now - MIN(g->own_ns, now);

	g->own_ns = now;
	return own;
}

/* Has the budget pay for all up to the last reading. True: it must be left. own: what else it
 * costs. */
static bool governor__pay(struct governor *g, double own)
{
	u64 now = g->cpu.at_ns;
	double cpu, lost;
	bool leave;

	cpu = g->cpu.cpu - g->read_cpu;
	lost = g->cpu.lost - g->read_lost;
	leave = budget__spend(&g->budget, now - g->read_ns, cpu, lost + own);
	g->read_cpu = g->cpu.cpu;
	g->read_lost = g->cpu.lost;
	g->read_ns = now;
	return leave;
}

static bool governor__spend(struct governor *g, double own)
{
	return !cputimes__read(&g->cpu, &g->s->kernel, g->duty) && governor__pay(g, own);
}

/* Would what was hit since the last reading cost more than there is, or was that long ago? */
static bool governor__is_due(struct governor *g)
{
	struct as_cost cost;

	if (now__ns() - g->read_ns > READ_NS)
		return true;
	kernel__cost(&g->s->kernel, &cost);
	return (double)(cost.hits - g->cpu.hits) * g->cpu.hit_ns > g->budget.credit;
}

/* ---- attached all the time ---- */

static void governor__drain(struct governor *g)
{
	int err;

	pthread_mutex_lock(&g->s->lock);
	err = session__take_rows(g->s);
	pthread_mutex_unlock(&g->s->lock);
	if (err)
		session__log(g->s, ALLOCSNOOP_WARN, "%s", err__msg());
}

/* The first slot begins when counting ends: what the targets do while the sums are read is often
 * just what made us leave. */
static void governor__leave(struct governor *g, double lost_rate)
{
	u64 left;

	kernel__count(&g->s->kernel, false);
	left = now__ns();
	governor__detach(g);
	governor__spend(g, 0);
	governor__drain(g);
	pthread_mutex_lock(&g->s->lock);
	g->s->record.duty->staging = true;
	g->duty = g->ever_duty = true;
	g->slot_ns = left;
	pthread_mutex_unlock(&g->s->lock);
	budget__leave(&g->budget, lost_rate);
	governor__own(g);
}

/* A look at what it costs; leaves when that is too much. */
static void governor__watch(struct governor *g)
{
	u64 before = g->read_ns;
	double lost = g->read_lost;
	bool storm;

	g->alarm_cnt = 0;
	if (!governor__sleep(g, now__ns() + WATCH_NS, true))
		return;
	ring_buffer__consume(g->alarms);
	if (g->alarm_cnt && g->alarm_cnt < STORM_ALARMS) {
		/* A short burst is over in a moment. */
		governor__sleep(g, now__ns() + (u64)BUDGET_WINDOW_NS, true);
		ring_buffer__consume(g->alarms);
	}
	storm = g->alarm_cnt >= STORM_ALARMS;
	if (!storm && !governor__is_due(g))
		return;
	if (governor__spend(g, 0) || storm)
		governor__leave(g, storm ? 1 : (g->cpu.lost - lost) / (double)(now__ns() - before));
}

/* ---- attached by windows ---- */

static u32 governor__row(void *arg, u32 at, u64 cnt, u64 bytes, struct estimate *e)
{
	struct session *s = arg;
	const struct as_tally_key *key = &s->record.rows.v[at].key;
	const struct recorded_proc *proc = record__find_proc(&s->record, key->proc);
	struct as_group_key group = {};
	int index;

	sampler__add(&s->sampler, as_key_class(key), cnt, bytes, e);
	if (proc)
		memcpy(group.comm, proc->comm, strnlen(proc->comm, sizeof(group.comm) - 1));
	index = duty__group(s->record.duty, &group);
	return index < 0 ? 0 : index;
}

/* Both locks' data: the groups' times, for the estimates. */
static void governor__tell(struct governor *g, bool window)
{
	struct duty *d = g->s->record.duty;

	pthread_mutex_lock(&g->cpu.lock);
	for (size_t i = 0; i < g->cpu.groups.cnt; i++) {
		const struct cpu_group *from = &g->cpu.groups.v[i];
		int at = duty__group(d, &from->key);

		if (at < 0)
			continue;
		d->groups.v[at].cpu = from->duty_cpu;
		d->groups.v[at].lost = from->duty_lost;
		d->groups.v[at].now_cpu = window ? from->window_cpu : 0;
		d->groups.v[at].now_lost = window ? from->window_lost : 0;
	}
	pthread_mutex_unlock(&g->cpu.lock);
	d->all_ns = g->past_ns + (double)(g->duty ? now__ns() - g->slot_ns : 0);
}

static void governor__settle(struct governor *g, double slot_ns, double open_ns)
{
	struct session *s = g->s;

	pthread_mutex_lock(&s->lock);
	governor__tell(g, true);
	duty__settle(s->record.duty, slot_ns, open_ns, governor__row, s);
	pthread_mutex_unlock(&s->lock);
}

static void governor__enter(struct governor *g)
{
	u64 now;

	governor__attach(g);
	governor__spend(g, governor__own(g));
	now = now__ns();
	pthread_mutex_lock(&g->s->lock);
	g->s->record.duty->staging = false;
	g->past_ns += (double)(now - g->slot_ns);
	g->duty = false;
	pthread_mutex_unlock(&g->s->lock);
	kernel__count(&g->s->kernel, true);
}

/*
 * The kernel brings a running thread's CPU time up to date when it is interrupted by another, else
 * only by the tick, which may be as long as a window. So this thread shows up on each CPU.
 */
static void governor__visit_cpus(struct governor *g)
{
	if (CPU_COUNT(&g->cpus) > VISITS_MAX || CPU_COUNT(&g->cpus) < 2)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		cpu_set_t one;

		if (!CPU_ISSET(i, &g->cpus))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	sched_setaffinity(0, sizeof(g->cpus), &g->cpus);
}

/*
 * Placed, open for a while, and removed. Returns for how long it was open, ns. CPU times are
 * brought up to date when it opens and when it closes; reading them right after still gives what
 * they were then, as the kernel brings them no further meanwhile, mostly.
 */
static u64 governor__window(struct governor *g, u64 open_ns)
{
	u64 opened, closed;

	governor__attach(g);
	cputimes__begin(&g->cpu);
	governor__visit_cpus(g);
	kernel__count(&g->s->kernel, true);
	opened = now__ns();
	cputimes__read(&g->cpu, &g->s->kernel, true);
	cputimes__mark(&g->cpu);
	governor__sleep(g, opened + open_ns, false);
	kernel__count(&g->s->kernel, false);
	closed = now__ns();
	governor__visit_cpus(g);
	governor__detach(g);
	cputimes__read(&g->cpu, &g->s->kernel, true);
	cputimes__window(&g->cpu);
	return closed - opened;
}

/*
 * Any time of a slot must have its chance to be in a window, so the next slot begins where this one
 * was to end, even while the sums are still read. (A window that was to come right then is late.)
 */
static void governor__slot(struct governor *g)
{
	struct budget_slot plan = budget__plan(&g->budget, governor__random(g));
	double lost = g->cpu.lost, own;
	u64 open, end;

	if (!governor__sleep(g, g->slot_ns + plan.start_ns, false))
		return;
	open = governor__window(g, plan.open_ns);
	end = MAX(g->slot_ns + plan.len_ns, now__ns());
	lost = g->cpu.lost - lost;
	governor__drain(g);
	if (!governor__sleep(g, end, false))
		end = MIN(end, now__ns());
	own = governor__own(g);
	governor__pay(g, own);
	governor__settle(g, (double)(end - g->slot_ns), (double)open);
	pthread_mutex_lock(&g->s->lock);
	g->past_ns += (double)(end - g->slot_ns);
	g->slot_ns = end;
	pthread_mutex_unlock(&g->s->lock);
	if (budget__window(&g->budget, (double)open, lost, own))
		governor__enter(g);
}

static bool governor__is_over(const struct governor *g)
{
	struct pollfd p = { .fd = g->end_fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void *governor__run(void *arg)
{
	struct sched_param first = { .sched_priority = 1 };
	struct governor *g = arg;

	/* Late, a window is longer than it should be. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!governor__is_over(g)) {
		if (g->duty)
			governor__slot(g);
		else
			governor__watch(g);
	}
	kernel__count(&g->s->kernel, false);
	governor__detach(g);
	governor__spend(g, 0);
	return NULL;
}

/* ---- from outside ---- */

int governor__new(struct session *s, double pct, struct governor **out)
{
	static const struct as_group_key nobody;
	struct governor *g = calloc(1, sizeof(*g));
	struct duty *d = calloc(1, sizeof(*d));
	int err = g && d ? 0 : -ENOMEM;

	s->record.duty = d;
	if (err) {
		free(g);
		return err__fail(err, "out of memory");
	}
	g->s = s;
	sched_getaffinity(0, sizeof(g->cpus), &g->cpus);
	g->end_fd = eventfd(0, EFD_CLOEXEC);
	urgent_mutex__init(&g->lock);
	budget__init(&g->budget, pct / 100, sysconf(_SC_NPROCESSORS_ONLN));
	cputimes__init(&g->cpu, s->kernel.trap_ns);
	d->error = fmax(TRAP_ERROR, s->kernel.trap_error);
	if (getrandom(&g->random, sizeof(g->random), 0) != sizeof(g->random))
		g->random = now__ns();
	*out = g;
	err = g->end_fd < 0 ? -errno : duty__group(d, &nobody);
	if (err >= 0)
		err = closer__new(&g->closer);
	if (err < 0)
		return err__fail(err, "cannot set up the budget: %s", strerror(-err));
	g->alarms = ring_buffer__new(kernel__alarms_fd(&s->kernel), governor__alarm, g, NULL);
	if (!g->alarms)
		return err__fail(-errno, "cannot map the alarms: %s", strerror(errno));
	err = kernel__watch_ends(&s->kernel);
	return err ? err__fail(err, "cannot watch the ends of threads: %s", strerror(-err)) : 0;
}

void governor__free(struct governor *g)
{
	if (!g)
		return;
	governor__stop(g);
	for (size_t i = 0; i < g->list.cnt; i++) {
		closer__give(g->closer, &g->list.v[i]->links, 0);
		attachment__free(g->list.v[i]);
	}
	vec__free(&g->list);
	closer__free(g->closer);
	ring_buffer__free(g->alarms);
	cputimes__fini(&g->cpu);
	if (g->end_fd >= 0)
		close(g->end_fd);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

int governor__start(struct governor *g)
{
	int err;

	governor__attach(g);
	cputimes__read(&g->cpu, &g->s->kernel, false);
	g->read_cpu = g->cpu.cpu;
	g->read_lost = g->cpu.lost;
	g->read_ns = now__ns();
	g->cpu.exact_cpu = g->cpu.exact_lost = 0; /* what they had used before */
	kernel__count(&g->s->kernel, true);
	err = pthread_create(&g->thread, NULL, governor__run, g);
	if (err)
		return err__fail(-err, "cannot start a thread: %s", strerror(err));
	g->running = true;
	return 0;
}

void governor__stop(struct governor *g)
{
	u64 one = 1;

	if (!g->running)
		return;
	if (write(g->end_fd, &one, sizeof(one)) != sizeof(one))
		return;
	pthread_join(g->thread, NULL);
	g->running = false;
	pthread_mutex_lock(&g->s->lock);
	if (g->duty)
		g->past_ns += (double)(now__ns() - g->slot_ns);
	g->duty = false;
	pthread_mutex_unlock(&g->s->lock);
}

void governor__publish(struct governor *g)
{
	if (g->running)
		cputimes__read(&g->cpu, &g->s->kernel, g->duty);
	governor__tell(g, false);
}

void governor__info(const struct governor *g, struct governor_info *info)
{
	const struct duty *d = g->s->record.duty;
	double seen = fmax(0, g->cpu.exact_cpu - g->cpu.exact_lost), all = seen, cnt = 0, bytes = 0;
	double unknown = 0;

	*info = (struct governor_info){
		.exact = !g->ever_duty,
		.windows = d->windows,
		.window_ns = d->windows ? d->open_ns / (double)d->windows : 0,
		.budget_pct = g->budget.share * 100,
	};
	for (size_t i = 0; i < d->groups.cnt; i++) {
		seen += fmax(0, d->groups.v[i].seen);
		all += fmax(0, d->groups.v[i].cpu - d->groups.v[i].lost);
		unknown += duty__is_at_least(&d->groups.v[i]) ? fmax(0, d->groups.v[i].cpu) : 0;
	}
	info->at_least = duty__total(d, &cnt, &bytes) || (g->ever_duty && !d->windows);
	info->coverage = info->exact ? 1 : unknown > all / 2 || all <= 0 ? -1 : fmin(1, seen / all);
	info->cost_pct = g->budget.lost_ns /
			 fmax(1, g->budget.cpu_ns - fmin(g->budget.lost_ns, g->budget.cpu_ns)) *
			 100;
}
