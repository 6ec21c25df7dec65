/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All of a file that its unwind table is made from, read once. Files with the same input have the
 * same table, whatever else is in them, so the input's hash says which tables can be shared. A
 * build id couldn't: a file may lie about it. And because the very bytes that were hashed are
 * compiled, a file that changes between two readings can't give its rows to another one either.
 */
#ifndef UNWIND_INPUT_H
#define UNWIND_INPUT_H

#include "elf/gopclntab.h"
#include "elf/image.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"
#include "unwind/text.h"

struct unwind_input {
	const struct unwind_arch *arch;
	struct unwind_text text;
	struct cfi_section eh_frame;	    /* data NULL: none */
	struct cfi_section debug_frame;	    /* used when .eh_frame has no FDE */
	struct gopclntab go;		    /* of a Go program */
	u64 restorers[UNWIND_RESTORER_MAX]; /* signal returns found in text; used when no FDE says
					     * where they are */
	u32 restorer_cnt;
};

/* 0, -EFBIG text beyond 4 GiB of file offset, -ENOTSUP a machine whose stacks can't be unwound,
 * -ENOMEM. To be freed in any case. */
int unwind_input__read(struct unwind_input *in, const struct elf_image *img);
void unwind_input__fini(struct unwind_input *in);

/* A hash of all of it by a secret key: equal ids, equal inputs. */
void unwind_input__id(const struct unwind_input *in, const u64 key[2], u64 id[2]);

#endif
