/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction of a function that the probe goes on. A uprobe on an instruction that the kernel
 * emulates costs a quarter of one that it must single-step, so the first such instruction on the
 * straight line from the entry is taken, as long as nothing is lost by being a little late.
 */
#ifndef TARGET_PLACE_H
#define TARGET_PLACE_H

struct site;
struct text;
struct calls;
struct disasm;

/* Sets probe_off, sp_delta, emulated, insn and why from row, func_off and func_size. */
void place__choose(struct site *s, const struct text *t, const struct calls *c, struct disasm *d);

#endif
