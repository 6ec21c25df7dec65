/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the walk reads the stack: every word unreadable in turn, frames of all sizes around that of
 * one read, the end of the stack's mapping, odd addresses.
 */
#include "walks.h"

#define CHAIN 40

/* CHAIN frames of `words` words each, then the end; rbp is saved below each return address. */
static void chain__set(u64 *ips, u32 words)
{
	u64 a, end;

	scene__init();
	a = fn((struct as_rule){ .cfa_kind = AS_CFA_RSP,
				 .cfa_off = words * 8,
				 .fp_kind = AS_FP_CFA,
				 .fp_off = -16 });
	end = fn_end();
	table__set();
	memset(stage.stack, 0, STACK_SIZE);
	for (u32 i = 0; i < CHAIN; i++) {
		ips[i] = i == CHAIN - 1 ? end : a + i % 7;
		stage__set_word(SP + i * words * 8, ips[i]);
		stage__set_word(SP + i * words * 8 - 8, SP);
	}
}

static void faults__test(void)
{
	u64 ips[CHAIN];
	u32 words = 5;

	chain__set(ips, words);
	for (u32 word = 0; word < CHAIN * words; word++) {
		u32 frame = word / words;
		bool ra = word % words == 0, saved = word % words == words - 1;

		host.fault_start = SP + word * 8;
		host.fault_end = host.fault_start + 8;
		if (frame == CHAIN - 1 && !ra)
			saved = false;
		if (ra || saved)
			expect__walk(__LINE__, SP, 0, AS_END_READ_FAULT, ips,
				     ra ? frame : frame + 1);
		else
			expect__walk(__LINE__, SP, 0, AS_END_COMPLETE, ips, CHAIN);
	}
	CHECK_EQ(host__losses(), host__loss(AS_LOSS_CALLER_UNREADABLE));
}

/* A read that failed may succeed the next time: such a walk isn't remembered. */
static void fault_heals__test(void)
{
	u64 ips[CHAIN];
	struct stage_sum sum;

	chain__set(ips, 5);
	host.fault_start = SP + 5 * 8 * 10;
	host.fault_end = host.fault_start + 8;
	CHECK_EQ(walk(SP, 0)->end, AS_END_READ_FAULT);
	host.fault_end = 0;
	hit(SP, 0);
	sum = stage__take_sums();
	CHECK_EQ(stage__find_stack(sum.key.stack)->end, AS_END_COMPLETE);
}

static void window__test(void)
{
	static const u32 words[] = { 2, 3, 31, 32, 33, 60, 62 };
	u64 ips[CHAIN], a, end;

	for (u32 i = 0; i < ARRAY_SIZE(words); i++) {
		if (SP + (u64)CHAIN * words[i] * 8 >= STACK_HIGH)
			continue;
		chain__set(ips, words[i]);
		expect__walk(__LINE__, SP, 0, AS_END_COMPLETE, ips, CHAIN);
	}
	/* A frame that steps over more than a window. */
	for (s32 step = 63 * 8; step <= 66 * 8; step += 8) {
		scene__init();
		a = fn_rsp(step);
		end = fn_end();
		table__set();
		stage__set_word(SP, a);
		stage__set_word(SP + step, a);
		stage__set_word(SP + 2 * step, end);
		EXPECT(SP, 0, AS_END_COMPLETE, a, a, end);
	}
	/* The stack's mapping ends right behind the last return address; memory goes on, but isn't
	 * the stack. */
	for (u32 left = 1; left < 70; left++) {
		u64 sp = STACK_HIGH - left * 8;

		scene__init();
		end = fn_end();
		table__set();
		stage__set_word(sp, end);
		EXPECT(sp, 0, AS_END_COMPLETE, end);
	}
}

static void misaligned__test(void)
{
	u64 a, end, sp = SP + 4;

	scene__init();
	a = fn_rsp(16);
	end = fn_end();
	table__set();
	memcpy((char *)stage__word(SP) + 4, &end, sizeof(end));
	EXPECT(sp, 0, AS_END_COMPLETE, end);
	memcpy((char *)stage__word(SP) + 4, &a, sizeof(a));
	EXPECT(sp, 0, AS_END_NO_PROGRESS, a);
	EXPECT(STACK_LOW - 8, 0, AS_END_READ_FAULT);
}

int main(void)
{
	faults__test();
	fault_heals__test();
	window__test();
	misaligned__test();
	host__reset();
	return check__done();
}
