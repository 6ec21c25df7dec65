/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs call frame instructions: the little program of a CIE or FDE that says, address by address,
 * where the caller's registers are. Only the CFA, the frame pointer and the return address are
 * kept; each address range becomes one row.
 */
#ifndef UNWIND_CFA_H
#define UNWIND_CFA_H

#include "base/cursor.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"

/* What an FDE inherits from its CIE. */
struct cfa_cie {
	u64 pos; /* of its record in the section: FDEs name it by that */
	u64 code_align;
	s64 data_align;
	u8 encoding;   /* DW_EH_PE_* of an FDE's addresses */
	bool has_size; /* 'z': FDEs have an augmentation size */
	bool signal;   /* 'S' */
	bool readable; /* FDEs can at least be located */
	bool runnable; /* ... and run, beginning with `initial` */
	struct cfa_state initial;
};

/* Runs a CIE's instructions into cie->initial. False when they are damaged. */
bool cfa__run_cie(struct cfa_cie *cie, struct cursor insns, const struct cfi_section *sec,
		  const struct unwind_arch *arch);

/* Appends rows for the addresses [start, end). 0, -EINVAL when damaged (rows appended so far are
 * the caller's to drop), -ENOMEM or -E2BIG. *signal: a row is AS_CFA_SIGFRAME. */
int cfa__run_fde(struct cfi *out, const struct cfa_cie *cie, struct cursor insns, u64 start,
		 u64 end, const struct cfi_section *sec, bool *signal);

#endif
