/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines for offsets of one file, and the functions that were inlined there: from its DWARF,
 * or that of its debug file, its split units (.dwo, .dwp) and its supplementary file (dwz); of Go's
 * programs without any, from their function table.
 */
#ifndef SYMBOL_LINE_H
#define SYMBOL_LINE_H

#include "base/arena.h"
#include "base/types.h"

struct line_file;

struct source_frame {
	const char *function; /* that was inlined, demangled and cleaned; NULL for the last one,
				 which has a symbol */
	const char *mangled;  /* linkage name where function is demangled from it; else NULL */
	const char *file;     /* cleaned; NULL unknown */
	u32 line;	      /* 0 unknown */
};

/*
 * fd: borrowed, as is debug_root (ELF_DEBUG_ROOT). path: for what is found by it, as in
 * elf_debugfile__open(). It may take 1/share of the time that one file may. Without debugging
 * information there is nothing to be found. 0 or -ENOMEM.
 */
int line_file__open(struct line_file **f, int fd, const char *path, const char *debug_root,
		    u64 share);
void line_file__close(struct line_file *f); /* NULL is fine */

/*
 * The frames that are one at the file offset, innermost first; the last one is that of the function
 * with the symbol. In the arena. *cnt 0: nothing is known. is_return_address: the call before is
 * meant. 0 or -ENOMEM.
 */
int line_file__find(struct line_file *f, u64 offset, bool is_return_address, struct arena *arena,
		    const struct source_frame **frames, u32 *cnt);

/* Some of it was too large, or made to be: what it says is missing. */
bool line_file__gave_up(const struct line_file *f);

#endif
