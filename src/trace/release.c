/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a file is mapped its inode's own list of mappings tells, seen through our descriptor. On
 * overlayfs a descriptor's inode isn't the mapped one: there the mappings of all processes are
 * looked through, so seldom that it takes a hundredth of the time.
 */
#include "trace/release.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/session.h"
#include "trace/targets.h"

#define MS	     1000000ull
#define LOOK_MS	     100  /* after an exit */
#define LOOK_IDLE_MS 1000 /* else */
#define SCAN_MS	     250  /* of all mappings, at least */
#define SCAN_IDLE_MS 5000
#define SCAN_SHARE   100
/* A program may come again soon: nobody waits for what lies on the root's file system. */
#define GRACE_MS   10000
#define REMAIN_MIN 1024

static u64 now__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- what is mapped ---- */

struct view {
	VEC(struct as_fd_event) fds; /* ascending */
	struct map mapped;	     /* hash -> 1, where all mappings were looked through */
	bool scanned;
	bool failed; /* nothing can be concluded */
};

static void view__free(struct view *v)
{
	vec__free(&v->fds);
	map__free(&v->mapped);
}

static void view__add_fd(void *arg, const struct as_fd_event *ev)
{
	struct view *v = arg;

	if (vec__push(&v->fds, *ev))
		v->failed = true;
}

static int view__add_mapping(void *arg, const struct as_map_event *ev)
{
	struct view *v = arg;

	return map__put(&v->mapped, ev->file, 1);
}

static const struct as_fd_event *view__fd(const struct view *v, int fd)
{
	size_t low = 0, high = v->fds.cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v->fds.v[mid].fd < (u32)fd)
			low = mid + 1;
		else
			high = mid;
	}
	return low < v->fds.cnt && v->fds.v[low].fd == (u32)fd ? &v->fds.v[low] : NULL;
}

static void view__scan(struct view *v, struct session *s, u64 now)
{
	struct release *r = &s->release;

	v->failed |= kernel__each_mapping(&s->kernel, 0, view__add_mapping, v) != 0;
	v->scanned = true;
	r->scanned_ns = now__ns();
	r->scan_cost_ns = r->scanned_ns - now;
}

/* Its descriptor doesn't name the inode that is mapped. */
static bool view__is_indirect(const struct view *v, const struct traced_file *f)
{
	const struct as_fd_event *ev = view__fd(v, f->fd);

	return ev && ev->file != f->hash;
}

/* Where it can't be told, it is. */
static bool view__is_mapped(const struct view *v, const struct traced_file *f)
{
	const struct as_fd_event *ev = view__fd(v, f->fd);
	u64 val;

	if (!ev)
		return true;
	if (ev->file == f->hash)
		return ev->mapped;
	return !v->scanned || map__get(&v->mapped, f->hash, &val);
}

/* ---- who is to go ---- */

typedef VEC(struct traced_file *) leaving_files;

static bool release__scan_is_due(const struct release *r, u64 now)
{
	u64 pause = (r->again ? SCAN_MS : SCAN_IDLE_MS) * MS;

	return now - r->scanned_ns >= MAX(pause, r->scan_cost_ns * SCAN_SHARE);
}

static bool file__is_studied(const struct traced_file *f)
{
	return f->fd >= 0 && f->known.flags & AS_FILE_READY;
}

static bool files__any_indirect(const struct files *f, const struct view *v)
{
	for (size_t i = 0; i < f->all.cnt; i++) {
		if (file__is_studied(f->all.v[i]) && view__is_indirect(v, f->all.v[i]))
			return true;
	}
	return false;
}

static bool file__may_go(struct traced_file *f, const struct view *v, u64 now)
{
	if (!file__is_studied(f))
		return false;
	if (view__is_mapped(v, f)) {
		/* Not looked through this time: as it was. */
		if (!view__is_indirect(v, f) || v->scanned)
			f->unmapped_ns = 0;
		return false;
	}
	if (!f->unmapped_ns)
		f->unmapped_ns = now;
	return f->pins || now - f->unmapped_ns >= GRACE_MS * MS;
}

/* Called with the session's lock held. */
static void release__choose(struct session *s, const struct view *v, u64 now,
			    leaving_files *leaving)
{
	for (size_t i = 0; i < s->files.all.cnt; i++) {
		if (file__may_go(s->files.all.v[i], v, now) &&
		    vec__push(leaving, s->files.all.v[i]))
			return;
	}
}

/* ---- what the recording names ---- */

typedef VEC(u64) places;

static void recorded__each_frame(const struct record *r,
				 void (*fn)(void *arg, const struct as_frame *frame), void *arg)
{
	u64 id, val;

	for (size_t i = 0; map__next(&r->stacks, &i, &id, &val);) {
		const struct recorded_stack *stack = (void *)(uintptr_t)val;

		for (u32 n = 0; n < stack->frame_cnt; n++)
			fn(arg, &stack->frames[n]);
	}
}

struct keeping {
	struct map at;	/* file hash -> its index below */
	places *places; /* of each leaving file */
};

static void keeping__frame(void *arg, const struct as_frame *frame)
{
	struct keeping *k = arg;
	u64 at;

	if (frame->file && map__get(&k->at, frame->file, &at))
		vec__push(&k->places[at], frame->off); /* without memory it has no name */
}

static void release__keep_names(struct session *s, const leaving_files *leaving)
{
	struct keeping k = { .places = calloc(leaving->cnt, sizeof(*k.places)) };

	for (size_t i = 0; k.places && i < leaving->cnt; i++)
		map__put(&k.at, leaving->v[i]->hash, i);
	if (k.places)
		recorded__each_frame(&s->record, keeping__frame, &k);
	for (size_t i = 0; k.places && i < leaving->cnt; i++) {
		s->keep(s->keep_arg, leaving->v[i], k.places[i].v, k.places[i].cnt);
		vec__free(&k.places[i]);
	}
	free(k.places);
	map__free(&k.at);
}

/* ---- what remains ---- */

struct named {
	struct session *s;
	struct map hashes; /* of files */
	struct map sites;  /* by number */
};

static void named__frame(void *arg, const struct as_frame *frame)
{
	struct named *n = arg;

	if (frame->file)
		map__put(&n->hashes, frame->file, 1);
}

static void named__collect(struct named *n, struct session *s)
{
	u64 key, val;

	recorded__each_frame(&s->record, named__frame, n);
	for (size_t i = 0; map__next(&s->record.procs, &i, &key, &val);)
		map__put(&n->hashes, ((struct recorded_proc *)(uintptr_t)val)->exe_file, 1);
	for (size_t i = 0; i < s->record.rows.cnt; i++)
		map__put(&n->sites, s->record.rows.v[i].key.site, 1);
	for (size_t i = 0; i < s->record.past.cnt; i++)
		map__put(&n->sites, s->record.past.v[i].sums.key.site, 1);
	for (u32 i = 0; s->live && i < kernel__live_row_cnt(&s->kernel); i++)
		map__put(&n->sites, kernel__live_key(&s->kernel, i)->site, 1);
}

static bool named__file(const struct named *n, const struct traced_file *f)
{
	u64 val;

	if (map__get(&n->hashes, f->hash, &val))
		return true;
	for (size_t i = 0; i < f->sites.sites.cnt; i++) {
		if (map__get(&n->sites, f->first_site + i, &val))
			return true;
	}
	return false;
}

/* False: it's dropped, and its names are, unless it has come again. */
static bool named__keeps(void *arg, const struct traced_file *f)
{
	const struct named *n = arg;
	bool keep = named__file(n, f);

	if (!keep && n->s->forget && files__find(&n->s->files, f->hash) == f)
		n->s->forget(n->s->keep_arg, f->hash);
	return keep;
}

/* Rows that are still in the kernel may name a site, so they are drained first. */
static void release__drop(struct session *s)
{
	struct release *r = &s->release;
	struct named n = { .s = s };

	if (s->files.all.cnt < MAX(r->drop_at, (size_t)REMAIN_MIN) || session__take_rows(s))
		return;
	named__collect(&n, s);
	files__drop(&s->files, named__keeps, &n);
	map__free(&n.hashes);
	map__free(&n.sites);
	r->drop_at = s->files.all.cnt * 2;
}

/* ---- letting go ---- */

/*
 * First the kernel shall tell of new mappings again, and the opener listen; then a last look shows
 * what was mapped in between, without a word. That file is a new one, too.
 */
static void release__forget(struct session *s, const leaving_files *leaving)
{
	for (size_t i = 0; i < leaving->cnt; i++)
		kernel__forget_file(&s->kernel, leaving->v[i]->hash);
	kernel__new_tables(&s->kernel);
	for (size_t i = 0; i < leaving->cnt; i++)
		opener__forget(&s->opener, leaving->v[i]->hash);
}

static int release__see(void *arg, const struct as_map_event *ev)
{
	struct session *s = arg;

	if (ev->tgid != (u32)getpid())
		opener__see(&s->opener, ev, false);
	return 0;
}

static void release__look_back(struct session *s, const leaving_files *leaving)
{
	struct view v = {};
	bool mapped;

	mapped = kernel__each_fd(&s->kernel, view__add_fd, &v) != 0;
	for (size_t i = 0; i < leaving->cnt && !mapped; i++)
		mapped = view__is_mapped(&v, leaving->v[i]);
	if (mapped)
		kernel__each_mapping(&s->kernel, 0, release__see, s);
	view__free(&v);
}

/*
 * Before anybody can find the file anew it has no probes and no ranges: what is taken from it after
 * that would be the new one's, and both would count. False: not now. A stack that waits for tables
 * may still read its files.
 */
static bool release__leave(struct session *s, const leaving_files *leaving)
{
	bool wait;

	pthread_mutex_lock(&s->lock);
	session__consume(s);
	copies__work(s);
	wait = s->copies.first < s->copies.waiting.cnt;
	for (size_t i = 0; i < leaving->cnt && !wait; i++) {
		struct traced_file *f = leaving->v[i];

		session__log(s, ALLOCSNOOP_DEBUG, "nobody maps '%s' any more", f->path);
		targets__detach_file(s, f);
		files__leave(&s->files, &s->kernel, f);
	}
	pthread_mutex_unlock(&s->lock);
	return !wait;
}

static void release__go(struct session *s, const leaving_files *leaving)
{
	if (!release__leave(s, leaving)) {
		s->release.again = true;
		return;
	}
	release__forget(s, leaving);
	release__look_back(s, leaving);
	pthread_mutex_lock(&s->lock);
	if (s->keep)
		release__keep_names(s, leaving);
	for (size_t i = 0; i < leaving->cnt; i++)
		files__let_go(&s->files, &s->kernel, leaving->v[i]);
	release__drop(s);
	pthread_mutex_unlock(&s->lock);
}

static bool release__is_due(struct release *r, u64 exits, u64 now)
{
	bool ended = exits != r->exits || r->again;

	if (now - r->looked_ns < (ended ? LOOK_MS : LOOK_IDLE_MS) * MS)
		return false;
	r->again = exits != r->exits;
	r->exits = exits;
	r->looked_ns = now;
	return true;
}

void release__check(struct session *s)
{
	struct release *r = &s->release;
	leaving_files leaving = {};
	struct view v = {};
	u64 now = now__ns();

	if (s->stopped || !release__is_due(r, kernel__exits(&s->kernel), now))
		return;
	v.failed = kernel__each_fd(&s->kernel, view__add_fd, &v) != 0;
	pthread_mutex_lock(&s->lock);
	if (files__any_indirect(&s->files, &v) && release__scan_is_due(r, now))
		view__scan(&v, s, now);
	/* A stack that waits for tables may still read its files. */
	if (!v.failed && s->copies.first == s->copies.waiting.cnt)
		release__choose(s, &v, now, &leaving);
	pthread_mutex_unlock(&s->lock);
	if (leaving.cnt)
		release__go(s, &leaving);
	vec__free(&leaving);
	view__free(&v);
}
