/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable segments, and the search for signal returns by their code bytes. The search reads all
 * of the text, so it looks for the last byte of the pattern (rare in code) and checks what is
 * before.
 */
#include "unwind/text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

#define SCAN_BLOCK	 (1u << 20)
#define SCAN_MAX	 (64u << 20) /* bytes of text that are searched; who sets restorers is a libc */
#define RESTORER_CNT_MAX 64

int unwind_text__init(struct unwind_text *text, const struct elf_image *img)
{
	const struct unwind_seg *seg;

	*text = (struct unwind_text){ .entry_off = UNWIND_NO_OFF };
	for (u32 i = 0; i < img->ehdr.e_phnum && text->seg_cnt < UNWIND_SEG_MAX; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];
		u64 size = MIN(ph->p_filesz, ph->p_memsz);

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !size)
			continue;
		if (ph->p_offset > UINT32_MAX || size > UINT32_MAX - ph->p_offset)
			return err__fail(-EFBIG, "code beyond 4 GiB of the file");
		if (ph->p_vaddr > UINT64_MAX - size)
			continue;
		text->segs[text->seg_cnt++] =
			(struct unwind_seg){ ph->p_vaddr, ph->p_offset, size };
	}
	seg = img->ehdr.e_entry ? unwind_text__seg(text, img->ehdr.e_entry) : NULL;
	if (seg)
		text->entry_off = img->ehdr.e_entry - seg->vaddr + seg->off;
	return 0;
}

const struct unwind_seg *unwind_text__seg(const struct unwind_text *text, u64 vaddr)
{
	for (u32 i = 0; i < text->seg_cnt; i++)
		if (vaddr - text->segs[i].vaddr < text->segs[i].size)
			return &text->segs[i];
	return NULL;
}

static int add_restorer(struct cfi *cfi, u64 vaddr)
{
	const struct as_rule rule = { .cfa_kind = AS_CFA_SIGFRAME };

	return cfi__add(cfi, vaddr, vaddr + cfi->arch->restorer_size, &rule);
}

static int scan_block(struct cfi *cfi, const u8 *data, size_t size, u64 vaddr, u32 *found)
{
	const u8 *code = cfi->arch->restorer;
	size_t code_size = cfi->arch->restorer_size;
	const u8 *end = data + size;
	const u8 *p = size < code_size ? end : data + code_size - 1;
	int err = 0;

	while (!err && p < end && *found < RESTORER_CNT_MAX) {
		p = memchr(p, code[code_size - 1], (size_t)(end - p));
		if (!p)
			break;
		p++;
		if (memcmp(p - code_size, code, code_size))
			continue;
		err = add_restorer(cfi, vaddr + (u64)(p - code_size - data));
		++*found;
	}
	return err;
}

static int scan_seg(struct cfi *cfi, const struct elf_image *img, const struct unwind_seg *seg,
		    u64 max, u32 *found)
{
	u64 overlap = cfi->arch->restorer_size - 1;
	u64 step;
	int err = 0;

	for (u64 pos = 0; !err && pos < MIN(seg->size, max); pos += step) {
		CLEANUP(free__p) u8 *data = NULL;
		u64 size = MIN(seg->size - pos, SCAN_BLOCK + overlap);

		step = SCAN_BLOCK;
		err = elf_image__read(img, seg->off + pos, size, &data);
		if (err)
			return err == -ENOMEM ? err : 0; /* the file has shrunk */
		err = scan_block(cfi, data, size, seg->vaddr + pos, found);
	}
	return err;
}

int unwind_text__add_restorers(const struct unwind_text *text, const struct elf_image *img,
			       struct cfi *cfi)
{
	u64 left = SCAN_MAX;
	u32 found = 0;
	int err = 0;

	for (size_t i = 0; i < cfi->fdes.cnt; i++)
		if (cfi->fdes.v[i].signal)
			return 0; /* this C library describes them itself */
	for (u32 i = 0; !err && i < text->seg_cnt; i++) {
		err = scan_seg(cfi, img, &text->segs[i], left, &found);
		left -= MIN(left, text->segs[i].size);
	}
	return err;
}
