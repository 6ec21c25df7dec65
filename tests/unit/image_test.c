/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers against readelf, and damage: thousands of copies of a real file with bytes changed, cut
 * off, or changed to the numbers that overflow. Nothing may crash, hang or read outside (the
 * sanitized build of this test sees that).
 */
#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "check.h"
#include "elf/debugfile.h"
#include "elf/symtab.h"
#include "elf_fixture.h"

/* First line of a command's output; "" when there is none. */
static const char *output_of(const char *cmd)
{
	static char line[512];
	FILE *f = popen(cmd, "r");

	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (f)
		pclose(f);
	return line;
}

static void against_readelf(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Shdr *text;
	struct elf_image img;
	char cmd[512], hex[80] = "";
	u64 addr, off, back;

	if (fd < 0)
		return;
	CHECK_EQ(elf_image__open(&img, fd), 0);
	snprintf(cmd, sizeof(cmd), "readelf -nW %s | sed -n 's/.*Build ID: //p'", path);
	for (u32 i = 0; i < img.build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", img.build_id[i]);
	CHECK_STR(hex, output_of(cmd));
	snprintf(cmd, sizeof(cmd), "readelf -SW %s | grep -c '^  \\[ *[0-9]'", path);
	CHECK_EQ(img.shdr_cnt, atoi(output_of(cmd)));
	snprintf(cmd, sizeof(cmd),
		 "readelf -SW %s | sed 's/^ *\\[ *//' | awk '$2==\".text\"{print $4,$5}'", path);
	CHECK_EQ(sscanf(output_of(cmd), "%" SCNx64 " %" SCNx64, &addr, &off), 2);
	text = elf_image__section(&img, ".text");
	CHECK(text && text->sh_addr == addr && text->sh_offset == off);
	CHECK(elf_image__vaddr_to_off(&img, addr, &back) && back == off);
	CHECK(elf_image__off_to_vaddr(&img, off, &back) && back == addr);
	CHECK(!elf_image__vaddr_to_off(&img, UINT64_MAX, &back));
	CHECK(!elf_image__off_to_vaddr(&img, img.size, &back));
	CHECK(!elf_image__section(&img, ".no_such"));
	elf_image__close(&img);
}

static void refused(void)
{
	struct elf_image img;
	int fd = memfd_create("x", MFD_CLOEXEC);
	u8 *data;

	CHECK_EQ(elf_image__open(&img, fd), -ENOEXEC); /* empty */
	CHECK_EQ(ftruncate(fd, 1 << 20), 0);
	CHECK_EQ(elf_image__open(&img, fd), -ENOEXEC);
	CHECK_EQ(pwrite(fd, "\177ELF\1\1\1", 7, 0), 7); /* 32 bits */
	CHECK_EQ(elf_image__open(&img, fd), -ENOEXEC);
	CHECK_EQ(pwrite(fd, "\177ELF\2\2\1", 7, 0), 7); /* big-endian */
	CHECK_EQ(elf_image__open(&img, fd), -ENOEXEC);
	CHECK_EQ(pwrite(fd, "\177ELF\2\1\1", 7, 0), 7); /* an ELF file with nothing in it */
	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(elf_image__read(&img, 1 << 20, 0, &data), 0);
	free(data);
	CHECK_EQ(elf_image__read(&img, 1 << 20, 1, &data), -EINVAL);
	CHECK_EQ(elf_image__read(&img, UINT64_MAX, 2, &data), -EINVAL);
	CHECK_EQ(elf_image__read(&img, 0, SIZE_MAX, &data), -EINVAL);
	CHECK_EQ(ftruncate(fd, 100), 0); /* shrinks behind our back */
	CHECK_EQ(elf_image__read(&img, 0, 1 << 20, &data), -EINVAL);
	elf_image__close(&img);
	close(fd);
	fd = open("/", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), -EINVAL);
	close(fd);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), -EINVAL);
	close(fd);
}

static int count_symbol(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind,
			bool dynamic)
{
	u64 *sum = arg;

	*sum += strlen(name) + off + size + type + bind + dynamic;
	return 0;
}

/* Everything that this folder does with a file. */
static void use(int fd)
{
	struct elf_symtab t;
	struct elf_image img;
	u64 sum = 0, off;
	int debug_fd, err;

	if (elf_image__open(&img, fd))
		return;
	for (u32 i = 0; i < img.shdr_cnt; i++)
		sum += strlen(elf_image__section_name(&img, &img.shdrs[i]));
	elf_image__vaddr_to_off(&img, img.ehdr.e_entry, &off);
	err = elf_symtab__each(&img, count_symbol, &sum);
	CHECK(err == 0 || err == -EINVAL || err == -ENOMEM);
	err = elf_symtab__read(&t, &img);
	CHECK(err == 0 || err == -EINVAL || err == -ENOMEM);
	for (size_t i = 0; !err && i < t.sym_cnt; i++) {
		const struct elf_sym *s = &t.syms[i];

		CHECK(s->size > 0 && s->off + s->size <= img.size);
		CHECK(!i || t.syms[i - 1].off < s->off);
		CHECK(s->name < t.names_size);
		CHECK(elf_symtab__find(&t, s->off) == s);
		elf_symtab__find(&t, s->off + s->size);
	}
	if (!err)
		elf_symtab__free(&t);
	if (elf_debugfile__open(&img, "/no/such/lib.so", fixture_dir, &debug_fd) == 0)
		close(debug_fd);
	elf_image__close(&img);
}

static u64 random64(void)
{
	return (u64)rand() << 42 ^ (u64)rand() << 21 ^ (u64)rand();
}

/* Where damage does most: headers, section table, symbol tables, string tables, notes. */
static u64 choose_place(const struct elf_image *img)
{
	const Elf64_Shdr *sh = &img->shdrs[(u32)rand() % img->shdr_cnt];

	switch (rand() % 5) {
	case 0:
		return (u64)rand() % sizeof(Elf64_Ehdr);
	case 1:
		return img->ehdr.e_phoff + (u64)rand() % (img->ehdr.e_phnum * sizeof(Elf64_Phdr));
	case 2:
		return img->ehdr.e_shoff + (u64)rand() % (img->shdr_cnt * sizeof(Elf64_Shdr));
	case 3:
		return sh->sh_offset + random64() % (sh->sh_size + 1);
	default:
		return random64() % img->size;
	}
}

static void damage(u8 *copy, const struct elf_image *img)
{
	static const u64 nasty[] = { 0,		1,	    0x7fffffff,	     0xffffffff,
				     INT64_MAX, UINT64_MAX, UINT64_MAX - 63, 1ull << 32,
				     0xfff1,	0xffff,	    1ull << 30 };
	u64 place = choose_place(img), val = nasty[(size_t)rand() % ARRAY_SIZE(nasty)];
	size_t n = 1ul << rand() % 4;

	if (rand() % 3 == 0)
		val = random64();
	place = place / n * n;
	if (place + n <= img->size)
		memcpy(copy + place, &val, n);
}

static void damaged(const char *path, int rounds)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(fd__closep) int mem = memfd_create("damaged", MFD_CLOEXEC);
	struct elf_image img;
	u8 *good, *copy;

	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(elf_image__read(&img, 0, img.size, &good), 0);
	copy = malloc(img.size);
	srand(2);
	for (int round = 0; round < rounds; round++) {
		u64 size = rand() % 8 ? img.size : random64() % img.size;

		memcpy(copy, good, img.size);
		for (int k = rand() % 6; k >= 0; k--)
			damage(copy, &img);
		CHECK_EQ(ftruncate(mem, (off_t)size), 0);
		CHECK_EQ(pwrite(mem, copy, size, 0), size);
		use(mem);
	}
	free(copy);
	free(good);
	elf_image__close(&img);
}

/* A sparse file that claims a symbol table and names of a GiB: bounded in time and memory. */
static void enormous(void)
{
	CLEANUP(fd__closep) int fd = memfd_create("enormous", MFD_CLOEXEC);
	Elf64_Ehdr eh = { .e_ident = "\177ELF\2\1\1",
			  .e_phoff = 64,
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1,
			  .e_shoff = 128,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 3 };
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = 1 << 20 };
	Elf64_Shdr sh[3] = { { 0 },
			     { .sh_type = SHT_SYMTAB,
			       .sh_link = 2,
			       .sh_entsize = sizeof(Elf64_Sym),
			       .sh_offset = 4096,
			       .sh_size = 1ull << 40 },
			     { .sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 16 << 20 } };

	CHECK_EQ(ftruncate(fd, 1ll << 41), 0);
	CHECK_EQ(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	CHECK_EQ(pwrite(fd, &ph, sizeof(ph), 64), sizeof(ph));
	CHECK_EQ(pwrite(fd, sh, sizeof(sh), 128), sizeof(sh));
	use(fd);
}

int main(void)
{
	char path[128];

	alarm(300);
	against_readelf("/lib/x86_64-linux-gnu/libc.so.6");
	against_readelf("/usr/bin/env");
	snprintf(path, sizeof(path), "/proc/%d/exe", getpid());
	against_readelf(path);
	refused();
	fixture__make("");
	snprintf(path, sizeof(path), "%s/lib.so", fixture_dir);
	against_readelf(path);
	damaged(path, 12000);
	enormous();
	fixture__remove();
	return check__done();
}
