/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sweep over the FDEs in order of their starts. FDEs should not overlap but may: the later
 * start wins as long as it lasts, then the earlier one goes on. What no FDE covers is padding when
 * it is short, else a gap; a gap with the entry point in it is where the program's stack ends.
 */
#include "unwind/build.h"

#include <errno.h>

#define PADDING_MAX 16 /* bytes between two functions that are taken for alignment */
#define OPEN_MAX    16 /* FDEs around one place; of more the outermost are forgotten */
/* An entry point is a few instructions that set up a call. Where no FDE follows nothing says where
 * it ends; glibc's ld.so needs 61 bytes. */
#define ENTRY_SIZE 64

struct sweep {
	struct unwind_table *t;
	const struct cfi *cfi;
	const struct unwind_text *text;
	const struct cfi_fde *open[OPEN_MAX];
	u32 depth;
	u64 pos; /* rows are final below this offset */
};

static int add_row(struct unwind_table *t, u64 off, u16 rule)
{
	struct unwind_row *last = t->rows.cnt ? &t->rows.v[t->rows.cnt - 1] : NULL;

	if (last ? last->rule == rule : rule == AS_RULE_GAP)
		return 0;
	if (t->rows.cnt >= AS_INDEX_PAGES * AS_CHUNK_ROWS * AS_CHUNK_ROWS)
		return -E2BIG;
	return vec__push(&t->rows, ((struct unwind_row){ (u32)off, rule }));
}

/* The FDE's rows, as far as they lie in [from, to). */
static int add_fde_rows(struct sweep *s, const struct cfi_fde *fde, u64 from, u64 to)
{
	const struct cfi_row *rows = s->cfi->rows.v + fde->row;
	u32 lo = 0, hi = fde->row_cnt;
	int err;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (fde->start + rows[mid].delta <= from)
			lo = mid;
		else
			hi = mid;
	}
	err = add_row(s->t, from, rows[lo].rule);
	for (u32 i = lo + 1; !err && i < fde->row_cnt && fde->start + rows[i].delta < to; i++)
		err = add_row(s->t, fde->start + rows[i].delta, rows[i].rule);
	return err;
}

/* Nothing covers [from, to). */
static int add_gap(struct sweep *s, u64 from, u64 to)
{
	u64 entry = s->text->entry_off;
	bool has_entry = entry >= from && entry < to;
	int err = 0;

	if (!has_entry)
		return to - from < PADDING_MAX ? 0 : add_row(s->t, from, AS_RULE_GAP);
	if (entry > from)
		err = add_row(s->t, from, AS_RULE_GAP);
	if (!err)
		err = add_row(s->t, entry, AS_RULE_END);
	if (!err && to - entry > ENTRY_SIZE)
		err = add_row(s->t, entry + ENTRY_SIZE, AS_RULE_GAP);
	return err;
}

static int sweep_to(struct sweep *s, u64 limit)
{
	int err = 0;

	while (!err && s->depth && s->pos < limit) {
		const struct cfi_fde *fde = s->open[s->depth - 1];
		u64 end = MIN(fde->end, limit);

		if (fde->end <= s->pos) {
			s->depth--;
			continue;
		}
		err = add_fde_rows(s, fde, s->pos, end);
		s->pos = end;
	}
	if (!err && s->pos < limit)
		err = add_gap(s, s->pos, limit);
	s->pos = limit;
	return err;
}

static void open_fde(struct sweep *s, const struct cfi_fde *fde)
{
	if (s->depth == OPEN_MAX) {
		memmove(s->open, s->open + 1, sizeof(s->open) - sizeof(s->open[0]));
		s->depth--;
	}
	s->open[s->depth++] = fde;
}

/* By start; of equal starts the longest first, then in the order of the section. */
static int fde_cmp(const void *va, const void *vb)
{
	const struct cfi_fde *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/*
 * The walker looks up return addresses minus one, since a call may be the last thing in a function.
 * But a signal handler returns to the restorer's first byte and no call is before it, so the row
 * has to hold there, too. (glibc's FDE begins one byte early for the same reason; two do no harm.)
 */
static void begin_early(struct cfi *cfi, struct cfi_fde *fde)
{
	fde->start--;
	for (u32 i = 1; i < fde->row_cnt; i++)
		cfi->rows.v[fde->row + i].delta++;
}

/* Addresses become file offsets; FDEs of discarded or unmapped code are dropped. */
static void map_fdes(struct cfi *cfi, const struct unwind_text *text)
{
	size_t cnt = 0;

	for (size_t i = 0; i < cfi->fdes.cnt; i++) {
		struct cfi_fde fde = cfi->fdes.v[i];
		const struct unwind_seg *seg = unwind_text__seg(text, fde.start);
		u64 size = fde.end - fde.start;

		if (!seg)
			continue;
		size = MIN(size, seg->size - (fde.start - seg->vaddr));
		fde.start = fde.start - seg->vaddr + seg->off;
		fde.end = fde.start + size;
		if (fde.signal && fde.start > seg->off)
			begin_early(cfi, &fde);
		/* Linkers leave address 0 in FDEs of discarded code; there is the ELF header. */
		if (fde.start >= sizeof(Elf64_Ehdr))
			cfi->fdes.v[cnt++] = fde;
	}
	cfi->fdes.cnt = cnt;
}

static bool is_sorted(const struct cfi *cfi)
{
	for (size_t i = 1; i < cfi->fdes.cnt; i++)
		if (fde_cmp(&cfi->fdes.v[i - 1], &cfi->fdes.v[i]) > 0)
			return false;
	return true;
}

int unwind_table__build(struct unwind_table *t, struct cfi *cfi, const struct unwind_text *text)
{
	struct sweep s = { .t = t, .cfi = cfi, .text = text };
	int err = 0;

	map_fdes(cfi, text);
	t->fde_cnt = (u32)cfi->fdes.cnt;
	t->bad_cnt = cfi->bad_cnt;
	if (!cfi->fdes.cnt)
		return 0;
	if (!is_sorted(cfi))
		qsort(cfi->fdes.v, cfi->fdes.cnt, sizeof(*cfi->fdes.v), fde_cmp);
	for (size_t i = 0; !err && i < cfi->fdes.cnt; i++) {
		err = sweep_to(&s, cfi->fdes.v[i].start);
		open_fde(&s, &cfi->fdes.v[i]);
	}
	return err ? err : sweep_to(&s, UINT64_MAX);
}
