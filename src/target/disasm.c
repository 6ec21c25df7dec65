/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions through capstone. See the header; the one thing decided here is what the kernel
 * emulates (arch/x86/kernel/uprobes.c: branch_setup_xol_ops, push_setup_xol_ops).
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/disasm.h"

int disasm__open(struct disasm *d)
{
	*d = (struct disasm){};
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->plain) != CS_ERR_OK)
		goto fail;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->detail) != CS_ERR_OK)
		goto fail;
	cs_option(d->detail, CS_OPT_DETAIL, CS_OPT_ON);
	cs_option(d->detail, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->insn = cs_malloc(d->plain);
	d->detail_insn = cs_malloc(d->detail);
	if (d->insn && d->detail_insn)
		return 0;
fail:
	disasm__close(d);
	return -ENOMEM;
}

void disasm__close(struct disasm *d)
{
	if (d->insn)
		cs_free(d->insn, 1);
	if (d->detail_insn)
		cs_free(d->detail_insn, 1);
	if (d->plain)
		cs_close(&d->plain);
	if (d->detail)
		cs_close(&d->detail);
	*d = (struct disasm){};
}

/* Capstone 4 knows endbr64 only in its later releases. */
static bool is_endbr64(const u8 *code, size_t size)
{
	return size >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4);
}

size_t disasm__len(struct disasm *d, const u8 *code, size_t size, u64 vaddr)
{
	if (is_endbr64(code, size))
		return 4;
	if (!cs_disasm_iter(d->plain, &code, &size, &vaddr, d->insn))
		return 0;
	return ((cs_insn *)d->insn)->size;
}

static s32 rel32(const u8 *p)
{
	s32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* bnd, notrack/branch hints, the 67 a linker pads relaxed calls with, and a REX without meaning. */
static size_t branch_prefixes(const u8 *code, size_t len)
{
	size_t n = 0;

	while (n < len && (code[n] == 0xf2 || code[n] == 0x3e || code[n] == 0x2e ||
			   code[n] == 0x67 || (code[n] & 0xf0) == 0x40))
		n++;
	return n;
}

bool disasm__branch(const u8 *code, size_t len, u64 vaddr, struct branch *b)
{
	size_t skip = branch_prefixes(code, len);
	const u8 *p = code + skip;
	size_t rest = len - skip;
	u64 next = vaddr + len;

	if (rest == 5 && (p[0] == 0xe8 || p[0] == 0xe9))
		*b = (struct branch){ p[0] == 0xe8 ? BRANCH_CALL : BRANCH_JMP, false,
				      next + (s64)rel32(p + 1) };
	else if (rest == 2 && (p[0] == 0xeb || (p[0] & 0xf0) == 0x70))
		*b = (struct branch){ p[0] == 0xeb ? BRANCH_JMP : BRANCH_JCC, false,
				      next + (s64)(int8_t)p[1] };
	else if (rest == 6 && p[0] == 0x0f && (p[1] & 0xf0) == 0x80)
		*b = (struct branch){ BRANCH_JCC, false, next + (s64)rel32(p + 2) };
	else if (rest == 6 && p[0] == 0xff && (p[1] == 0x25 || p[1] == 0x15))
		*b = (struct branch){ p[1] == 0x15 ? BRANCH_CALL : BRANCH_JMP, true,
				      next + (s64)rel32(p + 2) };
	else
		return false;
	return true;
}

/*
 * push of a register (with no prefix but REX.B), direct near jumps, conditional jumps, calls, and
 * nop. Longer nops are emulated by kernels since 2025 only, `66 90` since 6.2. Branches with a
 * 66 prefix are refused altogether.
 */
bool disasm__emulated(const u8 *code, size_t len)
{
	switch (len) {
	case 1:
		return (code[0] & 0xf8) == 0x50 || code[0] == 0x90;
	case 2:
		return (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) || code[0] == 0xeb ||
		       (code[0] & 0xf0) == 0x70;
	case 5:
		return code[0] == 0xe8 || code[0] == 0xe9;
	case 6:
		return code[0] == 0x0f && (code[1] & 0xf0) == 0x80;
	default:
		return false;
	}
}

u8 disasm__arg_reg(u8 n)
{
	static const u8 regs[] = { REG_RDI, REG_RSI, REG_RDX, REG_RCX, 8, 9, REG_RAX };

	return regs[n - 1];
}

/* Every name of every part of the sixteen general registers. */
static const u16 reg_parts[16][5] = {
	{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
	{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
	{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
	{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
	{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_RSP },
	{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_RBP },
	{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_RSI },
	{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_RDI },
	{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_R8 },
	{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_R9 },
	{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_R10 },
	{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_R11 },
	{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_R12 },
	{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_R13 },
	{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_R14 },
	{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_R15 },
};

static u16 reg_bit(u16 reg)
{
	for (size_t i = 0; i < ARRAY_SIZE(reg_parts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(reg_parts[i]); k++)
			if (reg_parts[i][k] == reg)
				return (u16)(1u << i);
	return 0;
}

static u16 regs_written(const struct disasm *d, const cs_insn *insn)
{
	cs_regs reads, writes;
	u8 read_cnt, write_cnt;
	u16 mask = 0;

	if (cs_regs_access(d->detail, insn, reads, &read_cnt, writes, &write_cnt))
		return 0xffff;
	for (u8 i = 0; i < write_cnt; i++)
		mask |= reg_bit(writes[i]);
	return mask;
}

static bool leaves_line(const struct disasm *d, const cs_insn *insn)
{
	static const u8 groups[] = { CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET, CS_GRP_INT,
				     CS_GRP_IRET };

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (cs_insn_group(d->detail, insn, groups[i]))
			return true;
	return insn->id == X86_INS_SYSCALL || insn->id == X86_INS_SYSENTER ||
	       insn->id == X86_INS_HLT || insn->id == X86_INS_UD2;
}

/* `sub $N,%rsp` and `add $-N,%rsp`, which compilers use where it is shorter, and pushes. */
static void stack_effect(const cs_insn *insn, struct insn_effect *e)
{
	const u8 *p = insn->bytes;

	e->sp_known = !(e->writes & (1u << REG_RSP));
	if (e->sp_known)
		return;
	e->sp_known = true;
	if (p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xec)
		e->sp_sub = (int8_t)p[3];
	else if (p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xec)
		e->sp_sub = rel32(p + 3);
	else if (p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4)
		e->sp_sub = -(int8_t)p[3];
	else if (p[0] == 0x6a || p[0] == 0x68 || p[0] == 0x9c)
		e->sp_sub = 8;
	else
		e->sp_known = false;
}

/* capstone's AT&T text says pushq, callq, jmpq; binutils' is shorter and better known. */
static void insn_text(const cs_insn *insn, char *text, size_t size)
{
	static const char *const longer[] = { "pushq", "popq", "callq", "jmpq", "retq" };
	size_t len = strlen(insn->mnemonic);

	for (size_t i = 0; i < ARRAY_SIZE(longer); i++)
		if (!strcmp(insn->mnemonic, longer[i]))
			len--;
	snprintf(text, size, "%.*s%s%.40s", (int)MIN(len, 20), insn->mnemonic,
		 insn->op_str[0] ? " " : "", insn->op_str);
}

int disasm__effect(struct disasm *d, const u8 *code, size_t size, u64 vaddr, struct insn_effect *e)
{
	const cs_insn *insn = d->detail_insn;

	*e = (struct insn_effect){};
	if (is_endbr64(code, size)) {
		*e = (struct insn_effect){ .len = 4, .sp_known = true, .text = "endbr64" };
		return 0;
	}
	if (!cs_disasm_iter(d->detail, &code, &size, &vaddr, d->detail_insn))
		return -EINVAL;
	e->len = (u8)insn->size;
	e->writes = regs_written(d, insn);
	e->leaves = leaves_line(d, insn);
	stack_effect(insn, e);
	insn_text(insn, e->text, sizeof(e->text));
	return 0;
}
