/* SPDX-License-Identifier: BSD-2-Clause */
/* See the header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/calls.h"
#include "target/disasm.h"
#include "target/place.h"
#include "target/site.h"
#include "target/text.h"

#define LINE_INSNS 16
#define LINE_BYTES CALLS_WINDOW
#define SP_MAX	   2040 /* bytes between entry and probe: what an attach cookie can say */

/* Registers that must still hold what the caller put there: the arguments the row reads, and rbp,
 * which the frame-pointer walk starts from. */
static u16 kept_regs(const struct catalog_row *row)
{
	const u8 args[] = { row->size_arg, row->count_arg, row->ptr_arg, row->align_arg,
			    row->out_arg };
	u16 mask = 1u << REG_RBP;

	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		if (args[i])
			mask |= (u16)(1u << disasm__arg_reg(args[i]));
	return mask;
}

/*
 * The nearest place after the entry that a branch of the function itself leads to: the probe must
 * lie before it. Code that doesn't decode is stepped over byte by byte: a false branch only costs
 * the better place.
 */
static u64 first_landing(const struct site *s, const struct text *t, struct disasm *d)
{
	u64 end = text__func_end(t, s->func_off, s->func_size), first = UINT64_MAX;
	u64 vaddr = text__vaddr(t, s->func_off);
	size_t size = end - s->func_off;
	u8 *code = malloc(size + 1);

	if (!code)
		return s->func_off;
	size = text__read(t, s->func_off, code, size);
	for (size_t i = 0; i < size;) {
		size_t len = disasm__len(d, code + i, size - i, vaddr + i);
		struct branch b;

		if (len && disasm__branch(code + i, len, vaddr + i, &b) && !b.through_slot &&
		    b.target > vaddr && b.target < vaddr + LINE_BYTES)
			first = MIN(first, s->func_off + (b.target - vaddr));
		i += len ? len : 1;
	}
	free(code);
	return first;
}

/* One past the last offset at which a probe is hit exactly once per call. */
static u64 line_limit(const struct site *s, const struct text *t, const struct calls *c,
		      struct disasm *d)
{
	u64 limit = MIN(s->func_off + LINE_BYTES, text__func_end(t, s->func_off, s->func_size));
	const struct call *call;
	size_t cnt;

	call = calls__to(c, s->func_off + 1, limit, &cnt);
	if (cnt)
		limit = call->to;
	return MIN(limit, first_landing(s, t, d));
}

static void settle(struct site *s, u64 off, u32 sp_delta, bool emulated, const char *why)
{
	s->probe_off = off;
	s->sp_delta = sp_delta;
	s->emulated = emulated;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* The length of `[lea -N(%rsp),%r12] cmp 0x10(%r14),%rsp|%r12`; 0 when the code is another. */
static size_t stack_check_len(const u8 *code, size_t size)
{
	size_t lea = 0;

	if (size < 12)
		return 0;
	if (!memcmp(code, "\x4c\x8d\x64\x24", 4))
		lea = 5;
	else if (!memcmp(code, "\x4c\x8d\xa4\x24", 4))
		lea = 8;
	return memcmp(code + lea, lea ? "\x4d\x3b\x66\x10" : "\x49\x3b\x66\x10", 4) ? 0 : lea + 4;
}

bool place__go(struct site *s, const struct text *t, struct disasm *d)
{
	u8 code[LINE_BYTES];
	size_t size = text__read(t, s->func_off, code, sizeof(code));
	size_t pos = stack_check_len(code, size);
	u64 vaddr = text__vaddr(t, s->func_off);
	struct insn_effect e;

	if (!pos || disasm__effect(d, code + pos, size - pos, vaddr + pos, &e))
		return false;
	/* jbe, near or far. */
	if (code[pos] != 0x76 && (code[pos] != 0x0f || code[pos + 1] != 0x86))
		return false;
	settle(s, s->func_off + pos, 0, disasm__emulated(code + pos, e.len), "stack check");
	memcpy(s->insn, e.text, sizeof(s->insn));
	s->stack_check = true;
	return true;
}

void place__choose(struct site *s, const struct text *t, const struct calls *c, struct disasm *d)
{
	u8 code[LINE_BYTES + INSN_MAX];
	size_t size = text__read(t, s->func_off, code, sizeof(code)), pos = 0;
	u64 limit = line_limit(s, t, c, d), vaddr = text__vaddr(t, s->func_off);
	u16 kept = kept_regs(s->row);
	u32 sp_delta = 0;

	settle(s, s->func_off, 0, false, "entry: the code doesn't decode");
	for (int i = 0; i < LINE_INSNS; i++) {
		struct insn_effect e;

		if (pos && s->func_off + pos >= limit)
			return;
		if (pos >= size || disasm__effect(d, code + pos, size - pos, vaddr + pos, &e))
			return;
		if (disasm__emulated(code + pos, e.len)) {
			settle(s, s->func_off + pos, sp_delta, true,
			       pos ? "first emulatable instruction" : "entry");
			memcpy(s->insn, e.text, sizeof(s->insn));
			return;
		}
		if (!pos) {
			settle(s, s->func_off, 0, false, "entry: no emulatable instruction");
			memcpy(s->insn, e.text, sizeof(s->insn));
		}
		if (e.leaves || e.writes & kept || !e.sp_known || e.sp_sub < 0 || e.sp_sub % 8)
			return;
		sp_delta += (u32)e.sp_sub;
		if (sp_delta > SP_MAX)
			return;
		pos += e.len;
	}
}
