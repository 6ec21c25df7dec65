/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's table of live blocks (bpf/blocks.bpf.h), read and cleared beside the programs that
 * use it. */
#ifndef TRACE_BLOCKS_H
#define TRACE_BLOCKS_H

#include "trace/kernel.h"

/* Where a block was found. */
struct block_place {
	__u64 tag;
	__u64 *way; /* its bucket's tag; NULL: spilled */
};

typedef void (*block_fn)(void *arg, const struct as_block *b, const struct block_place *at);

/* Calls fn for each block that is followed now. 0 or -errno. */
int blocks__each(struct kernel *k, block_fn fn, void *arg);

/* Takes a block out. False: somebody else did. */
bool blocks__remove(struct kernel *k, const struct block_place *at);

#endif
