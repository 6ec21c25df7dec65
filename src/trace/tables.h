/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables in the kernel: compiled once per file, copied into maps by mmap. */
#ifndef TRACE_TABLES_H
#define TRACE_TABLES_H

#include "abi.h"
#include "base/types.h"
#include "unwind/rule.h"

struct kernel;
struct elf_image;

struct tables {
	struct unwind_rules rules;
	struct as_rule *mapped; /* the kernel's copy */
	u32 uploaded;		/* rules copied so far */
	u32 next_slot;
	u64 bytes; /* of row memory in the kernel */
	u64 bytes_max;
	u64 over_cnt; /* files left without a table: the limit was reached */
};

int tables__init(struct tables *t, struct kernel *k, u64 bytes_max);
void tables__fini(struct tables *t);

/*
 * Compiles the file's rows and gives them to the kernel; fills f->table, and chunk_cnt. No
 * rows or no room: f->table stays 0, which is no error. 0 or -errno.
 */
int tables__add(struct tables *t, struct kernel *k, const struct elf_image *img, struct as_file *f);

#endif
