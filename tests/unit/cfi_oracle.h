/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The outside truth for unwind tables: libdw. Both answers are evaluated on the same made-up
 * registers and memory (a hash of the address), so "equal" means that a walk would go to the same
 * place, however the two spell it.
 */
#ifndef TESTS_UNIT_CFI_ORACLE_H
#define TESTS_UNIT_CFI_ORACLE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "unwind/table.h"

enum place_kind {
	PLACE_NONE,  /* no CFI */
	PLACE_END,   /* the return address is undefined */
	PLACE_OTHER, /* something the evaluator below doesn't know, or CFI that is refused */
	PLACE_CALLER,
};

struct place {
	enum place_kind kind;
	u64 cfa;
	u64 ra;
	u64 bp;
	bool bp_lost;
	u64 bx;
	bool bx_lost; /* never by libdw, see oracle__find */
};

struct machine {
	u64 sp, bp, bx, ip;
};

static inline u64 machine__read(u64 addr)
{
	return (addr ^ addr >> 29) * 0xbf58476d1ce4e5b9ull ^ 0x123456789abcdef0ull;
}

static inline u64 machine__reg(const struct machine *m, u64 reg)
{
	switch (reg) {
	case 3:
		return m->bx;
	case 6:
		return m->bp;
	case 7:
		return m->sp;
	case 16:
		return m->ip;
	default:
		return machine__read(0xdead0000 + reg); /* a rule can't know it */
	}
}

struct eval {
	const struct machine *m;
	u64 cfa;
	u64 stack[16];
	int depth;
	bool is_value; /* DW_OP_stack_value: not an address */
};

static inline bool eval__binary(struct eval *e, u8 op)
{
	u64 b, a;

	if (e->depth < 2)
		return false;
	b = e->stack[--e->depth];
	a = e->stack[--e->depth];
	switch (op) {
	case DW_OP_plus:
		a += b;
		break;
	case DW_OP_minus:
		a -= b;
		break;
	case DW_OP_and:
		a &= b;
		break;
	case DW_OP_shl:
		a <<= b & 63;
		break;
	case DW_OP_ge:
		a = (s64)a >= (s64)b;
		break;
	default:
		return false;
	}
	e->stack[e->depth++] = a;
	return true;
}

static inline bool eval__op(struct eval *e, const Dwarf_Op *op)
{
	u64 val;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		val = machine__reg(e->m, op->atom - DW_OP_breg0) + op->number;
	else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		val = op->atom - DW_OP_lit0;
	else if (op->atom == DW_OP_bregx)
		val = machine__reg(e->m, op->number) + op->number2;
	else if (op->atom == DW_OP_call_frame_cfa)
		val = e->cfa;
	else if (op->atom == DW_OP_stack_value) {
		e->is_value = true;
		return true;
	} else if (op->atom == DW_OP_plus_uconst && e->depth) {
		e->stack[e->depth - 1] += op->number;
		return true;
	} else if (op->atom == DW_OP_deref && e->depth) {
		e->stack[e->depth - 1] = machine__read(e->stack[e->depth - 1]);
		return true;
	} else
		return eval__binary(e, op->atom);
	if (e->depth == 16)
		return false;
	e->stack[e->depth++] = val;
	return true;
}

static inline bool eval__run(struct eval *e, const Dwarf_Op *ops, size_t cnt)
{
	e->depth = 0;
	e->is_value = false;
	for (size_t i = 0; i < cnt; i++)
		if (!eval__op(e, &ops[i]))
			return false;
	return e->depth > 0;
}

/* A register of the caller. 1 found, 0 undefined, -1 not known to the evaluator. */
static inline int oracle__reg(Dwarf_Frame *frame, struct eval *e, int reg, u64 *val)
{
	Dwarf_Op mem[3], *ops;
	size_t cnt;

	if (dwarf_frame_register(frame, reg, mem, &ops, &cnt))
		return -1;
	if (!cnt && ops == mem)
		return 0;
	if (!cnt) { /* the same value */
		*val = machine__reg(e->m, reg);
		return 1;
	}
	if (cnt == 1 && (ops[0].atom == DW_OP_regx ||
			 (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31))) {
		*val = machine__reg(e->m, ops[0].atom == DW_OP_regx
						  ? ops[0].number
						  : (u64)(ops[0].atom - DW_OP_reg0));
		return 1;
	}
	if (!eval__run(e, ops, cnt))
		return -1;
	*val = e->is_value ? e->stack[e->depth - 1] : machine__read(e->stack[e->depth - 1]);
	return 1;
}

/*
 * Where libdw goes from an address. A register that no instruction names is undefined to it unless
 * the psABI saves it, and its list of those has rax in place of rbx (backends/x86_64_cfi.c).
 */
static inline struct place oracle__find(Dwarf_CFI *cfi, const struct machine *m)
{
	struct eval e = { .m = m };
	struct place p = { .kind = PLACE_OTHER };
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t cnt;
	int ra, bp, bx;

	if (dwarf_cfi_addrframe(cfi, m->ip, &frame)) {
		p.kind = PLACE_NONE;
		return p;
	}
	if (!dwarf_frame_cfa(frame, &ops, &cnt) && eval__run(&e, ops, cnt)) {
		e.cfa = p.cfa = e.stack[e.depth - 1];
		ra = oracle__reg(frame, &e, 16, &p.ra);
		bp = oracle__reg(frame, &e, 6, &p.bp);
		bx = oracle__reg(frame, &e, 3, &p.bx);
		p.bp_lost = !bp;
		if (!bx)
			p.bx = m->bx;
		if (!ra)
			p.kind = PLACE_END;
		else if (ra > 0 && bp >= 0 && bx >= 0)
			p.kind = PLACE_CALLER;
	}
	free(frame);
	return p;
}

static inline void rule__fp(const struct as_rule *r, const struct machine *m, struct place *p)
{
	p->bp = m->bp;
	if (r->fp_kind == AS_FP_CFA)
		p->bp = machine__read(p->cfa + r->fp_off);
	else if (r->fp_kind == AS_FP_RBP)
		p->bp = machine__read(m->bp + r->fp_off);
	p->bp_lost = r->fp_kind == AS_FP_UNDEF;
}

static inline void rule__bx(const struct as_rule *r, const struct machine *m, struct place *p)
{
	p->bx = r->bx_off == AS_BX_SAME ? m->bx : machine__read(p->cfa + r->bx_off);
	p->bx_lost = r->bx_off == AS_BX_LOST;
}

/* Where the walker goes by a rule, as abi.h says. */
static inline struct place rule__apply(const struct as_rule *r, const struct machine *m)
{
	struct place p = { .kind = PLACE_CALLER };

	switch (r->cfa_kind) {
	case AS_CFA_RSP:
		p.cfa = m->sp + r->cfa_off;
		break;
	case AS_CFA_RBP:
		p.cfa = m->bp + r->cfa_off;
		break;
	case AS_CFA_RBX:
		p.cfa = m->bx + r->cfa_off;
		break;
	case AS_CFA_DEREF_RBP:
		p.cfa = machine__read(m->bp + r->cfa_off) + r->aux;
		break;
	case AS_CFA_DEREF_RSP:
		p.cfa = machine__read(m->sp + r->cfa_off) + r->aux;
		break;
	case AS_CFA_PLT:
		p.cfa = m->sp + 8 + ((m->ip & 15) >= r->aux ? 8 : 0);
		break;
	case AS_CFA_SIGFRAME: /* ucontext_t: gregs from 40, rbp 10th, then rbx, rsp
			       15th, rip 16th from 0 */
		p.cfa = machine__read(m->sp + 40 + 15 * 8);
		p.bp = machine__read(m->sp + 40 + 10 * 8);
		p.bx = machine__read(m->sp + 40 + 11 * 8);
		p.ra = machine__read(m->sp + 40 + 16 * 8);
		return p;
	case AS_CFA_END:
		p.kind = PLACE_END;
		return p;
	default:
		p.kind = r->cfa_kind == AS_CFA_GAP ? PLACE_NONE : PLACE_OTHER;
		return p;
	}
	p.ra = machine__read(p.cfa - 8);
	rule__fp(r, m, &p);
	rule__bx(r, m, &p);
	return p;
}

/* A file, compiled, with libdw's view of it beside. */
struct subject {
	int fd;
	struct elf_image img;
	struct unwind_table table;
	union as_page *pages;
	u32 page_cnt, chunk_cnt, first[AS_INDEX_PAGES];
	Elf *elf;
	Dwarf *dw; /* only where .debug_frame is asked for */
	Dwarf_CFI *cfi;
};

static inline int subject__open(struct subject *s, const char *path, struct unwind_rules *rules,
				bool debug_frame)
{
	int err;

	*s = (struct subject){};
	elf_version(EV_CURRENT);
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return -1;
	err = elf_image__open(&s->img, s->fd);
	if (!err)
		err = unwind_table__compile(&s->table, &s->img, rules);
	if (!err)
		err = unwind_table__pack(&s->table, &s->pages, &s->page_cnt, &s->chunk_cnt,
					 s->first);
	if (err)
		return err;
	s->elf = elf_begin(s->fd, ELF_C_READ, NULL);
	s->dw = debug_frame ? dwarf_begin_elf(s->elf, DWARF_C_READ, NULL) : NULL;
	s->cfi = debug_frame ? dwarf_getcfi(s->dw) : dwarf_getcfi_elf(s->elf);
	return 0;
}

static inline void subject__close(struct subject *s)
{
	if (s->cfi && !s->dw)
		dwarf_cfi_end(s->cfi);
	if (s->dw)
		dwarf_end(s->dw);
	elf_end(s->elf);
	free(s->pages);
	unwind_table__fini(&s->table);
	elf_image__close(&s->img);
	close(s->fd);
}

struct tally {
	u64 equal;
	u64 end;
	u64 none;	 /* uncovered for both */
	u64 padding;	 /* uncovered for libdw; between functions or at the entry for us */
	u64 unsupported; /* by us, known to libdw */
	u64 bp_unknown;	 /* CFA and return address equal, rbp given up by us */
	u64 bx_unknown;	 /* all else equal, rbx given up by us */
	u64 other;	 /* not known to libdw or to its evaluator */
	u64 wrong;
};

/* Bytes behind a function that rows may cover, and the entry point's. */
#define ORACLE_PADDING 16
#define ORACLE_ENTRY   64

static inline bool oracle__near_code(const struct subject *s, const struct machine *m, u8 kind)
{
	u64 entry = m->ip - s->img.ehdr.e_entry;
	struct machine near = *m;

	if (kind == AS_CFA_END)
		return entry < ORACLE_ENTRY;
	if (kind == AS_CFA_SIGFRAME) { /* one byte early */
		near.ip++;
		if (oracle__find(s->cfi, &near).kind != PLACE_NONE)
			return true;
	}
	for (u32 i = 1; i < ORACLE_PADDING; i++) {
		near.ip = m->ip - i;
		if (oracle__find(s->cfi, &near).kind != PLACE_NONE)
			return true;
	}
	return false;
}

/* Compares one address; false and a line of print where the walker would go wrong. */
static inline bool subject__check(const struct subject *s, const struct as_rule *rules, u64 vaddr,
				  struct tally *t)
{
	struct machine m = { 0x7ffc12345000 + (vaddr & 0xff8), 0x7ffd98765438, 0x7ffda1b2c3d8,
			     vaddr };
	struct place want = oracle__find(s->cfi, &m), got;
	const struct as_rule *r;
	u64 off = 0;

	elf_image__vaddr_to_off(&s->img, vaddr, &off);
	r = &rules[unwind_pages__find(s->pages, s->chunk_cnt, s->first, off)];
	got = rule__apply(r, &m);
	if (want.kind == PLACE_OTHER)
		t->other++;
	else if (want.kind == PLACE_NONE && got.kind == PLACE_NONE)
		t->none++;
	else if (want.kind == PLACE_NONE && oracle__near_code(s, &m, r->cfa_kind))
		t->padding++;
	else if (want.kind == PLACE_END && got.kind == PLACE_END)
		t->end++;
	else if (want.kind == PLACE_CALLER && got.kind == PLACE_OTHER)
		t->unsupported++;
	else if (want.kind != got.kind || want.cfa != got.cfa || want.ra != got.ra)
		t->wrong++;
	else if (got.bp_lost && !want.bp_lost)
		t->bp_unknown++;
	else if (got.bp_lost != want.bp_lost || (!got.bp_lost && got.bp != want.bp))
		t->wrong++;
	else if (got.bx_lost)
		t->bx_unknown++;
	else if (got.bx != want.bx)
		t->wrong++;
	else
		t->equal++;
	return t->wrong == 0;
}

#endif
