/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of the system's own programs and libraries against libdw: at thousands of addresses
 * of each file our rule goes where libdw goes, or says that it can't. The two look-ups (rows on the
 * host, pages as the BPF walker sees them) agree everywhere.
 */
#include <time.h>

#include "check.h"
#include "cfi_oracle.h"

#define LIB	   "/usr/lib/x86_64-linux-gnu/"
#define RANDOM_CNT 3000
#define BORDER_CNT 1500

/* The last column: at most so many of 10,000 places may be unsupported (hand-written AVX code). */
static const struct {
	const char *path;
	bool must;
	u32 unsupported_max;
} files[] = {
	{ LIB "libc.so.6", true, 20 },
	{ LIB "ld-linux-x86-64.so.2", true, 10 },
	{ LIB "libstdc++.so.6", true, 5 },
	{ "/usr/bin/bash", true, 5 },
	{ "/usr/bin/perl", true, 5 },
	{ "/usr/bin/python3.11", false, 5 },
	{ LIB "libcrypto.so.3", false, 400 },
	{ LIB "libx265.so.199", false, 500 },
	{ LIB "libvulkan_intel.so", false, 300 },
	{ LIB "libLLVM-14.so.1", false, 5 },
	{ "/usr/bin/git", false, 5 },
	{ "/usr/bin/node", false, 100 },
};

static u64 rng = 0x243f6a8885a308d3ull;

static u64 draw(u64 below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

static void check_place(struct subject *s, const struct as_rule *rules, u64 vaddr, struct tally *t)
{
	if (subject__check(s, rules, vaddr, t) || t->wrong == 0 || t->wrong > 3)
		return;
	fprintf(stderr, "differs from libdw at 0x%" PRIx64 "\n", vaddr);
}

static void check_random(struct subject *s, const struct as_rule *rules, struct tally *t)
{
	for (u32 i = 0; i < s->img.ehdr.e_phnum; i++) {
		const Elf64_Phdr *ph = &s->img.phdrs[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz)
			continue;
		for (u32 n = 0; n < RANDOM_CNT; n++)
			check_place(s, rules, ph->p_vaddr + draw(ph->p_filesz), t);
	}
}

/* First and last bytes of rows are where mistakes are. */
static void check_borders(struct subject *s, const struct as_rule *rules, struct tally *t)
{
	for (u32 n = 0; n < BORDER_CNT; n++) {
		u64 off = s->table.rows.v[draw(s->table.rows.cnt)].off, vaddr;

		if (!elf_image__off_to_vaddr(&s->img, off, &vaddr))
			continue; /* the end of the text */
		check_place(s, rules, vaddr, t);
		check_place(s, rules, vaddr - 1, t);
	}
}

static void check_section(struct subject *s, const struct as_rule *rules, const char *name,
			  struct tally *t)
{
	const Elf64_Shdr *sh = elf_image__section(&s->img, name);

	for (u64 i = 0; sh && i < MIN(sh->sh_size, 4096); i++)
		check_place(s, rules, sh->sh_addr + i, t);
}

static void check_kind(struct subject *s, const struct as_rule *rules, u8 kind, struct tally *t)
{
	for (size_t i = 0; i + 1 < s->table.rows.cnt; i++) {
		u64 off = s->table.rows.v[i].off, vaddr;

		if (rules[s->table.rows.v[i].rule].cfa_kind != kind)
			continue;
		for (; off < s->table.rows.v[i + 1].off; off++)
			if (elf_image__off_to_vaddr(&s->img, off, &vaddr))
				check_place(s, rules, vaddr, t);
	}
}

static void check_sorted(const struct subject *s)
{
	u64 bad = 0;

	for (size_t i = 1; i < s->table.rows.cnt; i++)
		bad += s->table.rows.v[i].off <= s->table.rows.v[i - 1].off ||
		       s->table.rows.v[i].rule == s->table.rows.v[i - 1].rule;
	CHECK_EQ(bad, 0);
	CHECK_EQ(s->table.rows.v[s->table.rows.cnt - 1].rule, AS_RULE_GAP);
}

static void check_pages(const struct subject *s)
{
	u64 differ = 0;

	for (size_t i = 0; i < s->table.rows.cnt; i++) {
		u64 off = s->table.rows.v[i].off;
		u64 next = i + 1 < s->table.rows.cnt ? s->table.rows.v[i + 1].off : off + 100000;
		u64 at[] = { off - 1, off, off + 1, off + (next - off) / 2 };

		for (u32 k = 0; k < ARRAY_SIZE(at); k++)
			differ += unwind_table__find(&s->table, at[k]) !=
				  unwind_pages__find(s->pages, s->chunk_cnt, s->first, at[k]);
	}
	CHECK_EQ(differ, 0);
	CHECK_EQ(unwind_pages__find(s->pages, s->chunk_cnt, s->first, 0), AS_RULE_GAP);
	CHECK_EQ(unwind_pages__find(s->pages, s->chunk_cnt, s->first, UINT64_MAX), AS_RULE_GAP);
	CHECK(s->page_cnt > s->chunk_cnt);
}

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void report(const char *path, const struct subject *s, const struct tally *t, double ms)
{
	u64 sum = t->equal + t->end + t->none + t->padding + t->unsupported + t->bp_unknown +
		  t->bx_unknown + t->other + t->wrong;

	printf("%-44s %7zu rows %6.1f ms | %6" PRIu64 " places: equal %.3f%% unsupported %.3f%% "
	       "rbp unknown %" PRIu64 " rbx unknown %" PRIu64 " end %" PRIu64 " none %" PRIu64
	       " padding %" PRIu64 " other %" PRIu64 " wrong %" PRIu64 "\n",
	       path, s->table.rows.cnt, ms, sum, 100.0 * (double)t->equal / (double)sum,
	       100.0 * (double)t->unsupported / (double)sum, t->bp_unknown, t->bx_unknown, t->end,
	       t->none, t->padding, t->other, t->wrong);
}

static void test_file(const char *path, u32 unsupported_max, struct unwind_rules *rules)
{
	struct subject s;
	struct tally t = {};
	double start = cpu_ms(), ms;
	u64 sum;

	CHECK_EQ(subject__open(&s, path, rules, false), 0);
	ms = cpu_ms() - start;
	CHECK(s.cfi && s.table.rows.cnt > 100);
	check_random(&s, rules->rules, &t);
	sum = t.equal + t.unsupported + t.bp_unknown + t.bx_unknown + t.other;
	CHECK(t.unsupported * 10000 <= sum * unsupported_max);
	check_borders(&s, rules->rules, &t);
	check_section(&s, rules->rules, ".plt", &t);
	check_section(&s, rules->rules, ".plt.got", &t);
	check_section(&s, rules->rules, ".plt.sec", &t);
	check_kind(&s, rules->rules, AS_CFA_SIGFRAME, &t);
	check_kind(&s, rules->rules, AS_CFA_END, &t);
	check_kind(&s, rules->rules, AS_CFA_RBX, &t);
	check_sorted(&s);
	check_pages(&s);
	CHECK_EQ(s.table.bad_cnt, 0);
	CHECK_EQ(t.wrong, 0);
	report(path, &s, &t, ms);
	subject__close(&s);
}

/* What a handler returns to: its row holds there and one byte before. */
static void test_signal_return(struct unwind_rules *rules)
{
	struct subject s;
	u32 found = 0;

	CHECK_EQ(subject__open(&s, LIB "libc.so.6", rules, false), 0);
	for (size_t i = 0; i + 1 < s.table.rows.cnt; i++) {
		static const u8 code[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
		u64 start = s.table.rows.v[i].off, off;
		u8 *data;

		if (rules->rules[s.table.rows.v[i].rule].cfa_kind != AS_CFA_SIGFRAME)
			continue;
		CHECK_EQ(elf_image__read(&s.img, start, 32, &data), 0);
		for (off = 1; off < 16 && memcmp(data + off, code, sizeof(code)); off++)
			;
		free(data);
		CHECK(off < 16);
		CHECK_EQ(unwind_table__find(&s.table, start + off), s.table.rows.v[i].rule);
		CHECK_EQ(unwind_table__find(&s.table, start + off - 1), s.table.rows.v[i].rule);
		found++;
	}
	CHECK_EQ(found, 1);
	subject__close(&s);
}

/* ld.so's first code has no FDE, and a stack that begins there is complete. */
static void test_entry(struct unwind_rules *rules)
{
	struct subject s;
	u64 off;

	CHECK_EQ(subject__open(&s, LIB "ld-linux-x86-64.so.2", rules, false), 0);
	CHECK(elf_image__vaddr_to_off(&s.img, s.img.ehdr.e_entry, &off));
	CHECK_EQ(unwind_table__find(&s.table, off), AS_RULE_END);
	CHECK_EQ(unwind_table__find(&s.table, off + 8), AS_RULE_END);
	CHECK(unwind_table__find(&s.table, off + 64) != AS_RULE_END);
	subject__close(&s);
	CHECK_EQ(subject__open(&s, "/usr/bin/bash", rules, false), 0);
	CHECK(elf_image__vaddr_to_off(&s.img, s.img.ehdr.e_entry, &off));
	CHECK_EQ(unwind_table__find(&s.table, off + 8), AS_RULE_END);
	subject__close(&s);
}

int main(void)
{
	struct unwind_rules rules;

	if (access(LIB "libc.so.6", R_OK)) {
		printf("no x86-64 C library at " LIB "\n");
		return 77;
	}
	CHECK_EQ(unwind_rules__init(&rules), 0);
	for (u32 i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].must || !access(files[i].path, R_OK))
			test_file(files[i].path, files[i].unsupported_max, &rules);
	test_signal_return(&rules);
	test_entry(&rules);
	printf("%u distinct rules\n", unwind_rules__cnt(&rules));
	unwind_rules__fini(&rules);
	return check__done();
}
