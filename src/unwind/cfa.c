/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CFA interpreter. A row is written when the location moves on, with the state as it was; equal
 * neighbours are one row. Arithmetic is unsigned and wraps: what doesn't fit is refused later, when
 * the state becomes a rule.
 */
#include "unwind/cfa.h"

#include <dwarf.h>
#include <errno.h>

/* In use, but not in every dwarf.h. */
#define CFA_AARCH64_NEGATE_RA_STATE 0x2d /* the same number as GNU_window_save: no operand */
#define CFA_GNU_NEGATIVE_OFFSET	    0x2f

struct run {
	struct cursor c;
	const struct cfi_section *sec;
	const struct unwind_arch *arch;
	const struct cfa_cie *cie;
	const struct cfa_state *initial; /* NULL while the CIE itself runs */
	struct cfi *out;		 /* NULL while the CIE itself runs */
	struct cfa_state st;
	struct cfa_state saved[CFI_REMEMBER_MAX];
	u32 saved_cnt;
	u64 start;
	u64 loc;
	u64 end;
	size_t first_row;
	bool signal;
};

static struct cfa_reg *reg_of(struct run *r, u64 reg, struct cfa_state *st)
{
	if (reg == r->arch->fp_reg)
		return &st->fp;
	if (reg == r->arch->bx_reg)
		return &st->bx;
	return reg == r->arch->ra_reg ? &st->ra : NULL;
}

static void set(struct run *r, u64 reg, struct cfa_reg val)
{
	struct cfa_reg *p = reg_of(r, reg, &r->st);

	if (p)
		*p = val;
}

static void set_how(struct run *r, u64 reg, u8 how)
{
	set(r, reg, (struct cfa_reg){ .how = how });
}

static void set_offset(struct run *r, u64 reg, u64 factored)
{
	u64 off = factored * (u64)r->cie->data_align;

	set(r, reg, (struct cfa_reg){ .how = CFA_OFFSET, .off = (s64)off });
}

static struct cfa_reg take_expr(struct run *r)
{
	u64 size = cursor__uleb(&r->c);
	const u8 *expr = cursor__take(&r->c, size);

	return (struct cfa_reg){ .how = CFA_EXPR, .expr = expr, .expr_size = expr ? size : 0 };
}

static void restore(struct run *r, u64 reg)
{
	struct cfa_state initial;

	if (!r->initial)
		return; /* meaningless in a CIE */
	initial = *r->initial;
	if (reg_of(r, reg, &initial))
		set(r, reg, *reg_of(r, reg, &initial));
}

/* The rows from loc on end here: one for [loc, to) with the state so far. */
static int move(struct run *r, u64 to)
{
	struct cfi_row row = { .delta = (u32)(r->loc - r->start) };
	struct as_rule rule;
	u64 from = r->loc;

	if (!r->out || to < from)
		return -EINVAL;
	r->loc = to;
	if (to == from || from >= r->end)
		return 0;
	if (from - r->start > UINT32_MAX)
		return -EINVAL;
	rule = r->arch->rule(&r->st, r->cie->signal);
	r->signal |= rule.cfa_kind == AS_CFA_SIGFRAME;
	row.rule = cfi__rule_id(r->out, &rule);
	if (r->out->rows.cnt > r->first_row &&
	    r->out->rows.v[r->out->rows.cnt - 1].rule == row.rule)
		return 0;
	if (r->out->rows.cnt >= CFI_ROW_MAX)
		return -E2BIG;
	return vec__push(&r->out->rows, row);
}

static int advance(struct run *r, u64 delta)
{
	u64 to;

	if (r->c.bad || __builtin_mul_overflow(delta, r->cie->code_align, &delta) ||
	    __builtin_add_overflow(r->loc, delta, &to))
		return -EINVAL;
	return move(r, to);
}

static int remember(struct run *r)
{
	if (r->saved_cnt == CFI_REMEMBER_MAX)
		return -EINVAL;
	r->saved[r->saved_cnt++] = r->st;
	return 0;
}

static int recall(struct run *r)
{
	if (!r->saved_cnt)
		return -EINVAL;
	r->st = r->saved[--r->saved_cnt];
	return 0;
}

/*
 * def_cfa_register and def_cfa_offset change half of a register CFA. The halves outlive an
 * expression in between: libgcc does so, and libgcrypt's AVX functions rely on it.
 */
static int set_cfa_reg(struct run *r, u64 reg)
{
	if (r->st.cfa.how == CFA_UNSET)
		return -EINVAL;
	r->st.cfa.how = CFA_OFFSET;
	r->st.cfa.reg = reg;
	return 0;
}

static int set_cfa_off(struct run *r, s64 off)
{
	if (r->st.cfa.how == CFA_UNSET)
		return -EINVAL;
	r->st.cfa.off = off;
	return 0;
}

static int set_cfa_expr(struct run *r)
{
	struct cfa_reg expr = take_expr(r);

	expr.reg = r->st.cfa.reg;
	expr.off = r->st.cfa.off;
	r->st.cfa = expr;
	return 0;
}

static s64 take_factored(struct run *r)
{
	return (s64)((u64)cursor__sleb(&r->c) * (u64)r->cie->data_align);
}

static int step_cfa(struct run *r, u8 op)
{
	struct cfa_reg cfa = { .how = CFA_OFFSET };

	switch (op) {
	case DW_CFA_def_cfa:
		cfa.reg = cursor__uleb(&r->c);
		cfa.off = (s64)cursor__uleb(&r->c);
		r->st.cfa = cfa;
		return 0;
	case DW_CFA_def_cfa_sf:
		cfa.reg = cursor__uleb(&r->c);
		cfa.off = take_factored(r);
		r->st.cfa = cfa;
		return 0;
	case DW_CFA_def_cfa_expression:
		return set_cfa_expr(r);
	case DW_CFA_def_cfa_register:
		return set_cfa_reg(r, cursor__uleb(&r->c));
	case DW_CFA_def_cfa_offset:
		return set_cfa_off(r, (s64)cursor__uleb(&r->c));
	case DW_CFA_def_cfa_offset_sf:
		return set_cfa_off(r, take_factored(r));
	default:
		return -EINVAL; /* its length is unknown, so nothing after it can be read */
	}
}

static int step_reg(struct run *r, u8 op)
{
	struct cfa_reg val = { .how = CFA_REG };
	u64 reg = cursor__uleb(&r->c);

	switch (op) {
	case DW_CFA_offset_extended:
		set_offset(r, reg, cursor__uleb(&r->c));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_offset(r, reg, (u64)cursor__sleb(&r->c));
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET:
		set_offset(r, reg, 0 - cursor__uleb(&r->c));
		return 0;
	case DW_CFA_restore_extended:
		restore(r, reg);
		return 0;
	case DW_CFA_undefined:
		set_how(r, reg, CFA_UNDEF);
		return 0;
	case DW_CFA_same_value:
		set_how(r, reg, CFA_SAME);
		return 0;
	case DW_CFA_register:
		val.reg = cursor__uleb(&r->c);
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		cursor__uleb(&r->c); /* a signed number has the same length */
		val.how = CFA_VAL;
		break;
	case DW_CFA_expression:
		val = take_expr(r);
		break;
	case DW_CFA_val_expression:
		take_expr(r);
		val.how = CFA_VAL;
		break;
	}
	set(r, reg, val);
	return 0;
}

static int step(struct run *r)
{
	u8 op = cursor__u8(&r->c);
	u8 low = op & 0x3f;
	u64 to;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(r, low);
	case DW_CFA_offset:
		set_offset(r, low, cursor__uleb(&r->c));
		return 0;
	case DW_CFA_restore:
		restore(r, low);
		return 0;
	}
	switch (op) {
	case DW_CFA_nop:
	case CFA_AARCH64_NEGATE_RA_STATE:
		return 0;
	case DW_CFA_set_loc:
		to = cfi__pointer(&r->c, r->cie->encoding, r->sec);
		return r->c.bad ? -EINVAL : move(r, to);
	case DW_CFA_advance_loc1:
		return advance(r, cursor__u8(&r->c));
	case DW_CFA_advance_loc2:
		return advance(r, cursor__u16(&r->c));
	case DW_CFA_advance_loc4:
		return advance(r, cursor__u32(&r->c));
	case DW_CFA_MIPS_advance_loc8:
		return advance(r, cursor__u64(&r->c));
	case DW_CFA_remember_state:
		return remember(r);
	case DW_CFA_restore_state:
		return recall(r);
	case DW_CFA_GNU_args_size:
		cursor__uleb(&r->c);
		return 0;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case CFA_GNU_NEGATIVE_OFFSET:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return step_reg(r, op);
	}
	return step_cfa(r, op);
}

static int run(struct run *r)
{
	for (u32 i = 0; cursor__left(&r->c); i++) {
		int err = i < CFI_OP_MAX ? step(r) : -EINVAL;

		if (err)
			return err;
	}
	return r->c.bad ? -EINVAL : 0;
}

bool cfa__run_cie(struct cfa_cie *cie, struct cursor insns, const struct cfi_section *sec,
		  const struct unwind_arch *arch)
{
	struct run r;

	r.c = insns;
	r.sec = sec;
	r.arch = arch;
	r.cie = cie;
	r.initial = NULL;
	r.out = NULL;
	r.saved_cnt = 0;
	r.loc = r.start = r.end = 0;
	r.st = (struct cfa_state){};
	if (run(&r))
		return false;
	cie->initial = r.st;
	return true;
}

/* Field by field: the array of saved states isn't worth clearing for every FDE. */
int cfa__run_fde(struct cfi *out, const struct cfa_cie *cie, struct cursor insns, u64 start,
		 u64 end, const struct cfi_section *sec, bool *signal)
{
	struct run r;
	int err;

	r.c = insns;
	r.sec = sec;
	r.arch = out->arch;
	r.cie = cie;
	r.initial = &cie->initial;
	r.out = out;
	r.st = cie->initial;
	r.saved_cnt = 0;
	r.start = r.loc = start;
	r.end = end;
	r.first_row = out->rows.cnt;
	r.signal = false;
	err = run(&r);
	if (!err)
		err = move(&r, MAX(end, r.loc));
	*signal = r.signal;
	return err;
}
