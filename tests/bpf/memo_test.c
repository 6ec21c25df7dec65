/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A memo may say what a walk would find only where nothing that the walk depended on has changed.
 * Thousands of random stacks are hit, changed in one thing, and hit again; the second hit must be
 * counted for the stack that a walk from scratch finds. A second, simple walker says what that is.
 */
#include "stage.h"
#include "../unit/check.h"

#define SP	  (STACK_HIGH - 0x4000)
#define FN_CNT	  48
#define FN_FIRST  0x1000
#define FN_SIZE	  0x100
#define WORDS	  400 /* of random stack above SP */
#define LIB_TEXT  0x7f1000000000ull
#define JIT_TEXT  0x7e0000000000ull
#define ROUNDS	  6000
#define MODEL_MAX 512

static struct stage_file lib;
static struct as_rule fn_rules[FN_CNT];
static u64 seed;
static u64 hit_bx;	  /* rbx at the hits */
static u64 hidden[WORDS]; /* from the words at SP, by return probes */

#define BX_LIVE 0
#define BX_LOST 1

static u64 draw(u64 below)
{
	return host__random(&seed) % below;
}

static struct as_rule random__rule(void)
{
	static const u8 fps[] = { AS_FP_SAME, AS_FP_SAME, AS_FP_CFA,
				  AS_FP_CFA,  AS_FP_RBP,  AS_FP_UNDEF };
	struct as_rule r = { .cfa_kind = AS_CFA_RSP, .fp_kind = fps[draw(ARRAY_SIZE(fps))] };
	u64 kind = draw(32);

	r.fp_off = r.fp_kind == AS_FP_RBP ? 8 * (s32)draw(3) : -8 * (s32)(2 + draw(3));
	r.cfa_off = 8 * (1 + (s32)draw(7));
	r.bx_off = draw(3) ? AS_BX_SAME : draw(6) ? -8 * (s32)(2 + draw(3)) : AS_BX_LOST;
	if (kind < 3) {
		r.cfa_kind = AS_CFA_RBP;
	} else if (kind < 5) {
		r.cfa_kind = kind == 3 ? AS_CFA_DEREF_RBP : AS_CFA_DEREF_RSP;
		r.aux = 8 * draw(2);
	} else if (kind == 5) {
		r.cfa_kind = AS_CFA_PLT;
		r.aux = 11;
	} else if (kind == 6) {
		r.cfa_kind = AS_CFA_SIGFRAME;
	} else if (kind == 7) {
		r.cfa_off =
			1000 + 8 * (s32)draw(200); /* a frame as large as what is read at a time */
	} else if (kind == 8) {
		r.cfa_kind = AS_CFA_RBX;
	}
	return r;
}

static void scene__init(void)
{
	struct unwind_row rows[FN_CNT];

	stage__init();
	stage_file__map(&lib, 30, LIB_TEXT, TEXT_SIZE, 0);
	host__add_vma(JIT_TEXT, JIT_TEXT + TEXT_SIZE, 0, VM_EXEC, NULL);
	for (u32 i = 0; i < FN_CNT; i++) {
		u16 rule = i; /* the first are the fixed ones */

		if (i > AS_RULE_UNSUPPORTED)
			rule = stage__rule(random__rule());
		fn_rules[i] = stage.rules[rule];
		rows[i] = (struct unwind_row){ .off = FN_FIRST + i * FN_SIZE, .rule = rule };
	}
	stage_file__set_table(&stage.app, 0, rows, FN_CNT);
	stage.xol.vaddr = TRAMPOLINE;
	stage.mm.uprobes_state.xol_area = &stage.xol;
}

/* What a stack holds: return addresses mostly, frame pointers, anything. */
static u64 random__word(void)
{
	u64 kind = draw(100);

	if (kind < 84)
		return app__ip(FN_FIRST + draw(FN_CNT * FN_SIZE));
	if (kind < 86)
		return LIB_TEXT + draw(TEXT_SIZE);
	if (kind < 87)
		return JIT_TEXT + draw(TEXT_SIZE);
	if (kind < 88)
		return TRAMPOLINE;
	if (kind < 97)
		return SP + 8 * draw(WORDS + 20);
	return kind == 97 ? 0 : kind == 98 ? draw(1000) : host__random(&seed);
}

/* ---- the simple walker ---- */

struct model {
	struct as_frame frames[MODEL_MAX];
	u32 cnt;
	u32 end;
};

static const struct vm_area_struct *model__vma(u64 addr)
{
	for (u32 i = 0; i < host.vma_cnt; i++) {
		if (addr >= host.vma[i].vm_start && addr < host.vma[i].vm_end)
			return &host.vma[i];
	}
	return NULL;
}

/* False: no code there. lookup is the address that the mapping must hold. */
static bool model__frame(struct model *m, u64 ip, u64 lookup)
{
	const struct vm_area_struct *v = model__vma(lookup);
	struct as_frame f = { .off = ip };

	if (!v || !(v->vm_flags & VM_EXEC)) {
		m->end = AS_END_NO_TABLE;
		return false;
	}
	if (v->vm_file) {
		f.file = v->vm_file == &stage.alloc.file ? stage.alloc.hash
			 : v->vm_file == &lib.file	 ? lib.hash
							 : stage.app.hash;
		f.off = ip - v->vm_start + (v->vm_pgoff << 12);
	}
	if (lookup == ip && m->cnt)
		f.off |= AS_FRAME_EXACT;
	m->frames[m->cnt++] = f;
	return true;
}

static bool model__read(struct model *m, u64 addr, u64 *to)
{
	const void *at = host__user(addr, 8);

	if (!at)
		m->end = AS_END_READ_FAULT;
	else
		memcpy(to, at, sizeof(*to));
	return at;
}

struct regs {
	u64 ip;
	u64 sp;
	u64 bp;
	u64 bx_at;  /* where its rbx is saved */
	bool exact; /* ip is no return address */
};

static bool model__up(struct model *m, struct regs *r, u64 ip, u64 sp, u64 bp)
{
	*r = (struct regs){ .ip = ip, .sp = sp, .bp = bp, .bx_at = r->bx_at };
	return model__frame(m, ip, ip - 1);
}

/* A return address. What return probes have hidden is the test's own book. */
static bool model__return(struct model *m, u64 addr, u64 *to)
{
	if (!model__read(m, addr, to))
		return false;
	if (*to == TRAMPOLINE) {
		m->end = AS_END_UNSUPPORTED;
		*to = addr >= SP && addr - SP < sizeof(hidden) ? hidden[(addr - SP) / 8] : 0;
		return *to;
	}
	return true;
}

/* Text of the program is all E8 here, so every address in it follows a call; elsewhere there is no
 * text to read. */
static bool model__follows_call(u64 ra)
{
	return host__user(ra - 8, 8) && ra - 8 >= APP_TEXT && ra <= APP_TEXT + TEXT_SIZE;
}

static bool model__by_rbp(struct model *m, struct regs *r, u32 end)
{
	const struct vm_area_struct *stack_vma = model__vma(r->sp);
	u64 bp, ra;

	m->end = end;
	if (r->bp < r->sp || r->bp & 7 || !stack_vma || r->bp >= stack_vma->vm_end - 15)
		return false;
	if (!model__read(m, r->bp, &bp) || !model__return(m, r->bp + 8, &ra) || !ra ||
	    !model__follows_call(ra))
		return false;
	r->bx_at = BX_LOST;
	return model__up(m, r, ra, r->bp + 16, bp);
}

static bool model__by_signal(struct model *m, struct regs *r)
{
	u64 uc = r->sp;

	r->exact = true;
	r->bx_at = uc + 128;
	return model__read(m, uc + 120, &r->bp) && model__read(m, uc + 160, &r->sp) &&
	       model__read(m, uc + 168, &r->ip) && model__frame(m, r->ip, r->ip);
}

static bool model__cfa(struct model *m, const struct regs *r, const struct as_rule *rule, u64 *cfa)
{
	u64 bx = hit_bx;
	u64 from =
		rule->cfa_kind == AS_CFA_RSP || rule->cfa_kind == AS_CFA_DEREF_RSP ? r->sp : r->bp;

	*cfa = from + rule->cfa_off;
	if (rule->cfa_kind == AS_CFA_RBX) {
		m->end = AS_END_UNSUPPORTED;
		if (r->bx_at == BX_LOST || (r->bx_at != BX_LIVE && !model__read(m, r->bx_at, &bx)))
			return false;
		*cfa = bx + rule->cfa_off;
	}
	if (rule->cfa_kind == AS_CFA_PLT)
		*cfa = r->sp + ((r->ip & 15) >= rule->aux ? 16 : 8);
	if (rule->cfa_kind == AS_CFA_DEREF_RBP || rule->cfa_kind == AS_CFA_DEREF_RSP) {
		if (!model__read(m, *cfa, cfa))
			return false;
		*cfa += rule->aux;
	}
	m->end = AS_END_NO_PROGRESS;
	return *cfa > r->sp && !(*cfa & 7);
}

static bool model__by_rule(struct model *m, struct regs *r, const struct as_rule *rule)
{
	u64 cfa, ra, bp = rule->fp_kind == AS_FP_UNDEF ? 0 : r->bp;

	if (!model__cfa(m, r, rule, &cfa) || !model__return(m, cfa - 8, &ra))
		return false;
	if (rule->fp_kind == AS_FP_CFA && !model__read(m, cfa + rule->fp_off, &bp))
		return false;
	if (rule->fp_kind == AS_FP_RBP && !model__read(m, r->bp + rule->fp_off, &bp))
		return false;
	m->end = AS_END_COMPLETE;
	if (rule->bx_off != AS_BX_SAME)
		r->bx_at = rule->bx_off == AS_BX_LOST ? BX_LOST : cfa + rule->bx_off;
	return ra && model__up(m, r, ra, cfa, bp);
}

static bool model__step(struct model *m, struct regs *r)
{
	const struct vm_area_struct *v = model__vma(r->ip - !r->exact);
	u64 at = r->ip - !r->exact - APP_TEXT;
	struct as_rule rule = {};

	if (v->vm_file != &stage.app.file)
		return model__by_rbp(m, r, v->vm_file ? AS_END_NO_TABLE : AS_END_ANONYMOUS);
	if (at >= FN_FIRST) /* the last function's rule holds for as long as a row can */
		rule = fn_rules[MIN((at - FN_FIRST) / FN_SIZE, FN_CNT - 1)];
	switch (rule.cfa_kind) {
	case AS_CFA_GAP:
		return model__by_rbp(m, r, AS_END_GAP);
	case AS_CFA_END:
		m->end = AS_END_COMPLETE;
		return false;
	case AS_CFA_UNSUPPORTED:
		m->end = AS_END_UNSUPPORTED;
		return false;
	case AS_CFA_SIGFRAME:
		return model__by_signal(m, r);
	default:
		return model__by_rule(m, r, &rule);
	}
}

static void model__walk(struct model *m, u64 sp, u64 bp)
{
	struct regs r = { .bx_at = BX_LIVE };
	u64 ra;

	m->cnt = 0;
	model__frame(m, ALLOC_TEXT + 0x100, ALLOC_TEXT + 0x100);
	if (!model__return(m, sp, &ra) || !model__up(m, &r, ra, sp + 8, bp))
		return;
	while (model__step(m, &r)) {
		if (m->cnt == MODEL_MAX) {
			m->end = AS_END_TRUNCATED;
			return;
		}
	}
}

/* ---- hits ---- */

static void hit(u64 ip, u64 sp, u64 bp)
{
	struct pt_regs regs = { .ip = ip, .sp = sp, .bp = bp, .bx = hit_bx, .di = 64 };

	stage__call(COOKIE(1) | COOKIE_SIZE_ARG(1), &regs);
}

/* The stack that one hit is counted for. */
static u64 id_of(u64 ip, u64 sp, u64 bp)
{
	struct stage_sum sum;

	hit(ip, sp, bp);
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 1);
	CHECK_EQ(sum.rows, 1);
	return sum.key.stack;
}

static u32 ends[AS_END_NO_PROGRESS + 1], deepest;

static void check__model(u64 id, u64 sp, u64 bp)
{
	const struct as_stack_event *ev = stage__find_stack(id);
	static struct model m;

	model__walk(&m, sp, bp);
	CHECK(ev);
	if (!ev)
		return;
	CHECK_EQ(ev->end, m.end);
	CHECK_EQ(ev->frame_cnt, m.cnt);
	for (u32 i = 0; i < MIN(m.cnt, ev->frame_cnt); i++)
		CHECK(!memcmp(&ev->frames[i], &m.frames[i], sizeof(m.frames[i])));
	ends[MIN(m.end, (u32)AS_END_NO_PROGRESS)]++;
	deepest = MAX(deepest, m.cnt);
}

struct shot {
	u64 ip;
	u64 sp;
	u64 bp;
};

static void change_mapping(void)
{
	struct vm_area_struct *v = &host.vma[draw(host.vma_cnt)];

	stage.mm.lock_seq += 2;
	if (v->vm_file != &lib.file && v->vm_file != NULL)
		return;
	if (v->vm_flags & VM_EXEC)
		v->vm_pgoff ^= 16; /* another part of the file, or another file */
}

/* A return probe on a function whose return address is there. */
static void add_return_probe(u64 word)
{
	u64 at = SP + 8 * word;

	if (stage.return_cnt == TRAMPOLINE_DEPTH || *stage__word(at) == TRAMPOLINE)
		return;
	hidden[word] = *stage__word(at);
	stage__probe_return(at);
}

/* A function with a return probe is called again, by another one: the stack looks the same. */
static void change_caller(void)
{
	struct return_instance *ri = stage.utask.return_instances;

	for (u64 n = draw(8); n && ri && ri->next; n--)
		ri = ri->next;
	if (!ri)
		return;
	hidden[(ri->stack - SP) / 8] = random__word();
	for (u32 i = 0; i < stage.return_cnt; i++) {
		if (stage.returns[i].stack == ri->stack)
			stage.returns[i].orig_ret_vaddr = hidden[(ri->stack - SP) / 8];
	}
}

static void drop_return_probes(void)
{
	stage.return_cnt = 0;
	stage.utask.return_instances = NULL;
	memset(hidden, 0, sizeof(hidden));
}

/* Changes one thing. */
static void mutate(struct shot *s)
{
	switch (draw(13)) {
	case 0:
		s->bp = random__word();
		return;
	case 1:
		s->sp = SP + 8 * draw(4);
		return;
	case 2:
		change_mapping();
		return;
	case 3:
		stage.task.self_exec_id++;
		return;
	case 4:
		return; /* nothing */
	case 5:
		hit_bx = SP + 8 * draw(WORDS);
		return;
	case 6:
	case 7:
		add_return_probe(draw(draw(4) ? 12 : 300));
		return;
	case 8:
		change_caller();
		return;
	default:
		stage__set_word(SP + 8 * draw(draw(2) ? 40 : 300), random__word());
	}
}

static void random__test(void)
{
	struct shot s = { .ip = ALLOC_TEXT + 0x100, .sp = SP, .bp = 0 };
	u64 got, fresh;

	seed = 3;
	scene__init();
	for (u32 i = 0; i < ROUNDS && check_failures < 5; i++) {
		if (i % 40 == 0) {
			drop_return_probes();
			for (u32 w = 0; w < WORDS; w++)
				stage__set_word(SP + w * 8, random__word());
		}
		hit(s.ip, s.sp, s.bp);
		stage__take_sums();
		mutate(&s);
		got = id_of(s.ip, s.sp, s.bp);
		stage__forget();
		fresh = id_of(s.ip, s.sp, s.bp);
		CHECK_EQ(got, fresh);
		check__model(fresh, s.sp, s.bp);
		host_map__clear(host_map__of(&seen));
		host_ring__consume();
	}
	/* The test reaches what it is for. */
	for (u32 i = 0; i <= AS_END_NO_PROGRESS; i++)
		CHECK(ends[i] > 20 || i == AS_END_TRUNCATED || i == AS_END_BUSY);
	CHECK(deepest >= 10);
	printf("%u stacks, deepest %u frames; ends:", ROUNDS, deepest);
	for (u32 i = 0; i <= AS_END_NO_PROGRESS; i++)
		printf(" %u", ends[i]);
	printf("\n");
}

/* Each register and each word alone: the memo serves as long as nothing changes, and only then. */
static void serves__test(void)
{
	u64 walks;

	seed = 4;
	scene__init();
	stage__set_word(SP, app__ip(FN_FIRST + FN_SIZE * AS_RULE_END + 5));
	hit(ALLOC_TEXT + 0x100, SP, 0);
	walks = host.vma_calls;
	host.reads = 0;
	for (u32 i = 0; i < 10; i++)
		hit(ALLOC_TEXT + 0x100, SP, i); /* rbp isn't used in this walk */
	CHECK_EQ(host.vma_calls, walks);
	CHECK_EQ(host.reads, 10);
	stage.mm.lock_seq++; /* a writer is inside: nothing is sure */
	for (u32 i = 0; i < 3; i++) {
		hit(ALLOC_TEXT + 0x100, SP, 0);
		CHECK(host.vma_calls > walks);
		walks = host.vma_calls;
	}
	stage.mm.lock_seq++;
	host.no_lock_seq = true; /* before 6.13: nothing outlives a sample */
	for (u32 i = 0; i < 3; i++) {
		hit(ALLOC_TEXT + 0x100, SP, 0);
		CHECK(host.vma_calls > walks);
		walks = host.vma_calls;
	}
	CHECK_EQ(stage__take_sums().cnt, 17);
}

/* Words at and around the end of what a memo can check: the return address there is 0, then a
 * frame. */
static void border__test(void)
{
	u64 first, second, end, far;
	struct unwind_row rows[2];

	for (u32 word = 240; word < 270; word++) {
		stage__init();
		rows[0].off = 0x1000;
		rows[0].rule = stage__rule(
			(struct as_rule){ .cfa_kind = AS_CFA_RSP, .cfa_off = word * 8 });
		rows[1] = (struct unwind_row){ .off = 0x1100, .rule = AS_RULE_END };
		stage_file__set_table(&stage.app, 0, rows, 2);
		far = app__ip(0x1020);
		end = app__ip(0x1120);
		stage__set_word(SP, far);
		stage__set_word(SP + word * 8, 0);
		for (u32 i = 0; i < 3; i++)
			first = id_of(ALLOC_TEXT + 0x100, SP, 0);
		stage__set_word(SP + word * 8, end);
		second = id_of(ALLOC_TEXT + 0x100, SP, 0);
		CHECK(first != second);
		CHECK_EQ(stage__find_stack(first)->frame_cnt, 2);
		CHECK_EQ(stage__find_stack(second)->frame_cnt, 3);
	}
}

/* More words than a memo has room for: walked every time, and rightly. */
static void many__test(void)
{
	struct unwind_row rows[2];
	u64 first, second;

	stage__init();
	rows[0].off = 0x1000;
	rows[0].rule = stage__rule((struct as_rule){ .cfa_kind = AS_CFA_RSP, .cfa_off = 8 });
	rows[1] = (struct unwind_row){ .off = 0x1100, .rule = AS_RULE_END };
	stage_file__set_table(&stage.app, 0, rows, 2);
	for (u32 depth = AS_MEMO_CHECKS - 3; depth < AS_MEMO_CHECKS + 3; depth++) {
		for (u32 i = 0; i < depth; i++)
			stage__set_word(SP + i * 8, app__ip(0x1020));
		stage__set_word(SP + depth * 8, app__ip(0x1120));
		for (u32 i = 0; i < 3; i++)
			first = id_of(ALLOC_TEXT + 0x100, SP, 0);
		stage__set_word(SP + depth * 8, app__ip(0x1130));
		second = id_of(ALLOC_TEXT + 0x100, SP, 0);
		CHECK(first != second);
		CHECK_EQ(stage__find_stack(first)->frame_cnt, depth + 2);
		CHECK_EQ(stage__find_stack(second)->frame_cnt, depth + 2);
	}
}

/* ---- a locked address space ---- */

/* Every look-up of a walk in turn meets the lock: the walk says so, and the next one is whole. */
static void busy__test(void)
{
	u64 whole, got;

	seed = 5;
	for (u32 n = 1; n < 12; n++) {
		scene__init();
		stage__set_word(SP, LIB_TEXT + 0x500); /* no rows: by the frame pointer, inside the
							  stack's mapping */
		stage__set_word(SP + 64, 0);
		stage__set_word(SP + 72, app__ip(FN_FIRST + FN_SIZE * AS_RULE_END + 5));
		host.busy_at = n;
		got = id_of(ALLOC_TEXT + 0x100, SP, SP + 64);
		whole = id_of(ALLOC_TEXT + 0x100, SP, SP + 64);
		CHECK_EQ(stage__find_stack(whole)->end, AS_END_COMPLETE);
		CHECK(got == whole || stage__find_stack(got)->end == AS_END_BUSY);
	}
}

/* What was known serves while the lock is held. Should it have been wrong, that's a loss, and
 * doesn't last. */
static void stale__test(void)
{
	u64 before, stale, after;

	seed = 6;
	scene__init();
	stage__set_word(SP, LIB_TEXT + 0x500);
	before = id_of(ALLOC_TEXT + 0x100, SP, 0);
	host.busy = true;
	stage.mm.lock_seq += 2;
	stale = id_of(ALLOC_TEXT + 0x100, SP, 0);
	CHECK_EQ(stale, before);
	for (u32 i = 0; i < host.vma_cnt; i++)
		host.vma[i].vm_pgoff += host.vma[i].vm_file == &lib.file ? 16 : 0;
	host.busy = false;
	after = id_of(ALLOC_TEXT + 0x100, SP, 0); /* of the same generation as the stale walk */
	CHECK(after != before);
	CHECK_EQ(host__loss(AS_LOSS_STALE_MAPPING), 1);
}

int main(void)
{
	random__test();
	serves__test();
	border__test();
	many__test();
	busy__test();
	stale__test();
	host__reset();
	return check__done();
}
