/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ELF file, read through a descriptor with pread: the file belongs to a traced program, so it
 * may be hostile and may shrink while it is read (a mapping would give SIGBUS). Every offset is
 * checked against the file's size; damaged files give -EINVAL, never a crash or unbounded work.
 * Only 64-bit little-endian files are accepted (-ENOEXEC otherwise).
 */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <elf.h>

#include "base/types.h"

struct elf_image {
	int fd;	  /* borrowed: stays open as long as the image lives */
	u64 size; /* of the file, bytes */
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs; /* ehdr.e_phnum of them */
	Elf64_Shdr *shdrs; /* shdr_cnt of them; 0 when the table is missing or damaged */
	u32 shdr_cnt;
	char *shstrtab; /* NUL-terminated; NULL when missing */
	u64 shstrtab_size;
	u8 build_id[32];
	u32 build_id_size; /* 0 when there is none */
};

/* Reads headers, section table and build id (from PT_NOTE or .note.gnu.build-id). 0 or -errno. */
int elf_image__open(struct elf_image *img, int fd);
void elf_image__close(struct elf_image *img); /* frees; doesn't close fd */

/* NULL when there is no such section. */
const Elf64_Shdr *elf_image__section(const struct elf_image *img, const char *name);

/* Name of a section, "" when unknown. */
const char *elf_image__section_name(const struct elf_image *img, const Elf64_Shdr *sh);

/*
 * Reads a section's (or any) bytes into memory the caller frees; one NUL byte is added at the end.
 * -EINVAL when it lies outside the file, is SHT_NOBITS/compressed, or is larger than 1 GiB.
 */
int elf_image__read_section(const struct elf_image *img, const Elf64_Shdr *sh, u8 **data,
			    size_t *size);
int elf_image__read(const struct elf_image *img, u64 file_off, size_t size, u8 **data);

/* Between virtual addresses and file offsets, by PT_LOAD (p_filesz part); false when in none. */
bool elf_image__vaddr_to_off(const struct elf_image *img, u64 vaddr, u64 *off);
bool elf_image__off_to_vaddr(const struct elf_image *img, u64 off, u64 *vaddr);

#endif
