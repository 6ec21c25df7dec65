/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where to put the probes in one file, and what the disassembly tells about nesting: which
 * allocator functions jump on to which (tail jumps), and which text belongs to the allocator itself
 * (a call from there is nested).
 */
#ifndef TARGET_SITE_H
#define TARGET_SITE_H

#include "base/types.h"
#include "base/vec.h"
#include "target/catalog.h"
#include "target/exits.h"
#include "target/probe.h"

struct elf_image;

struct site {
	const struct catalog_row *row;
	char *symbol;		   /* the name found: the plainest one of the address */
	VEC(const char *) aliases; /* other names of the same address (the catalog's strings) */
	u64 func_off;		   /* file offset of the function's entry */
	u64 func_size;		   /* bytes, 0 unknown */
	u64 probe_off; /* file offset of the probe: first emulatable instruction, or func_off */
	u32 sp_delta; /* bytes pushed between entry and probe: return address is at sp + sp_delta */
	bool stack_check; /* the probe is on the branch of a Go function's stack check */
	bool throws;	  /* may be left by an exception, under one of its names */
	exit_offs exits;  /* where such a function returns; empty when that can't be known */
	bool emulated;	  /* the kernel emulates the instruction there: no single-step trap */
	char insn[64];	  /* "push %r12" for `allocsnoop list` */
	char why[64];	  /* "entry", "first emulatable instruction", "no emulatable instruction" */
};

/* Function `from` (index into sites) jumps on to the entry of another allocator function. */
struct site_jump {
	u32 from;	    /* index of the site that jumps */
	s32 to;		    /* index of the site in this file jumped to, or -1 */
	const char *import; /* with to == -1: jumps through PLT/GOT to this symbol ("realloc"; the
			       row's string), else "". When the file defines it too, a second
			       entry has the site in `to` */
};

struct site_range { /* file offsets [start, end) of text that is the allocator itself */
	u64 start;
	u64 end;
	u8 layer; /* whose calls from there are nested: that of the rows */
};

/* All that is to know about one file. */
struct site_file {
	VEC(struct site)
	sites; /* each probe offset once, ROLE_FREE rows included; sorted by probe_off */
	VEC(struct site_jump) jumps;
	VEC(struct site_range) ranges; /* by layer; sorted, and disjoint within one */
	VEC(char *)
	skipped; /* "operator new(unsigned long): ends in malloc of another file" for list */
	bool has_symbols;      /* any function symbol at all */
	const char *allocator; /* family for headings, of the first site; NULL when there are no
				  sites */
};

/*
 * Finds the sites of a file. No allocator in it is 0 with no sites (the normal case, and fast: only
 * the symbol tables are read then). Beside the catalog's functions those that `probes` (NULL: none)
 * names in files of this path. 0 or -errno (-EINVAL damaged, -ENOEXEC not x86-64).
 */
int site_file__read(struct site_file *f, const struct elf_image *img, const char *path,
		    struct probe_set *probes);
void site_file__free(struct site_file *f);

/* True when the symbol is the site's name or one of its aliases: what an import may be bound to. */
bool site__is_named(const struct site *s, const char *symbol);

#endif
