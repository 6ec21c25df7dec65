/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways to look at a profile. The one idea: a view is only a choice of key fields, and of the
 * frames that stay; group.c sums the rows whose keys are equal.
 */
#include "profile/view.h"

#include <errno.h>
#include <string.h>

#include "profile/copy.h"

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

/* It may be hidden, and profiles of others haven't got it. */
static bool has_allocator_frame(const struct allocsnoop_sample *s)
{
	return s->frame_cnt && !strcmp(s->frames[0]->function, s->allocator);
}

const struct allocsnoop_frame *sample__caller(const struct allocsnoop_sample *s)
{
	size_t first = has_allocator_frame(s);

	for (size_t i = first; i < s->frame_cnt; i++) {
		if (!is_wrapper(s->frames[i]->function))
			return s->frames[i];
	}
	return s->frame_cnt > first ? s->frames[first] : NULL;
}

/* ---- keys ---- */

static int stack_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->comm = s->comm;
	key->allocator = s->allocator;
	return group__stack(g, s, &key->stack);
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

static int tid_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->tid = s->tid;
	key->thread = s->thread ? s->thread : "";
	return pid_key(g, s, key);
}

static int function_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	const struct allocsnoop_frame *caller = sample__caller(s);

	key->allocator = s->allocator;
	if (!caller) {
		key->end = s->end;
		return 0;
	}
	key->function = caller->function;
	key->module = group__module(g, caller->module);
	return key->module ? 0 : -ENOMEM;
}

static int file_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	const struct allocsnoop_frame *caller = sample__caller(s);

	if (caller)
		key->module = group__module(g, caller->module);
	else
		key->end = s->end;
	return key->module ? 0 : -ENOMEM;
}

static int size_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	(void)g;
	key->size_low = s->size_low;
	key->size_high = s->size_high;
	return 0;
}

/* Whatever processes and builds they are of. */
static int diff_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->thread = s->thread ? s->thread : "";
	key->type = s->type ? s->type : "";
	key->size_low = s->size_low;
	key->size_high = s->size_high;
	return stack_key(g, s, key);
}

static int merge_key(struct group *g, const struct allocsnoop_sample *s, struct group_key *key)
{
	key->pid = s->pid;
	key->tid = s->tid;
	return diff_key(g, s, key);
}

/* ---- frames ---- */

/* A frame that stands for all places in its function. */
static const struct allocsnoop_frame *frame__of_function(struct group *g,
							 const struct allocsnoop_frame *f)
{
	struct allocsnoop_frame any = *f;

	any.offset = 0;
	any.line = 0;
	return frame__copy(&g->to->arena, &any);
}

static int all_frames(struct group *g, const struct allocsnoop_sample *s,
		      struct allocsnoop_sample *row)
{
	row->frames = group__frames(g, s);
	row->frame_cnt = s->frame_cnt;
	return row->frames ? 0 : -ENOMEM;
}

static const struct allocsnoop_frame *allocator__frame(struct group *g,
						       const struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame named = {
		.function = *s->allocator ? s->allocator : "[unknown]",
		.module = "",
	};

	return has_allocator_frame(s) ? frame__of_function(g, s->frames[0])
				      : frame__copy(&g->to->arena, &named);
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
		list[row->frame_cnt] = allocator__frame(g, s);
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
	list[0] = frame__copy(&g->to->arena, &file);
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

/* ---- views ---- */

static const struct view views[] = {
	[ALLOCSNOOP_BY_STACK] = { stack_key, all_frames, true, false },
	[ALLOCSNOOP_BY_FUNCTION] = { function_key, function_frames, false, false },
	[ALLOCSNOOP_BY_FILE] = { file_key, file_frames, false, false },
	[ALLOCSNOOP_BY_PROCESS] = { process_key, all_frames, true, false },
	[ALLOCSNOOP_BY_SIZE] = { size_key, no_frames, false, false },
	[ALLOCSNOOP_BY_THREAD] = { thread_key, all_frames, true, false },
	[ALLOCSNOOP_BY_TYPE] = { type_key, no_frames, false, false },
};
static const struct view view_pids = { pid_key, no_frames, false, false };
static const struct view view_tids = { tid_key, no_frames, false, false };
const struct view view_diff = { diff_key, all_frames, true, false };
const struct view view_merge = { merge_key, all_frames, true, true };

static int group__all(struct allocsnoop_profile *to, const struct allocsnoop_profile *p,
		      const struct view *view)
{
	struct group *g;
	int err = profile__copy_rest(to, p);

	if (err)
		return err;
	g = group__new(to, view);
	if (!g)
		return -ENOMEM;
	for (size_t i = 0; !err && i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		err = group__add(g, s, (struct origin){ .pid = s->pid });
	}
	group__free(g);
	return err;
}

static struct allocsnoop_profile *profile__view(const struct allocsnoop_profile *p,
						const struct view *view)
{
	struct allocsnoop_profile *to = profile__new();

	if (to && !group__all(to, p, view))
		return to;
	profile__free(to);
	return NULL;
}

struct allocsnoop_profile *profile__group(const struct allocsnoop_profile *p, enum allocsnoop_by by)
{
	return profile__view(p, &views[(size_t)by < ARRAY_SIZE(views) ? by : ALLOCSNOOP_BY_STACK]);
}

struct allocsnoop_profile *profile__sum_processes(const struct allocsnoop_profile *p)
{
	return profile__view(p, &view_pids);
}

struct allocsnoop_profile *profile__sum_threads(const struct allocsnoop_profile *p)
{
	return profile__view(p, &view_tids);
}
