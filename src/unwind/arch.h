/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What unwinding must know of a processor: which DWARF registers a walk carries along, how their
 * CFI rules become one of the few rule kinds of the BPF walker, and what the code that returns from
 * a signal handler looks like. A new architecture is a new file and a line in unwind_arch__for().
 */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include "abi.h"
#include "base/types.h"

enum cfa_how {
	CFA_UNSET,  /* no instruction named the register */
	CFA_UNDEF,  /* DW_CFA_undefined */
	CFA_SAME,   /* DW_CFA_same_value */
	CFA_OFFSET, /* at CFA + off; for the CFA itself: register reg + off */
	CFA_REG,    /* in register reg */
	CFA_EXPR,   /* at the address that expr computes; for the CFA itself: its value */
	CFA_VAL,    /* val_offset or val_expression: never needed so far */
};

/* How one register of the caller (or the CFA) is found. */
struct cfa_reg {
	u8 how;
	u64 reg;
	s64 off;
	const u8 *expr; /* borrowed from the section */
	size_t expr_size;
};

/* The columns of a CFI row that a walk needs; all other registers are skipped. */
struct cfa_state {
	struct cfa_reg cfa;
	struct cfa_reg fp;
	struct cfa_reg bx;
	struct cfa_reg ra;
};

struct unwind_arch {
	u16 machine; /* EM_* */
	u16 fp_reg;  /* DWARF numbers */
	u16 bx_reg;  /* callee-saved, and some CFAs are in it */
	u16 ra_reg;
	const u8 *restorer; /* the code that a signal handler returns to */
	size_t restorer_size;
	/* signal: the CIE's augmentation has 'S'. Whatever has no kind becomes AS_CFA_UNSUPPORTED.
	 */
	struct as_rule (*rule)(const struct cfa_state *state, bool signal);
};

/* NULL: stacks of this machine can't be unwound. */
const struct unwind_arch *unwind_arch__for(u16 machine);

extern const struct unwind_arch unwind_arch_x86;

#endif
