/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments, function bounds and look-ups in a file's code. Bounds come from symbols and, in
 * stripped files, from the sorted table of .eh_frame_hdr, which has the start of nearly every
 * function: the next start is the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/symtab.h"
#include "target/reloc.h"
#include "target/text.h"

#define FUNC_MAX (64 * 1024) /* bytes of a function that are looked at */
#define FDE_MAX	 (8u << 20)  /* entries of .eh_frame_hdr */

static int read_segs(struct text *t)
{
	for (u32 i = 0; i < t->img->ehdr.e_phnum; i++) {
		const Elf64_Phdr *ph = &t->img->phdrs[i];
		struct text_seg seg = { ph->p_offset, ph->p_vaddr, ph->p_filesz };

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (seg.off >= t->img->size || seg.vaddr + seg.size < seg.vaddr)
			continue;
		seg.size = MIN(seg.size, t->img->size - seg.off);
		if (seg.size && vec__push(&t->segs, seg))
			return -ENOMEM;
	}
	return 0;
}

int text__open(struct text *t, const struct elf_image *img, const struct probe_set *probes)
{
	int err;

	*t = (struct text){ .img = img, .fixed = img->ehdr.e_type == ET_EXEC };
	err = read_segs(t);
	if (!err)
		err = reloc__read(t, probes);
	if (err)
		text__close(t);
	return err;
}

void text__close(struct text *t)
{
	vec__free(&t->segs);
	vec__free(&t->funcs);
	vec__free(&t->slots);
	vec__free(&t->stored);
}

const struct text_seg *text__seg(const struct text *t, u64 off)
{
	for (size_t i = 0; i < t->segs.cnt; i++)
		if (off >= t->segs.v[i].off && off - t->segs.v[i].off < t->segs.v[i].size)
			return &t->segs.v[i];
	return NULL;
}

bool text__vaddr_to_off(const struct text *t, u64 vaddr, u64 *off)
{
	for (size_t i = 0; i < t->segs.cnt; i++) {
		const struct text_seg *seg = &t->segs.v[i];

		if (vaddr < seg->vaddr || vaddr - seg->vaddr >= seg->size)
			continue;
		*off = seg->off + (vaddr - seg->vaddr);
		return true;
	}
	return false;
}

u64 text__vaddr(const struct text *t, u64 off)
{
	const struct text_seg *seg = text__seg(t, off);

	return seg ? seg->vaddr + (off - seg->off) : 0;
}

size_t text__read(const struct text *t, u64 off, u8 *buf, size_t size)
{
	const struct text_seg *seg = text__seg(t, off);
	ssize_t n;

	if (!seg)
		return 0;
	n = pread(t->img->fd, buf, MIN(size, seg->off + seg->size - off), (off_t)off);
	return n > 0 ? (size_t)n : 0;
}

/* ---- function bounds ---- */

/*
 * Functions of allocators that make a block whose size isn't known when they are entered: they are
 * no sites, and the call of the real allocator function inside counts for the program.
 */
static bool is_foreign(const char *name)
{
	static const char *const names[] = {
		"mi_strdup",	    "mi_strndup",    "mi_realpath", "mi_heap_strdup",
		"mi_mbsdup",	    "mi_wcsdup",     "mi_dupenv_s", "mi_heap_strndup",
		"mi_wdupenv_s",	    "mi_reallocarr", "reallocarr",  "mi_heap_realpath",
		"GC_strdup",	    "GC_strndup",    "GC_wcsdup",   "GC_debug_strdup",
		"GC_debug_strndup",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int add_symbol(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind,
		      bool dynamic)
{
	struct text *t = arg;
	struct text_func f = { off, off + size, dynamic && bind != STB_LOCAL, false,
			       is_foreign(name) };

	(void)type;
	if (!text__seg(t, off) || f.end < f.start)
		return 0;
	return vec__push(&t->funcs, f);
}

/* DWARF in the LSB: 4 bytes of encodings, frame pointer, count, then pairs sorted by start. */
static int add_fdes(struct text *t, const Elf64_Phdr *ph)
{
	u8 *data;
	u32 cnt;
	int err = 0;

	if (ph->p_filesz < 12 || elf_image__read(t->img, ph->p_offset, ph->p_filesz, &data))
		return 0;
	memcpy(&cnt, data + 8, 4);
	if (memcmp(data, "\x01\x1b\x03\x3b", 4) || cnt > FDE_MAX)
		cnt = 0;
	cnt = (u32)MIN(cnt, (ph->p_filesz - 12) / 8);
	for (u32 i = 0; i < cnt && !err; i++) {
		struct text_func f = {};
		s32 rel;

		memcpy(&rel, data + 12 + 8 * (size_t)i, 4);
		if (text__vaddr_to_off(t, ph->p_vaddr + (s64)rel, &f.start))
			err = vec__push(&t->funcs, f);
	}
	free(data);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct text_func *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* One function per start; without a size of its own it ends where the next one starts. */
static void merge_funcs(struct text *t)
{
	struct text_func *v = t->funcs.v;
	size_t n = 0;

	qsort(v, t->funcs.cnt, sizeof(*v), by_start);
	for (size_t i = 0; i < t->funcs.cnt; i++) {
		if (n && v[n - 1].start == v[i].start) {
			v[n - 1].end = MAX(v[n - 1].end, v[i].end);
			v[n - 1].exported |= v[i].exported;
			v[n - 1].foreign |= v[i].foreign;
			continue;
		}
		v[n++] = v[i];
	}
	t->funcs.cnt = n;
	for (size_t i = 0; i < n; i++) {
		const struct text_seg *seg = text__seg(t, v[i].start);
		u64 limit = seg->off + seg->size;

		if (i + 1 < n && v[i + 1].start < limit)
			limit = v[i + 1].start;
		if (v[i].end <= v[i].start || v[i].end > limit)
			v[i].end = limit;
	}
}

int text__read_funcs(struct text *t)
{
	int err = elf_symtab__each(t->img, add_symbol, t);

	for (u32 i = 0; i < t->img->ehdr.e_phnum && !err; i++)
		if (t->img->phdrs[i].p_type == PT_GNU_EH_FRAME)
			err = add_fdes(t, &t->img->phdrs[i]);
	if (err)
		return err;
	if (t->funcs.cnt)
		merge_funcs(t);
	return 0;
}

/* The last function that starts at or before the offset. */
static struct text_func *func_before(const struct text *t, u64 off)
{
	size_t lo = 0, hi = t->funcs.cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->funcs.v[mid].start <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &t->funcs.v[lo - 1] : NULL;
}

struct text_func *text__func_at(const struct text *t, u64 off)
{
	struct text_func *f = func_before(t, off);

	return f && f->start == off ? f : NULL;
}

struct text_func *text__func_of(const struct text *t, u64 off)
{
	struct text_func *f = func_before(t, off);

	return f && off < f->end ? f : NULL;
}

u64 text__func_end(const struct text *t, u64 off, u64 size)
{
	const struct text_seg *seg = text__seg(t, off);
	const struct text_func *f = text__func_of(t, off);
	u64 most;

	if (!seg)
		return off;
	most = MIN(seg->off + seg->size - off, (u64)FUNC_MAX);
	if (size)
		return off + MIN(size, most);
	return f ? off + MIN(f->end - off, most) : off;
}

/* ---- pointers ---- */

const struct text_slot *text__slot(const struct text *t, u64 vaddr)
{
	size_t lo = 0, hi = t->slots.cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->slots.v[mid].vaddr == vaddr)
			return &t->slots.v[mid];
		if (t->slots.v[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* [endbr64] [bnd] jmp *disp(%rip): .plt, .plt.got and .plt.sec alike. */
bool text__stub(const struct text *t, u64 off, const struct text_slot **slot)
{
	u8 code[16];
	size_t n = text__read(t, off, code, sizeof(code)), i = 0;
	s32 disp;

	*slot = NULL;
	if (n >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		i = 4;
	if (i < n && code[i] == 0xf2)
		i++;
	if (i + 6 > n || code[i] != 0xff || code[i + 1] != 0x25)
		return false;
	memcpy(&disp, code + i + 2, sizeof(disp));
	*slot = text__slot(t, text__vaddr(t, off) + i + 6 + (u64)(s64)disp);
	return true;
}
