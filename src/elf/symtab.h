/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function symbols of a file: sorted by file offset, aliases folded, names in one string block.
 * A look-up is a binary search (0.1 us) and never names an address outside [start, start + size).
 */
#ifndef ELF_SYMTAB_H
#define ELF_SYMTAB_H

#include "base/types.h"

struct elf_image;

#define ELF_SYM_NONE UINT32_MAX

struct elf_sym {
	u64 off;  /* file offset of the first byte */
	u64 size; /* bytes; symbols of size 0 get the way to the next symbol or section end, at most
		     64 KiB (asm) */
	u32 name; /* offset into the name block */
	u32 outer;  /* nearest symbol before this one that ends after it; ELF_SYM_NONE when none */
	u8 bind;    /* STB_* */
	u8 dynamic; /* 1 when the name comes from .dynsym */
};

struct elf_symtab {
	struct elf_sym *syms; /* sorted by off; one per address: local names last, then fewest
				 leading '_', then global before weak */
	size_t sym_cnt;
	char *names;
	size_t names_size;
};

/*
 * Reads .symtab and .dynsym (both when there; defined STT_FUNC, STT_GNU_IFUNC and sized STT_NOTYPE
 * in executable sections). No symbols at all is 0 with sym_cnt 0. 0 or -errno.
 */
int elf_symtab__read(struct elf_symtab *t, const struct elf_image *img);

/*
 * The same, with the .symtab of a separate debug file added (NULL: none). Its section and program
 * headers lead nowhere in the stripped file, but addresses agree: they go through img's PT_LOADs.
 */
int elf_symtab__read_with_debug(struct elf_symtab *t, const struct elf_image *img,
				const struct elf_image *debug);
void elf_symtab__free(struct elf_symtab *t);

/* The symbol that contains the file offset, or NULL. */
const struct elf_sym *elf_symtab__find(const struct elf_symtab *t, u64 off);

static inline const char *elf_symtab__name(const struct elf_symtab *t, const struct elf_sym *s)
{
	return t->names + s->name;
}

/*
 * Every defined function symbol, aliases included, in file order: for finding names. The callback
 * returns non-zero to stop; that value is returned. Version suffixes (foo@V1) are not part of the
 * name.
 */
typedef int (*elf_symtab_fn)(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind,
			     bool dynamic);
int elf_symtab__each(const struct elf_image *img, elf_symtab_fn fn, void *arg);

#endif
