/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live heap: a program of several threads and processes that allocates, frees and reallocates
 * at random, with its own books to compare with; and the situations that have a right answer each.
 */
#include "heap.h"
#include "../unit/check.h"

/* Blocks in the table, and their bytes. */
static struct sums table__sums(void)
{
	struct host_map *b = host_map__of(&buckets), *sp = host_map__of(&spilled);
	struct sums s = {};
	u32 at = 0;

	for (u32 i = 0; i < b->max; i++) {
		const struct as_bucket *bucket = host_map__lookup(b, &i);

		for (u32 w = 0; w < AS_BUCKET_WAYS; w++) {
			s.live_cnt += bucket->tag[w] != 0;
			s.live_bytes += bucket->tag[w] ? bucket->block[w].size : 0;
		}
	}
	for (struct host_node *n = host_map__next(sp, &at, NULL); n;
	     n = host_map__next(sp, &at, n)) {
		s.live_cnt++;
		s.live_bytes += ((struct as_block *)n->value)->size;
	}
	return s;
}

#define LIVE(site, cnt, bytes)                          \
	do {                                            \
		struct sums now = sums__of(site);       \
		CHECK_EQ(now.live_cnt, (u64)(cnt));     \
		CHECK_EQ(now.live_bytes, (u64)(bytes)); \
	} while (0)

/* ---- one situation each ---- */

static void malloc__test(void)
{
	scene__init(64);
	CHECK(call(MALLOC, 100, 0, 0x1000));
	LIVE(0, 1, 100);
	CHECK(call(MALLOC, 0, 0, 0x2000)); /* malloc(0) gives a block, too */
	LIVE(0, 2, 100);
	CHECK(call(MALLOC, 50, 0, 0)); /* failed */
	CHECK_EQ(counted__failed(), 1);
	CHECK(!call(MALLOC, ~0ull, 0, 0));
	CHECK_EQ(counted__failed(), 2);
	LIVE(0, 2, 100);
	free_of(0);
	free_of(0x1000);
	LIVE(0, 1, 0);
	free_of(0x2000);
	LIVE(0, 0, 0);
	CHECK_EQ(sums__of(0).alloc_cnt, 2);
	CHECK_EQ(unknown_frees(), 0);
	free_of(0x3000); /* from before the start */
	CHECK_EQ(unknown_frees(), 1);
	LIVE(0, 0, 0);
	CHECK_EQ(host__losses(), 0);
}

static void realloc__test(void)
{
	scene__init(64);
	call(MALLOC, 64, 0, 0x1000);
	CHECK(call(REALLOC, 0x1000, 5000, 0x5000)); /* moved */
	LIVE(MALLOC, 0, 0);
	LIVE(REALLOC, 1, 5000);
	CHECK(call(REALLOC, 0x5000, 900, 0x5000)); /* in place */
	LIVE(REALLOC, 1, 900);
	CHECK(call(REALLOC, 0x5000, 1ull << 40, 0)); /* failed: the block stays */
	LIVE(REALLOC, 1, 900);
	CHECK(!call(REALLOC, 0x5000, ~0ull, 0)); /* certain to fail: the same */
	LIVE(REALLOC, 1, 900);
	CHECK_EQ(counted__failed(), 2);
	CHECK(call(REALLOC, 0x5000, 0, 0)); /* a free */
	LIVE(0, 0, 0);
	CHECK_EQ(counted__failed(), 2);
	CHECK_EQ(sums__of(0).freed_cnt, 3);
	call(MALLOC, 10, 0, 0x1000);
	CHECK(call(REALLOC, 0x1000, 0,
		   0x6000)); /* a free that gives a block of no bytes, uncounted */
	LIVE(0, 0, 0);
	free_of(0x6000);
	CHECK_EQ(unknown_frees(), 0);
	CHECK(call(REALLOC, 0x7000, 30, 0x7000)); /* a block from before the start */
	LIVE(REALLOC, 1, 30);
	CHECK_EQ(sums__of(0).alloc_cnt, 5);
	CHECK_EQ(host__losses(), 0);
}

/* While realloc moves a block, another thread may be given its old address. */
static void realloc_race__test(void)
{
	struct task_struct other;

	scene__init(64);
	other = stage.task;
	other.pid = 102;
	call(MALLOC, 64, 0, 0x1000);
	CHECK(enter_at(REALLOC, SP, 0x1000, 500, 0));
	host.task = &other;
	call(MALLOC, 7, 0, 0x1000);
	host.task = &stage.task;
	leave_at(SP, 0x2000);
	LIVE(0, 2, 507);
	free_of(0x1000);
	LIVE(0, 1, 500);
	CHECK_EQ(host__losses(), 0);
}

/* A pool that hands on what malloc gives: one address, two blocks, each with its own end. */
static void layers__test(void)
{
	scene__init(64);
	as_layers = 1;
	CHECK(enter_at(POOL, SP, 100, 0, 0));
	CHECK(enter_at(MALLOC, SP - 64, 120, 0, 0));
	leave_of(MALLOC, SP - 64, 0x1000);
	leave_of(POOL, SP, 0x1000);
	LIVE(MALLOC, 1, 120);
	LIVE(POOL, 1, 100);
	free_by(POOL_FREE, 0x1000);
	LIVE(MALLOC, 1, 120);
	LIVE(POOL, 0, 0);
	free_of(0x1000);
	LIVE(MALLOC, 0, 0);
	CHECK_EQ(unknown_frees(), 0);

	/* The pool's function jumps on: both calls have one stack pointer. */
	CHECK(enter_at(POOL, SP, 100, 0, 0));
	CHECK(enter_at(MALLOC, SP, 100, 0, 0));
	leave_of(MALLOC, SP, 0x2000);
	leave_of(POOL, SP, 0x2000);
	LIVE(MALLOC, 1, 100);
	LIVE(POOL, 1, 100);

	/* Both may throw, and end at one exit. */
	CHECK(!enter_at(POOL_NEW, SP, 30, 0, 0));
	CHECK(!enter_at(NEW, SP, 30, 0, 0));
	exit_at(SP, 0x3000);
	LIVE(POOL_NEW, 1, 30);
	LIVE(NEW, 1, 30);

	/* An exception leaves both: the next call of the stack finds them gone, the jump doesn't.
	 */
	CHECK(!enter_at(POOL_NEW, SP, 30, 0, 0));
	CHECK(!enter_at(NEW, SP, 30, 0, 0));
	CHECK_EQ(counted__failed(), 0);
	CHECK(!enter_at(NEW, SP + 8, 7, 0, 0));
	CHECK_EQ(counted__failed(), 2);
	exit_at(SP + 8, 0x4000);
	LIVE(NEW, 2, 37);
	LIVE(POOL_NEW, 1, 30);
	CHECK_EQ(host__losses(), 0);
}

/* An allocator whose realloc calls its own malloc and free. */
static void realloc_nested__test(void)
{
	scene__init(64);
	call(MALLOC, 64, 0, 0x1000);
	CHECK(enter_at(REALLOC, SP, 0x1000, 500, 0));
	free_of(0x1000);
	leave_at(SP, 0x2000);
	LIVE(0, 1, 500);
	CHECK_EQ(unknown_frees(), 0);
	free_of(0x2000); /* delete ... */
	free_of(0x2000); /* ... that jumps on to free */
	CHECK_EQ(unknown_frees(), 0);
	LIVE(0, 0, 0);
}

static void posix__test(void)
{
	scene__init(64);
	stage__set_word(STACK_LOW, 0xdead);
	CHECK(enter_at(POSIX, SP, STACK_LOW, 64, 1000));
	stage__set_word(STACK_LOW, 0x4000);
	leave_at(SP, 0);
	LIVE(POSIX, 1, 1000);
	CHECK(enter_at(POSIX, SP, STACK_LOW, 64, 2000));
	leave_at(SP, ENOMEM);
	LIVE(POSIX, 1, 1000);
	CHECK_EQ(counted__failed(), 1);
	CHECK(!enter_at(POSIX, SP, STACK_LOW, 3, 2000)); /* EINVAL is known at the entry */
	CHECK_EQ(counted__failed(), 2);
	free_of(0x4000);
	LIVE(0, 0, 0);
}

static void special__test(void)
{
	scene__init(64);
	call(MALLOC, 100, 0, 0x1000);
	call(XALLOCX, 0x1000, 500, 512); /* reached */
	LIVE(0, 1, 500);
	call(XALLOCX, 0x1000, 9000, 512); /* not reached: nothing changed */
	LIVE(XALLOCX, 1, 500);
	call(REALLOCF, 0x1000, 1ull << 40, 0); /* fails and frees */
	LIVE(0, 0, 0);
	call(MALLOC, 100, 0, 0x1000);
	call(REALLOCF, 0x1000, ~0ull, 0);
	LIVE(0, 0, 0);
	CHECK_EQ(counted__failed(), 3);
	CHECK(!call(REALLOCF, 0, ~0ull, 0));
	CHECK_EQ(counted__failed(), 4);
	CHECK(!call(COLLECTED, 48, 0, 0x9000));
	CHECK_EQ(sums__of(COLLECTED).alloc_cnt, 1);
	CHECK_EQ(sums__of(COLLECTED).untracked_cnt, 1);
	LIVE(0, 0, 0);
	/* A return probe would kill the process. */
	as_seccomp_unsafe = 1;
	stage.task.seccomp.mode = 2;
	CHECK(!call(MALLOC, 48, 0, 0x9000));
	CHECK_EQ(sums__of(MALLOC).untracked_cnt, 1);
	LIVE(0, 0, 0);
	CHECK_EQ(host__losses(), 0);
}

static void temporary__test(void)
{
	scene__init(64);
	call(MALLOC, 1, 0, 0x1000);
	free_of(0x1000); /* at once: temporary */
	call(MALLOC, 2, 0, 0x1000);
	call(MALLOC, 3, 0, 0x2000);
	free_of(0x1000); /* another came between */
	free_of(0x2000); /* the newest: temporary */
	CHECK_EQ(sums__of(0).temporary_cnt, 2);
	host.now = 1000;
	call(MALLOC, 1, 0, 0x1000);
	host.now += 5000; /* 2^12 .. 2^13 */
	free_of(0x1000);
	CHECK_EQ(row__at(AS_CLASS_CNT)->life[12], 1);
	CHECK_EQ(row__at(AS_CLASS_CNT)->life_ns, 5000);
	call(MALLOC, 1, 0, 0x1000);
	host.now += 1ull << 60;
	free_of(0x1000);
	CHECK_EQ(row__at(AS_CLASS_CNT)->life[AS_LIFE_CLASSES - 1], 1);
}

static void peak__test(void)
{
	scene__init(64);
	call(MALLOC, 1000, 0, 0x1000);
	call(MALLOC, 1000, 0, 0x2000);
	call(REALLOC, 0, 500, 0x3000); /* the peak: 2500 in 3 */
	free_of(0x1000);
	call(MALLOC, 999, 0, 0x1000);
	free_of(0x3000);
	CHECK_EQ(heap__at(1)->peak_bytes, 2500);
	CHECK_EQ(heap__at(1)->peak_cnt, 3);
	CHECK_EQ(sums__of(MALLOC).peak_bytes, 2000);
	CHECK_EQ(sums__of(MALLOC).peak_cnt, 2);
	CHECK_EQ(sums__of(REALLOC).peak_bytes, 500);
}

/* Calls left by a jump, and calls within calls: each return finds its own. */
static void open__test(void)
{
	scene__init(64);
	CHECK(enter_at(MALLOC, SP, 10, 0, 0)); /* left by longjmp */
	CHECK(enter_at(MALLOC, SP, 20, 0, 0));
	leave_at(SP, 0x1000);
	LIVE(0, 1, 20);
	stage__set_word(SP - 0x100, RA);
	CHECK(enter_at(MALLOC, SP, 30, 0, 0));
	CHECK(enter_at(MALLOC, SP - 0x100, 40, 0, 0)); /* a signal handler's */
	leave_at(SP - 0x100, 0x2000);
	leave_at(SP, 0x3000);
	LIVE(0, 3, 90);
	free_of(0x2000);
	LIVE(0, 2, 50);
	leave_at(SP, 0x4000); /* a return whose entry was before the start */
	LIVE(0, 2, 50);
	CHECK_EQ(host__losses(), 0);
	for (u64 i = 0; i <= AS_OPEN_CNT; i++) /* one more than fit */
		CHECK(enter_at(MALLOC, SP - 0x10 * i, 1, 0, 0));
	CHECK_EQ(host__loss(AS_LOSS_OPEN_CALLS), 1);
}

/* A realloc that there is no room to remember, and one whose return isn't to be probed: nobody
 * knows what becomes of the old block. It mustn't stay live for ever. */
static void lost_realloc__test(void)
{
	scene__init(64);
	for (u64 i = 0; i <= AS_OPEN_CNT; i++) {
		stage__set_word(SP - 0x10 * i, RA);
		call(MALLOC, 100, 0, 0x100 + i);
	}
	for (u64 i = 0; i <= AS_OPEN_CNT; i++)
		enter_at(REALLOC, SP - 0x10 * i, 0x100 + i, 200, 0);
	for (u64 i = 0; i <= AS_OPEN_CNT; i++)
		leave_at(SP - 0x10 * i, 0x2000 + 0x1000 * i);
	LIVE(MALLOC, 0, 0);
	LIVE(REALLOC, AS_OPEN_CNT, 200 * AS_OPEN_CNT);
	CHECK_EQ(sums__of(MALLOC).untracked_cnt, 1);
	CHECK_EQ(sums__of(REALLOC).alloc_cnt, AS_OPEN_CNT + 1);
	CHECK_EQ(sums__of(REALLOC).untracked_cnt, 1);
	CHECK_EQ(table__sums().live_cnt, AS_OPEN_CNT);

	call(MALLOC, 100, 0, 0x9000);
	call(MALLOC, 100, 0, 0xa000);
	CHECK(!call(GC_REALLOC, 0x9000, 300, 0xb000));
	free_of(0x9000); /* by which it frees it itself */
	CHECK_EQ(unknown_frees(), 0);
	LIVE(MALLOC, 1, 100);
	LIVE(GC_REALLOC, 0, 0);
	CHECK_EQ(sums__of(MALLOC).untracked_cnt, 2);
	CHECK_EQ(sums__of(GC_REALLOC).untracked_cnt, 1);
	CHECK(!call(GC_REALLOC, 0xa000, 0, 0)); /* a free, that much is certain */
	LIVE(MALLOC, 0, 0);
	CHECK_EQ(sums__of(MALLOC).freed_cnt, AS_OPEN_CNT + 1);
	CHECK_EQ(table__sums().live_cnt, AS_OPEN_CNT);
	CHECK_EQ(heap__at(1)->live_cnt, AS_OPEN_CNT);
}

/* Functions that may throw: no return is probed, their exits are. */
static void exits__test(void)
{
	scene__init(64);
	CHECK(!enter_at(NEW, SP, 100, 0, 0));
	exit_at(SP, 0x1000);
	LIVE(NEW, 1, 100);
	exit_at(SP, 0x1000); /* nobody's: an exit that functions share */
	LIVE(NEW, 1, 100);
	stage__set_word(SP - 0x100, RA); /* it calls itself, from a new handler */
	CHECK(!enter_at(NEW, SP, 200, 0, 0));
	CHECK(!enter_at(NEW, SP - 0x100, 30, 0, 0));
	exit_at(SP - 0x100, 0x2000);
	exit_at(SP, 0x3000);
	LIVE(NEW, 3, 330);
	CHECK(enter_at(MALLOC, SP, 7, 0, 0)); /* jumps on to what has exits */
	exit_at(SP, 0x4000);
	LIVE(MALLOC, 0, 0);
	leave_at(SP, 0x4000);
	LIVE(MALLOC, 1, 7);
	CHECK(!enter_at(NEW, SP, ~0ull, 0, 0)); /* certain to throw */
	CHECK_EQ(counted__failed(), 1);
	as_seccomp_unsafe = 1; /* exits are plain probes */
	stage.task.seccomp.mode = 2;
	CHECK(!enter_at(NEW, SP, 100, 0, 0));
	exit_at(SP, 0x5000);
	LIVE(NEW, 4, 430);
	CHECK_EQ(host__losses(), 0);
}

/* A call that an exception has left is over when the same stack has a newer call above it. */
static void thrown__test(void)
{
	scene__init(64);
	for (u64 i = 0; i < 3 * AS_OPEN_CNT; i++) {
		stage__set_word(SP - 0x100 - 0x10 * i, RA);
		enter_at(NEW, SP - 0x100 - 0x10 * i, 100, 0, 0); /* throws */
		call(MALLOC, 10, 0, 0x1000 + i * 0x10);
		CHECK_EQ(counted__failed(), i + 1);
	}
	LIVE(0, 3 * AS_OPEN_CNT, 30 * AS_OPEN_CNT);
	CHECK_EQ(sums__of(NEW).alloc_cnt, 0);
	enter_at(NEW, SP, 100, 0, 0); /* throws */
	enter_at(NEW, SP, 50, 0, 0);
	exit_at(SP, 0x5000);
	LIVE(NEW, 1, 50);
	enter_at(NEW, SP, 100, 0, 0); /* throws; then another's return at the same place */
	CHECK(!enter_at(MALLOC, SP, ~0ull, 0, 0));
	exit_at(SP, 0);
	CHECK_EQ(counted__failed(), 3 * AS_OPEN_CNT + 3);
	enter_at(NEW_REALLOC, SP, 0x5000, 1ull << 40, 0); /* throws: the block stays */
	call(MALLOC, 1, 0, 0x6000);
	LIVE(NEW, 1, 50);
	free_of(0x5000);
	LIVE(NEW, 0, 0);
	CHECK_EQ(unknown_frees(), 0);
	CHECK_EQ(host__losses(), 0);
}

/* A signal handler on a stack of its own is above nothing, wherever it lies. */
static void alternate_stack__test(void)
{
	u64 high = SP, low = SP - 0x200;

	scene__init(64);
	stage__set_word(low, RA);
	stage.task.sas_ss_sp = high - 0x80;
	stage.task.sas_ss_size = 0x100;
	enter_at(NEW, low, 100, 0, 0);
	CHECK(call(MALLOC, 10, 0, 0x1000)); /* interrupts it */
	exit_at(low, 0x2000);
	LIVE(NEW, 1, 100);
	LIVE(MALLOC, 1, 10);
	CHECK_EQ(counted__failed(), 0);

	CHECK(enter_at(MALLOC, low, 20, 0, 0));
	stage__probe_return(low);
	CHECK(!call(MALLOC, 30, 0, 0x3000)); /* would make the kernel forget the other */
	CHECK_EQ(sums__of(MALLOC).untracked_cnt, 1);
	stage__set_word(low - 0x100, RA);
	CHECK(enter_at(MALLOC, low - 0x100, 40, 0, 0)); /* a lower stack is no danger */
	leave_at(low - 0x100, 0x4000);
	leave_at(low, 0x5000);
	LIVE(MALLOC, 3, 70);
	stage__set_word(low, 0); /* left by longjmp: its record is dead */
	CHECK(call(MALLOC, 50, 0, 0x6000));
	CHECK_EQ(sums__of(MALLOC).untracked_cnt, 1);
	CHECK_EQ(host__losses(), 0);
}

/* A child's blocks are its own, its parent's stay the parent's; a vfork child has its parent's. */
static void fork__test(void)
{
	struct mm_struct child_mm = { .lock_seq = 2 };
	struct task_struct child;

	scene__init(64);
	call(MALLOC, 100, 0, 0x1000);
	child = stage.task;
	child.pid = child.tgid = 200;
	child.start_boottime = 9000;
	child.group_leader = &child;
	child.real_parent = &stage.task;
	child.mm = &child_mm;
	host.task = &child;
	free_of(0x1000); /* inherited: not the parent's block */
	call(MALLOC, 7, 0, 0x1000);
	LIVE(0, 2, 107);
	free_of(0x1000);
	LIVE(0, 1, 100);
	child.mm = &stage.mm; /* vfork */
	child.start_boottime = 9001;
	call(MALLOC, 50, 0, 0x5000);
	free_of(0x1000);
	LIVE(0, 1, 50);
	host.task = &stage.task;
	free_of(0x5000);
	LIVE(0, 0, 0);
	CHECK_EQ(host__losses(), 0);
}

/* ---- a program at random ---- */

#define THREADS 4
#define BLOCKS	600

struct book {
	u64 addr; /* 0: not allocated */
	u64 size;
};

struct program {
	struct task_struct thread[THREADS];
	struct book block[BLOCKS];
	u64 next_addr;
	u64 live_cnt, live_bytes, alloc_cnt, alloc_bytes, peak_bytes, peak_cnt;
};

static void program__count(struct program *p, u64 size)
{
	p->alloc_cnt++;
	p->alloc_bytes += size;
	p->live_cnt++;
	p->live_bytes += size;
	if (p->live_bytes > p->peak_bytes) {
		p->peak_bytes = p->live_bytes;
		p->peak_cnt = p->live_cnt;
	}
}

static void program__drop(struct program *p, struct book *b)
{
	p->live_cnt--;
	p->live_bytes -= b->size;
	b->addr = 0;
}

static void program__step(struct program *p, u64 *rng)
{
	struct book *b = &p->block[host__random(rng) % BLOCKS];
	u64 size = host__random(rng) % 3 ? host__random(rng) % 200 : host__random(rng) % 100000;
	u64 addr = p->next_addr, what = host__random(rng) % 8;

	host.task = &p->thread[host__random(rng) % THREADS];
	host.now += host__random(rng) % 1000;
	p->next_addr += 16;
	if (!b->addr) {
		bool fails = what == 0;

		call(MALLOC, size, 0, fails ? 0 : addr);
		if (fails)
			return;
		*b = (struct book){ addr, size };
		program__count(p, size);
		return;
	}
	if (what < 5) {
		free_of(b->addr);
		program__drop(p, b);
	} else if (what == 5) {
		call(REALLOC, b->addr, size, 0);
		if (!size)
			program__drop(p, b);
	} else {
		u64 to = what == 6 ? b->addr : addr;

		call(REALLOC, b->addr, size, to);
		program__drop(p, b);
		if (size) {
			*b = (struct book){ to, size };
			program__count(p, size);
		} else {
			free_of(to); /* the block of no bytes */
		}
	}
}

static void random__test(u32 buckets_cnt, u64 seed)
{
	struct program p = { .next_addr = 0x100000 };
	u64 rng = seed;
	struct sums s, t;

	scene__init(buckets_cnt);
	for (u32 i = 0; i < THREADS; i++) {
		p.thread[i] = stage.task;
		p.thread[i].pid = 100 + i;
	}
	for (u32 i = 0; i < 20000; i++)
		program__step(&p, &rng);
	s = sums__of(0);
	t = table__sums();
	CHECK_EQ(s.alloc_cnt, p.alloc_cnt);
	CHECK_EQ(s.alloc_bytes, p.alloc_bytes);
	CHECK_EQ(s.live_cnt, p.live_cnt);
	CHECK_EQ(s.live_bytes, p.live_bytes);
	CHECK_EQ(t.live_cnt, p.live_cnt);
	CHECK_EQ(t.live_bytes, p.live_bytes);
	CHECK_EQ(unknown_frees(), 0);
	/* realloc's old and new block don't live at once for us, nor in the books above. */
	CHECK_EQ(heap__at(1)->peak_bytes, p.peak_bytes);
	CHECK_EQ(s.peak_bytes, p.peak_bytes);
	CHECK_EQ(s.peak_cnt, p.peak_cnt);
	CHECK_EQ(host__losses(), 0);
}

/* More blocks than there is room for: they are lost by count, and none is taken for a leak. */
static void full__test(void)
{
	u64 lost;

	scene__init(4); /* 28 blocks, and 4 spilled */
	for (u64 i = 1; i <= 100; i++)
		call(MALLOC, 10, 0, i << 12);
	lost = host__loss(AS_LOSS_BLOCKS_FULL);
	CHECK(lost >= 100 - 32);
	CHECK_EQ(sums__of(0).alloc_cnt, 100);
	CHECK_EQ(sums__of(0).untracked_cnt, lost);
	LIVE(0, 100 - lost, 10 * (100 - lost));
	for (u64 i = 1; i <= 100; i++)
		free_of(i << 12);
	LIVE(0, 0, 0);
	CHECK_EQ(unknown_frees(), lost);
	CHECK_EQ(table__sums().live_cnt, 0);
}

/* A failed realloc finds no room to put its block back. */
static void put_back_full__test(void)
{
	struct task_struct other;

	scene__init(1); /* 7 blocks, and 1 spilled */
	other = stage.task;
	other.pid = 102;
	for (u64 i = 1; i <= 8; i++)
		call(MALLOC, 10, 0, i << 12);
	CHECK_EQ(host__losses(), 0);
	CHECK(enter_at(REALLOC, SP, 1 << 12, 1000, 0));
	host.task = &other;
	call(MALLOC, 10, 0, 9 << 12);
	host.task = &stage.task;
	leave_at(SP, 0);
	CHECK_EQ(host__loss(AS_LOSS_BLOCKS_FULL), 1);
	LIVE(0, 8, 80);
	for (u64 i = 1; i <= 9; i++)
		free_of(i << 12);
	LIVE(0, 0, 0);
}

/* An address that is handed out again was freed in between, unseen. */
static void missed__test(void)
{
	scene__init(64);
	call(MALLOC, 10, 0, 0x1000);
	call(MALLOC, 20, 0, 0x1000);
	LIVE(0, 1, 20);
	CHECK_EQ(host__loss(AS_LOSS_MISSED_FREE), 1);
}

/* More stacks than rows: the sums stay exact, those of each size class, too. */
static void rows_full__test(void)
{
	scene__init(64);
	as_live_row_max = host_map__of(&live_rows)->max = AS_CLASS_CNT + 2;
	for (u64 i = 0; i < 8; i++)
		call(MALLOC, 1ull << i, 0, (i + 1) << 12);
	CHECK_EQ(host__loss(AS_LOSS_ROWS_FULL), 6);
	LIVE(0, 8, 255);
	for (u64 i = 2; i < 8; i++)
		CHECK_EQ(row__at(as_size_class(1ull << i))->alloc_bytes, 1ull << i);
	for (u64 i = 0; i < 8; i++)
		free_of((i + 1) << 12);
	LIVE(0, 0, 0);
	CHECK_EQ(sums__of(0).alloc_cnt, 8);
}

/* --min-size: what is filtered isn't counted, but ends what is. */
static void filtered__test(void)
{
	scene__init(64);
	as_live_exact = 0;
	as_min_size = 100;
	CHECK(!call(MALLOC, 50, 0, 0x1000));
	CHECK(call(MALLOC, 200, 0, 0x2000));
	CHECK(call(REALLOC, 0x2000, 50, 0)); /* failed: the block stays */
	LIVE(0, 1, 200);
	CHECK(call(REALLOC, 0x2000, 50, 0x2000));
	LIVE(0, 0, 0);
	CHECK_EQ(sums__of(0).freed_cnt, 1);
	CHECK(!call(REALLOC, 0x1000, 60, 0x3000));
	CHECK(call(REALLOC, 0x3000, 300, 0x4000));
	LIVE(REALLOC, 1, 300);
	CHECK(call(REALLOC, 0x4000, 0, 0));
	LIVE(0, 0, 0);
	CHECK_EQ(sums__of(0).alloc_cnt, 2);
	CHECK_EQ(table__sums().live_cnt, 0);
	CHECK_EQ(unknown_frees(), 0);
	CHECK_EQ(host__losses(), 0);
	as_min_size = 0;
}

/* Only kept calls are followed; a realloc of a kept block always is. */
static void sampled__test(void)
{
	scene__init(64);
	call(MALLOC, 64, 0, 0x1000);
	as_sampling = 1;
	as_live_exact = 0;
	as_same_thr = 1; /* hardly ever */
	as_seed = 7;
	CHECK(!call(MALLOC, 64, 0, 0x2000));
	free_of(0x2000);
	CHECK_EQ(unknown_frees(), 0);
	CHECK(!call(REALLOC, 0x2000, 100, 0x3000));
	CHECK(call(REALLOC, 0x1000, 1ull << 40, 0));
	LIVE(0, 1, 64);
	CHECK(call(REALLOC, 0x1000, 100, 0x4000)); /* the new block isn't kept */
	LIVE(0, 0, 0);
	CHECK_EQ(table__sums().live_cnt, 0);
}

int main(void)
{
	malloc__test();
	realloc__test();
	realloc_race__test();
	layers__test();
	realloc_nested__test();
	posix__test();
	special__test();
	temporary__test();
	peak__test();
	open__test();
	lost_realloc__test();
	exits__test();
	thrown__test();
	alternate_stack__test();
	fork__test();
	full__test();
	put_back_full__test();
	missed__test();
	rows_full__test();
	filtered__test();
	sampled__test();
	for (u64 seed = 1; seed <= 8; seed++)
		random__test(seed & 1 ? 1024 : 128, seed);
	return check__done();
}
