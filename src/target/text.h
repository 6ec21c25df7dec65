/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one ELF file: its executable segments, its functions' bounds, and the pointers
 * (GOT) that lead into other files. Everything here is known by file offset, as probes are.
 */
#ifndef TARGET_TEXT_H
#define TARGET_TEXT_H

#include "base/types.h"
#include "base/vec.h"
#include "target/catalog.h"

struct elf_image;
struct probe_set;

struct text_seg { /* PT_LOAD with PF_X */
	u64 off;
	u64 vaddr;
	u64 size; /* bytes in the file */
};

struct text_func {
	u64 start; /* file offsets */
	u64 end;
	bool exported; /* in .dynsym: anybody may call it */
	bool taken;    /* its address is stored somewhere: anybody may call it */
	bool foreign;  /* its own allocator calls are the program's (mi_strdup) */
};

struct text_slot { /* a pointer that the dynamic linker fills */
	u64 vaddr;
	const struct catalog_row *row; /* with an allocator function of this name; or NULL ... */
	u64 target;		       /* ... and with this code of the same file (offset) */
	u64 own; /* with another name's code: this file's, unless another file's comes first */
};

struct text {
	const struct elf_image *img;
	VEC(struct text_seg) segs;
	VEC(struct text_func) funcs; /* by start, one per start */
	VEC(struct text_slot) slots; /* by vaddr */
	VEC(u64) stored;	     /* file offsets of code whose address a relocation stores */
	bool may_throw;		     /* C++, Rust, or linked statically with what may be */
	bool fixed;		     /* ET_EXEC: addresses are plain numbers in the code */
	char soname[64];	     /* "" when there is none */
};

/* Segments, relocations and soname; damaged ones count as missing. Imports are of the catalog's
 * functions and of those that `probes` (NULL: none) names. 0 or -ENOMEM. */
int text__open(struct text *t, const struct elf_image *img, const struct probe_set *probes);
void text__close(struct text *t);

/* Function bounds from both symbol tables and the unwind table. 0 or -errno. */
int text__read_funcs(struct text *t);

const struct text_seg *text__seg(const struct text *t, u64 off);
bool text__vaddr_to_off(const struct text *t, u64 vaddr, u64 *off); /* code only */
u64 text__vaddr(const struct text *t, u64 off);			    /* 0 when it isn't code */

/* Reads up to `size` bytes of code, never past the segment's end; how many came. */
size_t text__read(const struct text *t, u64 off, u8 *buf, size_t size);

/* The function that starts at the offset / that contains it, or NULL. */
struct text_func *text__func_at(const struct text *t, u64 off);
struct text_func *text__func_of(const struct text *t, u64 off);

/* End of the function at `off` that is `size` long (0: as far as the bounds tell, which may be
 * nothing), at most 64 KiB away. */
u64 text__func_end(const struct text *t, u64 off, u64 size);

/* The pointer at this address, or NULL when it isn't one of `slots`. */
const struct text_slot *text__slot(const struct text *t, u64 vaddr);

/* True when a PLT stub lies at the file offset; *slot is the pointer it jumps through, or NULL. */
bool text__stub(const struct text *t, u64 off, const struct text_slot **slot);

#endif
