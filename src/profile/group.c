/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums rows that the reader wants to see as one. The one idea: a view is only a choice of key
 * fields; fields that a view doesn't look at are zero in every key, and rows with equal keys become
 * one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "profile/profile.h"

/* What makes two rows one. Strings belong to the profile that is grouped; never NULL. */
struct group_key {
	const char *comm;
	const char *allocator;
	const char *function;
	const char *module;
	u64 stack; /* of its names; not the id, which tells two calls in one function apart */
	u64 size_low;
	u64 size_high;
	const char *thread;
	const char *type;
	u32 pid;
	u32 tid;
	bool collected;
	u32 end;     /* only when the view asks for a caller and there is none */
	size_t next; /* row + 1 with the same hash, 0 for none; not part of the key */
};

/* A list of frames that rows share, as stacks of one recording do; looked at once. */
struct known_list {
	const struct allocsnoop_frame *const *frames;
	size_t frame_cnt;
	const struct allocsnoop_frame **copy;
	u64 names; /* hash of all that is shown of it */
};

struct group {
	struct allocsnoop_profile *to;
	struct arena scratch;	    /* known lists */
	struct map lists;	    /* list of frames -> struct known_list * */
	VEC(struct group_key) keys; /* of the rows of `to` */
	struct map rows;	    /* hash of a key -> row + 1 that came last with it */
	struct map pids;	    /* row << 32 | pid: this process is counted in the row */
	struct map frames;	    /* frame -> its copy in `to` */
};

/* How a view makes its key and the frames that stay. */
struct view {
	int (*key)(struct group *g, const struct allocsnoop_sample *s, struct group_key *key);
	int (*frames)(struct group *g, const struct allocsnoop_sample *s,
		      struct allocsnoop_sample *row);
	bool keep_end; /* the stack stays, so the way it ended does */
};

/* ---- the caller of the allocator ---- */

/*
 * Functions that stand between a program and its allocator: the one who called them is the one to
 * blame. Beginnings of demangled names; a trailing '=' asks for the whole name.
 */
static const char *const wrappers[] = {
	"operator new(",
	"operator new[](",
	"malloc=",
	"calloc=",
	"realloc=",
	"reallocarray=",
	/* libstdc++'s and libc++'s way from a container to operator new */
	"std::__new_allocator<",
	"__gnu_cxx::new_allocator<",
	"std::allocator<",
	"std::allocator_traits<",
	"std::__1::allocator<",
	"std::__1::allocator_traits<",
	"std::__1::__libcpp_allocate",
	"std::__1::__libcpp_operator_new",
	/* Rust's way from a container to the global allocator */
	"__rust_alloc=",
	"__rust_alloc_zeroed=",
	"__rust_realloc=",
	"__rdl_alloc=",
	"__rdl_alloc_zeroed=",
	"__rdl_realloc=",
	"__rg_alloc=",
	"__rg_alloc_zeroed=",
	"__rg_realloc=",
	"alloc::alloc::",
	"<alloc::alloc::Global as ",
};

static bool is_wrapper(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		size_t len = strlen(wrappers[i]);
		bool whole = wrappers[i][len - 1] == '=';

		if (!strncmp(function, wrappers[i], len - whole) && (!whole || !function[len - 1]))
			return true;
	}
	return false;
}

const struct allocsnoop_frame *sample__caller(const struct allocsnoop_sample *s)
{
	for (size_t i = 1; i < s->frame_cnt; i++) {
		if (!is_wrapper(s->frames[i]->function))
			return s->frames[i];
	}
	return s->frame_cnt > 1 ? s->frames[1] : NULL;
}

/* ---- copies ---- */

static const struct allocsnoop_frame *frame__copy(struct group *g, const struct allocsnoop_frame *f)
{
	struct arena *a = &g->to->arena;
	struct allocsnoop_frame *copy = arena__alloc(a, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *f;
	copy->function = arena__intern(a, f->function);
	copy->module = arena__intern(a, f->module);
	copy->file = f->file ? arena__intern(a, f->file) : NULL;
	copy->mangled = f->mangled ? arena__intern(a, f->mangled) : NULL;
	copy->build_id = f->build_id ? arena__intern(a, f->build_id) : NULL;
	if (!copy->function || !copy->module || (f->file && !copy->file) ||
	    (f->mangled && !copy->mangled) || (f->build_id && !copy->build_id))
		return NULL;
	return copy;
}

static const struct allocsnoop_frame *frame__copy_once(struct group *g,
						       const struct allocsnoop_frame *f)
{
	const struct allocsnoop_frame *copy;
	u64 old;

	if (map__get(&g->frames, (uintptr_t)f, &old))
		return (const void *)(uintptr_t)old;
	copy = frame__copy(g, f);
	if (!copy || map__put(&g->frames, (uintptr_t)f, (uintptr_t)copy))
		return NULL;
	return copy;
}

/* A frame that stands for all places in its function. */
static const struct allocsnoop_frame *frame__of_function(struct group *g,
							 const struct allocsnoop_frame *f)
{
	struct allocsnoop_frame any = *f;

	any.offset = 0;
	any.line = 0;
	return frame__copy(g, &any);
}

/* ---- views ---- */

/*
 * Two calls in one function are one row until lines tell them apart: a reader who sees the same
 * names twice looks for the difference in vain. Copies are interned, so pointers stand for names.
 * Without a file there is only the address.
 */
static int list__copy(struct group *g, struct known_list *l)
{
	l->names = l->frame_cnt;
	l->copy = arena__alloc(&g->to->arena, (l->frame_cnt + !l->frame_cnt) * sizeof(*l->copy));
	if (!l->copy)
		return -ENOMEM;
	for (size_t i = 0; i < l->frame_cnt; i++) {
		const struct allocsnoop_frame *f = frame__copy_once(g, l->frames[i]);
		u64 h = l->names;

		if (!f)
			return -ENOMEM;
		h = map__mix(map__mix(h, (uintptr_t)f->function), (uintptr_t)f->module);
		h = map__mix(map__mix(h, (uintptr_t)f->file), (u64)f->line << 1 | f->inlined);
		l->names = *f->module ? h : map__mix(h, f->offset);
		l->copy[i] = f;
	}
	return 0;
}

/* NULL: out of memory. */
static const struct known_list *list__of(struct group *g, const struct allocsnoop_sample *s)
{
	struct known_list *l;
	u64 val;

	if (map__get(&g->lists, (uintptr_t)s->frames, &val)) {
		l = (void *)(uintptr_t)val;
		if (l->frame_cnt == s->frame_cnt)
			return l;
	}
	l = arena__alloc(&g->scratch, sizeof(*l));
	if (!l)
		return NULL;
	l->frames = s->frames;
	l->frame_cnt = s->frame_cnt;
	if (list__copy(g, l) || map__put(&g->lists, (uintptr_t)s->frames, (uintptr_t)l))
		return NULL;
	return l;
}

static int stack__names(struct group *g, const struct allocsnoop_sample *s, u64 *hash)
{
	const struct known_list *l = list__of(g, s);

	if (!l)
		return -ENOMEM;
	*hash = map__mix(l->names, s->end);
	return 0;
}

static int stack_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->comm = s->comm;
	key->allocator = s->allocator;
	return stack__names(g, s, &key->stack);
}

static int process_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->pid = s->pid;
	return stack_key(g, s, key);
}

static int thread_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->tid = s->tid;
	key->thread = s->thread ? s->thread : "";
	return process_key(g, s, key);
}

static int type_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	(void)g;
	key->type = s->type ? s->type : "";
	return 0;
}

static int pid_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	(void)g;
	key->comm = s->comm;
	key->pid = s->pid;
	return 0;
}

static int function_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	(void)g;
	const struct allocsnoop_frame *caller = sample__caller(s);

	key->allocator = s->allocator;
	if (!caller) {
		key->end = s->end;
		return 0;
	}
	key->function = caller->function;
	key->module = caller->module;
	return 0;
}

static int file_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	(void)g;
	const struct allocsnoop_frame *caller = sample__caller(s);

	if (caller)
		key->module = caller->module;
	else
		key->end = s->end;
	return 0;
}

static int size_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	(void)g;
	key->size_low = s->size_low;
	key->size_high = s->size_high;
	return 0;
}

static int all_frames(struct group *g, const struct allocsnoop_sample *s,
		      struct allocsnoop_sample *row)
{
	const struct known_list *l = list__of(g, s);

	if (!l)
		return -ENOMEM;
	row->frames = l->copy;
	row->frame_cnt = l->frame_cnt;
	return 0;
}

static int function_frames(struct group *g, const struct allocsnoop_sample *s,
			   struct allocsnoop_sample *row)
{
	const struct allocsnoop_frame *caller = sample__caller(s);
	const struct allocsnoop_frame **list = arena__alloc(&g->to->arena, 2 * sizeof(*list));

	if (!list)
		return -ENOMEM;
	row->frames = list;
	if (s->frame_cnt) {
		list[row->frame_cnt] = frame__of_function(g, s->frames[0]);
		if (!list[row->frame_cnt++])
			return -ENOMEM;
	}
	if (caller) {
		list[row->frame_cnt] = frame__of_function(g, caller);
		if (!list[row->frame_cnt++])
			return -ENOMEM;
	}
	return 0;
}

static int file_frames(struct group *g, const struct allocsnoop_sample *s,
		       struct allocsnoop_sample *row)
{
	const struct allocsnoop_frame *caller = sample__caller(s);
	const struct allocsnoop_frame **list = arena__alloc(&g->to->arena, sizeof(*list));
	struct allocsnoop_frame file = { .module = "" };

	if (!list)
		return -ENOMEM;
	row->frames = list;
	if (!caller)
		return 0;
	file.module = caller->module;
	file.function = *file.module ? file.module : "[no file]";
	list[0] = frame__copy(g, &file);
	row->frame_cnt = 1;
	return list[0] ? 0 : -ENOMEM;
}

static int no_frames(struct group *g, const struct allocsnoop_sample *s,
		     struct allocsnoop_sample *row)
{
	(void)g;
	(void)s;
	(void)row;
	return 0;
}

static const struct view views[] = {
	[ALLOCSNOOP_BY_STACK] = { stack_key, all_frames, true },
	[ALLOCSNOOP_BY_FUNCTION] = { function_key, function_frames, false },
	[ALLOCSNOOP_BY_FILE] = { file_key, file_frames, false },
	[ALLOCSNOOP_BY_PROCESS] = { process_key, all_frames, true },
	[ALLOCSNOOP_BY_SIZE] = { size_key, no_frames, false },
	[ALLOCSNOOP_BY_THREAD] = { thread_key, all_frames, true },
	[ALLOCSNOOP_BY_TYPE] = { type_key, no_frames, false },
};
static const struct view view_pids = { pid_key, no_frames, false };

/* ---- keys ---- */

static u64 hash_str(u64 h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (u8)*s) * 0x100000001b3ULL; /* FNV-1a, as in RFC draft eastlake-fnv */
	return map__mix(h, 0);
}

static u64 key__hash(const struct group_key *k)
{
	u64 h = 0xcbf29ce484222325ULL;

	h = hash_str(h, k->comm);
	h = hash_str(h, k->allocator);
	h = hash_str(h, k->function);
	h = hash_str(h, k->module);
	h = hash_str(h, k->thread);
	h = hash_str(h, k->type);
	h = map__mix(h, k->stack);
	h = map__mix(h, k->size_low);
	h = map__mix(h, k->size_high);
	h = map__mix(h, (u64)k->tid << 1 | k->collected);
	return map__mix(h, (u64)k->end << 32 | k->pid);
}

static bool key__equal(const struct group_key *a, const struct group_key *b)
{
	return a->stack == b->stack && a->size_low == b->size_low && a->size_high == b->size_high &&
	       a->pid == b->pid && a->tid == b->tid && a->collected == b->collected &&
	       a->end == b->end && !strcmp(a->comm, b->comm) &&
	       !strcmp(a->allocator, b->allocator) && !strcmp(a->function, b->function) &&
	       !strcmp(a->module, b->module) && !strcmp(a->thread, b->thread) &&
	       !strcmp(a->type, b->type);
}

/* ---- sums ---- */

/* A sum already: which processes is unknown. Sums of one name may be of the same ones. */
static int count_sum(struct group *g, size_t row, const struct allocsnoop_sample *s)
{
	u64 key = map__mix((u64)row << 32, (uintptr_t)s->comm), most = 0;

	map__get(&g->pids, key, &most);
	if (s->pid_cnt <= most)
		return 0;
	g->to->samples.v[row].pid_cnt += s->pid_cnt - most;
	return map__put(&g->pids, key, s->pid_cnt);
}

static int count_pid(struct group *g, size_t row, const struct allocsnoop_sample *s)
{
	struct allocsnoop_sample *to = &g->to->samples.v[row];
	u64 key = (u64)row << 32 | s->pid, seen;

	if (!s->pid)
		return count_sum(g, row, s);
	if (map__get(&g->pids, key, &seen))
		return 0;
	to->pid_cnt++;
	return map__put(&g->pids, key, 1);
}

static void sample__merge(struct allocsnoop_sample *to, const struct allocsnoop_sample *s)
{
	if (to->pid != s->pid)
		to->pid = 0;
	if (strcmp(to->comm, s->comm))
		to->comm = "";
	if (strcmp(to->allocator, s->allocator))
		to->allocator = "";
	if (to->type && (!s->type || strcmp(to->type, s->type)))
		to->type = NULL;
	if (to->tid != s->tid)
		to->tid = 0;
	if (to->thread && (!s->thread || strcmp(to->thread, s->thread)))
		to->thread = NULL;
	if (to->stack_id != s->stack_id)
		to->stack_id = 0;
	to->size_low = MIN(to->size_low, s->size_low);
	to->size_high = MAX(to->size_high, s->size_high);
	sample__add(to, s);
}

/* The row's own: its sums go on growing. */
static int add_lifetimes(struct group *g, struct allocsnoop_sample *row,
			 const struct allocsnoop_sample *s)
{
	struct allocsnoop_lifetimes *own = (struct allocsnoop_lifetimes *)row->lifetimes;

	if (!s->lifetimes)
		return 0;
	if (!own)
		own = arena__alloc(&g->to->arena, sizeof(*own));
	if (!own)
		return -ENOMEM;
	lifetimes__add(own, s->lifetimes);
	row->lifetimes = own;
	return 0;
}

static int group__new_row(struct group *g, const struct view *view,
			  const struct allocsnoop_sample *s, const struct group_key *key)
{
	struct allocsnoop_sample row = *s;
	int err;

	row.pid_cnt = 0;
	row.frames = NULL;
	row.frame_cnt = 0;
	row.lifetimes = NULL;
	if (!view->keep_end) {
		row.end = key->end;
		row.truncated = key->end != ALLOCSNOOP_COMPLETE;
	}
	err = view->frames(g, s, &row);
	if (!err)
		err = add_lifetimes(g, &row, s);
	if (!err)
		err = profile__add_sample(g->to, &row);
	if (!err)
		err = vec__push(&g->keys, *key);
	return err;
}

static int group__add(struct group *g, const struct view *view, const struct allocsnoop_sample *s)
{
	struct group_key key = { "", "", "", "", .thread = "", .type = "" };
	u64 hash, last = 0;
	int err;

	key.collected = s->collected;
	err = view->key(g, s, &key);
	if (err)
		return err;
	hash = key__hash(&key);
	if (map__get(&g->rows, hash, &last))
		key.next = last;
	for (size_t row = last; row; row = g->keys.v[row - 1].next) {
		if (!key__equal(&g->keys.v[row - 1], &key))
			continue;
		sample__merge(&g->to->samples.v[row - 1], s);
		err = add_lifetimes(g, &g->to->samples.v[row - 1], s);
		return err ? err : count_pid(g, row - 1, s);
	}
	err = group__new_row(g, view, s, &key);
	if (!err)
		err = map__put(&g->rows, hash, g->keys.cnt);
	return err ? err : count_pid(g, g->keys.cnt - 1, s);
}

/* All that isn't a row. */
static int profile__copy_rest(struct allocsnoop_profile *to, const struct allocsnoop_profile *p)
{
	int err = 0;

	to->info = p->info;
	to->info.mode = arena__intern(&to->arena, p->info.mode ? p->info.mode : "");
	to->info.target = arena__intern(&to->arena, p->info.target ? p->info.target : "");
	if (p->info.base_target)
		to->info.base_target = arena__intern(&to->arena, p->info.base_target);
	if (!to->info.mode || !to->info.target || (p->info.base_target && !to->info.base_target))
		return -ENOMEM;
	for (size_t i = 0; !err && i < p->points.cnt; i++)
		err = vec__push(&to->points, p->points.v[i]);
	for (size_t i = 0; !err && i < p->processes.cnt; i++)
		err = profile__add_process(to, &p->processes.v[i]);
	for (size_t i = 0; !err && i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		err = profile__add_loss(to, l->name, l->text, l->count);
	}
	return err;
}

static struct allocsnoop_profile *group__all(const struct allocsnoop_profile *p,
					     const struct view *view)
{
	struct group g = { .to = profile__new() };
	int err;

	if (!g.to)
		return NULL;
	err = profile__copy_rest(g.to, p);
	for (size_t i = 0; !err && i < p->samples.cnt; i++)
		err = group__add(&g, view, &p->samples.v[i]);
	vec__free(&g.keys);
	map__free(&g.rows);
	map__free(&g.pids);
	map__free(&g.frames);
	map__free(&g.lists);
	arena__free(&g.scratch);
	if (!err)
		return g.to;
	profile__free(g.to);
	return NULL;
}

struct allocsnoop_profile *profile__group(const struct allocsnoop_profile *p, enum allocsnoop_by by)
{
	return group__all(p, &views[(size_t)by < ARRAY_SIZE(views) ? by : ALLOCSNOOP_BY_STACK]);
}

struct allocsnoop_profile *profile__sum_processes(const struct allocsnoop_profile *p)
{
	return group__all(p, &view_pids);
}
