/* SPDX-License-Identifier: BSD-2-Clause */
/* What `top` makes of profiles: rows that stay the same, rates, and what has none. */
#include "cli/top_model.h"

#include "check.h"
#include "top_profile.h"

static struct top_row *by_pid(const struct top_model *m, u32 pid)
{
	for (size_t i = 0; i < m->processes.rows.cnt; i++) {
		if (m->processes.rows.v[i]->pid == pid)
			return m->processes.rows.v[i];
	}
	return NULL;
}

static struct top_row *by_stack(const struct top_table *t, u64 id)
{
	for (size_t i = 0; i < t->rows.cnt; i++) {
		if (t->rows.v[i]->sample->stack_id == id)
			return t->rows.v[i];
	}
	return NULL;
}

static void update(struct top_model *m, struct allocsnoop_profile *p)
{
	CHECK_EQ(top_model__update(m, p), 0);
}

/* Rates are what came since the profile before, and not since the start. */
static void test_rates(void)
{
	struct top_model m;
	struct top_row *server;
	u64 key;

	top_model__init(&m);
	update(&m, recording(1));
	CHECK_EQ(m.processes.rows.cnt, 2);
	server = by_pid(&m, 20);
	key = server->key;
	CHECK_EQ(server->byte_rate, 100000);
	CHECK_EQ(server->count_rate, 1000);
	CHECK_EQ(m.all.byte_rate, 100000);
	update(&m, recording(3));
	CHECK(by_pid(&m, 20) == server && server->key == key);
	CHECK_EQ(server->now.bytes, 300000);
	CHECK_EQ(server->byte_rate, 100000);
	CHECK_EQ(by_pid(&m, 21)->byte_rate, 2500000); /* new: all of it came meanwhile */
	CHECK_EQ(m.all.byte_rate, 2600000);
	CHECK_EQ(by_pid(&m, 22)->byte_rate, 0);
	CHECK_EQ(by_stack(&m.stacks, 1)->count_rate, 800);
	CHECK(by_stack(&m.stacks, 1)->process == key);
	update(&m, recording(4));
	update(&m, recording(5));
	CHECK_EQ(by_pid(&m, 21)->byte_rate, 0);
	CHECK_EQ(by_pid(&m, 21)->ended, 2);
	CHECK_EQ(top_row__trend(&m, by_pid(&m, 21), TOP_TREND - 1), 0);
	CHECK(fabs(top_row__trend(&m, by_pid(&m, 21), TOP_TREND - 2) / 5000000 - 1) < 0.001);
	CHECK(fabs(top_row__trend(&m, by_pid(&m, 21), TOP_TREND - 3) / 2500000 - 1) < 0.001);
	CHECK_EQ(top_row__trend(&m, by_pid(&m, 21), 0), 0);
	update(&m, recording(5)); /* no time has passed */
	CHECK_EQ(by_pid(&m, 20)->byte_rate, 0);
	top_model__fini(&m);
}

/* Sums over stacks are those of their processes. */
static void test_sums(void)
{
	struct top_model m;
	u64 bytes = 0;

	top_model__init(&m);
	update(&m, recording(7));
	for (size_t i = 0; i < m.stacks.rows.cnt; i++)
		bytes += m.stacks.rows.v[i]->now.bytes;
	CHECK_EQ(bytes, m.all.now.bytes);
	bytes = 0;
	for (size_t i = 0; i < m.names.rows.cnt; i++)
		bytes += m.names.rows.v[i]->now.bytes;
	CHECK_EQ(bytes, m.all.now.bytes);
	top_model__fini(&m);
}

/* One stack of two processes with one name, and of one with another. */
static struct allocsnoop_profile *shared_stack(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);

	for (u32 pid = 1; pid <= 3; pid++) {
		row(p, add_process(p, pid, pid < 3 ? "sh" : "bash", "/bin/sh"), 9, pid, pid * 10,
		    FRAMES(m));
		row(p, &p->processes.v[pid - 1], 9, 1, 1, FRAMES(m)); /* another size class */
	}
	p->info.duration_ns = SECOND;
	profile__finish(p);
	return p;
}

/* Two calls in one function are one row, as in reports. */
static void test_equal_names(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	struct allocsnoop_process *proc = add_process(p, 1, "app", "/opt/app");
	struct top_model model;

	row(p, proc, 1, 1, 10, FRAMES(m, frame(p, "twice", "/opt/app", 0x10)));
	row(p, proc, 2, 2, 20, FRAMES(m, frame(p, "twice", "/opt/app", 0x20)));
	row(p, proc, 3, 4, 40, FRAMES(m, frame(p, "twice", "/opt/lib.so", 0x20)));
	row(p, proc, 4, 8, 80, FRAMES(m));
	p->info.duration_ns = SECOND;
	profile__finish(p);
	top_model__init(&model);
	update(&model, p);
	CHECK_EQ(model.stacks.rows.cnt, 3);
	CHECK_EQ(model.names.rows.cnt, 3);
	CHECK_EQ(by_stack(&model.stacks, 2)->now.bytes, 30);
	CHECK_EQ(by_stack(&model.stacks, 3)->now.bytes, 40);
	top_model__fini(&model);
}

static void test_names(void)
{
	struct top_model m;

	top_model__init(&m);
	update(&m, shared_stack());
	CHECK_EQ(m.processes.rows.cnt, 3);
	CHECK_EQ(m.stacks.rows.cnt, 3);
	CHECK_EQ(m.names.rows.cnt, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct top_row *r = m.names.rows.v[i];

		CHECK_EQ(r->now.bytes, strcmp(r->comm, "sh") ? 31 : 32);
		CHECK_EQ(r->pid, 0);
		CHECK(!r->moves);
	}
	top_model__fini(&m);
}

/* ---- what moves from row to row ---- */

static struct allocsnoop_profile *aged(u64 seconds, u64 kept, u64 given_up, u64 folded)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	struct allocsnoop_process *proc = add_process(p, 5, "app", "/opt/app");

	if (kept)
		row(p, proc, 1, kept, kept * 10, FRAMES(m));
	if (given_up)
		end_row(row(p, proc, 0, given_up, given_up * 10, FRAMES(m)), ALLOCSNOOP_AGED);
	if (folded)
		row(p, add_process(p, 0, "cc1", ""), 2, folded, folded, FRAMES(m));
	p->info.duration_ns = seconds * SECOND;
	profile__finish(p);
	return p;
}

/* A stack that was given up and comes again has the rate of its new calls, where it was gone in
 * between; what took its old ones, and what ended processes are moved into, has none. */
static void test_moves(void)
{
	struct top_model m;
	struct top_row *r;

	top_model__init(&m);
	update(&m, aged(1, 100, 0, 0));
	update(&m, aged(2, 0, 100, 0));
	CHECK_EQ(m.stacks.rows.cnt, 1);
	r = m.stacks.rows.v[0];
	CHECK(r->moves && r->byte_rate == 0 && r->now.bytes == 1000);
	CHECK_EQ(by_pid(&m, 5)->byte_rate, 0);
	update(&m, aged(3, 7, 100, 50));
	CHECK_EQ(by_stack(&m.stacks, 1)->byte_rate, 70);
	CHECK(by_pid(&m, 0)->moves && by_pid(&m, 0)->byte_rate == 0);
	update(&m, aged(4, 3, 104, 50)); /* given up and new between two looks */
	CHECK_EQ(by_stack(&m.stacks, 1)->byte_rate, 0);
	CHECK_EQ(by_pid(&m, 5)->byte_rate, 0);
	update(&m, aged(5, 5, 104, 50));
	CHECK_EQ(by_stack(&m.stacks, 1)->byte_rate, 20);
	top_model__fini(&m);
}

/* ---- estimates ---- */

static struct allocsnoop_profile *estimate(u64 seconds, u64 hits, u64 scale, bool windows)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	struct allocsnoop_process *proc = add_process(p, 5, "app", "/opt/app");
	struct allocsnoop_sample *s = row(p, proc, 1, hits * scale, hits * scale, FRAMES(m));

	s->sampled_count = proc->sampled_count = hits;
	s->alloc_count_var = s->alloc_bytes_var = (double)(hits * 16);
	proc->alloc_count_se = proc->alloc_bytes_se = sqrt(s->alloc_bytes_var);
	p->info.exact = false;
	p->info.sampling = windows ? ALLOCSNOOP_ALL : ALLOCSNOOP_RATE;
	p->info.windows = windows ? seconds : 0;
	p->info.duration_ns = seconds * SECOND;
	profile__finish(p);
	return p;
}

static void test_sampled(void)
{
	struct top_model m;

	top_model__init(&m);
	update(&m, estimate(1, 100, 10, false));
	update(&m, estimate(2, 500, 10, false));
	CHECK_EQ(by_pid(&m, 5)->byte_rate, 4000);
	CHECK_EQ(by_pid(&m, 5)->byte_rate_se, 80); /* sqrt(400 * 16) */
	CHECK_EQ(by_pid(&m, 5)->rate_hits, 400);
	CHECK_EQ(m.all.byte_rate_se, 80);
	/* An estimate that only was rounded the other way. */
	update(&m, estimate(3, 500, 11, false));
	CHECK_EQ(by_pid(&m, 5)->byte_rate, 0);
	top_model__fini(&m);
}

/* Windows come seldom, and what they say is made up for later: rates are means over 5 s at least;
 * an estimate that was revised downwards is no rate below 0. */
static void test_windows(void)
{
	struct top_model m;

	top_model__init(&m);
	for (u64 s = 1; s <= 30; s++) {
		update(&m, estimate(s, s * 100, 10, true));
		CHECK_EQ(by_pid(&m, 5)->byte_rate, 1000);
		CHECK(s < 10 || top_model__rate_ns(&m) >= 5 * SECOND);
		CHECK(top_model__rate_ns(&m) <= 11 * SECOND);
	}
	CHECK(by_pid(&m, 5)->byte_rate_se > 0);
	update(&m, estimate(31, 3000, 1, true));
	CHECK_EQ(by_pid(&m, 5)->byte_rate, 0);
	top_model__fini(&m);
}

/* ---- hostile numbers and names ---- */

static void test_hostile(void)
{
	struct top_model m;

	top_model__init(&m);
	update(&m, hostile_profile());
	update(&m, crowd_profile(false));
	update(&m, hostile_profile());
	update(&m, live_profile());
	for (size_t i = 0; i < m.stacks.rows.cnt; i++)
		CHECK(m.stacks.rows.v[i]->byte_rate >= 0);
	top_model__fini(&m);
	top_model__init(&m); /* no profile at all */
	CHECK(!top_table__find(&m.processes, 1));
	top_model__fini(&m);
}

static void test_saturates(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *f = frame(p, "malloc", "", 1);
	struct top_model m;

	add_row(p, 1, "a", 1, 1, TWO_63 + 5, FRAMES(f));
	add_row(p, 1, "a", 1, 1, TWO_63 + 5, FRAMES(f));
	p->info.duration_ns = SECOND;
	profile__finish(p);
	top_model__init(&m);
	update(&m, p);
	CHECK(by_stack(&m.stacks, 1)->now.bytes == UINT64_MAX);
	top_model__fini(&m);
}

int main(void)
{
	test_rates();
	test_sums();
	test_names();
	test_equal_names();
	test_moves();
	test_sampled();
	test_windows();
	test_hostile();
	test_saturates();
	return check__done();
}
