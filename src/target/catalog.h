/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of allocator functions: symbol -> which argument means what. To know one more is to add
 * a row. */
#ifndef TARGET_CATALOG_H
#define TARGET_CATALOG_H

#include "base/types.h"

enum catalog_role {
	ROLE_ALLOC,   /* makes a block of `size` (x `count`) bytes */
	ROLE_REALLOC, /* the same, taking over the block in `ptr` (NULL: plain allocation; size 0 of
			 a block: a free) */
	ROLE_FREE,    /* ends the block in `ptr` (not probed in alloc mode) */
};

struct catalog_row {
	const char *symbol;    /* exact name; at most 63 bytes */
	const char *allocator; /* family: "glibc/musl", "jemalloc", ... */
	u8 role;	       /* enum catalog_role */
	u8 size_arg;	       /* 1..6: which integer argument (SysV ABI), 0: none; or
				  CATALOG_ARG_GO */
	u8 count_arg;	       /* a factor of the size; 0: none */
	u8 ptr_arg;	       /* the old block (realloc, free) */
	u8 align_arg;	       /* alignment; 0: none */
	u8 out_arg;	       /* pointer that receives the block (posix_memalign); 0: returned */
	bool cxx_new; /* C++ operator new/delete: left alone where it ends in another file's malloc
		       */
	bool throws;  /* without memory it leaves by an exception, not by a return */
	u8 layer;     /* 0: the catalog's; else of the --probe that it was made from: calls within
			 a layer are nested, calls from one to the next aren't */
	u8 ends;      /* ENDS_*: what --live must know of its blocks */
};

#define ENDS_COLLECTED 1 /* a garbage collector ends them: no free is ever seen */
#define ENDS_IN_PLACE                                                               \
	2 /* the old block grows or shrinks; the size reached is returned (xallocx) \
	   */
#define ENDS_OLD_ALWAYS 4 /* the old block is freed also where the call fails (reallocf) */

/* The first integer argument of Go's own calling convention since 1.17 (ABIInternal): rax. */
#define CATALOG_ARG_GO 7

extern const struct catalog_row catalog[];
extern const size_t catalog_cnt;

/* The row for an ELF symbol name (prefixes je_, _rjem_ ... are rows of their own), or NULL.
 * O(1)/O(log n). */
const struct catalog_row *catalog__find(const char *symbol);

#endif
