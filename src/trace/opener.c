/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads map events, opens files through map_files. */
#include "trace/opener.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "base/regular.h"
#include "proc/task.h"
#include "trace/kernel.h"
#include "trace/links.h"

#define DELETED	    " (deleted)"
#define OPENER_NICE (-15) /* where it may not be a real-time thread */

/* ---- opening ---- */

/* Through map_files: the mapped inode itself, whatever happened to its path since. A process
 * without its main thread has them under its other threads' ids. */
static int mapping__open_of(pid_t task, const struct as_map_event *ev, char **path)
{
	char link[96], target[4096];
	ssize_t n;
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", task, ev->start, ev->end);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if ((size_t)n > strlen(DELETED) && !strcmp(target + n - strlen(DELETED), DELETED))
		target[n - strlen(DELETED)] = '\0';
	fd = regular__open(link);
	if (fd >= 0)
		fd = fd__unless_spare(fd);
	if (fd < 0)
		return fd;
	*path = strdup(target);
	if (*path)
		return fd;
	close(fd);
	return -ENOMEM;
}

static int mapping__open(const struct as_map_event *ev, char **path)
{
	int fd = mapping__open_of(ev->tgid, ev, path);
	pid_t thread;

	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE)
		return fd;
	thread = proc_task__live_thread(ev->tgid);
	return thread > 0 && thread != (pid_t)ev->tgid ? mapping__open_of(thread, ev, path) : fd;
}

struct inode_of {
	u32 fd;
	u64 hash;
};

static void inode_of__see(void *arg, const struct as_fd_event *ev)
{
	struct inode_of *i = arg;

	if (ev->fd == i->fd)
		i->hash = ev->file;
}

/* Where the program was found when it was executed; only the very same inode will do, as the kernel
 * sees it. */
static int exe__open(struct opener *o, u64 hash, char **path)
{
	const struct as_exec_event *ev = NULL;
	struct inode_of inode = {};
	int fd;

	for (u32 i = 0; i < OPENER_FOUND_MAX && !ev; i++)
		ev = o->found[i].file == hash ? &o->found[i] : NULL;
	if (!ev || ev->path[0] != '/')
		return -ENOENT;
	fd = regular__open(ev->path);
	if (fd < 0)
		return fd;
	inode.fd = fd;
	*path = NULL;
	if (!kernel__each_fd(o->k, inode_of__see, &inode) && inode.hash == hash)
		*path = strdup(ev->path);
	if (*path)
		return fd;
	close(fd);
	return -ENOENT;
}

static bool opener__is_gone(struct opener *o, u64 hash, u32 *at)
{
	for (u32 i = 0; i < OPENER_GONE_MAX; i++) {
		if (o->gone[i] == hash) {
			*at = i;
			return true;
		}
	}
	return false;
}

/* It's a loss once. That walks needn't hope for rows is known for the last ones only, or the
 * kernel's table of files would be full of them. */
static void opener__gone(struct opener *o, u64 hash)
{
	static const struct as_file gone = { .flags = AS_FILE_GONE };
	u64 *oldest = &o->gone[o->next_gone % OPENER_GONE_MAX];
	u32 at;

	if (!opener__is_gone(o, hash, &at)) {
		if (*oldest)
			kernel__forget_file(o->k, *oldest);
		*oldest = hash;
		o->next_gone++;
		o->gone_cnt++;
	}
	kernel__set_file(o->k, hash, &gone);
	kernel__new_tables(o->k);
}

static void opener__no_fd(struct opener *o, const struct as_map_event *ev)
{
	char link[96], target[4096];
	ssize_t n;

	o->no_fd_cnt++;
	if (o->no_fd_cnt > 1)
		return;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)ev->tgid, ev->start,
		 ev->end);
	n = readlink(link, target, sizeof(target) - 1);
	o->no_fd_path = strndup(n > 0 ? target : "?", n > 0 ? (size_t)n : 1);
}

static int opener__add(struct opener *o, struct opened_file *file)
{
	u32 at;

	if (vec__push(&o->fresh, *file))
		return -ENOMEM;
	if (vec__push(&o->undone, file->number) || map__put(&o->known, file->hash, 1)) {
		o->fresh.cnt--;
		return -ENOMEM;
	}
	o->opened_cnt = file->number;
	if (opener__is_gone(o, file->hash, &at)) { /* another process has it */
		o->gone[at] = 0;
		o->gone_cnt--;
		kernel__forget_file(o->k, file->hash);
	}
	if (!file->asked)
		o->more(o->arg);
	return 0;
}

static int opener__open(struct opener *o, const struct as_map_event *ev, bool asked)
{
	struct opened_file file = { .hash = ev->file, .number = o->opened_cnt + 1, .asked = asked };
	int err;

	file.fd = mapping__open(ev, &file.path);
	if (file.fd < 0 && file.fd != -EMFILE && file.fd != -ENFILE)
		file.fd = exe__open(o, ev->file, &file.path);
	if (file.fd == -EMFILE || file.fd == -ENFILE) {
		if (!map__put(&o->known, ev->file, 1)) /* there won't be more of them later */
			opener__no_fd(o, ev);
		return 0;
	}
	if (file.fd < 0) {
		opener__gone(o, ev->file);
		return 0;
	}
	err = opener__add(o, &file);
	if (err) {
		close(file.fd);
		free(file.path);
	}
	return err;
}

int opener__see(struct opener *o, const struct as_map_event *ev, bool asked)
{
	int err = 0;
	u64 val;

	pthread_mutex_lock(&o->lock);
	if (!map__get(&o->known, ev->file, &val))
		err = opener__open(o, ev, asked);
	pthread_mutex_unlock(&o->lock);
	return err;
}

/* ---- the thread ---- */

static int opener__look(void *arg, const struct as_map_event *ev)
{
	opener__see(arg, ev, false);
	return 0;
}

/* Its mapping may have been told of before, and the process be gone already. */
static void opener__found(struct opener *o, const struct as_exec_event *ev)
{
	struct as_map_event map = { .tgid = ev->tgid, .file = ev->file };
	bool gone;
	u32 at;

	pthread_mutex_lock(&o->lock);
	o->found[o->next_found++ % OPENER_FOUND_MAX] = *ev;
	gone = opener__is_gone(o, ev->file, &at);
	pthread_mutex_unlock(&o->lock);
	if (gone)
		opener__see(o, &map, false);
}

static int opener__event(void *ctx, void *data, size_t size)
{
	struct opener *o = ctx;
	const struct as_map_event *ev = data;
	pid_t thread;

	if (size >= sizeof(struct as_exec_event) && ev->type == AS_EVENT_EXEC)
		opener__found(o, data);
	if (size < sizeof(*ev) || ev->type != AS_EVENT_MAP)
		return 0;
	if (ev->file) {
		opener__see(o, ev, false);
		return 0;
	}
	/* Its mappings couldn't be looked at then. Thread 0 would be every process's: it's gone. */
	thread = proc_task__live_thread(ev->tgid);
	if (thread > 0)
		kernel__each_mapping(o->k, thread, opener__look, o);
	return 0;
}

static void opener__hurry(void)
{
	struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first))
		setpriority(PRIO_PROCESS, 0, OPENER_NICE); /* of this thread, on Linux */
}

static void *opener__run(void *arg)
{
	struct opener *o = arg;
	struct pollfd p[] = {
		{ .fd = ring_buffer__epoll_fd(o->ring), .events = POLLIN },
		{ .fd = o->end_fd, .events = POLLIN },
	};

	opener__hurry();
	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		if (p[1].revents)
			break;
		ring_buffer__consume(o->ring);
	}
	return NULL;
}

static int opener__begin(struct opener *o)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&o->thread, NULL, opener__run, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	o->running = !err;
	return -err;
}

int opener__start(struct opener *o, struct kernel *k, void (*more)(void *arg), void *arg)
{
	int err = 0;

	memset(o, 0, sizeof(*o));
	pthread_mutex_init(&o->lock, NULL);
	o->k = k;
	o->more = more;
	o->arg = arg;
	o->end_fd = eventfd(0, EFD_CLOEXEC);
	if (o->end_fd < 0)
		err = -errno;
	if (!err)
		o->ring = ring_buffer__new(kernel__map_ring_fd(k), opener__event, o, NULL);
	if (!err && !o->ring)
		err = -errno;
	if (!err)
		err = opener__begin(o);
	return err ? err__fail(err, "cannot watch for new mappings: %s", strerror(-err)) : 0;
}

void opener__fini(struct opener *o)
{
	if (!o->k) /* never started */
		return;
	if (o->running) {
		eventfd_write(o->end_fd, 1);
		pthread_join(o->thread, NULL);
	}
	ring_buffer__free(o->ring);
	if (o->end_fd >= 0)
		close(o->end_fd);
	for (size_t i = 0; i < o->fresh.cnt; i++) {
		close(o->fresh.v[i].fd);
		free(o->fresh.v[i].path);
	}
	vec__free(&o->fresh);
	vec__free(&o->undone);
	map__free(&o->known);
	free(o->no_fd_path);
	pthread_mutex_destroy(&o->lock);
	memset(o, 0, sizeof(*o));
}

/* ---- whose work it becomes ---- */

void opener__take(struct opener *o, bool asked, opened_files *out)
{
	size_t left = 0;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->fresh.cnt; i++) {
		if ((o->fresh.v[i].asked && !asked) || vec__push(out, o->fresh.v[i]))
			o->fresh.v[left++] = o->fresh.v[i];
	}
	o->fresh.cnt = left;
	pthread_mutex_unlock(&o->lock);
}

void opener__done(struct opener *o, u64 number)
{
	size_t i = 0;

	pthread_mutex_lock(&o->lock);
	while (i < o->undone.cnt && o->undone.v[i] != number)
		i++;
	if (i < o->undone.cnt) {
		o->undone.cnt--;
		memmove(&o->undone.v[i], &o->undone.v[i + 1],
			(o->undone.cnt - i) * sizeof(o->undone.v[0]));
	}
	pthread_mutex_unlock(&o->lock);
}

u64 opener__cnt(struct opener *o)
{
	u64 cnt;

	pthread_mutex_lock(&o->lock);
	cnt = o->opened_cnt;
	pthread_mutex_unlock(&o->lock);
	return cnt;
}

bool opener__all_done(struct opener *o, u64 cnt)
{
	bool done;

	pthread_mutex_lock(&o->lock);
	done = !o->undone.cnt || o->undone.v[0] > cnt;
	pthread_mutex_unlock(&o->lock);
	return done;
}

void opener__forget(struct opener *o, u64 hash)
{
	pthread_mutex_lock(&o->lock);
	map__del(&o->known, hash);
	pthread_mutex_unlock(&o->lock);
}
