/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CFI assembled for the test: functions with one peculiarity each. The rule at each symbol is the
 * one expected, and every byte is compared with libdw.
 */
#include <errno.h>
#include <sys/stat.h>

#include "check.h"
#include "cfi_oracle.h"

static char dir[512]; /* beside the test program */
static struct unwind_rules rules;

/* ---- assembled files ---- */

struct sym_rule {
	const char *name; /* symbol, the rule at its address */
	struct as_rule rule;
};

#define RSP(off)                                         \
	{                                                \
		.cfa_kind = AS_CFA_RSP, .cfa_off = (off) \
	}
#define RULE(cfa, fp, add, off, slot)                                               \
	{                                                                           \
		.cfa_kind = (cfa), .fp_kind = (fp), .aux = (add), .cfa_off = (off), \
		.fp_off = (slot)                                                    \
	}
#define RULE_BX(cfa, off, bx)                                       \
	{                                                           \
		.cfa_kind = (cfa), .cfa_off = (off), .bx_off = (bx) \
	}
#define KIND(k)                 \
	{                       \
		.cfa_kind = (k) \
	}

static const char asm_source[] =
	".text\n"
	/* ordinary: push, frame pointer, remember and restore with the CFA */
	".globl f1\n f1: .cfi_startproc\n push %rbp\n .cfi_def_cfa_offset 16\n"
	" .cfi_offset %rbp, -16\n f1a: mov %rsp, %rbp\n .cfi_def_cfa_register %rbp\n"
	" f1b: nop\n .cfi_remember_state\n pop %rbp\n .cfi_def_cfa %rsp, 8\n .cfi_restore %rbp\n"
	" f1c: ret\n .cfi_restore_state\n f1d: nop\n .cfi_endproc\n"
	/* restore_extended, GNU_args_size, offset_extended_sf, far advances */
	"f2: .cfi_startproc\n sub $8, %rsp\n .cfi_def_cfa_offset 16\n .cfi_escape 0x2e, 0x10\n"
	" .cfi_escape 0x11, 6, 2\n f2a: .skip 100\n .cfi_escape 0x06, 6\n f2b: .skip 1000\n"
	" .cfi_def_cfa_offset 1000208\n f2c: .skip 70000\n .cfi_def_cfa_offset 16\n"
	" f2d: ret\n .cfi_endproc\n"
	/* a realigned frame as GCC describes it */
	"f3: .cfi_startproc\n .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n"
	" .cfi_escape 0x10, 6, 2, 0x76, 0\n ret\n .cfi_endproc\n"
	/* CFA = *(rsp + 536) + 56, as in libcrypto */
	"f4: .cfi_startproc\n .cfi_escape 0x0f, 6, 0x77, 0x98, 0x04, 0x06, 0x23, 0x38\n nop\n"
	" f4b: .cfi_escape 0x0f, 5, 0x77, 0x10, 0x06, 0x38, 0x22\n ret\n .cfi_endproc\n"
	/* a PLT slot with another threshold */
	".p2align 4\n f5: .cfi_startproc\n"
	" .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22\n"
	" .skip 16\n .cfi_endproc\n"
	/* rbp undefined, same, by value, in another register, saved relative to rsp */
	"f6: .cfi_startproc\n .cfi_undefined %rbp\n nop\n f6b: .cfi_same_value %rbp\n nop\n"
	" f6c: .cfi_escape 0x14, 6, 2\n nop\n f6d: .cfi_register %rbp, %rbx\n nop\n"
	" f6e: .cfi_escape 0x10, 6, 2, 0x77, 0x10\n nop\n"
	" f6f: .cfi_escape 0x16, 6, 2, 0x77, 0x10\n ret\n .cfi_endproc\n"
	/* return address undefined, in a register, elsewhere */
	"f7: .cfi_startproc\n .cfi_undefined %rip\n nop\n f7b: .cfi_register %rip, %rdi\n nop\n"
	" f7c: .cfi_offset %rip, -16\n ret\n .cfi_endproc\n"
	/* CFA from a register that a walk doesn't carry along; negative and odd offsets */
	"f8: .cfi_startproc\n .cfi_def_cfa %r10, 8\n nop\n f8b: .cfi_def_cfa %rsp, 8\n nop\n"
	" f8c: .cfi_escape 0x12, 7, 2\n nop\n f8d: .cfi_escape 0x13, 0x7d\n ret\n .cfi_endproc\n"
	/* no FDE: 15 bytes are padding, 16 a gap; then a call as the last instruction */
	".skip 15, 0x90\n f9: .cfi_startproc\n .cfi_def_cfa_offset 24\n call f1\n .cfi_endproc\n"
	".globl f10\n f10: .skip 16, 0x90\n"
	"f11: .cfi_startproc\n ret\n .cfi_endproc\n"
	/* the entry point without FDE */
	".p2align 6\n .globl _start\n _start: call f1\n hlt\n .skip 200, 0x90\n"
	/* a signal return that begins exactly at its FDE */
	"f12: .cfi_startproc\n .cfi_def_cfa_offset 48\n ret\n .cfi_endproc\n .skip 3, 0x90\n"
	"f13: .cfi_startproc\n .cfi_signal_frame\n .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06\n"
	" .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0\n .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1\n"
	" .cfi_escape 0x10, 3, 3, 0x77, 0x80, 1\n"
	" mov $15, %rax\n syscall\n .cfi_endproc\n"
	/* the same CFA without the 'S': nothing to rely on */
	"f14: .cfi_startproc\n .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06\n"
	" .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0\n .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1\n ret\n "
	".cfi_endproc\n"
	/* with it, but rbx isn't where the kernel saves it */
	"f17: .cfi_startproc\n .cfi_signal_frame\n .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06\n"
	" .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0\n .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1\n ret\n "
	".cfi_endproc\n"
	/* rbx saved, the CFA's register, lost in three ways, same again */
	"f18: .cfi_startproc\n .cfi_offset %rbx, -16\n nop\n f18b: .cfi_def_cfa %rbx, 24\n nop\n"
	" f18c: .cfi_undefined %rbx\n nop\n f18d: .cfi_register %rbx, %rax\n nop\n"
	" f18e: .cfi_escape 0x10, 3, 2, 0x76, 0x78\n nop\n f18f: .cfi_same_value %rbx\n ret\n"
	" .cfi_endproc\n"
	/* from an expression back to the offset before it: libgcrypt does so, libdw refuses it */
	"f16: .cfi_startproc\n .cfi_def_cfa_offset 48\n nop\n"
	" .cfi_escape 0x0f, 3, 0x77, 0x10, 0x06\n nop\n f16b: .cfi_def_cfa_register %rsp\n ret\n"
	" .cfi_endproc\n"
	"f15: ret\n .section .note.GNU-stack,\"\",@progbits\n";

/* What crtend.o does, and then bytes that look like more CFI (for f10, which has none). */
static const char end_source[] =
	".section .eh_frame, \"a\"\n .long 0\n"
	".section .gcc_except_table, \"a\", @progbits\n .balign 8\n"
	"1: .long 2f - 1b - 4, 0\n .byte 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1\n .balign 4\n"
	"2: .long 3f - 2b - 4, . - 1b\n .quad f10, 16\n .byte 0x0e, 99\n .balign 4\n"
	"3: .long 0\n .section .note.GNU-stack,\"\",@progbits\n";

static const struct sym_rule asm_rules[] = {
	{ "f1", RSP(8) },
	{ "f1a", RULE(AS_CFA_RSP, AS_FP_CFA, 0, 16, -16) },
	{ "f1b", RULE(AS_CFA_RBP, AS_FP_CFA, 0, 16, -16) },
	{ "f1c", RSP(8) },
	{ "f1d", RULE(AS_CFA_RBP, AS_FP_CFA, 0, 16, -16) },
	{ "f2a", RULE(AS_CFA_RSP, AS_FP_CFA, 0, 16, -16) },
	{ "f2b", RSP(16) },
	{ "f2c", RSP(1000208) },
	{ "f2d", RSP(16) },
	{ "f3", RULE(AS_CFA_DEREF_RBP, AS_FP_RBP, 0, -8, 0) },
	{ "f4", RULE(AS_CFA_DEREF_RSP, AS_FP_SAME, 56, 536, 0) },
	{ "f4b", RULE(AS_CFA_DEREF_RSP, AS_FP_SAME, 8, 16, 0) },
	{ "f5", RULE(AS_CFA_PLT, AS_FP_SAME, 9, 0, 0) },
	{ "f6", RULE(AS_CFA_RSP, AS_FP_UNDEF, 0, 8, 0) },
	{ "f6b", RSP(8) },
	{ "f6c", RULE(AS_CFA_RSP, AS_FP_UNDEF, 0, 8, 0) },
	{ "f6d", RULE(AS_CFA_RSP, AS_FP_UNDEF, 0, 8, 0) },
	{ "f6e", RULE(AS_CFA_RSP, AS_FP_CFA, 0, 8, 8) },
	{ "f6f", RULE(AS_CFA_RSP, AS_FP_UNDEF, 0, 8, 0) },
	{ "f7", KIND(AS_CFA_END) },
	{ "f7b", KIND(AS_CFA_UNSUPPORTED) },
	{ "f7c", KIND(AS_CFA_UNSUPPORTED) },
	{ "f8", KIND(AS_CFA_UNSUPPORTED) },
	{ "f8b", RSP(8) },
	{ "f8c", RSP(-16) },
	{ "f8d", RSP(24) },
	{ "f9", RSP(24) },
	{ "f10", KIND(AS_CFA_GAP) },
	{ "f11", RSP(8) },
	{ "_start", KIND(AS_CFA_END) },
	{ "f12", RSP(48) },
	{ "f13", KIND(AS_CFA_SIGFRAME) },
	{ "f14", KIND(AS_CFA_UNSUPPORTED) },
	{ "f17", KIND(AS_CFA_UNSUPPORTED) },
	{ "f18", RULE_BX(AS_CFA_RSP, 8, -16) },
	{ "f18b", RULE_BX(AS_CFA_RBX, 24, -16) },
	{ "f18c", RULE_BX(AS_CFA_RBX, 24, AS_BX_LOST) },
	{ "f18d", RULE_BX(AS_CFA_RBX, 24, AS_BX_LOST) },
	{ "f18e", RULE_BX(AS_CFA_RBX, 24, AS_BX_LOST) },
	{ "f18f", RULE_BX(AS_CFA_RBX, 24, AS_BX_SAME) },
	{ "f16b", RSP(48) },
	{ "f15", KIND(AS_CFA_GAP) },
};

static void write_file(const char *name, const void *data, size_t size)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CHECK(f && fwrite(data, 1, size, f) == size);
	if (f)
		fclose(f);
}

static void sh(const char *command)
{
	char cmd[1400];

	snprintf(cmd, sizeof(cmd), "cd '%s' && %s", dir, command);
	CHECK_EQ(system(cmd), 0);
}

static const char *path_of(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static u64 symbol(Elf *elf, const char *name)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Shdr shdr;
		GElf_Sym sym;

		gelf_getshdr(scn, &shdr);
		for (int i = 0; shdr.sh_type == SHT_SYMTAB && gelf_getsym(data, i, &sym); i++)
			if (!strcmp(elf_strptr(elf, shdr.sh_link, sym.st_name), name))
				return sym.st_value;
	}
	fprintf(stderr, "no symbol '%s'\n", name);
	CHECK(0);
	return 0;
}

static struct as_rule rule_at(const struct subject *s, u64 vaddr)
{
	u64 off = 0;

	CHECK(elf_image__vaddr_to_off(&s->img, vaddr, &off));
	return rules.rules[unwind_table__find(&s->table, off)];
}

static void check_symbol(const struct subject *s, const struct sym_rule *want)
{
	struct as_rule got = rule_at(s, symbol(s->elf, want->name));

	if (unwind_rule__eq(&got, &want->rule))
		return;
	check_failures++;
	fprintf(stderr, "%s: cfa %d fp %d aux %d offsets %d %d\n", want->name, got.cfa_kind,
		got.fp_kind, got.aux, got.cfa_off, got.fp_off);
}

/* Every byte of the text against libdw. */
static void check_text(const struct subject *s, const char *last, struct tally *t)
{
	const Elf64_Shdr *sh = elf_image__section(&s->img, ".text");
	u64 end = last ? symbol(s->elf, last) : sh->sh_addr + sh->sh_size;

	for (u64 at = sh->sh_addr; at < end; at++)
		if (!subject__check(s, rules.rules, at, t) && t->wrong == 1)
			fprintf(stderr, "differs from libdw at 0x%" PRIx64 "\n", at);
	CHECK_EQ(t->wrong, 0);
	CHECK(t->equal > 0);
}

static void same_rows(const struct unwind_table *a, const struct unwind_table *b)
{
	CHECK_EQ(a->rows.cnt, b->rows.cnt);
	for (size_t i = 0; i < a->rows.cnt && i < b->rows.cnt; i++)
		if (a->rows.v[i].off != b->rows.v[i].off ||
		    a->rows.v[i].rule != b->rows.v[i].rule) {
			CHECK_EQ(i, SIZE_MAX);
			return;
		}
}

static void test_assembled(void)
{
	struct subject s;
	struct tally t = {};
	u64 at;

	write_file("a.s", asm_source, strlen(asm_source));
	write_file("e.s", end_source, strlen(end_source));
	sh("gcc -nostdlib -static -Wl,--eh-frame-hdr -o a.elf a.s e.s");
	CHECK_EQ(subject__open(&s, path_of("a.elf"), &rules, false), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asm_rules); i++)
		check_symbol(&s, &asm_rules[i]);
	check_text(&s, "f16", &t);
	CHECK_EQ(t.bp_unknown, 3); /* f6c, f6d, f6f */
	CHECK_EQ(t.bx_unknown, 3); /* f18c, f18d, f18e */
	CHECK_EQ(s.table.bad_cnt, 0);

	at = symbol(s.elf, "f9");
	CHECK_EQ(rule_at(&s, at - 1).cfa_off, 24); /* padding: the rule before it */
	CHECK_EQ(rule_at(&s, symbol(s.elf, "f10") - 1).cfa_kind, AS_CFA_RSP); /* the call's end */
	at = symbol(s.elf, "_start");
	CHECK_EQ(rule_at(&s, at + 5).cfa_kind, AS_CFA_END);
	CHECK_EQ(rule_at(&s, at + 64).cfa_kind, AS_CFA_GAP);
	CHECK_EQ(rule_at(&s, symbol(s.elf, "f13") - 1).cfa_kind, AS_CFA_SIGFRAME);
	CHECK_EQ(rule_at(&s, symbol(s.elf, "f14") - 1).cfa_kind, AS_CFA_SIGFRAME);
	subject__close(&s);
}

/* The section table stripped: the same rows by way of PT_GNU_EH_FRAME. */
static void test_no_sections(void)
{
	struct subject with, without;
	Elf64_Ehdr ehdr;
	u8 *data;

	CHECK_EQ(subject__open(&with, path_of("a.elf"), &rules, false), 0);
	CHECK_EQ(elf_image__read(&with.img, 0, with.img.size, &data), 0);
	memcpy(&ehdr, data, sizeof(ehdr));
	ehdr.e_shoff = ehdr.e_shnum = ehdr.e_shstrndx = 0;
	memcpy(data, &ehdr, sizeof(ehdr));
	write_file("b.elf", data, with.img.size);
	free(data);
	CHECK_EQ(subject__open(&without, path_of("b.elf"), &rules, false), 0);
	CHECK_EQ(without.img.shdr_cnt, 0);
	same_rows(&with.table, &without.table);
	subject__close(&without);
	subject__close(&with);
}

/* .debug_frame alone, plain and compressed. */
static void test_debug_frame(void)
{
	struct subject eh, debug, packed;
	struct tally t = {};

	sh("(echo .cfi_sections .debug_frame; cat a.s) > d.s");
	sh("gcc -nostdlib -static -o d.elf d.s");
	sh("objcopy --compress-debug-sections=zlib d.elf z.elf");
	CHECK_EQ(subject__open(&eh, path_of("a.elf"), &rules, false), 0);
	CHECK_EQ(subject__open(&debug, path_of("d.elf"), &rules, true), 0);
	CHECK_EQ(subject__open(&packed, path_of("z.elf"), &rules, true), 0);
	CHECK(!elf_image__section(&debug.img, ".eh_frame"));
	CHECK(elf_image__section(&packed.img, ".debug_frame")->sh_flags & SHF_COMPRESSED);
	CHECK_EQ(debug.table.bad_cnt, 0);
	same_rows(&eh.table, &debug.table);
	same_rows(&eh.table, &packed.table);
	check_text(&debug, "f16", &t);
	subject__close(&packed);
	subject__close(&debug);
	subject__close(&eh);
}

/* No CFI at all: no rows and no error. */
static void test_no_cfi(void)
{
	struct subject s;

	sh("echo '.globl _start; _start: ret' > n.s && gcc -nostdlib -static -o n.elf n.s");
	CHECK_EQ(subject__open(&s, path_of("n.elf"), &rules, false), 0);
	CHECK_EQ(s.table.rows.cnt, 0);
	CHECK_EQ(s.page_cnt, 0);
	CHECK_EQ(unwind_pages__find(s.pages, s.chunk_cnt, s.first, 0x1000), AS_RULE_GAP);
	subject__close(&s);
}

/* What GCC really makes of realigned frames. */
static void test_realigned(void)
{
	static const char source[] =
		"void sink(void *, int);\n"
		"int mid(int a, int b, int c, int d, int e, int f, int g)\n"
		"{ _Alignas(64) char buf[64]; char *p = __builtin_alloca(a); sink(buf, b + c);\n"
		"  sink(p, d + e + f); return g + buf[0]; }\n";
	struct subject s;
	struct tally t = {};
	u32 found = 0;

	write_file("r.c", source, strlen(source));
	sh("gcc -O2 -mavx2 -shared -fPIC -nostdlib -o r.so r.c");
	CHECK_EQ(subject__open(&s, path_of("r.so"), &rules, false), 0);
	for (size_t i = 0; i < s.table.rows.cnt; i++)
		found += rules.rules[s.table.rows.v[i].rule].cfa_kind == AS_CFA_DEREF_RBP;
	CHECK(found > 0);
	check_text(&s, NULL, &t);
	CHECK(t.equal + t.bx_unknown > t.unsupported);
	subject__close(&s);
}

/* A signal return that only its code shows, over the border of two blocks of the search. */
static void test_restorer(void)
{
	static const char source[] = ".globl _start\n _start: .cfi_startproc\n .skip 0xffffc\n"
				     " .cfi_endproc\n mov $15, %rax\n syscall\n"
				     ".skip 64, 0x90\n mov $15, %rax\n ret\n";
	struct subject s;
	u64 off = 0;

	write_file("s.s", source, strlen(source));
	sh("gcc -nostdlib -static -o s.elf s.s");
	CHECK_EQ(subject__open(&s, path_of("s.elf"), &rules, false), 0);
	CHECK(elf_image__vaddr_to_off(&s.img, s.img.ehdr.e_entry, &off));
	off += 0xffffc;
	CHECK_EQ(rules.rules[unwind_table__find(&s.table, off - 2)].cfa_kind, AS_CFA_RSP);
	for (u32 i = 0; i < 10; i++)
		CHECK_EQ(rules.rules[unwind_table__find(&s.table, off - 1 + i)].cfa_kind,
			 AS_CFA_SIGFRAME);
	CHECK_EQ(unwind_table__find(&s.table, off + 9), AS_RULE_GAP);
	subject__close(&s);
}

/* ---- headers that refuse ---- */

static void test_refused_files(void)
{
	Elf64_Phdr ph = { .p_type = PT_LOAD,
			  .p_flags = PF_X,
			  .p_offset = 0xfffff000,
			  .p_vaddr = 0x1000,
			  .p_filesz = 0x2000,
			  .p_memsz = 0x2000 };
	struct elf_image img = { .fd = -1, .phdrs = &ph };
	struct unwind_table t;

	img.ehdr.e_machine = EM_X86_64;
	img.ehdr.e_phnum = 1;
	CHECK_EQ(unwind_table__compile(&t, &img, &rules), -EFBIG);
	unwind_table__fini(&t);
	img.ehdr.e_machine = EM_AARCH64;
	CHECK_EQ(unwind_table__compile(&t, &img, &rules), -ENOTSUP);
	unwind_table__fini(&t);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 16);

	CHECK(n > 0);
	dir[n] = '\0';
	strcat(dir, ".dir");
	CHECK(!mkdir(dir, 0755) || errno == EEXIST);
	CHECK_EQ(unwind_rules__init(&rules), 0);
	test_assembled();
	test_no_sections();
	test_debug_frame();
	test_no_cfi();
	test_realigned();
	test_restorer();
	test_refused_files();
	unwind_rules__fini(&rules);
	return check__done();
}
