/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines and inlined functions: every call site of small programs, of each compiler and each
 * way to store debugging information, must be what llvm-symbolizer says. (GNU addr2line 2.40 names
 * the wrong file for what DWARF 5 numbers 1, so it's asked about DWARF 4 only.)
 */
#include "symbol/line.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "check.h"
#include "dwarf/dwarf.h"
#include "elf/debugfile.h"
#include "elf/image.h"
#include "elf_fixture.h"

#define ANSWER_MAX (64 * 1024)

/* Templates, a namespace, a lambda, a function in two parts, a class within a function. */
static const char source_cc[] =
	"#include \"deep/pool.h\"\n"
	"namespace { int hidden(int n) { return take<long>(n) + take<char>(n + 1); } }\n"
	"struct shape { virtual int area(int n) { return hidden(n) * 2; } };\n"
	"__attribute__((noinline)) int outer(int n)\n"
	"{\n"
	"	struct local { static int twice(int n) { return sink(n) + sink(n * 2); } };\n"
	"	auto f = [&](int x) { return hidden(x) + n; };\n"
	"	if (__builtin_expect(n > 1000, 0))\n"
	"		throw hidden(n);\n"
	"	return f(n) + local::twice(n);\n"
	"}\n"
	"__attribute__((cold)) int seldom(int n) { shape s; return s.area(n) + sink(1); }\n"
	"int main(int argc, char **) { return outer(argc) + seldom(argc) + sink(2); }\n";

static const char source_h[] = "__attribute__((noinline)) int sink(int n);\n"
			       "template <class T> struct pool {\n"
			       "	int take(int n) { return sink(n * sizeof(T)) + put(n); }\n"
			       "	int put(int n) { return sink(n + 1); }\n"
			       "};\n"
			       "template <class T> inline int take(int n)\n"
			       "{\n"
			       "	pool<T> p;\n"
			       "	return p.take(n) - 1;\n"
			       "}\n";

static const char sink_cc[] = "int sink(int n)\n{\n\tasm volatile(\"\" : \"+r\"(n));\n"
			      "\treturn n;\n}\n";

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static bool have(const char *tool)
{
	return !fixture__run("command -v %s >/dev/null 2>&1", tool);
}

/* ---- one program ---- */

struct program {
	int fd;
	struct elf_image img;
	struct line_file *lines;
	struct arena arena;
};

static void program__open(struct program *p, const char *name, const char *debug_root)
{
	char path[256];

	*p = (struct program){};
	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	p->fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&p->img, p->fd), 0);
	CHECK_EQ(line_file__open(&p->lines, p->fd, path, debug_root, 1), 0);
}

static void program__close(struct program *p)
{
	line_file__close(p->lines);
	elf_image__close(&p->img);
	arena__free(&p->arena);
	close(p->fd);
}

/* As the tools print it: a function and "file:line" for each frame; the last one's function is "?".
 * The number of frames is returned. */
static u32 program__say(struct program *p, u64 vaddr, bool is_return, char *text)
{
	const struct source_frame *v;
	u32 cnt = 0, len = 0;
	u64 off;

	*text = '\0';
	if (!elf_image__vaddr_to_off(&p->img, vaddr, &off))
		return 0;
	CHECK_EQ(line_file__find(p->lines, off, is_return, &p->arena, &v, &cnt), 0);
	for (u32 i = 0; i < cnt && len < ANSWER_MAX / 2; i++) {
		const char *name = v[i].mangled ? v[i].mangled : v[i].function;

		CHECK((v[i].function == NULL) == (i + 1 == cnt));
		len += (u32)snprintf(text + len, ANSWER_MAX - len, "%s\n%s:%u\n", name ? name : "?",
				     v[i].file ? v[i].file : "??", v[i].line);
	}
	if (!cnt)
		strcpy(text, "?\n??:0\n");
	return cnt;
}

/* What a tool says of the next address, in the same words; false at its end. */
static bool read_answer(FILE *f, u64 *vaddr, char *text)
{
	char name[8192], place[4096];
	char *last = text;
	u32 len = 0;
	int c;

	if (fscanf(f, "0x%" SCNx64 "\n", vaddr) != 1)
		return false;
	*text = '\0';
	while ((c = fgetc(f)) != EOF) {
		ungetc(c, f);
		if (c == '0' || len > ANSWER_MAX - 16384 || !fgets(name, sizeof(name), f) ||
		    !fgets(place, sizeof(place), f))
			break;
		place[strcspn(place, "( \n")] = '\0'; /* " (discriminator 2)" */
		if (!strcmp(place + strlen(place) - 2, ":?"))
			strcpy(place + strlen(place) - 2, ":0");
		last = text + len;
		len += (u32)snprintf(text + len, ANSWER_MAX - len, "%s%s\n", name, place);
	}
	if (len) { /* the last one is ours to name */
		char *rest = strchr(last, '\n');

		last[0] = '?';
		memmove(last + 1, rest, strlen(rest) + 1);
	}
	return true;
}

static const char *skip(const char *text, const char *tool)
{
	return strncmp(tool, "addr2line", 9) ? text : strchr(text, '\n');
}

/* Each call of the program, by its return address. */
static void compare(const char *name, const char *debug_root, const char *tool)
{
	static char ours[ANSWER_MAX], theirs[ANSWER_MAX];
	u32 frames = 0, calls = 0, bad = 0;
	struct program p;
	char cmd[1024];
	u64 vaddr;
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "cd %s && objdump -d --no-show-raw-insn ./%s | "
		 "awk '$2 ~ /^call/ { sub(\":\", \"\", $1); print \"0x\" $1 }' | %s",
		 fixture_dir, name, tool);
	program__open(&p, name, debug_root);
	f = popen(cmd, "r");
	while (f && read_answer(f, &vaddr, theirs)) {
		frames += program__say(&p, vaddr + 1, true, ours);
		calls++;
		/* addr2line calls the innermost one by the symbol of the outermost. */
		if (strcmp(skip(ours, tool), skip(theirs, tool)) &&
		    !(strstr(ours, "??:0") && strstr(theirs, "crtstuff")) && bad++ < 3)
			fprintf(stderr, "%s at 0x%" PRIx64 ": is\n%snot\n%s", name, vaddr, ours,
				theirs);
	}
	if (f)
		pclose(f);
	CHECK_EQ(bad, 0);
	CHECK(calls && frames);
	CHECK(!line_file__gave_up(p.lines));
	program__close(&p);
}

static void compare_llvm(const char *name, const char *debugged, const char *debug_root)
{
	char tool[512];

	snprintf(tool, sizeof(tool),
		 "llvm-symbolizer --output-style=GNU -a -i -f --no-demangle -e ./%s", debugged);
	compare(name, debug_root, tool);
}

/* ---- compilers ---- */

static const struct variant {
	const char *compiler;
	const char *flags;
	const char *then; /* made of the program %1$s, when it's linked */
} variants[] = {
	{ "g++", "-O2 -gdwarf-5", NULL },
	{ "g++", "-O2 -gdwarf-4", NULL },
	{ "g++", "-O2 -gdwarf-3", NULL },
	{ "g++", "-O1 -g1", NULL },
	{ "g++", "-O2 -g -gz=zlib", NULL },
	{ "g++", "-O2 -gdwarf-4 -gz=zlib-gnu", NULL },
	{ "g++", "-O2 -gdwarf-4 -fdebug-types-section", NULL },
	{ "g++", "-O2 -g -gdwarf64", NULL },
	{ "g++", "-O2 -g -ffunction-sections -Wl,--gc-sections", NULL },
	{ "g++", "-O2 -g -no-pie", NULL },
	{ "g++", "-O2 -g -flto", NULL },
	{ "g++", "-O2 -g -gsplit-dwarf", NULL },
	{ "g++", "-O2 -g -gdwarf-4 -gsplit-dwarf", NULL },
	{ "g++", "-O2 -g -gsplit-dwarf", "llvm-dwp -e prog -o prog.dwp && rm *.dwo" },
	{ "clang++", "-O2 -gdwarf-5", NULL },
	{ "clang++", "-O2 -gdwarf-4", NULL },
	{ "clang++", "-O1 -g -gsplit-dwarf", NULL },
	{ "clang++", "-O1 -gdwarf-4 -gsplit-dwarf", "llvm-dwp -e prog -o prog.dwp && rm *.dwo" },
	/* Only the skeleton's own, as nobody has kept the rest. */
	{ "clang++", "-O1 -g -gsplit-dwarf -fsplit-dwarf-inlining", "rm *.dwo" },
};

static bool variant__make(const struct variant *v)
{
	if (!have(v->compiler) || (v->then && strstr(v->then, "llvm-dwp") && !have("llvm-dwp")))
		return false;
	CHECK_EQ(fixture__run("rm -f *.dwo *.dwp prog && %s %s -c prog.cc && %s %s -c sink.cc && "
			      "%s %s -o prog prog.o sink.o",
			      v->compiler, v->flags, v->compiler, v->flags, v->compiler, v->flags),
		 0);
	if (v->then)
		CHECK_EQ(fixture__run("%s", v->then), 0);
	return true;
}

static void compilers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
		int failures = check_failures;

		if (!variant__make(&variants[i]))
			continue;
		compare_llvm("prog", "prog", "/nonexistent");
		if (check_failures != failures)
			fprintf(stderr, "with %s %s\n", variants[i].compiler, variants[i].flags);
	}
}

static void gnu_addr2line(void)
{
	CHECK_EQ(fixture__run("rm -f *.dw? && g++ -O2 -gdwarf-4 -o prog prog.cc sink.cc"), 0);
	compare("prog", "/nonexistent", "addr2line -a -i -f -e prog");
}

/* ---- debug files ---- */

static void debug_files(void)
{
	char root[64];

	CHECK_EQ(fixture__run("g++ -O2 -g -Wl,--build-id=0xabcdef01 -o whole prog.cc sink.cc && "
			      "mkdir -p root/.build-id/ab && strip -s -o by_id whole && "
			      "objcopy --only-keep-debug --compress-debug-sections whole "
			      "root/.build-id/ab/cdef01.debug"),
		 0);
	snprintf(root, sizeof(root), "%s/root", fixture_dir);
	compare_llvm("by_id", "whole", root);
	CHECK_EQ(fixture__run("g++ -O2 -g -Wl,--build-id=none -o whole prog.cc sink.cc && "
			      "objcopy --only-keep-debug whole linked.debug && "
			      "strip -s -o linked whole && "
			      "objcopy --add-gnu-debuglink=linked.debug linked"),
		 0);
	compare_llvm("linked", "whole", "/nonexistent");
}

/* A return address at a function's first byte isn't asked for as one: see names. The call before is
 * what is meant, otherwise. */
static void return_addresses(void)
{
	static char call[ANSWER_MAX], next[ANSWER_MAX];
	struct program p;
	u64 vaddr = 0;
	char cmd[256];
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "objdump -d --no-show-raw-insn %s/whole | awk '/<main>:/ { in_main = 1 } "
		 "called { print $1; exit } in_main && $2 ~ /^call/ { called = 1 }' | tr -d :",
		 fixture_dir);
	f = popen(cmd, "r");
	CHECK(f && fscanf(f, "%" SCNx64, &vaddr) == 1);
	if (f)
		pclose(f);
	program__open(&p, "whole", "/nonexistent");
	CHECK(program__say(&p, vaddr, true, next) > 0);
	program__say(&p, vaddr - 1, false, call);
	CHECK_STR(next, call);
	CHECK_EQ(program__say(&p, 0x40, false, call), 0); /* the ELF header: nobody's */
	program__close(&p);
}

/* ---- made by hand ---- */

/* A unit with the function `made`, 16 bytes; the text is its entries' values and abbreviations. */
static const char made_s[] =
	"	.text\n	.globl made\n	.type made, @function\nmade:	.skip 16, 0x90\n"
	"	.size made, .-made\n	.globl _start\n_start: nop\n"
	"	.section .debug_abbrev,\"\",@progbits\n"
	"	.uleb128 1\n	.uleb128 0x11\n	.byte 1\n"				  /* unit */
	"	.if ROOT\n	.uleb128 0x11, 1\n	.uleb128 0x12, 7\n	.endif\n" /* low,
											     high */
	"	.byte 0,0\n"
	"	.uleb128 2\n	.uleb128 0x2e\n	.byte 1\n" /* function */
	"	.uleb128 0x11, 1\n	.uleb128 0x12, 7\n	.byte 0,0\n"
	"	.uleb128 3\n	.uleb128 0x1d\n	.byte 0\n"		     /* inlined */
	"	.uleb128 0x31\n	.uleb128 ORIGIN\n	.uleb128 0x11, 1\n"  /* origin, low, high */
	"	.uleb128 0x12, 7\n	.uleb128 0x59, 0xb\n	.byte 0,0\n" /* call_line */
	"	.uleb128 4\n	.uleb128 0x2e\n	.byte 0\n"		     /* abstract */
	"	.uleb128 0x3, 8\n	.byte 0,0\n"
	"	.uleb128 5\n	.uleb128 0xb\n	.byte 1\n	.byte 0,0\n" /* block */
	"	.byte 0\n"
	"	.section .debug_info,\"\",@progbits\n"
	"begin:	.long end - . - 4\n	.value 4\n	.long 0\n	.byte 8\n"
	"	.uleb128 1\n	.if ROOT\n	.quad made, 16\n	.endif\n"
	"	.uleb128 2\n	.quad made, 16\n"
	"	.rept DEPTH\n	.uleb128 5\n	.endr\n"
	"self:	.uleb128 3\n	.long TARGET\n	.quad made, 8\n	.byte 42\n"
	"	.rept DEPTH\n	.byte 0\n	.endr\n"
	"	.byte 0, 0\n"
	"end:\n";

/* root: the unit itself tells its addresses. */
static void make_made(bool root, const char *defines)
{
	write_file("made.s", made_s);
	CHECK_EQ(fixture__run("gcc -nostdlib -static -x assembler-with-cpp -DROOT=%d %s made.s "
			      "-o made 2>made.err",
			      root, defines),
		 0);
}

/* The name of the function inlined into `made`. */
static void check_made(const char *name, u32 frames)
{
	char text[ANSWER_MAX], cmd[128], want[128];
	struct program p;
	u64 vaddr = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s/made | sed -n 's/ T made//p'", fixture_dir);
	f = popen(cmd, "r");
	CHECK(f && fscanf(f, "%" SCNx64, &vaddr) == 1);
	if (f)
		pclose(f);
	program__open(&p, "made", fixture_dir);
	CHECK_EQ(program__say(&p, vaddr + 2, false, text), frames);
	snprintf(want, sizeof(want), "%s\n??:0\n?\n??:0\n", name);
	if (frames)
		CHECK_STR(text, want);
	CHECK_EQ(program__say(&p, vaddr + 9, false, text), 0); /* no line table, and not inlined */
	program__close(&p);
}

/* Entries that refer to themselves, to the middle of others, to nowhere; that are too deep. */
static void made(void)
{
	make_made(true, "-DORIGIN=0x13 -DTARGET=self-begin -DDEPTH=0");
	check_made("[inlined]", 2);
	make_made(false, "-DORIGIN=0x13 -DTARGET=self-begin -DDEPTH=0");
	check_made("[inlined]", 2);
	make_made(true, "-DORIGIN=0x13 -DTARGET=self-begin+1 -DDEPTH=0");
	check_made("[inlined]", 2);
	make_made(true, "-DORIGIN=0x13 -DTARGET=0x7fffffff -DDEPTH=500");
	check_made("[inlined]", 2);
	make_made(true, "-DORIGIN=0x10 -DTARGET=0x40000 -DDEPTH=3");
	check_made("[inlined]", 2);
	make_made(true, "-DORIGIN=0x13 -DTARGET=0 -DDEPTH=2000");
	check_made("", 0);
}

/* dwz(1) moves what files share to another one, found by build id. */
static void supplementary(void)
{
	static const char alt_s[] =
		"	.section .debug_abbrev,\"\",@progbits\n"
		"	.uleb128 1\n	.uleb128 0x3c\n	.byte 1\n	.byte 0,0\n"
		"	.uleb128 2\n	.uleb128 0x2e\n	.byte 0\n	.uleb128 0x3,0xe\n"
		"	.byte 0,0\n	.byte 0\n"
		"	.section .debug_str,\"MS\",@progbits,1\nname:	.string \"shared_name\"\n"
		"	.section .debug_info,\"\",@progbits\n"
		"	.long end - . - 4\n	.value 4\n	.long 0\n	.byte 8\n"
		"	.uleb128 1\n	.uleb128 2\n	.long name\n	.byte 0\nend:\n";

	write_file("alt.s", alt_s);
	/* the entry is behind a header of 11 bytes and the root of 1 */
	make_made(true, "-DORIGIN=0x1f20 -DTARGET=12 -DDEPTH=0");
	check_made("[inlined]", 2);
	CHECK_EQ(fixture__run("mkdir -p .build-id/12 alt && gcc -shared -nostdlib "
			      "-Wl,--build-id=0x123456 -o alt/shared.debug alt.s && "
			      "printf 'alt/shared.debug\\0\\022\\064\\126' >link && "
			      "objcopy --add-section .gnu_debugaltlink=link made"),
		 0);
	check_made("shared_name", 2);
	CHECK_EQ(fixture__run("mv alt/shared.debug .build-id/12/3456.debug"), 0);
	check_made("shared_name", 2);
	CHECK_EQ(fixture__run("gcc -shared -nostdlib -Wl,--build-id=0x123457 "
			      "-o .build-id/12/3456.debug alt.s"),
		 0);
	check_made("[inlined]", 2);
}

/* ---- damage ---- */

/* Asks for every 3rd byte of the text. What is said doesn't matter. */
static void ask_all(const char *name)
{
	static char text[ANSWER_MAX];
	struct program p;
	const Elf64_Shdr *sh;

	program__open(&p, name, "/nonexistent");
	sh = elf_image__section(&p.img, ".text");
	for (u64 i = 0; sh && i < MIN(sh->sh_size, 2000u); i += 3)
		program__say(&p, sh->sh_addr + i, false, text);
	program__close(&p);
}

/* Bytes of the sections turned over, by a generator that says the same each time. */
static void damaged(const char *flags)
{
	char path[256], copy[256];
	CLEANUP(fd__closep) int fd = -1;
	struct elf_image img;
	u32 seed = 7;

	CHECK_EQ(fixture__run("rm -f *.dw? && g++ -O2 %s -o prog prog.cc sink.cc", flags), 0);
	snprintf(path, sizeof(path), "%s/prog", fixture_dir);
	snprintf(copy, sizeof(copy), "%s/bad", fixture_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), 0);
	for (u32 turn = 0; turn < 150; turn++) {
		int bad;

		CHECK_EQ(fixture__run("cp prog bad"), 0);
		bad = open(copy, O_RDWR | O_CLOEXEC);
		for (u32 i = 0; i < img.shdr_cnt; i++) {
			const Elf64_Shdr *sh = &img.shdrs[i];

			if (strncmp(elf_image__section_name(&img, sh), ".debug_", 7))
				continue;
			for (u32 k = 0; k < 1 + turn / 8; k++) {
				u8 byte;

				seed = seed * 1103515245 + 12345;
				byte = (u8)(seed >> 16);
				CHECK(pwrite(bad, &byte, 1,
					     (off_t)(sh->sh_offset + (seed >> 8) % sh->sh_size)) ==
				      1);
			}
		}
		close(bad);
		ask_all("bad");
	}
	elf_image__close(&img);
}

/* Work and memory end, and what was cut is said to be. */
static void budget(void)
{
	struct dwarf_budget little;
	struct dwarf_file *f;
	char path[256];

	CHECK_EQ(fixture__run("g++ -O2 -g -o prog prog.cc sink.cc"), 0);
	snprintf(path, sizeof(path), "%s/prog", fixture_dir);
	for (u32 i = 0; i < 24; i++) {
		little = (struct dwarf_budget){ .steps = i % 2 ? 10u << i / 2 : 1u << 30,
						.bytes = i % 2 ? 1u << 30 : 64u << i / 2 };
		CHECK_EQ(dwarf_file__open(&f, open(path, O_RDONLY | O_CLOEXEC), false, &little), 0);
		int err = dwarf_file__read_units(f);

		err = err ? err : dwarf_file__index(f);
		for (size_t k = 0; k < f->units.cnt && !err; k++) {
			err = dwarf_unit__read_lines(f->units.v[k]);
			err = err ? err : dwarf_unit__read_functions(f->units.v[k]);
		}
		CHECK(err == 0 || err == -E2BIG);
		CHECK_EQ(little.spent, err != 0);
		dwarf_file__close(f);
	}
}

/* ---- Go ---- */

/* Without DWARF the function table has the same lines; its functions have no inlined ones. */
static void stripped_go(void)
{
	static char with[ANSWER_MAX], without[ANSWER_MAX];
	struct program g, bare;
	u32 same = 0;
	char cmd[256];
	u64 vaddr;
	FILE *f;

	program__open(&g, "g", "/nonexistent");
	program__open(&bare, "bare", "/nonexistent");
	snprintf(cmd, sizeof(cmd),
		 "objdump -d --no-show-raw-insn %s/g | awk '$2 ~ /^call/ { print $1 }' | tr -d :",
		 fixture_dir);
	f = popen(cmd, "r");
	while (f && fscanf(f, "%" SCNx64, &vaddr) == 1) {
		const char *line, *end;

		if (!program__say(&g, vaddr, false, with))
			continue;
		CHECK_EQ(program__say(&bare, vaddr, false, without), 1);
		line = strchr(with, '\n'); /* "./<autogenerated>" is as DWARF has it */
		line += strncmp(line, "\n./", 3) ? 1 : 3;
		end = strchr(line, '\n');
		if (strncmp(without + 2, line, (size_t)(end - line)))
			CHECK_STR(without, with);
		same++;
	}
	if (f)
		pclose(f);
	CHECK(same > 1000);
	program__close(&g);
	program__close(&bare);
}

static void go(void)
{
	static const char source[] =
		"package main\nimport \"os\"\n"
		"func small(n int) []byte { return make([]byte, n) }\n"
		"//go:noinline\nfunc build(n int) int { return len(small(n)) }\n"
		"func main() { os.Exit(build(len(os.Args)) - 1) }\n";

	if (!have("go"))
		return;
	write_file("g.go", source);
	CHECK_EQ(fixture__run("GOCACHE=$PWD/cache GOFLAGS= go build -o g g.go && "
			      "GOCACHE=$PWD/cache GOFLAGS= go build -ldflags '-s -w' -o bare g.go"),
		 0);
	compare_llvm("g", "g", "/nonexistent");
	stripped_go();
}

int main(void)
{
	fixture__make("-g");
	if (!have("llvm-symbolizer") || !have("g++")) {
		puts("no llvm-symbolizer or g++ here");
		fixture__remove();
		return 77;
	}
	CHECK_EQ(fixture__run("mkdir deep"), 0);
	write_file("prog.cc", source_cc);
	write_file("deep/pool.h", source_h);
	write_file("sink.cc", sink_cc);
	compilers();
	gnu_addr2line();
	debug_files();
	return_addresses();
	made();
	supplementary();
	damaged("-g");
	damaged("-gdwarf-4");
	budget();
	go();
	fixture__remove();
	return check__done();
}
