/* SPDX-License-Identifier: BSD-2-Clause */
/* The truth test: a child that makes known allocations is traced through the public header, and its
 * report must say exactly what it did. */
#include <allocsnoop.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "doctor/doctor.h"

#define CALLS	     1000
#define SIZE_AT_MOST 200 /* from 1 */
#define LIMIT_NS     2000000000ull
#define POLL_MS	     20
#define TIMED	     20000 /* system calls */
#define ROUNDS	     3	   /* the fastest counts */

static void *volatile kept[CALLS];

static size_t call__size(int i)
{
	return i % SIZE_AT_MOST + 1;
}

static void __attribute__((noinline, noclone)) trial__allocate(void)
{
	for (int i = 0; i < CALLS; i++)
		kept[i] = malloc(call__size(i));
	for (int i = 0; i < CALLS; i += 2)
		free(kept[i]);
}

/* Waits for a byte; ends with its parent. */
static void child__run(const int go[2])
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	if (read(go[0], &c, 1) == 1)
		trial__allocate();
	_exit(0);
}

static void feature__failed(struct feature *f, int err, const char *why, const char *remedy)
{
	f->err = err;
	snprintf(f->why, sizeof(f->why), "%s", why);
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

static u64 clock__ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Of a system call that does nothing. */
static u64 syscall__ns(void)
{
	u64 best = ~0ull;

	for (int round = 0; round < ROUNDS; round++) {
		u64 from = clock__ns(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < TIMED; i++)
			syscall(SYS_getppid);
		best = MIN(best, clock__ns(CLOCK_THREAD_CPUTIME_ID) - from);
	}
	return best / TIMED;
}

/* ---- what we hold ---- */

struct held {
	u32 fd_cnt;
	u64 table_bytes;
};

static u64 map__bytes(const char *fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.16s", fd);
	CLEANUP(file__closep) FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	}
	return bytes;
}

/* All open descriptors, and the memory of the tables among them. */
static struct held held__now(void)
{
	struct held h = {};
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		h.fd_cnt++;
		h.table_bytes += map__bytes(e->d_name);
	}
	if (dir)
		closedir(dir);
	return h;
}

/* ---- the run ---- */

static void trial__read(struct doctor_trial *t, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = allocsnoop_profile__info(p);

	t->cnt = info->alloc_count;
	t->bytes = info->alloc_bytes;
	t->freed = info->freed_count;
	t->whole = true;
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(p); i++)
		t->whole &= !allocsnoop_profile__sample(p, i)->truncated;
	for (size_t i = 0; i < allocsnoop_profile__loss_cnt(p); i++)
		t->losses += allocsnoop_profile__loss(p, i)->count;
}

/* From the start of counting to the child's end. */
static int trial__follow(struct doctor_trial *t, struct allocsnoop *a, int go)
{
	struct allocsnoop_profile *p;
	struct allocsnoop_stats stats;
	u64 end, call_ns = syscall__ns();
	int err = allocsnoop__start(a);

	if (err)
		return err;
	t->syscall_ns = syscall__ns();
	t->syscall_ns -= MIN(t->syscall_ns, call_ns);
	allocsnoop__stats(a, &stats, sizeof(stats));
	t->site_cnt = stats.sites;
	if (write(go, "", 1) != 1)
		return -errno;
	end = clock__ns(CLOCK_MONOTONIC) + LIMIT_NS;
	do {
		err = allocsnoop__poll(a, POLL_MS);
	} while ((err > 0 || err == -EINTR) && clock__ns(CLOCK_MONOTONIC) < end);
	if (err >= 0)
		err = allocsnoop__profile(a, &p);
	if (!err) {
		trial__read(t, p);
		allocsnoop_profile__free(p);
	}
	return err;
}

static void trial__trace(struct doctor_trial *t, bool live, pid_t child, int go)
{
	struct allocsnoop_opts opts = {
		.sz = sizeof(opts),
		.pids = &child,
		.pid_cnt = 1,
		.live = live,
	};
	struct held before = held__now(), now;
	struct rlimit files;
	bool limited = !getrlimit(RLIMIT_NOFILE, &files);
	struct allocsnoop *a;
	int err;

	err = allocsnoop__open(&opts, &a);
	if (err) {
		feature__failed(&t->opened, err, allocsnoop__error(), allocsnoop__hint());
	} else {
		now = held__now();
		t->fd_cnt = now.fd_cnt - before.fd_cnt;
		t->table_bytes = now.table_bytes - before.table_bytes;
		err = trial__follow(t, a, go);
		if (err)
			feature__failed(&t->counted, err, allocsnoop__error(), allocsnoop__hint());
		allocsnoop__free(a);
	}
	if (limited)
		setrlimit(RLIMIT_NOFILE, &files); /* a session raises it */
}

void doctor_trial__run(struct doctor_trial *t, bool live)
{
	int go[2];
	pid_t child;

	*t = (struct doctor_trial){ .wanted_cnt = CALLS, .wanted_freed = live ? CALLS / 2 : 0 };
	for (int i = 0; i < CALLS; i++)
		t->wanted_bytes += call__size(i);
	if (pipe2(go, O_CLOEXEC)) {
		feature__failed(&t->counted, -errno, strerror(errno), "");
		return;
	}
	child = fork();
	if (child == 0)
		child__run(go);
	if (child > 0)
		trial__trace(t, live, child, go[1]);
	else
		feature__failed(&t->counted, -errno, strerror(errno), "");
	close(go[0]);
	close(go[1]);
	if (child > 0)
		kill(child, SIGKILL);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
