/* SPDX-License-Identifier: BSD-2-Clause */
/* Every way to miss something has a name, a meaning and a count. */
#ifndef TRACE_LOSS_H
#define TRACE_LOSS_H

#include "abi.h"
#include "base/types.h"

/* User space's own, after the kernel's AS_LOSS_*. */
enum {
	LOSS_LATE_ATTACH = AS_LOSS_CNT, /* a file was probed while its process already ran */
	LOSS_ATTACH_FAILED,
	LOSS_FILE_GONE,
	LOSS_STACK_UNKNOWN,
	LOSS_MEMORY,
	LOSS_FILE_32BIT,
	LOSS_RANGES_CUT,
	LOSS_TABLE_MEMORY,
	LOSS_STACKS_AGED,
	LOSS_NAMES_MERGED,
	LOSS_LINES_CUT,
	LOSS_THREADS_MERGED,
	LOSS_CNT
};

struct loss_text {
	const char *name;
	const char *text;
};

extern const struct loss_text loss_texts[LOSS_CNT];

#endif
