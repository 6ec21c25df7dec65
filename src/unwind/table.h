/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind table of one file: rows sorted by file offset, each holding up to the next. File
 * offsets, because every mapping of the file shares them wherever it was loaded. Packed, it is the
 * array of pages that the BPF walker searches; both look-ups are here, so tests can hold them
 * against each other.
 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include "abi.h"
#include "base/vec.h"
#include "elf/image.h"
#include "unwind/input.h"
#include "unwind/rule.h"

struct unwind_row {
	u32 off;
	u16 rule;
};

struct unwind_table {
	VEC(struct unwind_row) rows;
	u32 fde_cnt; /* that lie in text */
	u32 bad_cnt; /* damaged or refused ones: their text is unsupported or a gap */
};

/*
 * Compiles .eh_frame and Go's function table, or .debug_frame where that is all there is. 0, with
 * no rows when the file has no CFI; -EFBIG text beyond 4 GiB of file offset, -E2BIG more rows than
 * a table may have, -ENOTSUP a machine whose stacks can't be unwound, -ENOMEM. The table is to be
 * freed in any case.
 */
int unwind_table__compile(struct unwind_table *t, const struct elf_image *img,
			  struct unwind_rules *rules);

/* The same from what was read; on the input alone, and the rules' room, does it depend. */
int unwind_table__make(struct unwind_table *t, const struct unwind_input *in,
		       struct unwind_rules *rules);
void unwind_table__fini(struct unwind_table *t);

/* Rule number for a file offset; AS_RULE_GAP where no row holds. */
u16 unwind_table__find(const struct unwind_table *t, u64 off);

/*
 * Lays the rows out as abi.h says: index pages, then chunks. *pages is the caller's to free. With
 * no rows: 0 pages. -E2BIG when AS_INDEX_PAGES index pages don't suffice, -ENOMEM.
 */
int unwind_table__pack(const struct unwind_table *t, union as_page **pages, u32 *page_cnt,
		       u32 *chunk_cnt, u32 first[AS_INDEX_PAGES]);

/* The walker's look-up on the host: two searches of ten steps. */
u16 unwind_pages__find(const union as_page *pages, u32 chunk_cnt, const u32 first[AS_INDEX_PAGES],
		       u64 off);

#endif
