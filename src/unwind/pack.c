/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows to pages. A chunk ends when it is full or when the next row is out of reach of its 16-bit
 * deltas; a rule that holds past a chunk's reach is repeated at the start of the next one. Beyond
 * its reach a chunk says "gap", so gaps need no repeats, however long.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "unwind/table.h"

#define CHUNK_REACH \
	0xffffu /* bytes of text from its base, exclusive: the delta 0xffff is padding */
#define CHUNK_MAX   (AS_INDEX_PAGES * AS_CHUNK_ROWS)
#define UNUSED_BASE UINT32_MAX

_Static_assert(AS_CHUNK_ROWS == 1024, "the searches take ten steps");

/* Deals rows into chunks; with pages NULL it only counts them. */
struct packer {
	union as_page *chunks;
	u32 *bases; /* CHUNK_MAX of them */
	u32 cnt;
	u32 row_cnt; /* in the last chunk */
};

static u32 index_pages(u32 chunk_cnt)
{
	return (chunk_cnt + AS_CHUNK_ROWS - 1) / AS_CHUNK_ROWS;
}

static int open_chunk(struct packer *p, u32 base)
{
	struct as_chunk *c;

	if (p->cnt == CHUNK_MAX)
		return -E2BIG;
	p->bases[p->cnt] = base;
	p->row_cnt = 0;
	p->cnt++;
	if (!p->chunks)
		return 0;
	c = &p->chunks[p->cnt - 1].chunk;
	c->base = base;
	for (u32 i = 0; i < AS_CHUNK_ROWS; i++)
		c->rows[i] = (struct as_row){ 0xffff, AS_RULE_GAP };
	return 0;
}

static int put(struct packer *p, u32 off, u16 rule)
{
	if (!p->cnt || p->row_cnt == AS_CHUNK_ROWS || off - p->bases[p->cnt - 1] >= CHUNK_REACH) {
		int err = open_chunk(p, off);

		if (err)
			return err;
	}
	if (p->chunks)
		p->chunks[p->cnt - 1].chunk.rows[p->row_cnt] = (struct as_row){
			(u16)(off - p->bases[p->cnt - 1]),
			rule,
		};
	p->row_cnt++;
	return 0;
}

/* A row that holds in [off, end). */
static int put_all(struct packer *p, u64 off, u64 end, u16 rule)
{
	int err = put(p, (u32)off, rule);

	if (rule == AS_RULE_GAP)
		return err;
	for (;;) {
		off = (u64)p->bases[p->cnt - 1] + CHUNK_REACH;
		if (err || off >= end)
			return err;
		err = put(p, (u32)off, rule);
	}
}

static int deal(struct packer *p, const struct unwind_table *t)
{
	int err = 0;

	for (size_t i = 0; !err && i < t->rows.cnt; i++) {
		const struct unwind_row *row = &t->rows.v[i];
		u64 end = i + 1 < t->rows.cnt ? row[1].off : (u64)row->off + 1;

		err = put_all(p, row->off, end, row->rule);
	}
	return err;
}

static void fill_index(union as_page *pages, const struct packer *p, u32 first[AS_INDEX_PAGES])
{
	for (u32 i = 0; i < AS_INDEX_PAGES; i++)
		first[i] = i < index_pages(p->cnt) ? p->bases[i * AS_CHUNK_ROWS] : UNUSED_BASE;
	for (u32 i = 0; i < index_pages(p->cnt) * AS_CHUNK_ROWS; i++)
		pages[i / AS_CHUNK_ROWS].base[i % AS_CHUNK_ROWS] =
			i < p->cnt ? p->bases[i] : UNUSED_BASE;
}

static int pack(const struct unwind_table *t, struct packer *p, union as_page **pages)
{
	u32 index_cnt;
	int err = deal(p, t);

	if (err)
		return err;
	index_cnt = index_pages(p->cnt);
	*pages = calloc(index_cnt + p->cnt, sizeof(**pages));
	if (!*pages)
		return -ENOMEM;
	p->chunks = *pages + index_cnt;
	p->cnt = 0;
	return deal(p, t);
}

int unwind_table__pack(const struct unwind_table *t, union as_page **pages, u32 *page_cnt,
		       u32 *chunk_cnt, u32 first[AS_INDEX_PAGES])
{
	union as_page *out = NULL;
	struct packer p = { .bases = calloc(CHUNK_MAX, sizeof(*p.bases)) };
	int err = p.bases ? 0 : -ENOMEM;

	if (!err && t->rows.cnt)
		err = pack(t, &p, &out);
	if (!err) {
		fill_index(out, &p, first);
		*pages = out;
		*page_cnt = index_pages(p.cnt) + p.cnt;
		*chunk_cnt = p.cnt;
	}
	free(p.bases);
	if (err == -E2BIG)
		return err__fail(err, "too many unwind rows");
	return err ? err__fail(err, "no memory for an unwind table") : 0;
}

/* The last of 1024 sorted numbers that isn't above val; the first is known not to be. */
static u32 search_bases(const u32 *base, u32 val)
{
	u32 pos = 0;

	for (u32 step = AS_CHUNK_ROWS / 2; step; step /= 2)
		pos += base[pos + step] <= val ? step : 0;
	return pos;
}

static u32 search_rows(const struct as_row *rows, u32 delta)
{
	u32 pos = 0;

	for (u32 step = AS_CHUNK_ROWS / 2; step; step /= 2)
		pos += rows[pos + step].pc_delta <= delta ? step : 0;
	return pos;
}

u16 unwind_pages__find(const union as_page *pages, u32 chunk_cnt, const u32 first[AS_INDEX_PAGES],
		       u64 off)
{
	u32 page = 0, chunk, delta;
	const struct as_chunk *c;

	if (!chunk_cnt || off < first[0] || off >= UNUSED_BASE)
		return AS_RULE_GAP;
	for (u32 i = 1; i < AS_INDEX_PAGES; i++)
		page += first[i] <= off;
	chunk = page * AS_CHUNK_ROWS + search_bases(pages[page].base, (u32)off);
	c = &pages[index_pages(chunk_cnt) + chunk].chunk;
	delta = (u32)off - c->base;
	return delta < CHUNK_REACH ? c->rows[search_rows(c->rows, delta)].rule : AS_RULE_GAP;
}
