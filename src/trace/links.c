/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes as descriptors: made here, closed by a few threads in the background. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "trace/links.h"

#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr for multi links (6.6), which this libbpf and its header don't know. */
struct uprobe_multi_attr {
	u32 prog_fd;
	u32 target_fd;
	u32 attach_type;
	u32 flags;
	u64 path;
	u64 offsets;
	u64 ref_ctr_offsets;
	u64 cookies;
	u32 cnt;
	u32 multi_flags;
	u32 pid;
	u32 pad;
};

int fd__unless_spare(int fd)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || (u64)fd + SPARE_FDS < r.rlim_cur)
		return fd;
	close(fd);
	return -EMFILE;
}

int links__add_multi(struct links *l, int prog_fd, enum multi_kind kind, const char *path,
		     const struct probe_place *places, size_t cnt, pid_t pid)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = prog_fd,
		.attach_type = kind == MULTI_SESSION ? UPROBE_SESSION_ATTACH : UPROBE_MULTI_ATTACH,
		.multi_flags = kind == MULTI_RETURN ? UPROBE_MULTI_RETURN : 0,
	};
	CLEANUP(free__p) u64 *offsets = calloc(cnt ? cnt : 1, 2 * sizeof(*offsets));
	u64 *cookies;
	int fd;

	if (!offsets)
		return -ENOMEM;
	cookies = offsets + cnt;
	for (size_t i = 0; i < cnt; i++) {
		offsets[i] = places[i].off;
		cookies[i] = places[i].cookie;
	}
	attr.path = (uintptr_t)path;
	attr.offsets = (uintptr_t)offsets;
	attr.cookies = (uintptr_t)cookies;
	attr.cnt = cnt;
	attr.pid = pid == LINKS_ALL_PROCESSES ? 0 : pid;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct uprobe_multi_attr, pad));
	if (fd < 0)
		return -errno;
	fd = fd__unless_spare(fd);
	if (fd < 0)
		return fd;
	if (vec__push(&l->fds, fd)) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

/* The dynamic type of the uprobe PMU; -errno when the kernel has none. */
static int perf__uprobe_type(void)
{
	CLEANUP(file__closep) FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	if (!f)
		return -errno;
	return fscanf(f, "%d", &type) == 1 ? type : -EINVAL;
}

/* One perf event and the BPF link that hangs the program on it; the link keeps the event. */
static int perf__add_one(struct links *l, int prog_fd, bool on_return, const char *path,
			 const struct probe_place *place, pid_t pid, int type)
{
	/* Bit 0 of config: a return probe (the uprobe PMU's format/retprobe). */
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type, .config = on_return };
	union bpf_attr link = {};
	CLEANUP(fd__closep) int event = -1;
	int fd;

	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = place->off;
	/* With every process the event lives on CPU 0; its program runs wherever the probe fires.
	 */
	event = syscall(SYS_perf_event_open, &attr, pid, pid == LINKS_ALL_PROCESSES ? 0 : -1, -1,
			PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	event = fd__unless_spare(event);
	if (event < 0)
		return event;
	link.link_create.prog_fd = prog_fd;
	link.link_create.target_fd = event;
	link.link_create.attach_type = BPF_PERF_EVENT;
	link.link_create.perf_event.bpf_cookie = place->cookie;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
	if (fd < 0)
		return -errno;
	if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0) || vec__push(&l->fds, fd)) {
		int err = errno ? -errno : -ENOMEM;

		close(fd);
		return err;
	}
	return 0;
}

int links__add_perf(struct links *l, int prog_fd, bool on_return, const char *path,
		    const struct probe_place *places, size_t cnt, pid_t pid)
{
	size_t before = l->fds.cnt;
	int type = perf__uprobe_type(), err = 0;

	if (type < 0)
		return type;
	for (size_t i = 0; i < cnt && !err; i++)
		err = perf__add_one(l, prog_fd, on_return, path, &places[i], pid, type);
	while (err && l->fds.cnt > before)
		close(l->fds.v[--l->fds.cnt]);
	return err;
}

/* ---- removing ---- */

void links__close(struct links *l)
{
	for (size_t i = 0; i < l->fds.cnt; i++)
		close(l->fds.v[i]);
	vec__free(&l->fds);
}

#define CLOSER_THREADS 64 /* a few files each have one of their own */

struct closing {
	int fd;
	u64 tag;
	bool begun;
};

struct closer {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_cond_t closed;
	VEC(struct closing) fds;
	size_t begun_cnt;
	bool ending;
	pthread_t threads[CLOSER_THREADS];
	int thread_cnt;
};

/* The next to begin; there is one. */
static struct closing closer__begin(struct closer *c)
{
	size_t i = 0;

	while (c->fds.v[i].begun)
		i++;
	c->fds.v[i].begun = true;
	c->begun_cnt++;
	return c->fds.v[i];
}

static void closer__end(struct closer *c, int fd)
{
	size_t i = 0;

	while (!c->fds.v[i].begun || c->fds.v[i].fd != fd)
		i++;
	c->fds.v[i] = c->fds.v[--c->fds.cnt];
	c->begun_cnt--;
	pthread_cond_broadcast(&c->closed);
}

static void *closer__run(void *arg)
{
	struct closer *c = arg;

	pthread_mutex_lock(&c->lock);
	while (c->fds.cnt > c->begun_cnt || !c->ending) {
		if (c->fds.cnt == c->begun_cnt) {
			pthread_cond_wait(&c->more, &c->lock);
			continue;
		}
		struct closing closing = closer__begin(c);

		pthread_mutex_unlock(&c->lock);
		close(closing.fd);
		pthread_mutex_lock(&c->lock);
		closer__end(c, closing.fd);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int closer__new(struct closer **out)
{
	struct closer *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	pthread_cond_init(&c->closed, NULL);
	*out = c;
	return 0;
}

/* Threads come with the work. Called with the lock held. Signals are for the threads that expect
 * them. */
static void closer__staff(struct closer *c)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (c->thread_cnt < CLOSER_THREADS && (size_t)c->thread_cnt < c->fds.cnt) {
		if (pthread_create(&c->threads[c->thread_cnt], NULL, closer__run, c))
			break;
		c->thread_cnt++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void closer__give(struct closer *c, struct links *l, u64 tag)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < l->fds.cnt; i++) {
		struct closing closing = { .fd = l->fds.v[i], .tag = tag };

		if (vec__push(&c->fds, closing))
			close(l->fds.v[i]); /* out of memory: slow, but right */
	}
	closer__staff(c);
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
	vec__free(&l->fds);
}

static bool closer__has(const struct closer *c, u64 tag)
{
	for (size_t i = 0; i < c->fds.cnt && c->thread_cnt; i++) {
		if (c->fds.v[i].tag == tag)
			return true;
	}
	return false;
}

void closer__await(struct closer *c, u64 tag)
{
	pthread_mutex_lock(&c->lock);
	while (closer__has(c, tag))
		pthread_cond_wait(&c->closed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void closer__free(struct closer *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->ending = true;
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
	for (int i = 0; i < c->thread_cnt; i++)
		pthread_join(c->threads[i], NULL);
	for (size_t i = 0; i < c->fds.cnt; i++) /* no thread could be had */
		close(c->fds.v[i].fd);
	vec__free(&c->fds);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->more);
	pthread_cond_destroy(&c->closed);
	free(c);
}
