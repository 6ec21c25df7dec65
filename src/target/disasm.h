/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86-64 instructions, as far as a probe has to know them: how long they are, where they branch
 * to, which registers they change, and whether the kernel emulates them under a uprobe. Lengths,
 * registers and text come from capstone; branches are read from the bytes, which is faster and
 * doesn't depend on capstone's version.
 */
#ifndef TARGET_DISASM_H
#define TARGET_DISASM_H

#include "base/types.h"

#define INSN_MAX 15 /* bytes, the architecture's limit */

enum { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI }; /* then r8..r15 */

struct disasm {
	size_t plain; /* capstone handles: without details for lengths, with them for registers */
	size_t detail;
	void *insn; /* scratch of each */
	void *detail_insn;
};

enum branch_kind { BRANCH_JMP, BRANCH_JCC, BRANCH_CALL };

struct branch {
	u8 kind;
	bool through_slot; /* target is the address of a pointer (jmp *disp(%rip)), not code */
	u64 target;	   /* virtual address */
};

struct insn_effect {
	u8 len;
	u16 writes;    /* bit per general register */
	bool leaves;   /* branch, return, system call: the straight line may end here */
	bool sp_known; /* sp_sub tells all that happens to rsp */
	s32 sp_sub;    /* bytes the stack pointer goes down */
	char text[64]; /* AT&T syntax */
};

int disasm__open(struct disasm *d); /* 0, -ENOMEM */
void disasm__close(struct disasm *d);

/* Length of the instruction at vaddr; 0 when it is none, or is cut by the end of the code. */
size_t disasm__len(struct disasm *d, const u8 *code, size_t size, u64 vaddr);

/* True when the instruction is a direct branch, or jumps or calls through a pointer near rip. */
bool disasm__branch(const u8 *code, size_t len, u64 vaddr, struct branch *b);

/* What the instruction does to the registers. 0, or -EINVAL when it is none. */
int disasm__effect(struct disasm *d, const u8 *code, size_t size, u64 vaddr, struct insn_effect *e);

/* True when every kernel since 6.1 emulates the instruction instead of single-stepping it. */
bool disasm__emulated(const u8 *code, size_t len);

/* The register of the n-th (1..6) integer argument, System V ABI; or of CATALOG_ARG_GO. */
u8 disasm__arg_reg(u8 n);

#endif
