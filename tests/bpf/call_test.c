/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which calls are counted, as what, and how often: sizes and products, refused alignments, a call
 * that an allocator makes itself (nested), and loops that look like one.
 */
#include "stage.h"
#include "../unit/check.h"

#define SP	 (STACK_HIGH - 0x400)
#define RA	 app__ip(0x100)
#define OTHER_RA app__ip(0x200)

enum { MALLOC = 1, CALLOC, REALLOC, REALLOCARRAY, MEMALIGN, ALIGNED, VALLOC, POSIX, GO, SITE_END };

static const u64 cookies[SITE_END] = {
	[MALLOC] = COOKIE(MALLOC) | COOKIE_SIZE_ARG(1),
	[CALLOC] = COOKIE(CALLOC) | COOKIE_SIZE_ARG(2) | COOKIE_COUNT_ARG(1),
	[REALLOC] = COOKIE(REALLOC) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_JUMPS,
	[REALLOCARRAY] = COOKIE(REALLOCARRAY) | COOKIE_OLD_ARG(1) | COOKIE_COUNT_ARG(2) |
			 COOKIE_SIZE_ARG(3) | AS_SITE_JUMPS,
	[MEMALIGN] = COOKIE(MEMALIGN) | COOKIE_ALIGN_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_JUMPS,
	[ALIGNED] = COOKIE(ALIGNED) | COOKIE_ALIGN_ARG(1) | COOKIE_SIZE_ARG(2),
	[VALLOC] = COOKIE(VALLOC) | COOKIE_SIZE_ARG(1) | AS_SITE_JUMPS,
	[GO] = COOKIE(GO) | COOKIE_SIZE_ARG(7) | AS_SITE_STACK_CHECK,
	[POSIX] = COOKIE(POSIX) | COOKIE_ALIGN_ARG(2) | COOKIE_SIZE_ARG(3) | AS_SITE_POSIX,
};

static void jump__add(u32 from, u32 to)
{
	u64 key = AS_JUMP(from, to);
	u32 one = 1;

	host_map__update(host_map__of(&jumps), &key, &one, BPF_ANY);
}

static void scene__init(void)
{
	stage__init();
	stage__set_word(SP, RA);
	jump__add(REALLOC, MALLOC);
	jump__add(REALLOCARRAY, REALLOC);
	jump__add(VALLOC, MEMALIGN);
	jump__add(MEMALIGN, ALIGNED);
}

static void call_at(u32 site, u64 sp, u64 a, u64 b, u64 c)
{
	struct pt_regs regs = {
		.ip = ALLOC_TEXT + site * 0x100, .sp = sp, .di = a, .si = b, .dx = c
	};

	stage__call(cookies[site], &regs);
}

static void call(u32 site, u64 a, u64 b, u64 c)
{
	call_at(site, SP, a, b, c);
}

/* What one call counts as: cnt and bytes, or cnt 0. */
static void expect__sums(int line, u64 cnt, u64 bytes, u64 failed)
{
	struct stage_sum sum = stage__take_sums();

	if (sum.cnt == cnt && sum.bytes == bytes && counted__failed() == failed)
		return;
	check_failures++;
	fprintf(stderr,
		"%s:%d: %llu calls of %llu bytes and %llu failed, not %llu of %llu and %llu\n",
		__FILE__, line, (long long)sum.cnt, (long long)sum.bytes,
		(long long)counted__failed(), (long long)cnt, (long long)bytes, (long long)failed);
}

#define EXPECT(cnt, bytes, failed) expect__sums(__LINE__, cnt, bytes, failed)

static void one(int line, u32 site, u64 a, u64 b, u64 c, u64 cnt, u64 bytes, u64 failed)
{
	scene__init();
	call(site, a, b, c);
	expect__sums(line, cnt, bytes, failed);
}

#define ONE(...) one(__LINE__, __VA_ARGS__)

static void sizes__test(void)
{
	ONE(MALLOC, 0, 0, 0, 1, 0, 0);
	ONE(MALLOC, 1, 0, 0, 1, 1, 0);
	ONE(MALLOC, 1ull << 32, 0, 0, 1, 1ull << 32, 0);
	ONE(MALLOC, INT64_MAX, 0, 0, 1, INT64_MAX, 0);
	ONE(MALLOC, 1ull << 63, 0, 0, 0, 0, 1);
	ONE(MALLOC, ~0ull, 0, 0, 0, 0, 1);
	ONE(CALLOC, 3, 5, 0, 1, 15, 0);
	ONE(CALLOC, 0, ~0ull, 0, 1, 0, 0);
	ONE(CALLOC, ~0ull, 0, 0, 1, 0, 0);
	ONE(CALLOC, 1ull << 32, 1ull << 30, 0, 1, 1ull << 62, 0);
	ONE(CALLOC, 1ull << 32, 1ull << 31, 0, 0, 0, 1);   /* 2^63: a product, but no object */
	ONE(CALLOC, 1ull << 32, 1ull << 32, 0, 0, 0, 1);   /* 2^64 */
	ONE(CALLOC, 3, 0x5555555555555556ull, 0, 0, 0, 1); /* 2^64 + 2 */
	ONE(CALLOC, ~0ull, ~0ull, 0, 0, 0, 1);
	ONE(CALLOC, 1, INT64_MAX, 0, 1, INT64_MAX, 0);
	ONE(REALLOCARRAY, 0x1000, 7, 6, 1, 42, 0);
	ONE(REALLOCARRAY, 0x1000, 1ull << 33, 1ull << 33, 0, 0, 1);
}

static void realloc__test(void)
{
	ONE(REALLOC, 0x1000, 24, 0, 1, 24, 0);
	ONE(REALLOC, 0x1000, 0, 0, 0, 0, 0); /* a free */
	ONE(REALLOC, 0, 0, 0, 1, 0, 0);	     /* malloc(0) */
	ONE(REALLOCARRAY, 0x1000, 0, 8, 0, 0, 0);
}

static void alignment__test(void)
{
	static const struct {
		u64 align;
		bool ok;
	} rows[] = { { 0, false },	   { 1, false },    { 4, false },  { 8, true },
		     { 12, false },	   { 16, true },    { 24, false }, { 4096, true },
		     { 1ull << 63, true }, { ~0ull, false } };

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		ONE(POSIX, STACK_LOW, rows[i].align, 100, rows[i].ok, rows[i].ok ? 100 : 0,
		    !rows[i].ok);
	ONE(ALIGNED, 0, 100, 0, 1, 100, 0); /* memalign and its kind round alignments up */
}

static void range__test(void)
{
	static const u64 sizes[] = { 0, 99, 100, 101, 199, 200, 201, INT64_MAX };

	scene__init();
	as_min_size = 100;
	as_max_size = 200;
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		call(MALLOC, sizes[i], 0, 0);
	EXPECT(4, 100 + 101 + 199 + 200, 0);
	/* A failed call is one whatever the range. */
	call(MALLOC, ~0ull, 0, 0);
	EXPECT(0, 0, 1);
	/* A call below the range, which rounds up into it and jumps on: the program has asked for
	 * less. */
	call(VALLOC, 90, 0, 0);
	call(MEMALIGN, 4096, 100, 0);
	EXPECT(0, 0, 1);
}

static void jumps__test(void)
{
	scene__init();
	for (u32 i = 0; i < 3; i++) {
		call(REALLOC, 0, 50, 0);
		call(MALLOC, 50, 0, 0);
	}
	EXPECT(3, 150, 0);
	call(VALLOC, 10, 0, 0);
	call(MEMALIGN, 4096, 10, 0);
	call(ALIGNED, 4096, 10, 0);
	EXPECT(1, 10, 0);
	call(VALLOC, 10, 0, 0); /* rounds up to a page */
	call(MEMALIGN, 4096, 4096, 0);
	call(ALIGNED, 4096, 4096, 0);
	EXPECT(1, 10, 0);
	call(REALLOCARRAY, 0, 5, 10);
	call(REALLOC, 0, 50, 0);
	call(MALLOC, 50, 0, 0);
	EXPECT(1, 50, 0);
	call(REALLOCARRAY, 0x1000, 5, 10);
	call(REALLOC, 0x1000, 50, 0);
	EXPECT(1, 50, 0);
	CHECK_EQ(host__losses(), 0);
}

/* A call that fails is one call, too, however often the allocator jumps on. */
static void failed_jumps__test(void)
{
	scene__init();
	call(REALLOC, 0, ~0ull, 0);
	call(MALLOC, ~0ull, 0, 0);
	EXPECT(0, 0, 1);
	call(REALLOCARRAY, 0x1000, 1ull << 32, 1ull << 31);
	call(REALLOC, 0x1000, 1ull << 63, 0);
	EXPECT(0, 0, 2);
}

/* One call site: the same stack pointer and return address, but no known jump or other arguments.
 */
static void loops__test(void)
{
	scene__init();
	for (u64 i = 0; i < 5; i++) {
		call(REALLOC, 0x1000 + i * 16, 40, 0);
		call(MALLOC, 40, 0,
		     0); /* realloc of a block isn't followed by a jump with no block */
	}
	EXPECT(10, 400, 0);
	for (u32 i = 0; i < 5; i++) {
		call(REALLOC, 0, 40, 0);
		call(MALLOC, 39, 0, 0); /* smaller: jumps only round up */
		call(REALLOC, 0, 40, 0);
		call(MALLOC, 40 + AS_ROUND_MAX + 1, 0, 0);
	}
	EXPECT(20, 5 * (40 + 39 + 40 + 40 + AS_ROUND_MAX + 1), 0);
	for (u32 i = 0; i < 5; i++) {
		call(REALLOC, 0, 40, 0);
		call(CALLOC, 1, 40, 0); /* no such jump is known */
	}
	EXPECT(10, 400, 0);
	for (u32 i = 0; i < 5; i++)
		call(MALLOC, 8, 0, 0);
	EXPECT(5, 40, 0);
	for (u32 i = 0; i < 5; i++)
		call(REALLOC, 0, 8, 0);
	EXPECT(5, 40, 0);
}

static void places__test(void)
{
	scene__init();
	stage__set_word(SP - 64, RA);
	call(REALLOC, 0, 50, 0);
	call_at(MALLOC, SP - 64, 50, 0, 0); /* deeper */
	EXPECT(2, 100, 0);
	call(REALLOC, 0, 50, 0);
	stage__set_word(SP, OTHER_RA);
	call(MALLOC, 50, 0, 0); /* the same stack pointer, called from elsewhere */
	EXPECT(2, 100, 0);
}

static void threads__test(void)
{
	struct task_struct other;

	scene__init();
	other = stage.task;
	other.pid++;
	other.start_boottime += 10;
	call(REALLOC, 0, 50, 0);
	host.task = &other;
	call(MALLOC, 50, 0, 0); /* another thread's own call */
	host.task = &stage.task;
	call(MALLOC, 50, 0, 0); /* the jump */
	EXPECT(2, 100, 0);
}

/* Memos that said "nobody jumps here" are void once somebody does. */
static void memo__test(void)
{
	scene__init();
	for (u32 i = 0; i < 4; i++)
		call(MALLOC, 50, 0, 0);
	call(REALLOC, 0, 50, 0);
	call(MALLOC, 50, 0, 0);
	EXPECT(5, 250, 0);
	for (u32 i = 0; i < 4; i++) {
		call(REALLOC, 0, 50, 0);
		call(MALLOC, 50, 0, 0);
		call(MALLOC, 50, 0, 0);
	}
	EXPECT(8, 400,
	       0); /* one jump arrives once: the second malloc of each round is the program's */
}

/* Another tool's return probe on a function that jumps on: the next one finds the probe's address
 * in place of its caller's, and is still the same call. */
static void return_probe__test(void)
{
	u64 first, second;

	scene__init();
	for (u32 i = 0; i < 3; i++) {
		stage__set_word(SP, RA);
		call(REALLOC, 0, 50, 0);
		stage__probe_return(SP);
		call(MALLOC, 50, 0, 0);
		stage__returned();
		stage__set_word(SP, RA);
		call(MALLOC, 50, 0, 0); /* the program's own */
	}
	EXPECT(6, 300, 0);
	/* Both are probed, the first by entry and return; and calls that fail. */
	for (u32 i = 0; i < 3; i++) {
		stage__set_word(SP, RA);
		call(REALLOCARRAY, 0, 5, 10);
		stage__probe_return(SP);
		call(REALLOC, 0, 50, 0);
		stage__probe_return(SP);
		call(MALLOC, 50, 0, 0);
		stage__returned();
		stage__returned();
	}
	EXPECT(3, 150, 0);
	stage__set_word(SP, RA);
	call(REALLOC, 0, ~0ull, 0);
	stage__probe_return(SP);
	call(MALLOC, ~0ull, 0, 0);
	stage__returned();
	EXPECT(0, 0, 1);
	/* Two callers that look the same on the stack are two. */
	for (u32 i = 0; i < 3; i++) {
		stage__set_word(SP, RA);
		stage__probe_return(SP);
		call(MALLOC, 50, 0, 0);
		first = stage__take_sums().key.stack;
		stage__returned();
		stage__set_word(SP, OTHER_RA);
		stage__probe_return(SP);
		call(MALLOC, 50, 0, 0);
		second = stage__take_sums().key.stack;
		stage__returned();
		CHECK(first != second);
	}
	CHECK_EQ(host__losses(), 0);
}

/* With no room to note from where such calls come, every call looks. */
static void jumpers_full__test(void)
{
	u64 epoch;

	scene__init();
	host_map__of(&jumpers)->fail = -ENOMEM;
	for (u32 i = 0; i < 3; i++) {
		call(REALLOC, 0, 50, 0);
		CHECK(jumpers_full);
		call(MALLOC, 50, 0, 0);
	}
	EXPECT(3, 150, 0);
	epoch = table_epoch;
	call(REALLOC, 0, 50, 0);
	CHECK_EQ(table_epoch,
		 epoch); /* the memos of all processes must not be thrown away at each call */
}

static void no_storage__test(void)
{
	scene__init();
	host.no_storage = true;
	call(REALLOC, 0, 50, 0);
	call(MALLOC, 50, 0, 0);
	EXPECT(2, 100, 0); /* counted twice, and said so */
	CHECK_EQ(host__loss(AS_LOSS_NO_THREAD_STATE), 1);
	CHECK_EQ(host__losses(), 1);
}

static void ranges__test(void)
{
	struct as_ranges r = { .cnt = 2, .r = { { 0x1100, 0x1200 }, { 0x1300, 0x1400 } } };
	struct as_file known = { .flags = AS_FILE_READY | AS_FILE_ALLOCATOR };
	static const struct {
		u64 off; /* of the return address in the allocator's file */
		bool inner;
	} rows[] = { { 0x1100, false }, { 0x1101, true }, { 0x1200, true }, { 0x1201, false },
		     { 0x1300, false }, { 0x1301, true }, { 0x1400, true }, { 0x1401, false } };

	scene__init();
	host_map__update(host_map__of(&ranges), &stage.alloc.hash, &r, BPF_ANY);
	stage_file__set(&stage.alloc, &known);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		stage__set_word(SP, rows[i].off - stage.alloc.bias);
		for (u32 n = 0; n < 3; n++)
			call(MALLOC, 64, 0, 0);
		EXPECT(rows[i].inner ? 0 : 3, rows[i].inner ? 0 : 192, 0);
	}
	CHECK_EQ(counted__taken(), 3 * 4);
}

#define LAYER(n) ((u64)(n) << AS_COOKIE_LAYER_SHIFT)

/* A call from a layer's own text is nested in that layer only. */
static void layers__test(void)
{
	struct as_ranges own = { .cnt = 1, .r = { { 0x1100, 0x1200 } } };
	struct as_ranges pool = { .cnt = 1, .r = { { 0x1300, 0x1400 } } };
	struct as_file known = { .flags = AS_FILE_READY | AS_FILE_ALLOCATOR };
	u64 pool_key;
	static const struct {
		u64 off; /* of the return address */
		u32 layer;
		bool inner;
	} rows[] = { { 0x1180, 0, true },  { 0x1180, 1, false }, { 0x1180, 7, false },
		     { 0x1380, 0, false }, { 0x1380, 1, true },	 { 0x1380, 7, false } };

	scene__init();
	as_layers = 1;
	pool_key = as_of_layer(stage.alloc.hash, 1);
	host_map__update(host_map__of(&ranges), &stage.alloc.hash, &own, BPF_ANY);
	host_map__update(host_map__of(&ranges), &pool_key, &pool, BPF_ANY);
	stage_file__set(&stage.alloc, &known);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_regs regs = { .ip = ALLOC_TEXT + (9 + rows[i].layer) * 0x100,
					.sp = SP,
					.di = 64 };

		stage__set_word(SP, rows[i].off - stage.alloc.bias);
		stage__call(cookies[MALLOC] | LAYER(rows[i].layer), &regs);
		EXPECT(rows[i].inner ? 0 : 1, rows[i].inner ? 0 : 64, 0);
	}
}

/* The layer's bits aren't the site's, and a site's constant is its size. */
static void fixed__test(void)
{
	u32 site = AS_COOKIE_SITE(COOKIE(0x1fffffff) | LAYER(7)), small = 3;
	u64 bytes = 48;
	struct pt_regs regs = { .ip = ALLOC_TEXT + 0x900, .sp = SP, .di = 3, .si = 5 };

	CHECK_EQ(site, 0x1fffffff);
	CHECK_EQ(AS_COOKIE_LAYER(COOKIE(0x1fffffff) | LAYER(7)), 7);
	scene__init();
	as_layers = 1;
	host_map__update(host_map__of(&fixed_sizes), &small, &bytes, BPF_ANY);
	stage__call(COOKIE(3) | LAYER(2) | AS_SITE_FIXED, &regs);
	EXPECT(1, 48, 0);
	stage__call(COOKIE(3) | LAYER(2) | AS_SITE_FIXED | COOKIE_COUNT_ARG(2), &regs);
	EXPECT(1, 5 * 48, 0);
	regs.si = ~0ull;
	stage__call(COOKIE(3) | LAYER(2) | AS_SITE_FIXED | COOKIE_COUNT_ARG(2), &regs);
	EXPECT(0, 0, 1);
}

static void off__test(void)
{
	scene__init();
	counting = 0;
	call(MALLOC, 64, 0, 0);
	EXPECT(0, 0, 0);
	counting = 1;
	as_self_tgid = stage.task.tgid;
	call(MALLOC, 64, 0, 0);
	EXPECT(1, 64, 0); /* probes of one process can't be our own */
	as_all = 1;
	call(MALLOC, 64, 0, 0);
	EXPECT(0, 0, 0);
}

/* The cookie says how far the probe lies behind the entry's stack pointer. */
static void sp_delta__test(void)
{
	struct pt_regs regs = { .ip = ALLOC_TEXT + 0x105, .sp = SP - 40, .di = 64 };
	const struct as_stack_event *ev;
	struct stage_sum sum;

	scene__init();
	stage__call(cookies[MALLOC] | 5ull << 12, &regs);
	sum = stage__take_sums();
	ev = stage__find_stack(sum.key.stack);
	CHECK(ev && ev->frame_cnt == 2 && ev->frames[1].off == RA + stage.app.bias);
}

/* Go: the size is in rax; no call while the stack check's branch is taken (CF or ZF, Intel SDM). */
static void stack_check__test(void)
{
	static const struct {
		u64 flags;
		bool taken;
	} rows[] = { { 0x202, false }, { 0x203, true },	 { 0x242, true },
		     { 0x243, true },  { 0x286, false }, { 0xa96, false } };

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_regs regs = {
			.ip = ALLOC_TEXT + 0x104, .sp = SP, .ax = 3000, .flags = rows[i].flags
		};

		scene__init();
		stage__call(cookies[GO], &regs);
		EXPECT(!rows[i].taken, rows[i].taken ? 0 : 3000, 0);
	}
}

int main(void)
{
	stack_check__test();
	sizes__test();
	realloc__test();
	alignment__test();
	range__test();
	jumps__test();
	failed_jumps__test();
	loops__test();
	places__test();
	threads__test();
	memo__test();
	return_probe__test();
	jumpers_full__test();
	no_storage__test();
	ranges__test();
	layers__test();
	fixed__test();
	off__test();
	sp_delta__test();
	host__reset();
	return check__done();
}
