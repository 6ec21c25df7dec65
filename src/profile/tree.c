/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the tree of calls. The one idea: each frame first gets the number of what it shows (its
 * identity), so that a child is found by two numbers, its parent's and its identity's, and names
 * are compared once for each frame, not for each stack.
 */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"

/* What nodes show; frames that look the same have one. */
struct identity {
	const struct allocsnoop_frame *frame;
	enum tree_kind kind;
	u32 next; /* identity + 1 with the same hash, 0 for none */
};

/* A frame of the row at hand. */
struct step {
	u32 id;
	u32 repeat_len; /* as of a node */
};

#define FOLD_MAX   8  /* rounds of looking for them */
#define REPEAT_MAX 12 /* functions that take turns: an import in Python has nine */

struct builder {
	struct tree *t;
	const struct tree_opts *opts;
	VEC(struct identity) identities;
	VEC(struct step) path;	       /* of the row at hand, as the tree has it */
	VEC(struct tree_node *) nodes; /* parents come before their children */
	struct map by_hash;	       /* of what is shown -> identity + 1 that came last with it */
	struct map by_frame;	       /* frame -> identity */
	struct map children;	       /* node << 32 | identity -> node */
	struct str label;
};

/* ---- identities ---- */

static u64 hash_str(u64 h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (u8)*s) * 0x100000001b3ULL; /* FNV-1a, as in RFC draft eastlake-fnv */
	return map__mix(h, 0);
}

static u64 hash_frame(const struct allocsnoop_frame *f, enum tree_kind kind)
{
	u64 h = hash_str(0xcbf29ce484222325ULL, f->function);

	h = hash_str(hash_str(h, f->module), f->file);
	return map__mix(h, (u64)f->line << 3 | (u64)f->inlined << 2 | kind);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_look(const struct allocsnoop_frame *a, const struct allocsnoop_frame *b)
{
	return same_text(a->function, b->function) && same_text(a->module, b->module) &&
	       same_text(a->file, b->file) && a->line == b->line && a->inlined == b->inlined;
}

static int identity__of(struct builder *b, const struct allocsnoop_frame *f, enum tree_kind kind,
			u32 *id)
{
	u64 hash = hash_frame(f, kind), last = 0;
	int err;

	map__get(&b->by_hash, hash, &last);
	for (u32 i = last; i; i = b->identities.v[i - 1].next) {
		*id = i - 1;
		if (b->identities.v[*id].kind == kind && same_look(b->identities.v[*id].frame, f))
			return 0;
	}
	if (b->identities.cnt == UINT32_MAX)
		return -ENOMEM;
	*id = b->identities.cnt;
	err = vec__push(&b->identities, ((struct identity){ f, kind, last }));
	return err ? err : map__put(&b->by_hash, hash, *id + 1);
}

/* ---- the path of a row ---- */

static int push_step(struct builder *b, u32 id)
{
	return vec__push(&b->path, ((struct step){ .id = id }));
}

static int push_frame(struct builder *b, const struct allocsnoop_frame *f)
{
	u64 known;
	u32 id;
	int err;

	if (map__get(&b->by_frame, (uintptr_t)f, &known))
		return push_step(b, known);
	err = identity__of(b, f, TREE_FRAME, &id);
	if (!err)
		err = map__put(&b->by_frame, (uintptr_t)f, id);
	return err ? err : push_step(b, id);
}

/* Takes the label, as a frame's name. */
static int push_label(struct builder *b, enum tree_kind kind)
{
	struct allocsnoop_frame f = { .module = "" }, *copy;
	u32 id;
	int err;

	if (b->label.oom)
		return -ENOMEM;
	f.function = arena__intern(&b->t->arena, b->label.len ? b->label.s : "[unknown]");
	str__clear(&b->label);
	copy = arena__alloc(&b->t->arena, sizeof(*copy));
	if (!f.function || !copy)
		return -ENOMEM;
	*copy = f;
	err = identity__of(b, copy, kind, &id);
	return err ? err : push_step(b, id);
}

static int push_process(struct builder *b, const struct allocsnoop_sample *s)
{
	bool ids = b->opts->by == ALLOCSNOOP_BY_PROCESS || b->opts->by == ALLOCSNOOP_BY_THREAD;

	if (!b->opts->processes)
		return 0;
	str__add(&b->label, !*s->comm && s->pid_cnt > 1 ? "[several]" : s->comm);
	if (ids && s->pid)
		str__addf(&b->label, " (pid %u)", s->pid);
	if (b->opts->by == ALLOCSNOOP_BY_THREAD && s->tid)
		str__addf(&b->label, " %s (tid %u)", s->thread ? s->thread : "", s->tid);
	return push_label(b, TREE_PROCESS);
}

static int push_end(struct builder *b, const struct allocsnoop_sample *s)
{
	if (!s->truncated && s->end == ALLOCSNOOP_COMPLETE)
		return 0;
	str__addf(&b->label, "[%s]", allocsnoop__end_name(s->end));
	return push_label(b, TREE_END);
}

/* What a row without frames stands for. */
static int push_frameless(struct builder *b, const struct allocsnoop_sample *s)
{
	if (b->opts->by == ALLOCSNOOP_BY_SIZE)
		str__addf(&b->label, "[%" PRIu64 "-%" PRIu64 " bytes]", s->size_low, s->size_high);
	else if (b->opts->by == ALLOCSNOOP_BY_TYPE)
		str__add(&b->label, s->type ? s->type : "[unknown type]");
	else
		str__add(&b->label, s->allocator);
	return push_label(b, TREE_FRAME);
}

static int push_row(struct builder *b, const struct allocsnoop_sample *s)
{
	int err;

	b->path.cnt = 0;
	err = push_process(b, s);
	if (!err)
		err = push_end(b, s);
	if (!err && !s->frame_cnt)
		err = push_frameless(b, s);
	for (size_t i = s->frame_cnt; !err && i > 0; i--)
		err = push_frame(b, s->frames[i - 1]);
	return err;
}

static void path__reverse(struct step *path, size_t cnt)
{
	for (size_t i = 0; i < cnt / 2; i++) {
		struct step first = path[i];

		path[i] = path[cnt - 1 - i];
		path[cnt - 1 - i] = first;
	}
}

/* ---- recursion ---- */

static bool same_steps(const struct step *a, const struct step *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (a[i].id != b[i].id)
			return false;
	}
	return true;
}

/* How often the block of len steps at the beginning follows itself. */
static size_t times_of(const struct step *path, size_t cnt, size_t len)
{
	size_t times = 1;

	while ((times + 1) * len <= cnt && same_steps(path, path + times * len, len))
		times++;
	return times;
}

/* One block for each that follows itself. Steps that are left out may have repeated themselves. */
static size_t fold_once(struct step *path, size_t cnt)
{
	size_t to = 0, len, times;

	for (size_t i = 0; i < cnt; i += len * times) {
		times = 1;
		for (len = 1; len <= REPEAT_MAX && times == 1; len++)
			times = times_of(path + i, cnt - i, len);
		len = times > 1 ? len - 1 : 1;
		memmove(path + to, path + i, len * sizeof(*path));
		to += len;
		if (times > 1)
			path[to - 1].repeat_len = MAX(path[to - 1].repeat_len, (u32)len);
	}
	return to;
}

/* Until nothing repeats, so that stacks that differ in depth only become one; made-up stacks may be
 * such that each round finds one block only. */
static void path__fold(struct builder *b)
{
	size_t cnt = SIZE_MAX;

	for (u32 i = 0; i < FOLD_MAX && b->path.cnt < cnt; i++) {
		cnt = b->path.cnt;
		b->path.cnt = fold_once(b->path.v, cnt);
	}
}

/* ---- nodes ---- */

/* The node's number is its place in the list. */
static int node__new(struct builder *b, u32 parent, u32 id, u32 *node)
{
	struct tree_node *n = arena__alloc(&b->t->arena, sizeof(*n));
	int err;

	if (!n || b->nodes.cnt == UINT32_MAX)
		return -ENOMEM;
	*node = b->nodes.cnt;
	if (b->nodes.cnt) {
		struct tree_node *p = b->nodes.v[parent];

		n->frame = b->identities.v[id].frame;
		n->kind = b->identities.v[id].kind;
		n->parent = p;
		n->next = p->child;
		n->depth = p->depth + 1;
		p->child = n;
		p->child_cnt++;
	}
	b->t->depth = MAX(b->t->depth, n->depth);
	err = vec__push(&b->nodes, n);
	return err;
}

static int node__child(struct builder *b, u32 *node, u32 id)
{
	u64 key = (u64)*node << 32 | id, known;
	int err;

	if (map__get(&b->children, key, &known)) {
		*node = known;
		return 0;
	}
	err = node__new(b, *node, id, node);
	return err ? err : map__put(&b->children, key, *node);
}

static void node__repeats(struct tree_node *n, u32 len)
{
	n->repeat_len = MAX(n->repeat_len, len);
}

static u64 block_count(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	switch (value) {
	case ALLOCSNOOP_LIVE_BYTES:
	case ALLOCSNOOP_LIVE_COUNT:
		return s->live_count;
	case ALLOCSNOOP_PEAK_BYTES:
		return s->peak_count;
	case ALLOCSNOOP_GROWN_BYTES:
		return s->grown_count > 0 ? (u64)s->grown_count : 0;
	case ALLOCSNOOP_TEMPORARY_COUNT:
		return s->temporary_count;
	default:
		return s->alloc_count;
	}
}

/* How many of the hits behind the row stand for its blocks of the value's kind. */
static u64 hit_count(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	unsigned __int128 part = (unsigned __int128)s->sampled_count * block_count(s, value);

	if (!s->alloc_count)
		return 0;
	return (u64)MIN(part / s->alloc_count, (unsigned __int128)s->sampled_count);
}

static int add_row(struct builder *b, const struct allocsnoop_sample *s)
{
	enum allocsnoop_value value = b->opts->value;
	u64 number = sample__value(s, value), base = sample__base(s, value);
	u64 blocks = block_count(s, value);
	struct tree_node *last;
	u32 node = 0;
	int err;

	if (!number && !base && !blocks) /* blocks of no bytes count, too */
		return 0;
	err = push_row(b, s);
	if (!err && b->opts->bottom_up)
		path__reverse(b->path.v, b->path.cnt);
	if (!err && b->opts->fold)
		path__fold(b);
	for (size_t i = 0; !err && i < b->path.cnt; i++) {
		err = node__child(b, &node, b->path.v[i].id);
		if (!err)
			node__repeats(b->nodes.v[node], b->path.v[i].repeat_len);
	}
	if (err)
		return err;
	last = b->nodes.v[node];
	last->self = sum__add(last->self, number);
	last->total = last->self;
	last->base = sum__add(last->base, base);
	last->moved = sum__add(last->moved, number > base ? number - base : base - number);
	last->blocks = sum__add(last->blocks, blocks);
	last->var += sample__variance(s, value);
	last->hits = sum__add(last->hits, hit_count(s, value));
	last->at_least |= s->at_least;
	return 0;
}

/* Children come after their parents in the list, so its end is where all is known already. */
static void sum_up(struct builder *b)
{
	for (size_t i = b->nodes.cnt; i > 1; i--) {
		const struct tree_node *n = b->nodes.v[i - 1];

		n->parent->total = sum__add(n->parent->total, n->total);
		n->parent->base = sum__add(n->parent->base, n->base);
		n->parent->moved = sum__add(n->parent->moved, n->moved);
		n->parent->blocks = sum__add(n->parent->blocks, n->blocks);
		n->parent->var += n->var;
		n->parent->hits = sum__add(n->parent->hits, n->hits);
		n->parent->at_least |= n->at_least;
	}
}

/* ---- order ---- */

u64 tree__weight(const struct allocsnoop_profile *p, const struct tree_node *node)
{
	return p->info.diff ? node->moved : node->total;
}

static int cmp_u64(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int cmp_frames(const struct allocsnoop_frame *a, const struct allocsnoop_frame *b)
{
	int diff = strcmp(a->function, b->function);

	if (!diff)
		diff = strcmp(a->module, b->module);
	if (!diff)
		diff = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	if (!diff)
		diff = cmp_u64(a->line, b->line);
	return diff ? diff : a->inlined - b->inlined;
}

static int cmp_nodes(const void *x, const void *y, void *arg)
{
	const struct allocsnoop_profile *p = arg;
	const struct tree_node *a = *(const struct tree_node *const *)x;
	const struct tree_node *b = *(const struct tree_node *const *)y;
	int diff = cmp_u64(tree__weight(p, b), tree__weight(p, a));

	if (!diff)
		diff = cmp_u64(b->total, a->total);
	if (!diff)
		diff = cmp_frames(a->frame, b->frame);
	return diff ? diff : (int)a->kind - (int)b->kind;
}

/* `room` has room for all of them. */
static void sort_children(struct tree_node *parent, struct tree_node **room,
			  const struct allocsnoop_profile *p)
{
	struct tree_node **end = &parent->child;
	size_t cnt = 0;

	for (struct tree_node *n = parent->child; n; n = n->next)
		room[cnt++] = n;
	qsort_r(room, cnt, sizeof(*room), cmp_nodes, (void *)p);
	for (size_t i = 0; i < cnt; i++) {
		*end = room[i];
		end = &room[i]->next;
	}
	*end = NULL;
}

static int sort_all(struct builder *b, const struct allocsnoop_profile *p)
{
	struct tree_node **room;
	u32 most = 0;

	for (size_t i = 0; i < b->nodes.cnt; i++)
		most = MAX(most, b->nodes.v[i]->child_cnt);
	room = calloc((size_t)most + 1, sizeof(struct tree_node *));
	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < b->nodes.cnt; i++) {
		if (b->nodes.v[i]->child_cnt > 1)
			sort_children(b->nodes.v[i], room, p);
	}
	free(room);
	return 0;
}

/* ---- the whole ---- */

int tree__init(struct tree *t, const struct allocsnoop_profile *p, const struct tree_opts *opts)
{
	struct builder b = { .t = t, .opts = opts };
	u32 root;
	int err;

	*t = (struct tree){ 0 };
	err = node__new(&b, 0, 0, &root);
	for (size_t i = 0; !err && i < p->samples.cnt; i++)
		err = add_row(&b, &p->samples.v[i]);
	if (!err) {
		sum_up(&b);
		err = sort_all(&b, p);
	}
	if (!err) {
		t->root = b.nodes.v[root];
		t->node_cnt = b.nodes.cnt;
	}
	vec__free(&b.identities);
	vec__free(&b.path);
	vec__free(&b.nodes);
	map__free(&b.by_hash);
	map__free(&b.by_frame);
	map__free(&b.children);
	str__free(&b.label);
	return err;
}

void tree__fini(struct tree *t)
{
	arena__free(&t->arena);
	*t = (struct tree){ 0 };
}

const struct tree_node *tree__next(const struct tree_node *node, bool below)
{
	if (below && node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}
