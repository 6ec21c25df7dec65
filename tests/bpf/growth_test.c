/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growth by system calls and by pages: what counts as growth and of how many bytes, whose it is,
 * which stack it has; and with --live what user space is told.
 */
#include "walks.h"

#define ANON	0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */
#define PRIVATE 2
#define ERROR	((u64)-12)

static struct pt_regs user;
static struct percpu_counter *anon; /* the process' counter of anonymous pages */
static int parts[4];		    /* of each CPU */

static void growth__init(void)
{
	u32 tgid = 100, flags = AS_PROC_TARGET;

	scene__init();
	host_map__update(host_map__of(&procs), &tgid, &flags, BPF_ANY);
	user = (struct pt_regs){ .sp = SP, .orig_ax = -1ul };
	host.user = &user;
	memset(parts, 0, sizeof(parts));
	anon = &stage.mm.rss_stat[MM_ANONPAGES];
	*anon = (struct percpu_counter){ .counters = parts };
}

/* Registers at a system call's end, in a function whose caller is the program's first. */
static void calls_from(u64 ip)
{
	user.ip = ip;
	user.sp = SP;
	stage__set_word(SP, fn_end());
	table__set();
}

static void growth__ready(void)
{
	growth__init();
	calls_from(fn_rsp(8));
}

static void args(u64 a, u64 b, u64 c, u64 d)
{
	user.di = a;
	user.si = b;
	user.dx = c;
	user.r10 = d;
}

static void do_mmap(u64 len, u64 flags, u64 ret)
{
	struct syscall_exit exit = { .ret = (long)ret };

	user.orig_ax = 9;
	args(0, len, 3, flags);
	allocsnoop_grow_mmap(&exit);
}

static void do_mremap(u64 old, u64 old_len, u64 len, u64 flags, u64 ret)
{
	struct syscall_exit exit = { .ret = (long)ret };

	user.orig_ax = 25;
	args(old, old_len, len, flags);
	if (as_live)
		allocsnoop_mremap_enter(NULL);
	allocsnoop_grow_mremap(&exit);
}

static void do_munmap(u64 start, u64 len, long ret)
{
	struct syscall_enter enter = { .args = { start, len } };
	struct syscall_exit exit = { .ret = ret };

	args(start, len, 0, 0);
	allocsnoop_munmap_enter(&enter);
	allocsnoop_munmap_exit(&exit);
}

static void do_brk(u64 wanted, u64 ret)
{
	struct syscall_enter enter = { .args = { wanted } };
	struct syscall_exit exit = { .ret = (long)ret };

	user.orig_ax = 12;
	args(wanted, 0, 0, 0);
	allocsnoop_brk_enter(&enter);
	stage.mm.brk = ret;
	allocsnoop_grow_brk(&exit);
}

static void expect__sums(int line, u32 site, u64 cnt, u64 bytes, u64 failed)
{
	struct stage_sum sum = stage__take_sums();

	if (sum.cnt == cnt && sum.bytes == bytes && (!cnt || sum.key.site == site) &&
	    counted__failed() == failed)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: site %x: %llu of %llu bytes, %llu failed\n", __FILE__, line,
		sum.key.site, (long long)sum.cnt, (long long)sum.bytes,
		(long long)counted__failed());
}

#define EXPECT_GROWTH(...) expect__sums(__LINE__, __VA_ARGS__)

static void mmap__test(void)
{
	growth__ready();
	do_mmap(10000, ANON, 0x7f1000000000);
	EXPECT_GROWTH(AS_GROWTH_MMAP, 1, 10000, 0);
	do_mmap(5000, PRIVATE, 0x7f1000000000);
	EXPECT_GROWTH(AS_GROWTH_MMAP_FILE, 1, 5000, 0);
	do_mmap(5000, ANON, ERROR);
	EXPECT_GROWTH(0, 0, 0, 1);
	as_min_size = 6000;
	do_mmap(5999, ANON, 0x7f1000000000);
	do_mmap(6000, ANON, 0x7f1000000000);
	EXPECT_GROWTH(AS_GROWTH_MMAP, 1, 6000, 1);
	CHECK_EQ(host__losses(), 0);
}

static void mremap__test(void)
{
	growth__ready();
	do_mremap(0x1000000, 4096, 16384, 1, 0x2000000);
	EXPECT_GROWTH(AS_GROWTH_MREMAP, 1, 12288, 0);
	do_mremap(0x2000000, 16384, 4096, 0, 0x2000000);
	do_mremap(0x2000000, 4096, 4096, 0, 0x2000000);
	EXPECT_GROWTH(0, 0, 0, 0);
	do_mremap(0x2000000, 4096, 4096, 5, 0x3000000); /* the old one stays */
	EXPECT_GROWTH(AS_GROWTH_MREMAP, 1, 4096, 0);
	do_mremap(0x2000000, 0, 8192, 1, 0x3000000);
	EXPECT_GROWTH(AS_GROWTH_MREMAP, 1, 8192, 0);
	do_mremap(0x2000000, 4096, 8192, 1, ERROR);
	EXPECT_GROWTH(0, 0, 0, 1);
}

static void brk__test(void)
{
	growth__ready();
	stage.mm.brk = 0x100000;
	do_brk(0, 0x100000);
	EXPECT_GROWTH(0, 0, 0, 0);
	do_brk(0x100123, 0x100123);
	EXPECT_GROWTH(AS_GROWTH_BRK, 1, 0x123, 0);
	do_brk(0x100100, 0x100100);
	do_brk(0x100100, 0x100100);
	EXPECT_GROWTH(0, 0, 0, 0);
	do_brk(0x900000, 0x100100);
	EXPECT_GROWTH(0, 0, 0, 1);
	host_map__of(&breaks)->fail = -ENOMEM;
	do_brk(0x200000, 0x200000);
	EXPECT_GROWTH(0, 0, 0, 1);
	CHECK_EQ(host__loss(AS_LOSS_BREAK_UNKNOWN), 1);
}

static void watched__test(void)
{
	u32 tgid = 100, flags = 0;

	growth__ready();
	growing = 0;
	do_mmap(4096, ANON, 0x7f1000000000);
	growing = 1;
	host_map__update(host_map__of(&procs), &tgid, &flags, BPF_ANY); /* known, but no target */
	do_mmap(4096, ANON, 0x7f1000000000);
	host_map__remove(host_map__of(&procs), &tgid);
	do_mmap(4096, ANON, 0x7f1000000000);
	do_brk(1 << 20, 1 << 20);
	EXPECT_GROWTH(0, 0, 0, 0);
	as_all = 1;
	do_mmap(4096, ANON, 0x7f1000000000);
	EXPECT_GROWTH(AS_GROWTH_MMAP, 1, 4096, 0);
	as_self_tgid = 100;
	do_mmap(4096, ANON, 0x7f1000000000);
	EXPECT_GROWTH(0, 0, 0, 0);
}

/* Frame 1 is the instruction itself, by the row that holds there, also where that begins. */
static void stack__test(void)
{
	const struct as_stack_event *ev;
	struct stage_sum sum;
	u64 before, at;

	growth__init();
	before = fn((struct as_rule){ .cfa_kind = AS_CFA_RBP, .cfa_off = 4096 });
	at = fn_rsp(24) - 0x25; /* a function's first instruction */
	user.ip = at;
	user.sp = SP;
	stage__set_word(SP + 16, fn_rsp(16));
	stage__set_word(SP + 32, fn_end());
	table__set();
	CHECK(before < at);
	do_mmap(4096, ANON, 0x7f1000000000);
	sum = stage__take_sums();
	ev = stage__find_stack(sum.key.stack);
	CHECK(ev);
	CHECK_EQ(ev->end, AS_END_COMPLETE);
	CHECK_EQ(ev->frame_cnt, 4);
	CHECK_EQ(ev->frames[0].file, 0);
	CHECK_EQ(ev->frames[0].off, AS_GROWTH_MMAP);
	CHECK_EQ(ev->frames[1].file, stage.app.hash);
	CHECK_EQ(ev->frames[1].off, (at - APP_TEXT) | AS_FRAME_EXACT);
	CHECK_EQ(ev->frames[2].off & AS_FRAME_EXACT, 0);
	/* It's the same in the next process, and another one for another kind. */
	stage.task.start_boottime++;
	stage__forget();
	do_mmap(4096, ANON, 0x7f1000000000);
	CHECK_EQ(stage__take_sums().key.stack, sum.key.stack);
	do_mmap(4096, PRIVATE, 0x7f1000000000);
	CHECK(stage__take_sums().key.stack != sum.key.stack);
}

/* What is remembered of one kind serves no other, nor a probe on the same instruction. */
static void memo__test(void)
{
	growth__ready();
	for (u32 i = 0; i < 3; i++) {
		struct pt_regs regs = { .ip = user.ip, .sp = user.sp, .di = 7 };

		do_mmap(4096, ANON, 0x7f1000000000);
		EXPECT_GROWTH(AS_GROWTH_MMAP, 1, 4096, 0);
		do_mmap(100, PRIVATE, 0x7f1000000000);
		EXPECT_GROWTH(AS_GROWTH_MMAP_FILE, 1, 100, 0);
		stage__call(COOKIE(5) | COOKIE_SIZE_ARG(1), &regs);
		EXPECT_GROWTH(5, 1, 7, 0);
	}
}

/* ---- pages ---- */

/* What the kernel does to its counter (percpu_counter_add_batch), and then tells. */
static void pages(struct mm_struct *mm, s64 cnt)
{
	struct percpu_counter *c = &mm->rss_stat[MM_ANONPAGES];
	u64 off = 64 + host.cpu * sizeof(int);
	u32 zero = 0;
	__u64 ctx[3] = { (u64)mm, MM_ANONPAGES };
	s64 local = c->counters[host.cpu] + cnt;

	if (local >= 32 || local <= -32) {
		c->count += local;
		local = 0;
	}
	c->counters[host.cpu] = local;
	host_map__update(host_map__of(&percpu), &zero, &off, BPF_ANY);
	c->counters = (int *)((u64)c->counters - 64); /* an offset of 0 is "not known" */
	ctx[2] = c->count;
	allocsnoop_grow_rss(ctx);
	c->counters = (int *)((u64)c->counters + 64);
}

static void touch(s64 cnt)
{
	user.orig_ax = -1ul;
	pages(&stage.mm, cnt);
}

static void faults__test(void)
{
	growth__ready();
	for (u32 i = 0; i < 1000; i++)
		touch(1);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 1000, 1000 * 4096, 0);
	for (u32 i = 0; i < 100; i++)
		touch(i % 3 ? 1 : 512);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 100, (34 * 512 + 66) * 4096, 0);
	user.orig_ax = 11; /* munmap(2) takes what an array of pages holds at a time */
	for (u32 i = 0; i < 50; i++)
		pages(&stage.mm, -(s64)i);
	EXPECT_GROWTH(0, 0, 0, 0);
	for (u32 i = 0; i < 200; i++)
		touch(1);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 200, 200 * 4096, 0);
	user.orig_ax = 0; /* read(2) into new pages */
	pages(&stage.mm, 1);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 1, 4096, 0);
	user.orig_ax = 59; /* execve(2) */
	pages(&stage.mm, 1);
	EXPECT_GROWTH(0, 0, 0, 0);
	CHECK_EQ(host__losses(), 0);
}

/* Threads on two CPUs: each CPU's part tells, whatever the other does to the common one. */
static void faults_cpus__test(void)
{
	growth__ready();
	for (u32 i = 0; i < 2000; i++) {
		host.cpu = i / 7 & 1;
		if (i % 11 == 10) {
			user.orig_ax = 28; /* madvise(2) */
			pages(&stage.mm, -10);
		} else {
			touch(1);
		}
	}
	host.cpu = 0;
	EXPECT_GROWTH(AS_GROWTH_FAULT, 2000 - 2000 / 11, (2000ull - 2000 / 11) * 4096, 0);
}

/* fork(2) fills the child's counter: nobody's growth, and the child's own is seen from then on. */
static void faults_fork__test(void)
{
	static int child_parts[4];
	struct mm_struct child_mm = stage.mm;

	growth__ready();
	touch(1);
	child_mm.rss_stat[MM_ANONPAGES] = (struct percpu_counter){ .counters = child_parts };
	user.orig_ax = 56;
	pages(&child_mm, 20);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 1, 4096, 0);
	stage.task.start_boottime++; /* the child runs */
	stage.task.mm = &child_mm;
	user.orig_ax = -1ul;
	for (u32 i = 0; i < 40; i++)
		pages(&child_mm, 1);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 40, 40 * 4096, 0);
	/* Another program in the same place of kernel memory is not its heir. */
	stage.task.start_boottime++;
	child_parts[0] = 0;
	pages(&child_mm, 1);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 1, 4096, 0);
	/* Nobody's business: other processes that aren't targets. */
	stage.task.tgid = 7;
	pages(&child_mm, 1);
	EXPECT_GROWTH(0, 0, 0, 0);
}

/* Before 6.2 the kernel tells of the counter itself, now and then. */
static void faults_old__test(void)
{
	__u64 ctx[3] = { (u64)&stage.mm, MM_ANONPAGES, 64 };

	growth__ready();
	host.no_percpu_rss = true;
	allocsnoop_grow_rss(ctx);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 1, 64 * 4096, 0);
	ctx[2] = 64 + 512;
	allocsnoop_grow_rss(ctx);
	ctx[2] = 100;
	allocsnoop_grow_rss(ctx);
	ctx[1] = 0; /* MM_FILEPAGES */
	ctx[2] = 5000;
	allocsnoop_grow_rss(ctx);
	EXPECT_GROWTH(AS_GROWTH_FAULT, 1, 512 * 4096, 0);
}

/* ---- --live ---- */

static void live__init(void)
{
	growth__ready();
	as_live = 1;
	as_live_row_max = 2 * AS_CLASS_CNT;
	as_heap_max = 4;
	host_map__of(&live_rows)->max = 2 * AS_CLASS_CNT;
	host_map__of(&live_row_at)->max = 2 * AS_CLASS_CNT;
	host_map__of(&heaps)->max = host_map__of(&heap_at)->max = 4;
}

/* The n-th range that user space was told of; its fields but the first are 0 past the last. */
static struct as_range_event told(u32 n)
{
	for (u32 i = 0; i < host.ring_cnt; i++) {
		const struct as_range_event *ev = host.ring[i].data;

		if (ev->type == AS_EVENT_RANGE && !n--)
			return *ev;
	}
	return (struct as_range_event){};
}

#define TOLD(n, kind, from, until, where)                  \
	do {                                               \
		struct as_range_event ev = told(n);        \
		CHECK_EQ(ev.what, kind);                   \
		CHECK_EQ(ev.start, (u64)(from));           \
		CHECK_EQ(ev.end, (u64)(until));            \
		CHECK_EQ(ev.to, (u64)(where));             \
		CHECK_EQ(ev.tid, 101);                     \
		CHECK_EQ(ev.space, proc__id(&stage.task)); \
	} while (0)

static void live__test(void)
{
	struct as_live_row *r;
	u32 row;

	live__init();
	do_mmap(10000, ANON, 0x10000);
	TOLD(0, AS_RANGE_MADE, 0x10000, 0x10000 + 10000, 0);
	row = told(0).row;
	r = host_map__lookup(host_map__of(&live_rows), &row);
	CHECK_EQ(r->alloc_cnt, 1);
	CHECK_EQ(r->alloc_bytes, 10000);
	CHECK_EQ(r->key.site, AS_GROWTH_MMAP);
	host_ring__consume();
	do_munmap(0x11000, 100, 0);
	do_munmap(0x11001, 4096, -22);
	TOLD(0, AS_RANGE_LEAVES, 0x11000, 0x12000, 0);
	TOLD(1, AS_RANGE_LEAVES, 0x11001, 0x12001, 0);
	TOLD(2, AS_RANGE_STAYS, 0, 0, 0);
	CHECK_EQ(told(3).what, 0);
	host_ring__consume();
	do_mremap(0x10000, 8192, 16384, 1, 0x40000);
	TOLD(0, AS_RANGE_LEAVES, 0x10000, 0x12000, 0);
	TOLD(1, AS_RANGE_MOVED, 0x10000, 0x12000, 0x40000);
	TOLD(2, AS_RANGE_MADE, 0x42000, 0x44000, 0);
	host_ring__consume();
	do_mremap(0x40000, 16384, 4096, 0, 0x40000);
	TOLD(1, AS_RANGE_MOVED, 0x40000, 0x41000, 0x40000);
	CHECK_EQ(told(2).what, 0);
	host_ring__consume();
	do_mremap(0x40000, 4096, 8192, 0, ERROR);
	TOLD(1, AS_RANGE_STAYS, 0, 0, 0);
	host_ring__consume();
	stage.mm.brk = 0x100000;
	do_brk(0x100800, 0x100800);
	do_brk(0x100400, 0x100400);
	TOLD(0, AS_RANGE_MADE, 0x100000, 0x100800, 0);
	TOLD(1, AS_RANGE_LEAVES, 0x100400, 0x100800, 0);
	CHECK_EQ(host__losses(), 0);
}

/* What isn't counted takes the place of what was there, too; what isn't told is not followed. */
static void live_uncounted__test(void)
{
	struct as_live_row *r;
	u32 row;

	live__init();
	as_min_size = 5000;
	do_mmap(4096, ANON, 0x10000);
	CHECK_EQ(told(0).what, AS_RANGE_MADE);
	CHECK_EQ(told(0).row, AS_ROW_NONE);
	do_mmap(8192, ANON, 0x10000);
	row = told(1).row;
	host.ring_full = true;
	do_mmap(8192, ANON, 0x10000);
	r = host_map__lookup(host_map__of(&live_rows), &row);
	CHECK_EQ(r->alloc_cnt, 2);
	CHECK_EQ(r->untracked_cnt, 1);
	CHECK_EQ(r->untracked_bytes, 8192);
	CHECK_EQ(host__loss(AS_LOSS_RANGE_RING_FULL), 1);
}

int main(void)
{
	mmap__test();
	mremap__test();
	brk__test();
	watched__test();
	stack__test();
	memo__test();
	faults__test();
	faults_cpus__test();
	faults_fork__test();
	faults_old__test();
	live__test();
	live_uncounted__test();
	host__reset();
	return check__done();
}
