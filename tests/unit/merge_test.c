/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of profiles: every number to the unit, and nobody's rows under another's name. */
#include <errno.h>
#include <math.h>

#include "base/err.h"
#include "check.h"
#include "live_profile.h"

#define MACHINES 50

static struct allocsnoop_profile *merge(struct allocsnoop_profile *const *profiles, size_t cnt)
{
	struct allocsnoop_profile *sum = NULL;

	CHECK_EQ(allocsnoop_profile__merge((const struct allocsnoop_profile *const *)profiles, cnt,
					   &sum),
		 0);
	CHECK(sum);
	return sum;
}

/* nginx has the same id everywhere, sh is nobody else's; they call the same function. */
static struct allocsnoop_profile *machine(u32 i)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	const struct allocsnoop_frame *f = frame(p, "fill", "/opt/prog", 2);
	struct allocsnoop_process *proc;
	struct allocsnoop_sample *s;
	struct allocsnoop_lifetimes *l = arena__alloc(&p->arena, sizeof(*l));

	l->freed[3] = i;
	s = add_row(p, 12, "nginx", 1, i + 1, 1000 * i + 7, FRAMES(m, f));
	s->size_low = 16;
	s->size_high = 31;
	s->live_count = i;
	s->live_bytes = 10 * i;
	s->freed_count = 1;
	s->lifetimes = l;
	s->peak_bytes = i;
	s->grown_bytes = -5;
	s = add_row(p, 1000 + i, "sh", 1, 2, 40, FRAMES(m, f));
	s->size_low = 16;
	s->size_high = 31;
	proc = add_process(p, 12, "nginx", "/opt/prog");
	proc->peak_bytes = i;
	proc->alloc_bytes = 1000 * i + 7;
	add_process(p, 1000 + i, "sh", "/bin/sh");
	must(profile__add_loss(p, "late_attach", "late", i));
	must(vec__push(&p->points, (struct allocsnoop_point){ 0 }));
	p->info.mode = "live";
	p->info.target = "every process";
	p->info.duration_ns = 1000 + i;
	p->info.started_ns = 5000 - i;
	p->info.events = 3 + i;
	p->info.failed_count = 1;
	p->info.unknown_frees = 2;
	p->info.grown = true;
	profile__finish(p);
	return p;
}

static const struct allocsnoop_sample *row_of(const struct allocsnoop_profile *p, const char *comm)
{
	for (size_t i = 0; i < p->samples.cnt; i++) {
		if (!strcmp(p->samples.v[i].comm, comm))
			return &p->samples.v[i];
	}
	abort();
}

static void test_sum(void)
{
	struct allocsnoop_profile *ps[MACHINES], *sum, *g;
	const u64 series = MACHINES * (MACHINES - 1) / 2; /* 0 + 1 + ... */
	const struct allocsnoop_sample *s;

	for (u32 i = 0; i < MACHINES; i++)
		ps[i] = machine(i);
	sum = merge(ps, MACHINES);
	for (u32 i = 0; i < MACHINES; i++)
		profile__free(ps[i]);
	CHECK_EQ(sum->info.alloc_bytes, 1000 * series + 7 * MACHINES + 40 * MACHINES);
	CHECK_EQ(sum->info.alloc_count, series + MACHINES + 2 * MACHINES);
	CHECK_EQ(sum->info.live_bytes, 10 * series);
	CHECK_EQ(sum->info.freed_count, MACHINES);
	CHECK_EQ(sum->info.grown_bytes, -5 * MACHINES);
	CHECK(sum->info.grown && sum->info.exact);
	CHECK_EQ(sum->info.events, series + 3 * MACHINES);
	CHECK_EQ(sum->info.failed_count, MACHINES);
	CHECK_EQ(sum->info.unknown_frees, 2 * MACHINES);
	CHECK_EQ(sum->info.duration_ns, 1000 + MACHINES - 1);
	CHECK_EQ(sum->info.started_ns, 5000 - MACHINES + 1);
	CHECK_STR(sum->info.target, "every process");
	CHECK_EQ(sum->losses.cnt, 1);
	CHECK_EQ(sum->losses.v[0].count, series);
	CHECK_EQ(sum->points.cnt, 0);
	CHECK_EQ(sum->processes.cnt, 2 * MACHINES);
	CHECK_EQ(sum->processes.v[98].pid, 12);
	CHECK_EQ(sum->processes.v[98].peak_bytes, 49);

	CHECK_EQ(sum->samples.cnt, 1 + MACHINES);
	s = row_of(sum, "nginx");
	CHECK_EQ(s->pid, 0);
	CHECK_EQ(s->pid_cnt, MACHINES);
	CHECK_EQ(s->alloc_bytes, 1000 * series + 7 * MACHINES);
	CHECK_EQ(s->peak_bytes, series);
	CHECK_EQ(s->lifetimes->freed[3], series);
	CHECK_EQ(row_of(sum, "sh")->pid, 1000);
	CHECK_EQ(row_of(sum, "sh")->pid_cnt, 1);

	g = profile__group(sum, ALLOCSNOOP_BY_STACK);
	CHECK_EQ(g->samples.cnt, 2);
	CHECK_EQ(row_of(g, "sh")->pid_cnt, MACHINES);
	CHECK_EQ(row_of(g, "nginx")->pid_cnt, MACHINES);
	profile__free(g);
	profile__free(sum);
}

/* Sums of sums are the sum. */
static void test_again(void)
{
	struct allocsnoop_profile *ps[3] = { machine(1), machine(2), machine(3) }, *two, *all;
	struct allocsnoop_profile *again[2];

	two = merge(ps, 2);
	again[0] = two;
	again[1] = ps[2];
	all = merge(again, 2);
	CHECK_EQ(all->info.alloc_bytes, 6000 + 21 + 120);
	CHECK_EQ(row_of(all, "nginx")->alloc_bytes, 6021);
	CHECK_EQ(row_of(all, "nginx")->pid_cnt, 3);
	CHECK_EQ(all->samples.cnt, 4);
	CHECK_EQ(all->info.profile_cnt, 3);
	profile__free(all);
	profile__free(two);
	for (size_t i = 0; i < 3; i++)
		profile__free(ps[i]);
}

/* Whichever comes first: the same rows. */
static void test_any_order(void)
{
	struct allocsnoop_profile *ps[3] = { machine(1), machine(2), machine(3) }, *sums[2];

	ps[1]->samples.v[0].pid = 13; /* nobody else's */
	ps[1]->processes.v[0].pid = 13;
	for (u32 i = 0; i < 2; i++) {
		struct allocsnoop_profile *part[2] = { ps[i ? 2 : 0], ps[1] }, *all[2];

		all[0] = merge(part, 2);
		all[1] = ps[i ? 0 : 2];
		sums[i] = merge(all, 2);
		profile__free(all[0]);
		profile__sort(sums[i], ALLOCSNOOP_ALLOC_BYTES);
	}
	CHECK_EQ(sums[0]->samples.cnt, 5); /* nginx of two, and of one; three sh */
	CHECK_EQ(sums[1]->samples.cnt, 5);
	for (size_t i = 0; i < MIN(sums[0]->samples.cnt, sums[1]->samples.cnt); i++) {
		const struct allocsnoop_sample *a = &sums[0]->samples.v[i];
		const struct allocsnoop_sample *b = &sums[1]->samples.v[i];

		CHECK_STR(a->comm, b->comm);
		CHECK_EQ(a->pid_cnt, b->pid_cnt);
		CHECK_EQ(a->alloc_bytes, b->alloc_bytes);
		CHECK_EQ(a->live_bytes, b->live_bytes);
	}
	for (size_t i = 0; i < 3; i++)
		profile__free(ps[i]);
	profile__free(sums[0]);
	profile__free(sums[1]);
}

/* One profile is its own sum. */
static void test_one(void)
{
	struct allocsnoop_profile *ps[] = { hostile_profile(), live_profile(), sampled_profile(),
					    crowd_profile(false), machine(4) };

	for (size_t i = 0; i < ARRAY_SIZE(ps); i++) {
		struct allocsnoop_profile *p = ps[i], *sum = merge(&p, 1);

		CHECK_EQ(sum->samples.cnt, p->samples.cnt);
		CHECK_EQ(sum->processes.cnt, p->processes.cnt);
		CHECK_EQ(sum->losses.cnt, p->losses.cnt);
		CHECK_EQ(sum->points.cnt, p->points.cnt);
		CHECK_EQ(sum->info.alloc_bytes, p->info.alloc_bytes);
		CHECK(sum->info.alloc_bytes_se == p->info.alloc_bytes_se);
		CHECK_STR(sum->info.target, p->info.target);
		for (size_t k = 0; k < MIN(p->samples.cnt, sum->samples.cnt); k++) {
			const struct allocsnoop_sample *a = &p->samples.v[k];
			const struct allocsnoop_sample *b = &sum->samples.v[k];

			CHECK_EQ(a->pid, b->pid);
			CHECK_EQ(a->stack_id, b->stack_id);
			CHECK_EQ(a->alloc_bytes, b->alloc_bytes);
			CHECK_EQ(a->frame_cnt, b->frame_cnt);
			CHECK_EQ(a->live_bytes, b->live_bytes);
			CHECK(!a->frame_cnt || a->frames[0]->offset == b->frames[0]->offset);
		}
		profile__free(sum);
		profile__free(p);
	}
}

/* Twice the hostile one: sums at the end of 64 bits stay there. */
static void test_hostile(void)
{
	struct allocsnoop_profile *ps[] = { hostile_profile(), hostile_profile() }, *sum;

	sum = merge(ps, 2);
	CHECK_EQ(sum->info.alloc_bytes, UINT64_MAX);
	CHECK_EQ(sum->samples.cnt, ps[0]->samples.cnt); /* each met its double */
	CHECK_EQ(sum->losses.v[1].count, UINT64_MAX);
	CHECK_STR(sum->info.target, "every\x1b process");
	profile__free(sum);
	profile__free(ps[0]);
	profile__free(ps[1]);
}

/* What only the frames' places tell apart stays apart. */
static void test_builds(void)
{
	struct allocsnoop_profile *ps[2], *sum;

	for (size_t i = 0; i < 2; i++) {
		struct allocsnoop_frame *f;

		ps[i] = profile__new();
		f = (void *)frame(ps[i], "f", "/opt/prog", 1);
		f->build_id = i ? "aa" : "bb";
		add_row(ps[i], 1, "x", 1, 1, 5, FRAMES(f));
		add_row(ps[i], 1, "x", 2, 1, 5, FRAMES(frame(ps[i], "f", "/opt/prog", 2)));
		add_row(ps[i], 1, "x", 3, 1, 5, FRAMES(frame(ps[i], "f", "/opt/prog", 3)));
	}
	sum = merge(ps, 2);
	CHECK_EQ(sum->samples.cnt, 4);
	CHECK(sum->samples.v[1].frames[0] != sum->samples.v[2].frames[0]);
	profile__free(sum);
	profile__free(ps[0]);
	profile__free(ps[1]);
}

static void test_sampled(void)
{
	struct allocsnoop_profile *ps[] = { sampled_profile(), sampled_profile() }, *sum;

	sum = merge(ps, 2);
	CHECK(!sum->info.exact && sum->info.sampling == ALLOCSNOOP_RATE);
	CHECK(sum->info.sampling_value == 0.01);
	CHECK_EQ(sum->info.alloc_count, 2 * 13200);
	CHECK_EQ(sum->samples.v[0].alloc_count_var, 2 * 123 * 9900.0);
	CHECK(fabs(sum->info.alloc_count_se - M_SQRT2 * ps[0]->info.alloc_count_se) < 1e-6);
	profile__free(sum);

	/* An exact one and one of windows: a mixture. */
	ps[0]->info.exact = true;
	ps[0]->info.sampling = ALLOCSNOOP_ALL;
	ps[1]->info.budget_pct = 5;
	ps[1]->info.coverage = 0.5;
	ps[1]->info.windows = 10;
	ps[1]->info.window_ns = 5e6;
	ps[1]->info.at_least = true;
	sum = merge(ps, 2);
	CHECK(!sum->info.exact && sum->info.sampling == ALLOCSNOOP_ALL);
	CHECK(sum->info.budget_pct == 5 && sum->info.coverage == -1 && sum->info.at_least);
	CHECK(sum->info.windows == 10 && sum->info.window_ns == 5e6);
	profile__free(sum);
	profile__free(ps[0]);
	profile__free(ps[1]);
}

static void check_target(struct allocsnoop_profile **ps, size_t cnt, const char *target)
{
	struct allocsnoop_profile *sum = merge(ps, cnt);

	CHECK_STR(sum->info.target, target);
	CHECK_EQ(sum->info.profile_cnt, cnt > 1 ? cnt : 0);
	profile__free(sum);
}

/* Once each, up to a length. */
static void test_targets(void)
{
	char long_name[121];
	struct allocsnoop_profile *ps[5];

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (u32 i = 0; i < ARRAY_SIZE(ps); i++)
		ps[i] = machine(i);
	check_target(ps, 1, "every process");
	check_target(ps, 4, "every process");
	ps[1]->info.target = "nginx";
	ps[2]->info.target = "";
	check_target(ps, 4, "every process, nginx");
	ps[0]->info.target = "";
	check_target(ps, 3, "nginx");
	ps[2]->info.target = long_name;
	strcpy(long_name + 1, ", "); /* hostile: looks like two */
	check_target(ps, 3, "nginx, x, ");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ps[4]->info.target = "unseen";
	{
		struct allocsnoop_profile *sum = merge(ps, 5);

		CHECK(!strncmp(sum->info.target, "nginx, xxx", 10));
		CHECK(strstr(sum->info.target, "xxx, ...") && !strstr(sum->info.target, "unseen"));
		profile__free(sum);
	}
	for (u32 i = 0; i < ARRAY_SIZE(ps); i++)
		profile__free(ps[i]);
}

/* However often sums are summed: nothing is listed twice, and the list ends once. */
static void test_targets_again(void)
{
	static const char *const targets[] = { "a", "b", "b", "c", "c", "a" };
	struct allocsnoop_profile *ps[6], *two[3], *all[2], *sum;

	for (u32 i = 0; i < ARRAY_SIZE(ps); i++) {
		ps[i] = machine(i);
		ps[i]->info.target = targets[i];
	}
	for (u32 i = 0; i < ARRAY_SIZE(two); i++)
		two[i] = merge(ps + 2 * i, 2);
	all[0] = merge(two, 3);
	all[1] = ps[1];
	sum = merge(all, 2);
	CHECK_STR(all[0]->info.target, "a, b, c");
	CHECK_STR(sum->info.target, "a, b, c");
	profile__free(sum);
	profile__free(all[0]);
	for (u32 i = 0; i < ARRAY_SIZE(two); i++)
		profile__free(two[i]);

	for (u32 i = 0; i < ARRAY_SIZE(ps); i++) {
		char name[80] = { 0 };

		memset(name, 'a' + (int)i, sizeof(name) - 1);
		ps[i]->info.target = arena__intern(&ps[i]->arena, name);
	}
	for (u32 i = 0; i < ARRAY_SIZE(two); i++)
		two[i] = merge(ps + 2 * i, 2);
	sum = merge(two, 3);
	CHECK(strstr(sum->info.target, "a, bb") && strstr(sum->info.target, "b, ..."));
	CHECK(sum->info.target && !strstr(sum->info.target, "..., ..."));
	profile__free(sum);
	for (u32 i = 0; i < ARRAY_SIZE(two); i++)
		profile__free(two[i]);
	for (u32 i = 0; i < ARRAY_SIZE(ps); i++)
		profile__free(ps[i]);
}

/* What only some of them know is told of none. */
static void test_mixtures(void)
{
	struct allocsnoop_profile *ps[2] = { machine(1), machine(2) }, *sum;

	ps[1]->info.old_ns = 5;
	ps[1]->info.grown = false;
	ps[1]->samples.v[0].old_bytes = 7;
	sum = merge(ps, 2);
	CHECK_EQ(sum->info.old_ns, 0);
	CHECK_EQ(sum->samples.v[0].old_bytes, 0);
	CHECK(!sum->info.grown && !sum->info.grown_bytes && !sum->samples.v[0].grown_bytes);
	profile__free(sum);
	profile__free(ps[0]);
	profile__free(ps[1]);
}

static void test_refused(void)
{
	struct allocsnoop_profile *ps[] = { hostile_profile(), live_profile() }, *sum = NULL;

	CHECK_EQ(allocsnoop_profile__merge(NULL, 0, &sum), -EINVAL);
	CHECK(strstr(err__msg(), "none"));
	CHECK_EQ(allocsnoop_profile__merge((const struct allocsnoop_profile *const *)ps, 2, &sum),
		 -EINVAL);
	CHECK(strstr(err__msg(), "mode 'alloc', the other 'live'"));
	profile__free(ps[1]);
	CHECK_EQ(allocsnoop_profile__diff(ps[0], ps[0], &ps[1]), 0);
	CHECK_EQ(allocsnoop_profile__merge((const struct allocsnoop_profile *const *)ps, 2, &sum),
		 -EINVAL);
	CHECK(strstr(err__msg(), "difference"));
	CHECK(!sum);
	profile__free(ps[0]);
	profile__free(ps[1]);
}

int main(void)
{
	test_sum();
	test_again();
	test_any_order();
	test_one();
	test_hostile();
	test_builds();
	test_sampled();
	test_targets();
	test_targets_again();
	test_mixtures();
	test_refused();
	return check__done();
}
