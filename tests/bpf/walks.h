/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Made-up programs to walk through: each function is 256 bytes of text under one rule. EXPECT()
 * compares the stack of one hit, of which nothing was known before, with the return addresses that
 * it should have.
 */
#ifndef TESTS_BPF_WALKS_H
#define TESTS_BPF_WALKS_H

#include "stage.h"
#include "../unit/check.h"

#define SP	 (STACK_HIGH - 0x4000)
#define FN_FIRST 0x1000
#define FN_SIZE	 0x100
#define FN_MAX	 60

static struct unwind_row rows[FN_MAX];
static u32 fn_cnt;

static inline void scene__init(void)
{
	stage__init();
	fn_cnt = 0;
}

/* A return address in a new function with that rule. */
static inline u64 fn_of(u16 rule)
{
	rows[fn_cnt] = (struct unwind_row){ .off = FN_FIRST + fn_cnt * FN_SIZE, .rule = rule };
	return app__ip(rows[fn_cnt++].off + 0x25);
}

static inline u64 fn(struct as_rule rule)
{
	return fn_of(stage__rule(rule));
}

static inline u64 fn_rsp(s32 off)
{
	return fn((struct as_rule){ .cfa_kind = AS_CFA_RSP, .cfa_off = off });
}

static inline u64 fn_end(void)
{
	return fn_of(AS_RULE_END);
}

/* Text behind the last function is a gap. */
static inline void table__set(void)
{
	fn_of(AS_RULE_GAP);
	fn_cnt--;
	stage_file__set_table(&stage.app, 0, rows, fn_cnt + 1);
}

static u64 hit_bx; /* rbx at the hits */

static inline void hit(u64 sp, u64 bp)
{
	struct pt_regs regs = {
		.ip = ALLOC_TEXT + 0x100, .sp = sp, .bp = bp, .bx = hit_bx, .di = 64
	};

	host.now++;
	stage__call(COOKIE(1) | COOKIE_SIZE_ARG(1), &regs);
}

/* The stack of a hit of which nothing was known before. */
static inline const struct as_stack_event *walk(u64 sp, u64 bp)
{
	static const struct as_stack_event none = { .end = ~0u };
	const struct as_stack_event *ev;
	struct stage_sum sum;

	stage__forget();
	hit(sp, bp);
	sum = stage__take_sums();
	ev = stage__find_stack(sum.key.stack);
	CHECK_EQ(sum.cnt, 1);
	CHECK(ev);
	return ev ? ev : &none;
}

static inline void expect__walk(int line, u64 sp, u64 bp, u32 end, const u64 *ips, u32 cnt)
{
	const struct as_stack_event *ev = walk(sp, bp);
	bool same = ev->end == end && ev->frame_cnt == cnt + 1;

	for (u32 i = 0; same && i < cnt; i++)
		same = (ev->frames[i + 1].off & ~AS_FRAME_EXACT) == ips[i] + stage.app.bias &&
		       ev->frames[i + 1].file == stage.app.hash;
	if (same)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: end %u, not %u; frames:", __FILE__, line, ev->end, end);
	for (u32 i = 0; i < ev->frame_cnt && i < 20; i++)
		fprintf(stderr, " %llx", ev->frames[i].off);
	fprintf(stderr, "\n");
}

/* Behind the allocator's own frame come these, by return address. */
#define EXPECT(sp, bp, end, ...)                                                         \
	do {                                                                             \
		u64 expect_ips[] = { __VA_ARGS__ };                                      \
		expect__walk(__LINE__, sp, bp, end, expect_ips, ARRAY_SIZE(expect_ips)); \
	} while (0)

#endif
