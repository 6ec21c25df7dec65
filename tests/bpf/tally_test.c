/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums, from a hit to what user space reads: no count is lost or doubled, whoever was first to
 * insert a row, whichever memo was replaced, and wherever a flip or another task's hit came in
 * between.
 */
#include "stage.h"
#include "../unit/check.h"

#define SP (STACK_HIGH - 0x400)

static const struct as_tally_key key = { .stack = 7, .proc = 8, .site = 1, .size_class = 3 };

static u64 tally__cnt(void *inner)
{
	struct stage_sum sum = {};

	host_map__sum(host_map__of(inner), &sum);
	return sum.cnt;
}

static void add__test(void)
{
	struct as_tally three = { .cnt = 3, .bytes = 300 };
	struct stage_sum sum;

	stage__init();
	for (u32 i = 0; i < 5; i++)
		tally__add(&key, &three);
	sum = stage__take_sums();
	CHECK_EQ(sum.rows, 1);
	CHECK_EQ(sum.cnt, 15);
	CHECK_EQ(sum.bytes, 1500);
	CHECK(!memcmp(&sum.key, &key, sizeof(key)));
	CHECK_EQ(*(u64 *)host_map__elem(host_map__of(&fill), 0), 1);
}

/* Another thread inserts the row between our look-up and our update. */
static void first(struct host_map *m, const void *k, const void *value)
{
	struct as_tally theirs = { .cnt = 10, .bytes = 1000 };

	(void)value;
	host_map__insert(m, k, &theirs);
}

static void race__test(void)
{
	struct as_tally one = { .cnt = 1, .bytes = 64 };
	struct stage_sum sum;

	stage__init();
	host_map__of(&tally_a)->before_update = first;
	tally__add(&key, &one);
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 11);
	CHECK_EQ(sum.bytes, 1064);
	CHECK_EQ(host__losses(), 0);
	/* ... and user space takes it out again. */
	host_map__of(&tally_a)->fail = -EEXIST;
	tally__add(&key, &one);
	CHECK_EQ(host__loss(AS_LOSS_TALLY_FULL), 1);
}

static void full__test(void)
{
	struct as_tally_key k = key;
	struct as_tally five = { .cnt = 5, .bytes = 50 };
	int errs[] = { -E2BIG, -EBUSY, -ENOMEM };

	stage__init();
	host_map__of(&tally_a)->max = 4;
	for (u32 i = 0; i < 10; i++) {
		k.stack = i;
		tally__add(&k, &five);
	}
	k.stack = 2; /* rows that are there still count */
	tally__add(&k, &five);
	CHECK_EQ(host__loss(AS_LOSS_TALLY_FULL), 6 * 5);
	CHECK_EQ(stage__take_sums().cnt, 5 * 5);
	for (u32 i = 0; i < ARRAY_SIZE(errs); i++) {
		host_map__of(&tally_a)->fail = errs[i];
		tally__add(&key, &five);
	}
	CHECK_EQ(host__loss(AS_LOSS_TALLY_FULL), 9 * 5);
	CHECK_EQ(host__losses(), 9 * 5);
	/* No tally at all: nothing may be dropped in silence. */
	host__set_tally(NULL);
	tally__add(&key, &five);
	CHECK_EQ(host__losses(), 10 * 5);
}

static void half__test(void)
{
	struct as_tally one = { .cnt = 1 };
	struct as_tally_key k = key;

	stage__init();
	as_tally_half = 8;
	for (u32 i = 0; i < 20; i++) {
		k.stack = i;
		tally__add(&k, &one);
		tally__add(&k, &one);
		CHECK_EQ(stage__events(AS_EVENT_FULL), i >= 8);
	}
	CHECK_EQ(host.ring[0].size, sizeof(u32));
	CHECK_EQ(host.ring[0].flags, BPF_RB_FORCE_WAKEUP);
}

/* ---- memos ---- */

static void hit_at(u64 ip, u64 sp, u64 size)
{
	struct pt_regs regs = { .ip = ip, .sp = sp, .di = size };

	stage__call(COOKIE(1) | COOKIE_SIZE_ARG(1), &regs);
}

/* Sums are exact after every hit, whether they wait in memos or not. */
static void waits__test(void)
{
	struct stage_sum sum;

	stage__init();
	stage__set_word(SP, app__ip(0x100));
	for (u32 i = 0; i < 100; i++)
		hit_at(ALLOC_TEXT + 0x100, SP, 64);
	CHECK_EQ(tally__cnt(&tally_a), 0);
	for (u32 i = 0; i < 10; i++)
		hit_at(ALLOC_TEXT + 0x100, SP, 5000); /* another class: the former moves on */
	CHECK_EQ(tally__cnt(&tally_a), 100);
	hit_at(ALLOC_TEXT + 0x100, SP, 64);
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 111);
	CHECK_EQ(sum.bytes, 101 * 64 + 10 * 5000);
	CHECK_EQ(sum.rows, 2);
	CHECK_EQ(stage__take_sums().cnt, 0); /* flushed once */
	CHECK_EQ(counted__taken(), 111);
}

static void busy__test(void)
{
	u32 zero = 0;
	struct as_slot *s;

	stage__init();
	stage__set_word(SP, app__ip(0x100));
	for (u32 i = 0; i < 10; i++)
		hit_at(ALLOC_TEXT + 0x100, SP, 64);
	s = host_map__lookup(host_map__of(&slots), &zero);
	s->busy = 1;
	CHECK_EQ(stage__flush_slot(0), 1);
	CHECK_EQ(tally__cnt(&tally_a), 0);
	s->busy = 0;
	CHECK_EQ(stage__flush_slot(0), 0);
	CHECK_EQ(s->busy, 0);
	CHECK_EQ(tally__cnt(&tally_a), 10);
	CHECK_EQ(stage__flush_slot(999), 0); /* no such slot */
}

/* Many places and stacks, so that memos of a set push each other out; mappings change; processes
 * alternate. */
static void replacement__test(void)
{
	struct task_struct tasks[3];
	u64 seed = 1, bytes = 0;
	struct stage_sum sum;

	stage__init();
	for (u32 i = 0; i < ARRAY_SIZE(tasks); i++) {
		tasks[i] = stage.task;
		tasks[i].tgid += i;
		tasks[i].group_leader = &tasks[i];
	}
	for (u32 i = 0; i < 30000; i++) {
		u64 r = host__random(&seed), size = r >> 40 & 0xfff, sp = SP - (r & 7) * 8;

		host.task = &tasks[(r >> 60) % ARRAY_SIZE(tasks)];
		host.cpu = r >> 58 & 3;
		stage__set_word(sp, app__ip(0x100 + (r >> 8 & 31) * 16));
		stage.mm.lock_seq += (r >> 20) % 50 == 0 ? 1 : 0; /* odd half of the time */
		hit_at(ALLOC_TEXT + (r >> 14 & 15) * 64, sp, size);
		bytes += size;
	}
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 30000);
	CHECK_EQ(sum.bytes, bytes);
	CHECK_EQ(counted__taken(), 30000);
	CHECK_EQ(host__losses(), 0);
}

/* Threads that use one memo in turns: each has its own rows, and nothing is in another's. */
static void threads__test(void)
{
	struct task_struct tasks[3];
	struct stage_sum sum;

	for (u32 told_apart = 0; told_apart < 2; told_apart++) {
		stage__init();
		as_threads = told_apart;
		stage__set_word(SP, app__ip(0x100));
		for (u32 i = 0; i < ARRAY_SIZE(tasks); i++) {
			tasks[i] = stage.task;
			tasks[i].pid = (1 << 22) - 1 - i; /* as high as they can be */
		}
		for (u32 i = 0; i < 300; i++) {
			host.task = &tasks[i / 2 % 3];
			hit_at(ALLOC_TEXT + 0x100, SP, i % 5 ? 64 : 5000);
		}
		sum = stage__take_sums();
		CHECK_EQ(sum.cnt, 300);
		CHECK_EQ(sum.bytes, 60 * 5000 + 240 * 64);
		CHECK_EQ(sum.rows, told_apart ? 6 : 2);
		CHECK_EQ(as_key_tid(&sum.key) >> 2, told_apart ? (1 << 20) - 1 : 0);
		CHECK(as_key_class(&sum.key) == as_size_class(64) ||
		      as_key_class(&sum.key) == as_size_class(5000));
		CHECK_EQ(host__losses(), 0);
	}
	as_threads = 0;
}

/* ---- flips ---- */

#define SIZES 5

/* User space as session__drain_locked() has it, in steps: others run between them, and inside BPF
 * programs. */
static struct {
	u64 seed;
	u32 depth; /* programs running, each interrupted by the next */
	u32 step;
	u32 slot;
	u32 waiting_depth; /* those that ran when the slot of `tally` was replaced */
	bool b_active;
	u64 called[SIZES];
	u64 read[SIZES];
	u64 read_bytes;
	u64 bytes;
} u;

static const u64 sizes[SIZES] = { 0, 17, 64, 1000, 100000 };

static void *quiet(void)
{
	return u.b_active ? (void *)&tally_a : (void *)&tally_b;
}

static void user__flip(void)
{
	u.b_active = !u.b_active;
	host__set_tally(u.b_active ? (void *)&tally_b : (void *)&tally_a);
	u.waiting_depth = u.depth;
}

static void user__read(void)
{
	struct host_map *m = host_map__of(quiet());
	u32 at = 0;

	for (struct host_node *n = host_map__next(m, &at, NULL); n; n = host_map__next(m, &at, n)) {
		const struct as_tally_key *k = n->key;
		const struct as_tally *t = n->value;

		u.read_bytes += t->bytes;
		for (u32 i = 0; i < SIZES; i++)
			u.read[i] += as_size_class(sizes[i]) == k->size_class ? t->cnt : 0;
	}
	host_map__clear(m);
}

/* One step; it stays where it is while it must wait. */
static void user__step(void)
{
	switch (u.step) {
	case 0: /* flip */
	case 4:
		user__flip();
		u.step++;
		return;
	case 1: /* the system call returns when those programs have ended */
	case 5:
		u.step += !u.waiting_depth;
		return;
	case 2:
	case 6:
		user__read();
		u.step = u.step == 6 ? 0 : 3;
		u.slot = 0;
		return;
	default: /* flush slot by slot; it's a program of its own */
		u.depth++;
		if (!stage__flush_slot(u.slot))
			u.slot++;
		u.depth--;
		u.step += u.slot == host_map__of(&slots)->max;
	}
}

static struct task_struct flip_tasks[6];

static void flip__hit(void)
{
	u64 r = host__random(&u.seed), sp = SP - (r >> 12 & 3) * 64;
	u32 size = (r >> 20) % SIZES;
	struct task_struct *task = host.task;
	u64 old_cookie = host.cookie;
	u32 cpu = host.cpu;

	/* Who interrupts is another thread than all that are interrupted. */
	host.task = &flip_tasks[u.depth];
	host.cpu = r & 3;
	stage__set_word(sp, app__ip(0x100 + (r >> 4 & 7) * 16));
	u.called[size]++;
	u.bytes += sizes[size];
	u.depth++;
	hit_at(ALLOC_TEXT + (r >> 8 & 3) * 64, sp, sizes[size]);
	u.depth--;
	u.waiting_depth = MIN(u.waiting_depth, u.depth);
	host.task = task;
	host.cpu = cpu;
	host.cookie = old_cookie;
}

static void flip__preempt(void)
{
	u64 r = host__random(&u.seed);

	if (u.depth >= ARRAY_SIZE(flip_tasks) - 1)
		return;
	if (r % 40 == 0)
		flip__hit();
	if ((r >> 8) % 40 == 0)
		user__step();
}

static void flip__test(void)
{
	stage__init();
	memset(&u, 0, sizeof(u));
	u.seed = 2;
	for (u32 i = 0; i < ARRAY_SIZE(flip_tasks); i++) {
		flip_tasks[i] = stage.task;
		flip_tasks[i].pid += i;
	}
	host_map__of(&slots)->max = 4; /* so that all are busy, now and then */
	as_slot_mask = 3;
	host.preempt = flip__preempt;
	for (u32 i = 0; i < 20000; i++) {
		flip__hit();
		if (host__random(&u.seed) % 3 == 0)
			user__step();
		stage.mm.lock_seq += host__random(&u.seed) % 200 == 0 ? 2 : 0;
	}
	host.preempt = NULL;
	for (u32 i = 0; i < 100 || u.step; i++) /* the last report: at least one whole round */
		user__step();
	for (u32 i = 0; i < SIZES; i++) {
		CHECK(u.called[i] > 1000);
		CHECK_EQ(u.read[i], u.called[i]);
	}
	CHECK_EQ(u.read_bytes, u.bytes);
	CHECK_EQ(tally__cnt(&tally_a) + tally__cnt(&tally_b), 0);
	CHECK(host__loss(AS_LOSS_NO_SLOT) > 0); /* the test does get there */
	CHECK_EQ(host__losses(), host__loss(AS_LOSS_NO_SLOT));
}

int main(void)
{
	add__test();
	race__test();
	full__test();
	half__test();
	waits__test();
	busy__test();
	replacement__test();
	threads__test();
	flip__test();
	host__reset();
	return check__done();
}
