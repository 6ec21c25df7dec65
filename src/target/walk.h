/* SPDX-License-Identifier: BSD-2-Clause */
/* The branches of a piece of code, with their targets resolved through PLT and GOT. */
#ifndef TARGET_WALK_H
#define TARGET_WALK_H

#include "base/types.h"
#include "base/vec.h"

struct text;
struct disasm;
struct catalog_row;

struct walk_name { /* an allocator symbol of the file, aliases included */
	const struct catalog_row *row;
	u64 off;
};

typedef VEC(struct walk_name) walk_names;

struct walk {
	const struct text *t;
	struct disasm *d;
	u64 budget; /* bytes of code that may still be decoded */
};

struct walk_branch {
	u8 kind;			  /* enum branch_kind */
	const struct catalog_row *import; /* leads to this symbol through the PLT or GOT; or NULL */
	u64 off;			  /* file offset of the target; 0: not code of this file */
	u64 own; /* through a pointer to a named function: this file's own of that name; or 0 */
};

struct branch;

/* Where a branch leads. False when it's nothing of interest: another file's function that isn't an
 * allocator's. */
bool walk__resolve(const struct text *t, const struct branch *raw, struct walk_branch *b);

/* Returns non-zero to stop. */
typedef int (*walk_fn)(void *arg, const struct walk_branch *b);

/*
 * Calls fn for every direct branch in [start, end) and for every jump or call through a known
 * pointer. Returns what fn returned, 0 at the end (or when the budget is used up), -ENOMEM.
 */
int walk__branches(struct walk *w, u64 start, u64 end, walk_fn fn, void *arg);

#endif
