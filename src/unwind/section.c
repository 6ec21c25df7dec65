/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and reads CFI bytes. A file whose bytes can't be had is a file without CFI, not an error.
 */
#include "unwind/section.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/err.h"

#define INFLATED_MAX  (256u << 20)
#define DEFLATE_RATIO 1032 /* the most that a byte of deflate can become */

/* Memory is an error; anything else that ails the file means: no CFI. */
static int unless_no_memory(int err)
{
	return err == -ENOMEM ? err : 0;
}

static const Elf64_Phdr *find_phdr(const struct elf_image *img, u32 type)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++)
		if (img->phdrs[i].p_type == type)
			return &img->phdrs[i];
	return NULL;
}

/* .eh_frame_hdr: version 1, three encodings, then the address of .eh_frame. */
static int hdr_target(const struct elf_image *img, const Elf64_Phdr *ph, u64 *vaddr)
{
	CLEANUP(free__p) u8 *data = NULL;
	size_t size = MIN(ph->p_filesz, 16);
	struct cfi_section hdr;
	struct cursor c;
	u8 enc;
	int err = elf_image__read(img, ph->p_offset, size, &data);

	if (err)
		return err;
	hdr = (struct cfi_section){ data, size, ph->p_vaddr, ph->p_vaddr, true, false };
	c = (struct cursor){ data, data + size, false };
	if (cursor__u8(&c) != 1)
		return -EINVAL;
	enc = cursor__u8(&c);
	cursor__u16(&c); /* encodings of the search table */
	*vaddr = cfi__pointer(&c, enc, &hdr);
	return c.bad ? -EINVAL : 0;
}

static const Elf64_Phdr *load_of(const struct elf_image *img, u64 off)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];

		if (ph->p_type == PT_LOAD && off >= ph->p_offset &&
		    off - ph->p_offset < ph->p_filesz)
			return ph;
	}
	return NULL;
}

/* Without sections its size is unknown: up to its zero terminator or its segment's end. */
static int eh_frame_by_hdr(const struct elf_image *img, struct cfi_section *sec)
{
	const Elf64_Phdr *hdr = find_phdr(img, PT_GNU_EH_FRAME);
	const Elf64_Phdr *load;
	u64 off;
	u8 *data;
	int err;

	if (!hdr)
		return 0;
	err = hdr_target(img, hdr, &sec->vaddr);
	if (err)
		return unless_no_memory(err);
	if (!elf_image__vaddr_to_off(img, sec->vaddr, &off))
		return 0;
	load = load_of(img, off);
	if (!load)
		return 0;
	sec->size = load->p_filesz - (off - load->p_offset);
	err = elf_image__read(img, off, sec->size, &data);
	if (!err)
		sec->data = data;
	sec->ends = true;
	return unless_no_memory(err);
}

int unwind_section__eh_frame(const struct elf_image *img, struct cfi_section *sec)
{
	const Elf64_Shdr *sh = elf_image__section(img, ".eh_frame");
	const Elf64_Phdr *hdr = find_phdr(img, PT_GNU_EH_FRAME);
	u8 *data;
	int err;

	*sec = (struct cfi_section){ .eh = true, .hdr_base = hdr ? hdr->p_vaddr : 0 };
	if (!sh)
		return eh_frame_by_hdr(img, sec);
	if (sh->sh_type == SHT_NOBITS) /* a separate debug file */
		return 0;
	err = elf_image__read_section(img, sh, &data, &sec->size);
	if (err)
		return unless_no_memory(err);
	sec->data = data;
	sec->vaddr = sh->sh_addr;
	return 0;
}

static int inflate_section(const u8 *raw, size_t raw_size, struct cfi_section *sec)
{
	size_t packed_size;
	uLongf size;
	Elf64_Chdr ch;
	u8 *data;

	if (raw_size < sizeof(ch))
		return 0;
	memcpy(&ch, raw, sizeof(ch));
	packed_size = raw_size - sizeof(ch);
	if (ch.ch_type != ELFCOMPRESS_ZLIB || ch.ch_size > INFLATED_MAX ||
	    ch.ch_size / DEFLATE_RATIO > packed_size)
		return 0;
	size = ch.ch_size;
	data = malloc(size + 1);
	if (!data)
		return err__fail(-ENOMEM, "no memory for %lu bytes of .debug_frame", size);
	if (uncompress(data, &size, raw + sizeof(ch), packed_size) != Z_OK) {
		free(data);
		return 0;
	}
	sec->data = data;
	sec->size = size;
	return 0;
}

int unwind_section__debug_frame(const struct elf_image *img, struct cfi_section *sec)
{
	const Elf64_Shdr *sh = elf_image__section(img, ".debug_frame");
	CLEANUP(free__p) u8 *raw = NULL;
	int err;

	*sec = (struct cfi_section){};
	if (!sh || sh->sh_type == SHT_NOBITS || sh->sh_size > INFLATED_MAX)
		return 0;
	err = elf_image__read(img, sh->sh_offset, sh->sh_size, &raw);
	if (err)
		return unless_no_memory(err);
	if (sh->sh_flags & SHF_COMPRESSED)
		return inflate_section(raw, sh->sh_size, sec);
	sec->data = raw;
	sec->size = sh->sh_size;
	raw = NULL;
	return 0;
}
