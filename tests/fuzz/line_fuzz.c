/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: any bytes as DWARF give lines and functions without a bad access, in bounded
 * work. The input is cut into the sections that the reader knows; around them is an ELF file with
 * nothing else in it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf/dwarf.h"

#define REQUIRE(cond)            \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#define SECTION_CNT 10

static const char names[] =
	"\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_line_str\0.debug_str\0"
	".debug_str_offsets\0.debug_addr\0.debug_ranges\0.debug_rnglists\0"
	".debug_cu_index\0";

/* Section 0, the input's, and that of names. The input begins with a word of 16 bits for each of
 * its parts: the length, and in the highest bit whether it's compressed. */
static size_t write_elf(int fd, const u8 *data, size_t size)
{
	Elf64_Shdr sections[SECTION_CNT + 2] = {};
	size_t at = sizeof(Elf64_Ehdr) + sizeof(sections), name = 1,
	       head = MIN(size, 2u * SECTION_CNT);
	const u8 *part = data + head;
	size_t left = size - head;
	Elf64_Ehdr ehdr = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_shoff = sizeof(ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTION_CNT + 2,
		.e_shstrndx = SECTION_CNT + 1,
	};

	for (size_t i = 0; i < SECTION_CNT; i++) {
		Elf64_Shdr *sh = &sections[i + 1];
		u16 word = 0;

		sh->sh_name = (Elf64_Word)name;
		sh->sh_type = SHT_PROGBITS;
		if (2 * i + 2 <= head)
			memcpy(&word, data + 2 * i, 2);
		sh->sh_flags = word & 0x8000 ? SHF_COMPRESSED : 0;
		sh->sh_offset = at;
		sh->sh_size = MIN(left, word & 0x7fffu);
		REQUIRE(pwrite(fd, part, sh->sh_size, (off_t)at) == (ssize_t)sh->sh_size);
		part += sh->sh_size;
		left -= sh->sh_size;
		at += sh->sh_size;
		name += strlen(names + name) + 1;
	}
	sections[SECTION_CNT + 1].sh_type = SHT_STRTAB;
	sections[SECTION_CNT + 1].sh_offset = at;
	sections[SECTION_CNT + 1].sh_size = sizeof(names);
	REQUIRE(pwrite(fd, names, sizeof(names), (off_t)at) == sizeof(names));
	REQUIRE(pwrite(fd, &ehdr, sizeof(ehdr), 0) == sizeof(ehdr));
	REQUIRE(pwrite(fd, sections, sizeof(sections), sizeof(ehdr)) == sizeof(sections));
	return at + sizeof(names);
}

static void ask(struct dwarf_unit *u, u64 pc, struct arena *arena)
{
	const struct dwarf_function *chain[DWARF_CHAIN_MAX];
	const char *text;
	u64 file;
	u32 line, cnt;

	if (!dwarf_unit__read_lines(u) && dwarf_unit__line(u, pc, &file, &line))
		dwarf_unit__path(u, file, arena, &text);
	if (dwarf_unit__read_functions(u))
		return;
	cnt = dwarf_unit__chain(u, pc, chain);
	REQUIRE(cnt <= DWARF_CHAIN_MAX &&
		(!cnt || cnt == DWARF_CHAIN_MAX || !chain[cnt - 1]->inlined));
	for (u32 i = 0; i < cnt; i++)
		dwarf_unit__function_name(u, chain[i]->die, arena, &text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct dwarf_budget budget = { .steps = 100000, .bytes = 4 << 20 };
	int fd = memfd_create("dwarf", MFD_CLOEXEC);
	struct dwarf_file *f = NULL;
	struct arena arena = {};

	REQUIRE(fd >= 0);
	write_elf(fd, data, size);
	if (dwarf_file__open(&f, fd, false, &budget))
		return 0;
	if (!dwarf_file__read_units(f) && !dwarf_file__index(f)) {
		f->alt = f;
		for (size_t i = 0; i < MIN(f->units.cnt, 4u); i++)
			dwarf_unit__join(f->units.v[i], f);
		for (size_t i = 0; i < MIN(f->ranges.cnt, 16u); i++) {
			u64 pc = f->ranges.v[i].low;
			struct dwarf_unit *u = dwarf_file__unit_at_pc(f, pc);

			REQUIRE(u);
			ask(u, pc, &arena);
		}
	}
	arena__free(&arena);
	dwarf_file__close(f);
	return 0;
}
