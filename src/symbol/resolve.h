/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for (file, offset): one index per file, made when the file is first seen, kept with a
 * descriptor of the file, so that names don't depend on the process or the path still being there.
 */
#ifndef SYMBOL_RESOLVE_H
#define SYMBOL_RESOLVE_H

#include "base/arena.h"
#include "base/types.h"

struct resolver;
struct symbol_file;

struct symbol_name {
	const char *function; /* demangled, cleaned of control characters; lives as long as the
				 file isn't closed */
	const char *raw;      /* as in the symbol table; NULL when function is made up
				 ("libc.so.6+0x97360") */
	u64 start;	      /* file offset of the function, 0 unknown */
};

int resolver__new(struct resolver **r);
void resolver__free(struct resolver *r);

/*
 * Gives the resolver a file: takes over fd (closed by resolver__free, or at once when its symbol
 * index has been read: the descriptor limit must hold). path is for display. Reads lazily: at the
 * first name asked for.
 */
int resolver__add_file(struct resolver *r, int fd, const char *path, struct symbol_file **file);

/* No more names are asked for: gives back all that is known of the file, names included. */
void resolver__close_file(struct resolver *r, struct symbol_file *file);

/* Files that aren't closed. */
size_t resolver__file_cnt(const struct resolver *r);

/*
 * The function at the file offset. is_return_address: the frame's address is that of the
 * instruction after a call, so offset - 1 is looked up (the call itself; a noreturn call may end
 * its function). Never fails for want of a symbol: then function is "basename+0xOFFSET" with the
 * file offset. 0 or -ENOMEM.
 */
int resolver__name(struct resolver *r, struct symbol_file *file, u64 offset, bool is_return_address,
		   struct symbol_name *name);

/* In hex digits; NULL: the file has none, or wasn't asked for a name yet. */
const char *resolver__build_id(const struct symbol_file *file);

/* Demangles C++ (Itanium), Rust legacy and v0; other names are copied. Bounded: symbols longer than
 * 64 KiB stay mangled. The result lives in the arena, cleaned (valid UTF-8, no control characters).
 * NULL: out of memory. */
const char *symbol__demangle(struct arena *a, const char *raw);

#endif
