/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The byte scan. A bitmap over the code says which targets are of interest, so that a 100 MB text
 * costs one pass at about a nanosecond a byte and memory only for real hits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "target/calls.h"
#include "target/text.h"

#define CHUNK	 (256u * 1024)
#define OVERLAP	 16		/* bytes kept so that no instruction is cut */
#define SCAN_MAX (512ull << 20) /* bytes of code, and of data */
#define CALL_MAX (16u << 20)	/* recorded branches */

struct scan {
	struct calls *calls;
	struct text *t;
	u8 **maps; /* per segment: a bit per byte that is a target of interest */
	u8 *buf;
	u64 left;     /* budget in bytes */
	u64 vaddr_lo; /* of all segments, to reject most numbers at once */
	u64 vaddr_hi;
};

/* What a byte may be the opcode of. */
enum { OP_NONE, OP_REL, OP_TWO, OP_LEA };
static const u8 op_class[256] = {
	[0xe8] = OP_REL, [0xe9] = OP_REL, [0x0f] = OP_TWO, [0x8d] = OP_LEA
};

static bool is_target(const struct scan *s, u64 vaddr, u64 *off)
{
	for (size_t i = 0; i < s->t->segs.cnt; i++) {
		const struct text_seg *seg = &s->t->segs.v[i];
		u64 pos = vaddr - seg->vaddr;

		if (vaddr < seg->vaddr || pos >= seg->size)
			continue;
		*off = seg->off + pos;
		return s->maps[i] && s->maps[i][pos / 8] & (1u << (pos % 8));
	}
	return false;
}

static void take(struct scan *s, u64 vaddr)
{
	struct text_func *f;
	u64 off;

	if (vaddr < s->vaddr_lo || vaddr >= s->vaddr_hi || !is_target(s, vaddr, &off))
		return;
	f = text__func_at(s->t, off);
	if (f)
		f->taken = true;
}

static u64 rel_target(const u8 *p, u64 vaddr)
{
	s32 rel;

	memcpy(&rel, p, sizeof(rel));
	return vaddr + 4 + (u64)(s64)rel;
}

/* p and vaddr are those of the distance. */
static int scan_branch(struct scan *s, const u8 *p, u64 vaddr, u64 from)
{
	struct call call = { .from = from };

	if (!is_target(s, rel_target(p, vaddr), &call.to))
		return 0;
	if (s->calls->by_from.cnt >= CALL_MAX) {
		s->calls->cut = true;
		return 0;
	}
	return vec__push(&s->calls->by_from, call);
}

static int scan_op(struct scan *s, const u8 *p, u64 vaddr, u64 from)
{
	switch (op_class[p[0]]) {
	case OP_REL:
		return scan_branch(s, p + 1, vaddr + 1, from);
	case OP_TWO:
		if ((p[1] & 0xf0) == 0x80)
			return scan_branch(s, p + 2, vaddr + 2, from);
		return 0;
	default: /* lea disp(%rip), reg */
		if ((p[1] & 0xc7) == 0x05)
			take(s, rel_target(p + 2, vaddr + 2));
		return 0;
	}
}

/* Where code lies at fixed addresses, any four bytes may be the address of a function. */
static void scan_numbers(struct scan *s, const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		u32 num;

		memcpy(&num, p + i, sizeof(num));
		if (num >= s->vaddr_lo && num < s->vaddr_hi)
			take(s, num);
	}
}

static int scan_seg(struct scan *s, const struct text_seg *seg)
{
	u64 pos = 0;

	while (pos < seg->size && s->left) {
		size_t n = text__read(s->t, seg->off + pos, s->buf, CHUNK);
		size_t use = pos + n < seg->size ? n - MIN(n, (size_t)OVERLAP) : n;
		u64 vaddr = seg->vaddr + pos;

		if (!use)
			return 0;
		memset(s->buf + n, 0, OVERLAP);
		for (size_t i = 0; i < use; i++)
			if (op_class[s->buf[i]] &&
			    scan_op(s, s->buf + i, vaddr + i, seg->off + pos + i))
				return -ENOMEM;
		if (s->t->fixed)
			scan_numbers(s, s->buf, use);
		pos += use;
		s->left -= MIN(s->left, (u64)use);
	}
	if (pos < seg->size)
		s->calls->cut = true;
	return 0;
}

/*
 * Pointers in data: the addends of RELR relocations, and everything in a file at fixed addresses.
 * Vtables and tables of functions are aligned words.
 */
static void scan_data(struct scan *s, const Elf64_Phdr *ph)
{
	const Elf64_Ehdr *eh = &s->t->img->ehdr;
	u64 off = (ph->p_offset + 7) & ~7ull, end = ph->p_offset + ph->p_filesz;

	/* The headers say where the text begins, and that may be a function. */
	if (!ph->p_offset)
		off = MAX(sizeof(*eh), eh->e_phoff + eh->e_phnum * sizeof(*ph));
	while (off < end && s->left) {
		ssize_t n = pread(s->t->img->fd, s->buf, MIN(end - off, (u64)CHUNK), (off_t)off);

		if (n < 8)
			return;
		for (ssize_t i = 0; i + 8 <= n; i += 8) {
			u64 word;

			memcpy(&word, s->buf + i, sizeof(word));
			take(s, word);
		}
		off += (u64)n & ~7ull;
		s->left -= MIN(s->left, (u64)n);
	}
}

static void mark(struct scan *s, u64 off, u64 len)
{
	for (size_t i = 0; i < s->t->segs.cnt; i++) {
		const struct text_seg *seg = &s->t->segs.v[i];
		u64 pos = off - seg->off;

		if (off < seg->off || pos >= seg->size || !s->maps[i])
			continue;
		for (u64 k = pos; k < pos + len && k < seg->size; k++)
			s->maps[i][k / 8] |= (u8)(1u << (k % 8));
		return;
	}
}

static int scan_init(struct scan *s, const u64 *entries, size_t entry_cnt)
{
	const struct text *t = s->t;

	s->buf = malloc(CHUNK + OVERLAP);
	s->maps = calloc(t->segs.cnt + 1, sizeof(*s->maps));
	if (!s->buf || !s->maps)
		return -ENOMEM;
	s->vaddr_lo = UINT64_MAX;
	for (size_t i = 0; i < t->segs.cnt; i++) {
		const struct text_seg *seg = &t->segs.v[i];

		s->vaddr_lo = MIN(s->vaddr_lo, seg->vaddr);
		s->vaddr_hi = MAX(s->vaddr_hi, seg->vaddr + seg->size);
		if (seg->size > SCAN_MAX)
			continue;
		s->maps[i] = calloc(1, seg->size / 8 + 1);
		if (!s->maps[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < t->funcs.cnt; i++)
		mark(s, t->funcs.v[i].start, 1);
	for (size_t i = 0; i < entry_cnt; i++)
		mark(s, entries[i], CALLS_WINDOW);
	return 0;
}

static void scan_fini(struct scan *s)
{
	for (size_t i = 0; s->maps && i < s->t->segs.cnt; i++)
		free(s->maps[i]);
	free(s->maps);
	free(s->buf);
}

static int scan_all(struct scan *s)
{
	const struct elf_image *img = s->t->img;
	int err = 0;

	s->left = SCAN_MAX;
	for (size_t i = 0; i < s->t->segs.cnt && !err; i++)
		err = scan_seg(s, &s->t->segs.v[i]);
	s->left = SCAN_MAX;
	for (u32 i = 0; i < img->ehdr.e_phnum && !err; i++)
		if (img->phdrs[i].p_type == PT_LOAD && !(img->phdrs[i].p_flags & PF_X))
			scan_data(s, &img->phdrs[i]);
	for (size_t i = 0; i < s->t->stored.cnt; i++) {
		struct text_func *f = text__func_at(s->t, s->t->stored.v[i]);

		if (f)
			f->taken = true;
	}
	return err;
}

static int cmp_from(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int cmp_to(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

int calls__scan(struct calls *c, struct text *t, const u64 *entries, size_t entry_cnt)
{
	struct scan s = { .calls = c, .t = t };
	int err = scan_init(&s, entries, entry_cnt);

	*c = (struct calls){};
	if (!err)
		err = scan_all(&s);
	scan_fini(&s);
	for (size_t i = 0; i < c->by_from.cnt && !err; i++)
		err = vec__push(&c->by_to, c->by_from.v[i]);
	if (err) {
		calls__free(c);
		return err;
	}
	if (c->by_from.cnt) {
		qsort(c->by_from.v, c->by_from.cnt, sizeof(struct call), cmp_from);
		qsort(c->by_to.v, c->by_to.cnt, sizeof(struct call), cmp_to);
	}
	return 0;
}

void calls__free(struct calls *c)
{
	vec__free(&c->by_from);
	vec__free(&c->by_to);
}

/* First index whose key (the to or from half) isn't below `off`. */
static size_t lower(const struct call *v, size_t cnt, u64 off, bool to)
{
	size_t lo = 0, hi = cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if ((to ? v[mid].to : v[mid].from) < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct call *calls__from(const struct calls *c, u64 start, u64 end, size_t *cnt)
{
	size_t lo = lower(c->by_from.v, c->by_from.cnt, start, false);

	*cnt = lower(c->by_from.v, c->by_from.cnt, end, false) - lo;
	return c->by_from.v + lo;
}

const struct call *calls__to(const struct calls *c, u64 start, u64 end, size_t *cnt)
{
	size_t lo = lower(c->by_to.v, c->by_to.cnt, start, true);

	*cnt = lower(c->by_to.v, c->by_to.cnt, end, true) - lo;
	return c->by_to.v + lo;
}
