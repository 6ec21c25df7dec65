/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86-64: CFI rows become walker rules. Nearly all code has CFA = rsp/rbp + N and the return
 * address at CFA - 8. The expressions that matter are few and always spelled the same way, so
 * they are recognized, not evaluated: GCC's realigned frames (DRAP), hand-written crypto code, the
 * linker's PLT and glibc's signal return. Numbers are those of the psABI's DWARF register table.
 */
#include <dwarf.h>
#include <elf.h>

#include "base/cursor.h"
#include "unwind/arch.h"

#define REG_RBX 3
#define REG_RBP 6
#define REG_RSP 7
#define REG_RIP 16

/* ucontext_t: gregs[] begin at 40, REG_RBP is the 11th of them, REG_RBX the next, REG_RSP the 16th
 * (at 160), REG_RIP next. */
#define UC_RBP 120
#define UC_RBX 128
#define UC_RIP 168

static const struct as_rule unsupported = { .cfa_kind = AS_CFA_UNSUPPORTED };

static bool fits_s32(s64 val)
{
	return val >= INT32_MIN && val <= INT32_MAX;
}

/* `breg N` alone. */
static bool expr_is_breg(const struct cfa_reg *r, u8 reg, s64 *off)
{
	struct cursor c;

	if (r->how != CFA_EXPR)
		return false;
	c = (struct cursor){ r->expr, r->expr + r->expr_size, false };
	if (cursor__u8(&c) != DW_OP_breg0 + reg)
		return false;
	*off = cursor__sleb(&c);
	return !c.bad && !cursor__left(&c);
}

/* Adds a constant that follows as `plus_uconst K` or `lit K, plus`. */
static bool take_plus(struct cursor *c, u64 *add)
{
	u8 op = cursor__u8(c);

	if (op == DW_OP_plus_uconst) {
		*add = cursor__uleb(c);
		return !c->bad;
	}
	if (op < DW_OP_lit0 || op > DW_OP_lit31 || cursor__u8(c) != DW_OP_plus)
		return false;
	*add = op - DW_OP_lit0;
	return !c->bad;
}

/* `breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus`: the linker's lazy PLT slots. */
static bool expr_is_plt(const struct cfa_reg *r, u16 *threshold)
{
	static const u8 head[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const u8 tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const u8 *lit;

	if (r->expr_size != sizeof(head) + 1 + sizeof(tail))
		return false;
	lit = r->expr + sizeof(head);
	if (memcmp(r->expr, head, sizeof(head)) || memcmp(lit + 1, tail, sizeof(tail)))
		return false;
	if (*lit < DW_OP_lit0 || *lit > DW_OP_lit15)
		return false;
	*threshold = *lit - DW_OP_lit0;
	return true;
}

/* `breg N [deref] [+ K]` from rsp or rbp, or a PLT slot. */
static bool cfa_from_expr(const struct cfa_reg *r, struct as_rule *out)
{
	struct cursor c = { r->expr, r->expr + r->expr_size, false };
	u8 op = cursor__u8(&c);
	bool rbp = op == DW_OP_breg0 + REG_RBP;
	s64 off = cursor__sleb(&c);
	u64 add = 0;

	out->cfa_kind = AS_CFA_PLT;
	if (expr_is_plt(r, &out->aux))
		return true;
	if (c.bad || (!rbp && op != DW_OP_breg0 + REG_RSP) || !fits_s32(off))
		return false;
	out->cfa_off = (s32)off;
	out->cfa_kind = rbp ? AS_CFA_RBP : AS_CFA_RSP;
	if (!cursor__left(&c))
		return true;
	if (cursor__u8(&c) != DW_OP_deref)
		return false;
	out->cfa_kind = rbp ? AS_CFA_DEREF_RBP : AS_CFA_DEREF_RSP;
	if (cursor__left(&c) && !take_plus(&c, &add))
		return false;
	out->aux = (u16)add;
	return add <= UINT16_MAX && !c.bad && !cursor__left(&c);
}

static bool cfa_from_reg(const struct cfa_reg *r, struct as_rule *out)
{
	if (r->how != CFA_OFFSET || !fits_s32(r->off))
		return false;
	if (r->reg == REG_RSP)
		out->cfa_kind = AS_CFA_RSP;
	else if (r->reg == REG_RBP)
		out->cfa_kind = AS_CFA_RBP;
	else if (r->reg == REG_RBX)
		out->cfa_kind = AS_CFA_RBX;
	else
		return false;
	out->cfa_off = (s32)r->off;
	return true;
}

/* An rbp that can't be followed doesn't spoil the frame: the CFA of the callers may be rsp-based.
 */
static void set_fp(const struct cfa_reg *r, struct as_rule *out)
{
	s64 off = r->off;

	out->fp_kind = AS_FP_UNDEF;
	if (r->how == CFA_UNSET || r->how == CFA_SAME || (r->how == CFA_REG && r->reg == REG_RBP)) {
		out->fp_kind = AS_FP_SAME;
		return;
	}
	if (r->how == CFA_OFFSET)
		out->fp_kind = AS_FP_CFA;
	else if (expr_is_breg(r, REG_RBP, &off))
		out->fp_kind = AS_FP_RBP;
	else if (out->cfa_kind == AS_CFA_RSP && expr_is_breg(r, REG_RSP, &off) && fits_s32(off)) {
		out->fp_kind = AS_FP_CFA;
		off -= out->cfa_off;
	}
	if (out->fp_kind == AS_FP_UNDEF || !fits_s32(off)) {
		out->fp_kind = AS_FP_UNDEF;
		return;
	}
	out->fp_off = (s32)off;
}

/* Only the callers whose CFA is in rbx need it. */
static void set_bx(const struct cfa_reg *r, struct as_rule *out)
{
	if (r->how == CFA_UNSET || r->how == CFA_SAME || (r->how == CFA_REG && r->reg == REG_RBX))
		out->bx_off = AS_BX_SAME;
	else if (r->how == CFA_OFFSET && r->off && fits_s32(r->off))
		out->bx_off = (s32)r->off;
	else
		out->bx_off = AS_BX_LOST;
}

/* glibc describes __restore_rt's frame register by register, all at fixed places from rsp. */
static bool is_sigframe(const struct cfa_state *s)
{
	static const u8 saved_rsp[] = { DW_OP_breg7, 0xa0, 0x01, DW_OP_deref };
	s64 fp, bx, ra;

	return s->cfa.how == CFA_EXPR && s->cfa.expr_size == sizeof(saved_rsp) &&
	       !memcmp(s->cfa.expr, saved_rsp, sizeof(saved_rsp)) &&
	       expr_is_breg(&s->ra, REG_RSP, &ra) && ra == UC_RIP &&
	       expr_is_breg(&s->fp, REG_RSP, &fp) && fp == UC_RBP &&
	       expr_is_breg(&s->bx, REG_RSP, &bx) && bx == UC_RBX;
}

static struct as_rule x86_rule(const struct cfa_state *s, bool signal)
{
	struct as_rule out = {};

	if (s->ra.how == CFA_UNDEF)
		return (struct as_rule){ .cfa_kind = AS_CFA_END };
	if (signal && is_sigframe(s))
		return (struct as_rule){ .cfa_kind = AS_CFA_SIGFRAME };
	if (s->ra.how != CFA_OFFSET || s->ra.off != -8)
		return unsupported;
	if (!(s->cfa.how == CFA_EXPR ? cfa_from_expr(&s->cfa, &out) : cfa_from_reg(&s->cfa, &out)))
		return unsupported;
	set_fp(&s->fp, &out);
	set_bx(&s->bx, &out);
	return out;
}

/* mov $15, %rax; syscall: gdb knows sigreturn by these bytes, so every C library keeps them. */
static const u8 restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

const struct unwind_arch unwind_arch_x86 = {
	.machine = EM_X86_64,
	.fp_reg = REG_RBP,
	.bx_reg = REG_RBX,
	.ra_reg = REG_RIP,
	.restorer = restorer,
	.restorer_size = sizeof(restorer),
	.rule = x86_rule,
};

const struct unwind_arch *unwind_arch__for(u16 machine)
{
	return machine == unwind_arch_x86.machine ? &unwind_arch_x86 : NULL;
}
