/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable segments, and the search for signal returns by their code bytes. The search reads all
 * of the text, so it looks for the last byte of the pattern (rare in code) and checks what is
 * before.
 */
#include "unwind/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

#define SCAN_BLOCK (1u << 20)
#define SCAN_MAX   (64u << 20) /* bytes of text that are searched; who sets restorers is a libc */

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

struct search {
	const struct unwind_arch *arch;
	u64 *vaddrs;
	u32 cnt;
};

static void scan_block(struct search *s, const u8 *data, size_t size, u64 vaddr)
{
	const u8 *code = s->arch->restorer;
	size_t code_size = s->arch->restorer_size;
	const u8 *end = data + size;
	const u8 *p = size < code_size ? end : data + code_size - 1;

	while (p < end && s->cnt < UNWIND_RESTORER_MAX) {
		p = memchr(p, code[code_size - 1], (size_t)(end - p));
		if (!p)
			break;
		p++;
		if (!memcmp(p - code_size, code, code_size))
			s->vaddrs[s->cnt++] = vaddr + (u64)(p - code_size - data);
	}
}

static int scan_seg(struct search *s, const struct elf_image *img, const struct unwind_seg *seg,
		    u64 max)
{
	u64 overlap = s->arch->restorer_size - 1;

	for (u64 pos = 0; pos < MIN(seg->size, max); pos += SCAN_BLOCK) {
		CLEANUP(free__p) u8 *data = NULL;
		u64 size = MIN(seg->size - pos, SCAN_BLOCK + overlap);
		int err = elf_image__read(img, seg->off + pos, size, &data);

		if (err)
			return err == -ENOMEM ? err : 0; /* the file has shrunk */
		scan_block(s, data, size, seg->vaddr + pos);
	}
	return 0;
}

int unwind_text__restorers(const struct unwind_text *text, const struct elf_image *img,
			   const struct unwind_arch *arch, u64 vaddrs[UNWIND_RESTORER_MAX],
			   u32 *cnt)
{
	struct search s = { .arch = arch, .vaddrs = vaddrs };
	u64 left = SCAN_MAX;
	int err = 0;

	for (u32 i = 0; !err && i < text->seg_cnt; i++) {
		err = scan_seg(&s, img, &text->segs[i], left);
		left -= MIN(left, text->segs[i].size);
	}
	*cnt = s.cnt;
	return err;
}
