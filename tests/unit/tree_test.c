/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of calls: what it sums, how it is ordered, and that its size and time are linear. */
#include <time.h>

#include "check.h"
#include "live_profile.h"
#include "profile/tree.h"

/* "main 10/3 [a 7/7, b ...]": the tree as a line; the root has no name. */
static void print_tree(const struct tree *t, FILE *out)
{
	const struct tree_node *n = t->root;
	u32 depth = 0;

	fprintf(out, "%" PRIu64, n->total);
	for (n = tree__next(n, true); n; n = tree__next(n, true)) {
		bool opens = n->depth > depth;

		for (; depth > n->depth; depth--)
			fputc(']', out);
		fprintf(out, "%s%s %" PRIu64, opens ? " [" : ", ", n->frame->function, n->total);
		if (n->self && n->child)
			fprintf(out, "/%" PRIu64, n->self);
		depth = n->depth;
	}
	for (; depth; depth--)
		fputc(']', out);
}

static void check_tree(const struct allocsnoop_profile *p, struct tree_opts opts, const char *want)
{
	struct tree t;
	char *got;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	CHECK_EQ(tree__init(&t, p, &opts), 0);
	print_tree(&t, out);
	fclose(out);
	CHECK_STR(got, want);
	free(got);
	tree__fini(&t);
}

static struct allocsnoop_profile *small_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	const struct allocsnoop_frame *a = frame(p, "a", "prog", 2), *b = frame(p, "b", "prog", 3);
	const struct allocsnoop_frame *again = frame(p, "b", "prog", 33);
	const struct allocsnoop_frame *other = frame(p, "b", "lib", 3);
	const struct allocsnoop_frame *main_frame = frame(p, "main", "prog", 4);

	add_row(p, 7, "prog", 1, 1, 10, FRAMES(m, a, main_frame));
	add_row(p, 7, "prog", 2, 2, 20, FRAMES(m, b, main_frame));
	add_row(p, 7, "prog", 3, 3, 5, FRAMES(m, again, main_frame)); /* another call in b */
	add_row(p, 8, "prog", 4, 4, 7, FRAMES(m, other, main_frame)); /* another file's b */
	add_row(p, 8, "prog", 5, 5, 3, FRAMES(a, main_frame)); /* a is the allocator itself */
	add_row(p, 8, "prog", 6, 0, 0, FRAMES(m, a));	       /* nothing */
	profile__finish(p);
	return p;
}

static void test_small(void)
{
	struct allocsnoop_profile *p = small_profile();

	check_tree(p, (struct tree_opts){ 0 },
		   "45 [main 45 [b 25 [malloc 25], a 13/3 [malloc 10], b 7 [malloc 7]]]");
	check_tree(p, (struct tree_opts){ .bottom_up = true },
		   "45 [malloc 42 [b 25 [main 25], a 10 [main 10], b 7 [main 7]], a 3 [main 3]]");
	check_tree(p, (struct tree_opts){ .value = ALLOCSNOOP_ALLOC_COUNT },
		   "15 [main 15 [a 6/5 [malloc 1], b 5 [malloc 5], b 4 [malloc 4]]]");
	check_tree(p, (struct tree_opts){ .value = ALLOCSNOOP_LIVE_BYTES }, "0");
	check_tree(p, (struct tree_opts){ .processes = true, .by = ALLOCSNOOP_BY_PROCESS },
		   "45 [prog (pid 7) 35 [main 35 [b 25 [malloc 25], a 10 [malloc 10]]], "
		   "prog (pid 8) 10 [main 10 [b 7 [malloc 7], a 3]]]");
	profile__free(p);
}

/* Ends of stacks and stacks that were lost have their places, at the root's end. */
static void test_ends(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	const struct allocsnoop_frame *r = frame(p, "rec", "prog", 2);

	end_row(add_row(p, 1, "x", 1, 1, 8, FRAMES(m, r, r)), ALLOCSNOOP_TRUNCATED);
	end_row(add_row(p, 1, "x", 0, 1, 4, FRAMES(NULL)), ALLOCSNOOP_LOST);
	add_row(p, 1, "x", 2, 1, 1, FRAMES(m, r, r));
	profile__finish(p);
	check_tree(p, (struct tree_opts){ 0 },
		   "13 [[truncated] 8 [rec 8 [rec 8 [malloc 8]]], [lost] 4 [malloc 4], "
		   "rec 1 [rec 1 [malloc 1]]]");
	check_tree(p, (struct tree_opts){ .bottom_up = true, .processes = true },
		   "13 [malloc 9 [rec 9 [rec 9 [[truncated] 8 [x 8], x 1]]], "
		   "malloc 4 [[lost] 4 [x 4]]]");
	profile__free(p);
}

/* Recursion of whatever depth is one, also where functions take turns, and its turns turn. */
static void test_fold(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	const struct allocsnoop_frame *a = frame(p, "a", "prog", 2), *b = frame(p, "b", "prog", 3);
	const struct allocsnoop_frame *r = frame(p, "r", "prog", 4);
	struct tree t;

	add_row(p, 1, "x", 1, 1, 1, FRAMES(m, r));
	add_row(p, 1, "x", 2, 1, 2, FRAMES(m, r, r, r));
	add_row(p, 1, "x", 3, 1, 4, FRAMES(m, b, a));
	add_row(p, 1, "x", 4, 1, 8, FRAMES(m, b, a, b, a));
	add_row(p, 1, "x", 5, 1, 16, FRAMES(m, b, a, a, b, a, b, a, a));
	check_tree(p, (struct tree_opts){ .fold = true },
		   "31 [a 28 [b 28 [malloc 28]], r 3 [malloc 3]]");
	check_tree(p, (struct tree_opts){ .fold = true, .bottom_up = true },
		   "31 [malloc 31 [b 28 [a 28], r 3]]");
	CHECK_EQ(tree__init(&t, p, &(struct tree_opts){ .fold = true }), 0);
	CHECK_EQ(t.root->child->child->repeat_len, 2);
	CHECK_EQ(t.root->child->next->repeat_len, 1);
	CHECK_EQ(t.root->child->child->child->repeat_len, 0);
	tree__fini(&t);
	profile__free(p);
}

/* Equal values: by name, whatever the rows' order. */
static void test_order(void)
{
	static const char *const names[] = { "c", "a", "e", "b", "d" };
	struct allocsnoop_profile *p = profile__new();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_row(p, 1, "x", i + 1, 1, 4, FRAMES(frame(p, names[i], "prog", i)));
	check_tree(p, (struct tree_opts){ 0 }, "20 [a 4, b 4, c 4, d 4, e 4]");
	profile__free(p);
}

/* Lines tell calls in one function apart, and an inlined copy isn't the function. */
static void test_lines(void)
{
	struct allocsnoop_profile *p = profile__new();
	struct allocsnoop_frame f[4] = {
		{ .function = "f", .module = "prog", .file = "a.c", .line = 1 },
		{ .function = "f", .module = "prog", .file = "a.c", .line = 2 },
		{ .function = "f", .module = "prog", .file = "a.c", .line = 2, .inlined = true },
		{ .function = "f", .module = "prog", .file = strdup("a.c"), .line = 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		add_row(p, 1, "x", i + 1, 1, 8 >> i, FRAMES(&f[i]));
	check_tree(p, (struct tree_opts){ 0 }, "15 [f 8, f 5, f 2]");
	free((char *)f[3].file);
	profile__free(p);
}

static void test_sums(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	struct allocsnoop_sample *s;
	struct tree t;

	s = add_row(p, 1, "x", 1, 2, UINT64_MAX, FRAMES(m));
	s->alloc_bytes_var = 2;
	s = add_row(p, 1, "x", 1, 3, UINT64_MAX, FRAMES(m));
	s->alloc_bytes_var = 3;
	s = add_row(p, 1, "x", 1, 0, 0, FRAMES(m, m)); /* gone since */
	s->base_alloc_bytes = 9;
	CHECK_EQ(tree__init(&t, p, &(struct tree_opts){ 0 }), 0);
	CHECK(t.root->total == UINT64_MAX && t.root->child->total == UINT64_MAX);
	CHECK(t.root->var == 5 && t.root->child->child->var == 0);
	CHECK_EQ(t.root->blocks, 5);
	CHECK_EQ(t.root->base, 9);
	CHECK_EQ(t.root->child->child->base, 9);
	CHECK_EQ(t.node_cnt, 3);
	CHECK_EQ(t.depth, 2);
	tree__fini(&t);
	profile__free(p);
	p = profile__new();
	check_tree(p, (struct tree_opts){ .processes = true }, "0");
	profile__free(p);
}

/* Both trees hold all of a hostile profile. */
/* Blocks of no bytes are blocks. */
static void test_no_bytes(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	const struct allocsnoop_frame *a = frame(p, "a", "prog", 2), *b = frame(p, "b", "prog", 3);
	struct tree t;

	add_row(p, 7, "prog", 1, 1, 10, FRAMES(m, a));
	add_row(p, 7, "prog", 2, 4, 0, FRAMES(m, b));
	profile__finish(p);
	check_tree(p, (struct tree_opts){ 0 }, "10 [a 10 [malloc 10], b 0 [malloc 0]]");
	CHECK_EQ(tree__init(&t, p, &(struct tree_opts){ 0 }), 0);
	CHECK_EQ(t.root->blocks, 5);
	tree__fini(&t);
	profile__free(p);
}

static void test_hostile(void)
{
	struct allocsnoop_profile *p = hostile_profile();

	for (int bottom_up = 0; bottom_up < 2; bottom_up++) {
		struct tree_opts opts = { .bottom_up = bottom_up, .processes = true };
		struct tree t;
		u64 self = 0;

		CHECK_EQ(tree__init(&t, p, &opts), 0);
		for (const struct tree_node *n = t.root; n; n = tree__next(n, true)) {
			u64 below = n->self;

			for (const struct tree_node *c = n->child; c; c = c->next)
				below += c->total;
			CHECK(below == n->total);
			self += n->self;
		}
		CHECK(self == p->info.alloc_bytes);
		tree__fini(&t);
	}
	profile__free(p);
}

#define MANY  200000
#define DEPTH 20

/* As a large recording: many stacks of few functions, and one as deep as can be. */
static void test_many(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *f[1000], *stack[1001] = { 0 };
	struct timespec from, to;
	struct tree t;
	u32 seed = 1;
	double s;

	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		char name[32];

		snprintf(name, sizeof(name), "function_%zu", i);
		f[i] = frame(p, name, "/usr/bin/prog", i);
	}
	for (size_t i = 0; i < MANY; i++) {
		for (size_t d = 0; d < DEPTH; d++) {
			seed = seed * 1103515245 + 12345;
			stack[d] = f[(seed >> 16) % (4 << (DEPTH - d) / 3)];
		}
		stack[DEPTH] = NULL;
		add_row(p, 1, "x", i, 1, i, stack);
	}
	memcpy(stack, f, sizeof(f));
	add_row(p, 1, "x", MANY, 1, 1, stack);
	profile__finish(p);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	CHECK_EQ(tree__init(&t, p, &(struct tree_opts){ .fold = true }), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	CHECK(t.root->total == p->info.alloc_bytes);
	CHECK_EQ(t.depth, 1000);
	s = (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9;
	printf("%d stacks of %d frames: %zu nodes, %.2f s, %zu bytes\n", MANY, DEPTH, t.node_cnt, s,
	       t.arena.used);
	CHECK(s < 20); /* with sanitizers, on a busy machine */
	tree__fini(&t);
	profile__free(p);
}

int main(void)
{
	test_small();
	test_ends();
	test_order();
	test_fold();
	test_lines();
	test_sums();
	test_no_bytes();
	test_hostile();
	test_many();
	return check__done();
}
