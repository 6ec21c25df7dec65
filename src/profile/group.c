/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums rows that the reader wants to see as one: those with equal keys. Which fields the key has is
 * the view's choice (view.c); fields that it doesn't look at are zero in every key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/copy.h"
#include "profile/view.h"

/* ---- names ---- */

/* The end of a file's name that only tells versions apart: ".1.2" of "libfoo.so.1.2", and what the
 * kernel says of removed files. */
static size_t stem_len(const char *base)
{
	size_t len = strlen(base), gone = strlen(" (deleted)");

	for (const char *so = base; (so = strstr(so, ".so")); so += 3) {
		if (so[3] == '.' || !strcmp(so + 3, " (deleted)"))
			return (size_t)(so + 3 - base);
	}
	if (len > gone && !strcmp(base + len - gone, " (deleted)"))
		return len - gone;
	return len;
}

const char *group__module(struct group *g, const char *module)
{
	const char *slash = strrchr(module, '/'), *base = slash ? slash + 1 : module, *known;
	char *stem;

	if (!g->to->info.diff)
		return module;
	stem = strndup(base, stem_len(base));
	known = arena__intern(&g->scratch, stem);
	free(stem);
	return known;
}

/* Copies are interned, so pointers stand for names. */
static int frame__hash(struct group *g, const struct allocsnoop_frame *copy, u64 *hash)
{
	const char *module = group__module(g, copy->module);
	u64 h = map__mix((uintptr_t)copy->function, (uintptr_t)module);

	if (!module)
		return -ENOMEM;
	h = map__mix(map__mix(h, (uintptr_t)copy->file), (u64)copy->line << 1 | copy->inlined);
	/* Without a file there is only the address; another run has others. */
	if (g->view->places || (!*copy->module && !g->to->info.diff))
		h = map__mix(h, copy->offset);
	if (g->view->places)
		h = map__mix(map__mix(h, (uintptr_t)copy->mangled), (uintptr_t)copy->build_id);
	*hash = h;
	return 0;
}

/* Strings are interned. */
static bool same_frame(const struct allocsnoop_frame *a, const struct allocsnoop_frame *b)
{
	return a->function == b->function && a->module == b->module && a->offset == b->offset &&
	       a->file == b->file && a->line == b->line && a->inlined == b->inlined &&
	       a->mangled == b->mangled && a->build_id == b->build_id;
}

/* Profiles that are summed have the same frames. NULL: out of memory. */
static const struct allocsnoop_frame *frame__copy_once(struct group *g,
						       const struct allocsnoop_frame *f)
{
	const struct allocsnoop_frame *copy = frame__copy(&g->to->arena, f), *old;
	u64 key, val;

	if (!copy)
		return NULL;
	key = map__mix((uintptr_t)copy->function, (uintptr_t)copy->module);
	key = map__mix(map__mix(key, copy->offset), (uintptr_t)copy->file);
	key = map__mix(key, (u64)copy->line << 1 | copy->inlined);
	if (map__get(&g->copies, key, &val)) {
		old = (const void *)(uintptr_t)val;
		if (same_frame(old, copy))
			return old;
	}
	return map__put(&g->copies, key, (uintptr_t)copy) ? NULL : copy;
}

/* NULL: out of memory. */
static const struct known_frame *frame__know(struct group *g, const struct allocsnoop_frame *f)
{
	struct known_frame *k;
	u64 old;

	if (map__get(&g->frames, (uintptr_t)f, &old))
		return (const void *)(uintptr_t)old;
	k = arena__alloc(&g->scratch, sizeof(*k));
	if (!k)
		return NULL;
	k->copy = frame__copy_once(g, f);
	if (!k->copy || frame__hash(g, k->copy, &k->hash) ||
	    map__put(&g->frames, (uintptr_t)f, (uintptr_t)k))
		return NULL;
	return k;
}

/* ---- lists ---- */

/*
 * Two calls in one function are one row until lines tell them apart: a reader who sees the same
 * names twice looks for the difference in vain. Copies are interned, so pointers stand for names.
 * Without a file there is only the address.
 */
static int list__hash(struct group *g, struct known_list *l)
{
	l->names = l->frame_cnt;
	for (size_t i = 0; i < l->frame_cnt; i++) {
		const struct known_frame *f = frame__know(g, l->frames[i]);

		if (!f)
			return -ENOMEM;
		l->names = map__mix(l->names, f->hash);
	}
	return 0;
}

static struct known_list *list__of(struct group *g, const struct allocsnoop_sample *s)
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
	if (list__hash(g, l) || map__put(&g->lists, (uintptr_t)s->frames, (uintptr_t)l))
		return NULL;
	return l;
}

int group__stack(struct group *g, const struct allocsnoop_sample *s, u64 *hash)
{
	const struct known_list *l = list__of(g, s);

	if (!l)
		return -ENOMEM;
	*hash = map__mix(l->names, s->end);
	return 0;
}

/* Only rows that stay need a list of their own. */
const struct allocsnoop_frame **group__frames(struct group *g, const struct allocsnoop_sample *s)
{
	struct known_list *l = list__of(g, s);

	if (!l || l->copy)
		return l ? l->copy : NULL;
	l->copy = arena__alloc(&g->to->arena, (l->frame_cnt + !l->frame_cnt) * sizeof(*l->copy));
	for (size_t i = 0; l->copy && i < l->frame_cnt; i++)
		l->copy[i] = frame__know(g, l->frames[i])->copy; /* known since it was hashed */
	return l->copy;
}

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

/* Rows whose process is unknown are sums already; those of one name may be of the same ones. */
static int count_processes(struct group *g, size_t row, const struct allocsnoop_sample *s,
			   struct origin from)
{
	u64 key = map__mix((u64)row << 32 | from.profile, from.pid ? from.pid : (uintptr_t)s->comm);
	u64 most = 0;
	u32 cnt = from.pid ? 1 : s->pid_cnt;

	if (row < from.counted_from)
		return 0;
	map__get(&g->pids, key, &most);
	if (cnt <= most)
		return 0;
	g->to->samples.v[row].pid_cnt += cnt - most;
	return map__put(&g->pids, key, cnt);
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

static int group__new_row(struct group *g, const struct allocsnoop_sample *s,
			  const struct group_key *key)
{
	struct allocsnoop_sample row = *s;
	int err;

	row.pid_cnt = 0;
	row.frames = NULL;
	row.frame_cnt = 0;
	row.lifetimes = NULL;
	if (!g->view->keep_end) {
		row.end = key->end;
		row.truncated = key->end != ALLOCSNOOP_COMPLETE;
	}
	err = g->view->frames(g, s, &row);
	if (!err)
		err = add_lifetimes(g, &row, s);
	if (!err)
		err = profile__add_sample(g->to, &row);
	if (!err)
		err = vec__push(&g->keys, *key);
	return err;
}

int group__add(struct group *g, const struct allocsnoop_sample *s, struct origin from)
{
	struct group_key key = { "", "", "", "", .thread = "", .type = "" };
	u64 hash, last = 0;
	int err;

	key.collected = s->collected;
	err = g->view->key(g, s, &key);
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
		return err ? err : count_processes(g, row - 1, s, from);
	}
	err = group__new_row(g, s, &key);
	if (!err)
		err = map__put(&g->rows, hash, g->keys.cnt);
	return err ? err : count_processes(g, g->keys.cnt - 1, s, from);
}

struct group *group__new(struct allocsnoop_profile *to, const struct view *view)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->to = to;
	g->view = view;
	return g;
}

void group__free(struct group *g)
{
	if (!g)
		return;
	vec__free(&g->keys);
	map__free(&g->rows);
	map__free(&g->pids);
	map__free(&g->frames);
	map__free(&g->copies);
	map__free(&g->lists);
	arena__free(&g->scratch);
	free(g);
}
