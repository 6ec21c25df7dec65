/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of DWARF that tells source lines and inlined functions (DWARF 2 to 5, dwarfstd.org;
 * GNU's split units and supplementary files). It is the traced program's, so nothing of it is
 * believed: what is read is copied, bounded and counted against a budget. (A library would map the
 * file, which gives SIGBUS when its owner cuts it; it would have no bound on time; and libdw ends
 * the process when memory runs out.)
 *
 * Functions return 0 or -errno: -ENOMEM; -EINVAL damaged, of an unknown kind or not there; -E2BIG
 * the budget is spent.
 */
#ifndef DWARF_DWARF_H
#define DWARF_DWARF_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"
#include "elf/image.h"

/* What one program and its debug files may cost. */
struct dwarf_budget {
	u64 steps;	/* attributes, rows and list entries: some 10 ns each */
	u64 bytes;	/* of memory */
	u64 bytes_more; /* as above, for which files have to be large themselves */
	bool spent;
};

/* Takes so much of it: 0 or -E2BIG. */
int budget__steps(struct dwarf_budget *b, u64 cnt);
int budget__bytes(struct dwarf_budget *b, u64 size);

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_LINE_STR,
	DWARF_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_CU_INDEX,
	DWARF_SECTION_CNT
};

struct dwarf_bytes {
	const Elf64_Shdr *sh; /* NULL: there is none */
	u8 *data;	      /* a NUL behind it; NULL: not read */
	u64 size;	      /* 0 until it's known */
	bool compressed;
	int err; /* reading failed */
};

/* Addresses of a unit. Sorted by `low`; `most` is the highest end up to here. */
struct unit_range {
	u64 low;
	u64 high;
	u64 most;
	u32 unit;
};

struct dwarf_file {
	struct elf_image img; /* owns img.fd; -1: all that is needed was read */
	struct dwarf_bytes sections[DWARF_SECTION_CNT];
	struct dwarf_budget *budget;
	struct dwarf_file *alt; /* supplementary file (dwz); of the caller, NULL none */
	struct map abbrevs;	/* offset -> struct abbrevs * */
	VEC(struct dwarf_unit *) units;
	VEC(struct unit_range) ranges;
};

/* An attribute's value as it was read. */
struct dwarf_value {
	u16 form;    /* 0: there is none */
	u64 n;	     /* number, offset or length */
	const u8 *p; /* the string of DW_FORM_string */
};

/* What is of interest about an entry. */
enum dwarf_attr {
	ATTR_NAME,
	ATTR_LINKAGE_NAME,
	ATTR_LOW_PC,
	ATTR_HIGH_PC,
	ATTR_RANGES,
	ATTR_ORIGIN,
	ATTR_SPECIFICATION,
	ATTR_CALL_FILE,
	ATTR_CALL_LINE,
	ATTR_STMT_LIST,
	ATTR_COMP_DIR,
	ATTR_DWO_NAME,
	ATTR_DWO_ID,
	ATTR_ADDR_BASE,
	ATTR_STR_BASE,
	ATTR_RNGLISTS_BASE,
	ATTR_GNU_RANGES_BASE,
	ATTR_CNT
};

/* An entry of the tree. */
struct dwarf_die {
	u32 tag; /* 0: the end of siblings */
	bool has_children;
	struct dwarf_value v[ATTR_CNT];
};

struct dwarf_lines;
struct dwarf_functions;

struct dwarf_unit {
	struct dwarf_file *file;
	struct dwarf_unit *skeleton; /* whose addresses and lines are used: itself, unless split */
	struct dwarf_unit *split;    /* found for a skeleton; of the caller's, NULL none */
	bool split_tried;
	u64 off; /* in .debug_info, of its header */
	u64 size;
	u32 header_size;
	u64 abbrev_off;
	u16 version;
	u8 type; /* DW_UT_* */
	bool is64;
	const u8 *data; /* all of it; NULL: not read */
	u8 *own_data;	/* to be freed */
	struct abbrevs *abbrevs;
	struct dwarf_die root;
	u64 dwo_id; /* 0 none */
	u64 addr_base;
	u64 str_base;
	u64 rnglists_base;
	u64 gnu_ranges_base;
	struct dwarf_lines *lines; /* NULL: not read, see lines_err */
	struct dwarf_functions *functions;
	int lines_err;
	int functions_err;
};

/* ---- file.c ---- */

/*
 * Takes fd over, also when it fails. dwo: a file of split units, whose sections are read at once
 * and whose descriptor is closed. -EINVAL: not ELF, or without .debug_info.
 */
int dwarf_file__open(struct dwarf_file **f, int fd, bool dwo, struct dwarf_budget *budget);
void dwarf_file__close(struct dwarf_file *f); /* NULL is fine */

/* A whole section. */
int dwarf_file__section(struct dwarf_file *f, enum dwarf_section sec, const u8 **data, u64 *size);

/* A part of a section: up to `size` bytes (*got) that the caller frees with *own. */
int dwarf_file__part(struct dwarf_file *f, enum dwarf_section sec, u64 off, u64 size,
		     const u8 **data, u64 *got, u8 **own);

/* Does it have the section? */
bool dwarf_file__has(const struct dwarf_file *f, enum dwarf_section sec);

/* ---- unit.c ---- */

/* The headers of all units. */
int dwarf_file__read_units(struct dwarf_file *f);

/* After that: which addresses are whose. */
int dwarf_file__index(struct dwarf_file *f);

/* NULL: nobody's. */
struct dwarf_unit *dwarf_file__unit_at_pc(const struct dwarf_file *f, u64 pc);
struct dwarf_unit *dwarf_file__unit_at(const struct dwarf_file *f, u64 info_off);

/* Reads the unit and its root entry. */
int dwarf_unit__load(struct dwarf_unit *u);

/* The unit of split file `dwo` that belongs to the skeleton: it becomes skeleton->split. */
int dwarf_unit__join(struct dwarf_unit *skeleton, struct dwarf_file *dwo);

/* ---- die.c ---- */

/* Of a unit that is loaded. */
int dwarf_unit__read_abbrevs(struct dwarf_unit *u);
void abbrevs__free(struct abbrevs *a);

/* Reads the entry at the cursor, which moves on; values of tags without interest are skipped. */
int dwarf_die__read(struct dwarf_unit *u, struct cursor *c, struct dwarf_die *die);

/* One value, for tables with forms of their own. */
int dwarf_value__read(const struct dwarf_unit *u, struct cursor *c, u16 form, s64 implicit,
		      struct dwarf_value *v);

/* A string, copied to the arena as it is; NULL in *s when there is none. */
int dwarf_value__string(struct dwarf_unit *u, const struct dwarf_value *v, struct arena *arena,
			const char **s);

/* The entry that a value points to: its unit, and its place in .debug_info. */
int dwarf_value__ref(struct dwarf_unit *u, const struct dwarf_value *v, struct dwarf_unit **unit,
		     u64 *off);

/* The entry there, which lies in the unit. */
int dwarf_unit__die_at(struct dwarf_unit *u, u64 info_off, struct dwarf_die *die);

/* The name of the function that an entry stands for, by abstract origin and specification: the
 * linkage name, else the source's. *s NULL: none. */
int dwarf_unit__function_name(struct dwarf_unit *u, u64 info_off, struct arena *arena,
			      const char **s);

/* ---- range.c ---- */

/* Each range of an entry. A result other than 0 stops and is returned. */
typedef int (*dwarf_range_fn)(void *arg, u64 low, u64 high);
int dwarf_die__each_range(struct dwarf_unit *u, const struct dwarf_die *die, dwarf_range_fn fn,
			  void *arg);

/* ---- lines.c ---- */

/* Reads the unit's line table when it's first asked for. */
int dwarf_unit__read_lines(struct dwarf_unit *u);
void dwarf_lines__free(struct dwarf_lines *l);

/* False: no line for it. Of a unit whose lines were read. */
bool dwarf_unit__line(const struct dwarf_unit *u, u64 pc, u64 *file, u32 *line);

/* The path of a numbered file, in the arena; NULL in *path: unknown. */
int dwarf_unit__path(struct dwarf_unit *u, u64 file, struct arena *arena, const char **path);

/* ---- functions.c ---- */

/* A function, or a copy of one that was inlined into another. */
struct dwarf_function {
	u64 die; /* in .debug_info of its unit */
	bool inlined;
	u64 call_file; /* where the caller calls it; 0 unknown */
	u32 call_line;
};

#define DWARF_CHAIN_MAX 256

/* Reads the unit's functions when they are first asked for. */
int dwarf_unit__read_functions(struct dwarf_unit *u);
void dwarf_functions__free(struct dwarf_functions *f);

/* The functions that the address is in, innermost first: the last one isn't inlined. Their number
 * is returned, 0: none. Of a unit whose functions were read. */
u32 dwarf_unit__chain(const struct dwarf_unit *u, u64 pc,
		      const struct dwarf_function *chain[DWARF_CHAIN_MAX]);

/* All functions' ranges, for units that don't tell theirs. */
int dwarf_unit__each_function_range(struct dwarf_unit *u, dwarf_range_fn fn, void *arg);

#endif
