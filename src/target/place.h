/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction of a function that the probe goes on. A uprobe on an instruction that the kernel
 * emulates costs a quarter of one that it must single-step, so the first such instruction on the
 * straight line from the entry is taken, as long as nothing is lost by being a little late.
 */
#ifndef TARGET_PLACE_H
#define TARGET_PLACE_H

#include "base/types.h"

struct site;
struct text;
struct calls;
struct disasm;

/*
 * The same for a Go function: the conditional branch behind its stack check. The function begins
 * anew when the branch is taken, so any earlier place is hit twice then, and at the branch the
 * flags tell which hit it is. False when it doesn't begin with a check of Go 1.17 or later: before,
 * sizes were passed on the stack.
 */
bool place__go(struct site *s, const struct text *t, struct disasm *d);

/* Sets probe_off, sp_delta, emulated, insn and why from row, func_off and func_size. */
void place__choose(struct site *s, const struct text *t, const struct calls *c, struct disasm *d);

#endif
