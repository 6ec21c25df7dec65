/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .eh_frame and .debug_frame bytes become FDEs with rows, in the order of the section. The bytes
 * belong to a traced program, so damage is ordinary: a damaged FDE becomes one row "unsupported"
 * where its range is known and nothing otherwise. Work is linear in the section's size.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "base/cursor.h"
#include "base/vec.h"
#include "unwind/arch.h"
#include "unwind/rule.h"

/* Limits that no real file comes near (a browser has 3.5 M rows). */
#define CFI_CIE_MAX	 (256u << 10)
#define CFI_FDE_MAX	 (4u << 20)
#define CFI_ROW_MAX	 (8u << 20)
#define CFI_OP_MAX	 (1u << 20) /* instructions of one FDE */
#define CFI_REMEMBER_MAX 32	    /* depth of remember_state; compilers use one or two */
#define CFI_CACHE_SIZE	 256

/* Bytes to compile; borrowed. */
struct cfi_section {
	const u8 *data;
	size_t size;
	u64 vaddr;    /* of data[0], for pc-relative addresses */
	u64 hdr_base; /* of .eh_frame_hdr, for data-relative addresses */
	bool eh;      /* .eh_frame's format, otherwise .debug_frame's */
	bool ends;    /* at its zero terminator: size is only a bound */
};

struct cfi_row {
	u32 delta; /* from the FDE's start */
	u16 rule;
};

struct cfi_fde {
	u64 start; /* addresses as the file has them, or file offsets once mapped */
	u64 end;
	u32 row; /* its rows are rows.v[row .. row + row_cnt) */
	u32 row_cnt;
	u32 order;   /* place in the section */
	bool signal; /* has a row AS_CFA_SIGFRAME */
};

struct cfi {
	const struct unwind_arch *arch;
	struct unwind_rules *rules;
	VEC(struct cfi_fde) fdes;
	VEC(struct cfi_row) rows;
	u32 bad_cnt; /* damaged or refused FDEs */
	struct {     /* in front of the shared table */
		struct as_rule rule;
		u16 id;
		bool used;
	} cache[CFI_CACHE_SIZE];
};

void cfi__init(struct cfi *cfi, const struct unwind_arch *arch, struct unwind_rules *rules);
void cfi__fini(struct cfi *cfi);

/* Adds a section's FDEs; empty ranges are left out. 0, -ENOMEM or -E2BIG. */
int cfi__parse(struct cfi *cfi, const struct cfi_section *sec);

/* Adds one FDE with a single rule. 0, -ENOMEM or -E2BIG. */
int cfi__add(struct cfi *cfi, u64 start, u64 end, const struct as_rule *rule);

/* Adds an FDE whose rows are the ones pushed since fde.row. 0, -ENOMEM or -E2BIG. */
int cfi__push_fde(struct cfi *cfi, struct cfi_fde fde);

/* A pointer in encoding `enc` that lies at `c`. Refuses (c->bad) indirect and unknown encodings. */
u64 cfi__pointer(struct cursor *c, u8 enc, const struct cfi_section *sec);

/* Number of a rule, mostly from the cache. */
u16 cfi__rule_id(struct cfi *cfi, const struct as_rule *rule);

#endif
