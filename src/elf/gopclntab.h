/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function table of a Go program (.gopclntab), which the Go runtime itself needs and which
 * therefore survives stripping: each function's name, and how far the stack pointer is below its
 * return address at each place. Formats of Go 1.16 to 1.17, 1.18 to 1.19, and since 1.20
 * (runtime/symtab.go, cmd/link/internal/ld/pcln.go). The table is the traced program's: every
 * offset is checked, and work is linear in its size.
 */
#ifndef ELF_GOPCLNTAB_H
#define ELF_GOPCLNTAB_H

#include "base/types.h"

struct elf_image;

struct gopclntab {
	u8 *section; /* that holds it, a NUL after it; NULL: no such table */
	const u8 *data;
	size_t size;
	const struct gopclntab_format *format;
	u64 text; /* virtual address that functions are counted from */
	u64 func_cnt;
	u64 names; /* offsets into data */
	u64 units; /* which files are whose, and their paths */
	u64 files;
	u64 depths;
	u64 funcs;
};

struct go_func {
	const char *name; /* points into the table; ends in a NUL */
	size_t name_len;
	u64 vaddr;
	u64 size;	     /* bytes, without padding behind it */
	u64 depths;	     /* where its stack depths begin in the table; 0: not known */
	bool outermost;	     /* nothing called it: goexit, mstart ... */
	bool switches_stack; /* writes the stack pointer: depths don't hold (systemstack ...) */
};

/* One row of a function's stack depths. Start with { .func = f }. */
struct go_depth {
	const struct go_func *func;
	u64 start; /* bytes from the function's entry, and one past the last */
	u64 end;
	s32 depth; /* return address is at rsp + depth */
	u64 pos;   /* in the table; 0 before the first row */
};

/* No table, one of another format, or a damaged one: 0 with no section. 0 or -ENOMEM. */
int gopclntab__open(struct gopclntab *t, const struct elf_image *img);
void gopclntab__close(struct gopclntab *t);

/* Each function, by address. A result other than 0 stops and is returned. */
typedef int (*go_func_fn)(void *arg, const struct go_func *f);
int gopclntab__each(const struct gopclntab *t, go_func_fn fn, void *arg);

/* Source file (in the table, its bytes as they are) and line of an address; where a function was
 * inlined, that function's. False: not known. */
bool gopclntab__line(const struct gopclntab *t, u64 vaddr, const char **file, size_t *file_len,
		     u32 *line);

/* The next row; false after the last, or where the table is damaged. */
bool gopclntab__next_depth(const struct gopclntab *t, struct go_depth *d);

#endif
