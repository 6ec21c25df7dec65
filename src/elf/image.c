/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers, sections and notes of one ELF file. Everything that is read goes through
 * elf_image__read(), which checks it against the file's size and copies it with pread: what the
 * file's owner does afterwards cannot hurt us.
 */
#include "elf/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define READ_MAX (1ull << 30)
/* The kernel refuses programs with more than 64 KiB of program headers (fs/binfmt_elf.c). */
#define PHDR_MAX (65536 / sizeof(Elf64_Phdr))
#define SHDR_MAX (1u << 20)
#define NOTE_MAX (1u << 20) /* bytes of one note segment that are looked at */

static int read_exact(int fd, u64 off, void *buf, size_t size)
{
	u8 *p = buf;

	while (size) {
		ssize_t n = pread(fd, p, size, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err__fail(-errno, "cannot read ELF file: %s", strerror(errno));
		if (n == 0)
			return err__fail(-EINVAL, "ELF file got shorter while it was read");
		p += n;
		off += (u64)n;
		size -= (size_t)n;
	}
	return 0;
}

static bool in_file(const struct elf_image *img, u64 off, u64 size)
{
	return off <= img->size && size <= img->size - off;
}

int elf_image__read(const struct elf_image *img, u64 file_off, size_t size, u8 **data)
{
	u8 *mem;
	int err;

	if (size > READ_MAX || !in_file(img, file_off, size))
		return err__fail(-EINVAL, "damaged ELF file: %zu bytes at 0x%" PRIx64 " not in it",
				 size, file_off);
	mem = malloc(size + 1);
	if (!mem)
		return err__fail(-ENOMEM, "out of memory");
	err = read_exact(img->fd, file_off, mem, size);
	if (err) {
		free(mem);
		return err;
	}
	mem[size] = '\0';
	*data = mem;
	return 0;
}

int elf_image__read_section(const struct elf_image *img, const Elf64_Shdr *sh, u8 **data,
			    size_t *size)
{
	int err;

	if (sh->sh_type == SHT_NOBITS || (sh->sh_flags & SHF_COMPRESSED))
		return err__fail(-EINVAL, "ELF section '%s' has no plain contents",
				 elf_image__section_name(img, sh));
	err = elf_image__read(img, sh->sh_offset, sh->sh_size, data);
	if (!err)
		*size = sh->sh_size;
	return err;
}

static int read_ehdr(struct elf_image *img)
{
	const u8 *ident = img->ehdr.e_ident;
	int err;

	if (img->size < sizeof(img->ehdr))
		return err__fail(-ENOEXEC, "not a 64-bit little-endian ELF file");
	err = read_exact(img->fd, 0, &img->ehdr, sizeof(img->ehdr));
	if (err)
		return err;
	if (memcmp(ident, ELFMAG, SELFMAG) || ident[EI_CLASS] != ELFCLASS64 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return err__fail(-ENOEXEC, "not a 64-bit little-endian ELF file");
	return 0;
}

static int read_phdrs(struct elf_image *img)
{
	if (!img->ehdr.e_phnum)
		return 0;
	if (img->ehdr.e_phentsize != sizeof(Elf64_Phdr) || img->ehdr.e_phnum > PHDR_MAX)
		return err__fail(-EINVAL, "damaged ELF file: bad program header table");
	return elf_image__read(img, img->ehdr.e_phoff, img->ehdr.e_phnum * sizeof(Elf64_Phdr),
			       (u8 **)&img->phdrs);
}

/* With many sections the numbers live in section 0 (gABI, "Section Header Table"). */
static int read_shdr0(const struct elf_image *img, u64 *cnt, u64 *shstrndx)
{
	CLEANUP(free__p) u8 *data = NULL;
	Elf64_Shdr first;
	int err;

	*cnt = img->ehdr.e_shnum;
	*shstrndx = img->ehdr.e_shstrndx;
	if (*cnt && *shstrndx != SHN_XINDEX)
		return 0;
	err = elf_image__read(img, img->ehdr.e_shoff, sizeof(first), &data);
	if (err)
		return err;
	memcpy(&first, data, sizeof(first));
	if (!*cnt)
		*cnt = first.sh_size;
	if (*shstrndx == SHN_XINDEX)
		*shstrndx = first.sh_link;
	return 0;
}

/* A missing or damaged table is normal: programs run without it. */
static int read_shdrs(struct elf_image *img)
{
	u64 cnt, shstrndx;
	size_t size;
	int err;

	if (!img->ehdr.e_shoff || img->ehdr.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	err = read_shdr0(img, &cnt, &shstrndx);
	if (err || !cnt || cnt > SHDR_MAX)
		return err == -ENOMEM ? err : 0;
	err = elf_image__read(img, img->ehdr.e_shoff, cnt * sizeof(Elf64_Shdr), (u8 **)&img->shdrs);
	if (err)
		return err == -ENOMEM ? err : 0;
	img->shdr_cnt = (u32)cnt;
	if (shstrndx >= cnt || img->shdrs[shstrndx].sh_type != SHT_STRTAB)
		return 0;
	err = elf_image__read_section(img, &img->shdrs[shstrndx], (u8 **)&img->shstrtab, &size);
	if (!err)
		img->shstrtab_size = size;
	return err == -ENOMEM ? err : 0;
}

/* Finds the GNU build id among notes; false when it isn't there. */
static bool find_build_id(struct elf_image *img, const u8 *notes, u64 size, u64 align)
{
	Elf64_Nhdr n;
	u64 pos = 0;

	align = align == 8 ? 8 : 4;
	while (size - pos >= sizeof(n)) {
		u64 name, desc, end;

		memcpy(&n, notes + pos, sizeof(n));
		name = pos + sizeof(n);
		desc = (name + n.n_namesz + align - 1) / align * align;
		end = desc + n.n_descsz;
		if (end > size)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz &&
		    n.n_descsz <= sizeof(img->build_id)) {
			memcpy(img->build_id, notes + desc, n.n_descsz);
			img->build_id_size = n.n_descsz;
			return true;
		}
		pos = (end + align - 1) / align * align;
		if (pos > size)
			return false;
	}
	return false;
}

/* 1 when found, 0 when not there, -ENOMEM. */
static int read_notes(struct elf_image *img, u64 off, u64 size, u64 align)
{
	CLEANUP(free__p) u8 *data = NULL;
	int err;

	size = MIN(size, NOTE_MAX);
	err = elf_image__read(img, off, size, &data);
	if (err)
		return err == -ENOMEM ? err : 0;
	return find_build_id(img, data, size, align);
}

/*
 * The segments count first: they are what the kernel maps. In separate debug files their offsets
 * may lead nowhere; the section stays right.
 */
static int read_build_id(struct elf_image *img)
{
	const Elf64_Shdr *sh;
	int note_cnt = 0;
	int ret;

	for (u32 i = 0; i < img->ehdr.e_phnum && note_cnt < 16; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];

		if (ph->p_type != PT_NOTE)
			continue;
		note_cnt++;
		ret = read_notes(img, ph->p_offset, ph->p_filesz, ph->p_align);
		if (ret)
			return MIN(ret, 0);
	}
	sh = elf_image__section(img, ".note.gnu.build-id");
	if (!sh || sh->sh_type != SHT_NOTE)
		return 0;
	ret = read_notes(img, sh->sh_offset, sh->sh_size, sh->sh_addralign);
	return MIN(ret, 0);
}

int elf_image__open(struct elf_image *img, int fd)
{
	struct stat st;
	int err;

	*img = (struct elf_image){ .fd = fd };
	if (fstat(fd, &st) < 0)
		return err__fail(-errno, "cannot read ELF file: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err__fail(-EINVAL, "not a regular file");
	img->size = (u64)st.st_size;
	err = read_ehdr(img);
	if (!err)
		err = read_phdrs(img);
	if (!err)
		err = read_shdrs(img);
	if (!err)
		err = read_build_id(img);
	if (err)
		elf_image__close(img);
	return err;
}

void elf_image__close(struct elf_image *img)
{
	free(img->phdrs);
	free(img->shdrs);
	free(img->shstrtab);
	*img = (struct elf_image){ .fd = -1 };
}

const char *elf_image__section_name(const struct elf_image *img, const Elf64_Shdr *sh)
{
	/* The block ends in a NUL that elf_image__read() added. */
	if (!img->shstrtab || sh->sh_name >= img->shstrtab_size)
		return "";
	return img->shstrtab + sh->sh_name;
}

const Elf64_Shdr *elf_image__section(const struct elf_image *img, const char *name)
{
	for (u32 i = 0; i < img->shdr_cnt; i++)
		if (!strcmp(elf_image__section_name(img, &img->shdrs[i]), name))
			return &img->shdrs[i];
	return NULL;
}

bool elf_image__vaddr_to_off(const struct elf_image *img, u64 vaddr, u64 *off)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];

		if (ph->p_type != PT_LOAD || vaddr < ph->p_vaddr ||
		    vaddr - ph->p_vaddr >= ph->p_filesz)
			continue;
		return !__builtin_add_overflow(ph->p_offset, vaddr - ph->p_vaddr, off);
	}
	return false;
}

bool elf_image__off_to_vaddr(const struct elf_image *img, u64 off, u64 *vaddr)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];

		if (ph->p_type != PT_LOAD || off < ph->p_offset ||
		    off - ph->p_offset >= ph->p_filesz)
			continue;
		return !__builtin_add_overflow(ph->p_vaddr, off - ph->p_offset, vaddr);
	}
	return false;
}
