/* SPDX-License-Identifier: BSD-2-Clause */
/* Building, grouping and sorting profiles; sums are compared with a second, quadratic way. */
#include <math.h>

#include "check.h"
#include "live_profile.h"

static void test_end_names(void)
{
	for (int i = 0; i < ALLOCSNOOP_END_MAX; i++) {
		CHECK(allocsnoop__end_name(i) && *allocsnoop__end_name(i));
		for (int k = 0; k < i; k++)
			CHECK(strcmp(allocsnoop__end_name(i), allocsnoop__end_name(k)));
	}
	CHECK_STR(allocsnoop__end_name(ALLOCSNOOP_COMPLETE), "complete");
	CHECK_STR(allocsnoop__end_name(ALLOCSNOOP_NO_TABLE), "no-table");
	CHECK_STR(allocsnoop__end_name(12345), "unknown");
}

static void test_build(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	char comm[] = "gone";
	u64 bytes = TWO_63 + 1 + 4000 + 4096 + 100 + 90 + 80 + 1000 + 1000 + 12 + 11;

	CHECK_EQ(p->samples.cnt, 11);
	CHECK(p->info.alloc_bytes == bytes);
	CHECK_EQ(p->info.alloc_count, 25);
	CHECK_EQ(p->losses.cnt, 2);
	CHECK_STR(p->losses.v[0].name, "stack_not_stored");
	CHECK_EQ(p->losses.v[0].count, 7);
	add_row(p, 1, comm, 99, 1, UINT64_MAX, FRAMES(p->samples.v[0].frames[0]));
	memset(comm, 'x', sizeof(comm) - 1);
	CHECK_STR(p->samples.v[p->samples.cnt - 1].comm, "gone");
	profile__finish(p);
	CHECK(p->info.alloc_bytes == UINT64_MAX); /* not wrapped */
	CHECK_EQ(p->info.alloc_count, 26);
	profile__free(p);
	profile__free(NULL);
}

static void test_standard_error(void)
{
	struct allocsnoop_profile *p = sampled_profile(), *g;

	CHECK(fabs(p->info.alloc_count_se - sqrt(132 * 9900.0)) < 1e-9);
	g = profile__group(p, ALLOCSNOOP_BY_FILE);
	CHECK_EQ(g->samples.cnt, 1);
	CHECK_EQ(g->samples.v[0].sampled_count, 132);
	CHECK(g->samples.v[0].alloc_count_var == 132 * 9900.0);
	CHECK(g->info.alloc_count_se == p->info.alloc_count_se);
	profile__free(p);
	CHECK_STR(g->samples.v[0].frames[0]->module, "/opt/prog"); /* nothing shared with p */
	CHECK_STR(g->info.target, "prog (pid 7)");
	profile__free(g);
}

static const struct allocsnoop_sample *find(const struct allocsnoop_profile *p, const char *comm,
					    u64 stack_id, u32 pid)
{
	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		if (!strcmp(s->comm, comm) && s->stack_id == stack_id && s->pid == pid)
			return s;
	}
	return NULL;
}

static void test_by_stack(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct allocsnoop_profile *g = profile__group(p, ALLOCSNOOP_BY_STACK);
	const struct allocsnoop_sample *s = find(g, HOSTILE_COMM, 1, 0);

	CHECK_EQ(g->samples.cnt, 10);
	CHECK(s && s->alloc_bytes == TWO_63 + 4001 && s->alloc_count == 7 && s->pid_cnt == 2);
	CHECK(s && s->frame_cnt == 3 && s->size_low == 1000 && s->size_high == (TWO_63 + 1) / 3);
	s = find(g, "rec", 3, 12);
	CHECK(s && s->truncated && s->end == ALLOCSNOOP_TRUNCATED && s->pid_cnt == 1);
	profile__free(g);

	g = profile__group(p, ALLOCSNOOP_BY_PROCESS);
	CHECK_EQ(g->samples.cnt, 11);
	CHECK(find(g, HOSTILE_COMM, 1, 10) && find(g, HOSTILE_COMM, 1, 11));
	profile__free(g);

	g = profile__sum_processes(p);
	CHECK_EQ(g->samples.cnt, 5);
	s = find(g, "rec", 0, 14);
	CHECK(s && s->alloc_bytes == 1023 && !s->frame_cnt && !s->truncated);
	profile__free(g);
	profile__free(p);
}

/* Names decide, not places: calls from several places in one function are one row. */
static void test_call_offsets(void)
{
	static const enum allocsnoop_by views[] = { ALLOCSNOOP_BY_STACK, ALLOCSNOOP_BY_PROCESS };
	struct allocsnoop_profile *p = profile__new(), *g;
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc", 1);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/prog", 0x10);
	const struct allocsnoop_sample *s;

	add_row(p, 1, "x", 1, 2, 20, FRAMES(m, frame(p, "f", "/opt/prog", 0x100), root));
	add_row(p, 1, "x", 2, 1, 5, FRAMES(m, frame(p, "f", "/opt/prog", 0x120), root));
	add_row(p, 1, "x", 2, 1, 7,
		FRAMES(m, frame(p, "f", "/opt/prog", 0x120), frame(p, "main", "/opt/prog", 0x99)));
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		g = profile__group(p, views[i]);
		CHECK_EQ(g->samples.cnt, 1);
		s = &g->samples.v[0];
		CHECK_EQ(s->alloc_count, 4);
		CHECK_EQ(s->alloc_bytes, 32);
		CHECK_EQ(s->stack_id, 0); /* of neither stack */
		CHECK_EQ(s->frame_cnt, 3);
		CHECK_EQ(s->pid, 1);
		CHECK_EQ(s->pid_cnt, 1);
		CHECK_STR(s->frames[1]->function, "f");
		profile__free(g);
	}
	profile__free(p);
}

static struct allocsnoop_sample *add_place(struct allocsnoop_profile *p,
					   const struct allocsnoop_frame *leaf,
					   struct allocsnoop_frame place)
{
	struct allocsnoop_frame *f = (void *)frame(p, place.function, place.module, place.offset);

	f->file = place.file ? arena__intern(&p->arena, place.file) : NULL;
	f->line = place.line;
	f->inlined = place.inlined;
	return add_row(p, 1, "x", 7, 1, 1, FRAMES(leaf, f));
}

/* What a reader can see keeps two stacks apart; without a file he sees the address. */
static void test_stacks_apart(void)
{
	static const struct allocsnoop_frame places[] = {
		{ .function = "f", .module = "/opt/prog", .offset = 1 },
		{ .function = "g", .module = "/opt/prog", .offset = 1 },
		{ .function = "f", .module = "/opt/copy", .offset = 1 },
		{ .function = "f", .module = "/opt/prog", .offset = 1, .file = "a.c" },
		{ .function = "f", .module = "/opt/prog", .offset = 1, .file = "a.c", .line = 1 },
		{ .function = "f", .module = "/opt/prog", .offset = 1, .file = "a.c", .line = 2 },
		{ .function = "f", .module = "/opt/prog", .offset = 1, .file = "b.c", .line = 1 },
		{ .function = "f", .module = "/opt/prog", .offset = 1, .inlined = true },
		{ .function = "", .module = "", .offset = 0x7f0000001000 },
		{ .function = "", .module = "", .offset = 0x7f0000002000 },
	};
	struct allocsnoop_profile *p = profile__new(), *g;
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc", 1);
	const struct allocsnoop_frame *f = frame(p, "f", "/opt/prog", 1);
	size_t cnt = ARRAY_SIZE(places);

	for (size_t i = 0; i < 2 * cnt; i++)
		add_place(p, m, places[i % cnt]);
	end_row(add_place(p, m, places[0]), ALLOCSNOOP_TRUNCATED);
	add_place(p, m, places[0])->allocator = arena__intern(&p->arena, "calloc");
	add_place(p, m, places[0])->comm = arena__intern(&p->arena, "y");
	add_row(p, 1, "x", 7, 1, 1, FRAMES(m, f, f));
	add_row(p, 1, "x", 7, 1, 1, FRAMES(m));
	g = profile__group(p, ALLOCSNOOP_BY_STACK);
	CHECK_EQ(g->samples.cnt, cnt + 5);
	for (size_t i = 0; i < g->samples.cnt; i++)
		CHECK_EQ(g->samples.v[i].alloc_count, i < cnt ? 2 : 1);
	profile__free(g);
	profile__free(p);
}

/* The caller is the one behind operator new. */
static void test_by_function(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct allocsnoop_profile *g = profile__group(p, ALLOCSNOOP_BY_FUNCTION);
	const struct allocsnoop_sample *s;
	size_t found = 0, unknown = 0;

	for (size_t i = 0; i < g->samples.cnt; i++) {
		s = &g->samples.v[i];
		unknown += s->frame_cnt < 2;
		if (s->frame_cnt < 2 ||
		    strcmp(s->frames[1]->function, "std::vector<int>::push_back(int&&)"))
			continue;
		found++;
		if (!strcmp(s->allocator, "malloc")) {
			CHECK_EQ(s->alloc_bytes, 2000);
			CHECK_EQ(s->pid_cnt, 2);
			CHECK_EQ(s->frame_cnt, 2);
			CHECK_EQ(s->frames[1]->offset, 0);
			CHECK_EQ(s->frames[1]->line, 0);
		}
	}
	CHECK_EQ(found, 2);   /* malloc and the pool */
	CHECK_EQ(unknown, 1); /* the lost stack */
	profile__free(g);
	profile__free(p);
}

static void test_by_size(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct allocsnoop_profile *g = profile__group(p, ALLOCSNOOP_BY_SIZE);
	size_t found = 0;

	for (size_t i = 0; i < g->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &g->samples.v[i];

		if (s->size_low != 100)
			continue;
		found++; /* 1 x 100 and 10 x 100 */
		CHECK_EQ(s->size_high, 100);
		CHECK_EQ(s->alloc_count, 11);
		CHECK_EQ(s->frame_cnt, 0);
		CHECK(!s->truncated);
	}
	CHECK_EQ(found, 1);
	profile__free(g);
	profile__free(p);
}

static u64 random_u64(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* A frame of the n-th function, at some place in it. */
static const struct allocsnoop_frame *numbered(struct allocsnoop_profile *p, u64 n, u64 place)
{
	char name[32];

	snprintf(name, sizeof(name), "f%" PRIu64, n);
	return frame(p, name, "/opt/prog", place);
}

/* The stack id is the number of its only caller. */
static struct allocsnoop_profile *random_profile(size_t rows, u32 stacks)
{
	static const char *const comms[] = { "a", "b", "c" };
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc", 1);
	u64 seed = 1;

	for (size_t i = 0; i < rows; i++) {
		u64 id = random_u64(&seed) % stacks + 1;
		u32 pid = 1 + (u32)(random_u64(&seed) % 5);

		add_row(p, pid, comms[random_u64(&seed) % 3], id, 1 + random_u64(&seed) % 9,
			random_u64(&seed) % 1000, FRAMES(m, numbered(p, id, i)));
	}
	profile__finish(p);
	return p;
}

static void check_row(const struct allocsnoop_profile *p, const struct allocsnoop_sample *row)
{
	u64 bytes = 0, count = 0;
	u32 pids = 0;

	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		if (strcmp(s->comm, row->comm) || s->stack_id != row->stack_id)
			continue;
		bytes += s->alloc_bytes;
		count += s->alloc_count;
		pids |= 1u << s->pid;
	}
	CHECK_EQ(row->alloc_bytes, bytes);
	CHECK_EQ(row->alloc_count, count);
	CHECK_EQ(row->pid_cnt, __builtin_popcount(pids));
	CHECK_EQ(row->pid, row->pid_cnt == 1 ? __builtin_ctz(pids) : 0);
}

static void test_sums(void)
{
	struct allocsnoop_profile *p = random_profile(3000, 200);
	struct allocsnoop_profile *g = profile__group(p, ALLOCSNOOP_BY_STACK);

	for (size_t i = 0; i < g->samples.cnt; i++)
		check_row(p, &g->samples.v[i]);
	profile__finish(g);
	CHECK_EQ(g->info.alloc_bytes, p->info.alloc_bytes);
	CHECK_EQ(g->info.alloc_count, p->info.alloc_count);
	profile__free(g);
	profile__free(p);
}

/* ---- mode live ---- */

/* Every number of a row differs from every other, so that none can stand in for another. */
static struct allocsnoop_profile *random_live_profile(void)
{
	struct allocsnoop_profile *p = random_profile(400, 50);
	u64 seed = 2;

	for (size_t i = 0; i < p->samples.cnt; i++) {
		struct allocsnoop_sample *s = &p->samples.v[i];
		struct allocsnoop_lifetimes *l = arena__alloc(&p->arena, sizeof(*l));
		u64 *const numbers[] = {
			&s->live_count,	     &s->live_bytes,	  &s->freed_count,
			&s->freed_bytes,     &s->exit_count,	  &s->exit_bytes,
			&s->untracked_count, &s->untracked_bytes, &s->temporary_count,
			&s->peak_count,	     &s->peak_bytes,
		};

		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			*numbers[k] = random_u64(&seed) % 1000;
		s->grown_count = (s64)(random_u64(&seed) % 1000) - 500;
		s->grown_bytes = (s64)(random_u64(&seed) % 100000) - 50000;
		s->live_count_var = (double)(random_u64(&seed) % 1000);
		s->live_bytes_var = (double)(random_u64(&seed) % 1000);
		s->freed_mean_ns = (double)(random_u64(&seed) % 1000000);
		s->live_mean_ns = (double)(random_u64(&seed) % 1000000);
		s->collected = random_u64(&seed) % 4 == 0;
		for (size_t k = 0; k < ALLOCSNOOP_LIFE_CLASSES; k++) {
			l->freed[k] = random_u64(&seed) % 100;
			l->live[k] = random_u64(&seed) % 100;
		}
		s->lifetimes = l;
	}
	profile__finish(p);
	return p;
}

#define CHECK_SUM(member)                                                                   \
	do {                                                                                \
		double sum = 0;                                                             \
		for (size_t i = 0; i < p->samples.cnt; i++)                                 \
			sum += is_part(&p->samples.v[i], row) ? p->samples.v[i].member : 0; \
		CHECK((double)row->member == sum);                                          \
	} while (0)

static bool is_part(const struct allocsnoop_sample *s, const struct allocsnoop_sample *row)
{
	return !strcmp(s->comm, row->comm) && s->stack_id == row->stack_id &&
	       s->collected == row->collected;
}

static void check_live_sums(const struct allocsnoop_profile *p, const struct allocsnoop_sample *row)
{
	CHECK_SUM(live_count);
	CHECK_SUM(live_bytes);
	CHECK_SUM(live_count_var);
	CHECK_SUM(live_bytes_var);
	CHECK_SUM(freed_count);
	CHECK_SUM(freed_bytes);
	CHECK_SUM(exit_count);
	CHECK_SUM(exit_bytes);
	CHECK_SUM(untracked_count);
	CHECK_SUM(untracked_bytes);
	CHECK_SUM(temporary_count);
	CHECK_SUM(peak_count);
	CHECK_SUM(peak_bytes);
	CHECK_SUM(grown_count);
	CHECK_SUM(grown_bytes);
	for (size_t k = 0; k < ALLOCSNOOP_LIFE_CLASSES; k++) {
		CHECK_SUM(lifetimes->freed[k]);
		CHECK_SUM(lifetimes->live[k]);
	}
}

/* A mean lifetime is the sum of all lifetimes through the number of blocks. */
static void check_live_means(const struct allocsnoop_profile *p,
			     const struct allocsnoop_sample *row)
{
	double freed_ns = 0, live_ns = 0;

	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		if (!is_part(s, row))
			continue;
		freed_ns += s->freed_mean_ns * (double)s->freed_count;
		live_ns += s->live_mean_ns * (double)s->live_count;
	}
	CHECK(fabs(row->freed_mean_ns * (double)row->freed_count - freed_ns) <= freed_ns * 1e-9);
	CHECK(fabs(row->live_mean_ns * (double)row->live_count - live_ns) <= live_ns * 1e-9);
}

static void test_live_sums(void)
{
	struct allocsnoop_profile *p = random_live_profile();
	struct allocsnoop_profile *g = profile__group(p, ALLOCSNOOP_BY_STACK);
	double live_var = 0;
	s64 grown = 0;
	u64 exits = 0;

	for (size_t i = 0; i < g->samples.cnt; i++) {
		check_live_sums(p, &g->samples.v[i]);
		check_live_means(p, &g->samples.v[i]);
	}
	for (size_t i = 0; i < p->samples.cnt; i++) {
		exits += p->samples.v[i].exit_bytes;
		grown += p->samples.v[i].grown_bytes;
		live_var += p->samples.v[i].live_bytes_var;
	}
	CHECK_EQ(p->info.exit_bytes, exits);
	CHECK_EQ(p->info.grown_bytes, grown);
	CHECK(fabs(p->info.live_bytes_se - sqrt(live_var)) < 1e-9);
	CHECK(p->samples.v[0].lifetimes->freed[0] < 100); /* a view leaves the profile alone */
	exits = g->samples.v[0].lifetimes->freed[0];
	profile__free(p);
	CHECK_EQ(g->samples.v[0].lifetimes->freed[0], exits); /* nothing shared with p */
	profile__free(g);
}

/* Garbage collectors' blocks stay apart, whatever the rows are summed by. */
static void test_collected_apart(void)
{
	struct allocsnoop_profile *p = live_profile(), *g;

	for (int by = ALLOCSNOOP_BY_STACK; by <= ALLOCSNOOP_BY_SIZE + 1; by++) {
		size_t found = 0;

		g = by > ALLOCSNOOP_BY_SIZE ? profile__sum_processes(p) : profile__group(p, by);
		for (size_t i = 0; i < g->samples.cnt; i++) {
			if (!g->samples.v[i].collected)
				continue;
			found++;
			CHECK_EQ(g->samples.v[i].untracked_count, 5000);
			CHECK_EQ(g->samples.v[i].live_count, 0);
		}
		CHECK_EQ(found, 1);
		profile__free(g);
	}
	profile__free(p);
}

/* Means of nothing, and sums that reach the ends of 63 bits. */
static void test_live_ends(void)
{
	struct allocsnoop_sample to = { .freed_mean_ns = 7, .freed_count = 1 };
	struct allocsnoop_sample s = { .live_count = UINT64_MAX,
				       .live_mean_ns = 5,
				       .grown_bytes = INT64_MIN,
				       .grown_count = INT64_MAX };

	sample__add(&to, &s);
	CHECK(to.freed_mean_ns == 7 && to.live_mean_ns == 5);
	sample__add(&to, &s);
	CHECK(to.live_mean_ns == 5);
	CHECK(to.grown_bytes == INT64_MIN && to.grown_count == INT64_MAX);
	CHECK(to.live_count == UINT64_MAX);
	CHECK_EQ(sample__value(&to, ALLOCSNOOP_GROWN_BYTES), 0); /* what shrank */
}

static u64 untracked(const struct allocsnoop_sample *s, const void *arg)
{
	CHECK(!strcmp(arg, "arg"));
	return s->untracked_count;
}

static void test_rank(void)
{
	struct allocsnoop_profile *p = live_profile();
	const struct allocsnoop_process **processes;
	const struct allocsnoop_sample **rows;
	size_t cnt;

	CHECK_EQ(profile__rank(p, untracked, "arg", &rows, &cnt), 0);
	CHECK_EQ(cnt, 2);
	CHECK_EQ(rows[0]->untracked_count, 5000);
	CHECK_EQ(rows[1]->untracked_count, 7);
	free(rows);
	p->samples.v[2].untracked_count = 7; /* ties stay in the profile's order */
	CHECK_EQ(profile__rank(p, untracked, "arg", &rows, &cnt), 0);
	CHECK(cnt == 3 && rows[1] == &p->samples.v[2] && rows[2] == &p->samples.v[5]);
	free(rows);
	CHECK_EQ(profile__rank_processes(p, &processes, &cnt), 0);
	CHECK_EQ(cnt, 4); /* not the idle one */
	CHECK(processes[0]->pid == 20 && processes[1]->pid == 21 && processes[3]->pid == 22);
	free(processes);
	profile__free(p);
}

/* Enough rows that a quadratic way of grouping would be felt. */
static void test_many(void)
{
	struct allocsnoop_profile *p = profile__new(), *g;
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc", 1);

	for (u64 i = 0; i < 200000; i++)
		add_row(p, 1, "x", i, 1, i, FRAMES(m, numbered(p, i % 100000, i)));
	g = profile__group(p, ALLOCSNOOP_BY_STACK);
	CHECK_EQ(g->samples.cnt, 100000);
	profile__sort(g, ALLOCSNOOP_ALLOC_BYTES);
	CHECK_EQ(g->samples.v[0].alloc_bytes, 99999 + 199999);
	CHECK_EQ(g->samples.v[99999].alloc_bytes, 100000);
	profile__free(g);
	profile__free(p);
}

static void test_sort(void)
{
	struct allocsnoop_profile *p = random_live_profile();

	for (int value = ALLOCSNOOP_ALLOC_BYTES; value <= ALLOCSNOOP_TEMPORARY_COUNT; value++) {
		profile__sort(p, value);
		for (size_t i = 1; i < p->samples.cnt; i++)
			CHECK(sample__value(&p->samples.v[i - 1], value) >=
			      sample__value(&p->samples.v[i], value));
	}
	profile__free(p);
}

/* Rows of equal value come in the order of their names, however they came in. */
static void test_sort_ties(void)
{
	static const char *const names[] = { "c", "a", "d", "b" };
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc", 1);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_row(p, 1, "x", i, 1, 10, FRAMES(m, frame(p, names[i], "", 0)));
	add_row(p, 1, "x", 9, 5, 10, FRAMES(m));
	profile__sort(p, ALLOCSNOOP_ALLOC_BYTES);
	CHECK_EQ(p->samples.v[0].alloc_count, 5);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK_EQ(p->samples.v[1 + i].frames[1]->function[0], 'a' + (char)i);
	profile__free(p);
}

/* Rows of one recording share their lists of frames: one that is a part of another is a stack of
 * its own, and a shared list whose walk ended in another way is another row. */
static void test_shared_lists(void)
{
	struct allocsnoop_profile *p = profile__new(), *g;
	const struct allocsnoop_frame *m = frame(p, "malloc", "/lib/libc.so", 1);
	struct allocsnoop_sample *s;

	add_row(p, 1, "a", 1, 1, 10, FRAMES(m, frame(p, "f", "/bin/a", 2), m));
	for (u32 i = 0; i < 3; i++) {
		struct allocsnoop_sample copy = p->samples.v[0];

		copy.pid = 2 + i;
		copy.frame_cnt -= i == 1;
		copy.end = i == 2 ? ALLOCSNOOP_GAP : ALLOCSNOOP_COMPLETE;
		CHECK(!profile__add_sample(p, &copy));
	}
	g = profile__group(p, ALLOCSNOOP_BY_STACK);
	CHECK_EQ(g->samples.cnt, 3);
	s = g->samples.v;
	CHECK(s[0].alloc_count == 2 && s[0].pid_cnt == 2 && s[0].frame_cnt == 3);
	CHECK(s[1].alloc_count == 1 && s[1].frame_cnt == 2);
	CHECK(s[2].alloc_count == 1 && s[2].frame_cnt == 3 && s[2].end == ALLOCSNOOP_GAP);
	profile__free(p);
	CHECK_STR(s[0].frames[1]->function, "f"); /* nothing shared with p */
	CHECK_STR(s[1].frames[0]->function, "malloc");
	profile__free(g);
}

int main(void)
{
	test_shared_lists();
	test_end_names();
	test_build();
	test_standard_error();
	test_by_stack();
	test_call_offsets();
	test_stacks_apart();
	test_by_function();
	test_by_size();
	test_sums();
	test_live_sums();
	test_collected_apart();
	test_live_ends();
	test_rank();
	test_many();
	test_sort();
	test_sort_ties();
	return check__done();
}
