/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk over made-up stacks: every kind of rule and every way to end. */
#include "walks.h"

static void rsp__test(void)
{
	u64 a, b, end;

	scene__init();
	a = fn_rsp(24);
	b = fn_rsp(8);
	end = fn_end();
	table__set();
	stage__set_word(SP, a);
	stage__set_word(SP + 24, b);
	stage__set_word(SP + 32, a);
	stage__set_word(SP + 56, end);
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a, end);
	stage__set_word(SP + 56, 0); /* _start's caller, by convention */
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a);
}

static void rbp__test(void)
{
	u64 a, b, c, end;

	scene__init();
	a = fn((struct as_rule){
		.cfa_kind = AS_CFA_RBP, .cfa_off = 16, .fp_kind = AS_FP_CFA, .fp_off = -16 });
	b = fn((struct as_rule){ .cfa_kind = AS_CFA_RSP, .cfa_off = 32, .fp_kind = AS_FP_SAME });
	c = fn((struct as_rule){
		.cfa_kind = AS_CFA_RBP, .cfa_off = 16, .fp_kind = AS_FP_RBP, .fp_off = -8 });
	end = fn_end();
	table__set();
	stage__set_word(SP, a);
	stage__set_word(SP + 80, SP + 200); /* a's saved rbp */
	stage__set_word(SP + 88, b);
	stage__set_word(SP + 96 + 24, c); /* b leaves rbp alone */
	stage__set_word(SP + 192, SP + 400);
	stage__set_word(SP + 208, a); /* c's return address, at rbp + 8 */
	stage__set_word(SP + 400, 0);
	stage__set_word(SP + 408, end);
	EXPECT(SP, SP + 80, AS_END_COMPLETE, a, b, c, a, end);
}

static void deref__test(void)
{
	u64 a, b, end;

	scene__init();
	a = fn((struct as_rule){
		.cfa_kind = AS_CFA_DEREF_RBP, .cfa_off = -8, .fp_kind = AS_FP_RBP });
	b = fn((struct as_rule){ .cfa_kind = AS_CFA_DEREF_RSP, .cfa_off = 16, .aux = 8 });
	end = fn_end();
	table__set();
	stage__set_word(SP, a);
	stage__set_word(SP + 40, SP + 200); /* *(rbp - 8): the CFA */
	stage__set_word(SP + 48, 77);	    /* the caller's rbp */
	stage__set_word(SP + 192, b);
	stage__set_word(SP + 216, SP + 400);
	stage__set_word(SP + 400, end);
	EXPECT(SP, SP + 48, AS_END_COMPLETE, a, b, end);
	stage__set_word(SP + 40,
			0); /* a CFA of 0 is one that doesn't progress, not one to try for ever */
	EXPECT(SP, SP + 48, AS_END_NO_PROGRESS, a);
	stage__set_word(SP + 40, SP);
	EXPECT(SP, SP + 48, AS_END_NO_PROGRESS, a);
	EXPECT(SP, 48, AS_END_READ_FAULT, a);
}

static void plt__test(void)
{
	u64 plt, end;

	scene__init();
	plt = fn((struct as_rule){ .cfa_kind = AS_CFA_PLT, .aux = 11 }) & ~15ull;
	end = fn_end();
	table__set();
	for (u64 at = 1; at < 16; at++) {
		stage__set_word(SP, plt + at);
		stage__set_word(SP + 8, at < 11 ? end : 1);
		stage__set_word(SP + 16, at < 11 ? 1 : end);
		EXPECT(SP, 0, AS_END_COMPLETE, plt + at, end);
	}
}

#define ALT_LOW 0x7ffc00000000ull

/* The handler's frame returns to the restorer, where rsp points to the ucontext. */
static void sigframe__set(u64 *uc, u64 ip, u64 sp, u64 bp)
{
	uc[REGS_SIGFRAME_BP / 8] = bp;
	uc[REGS_SIGFRAME_SP / 8] = sp;
	uc[REGS_SIGFRAME_IP / 8] = ip;
}

static void sigframe__test(void)
{
	u64 handler, restorer, code, start, end, *alt;

	scene__init();
	handler = fn_rsp(16);
	restorer = fn((struct as_rule){ .cfa_kind = AS_CFA_SIGFRAME });
	code = fn((struct as_rule){
		.cfa_kind = AS_CFA_RBP, .cfa_off = 16, .fp_kind = AS_FP_CFA, .fp_off = -16 });
	end = fn_end();
	table__set();
	stage__set_word(SP, handler);
	stage__set_word(SP + 16, restorer);
	stage__set_word(SP + 0x808, end);
	sigframe__set(stage__word(SP + 24), code, SP + 0x700, SP + 0x800);
	EXPECT(SP, 0, AS_END_COMPLETE, handler, restorer, code, end);
	/* Interrupted before the first instruction of a function: not a return address, so not
	 * looked up one less. */
	start = code - 0x25;
	sigframe__set(stage__word(SP + 24), start, SP + 0x700, SP + 0x800);
	EXPECT(SP, 0, AS_END_COMPLETE, handler, restorer, start, end);
	/* ... and said so, that its name isn't looked up one less either. */
	CHECK(walk(SP, 0)->frames[3].off & AS_FRAME_EXACT);
	CHECK(!(walk(SP, 0)->frames[2].off & AS_FRAME_EXACT));
	/* On a stack of its own, above or below. */
	alt = (u64 *)host__add_memory(ALT_LOW, 0x1000);
	host__add_vma(ALT_LOW, ALT_LOW + 0x1000, 0, 0, NULL);
	alt[0] = handler;
	alt[2] = restorer;
	sigframe__set(&alt[3], code, SP + 0x700, SP + 0x800);
	EXPECT(ALT_LOW, 0, AS_END_COMPLETE, handler, restorer, code, end);
	sigframe__set(stage__word(SP + 24), code, ALT_LOW + 0x700, ALT_LOW + 0x800);
	alt[0x808 / 8] = end;
	EXPECT(SP, 0, AS_END_COMPLETE, handler, restorer, code, end);
	/* A handler that returns to itself for ever. */
	sigframe__set(stage__word(SP + 24), restorer, SP + 24, 0);
	as_max_depth = 6;
	EXPECT(SP, 0, AS_END_TRUNCATED, handler, restorer, restorer, restorer, restorer);
}

/* The row of a return address is that of the call before it, even where the call is a function's
 * last instruction. */
static void return_address__test(void)
{
	u64 a, b, end;

	scene__init();
	a = fn_rsp(16) - 0x25;
	b = fn_rsp(32) - 0x25;
	end = fn_end();
	table__set();
	stage__set_word(SP, b); /* the first byte of b: a's call didn't mean to return */
	stage__set_word(SP + 16, end);
	EXPECT(SP, 0, AS_END_COMPLETE, b, end);
	stage__set_word(SP, b + 1);
	stage__set_word(SP + 32, end);
	EXPECT(SP, 0, AS_END_COMPLETE, b + 1, end);
	stage__set_word(SP, a); /* the first row's first byte, a gap before it: made up */
	EXPECT(SP, 0, AS_END_COMPLETE, a, end);
	stage__set_word(SP, a - 1); /* before the first row */
	EXPECT(SP, 0, AS_END_GAP, a - 1);
	stage__set_word(SP, APP_TEXT + TEXT_SIZE); /* the last call of a mapping */
	EXPECT(SP, 0, AS_END_GAP, APP_TEXT + TEXT_SIZE);
	stage__set_word(SP, APP_TEXT); /* nobody's */
	CHECK_EQ(walk(SP, 0)->frame_cnt, 1);
	CHECK_EQ(walk(SP, 0)->end, AS_END_NO_TABLE);
}

static void ends__test(void)
{
	u64 gap, bad, a;

	scene__init();
	a = fn_rsp(16);
	gap = fn_of(AS_RULE_GAP);
	bad = fn_of(AS_RULE_UNSUPPORTED);
	table__set();
	stage__set_word(SP, a);
	stage__set_word(SP + 16, gap);
	EXPECT(SP, 0, AS_END_GAP, a, gap);
	stage__set_word(SP + 16, bad);
	EXPECT(SP, 0, AS_END_UNSUPPORTED, a, bad);
	stage__set_word(SP + 16, STACK_LOW + 64); /* not code */
	EXPECT(SP, 0, AS_END_NO_TABLE, a);
	stage__set_word(SP + 16, 1);
	EXPECT(SP, 0, AS_END_NO_TABLE, a);
	stage__set_word(SP + 16, ~0ull);
	EXPECT(SP, 0, AS_END_NO_TABLE, a);
}

static void no_progress__test(void)
{
	u64 same, down, odd, by_rbp;

	scene__init();
	same = fn_rsp(0);
	down = fn_rsp(-64);
	odd = fn_rsp(12);
	by_rbp = fn((struct as_rule){ .cfa_kind = AS_CFA_RBP, .cfa_off = 16 });
	table__set();
	stage__set_word(SP, same);
	EXPECT(SP, 0, AS_END_NO_PROGRESS, same);
	stage__set_word(SP, down);
	EXPECT(SP, 0, AS_END_NO_PROGRESS, down);
	stage__set_word(SP, odd);
	EXPECT(SP, 0, AS_END_NO_PROGRESS, odd);
	stage__set_word(SP, by_rbp);
	EXPECT(SP, SP - 8, AS_END_NO_PROGRESS, by_rbp);
	EXPECT(SP, SP + 4, AS_END_NO_PROGRESS, by_rbp);
	EXPECT(SP, 0, AS_END_NO_PROGRESS, by_rbp);
	EXPECT(SP, -16ull, AS_END_NO_PROGRESS, by_rbp); /* a CFA of 0 */
	EXPECT(SP, -8ull, AS_END_NO_PROGRESS, by_rbp);
}

/* An rbp that CFI calls lost must not be followed, nor may what the register holds now stand for
 * it. */
static void lost_rbp__test(void)
{
	u64 loses, by_rbp, end;

	scene__init();
	loses = fn(
		(struct as_rule){ .cfa_kind = AS_CFA_RSP, .cfa_off = 16, .fp_kind = AS_FP_UNDEF });
	by_rbp = fn((struct as_rule){ .cfa_kind = AS_CFA_RBP, .cfa_off = 16 });
	end = fn_end();
	table__set();
	stage__set_word(SP, loses);
	stage__set_word(SP + 16, by_rbp);
	stage__set_word(SP + 72, end);
	EXPECT(SP, SP + 64, AS_END_NO_PROGRESS, loses, by_rbp);
	stage__set_word(SP + 16, end); /* of no matter where nobody needs it */
	EXPECT(SP, SP + 64, AS_END_COMPLETE, loses, end);
}

static void depth__test(void)
{
	static const u32 limits[] = { 1, 2, 3, 17, 64, 127, 512, AS_DEPTH_MAX };
	const struct as_stack_event *ev;
	u64 a, end;

	scene__init();
	a = fn_rsp(16);
	end = fn_end();
	table__set();
	for (u32 i = 0; i < ARRAY_SIZE(limits); i++) {
		u32 n = limits[i];

		for (u32 more = 0; more < 3;
		     more++) { /* n - 1, n and n + 1 frames: allocator, a ..., end */
			u32 frames = n - 1 + more;

			if (frames < 2)
				continue;
			for (u32 f = 1; f < frames; f++)
				stage__set_word(SP + (f - 1) * 16, f == frames - 1 ? end : a);
			as_max_depth = n;
			ev = walk(SP, 0);
			CHECK_EQ(ev->frame_cnt, MIN(frames, n));
			CHECK_EQ(ev->end, frames > n ? AS_END_TRUNCATED : AS_END_COMPLETE);
			CHECK(ev->frames[ev->frame_cnt - 1].off ==
			      (frames > n ? n == 1 ? 0x1100 : a : end) +
				      (n == 1 && frames > n ? 0 : stage.app.bias));
		}
	}
	CHECK_EQ(host__losses(), 0);
}

/* ---- a CFA in rbx, as around the dynamic linker's resolver ---- */

static u64 fn_bx(s32 cfa_off, s32 bx_off)
{
	return fn((struct as_rule){ .cfa_kind = AS_CFA_RSP, .cfa_off = cfa_off, .bx_off = bx_off });
}

static void rbx__test(void)
{
	u64 saves, keeps, loses, by_rbx, end, handler, restorer, jit = 0x7e0000000040ull;

	scene__init();
	saves = fn_bx(32, -24);
	keeps = fn_rsp(16);
	loses = fn_bx(16, AS_BX_LOST);
	by_rbx = fn((struct as_rule){ .cfa_kind = AS_CFA_RBX, .cfa_off = 24, .bx_off = -32 });
	handler = fn_rsp(16);
	restorer = fn((struct as_rule){ .cfa_kind = AS_CFA_SIGFRAME });
	end = fn_end();
	table__set();
	/* The nearest callee that saved it has it: not the one below, not the register. */
	hit_bx = SP + 0x700;
	stage__set_word(SP, saves);
	stage__set_word(SP + 16, SP + 0x600); /* of the frame of `saves` */
	stage__set_word(SP + 32, saves);
	stage__set_word(SP + 48, SP + 0x100);
	stage__set_word(SP + 64, keeps);
	stage__set_word(SP + 80, by_rbx);
	stage__set_word(SP + 0x110, end);
	EXPECT(SP, 0, AS_END_COMPLETE, saves, saves, keeps, by_rbx, end);
	/* It saves the one of its caller in turn, for the next such frame. */
	stage__set_word(SP + 0x110, by_rbx);
	stage__set_word(SP + 0xf8, SP + 0x200);
	stage__set_word(SP + 0x210, end);
	EXPECT(SP, 0, AS_END_COMPLETE, saves, saves, keeps, by_rbx, by_rbx, end);
	stage__set_word(SP + 0xf8, SP + 0xf0); /* a CFA that doesn't grow */
	EXPECT(SP, 0, AS_END_NO_PROGRESS, saves, saves, keeps, by_rbx, by_rbx);
	stage__set_word(SP + 48, 16); /* nothing there */
	EXPECT(SP, 0, AS_END_NO_PROGRESS, saves, saves, keeps, by_rbx);
	/* Nobody saved it: the register. */
	stage__set_word(SP, keeps);
	stage__set_word(SP + 16, by_rbx);
	stage__set_word(SP + 0x710, end);
	EXPECT(SP, 0, AS_END_COMPLETE, keeps, by_rbx, end);
	hit_bx = 0;
	EXPECT(SP, 0, AS_END_NO_PROGRESS, keeps, by_rbx);
	/* Lost, then saved by a caller, which had it. */
	stage__set_word(SP, loses);
	EXPECT(SP, 0, AS_END_UNSUPPORTED, loses, by_rbx);
	stage__set_word(SP + 16, saves);
	stage__set_word(SP + 32, SP + 0x100);
	stage__set_word(SP + 48, by_rbx);
	stage__set_word(SP + 0x110, end);
	EXPECT(SP, 0, AS_END_COMPLETE, loses, saves, by_rbx, end);
	/* Code that is walked by its frame pointer may have saved it anywhere. */
	host__add_vma(jit & ~0xfffull, (jit & ~0xfffull) + 0x1000, 0, VM_EXEC, NULL);
	stage__set_word(SP, jit);
	stage__set_word(SP + 72, by_rbx);
	CHECK_EQ(walk(SP, SP + 64)->end, AS_END_UNSUPPORTED);
	CHECK_EQ(walk(SP, SP + 64)->frame_cnt, 3);
	/* The kernel saved the one of interrupted code. */
	stage__set_word(SP, handler);
	stage__set_word(SP + 16, restorer);
	sigframe__set(stage__word(SP + 24), by_rbx, SP + 0x700, 0);
	*stage__word(SP + 24 + 40 + 11 * 8) = SP + 0x720; /* gregs[REG_RBX] */
	stage__set_word(SP + 0x730, end);
	EXPECT(SP, 0, AS_END_COMPLETE, handler, restorer, by_rbx, end);
}

/* ---- return probes ---- */

static void return_probe__test(void)
{
	u64 a, b, end;

	scene__init();
	a = fn_rsp(24);
	b = fn_rsp(8);
	end = fn_end();
	table__set();
	stage__set_word(SP, a);
	stage__set_word(SP + 24, b);
	stage__set_word(SP + 32, a);
	stage__set_word(SP + 56, end);
	stage__probe_return(SP + 56); /* outermost first, as they are called */
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a, end);
	stage__probe_return(SP + 32);
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a, end);
	stage__probe_return(SP); /* of one that has jumped to the allocator */
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a, end);
	stage__probe_return(SP); /* ... by another one */
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a, end);
	/* An entry that longjmp(3) has left behind, below where a newer one was made. */
	stage.returns[2].orig_ret_vaddr = b;
	EXPECT(SP, 0, AS_END_COMPLETE, a, b, a, end);
	/* One that the kernel doesn't know: the word was copied to here. */
	stage__set_word(SP + 24, TRAMPOLINE);
	EXPECT(SP, 0, AS_END_UNSUPPORTED, a);
	stage__set_word(SP + 24, b);
	stage.mm.uprobes_state.xol_area = NULL; /* the address alone is nothing */
	CHECK_EQ(walk(SP, 0)->frame_cnt, 1);
	CHECK_EQ(host__losses(), 0);
	stage.mm.uprobes_state.xol_area = &stage.xol;
	host.no_trampoline = true;
	CHECK_EQ(walk(SP, 0)->end, AS_END_NO_TABLE);
	host.no_trampoline = false;
	stage.task.utask = NULL;
	CHECK_EQ(walk(SP, 0)->end, AS_END_UNSUPPORTED);
	CHECK_EQ(host__loss(AS_LOSS_CALLER_UNREADABLE), 1);
}

/* As many as the kernel allows, and one more, which it would not have made. */
static void return_probes__test(void)
{
	u64 a, end;
	const struct as_stack_event *ev;

	scene__init();
	a = fn_rsp(16);
	end = fn_end();
	table__set();
	for (u32 i = 0; i < 70; i++)
		stage__set_word(SP + i * 16, i == 69 ? end : a);
	for (u32 i = 65; i-- > 1;)
		stage__probe_return(SP + i * 16);
	ev = walk(SP, 0);
	CHECK_EQ(ev->end, AS_END_COMPLETE);
	CHECK_EQ(ev->frame_cnt, 71);
	for (u32 i = 1; i < 70; i++)
		CHECK_EQ(ev->frames[i].off, a + stage.app.bias);
	stage__probe_return(SP);
	CHECK_EQ(walk(SP, 0)->end, AS_END_UNSUPPORTED); /* the oldest isn't looked for */
	CHECK_EQ(walk(SP, 0)->frame_cnt, 65);
}

/* Where a frame pointer leads, too: what follows a call is the address that was there. */
static void return_probe_by_fp__test(void)
{
	u64 a = app__ip(0x500), b = app__ip(0x600);

	scene__init();
	stage__set_word(SP, a);
	stage__set_word(SP + 64, 0);
	stage__set_word(SP + 72, b);
	stage__probe_return(SP + 72);
	EXPECT(SP, SP + 64, AS_END_NO_TABLE, a, b);
}

/* ---- frame pointers ---- */

static void frame_pointer__test(void)
{
	u64 a = app__ip(0x500), b = app__ip(0x600), c = app__ip(0x700);

	scene__init();
	stage__set_word(SP, a);
	stage__set_word(SP + 64, SP + 128);
	stage__set_word(SP + 72, b);
	stage__set_word(SP + 128, 0);
	stage__set_word(SP + 136, c);
	EXPECT(SP, SP + 64, AS_END_NO_TABLE, a, b, c);
	EXPECT(SP, 0, AS_END_NO_TABLE, a);
	EXPECT(SP, SP, AS_END_NO_TABLE, a);	 /* below the frame */
	EXPECT(SP, SP + 68, AS_END_NO_TABLE, a); /* not aligned */
	EXPECT(SP, STACK_HIGH, AS_END_NO_TABLE, a);
	EXPECT(SP, STACK_HIGH - 8, AS_END_NO_TABLE, a);
	EXPECT(SP, -8ull, AS_END_NO_TABLE, a);
	EXPECT(SP, -16ull, AS_END_NO_TABLE, a);
	EXPECT(SP, STACK_HIGH - 16, AS_END_NO_TABLE, a); /* inside, and 0 */
	stage__set_word(SP + 128, SP + 64);		 /* goes back */
	EXPECT(SP, SP + 64, AS_END_NO_TABLE, a, b, c);
	stage__set_word(SP + 136, 1); /* not code */
	EXPECT(SP, SP + 64, AS_END_NO_TABLE, a, b);
	/* What can't be a frame pointer isn't even tried: that would fault. */
	host.reads = 0;
	walk(SP, -8ull);
	CHECK_EQ(host.reads, 1);
}

/* A frame pointer is one only beside the address after a call; and it helps in a file's gaps, too.
 */
static void follows_call__test(void)
{
	static const struct {
		u8 code[8];
		bool call;
	} cases[] = {
		{ { 0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4 }, true },	      /* rel32 */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, true }, /* *rax */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd3 }, true }, /* *r11 */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18 }, true }, /* *24(rax) */
		{ { 0x90, 0x90, 0xff, 0x15, 0x10, 0x20, 0x30, 0x40 }, true }, /* *GOT(rip) */
		{ { 0x90, 0xff, 0x94, 0xc7, 0x10, 0x20, 0x30, 0x40 },
		  true },					   /* *disp32(rdi,rax,8) */
		{ { 0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4 }, false }, /* jmp */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, false }, /* jmp *rax */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, false },
	};
	u64 a = app__ip(0x500), b = app__ip(0x600);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scene__init();
		memcpy(&stage.text[0x600 - 8], cases[i].code, 8);
		stage__set_word(SP, a);
		stage__set_word(SP + 64, 0);
		stage__set_word(SP + 72, b);
		if (cases[i].call)
			EXPECT(SP, SP + 64, AS_END_NO_TABLE, a, b);
		else
			EXPECT(SP, SP + 64, AS_END_NO_TABLE, a);
	}
	scene__init();
	u64 end = fn_end(), gap = fn_of(AS_RULE_GAP);

	table__set();
	stage__set_word(SP, gap);
	stage__set_word(SP + 64, 0);
	stage__set_word(SP + 72, end);
	EXPECT(SP, SP + 64, AS_END_COMPLETE, gap, end);
	EXPECT(SP, 0, AS_END_GAP, gap);
}

/* The return address that makecontext(3) makes up is the first byte of a function behind a gap. */
static void first_byte__test(void)
{
	u64 first;

	scene__init();
	fn_of(AS_RULE_GAP);
	first = fn_end() - 0x25;
	table__set();
	stage__set_word(SP, first);
	EXPECT(SP, 0, AS_END_COMPLETE, first);
	stage__set_word(SP, first - 1);
	EXPECT(SP, 0, AS_END_GAP, first - 1);
}

static void mixed__test(void)
{
	u64 a, jit = 0x7e0000000040ull, end;
	const struct as_stack_event *ev;

	scene__init();
	a = fn((struct as_rule){
		.cfa_kind = AS_CFA_RBP, .cfa_off = 16, .fp_kind = AS_FP_CFA, .fp_off = -16 });
	end = fn_end();
	table__set();
	host__add_vma(jit & ~0xfffull, (jit & ~0xfffull) + 0x1000, 0, VM_EXEC, NULL);
	memset(host__add_memory(jit & ~0xfffull, 0x1000), 0xe8, 0x1000);
	stage__set_word(SP, a);
	stage__set_word(SP + 64, SP + 128);
	stage__set_word(SP + 72, jit);
	stage__set_word(SP + 128, SP + 256);
	stage__set_word(SP + 136, end);
	ev = walk(SP, SP + 64);
	CHECK_EQ(ev->end, AS_END_COMPLETE);
	CHECK_EQ(ev->frame_cnt, 4);
	CHECK_EQ(ev->frames[2].file, 0);
	CHECK_EQ(ev->frames[2].off, jit);
	CHECK_EQ(ev->frames[3].off, end + stage.app.bias);
	stage__set_word(SP + 64, 0);
	CHECK_EQ(walk(SP, SP + 64)->end, AS_END_ANONYMOUS);
}

/* Code without a file is the same only in the same process; code of files is the same everywhere.
 */
static void process__test(void)
{
	u64 jit = 0x7e0000000040ull, in_file, in_jit;

	scene__init();
	host__add_vma(jit & ~0xfffull, (jit & ~0xfffull) + 0x1000, 0, VM_EXEC, NULL);
	memset(host__add_memory(jit & ~0xfffull, 0x1000), 0xe8, 0x1000);
	stage__set_word(SP, app__ip(0x500));
	in_file = walk(SP, 0)->id;
	stage__set_word(SP, jit);
	in_jit = walk(SP, 0)->id;
	stage.task.self_exec_id++;
	CHECK(walk(SP, 0)->id != in_jit);
	stage__set_word(SP, app__ip(0x500));
	CHECK_EQ(walk(SP, 0)->id, in_file);
}

int main(void)
{
	rsp__test();
	rbp__test();
	deref__test();
	plt__test();
	sigframe__test();
	return_address__test();
	ends__test();
	no_progress__test();
	lost_rbp__test();
	depth__test();
	rbx__test();
	return_probe__test();
	return_probes__test();
	return_probe_by_fp__test();
	frame_pointer__test();
	follows_call__test();
	first_byte__test();
	mixed__test();
	process__test();
	host__reset();
	return check__done();
}
