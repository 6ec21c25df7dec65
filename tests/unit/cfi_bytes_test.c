/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CFI that no assembler here writes: every pointer encoding, augmentation and version, FDEs out of
 * order and over each other, and damage of every kind (the sanitizers watch).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "cfi_bytes.h"

static struct unwind_rules rules;

static struct as_rule rule_at(const struct unwind_table *t, u64 vaddr)
{
	return rules.rules[unwind_table__find(t, vaddr - TEXT_VADDR + TEXT_OFF)];
}

/* The CFA offset at an address from the text's start; -1 gap, -2 unsupported. */
static s32 cfa_at(const struct unwind_table *t, u64 pos)
{
	struct as_rule r = rule_at(t, TEXT_VADDR + pos);

	if (r.cfa_kind == AS_CFA_RSP && r.fp_kind == AS_FP_SAME)
		return r.cfa_off;
	return r.cfa_kind == AS_CFA_GAP ? -1 : r.cfa_kind == AS_CFA_UNSUPPORTED ? -2 : -3;
}

static struct unwind_table compile(const struct bytes *b)
{
	struct unwind_text text = bytes__text();
	struct unwind_table t;

	CHECK_EQ(bytes__compile(b->v, b->cnt, b->vaddr, b->eh, &text, &rules, &t), 0);
	return t;
}

struct form {
	const char *letters;
	u8 version;
	u8 enc;
	bool eh;
	bool wide;
	u64 vaddr;
};

/* Data for "zPLRSB" and its parts: the personality is an indirect pc-relative pointer. */
static size_t augmentation(const char *letters, u8 enc, u8 *data)
{
	size_t cnt = 0;

	for (; *letters; letters++) {
		if (*letters == 'P') {
			memcpy(data + cnt, "\x9b\1\2\3\4", 5);
			cnt += 5;
		} else if (*letters == 'L')
			data[cnt++] = 0x1b;
		else if (*letters == 'R')
			data[cnt++] = enc;
	}
	return cnt;
}

/* One function of 0x40 bytes: rsp + 8, from 4 on + 16, from 8 on (by set_loc) + 24. */
static struct bytes make(const struct form *f)
{
	struct bytes b = { .eh = f->eh, .wide = f->wide, .vaddr = f->vaddr };
	u8 data[16];
	size_t size = augmentation(f->letters, f->enc, data);
	size_t cie = bytes__cie(&b, f->version, f->letters, data, size, 16), start;

	start = bytes__fde_begin(&b, cie, f->enc, TEXT_VADDR + 0x100, 0x40, f->letters[0] == 'z');
	bytes__int(&b, DW_CFA_advance_loc | 4, 1);
	bytes__int(&b, DW_CFA_def_cfa_offset, 1);
	bytes__int(&b, 16, 1);
	bytes__int(&b, DW_CFA_set_loc, 1);
	bytes__pointer(&b, f->enc, TEXT_VADDR + 0x108);
	bytes__int(&b, DW_CFA_def_cfa_offset, 1);
	bytes__int(&b, 24, 1);
	bytes__end(&b, start);
	bytes__int(&b, 0, 4);
	return b;
}

static void check_form(const struct form *f)
{
	static const struct {
		u64 pos;
		s32 cfa;
	} want[] = { { 0xff, -1 },  { 0x100, 8 },  { 0x103, 8 },  { 0x104, 16 },
		     { 0x107, 16 }, { 0x108, 24 }, { 0x13f, 24 }, { 0x140, -1 } };
	struct bytes b = make(f);
	struct unwind_table t = compile(&b);
	int before = check_failures;

	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_EQ(cfa_at(&t, want[i].pos), want[i].cfa);
	CHECK_EQ(t.bad_cnt, 0);
	if (check_failures != before)
		fprintf(stderr, "... \"%s\" version %d encoding 0x%x wide %d eh %d\n", f->letters,
			f->version, f->enc, f->wide, f->eh);
	unwind_table__fini(&t);
}

static void test_forms(void)
{
	static const u8 formats[] = { 0, 1, 2, 3, 4, 8, 9, 0x0a, 0x0b, 0x0c };
	static const u8 bases[] = { DW_EH_PE_absptr, DW_EH_PE_pcrel, DW_EH_PE_datarel };
	static const struct form others[] = {
		{ "", 1, 0, true, false, CFI_VADDR },
		{ "eh", 1, 0, true, false, CFI_VADDR },
		{ "zR", 3, 0x1b, true, false, CFI_VADDR },
		{ "zR", 4, 0x1b, true, false, CFI_VADDR },
		{ "zPLR", 1, 0x1b, true, false, CFI_VADDR },
		{ "zPLRSB", 1, 0x1b, true, false, CFI_VADDR },
		{ "zRPL", 1, 0x1c, true, false, CFI_VADDR },
		{ "zR", 1, 0x1b, true, true, CFI_VADDR },
		{ "", 1, 0, false, false, 0 },
		{ "", 3, 0, false, true, 0 },
		{ "", 4, 0, false, false, 0 },
		{ "S", 4, 0, false, true, 0 },
		/* the section behind the text: negative distances */
		{ "zR", 1, 0x1a, true, false, 0x6000 },
		{ "zR", 1, 0x1b, true, false, 0x6000 },
		{ "zR", 1, 0x1c, true, false, 0x6000 },
		{ "zR", 1, 0x19, true, false, 0x6000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats) * ARRAY_SIZE(bases); i++) {
		struct form f = { "zR", 1, formats[i / 3] | bases[i % 3], true, false, CFI_VADDR };

		check_form(&f);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		check_form(&others[i]);
}

/* What can't be read gives no rows, and is counted. */
static void test_refused_cies(void)
{
	static const struct form refused[] = {
		{ "zR", 1, 0x9b, true, false, CFI_VADDR },  /* indirect */
		{ "zR", 1, 0xff, true, false, CFI_VADDR },  /* omitted */
		{ "zR", 1, 0x2b, true, false, CFI_VADDR },  /* text-relative */
		{ "zR", 1, 0x05, true, false, CFI_VADDR },  /* no such format */
		{ "zRX", 1, 0x1b, true, false, CFI_VADDR }, /* unknown letter */
		{ "X", 1, 0, true, false, CFI_VADDR },
		{ "R", 1, 0, true, false, CFI_VADDR }, /* a letter that needs data, without any */
		{ "zR", 2, 0x1b, true, false, CFI_VADDR },
		{ "zR", 5, 0x1b, true, false, CFI_VADDR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct bytes b = make(&refused[i]);
		struct unwind_table t = compile(&b);

		CHECK_EQ(t.rows.cnt, 0);
		CHECK_EQ(t.bad_cnt, 1);
		unwind_table__fini(&t);
	}
}

/* Instructions that can't be run: the whole range is unsupported, its neighbour unharmed. */
static void check_bad_insns(const u8 *insns, size_t size, u8 ra_reg)
{
	struct bytes b = { .eh = true, .vaddr = CFI_VADDR };
	size_t cie = bytes__cie(&b, 1, "", NULL, 0, ra_reg);
	size_t good = bytes__cie(&b, 1, "", NULL, 0, 16);
	size_t start = bytes__fde_begin(&b, cie, 0, TEXT_VADDR, 0x40, false);
	struct unwind_table t;

	bytes__put(&b, insns, size);
	bytes__end(&b, start);
	bytes__fde(&b, good, TEXT_VADDR + 0x40, 0x40, 48);
	t = compile(&b);
	CHECK_EQ(cfa_at(&t, 0), -2);
	CHECK_EQ(cfa_at(&t, 0x3f), -2);
	CHECK_EQ(cfa_at(&t, 0x40), 48);
	CHECK_EQ(t.bad_cnt, 1);
	unwind_table__fini(&t);
}

static void test_bad_insns(void)
{
	static const u8 cut[] = { DW_CFA_advance_loc | 1, DW_CFA_def_cfa, 7 };
	static const u8 endless_leb[] = { DW_CFA_def_cfa_offset, 0x80, 0x80 };
	static const u8 unknown[] = { 0x3f };
	static const u8 unbalanced[] = { DW_CFA_advance_loc | 1, DW_CFA_restore_state };
	static const u8 long_expr[] = { DW_CFA_def_cfa_expression, 0x7f, 0x77 };
	static const u8 backward[] = {
		DW_CFA_advance_loc | 9, DW_CFA_set_loc, 1, 0x40, 0, 0, 0, 0, 0, 0, 0
	};
	u8 deep[CFI_REMEMBER_MAX + 1];

	memset(deep, DW_CFA_remember_state, sizeof(deep));
	check_bad_insns(cut, sizeof(cut), 16);
	check_bad_insns(endless_leb, sizeof(endless_leb), 16);
	check_bad_insns(unknown, sizeof(unknown), 16);
	check_bad_insns(unbalanced, sizeof(unbalanced), 16);
	check_bad_insns(long_expr, sizeof(long_expr), 16);
	check_bad_insns(backward, sizeof(backward), 16);
	check_bad_insns(deep, sizeof(deep), 16);
	check_bad_insns(NULL, 0, 17); /* another return address column */
}

/* Numbers that don't fit a rule are unsupported, not cut off. */
static void test_big_numbers(void)
{
	static const u8 insns[] = {
		DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset,
		0x80,
		0x80,
		0x80,
		0x80,
		0x08, /* 2^31 */
		DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset,
		0xff,
		0xff,
		0xff,
		0xff,
		0x07,
		DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset,
		0x80,
		0x80,
		0x80,
		0x80,
		0x80,
		0x80,
		0x80,
		0x80,
		0x80,
		0x80,
		0x01, /* 71 bits: the highest is dropped */
	};
	struct bytes b = { .eh = true, .vaddr = CFI_VADDR };
	size_t cie = bytes__cie(&b, 1, "", NULL, 0, 16);
	size_t start = bytes__fde_begin(&b, cie, 0, TEXT_VADDR, 0x40, false);
	struct unwind_table t;

	bytes__put(&b, insns, sizeof(insns));
	bytes__end(&b, start);
	t = compile(&b);
	CHECK_EQ(cfa_at(&t, 0), 8);
	CHECK_EQ(cfa_at(&t, 1), -2);
	CHECK_EQ(cfa_at(&t, 2), INT32_MAX);
	CHECK_EQ(cfa_at(&t, 3), 0);
	CHECK_EQ(t.bad_cnt, 0);
	unwind_table__fini(&t);
}

/* ---- order and overlap ---- */

static void test_overlap(void)
{
	static const struct {
		u64 start, size;
		u8 off;
	} fdes[] = {
		{ 0x400, 0x20, 88 }, /* unsorted */
		{ 0x040, 0x20, 24 }, /* inside the next */
		{ 0x000, 0x100, 16 },
		{ 0x0f0, 0x50, 32 }, /* over its end */
		{ 0x180, 0, 40 },    /* empty */
		{ 0x1c0, 0x10, 48 },
		{ 0x1c0, 0x08, 56 }, /* same start: the shorter is the inner one */
		{ 0x200, 0x10, 64 },
		{ 0x200, 0x10, 72 },  /* twice the same: the later one */
		{ 0xff0, 0x100, 80 }, /* past the text's end */
		{ 0x5000, 0x10, 96 }, /* not in the text */
		{ 0x21f, 0x10, 104 }, /* 15 bytes after the one before: padding */
		{ 0x23f, 0x10, 112 }, /* 16 bytes: a gap */
	};
	static const struct {
		u64 pos;
		s32 cfa;
	} want[] = {
		{ 0, 16 },	{ 0x3f, 16 },  { 0x40, 24 },   { 0x5f, 24 },  { 0x60, 16 },
		{ 0xef, 16 },	{ 0xf0, 32 },  { 0x13f, 32 },  { 0x140, -1 }, { 0x180, -1 },
		{ 0x1c0, 56 },	{ 0x1c7, 56 }, { 0x1c8, 48 },  { 0x1cf, 48 }, { 0x1d0, -1 },
		{ 0x200, 72 },	{ 0x20f, 72 }, { 0x210, 72 },  { 0x21e, 72 }, { 0x21f, 104 },
		{ 0x22e, 104 }, { 0x22f, -1 }, { 0x23f, 112 }, { 0x24f, -1 }, { 0x3ff, -1 },
		{ 0x400, 88 },	{ 0x420, -1 }, { 0xff0, 80 },  { 0xfff, 80 }, { 0x1000, -1 },
	};
	struct bytes b = { .eh = true, .vaddr = CFI_VADDR };
	size_t cie = bytes__cie(&b, 1, "", NULL, 0, 16);
	struct unwind_table t;

	for (size_t i = 0; i < ARRAY_SIZE(fdes); i++)
		bytes__fde(&b, cie, TEXT_VADDR + fdes[i].start, fdes[i].size, fdes[i].off);
	t = compile(&b);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_EQ(cfa_at(&t, want[i].pos), want[i].cfa);
	unwind_table__fini(&t);
}

/* Linkers leave address 0 in FDEs of code that they discarded: not in text that is there. */
static void test_discarded(void)
{
	struct unwind_text text = { .segs = { { 0, 0, 0x1000 } },
				    .seg_cnt = 1,
				    .entry_off = UNWIND_NO_OFF };
	struct bytes b = { .eh = true, .vaddr = CFI_VADDR };
	size_t cie = bytes__cie(&b, 1, "", NULL, 0, 16);
	struct unwind_table t;

	bytes__fde(&b, cie, 0, 0x500, 16);
	bytes__fde(&b, cie, 0x400, 0x40, 24);
	CHECK_EQ(bytes__compile(b.v, b.cnt, b.vaddr, true, &text, &rules, &t), 0);
	CHECK_EQ(unwind_table__find(&t, 0), AS_RULE_GAP);
	CHECK_EQ(unwind_table__find(&t, 0x3ff), AS_RULE_GAP);
	CHECK_EQ(rules.rules[unwind_table__find(&t, 0x400)].cfa_off, 24);
	CHECK_EQ(unwind_table__find(&t, 0x440), AS_RULE_GAP);
	unwind_table__fini(&t);
}

/* A hundred functions, each inside the one before it: the outermost are forgotten, nothing else. */
static void test_deep_overlap(void)
{
	struct bytes b = { .eh = true, .vaddr = CFI_VADDR };
	size_t cie = bytes__cie(&b, 1, "", NULL, 0, 16);
	struct unwind_table t;

	for (u32 i = 0; i < 100; i++)
		bytes__fde(&b, cie, TEXT_VADDR + i * 8, 0x800 - i * 16, (u8)i);
	t = compile(&b);
	for (u32 i = 0; i < 100; i++)
		CHECK_EQ(cfa_at(&t, i * 8), i);
	CHECK_EQ(cfa_at(&t, 100 * 8 + 64), 99);
	CHECK_EQ(cfa_at(&t, 0x800 - 99 * 8), 98); /* out of the innermost again */
	CHECK_EQ(cfa_at(&t, 0x7ff), -1);
	unwind_table__fini(&t);
}

/* ---- damage ---- */

static u64 rng = 0x9e3779b97f4a7c15ull;

static u64 draw(u64 below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

static void damage(u8 *data, size_t size)
{
	static const u32 nasty[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe };
	u64 cnt = 1 + draw(4);

	for (u64 i = 0; i < cnt; i++) {
		u64 at = draw(size);

		if (draw(3))
			data[at] = (u8)draw(256);
		else if (at + 4 <= size)
			memcpy(data + at, &nasty[draw(ARRAY_SIZE(nasty))], 4);
	}
}

/* Whatever was read: rows sorted, rules that exist, both look-ups agree. */
static void check_sane(const struct unwind_table *t)
{
	union as_page *pages = NULL;
	u32 page_cnt, chunk_cnt, first[AS_INDEX_PAGES], wrong = 0;

	CHECK_EQ(unwind_table__pack(t, &pages, &page_cnt, &chunk_cnt, first), 0);
	for (size_t i = 0; i < t->rows.cnt; i++) {
		wrong += i && t->rows.v[i].off <= t->rows.v[i - 1].off;
		wrong += t->rows.v[i].rule >= unwind_rules__cnt(&rules);
		wrong += unwind_table__find(t, t->rows.v[i].off) !=
			 unwind_pages__find(pages, chunk_cnt, first, t->rows.v[i].off);
	}
	CHECK_EQ(wrong, 0);
	free(pages);
}

static void damage_section(const u8 *data, size_t size, u64 vaddr, bool eh,
			   const struct unwind_text *text, u32 times)
{
	u8 *copy = malloc(size);

	CHECK(copy);
	for (u32 i = 0; copy && i < times; i++) {
		struct unwind_table t;
		size_t part = draw(4) ? size : draw(size) + 1;
		u8 *exact;

		memcpy(copy, data, size);
		damage(copy, size);
		exact = malloc(part); /* a read past the end is seen */
		memcpy(exact, copy, part);
		CHECK_EQ(bytes__compile(exact, part, vaddr, eh, text, &rules, &t), 0);
		check_sane(&t);
		unwind_table__fini(&t);
		free(exact);
	}
	free(copy);
}

static void test_damaged_forms(void)
{
	static const struct form forms[] = {
		{ "zPLR", 1, 0x1b, true, false, CFI_VADDR },
		{ "zR", 3, 0x09, true, true, CFI_VADDR },
		{ "eh", 1, 0, true, false, CFI_VADDR },
		{ "", 4, 0, false, true, 0 },
		{ "", 1, 0, false, false, 0 },
	};
	struct unwind_text text = bytes__text();

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct bytes b = make(&forms[i]);

		damage_section(b.v, b.cnt, b.vaddr, b.eh, &text, 2000);
	}
}

/* A real section, whole: the C library's. */
static void test_damaged_libc(void)
{
	int fd = open("/usr/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct elf_image img;
	struct unwind_text text;
	const Elf64_Shdr *sh;
	size_t size;
	u8 *data;

	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(unwind_text__init(&text, &img), 0);
	sh = elf_image__section(&img, ".eh_frame");
	CHECK(sh && !elf_image__read_section(&img, sh, &data, &size));
	damage_section(data, size, sh->sh_addr, true, &text, 20);
	damage_section(data, MIN(size, 4096), sh->sh_addr, true, &text, 2000);
	free(data);
	elf_image__close(&img);
	close(fd);
}

int main(void)
{
	CHECK_EQ(unwind_rules__init(&rules), 0);
	test_forms();
	test_refused_cies();
	test_bad_insns();
	test_big_numbers();
	test_overlap();
	test_discarded();
	test_deep_overlap();
	test_damaged_forms();
	test_damaged_libc();
	unwind_rules__fini(&rules);
	return check__done();
}
