/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a file keeps its CFI: .eh_frame by its section or, when the section table was stripped, by
 * PT_GNU_EH_FRAME; .debug_frame, which may be compressed.
 */
#ifndef UNWIND_SECTION_H
#define UNWIND_SECTION_H

#include "elf/image.h"
#include "unwind/cfi.h"

/* 0 and sec->data (the caller frees it) or sec->data NULL when there is none; -errno. */
int unwind_section__eh_frame(const struct elf_image *img, struct cfi_section *sec);
int unwind_section__debug_frame(const struct elf_image *img, struct cfi_section *sec);

#endif
