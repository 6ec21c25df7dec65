/* SPDX-License-Identifier: BSD-2-Clause */
/* Studies files, by threads and for those who can't wait for them. */
#include "trace/finder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "proc/task.h"
#include "trace/session.h"
#include "trace/targets.h"

#define FINDER_NICE    (-10)
#define AWAIT_SLICE_MS 5

/* ---- studying ---- */

static void file__tell(struct session *s, const struct traced_file *f)
{
	session__log(s, ALLOCSNOOP_DEBUG, "file '%s': %zu places to probe", f->path, f->places.cnt);
	for (size_t i = 0; i < f->sites.sites.cnt; i++) {
		const struct site *site = &f->sites.sites.v[i];
		const char *advice = probe__advice(site->row, site->func_size);

		if (advice)
			session__log(s, ALLOCSNOOP_WARN, "'%s': %s", f->path, advice);
	}
	for (size_t i = 0; s->files.live && i < f->sites.sites.cnt; i++) {
		const struct site *site = &f->sites.sites.v[i];

		if (site__is_unfollowed(site))
			session__log(s, ALLOCSNOOP_WARN,
				     "blocks of '%s' in '%s' are not followed: it may throw, and "
				     "where it returns is unknown",
				     site->symbol, f->path);
	}
}

/* Placing probes takes a while on a busy machine, and the rest must go on: where every process gets
 * them it needs no lock, as nobody lets go of a file before it's studied to the end. */
static int file__attach_new(struct session *s, struct traced_file *f, bool stopped)
{
	int err = 0;

	if (f->places.cnt) {
		pthread_mutex_lock(&s->lock);
		session__log(s, ALLOCSNOOP_DEBUG, "placing %zu probes on %s in '%s'", f->places.cnt,
			     f->sites.allocator, f->path);
		pthread_mutex_unlock(&s->lock);
		closer__await(s->closer, f->hash); /* of the file when it was mapped before */
	}
	if (s->every || s->follow)
		err = targets__attach_file(s, f);
	pthread_mutex_lock(&s->lock);
	if (!s->every && !s->follow)
		err = targets__attach_file(s, f);
	file__tell(s, f);
	if (!err && f->places.cnt && s->start_ns && !stopped)
		s->losses[LOSS_LATE_ATTACH]++;
	pthread_mutex_unlock(&s->lock);
	return err;
}

typedef VEC(struct traced_file *) traced_files;

static void fresh__make(struct session *s, bool asked, traced_files *files)
{
	opened_files fresh;
	struct traced_file *f;

	opener__take(&s->opener, asked, &fresh);
	for (size_t i = 0; i < fresh.cnt; i++) {
		f = files__make(&fresh.v[i]);
		if (f && !vec__push(files, f))
			continue;
		opener__done(&s->opener, fresh.v[i].number);
		s->losses[LOSS_MEMORY]++;
	}
	vec__free(&fresh);
}

/* Called with the session's lock held. A file that the kernel's tables have no room for gets no
 * probes. */
static int file__take_in(struct session *s, struct traced_file *f, bool tables)
{
	size_t place_cnt = f->places.cnt;
	u64 number = f->number;
	int err = files__register(&s->files, &s->kernel, f);

	if (err)
		s->losses[LOSS_ATTACH_FAILED] += place_cnt;
	if (!err && tables)
		err = files__finish(&s->files, &s->kernel, f);
	if (err || tables)
		opener__done(&s->opener, number);
	return err;
}

static void finder__leave_table(struct session *s, struct traced_file *f)
{
	struct finder *fi = &s->finder;
	int err;

	pthread_mutex_lock(&fi->lock);
	err = vec__push(&fi->untabled, f);
	pthread_cond_broadcast(&fi->changed);
	pthread_mutex_unlock(&fi->lock);
	if (err)
		opener__done(&s->opener, f->number);
}

/* tables: with their unwind tables, else the other thread shall make them. */
static int study(struct session *s, bool stopped, bool tables)
{
	traced_files new = {};
	int err, first = 0;

	pthread_mutex_lock(&s->finder.study);
	fresh__make(s, tables, &new);
	files__read(&s->files, new.v, new.cnt, tables);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < new.cnt; i++) {
		err = file__take_in(s, new.v[i], tables);
		if (err)
			new.v[i] = NULL;
		if (err && !first)
			first = err;
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < new.cnt; i++) {
		err = new.v[i] ? file__attach_new(s, new.v[i], stopped) : 0;
		if (err && !first)
			first = err;
	}
	for (size_t i = 0; i < new.cnt && !tables; i++) {
		if (new.v[i])
			finder__leave_table(s, new.v[i]);
	}
	vec__free(&new);
	pthread_mutex_unlock(&s->finder.study);
	return first;
}

int finder__study(struct session *s, bool stopped)
{
	return study(s, stopped, true);
}

/* ---- the threads ---- */

void finder__wake(struct session *s)
{
	pthread_mutex_lock(&s->finder.lock);
	s->finder.more = true;
	pthread_cond_broadcast(&s->finder.changed);
	pthread_mutex_unlock(&s->finder.lock);
}

static void finder__more(void *arg)
{
	finder__wake(arg);
}

static void *attacher__run(void *arg)
{
	struct session *s = arg;
	struct finder *f = &s->finder;

	setpriority(PRIO_PROCESS, 0, FINDER_NICE); /* of this thread, on Linux */
	pthread_mutex_lock(&f->lock);
	while (!f->ending) {
		if (!f->more) {
			pthread_cond_wait(&f->changed, &f->lock);
			continue;
		}
		f->more = false;
		pthread_mutex_unlock(&f->lock);
		/* Before the counting begins whoever starts it does that. */
		if (s->start_ns)
			study(s, false, false);
		pthread_mutex_lock(&f->lock);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void table__make(struct session *s, struct traced_file *f)
{
	files__compile(&s->files, f);
	pthread_mutex_lock(&s->lock);
	files__finish(&s->files, &s->kernel, f);
	pthread_mutex_unlock(&s->lock);
	opener__done(&s->opener, f->number);
}

/* The one that is made soonest: a large one keeps walks through many others waiting. */
static struct traced_file *finder__smallest(struct finder *f)
{
	struct traced_file *file;
	size_t at = 0;

	for (size_t i = 1; i < f->untabled.cnt; i++) {
		if (f->untabled.v[i]->size < f->untabled.v[at]->size)
			at = i;
	}
	file = f->untabled.v[at];
	f->untabled.v[at] = f->untabled.v[--f->untabled.cnt];
	return file;
}

static void *tabler__run(void *arg)
{
	struct session *s = arg;
	struct finder *f = &s->finder;

	setpriority(PRIO_PROCESS, 0, FINDER_NICE); /* stacks are waiting for it */
	pthread_mutex_lock(&f->lock);
	while (!f->ending) {
		if (!f->untabled.cnt) {
			pthread_cond_wait(&f->changed, &f->lock);
			continue;
		}
		struct traced_file *file = finder__smallest(f);

		pthread_mutex_unlock(&f->lock);
		table__make(s, file);
		pthread_mutex_lock(&f->lock);
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int finder__start(struct session *s)
{
	struct finder *f = &s->finder;
	sigset_t all, before;
	int err;

	pthread_mutex_init(&f->study, NULL);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	err = opener__start(&s->opener, &s->kernel, finder__more, s);
	if (err)
		return err;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&f->attacher, NULL, attacher__run, s);
	f->attaching = !err;
	if (!err)
		err = pthread_create(&f->tabler, NULL, tabler__run, s);
	f->tabling = f->attaching && !err;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? err__fail(-err, "cannot start a thread: %s", strerror(err)) : 0;
}

void finder__fini(struct session *s)
{
	struct finder *f = &s->finder;

	if (!s->opener.k) /* never started */
		return;
	pthread_mutex_lock(&f->lock);
	f->ending = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	if (f->attaching)
		pthread_join(f->attacher, NULL);
	if (f->tabling)
		pthread_join(f->tabler, NULL);
	opener__fini(&s->opener);
	vec__free(&f->untabled);
	pthread_mutex_destroy(&f->study);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
}

/* The opener's lock is taken before ours, so it can't be asked under ours: an announcement that is
 * missed costs a slice. */
static void finder__wait(struct finder *f)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += AWAIT_SLICE_MS * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&f->lock);
	pthread_cond_timedwait(&f->changed, &f->lock, &end);
	pthread_mutex_unlock(&f->lock);
}

static u64 now__ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool finder__await(struct session *s, u64 cnt, u32 ms)
{
	u64 end = now__ms() + ms;

	while (!opener__all_done(&s->opener, cnt)) {
		if (now__ms() >= end)
			return false;
		finder__wait(&s->finder);
	}
	return true;
}

/* ---- mappings ---- */

static int scan__mapping(void *arg, const struct as_map_event *ev)
{
	struct scan *scan = arg;
	int err;

	if ((scan->pid && ev->tgid != (u32)scan->pid) || ev->tgid == (u32)getpid())
		return 0;
	err = opener__see(&scan->s->opener, ev, true);
	return err ? err : vec__push(&scan->files, ev->file);
}

static void scan__sum_up(struct scan *scan)
{
	pthread_mutex_lock(&scan->s->lock);
	for (size_t i = 0; i < scan->files.cnt; i++) {
		struct traced_file *f = files__find(&scan->s->files, scan->files.v[i]);

		if (!f)
			continue;
		scan->allocator |= f->places.cnt != 0;
		scan->libraries |= f->has_interp;
		if (!f->places.cnt && !f->has_interp && f->is_elf && !scan->exe)
			scan->exe = f;
	}
	pthread_mutex_unlock(&scan->s->lock);
	vec__free(&scan->files);
}

int finder__scan(struct session *s, pid_t pid, struct scan *scan)
{
	pid_t task = pid ? proc_task__live_thread(pid) : 0;
	int err, study_err;

	*scan = (struct scan){ .s = s, .pid = pid };
	err = kernel__each_mapping(&s->kernel, task, scan__mapping, scan);
	study_err = finder__study(s, s->launch);
	scan__sum_up(scan);
	return err ? err : study_err;
}

struct look_on {
	struct session *s;
	u32 tgid;
	void (*fn)(void *arg, const struct as_map_event *ev);
	void *arg;
};

static int look__mapping(void *arg, const struct as_map_event *ev)
{
	struct look_on *l = arg;

	if (ev->tgid != l->tgid)
		return 0;
	l->fn(l->arg, ev);
	return opener__see(&l->s->opener, ev, false);
}

void finder__look(struct session *s, pid_t pid,
		  void (*fn)(void *arg, const struct as_map_event *ev), void *arg)
{
	struct look_on l = { .s = s, .tgid = pid, .fn = fn, .arg = arg };

	/* Of a process that has ended there is nothing to see. */
	kernel__each_mapping(&s->kernel, proc_task__live_thread(pid), look__mapping, &l);
}
