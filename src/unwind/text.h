/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file's executable segments: what turns CFI addresses into file offsets, and the two places that
 * CFI often misses: the entry point and the return from signal handlers.
 */
#ifndef UNWIND_TEXT_H
#define UNWIND_TEXT_H

#include "elf/image.h"
#include "unwind/arch.h"

#define UNWIND_SEG_MAX	    32
#define UNWIND_NO_OFF	    UINT64_MAX
#define UNWIND_RESTORER_MAX 64

struct unwind_seg {
	u64 vaddr;
	u64 off;
	u64 size; /* in the file; never 0 */
};

struct unwind_text {
	struct unwind_seg segs[UNWIND_SEG_MAX];
	u32 seg_cnt;
	u64 entry_off; /* file offset of e_entry, UNWIND_NO_OFF when it isn't in text */
};

/* -EFBIG when text reaches beyond what a row can say. */
int unwind_text__init(struct unwind_text *text, const struct elf_image *img);

/* NULL when the address is no text. */
const struct unwind_seg *unwind_text__seg(const struct unwind_text *text, u64 vaddr);

/*
 * Addresses of the signal returns that the code shows: musl and Go describe none in CFI. 0 or
 * -ENOMEM.
 */
int unwind_text__restorers(const struct unwind_text *text, const struct elf_image *img,
			   const struct unwind_arch *arch, u64 vaddrs[UNWIND_RESTORER_MAX],
			   u32 *cnt);

#endif
