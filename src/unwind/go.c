/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Go function's frame lies at a known distance from the stack pointer, so the frame pointer isn't
 * needed and isn't kept. Goroutines begin in functions that nothing called: there a stack is
 * complete. Where the runtime leaves one stack for another, the walk ends.
 */
#include "unwind/go.h"

#include <errno.h>

struct adder {
	struct cfi *cfi;
	const struct gopclntab *table;
};

static struct as_rule rule_of(s32 depth)
{
	if (depth < 0 || depth % 8 || depth > INT32_MAX - 8)
		return (struct as_rule){ .cfa_kind = AS_CFA_UNSUPPORTED };
	return (struct as_rule){ .cfa_kind = AS_CFA_RSP,
				 .fp_kind = AS_FP_UNDEF,
				 .cfa_off = depth + 8,
				 .bx_off = AS_BX_LOST };
}

static int add_rows(struct adder *a, const struct go_func *f)
{
	struct go_depth d = { .func = f };
	int err = 0;

	while (!err && gopclntab__next_depth(a->table, &d) && d.start < f->size) {
		struct as_rule rule = rule_of(d.depth);

		if (d.start > UINT32_MAX || a->cfi->rows.cnt >= CFI_ROW_MAX)
			return -E2BIG;
		err = vec__push(&a->cfi->rows,
				((struct cfi_row){ (u32)d.start, cfi__rule_id(a->cfi, &rule) }));
	}
	return err;
}

static int add_func(void *arg, const struct go_func *f)
{
	static const struct as_rule end = { .cfa_kind = AS_CFA_END };
	static const struct as_rule unsupported = { .cfa_kind = AS_CFA_UNSUPPORTED };
	struct adder *a = arg;
	struct cfi_fde fde = { .start = f->vaddr, .end = f->vaddr + f->size };
	int err;

	if (fde.end <= fde.start)
		return 0;
	if (f->outermost)
		return cfi__add(a->cfi, fde.start, fde.end, &end);
	if (f->switches_stack || !f->depths)
		return cfi__add(a->cfi, fde.start, fde.end, &unsupported);
	fde.row = (u32)a->cfi->rows.cnt;
	err = add_rows(a, f);
	return err ? err : cfi__push_fde(a->cfi, fde);
}

int unwind_go__add(struct cfi *cfi, const struct gopclntab *table)
{
	struct adder a = { .cfi = cfi, .table = table };

	return table->section ? gopclntab__each(table, add_func, &a) : 0;
}
