/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Go's function table: made by hand in each format after runtime/symtab.go, put into an ELF file,
 * and read as functions, symbols and unwind rows. Then every kind of damage.
 */
#include <fcntl.h>

#include "check.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "elf_fixture.h"
#include "unwind/table.h"

#define TABLE_SIZE 4096
#define NAMES	   80
#define DEPTHS	   256
#define FUNCS	   512

enum { LEAF, WALK, EXIT, SWITCH, FUNC_CNT };
static const char *const names[FUNC_CNT] = { "main.leaf", "main.(*T).Walk", "runtime.goexit",
					     "runtime.systemstack" };

static u8 table[TABLE_SIZE + 1];
static u64 text_addr, table_off;
static int fd;

static void put(u64 pos, u64 val, size_t size)
{
	memcpy(table + pos, &val, size);
}

/* Each function is 32 bytes; the first two go down by 24 after 4 bytes and up again after 12. */
static void make_table(u32 magic, bool header_text)
{
	static const u8 depths[] = { 2, 4, 48, 12, 47, 3, 0 }; /* +1, 4; +24, 12; -24, 3 */
	bool absolute = magic == 0xfffffffa;
	u32 size = absolute ? 8 : 4, flags = magic == 0xfffffff0 ? 37 : 41;
	u64 words[8] = { FUNC_CNT, 0, header_text ? text_addr : 0, NAMES, 0, 0, DEPTHS, FUNCS };
	u64 record = FUNCS + 256, name = 1;

	memset(table, 0, sizeof(table));
	put(0, magic, 4);
	put(6, 0x0801, 2);
	for (u32 i = 0, at = 0; i < 8; i++)
		if (i != 2 || !absolute)
			put(8 + 8 * (u64)at++, words[i], 8);
	memcpy(table + DEPTHS + 1, depths, sizeof(depths));
	for (u32 i = 0; i <= FUNC_CNT; i++) {
		u64 pair = FUNCS + i * 2 * (u64)size;

		put(pair, 32 * (u64)i + (absolute ? text_addr : 0), size);
		if (i == FUNC_CNT)
			break;
		put(pair + size, record - FUNCS, size);
		put(record + size, name, 4);
		put(record + size + 12, 1, 4);
		put(record + flags, i == EXIT ? 1 : i == SWITCH ? 2 : 0, 1);
		strcpy((char *)table + NAMES + name, names[i]);
		name += strlen(names[i]) + 1;
		record += 64;
	}
}

static void write_table(void)
{
	CHECK_EQ(pwrite(fd, table, TABLE_SIZE, (off_t)table_off), TABLE_SIZE);
}

static void make_file(void)
{
	static const char source[] = ".text\\n.globl _start\\n_start: .skip 256, 0x90\\n"
				     ".section .gopclntab,\\\"a\\\"\\n.balign 32\\n.skip 4096\\n";
	char path[128];
	struct elf_image img;

	if (!mkdtemp(fixture_dir) ||
	    fixture__run("printf \"%s\" >go.s && gcc -nostdlib -static -s -o go go.s", source)) {
		puts("skipped: no compiler here");
		exit(77);
	}
	snprintf(path, sizeof(path), "%s/go", fixture_dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), 0);
	text_addr = elf_image__section(&img, ".text")->sh_addr;
	table_off = elf_image__section(&img, ".gopclntab")->sh_offset;
	elf_image__close(&img);
}

/* ---- what is read ---- */

static void check_symbols(const struct elf_image *img)
{
	struct elf_symtab t;
	u64 off = 0;

	CHECK(elf_image__vaddr_to_off(img, text_addr, &off));
	CHECK_EQ(elf_symtab__read(&t, img), 0);
	CHECK_EQ(t.sym_cnt, FUNC_CNT);
	for (u32 i = 0; i < FUNC_CNT && t.sym_cnt == FUNC_CNT; i++) {
		const struct elf_sym *s = elf_symtab__find(&t, off + 32 * i + 18);

		CHECK(s && !strcmp(elf_symtab__name(&t, s), names[i]));
		CHECK(!elf_symtab__find(&t, off + 32 * i + 19)); /* padding */
	}
	elf_symtab__free(&t);
}

static void check_rule(const struct unwind_table *t, const struct unwind_rules *rules, u64 off,
		       u8 kind, s32 cfa_off)
{
	const struct as_rule *r = &rules->rules[unwind_table__find(t, off)];

	CHECK_EQ(r->cfa_kind, kind);
	CHECK_EQ(r->cfa_off, cfa_off);
}

static void check_rows(const struct elf_image *img)
{
	struct unwind_rules rules;
	struct unwind_table t;
	u64 off = 0;

	CHECK(elf_image__vaddr_to_off(img, text_addr, &off));
	CHECK_EQ(unwind_rules__init(&rules), 0);
	CHECK_EQ(unwind_table__compile(&t, img, &rules), 0);
	for (u32 i = LEAF; i <= WALK; i++) {
		check_rule(&t, &rules, off + 32 * i + 3, AS_CFA_RSP, 8);
		check_rule(&t, &rules, off + 32 * i + 4, AS_CFA_RSP, 32);
		check_rule(&t, &rules, off + 32 * i + 15, AS_CFA_RSP, 32);
		check_rule(&t, &rules, off + 32 * i + 16, AS_CFA_RSP, 8);
	}
	check_rule(&t, &rules, off + 32 * EXIT + 1, AS_CFA_END, 0);
	check_rule(&t, &rules, off + 32 * SWITCH + 1, AS_CFA_UNSUPPORTED, 0);
	check_rule(&t, &rules, off + 32 * FUNC_CNT + 40, AS_CFA_GAP, 0);
	unwind_table__fini(&t);
	unwind_rules__fini(&rules);
}

static void formats(void)
{
	static const struct {
		u32 magic;
		bool header_text; /* false: the file's text section says where it begins */
	} rows[] = { { 0xfffffffa, true },
		     { 0xfffffff0, true },
		     { 0xfffffff1, true },
		     { 0xfffffff1, false } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct elf_image img;

		make_table(rows[i].magic, rows[i].header_text);
		write_table();
		CHECK_EQ(elf_image__open(&img, fd), 0);
		check_symbols(&img);
		check_rows(&img);
		elf_image__close(&img);
	}
}

/* Formats that aren't known name nothing. */
static void unknown(void)
{
	static const struct {
		u32 pos;
		u8 val;
	} rows[] = { { 0, 0xfb }, { 3, 0 }, { 4, 1 }, { 6, 4 }, { 7, 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct elf_image img;
		struct elf_symtab t;

		make_table(0xfffffff1, true);
		table[rows[i].pos] = rows[i].val;
		write_table();
		CHECK_EQ(elf_image__open(&img, fd), 0);
		CHECK_EQ(elf_symtab__read(&t, &img), 0);
		CHECK_EQ(t.sym_cnt, 0);
		elf_symtab__free(&t);
		elf_image__close(&img);
	}
}

/* ---- damage ---- */

/* What any table may promise. */
static int check_func(void *arg, const struct go_func *f)
{
	const struct gopclntab *t = arg;
	struct go_depth d = { .func = f };
	u64 end = 0;

	CHECK(f->name_len && strlen(f->name) == f->name_len);
	CHECK((const u8 *)f->name > t->data && f->name_len < TABLE_SIZE);
	CHECK(f->size > 0);
	while (gopclntab__next_depth(t, &d) && d.start < f->size) {
		CHECK(d.start == end && d.end > d.start);
		end = d.end;
	}
	return 0;
}

static void damage(u32 magic)
{
	struct unwind_rules rules;

	CHECK_EQ(unwind_rules__init(&rules), 0);
	srand(magic);
	for (int i = 0; i < 3000; i++) {
		struct unwind_table rows;
		struct gopclntab t;
		struct elf_image img;

		make_table(magic, true);
		/* Where the numbers are: header, depths, pairs, records. */
		for (int k = rand() % 4; k >= 0; k--) {
			static const u32 starts[] = { 8, DEPTHS, FUNCS, FUNCS + 256 };
			u32 pos = starts[rand() % 4] + (u32)rand() % 80;

			table[pos] = rand() % 3 ? (u8)rand() : 0xff;
		}
		write_table();
		CHECK_EQ(elf_image__open(&img, fd), 0);
		CHECK_EQ(gopclntab__open(&t, &img), 0);
		if (t.section)
			CHECK_EQ(gopclntab__each(&t, check_func, &t), 0);
		gopclntab__close(&t);
		CHECK_EQ(unwind_table__compile(&rows, &img, &rules), 0);
		unwind_table__fini(&rows);
		elf_image__close(&img);
	}
	unwind_rules__fini(&rules);
}

static int count_func(void *arg, const struct go_func *f)
{
	(void)f;
	++*(u32 *)arg;
	return 0;
}

/* As many functions as fit, all of one long name and one long list of depths: work stays linear. */
static void overlaps(void)
{
	struct gopclntab t = {};
	struct elf_image img;
	u64 record = 8;
	u32 cnt = 0;

	make_table(0xfffffff1, true);
	put(8, (TABLE_SIZE - FUNCS) / 8 - 1, 8);
	for (u64 pos = FUNCS; pos + 8 <= TABLE_SIZE - 1024; pos += 8) {
		put(pos, (pos - FUNCS) / 8, 4);
		put(pos + 4, TABLE_SIZE - 1024 - FUNCS, 4);
	}
	record = TABLE_SIZE - 1024;
	put(record + 4, record + 64 - NAMES, 4);
	put(record + 16, record + 512 - DEPTHS, 4);
	memset(table + record + 64, 'x', 400);
	for (u64 pos = record + 512; pos < TABLE_SIZE - 2; pos++)
		table[pos] = 2;
	write_table();
	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(gopclntab__open(&t, &img), 0);
	CHECK_EQ(gopclntab__each(&t, count_func, &cnt), 0);
	CHECK(cnt > 10 && cnt < 8 * TABLE_SIZE / 400 + 2);
	gopclntab__close(&t);
	elf_image__close(&img);
}

int main(void)
{
	make_file();
	formats();
	unknown();
	damage(0xfffffffa);
	damage(0xfffffff0);
	damage(0xfffffff1);
	overlaps();
	close(fd);
	fixture__remove();
	return check__done();
}
