/* SPDX-License-Identifier: BSD-2-Clause */
/* See the header. A piece of code is decoded from its start to the end of its function. */
#include <errno.h>
#include <stdlib.h>

#include "target/disasm.h"
#include "target/exits.h"
#include "target/text.h"
#include "target/walk.h"

#define PIECE_MAX 32 /* functions and cold parts */
#define EXIT_MAX  64 /* each is a breakpoint */

struct piece {
	u64 start; /* file offsets */
	u64 end;
};

struct finder {
	struct walk *w;
	exit_offs *exits;
	struct piece pieces[PIECE_MAX];
	u32 piece_cnt;
};

/* False when there is no more room, or no code. */
static bool add_piece(struct finder *f, u64 off, u64 end)
{
	for (u32 i = 0; i < f->piece_cnt; i++)
		if (off >= f->pieces[i].start && off < f->pieces[i].end)
			return true;
	if (f->piece_cnt == PIECE_MAX || end <= off)
		return false;
	f->pieces[f->piece_cnt++] = (struct piece){ off, end };
	return true;
}

/* Pieces may overlap. */
static bool add_exit(struct finder *f, u64 off)
{
	for (size_t i = 0; i < f->exits->cnt; i++)
		if (f->exits->v[i] == off)
			return true;
	return f->exits->cnt < EXIT_MAX && !vec__push(f->exits, off);
}

/* A jump: to where, in this file. False when it can't be followed. */
static bool follow(struct finder *f, const struct branch *raw)
{
	const struct text *t = f->w->t;
	struct walk_branch b;
	const struct text_func *func;
	u64 to;

	walk__resolve(t, raw, &b);
	/* Own functions are rarely replaced; where they are, the replacement's returns go unseen.
	 */
	to = b.off ? b.off : b.own;
	func = to ? text__func_of(t, to) : NULL;
	return func && add_piece(f, to, func->end);
}

static size_t prefix_len(const u8 *code, size_t len)
{
	size_t i = 0;

	while (i + 1 < len &&
	       (code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x3e || (code[i] & 0xf0) == 0x40))
		i++;
	return i;
}

static bool is_return(const u8 *code, size_t len)
{
	size_t at = prefix_len(code, len);

	return code[at] == 0xc3 || code[at] == 0xc2;
}

static bool is_indirect_jump(const u8 *code, size_t len)
{
	size_t at = prefix_len(code, len);

	return code[at] == 0xff && at + 1 < len && (code[at + 1] & 0x30) == 0x20; /* /4, /5 */
}

static bool scan_insn(struct finder *f, const u8 *code, size_t len, u64 vaddr, u64 off)
{
	struct branch b;

	if (disasm__branch(code, len, vaddr, &b))
		return b.kind == BRANCH_CALL || follow(f, &b);
	if (is_return(code, len))
		return add_exit(f, off);
	return !is_indirect_jump(code, len);
}

static bool scan_piece(struct finder *f, const struct piece *p, const u8 *code, size_t size)
{
	u64 vaddr = text__vaddr(f->w->t, p->start);
	size_t len;

	if (size < p->end - p->start)
		return false;
	for (size_t i = 0; i < size; i += len) {
		len = disasm__len(f->w->d, code + i, size - i, vaddr + i);
		if (!len || !scan_insn(f, code + i, len, vaddr + i, p->start + i))
			return false;
	}
	return true;
}

static int read_piece(struct finder *f, u32 at, bool *known)
{
	struct piece p = f->pieces[at];
	size_t size = MIN(p.end - p.start, f->w->budget);
	u8 *code = malloc(size + 1);

	if (!code)
		return -ENOMEM;
	size = text__read(f->w->t, p.start, code, size);
	f->w->budget -= size;
	*known = scan_piece(f, &p, code, size);
	free(code);
	return 0;
}

int exits__find(exit_offs *exits, struct walk *w, u64 off, u64 size)
{
	struct finder f = { .w = w, .exits = exits };
	bool known = add_piece(&f, off, text__func_end(w->t, off, size));
	int err = 0;

	for (u32 i = 0; i < f.piece_cnt && known && !err; i++)
		err = read_piece(&f, i, &known);
	if (err || !known)
		vec__free(exits);
	return err;
}
