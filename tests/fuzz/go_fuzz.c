/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: any bytes as a Go function table give functions, names and stack depths without
 * a bad access, and what comes out keeps its promises. The bytes are the section; around them is
 * an ELF image with nothing else in it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/gopclntab.h"
#include "elf/image.h"

#define REQUIRE(cond)            \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#define VADDR 0x400000

static char names[] = "\0.gopclntab";

static int check_func(void *arg, const struct go_func *f)
{
	const struct gopclntab *t = arg;
	struct go_depth d = { .func = f };
	u64 end = 0;

	REQUIRE((const u8 *)f->name >= t->data && f->name_len && strlen(f->name) == f->name_len);
	REQUIRE(f->size);
	while (gopclntab__next_depth(t, &d) && d.start < f->size) {
		REQUIRE(d.start == end && d.end > end);
		end = d.end;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static int fd = -1;
	Elf64_Phdr code = {
		.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = VADDR, .p_filesz = size
	};
	Elf64_Shdr sections[] = {
		{},
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = VADDR, .sh_size = size },
	};
	struct elf_image img = { .size = size,
				 .ehdr.e_phnum = 1,
				 .phdrs = &code,
				 .shdrs = sections,
				 .shdr_cnt = 2,
				 .shstrtab = names,
				 .shstrtab_size = sizeof(names) };
	struct gopclntab t;

	if (fd < 0)
		fd = memfd_create("table", MFD_CLOEXEC);
	REQUIRE(!ftruncate(fd, (off_t)size) && pwrite(fd, data, size, 0) == (ssize_t)size);
	img.fd = fd;
	REQUIRE(!gopclntab__open(&t, &img));
	if (t.section)
		REQUIRE(!gopclntab__each(&t, check_func, &t));
	gopclntab__close(&t);
	return 0;
}
