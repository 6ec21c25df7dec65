/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probe places, jumps and ranges in files made for the purpose: every rule gets the smallest
 * program in which it decides, built by the system's compilers.
 */
#include <sys/stat.h>

#include "check.h"
#include "site_help.h"
#include "target/list.h"

/* Writes the source and runs the commands; %s-free, so texts are taken as they are. */
static void make(const char *name, const char *source, const char *build)
{
	char path[256], cmd[1024];
	FILE *out;

	snprintf(path, sizeof(path), DIR_MADE "/%s", name);
	out = fopen(path, "w");
	CHECK(out != NULL);
	if (!out)
		return;
	fputs(source, out);
	fclose(out);
	snprintf(cmd, sizeof(cmd), "cd " DIR_MADE " && %s", build);
	CHECK_EQ(system(cmd), 0);
}

static void open_made(struct opened *o, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), DIR_MADE "/%s", name);
	CHECK_EQ(opened__open(o, path), 0);
}

static void check_probe(const struct opened *o, const char *name, u64 delta, u32 sp_delta,
			bool emulated, const char *insn)
{
	const struct site *s = site_of(o, name);

	CHECK(s != NULL);
	if (!s)
		return;
	if (s->probe_off - s->func_off != delta)
		fprintf(stderr, "%s: %s\n", name, s->insn);
	CHECK_EQ(s->probe_off - s->func_off, delta);
	CHECK_EQ(s->sp_delta, sp_delta);
	CHECK_EQ(s->emulated, emulated);
	CHECK(!strncmp(s->insn, insn, strlen(insn)));
}

#define FUNC(name) "\n.globl " name "\n.type " name ", @function\n" name ":\n"
#define END(name)  "\n.size " name ", . - " name "\n"

/* The straight line from the entry: what may be passed and what may not. */
/* clang-format off */
static const char places[] =
	".text\n"
	/* 24 bytes down, then an emulated call */
	FUNC("malloc") "sub $24, %rsp\ncall helper\nadd $24, %rsp\nret" END("malloc")
	/* add of a negative number goes down too; push of a constant isn't emulated */
	FUNC("valloc") "add $-128, %rsp\npush $1\npush %rbx\nsub $-136, %rsp\nret" END("valloc")
	/* a loop head is hit once per round */
	FUNC("pvalloc") "mov %rdi, %rax\n1: push %rbx\npop %rbx\ndec %rax\njnz 1b\nret" END("pvalloc")
	/* the count is gone before the push */
	FUNC("calloc") "xor %edi, %edi\npush %rbx\npop %rbx\nret" END("calloc")
	/* an argument the row doesn't need may go */
	FUNC("realloc") "xor %edx, %edx\nmul %rcx\npush %r12\npop %r12\nret" END("realloc")
	/* mul writes rdx, the size, without naming it */
	FUNC("reallocarray") "mul %rcx\npush %r12\npop %r12\nret" END("reallocarray")
	/* somebody jumps in behind the entry */
	FUNC("memalign") "mov %rdi, %rax\nin: mov %rsi, %rax\npush %rbx\npop %rbx\nret" END("memalign")
	/* the stack pointer goes where nobody knows */
	FUNC("aligned_alloc") "and $-64, %rsp\npush %rbx\npop %rbx\nret" END("aligned_alloc")
	/* the frame pointer is the caller's no more */
	FUNC("posix_memalign") "mov %rdi, %rbp\npush %rbx\npop %rbx\nret" END("posix_memalign")
	/* an indirect jump ends the line */
	FUNC("free") "nopl 0(%rax,%rax,1)\njmp *%rdi" END("free")
	FUNC("cfree") "endbr64\ntest %rdi, %rdi\njz 1f\nret\n1: ret" END("cfree")
	/* more bytes down than an attach cookie can say; not a whole number of words */
	FUNC("je_valloc") "sub $2048, %rsp\npush %rbx\npop %rbx\nret" END("je_valloc")
	FUNC("je_pvalloc") "sub $20, %rsp\npush %rbx\npop %rbx\nret" END("je_pvalloc")
	FUNC("je_malloc") "1: push %rbx\npop %rbx\ndec %rdi\njnz 1b\nret" END("je_malloc")
	FUNC("je_calloc") "nop\nret" END("je_calloc")
	FUNC("je_free") "ret" END("je_free")
	FUNC("helper") "ret" END("helper")
	FUNC("other") "nop\n.byte 0xe9\n.long in - . - 4" END("other")
	FUNC("_start") "call malloc\nret" END("_start");
/* clang-format on */

static void probe_places(void)
{
	struct opened o;

	make("places.s", places, "gcc -nostdlib -static -o places places.s");
	open_made(&o, "places");
	check_probe(&o, "malloc", 4, 24, true, "call ");
	check_probe(&o, "valloc", 6, 136, true, "push %rbx");
	check_probe(&o, "pvalloc", 0, 0, false, "mov");
	check_probe(&o, "calloc", 0, 0, false, "xor");
	check_probe(&o, "realloc", 5, 0, true, "push %r12");
	check_probe(&o, "reallocarray", 0, 0, false, "mul");
	check_probe(&o, "memalign", 0, 0, false, "mov");
	check_probe(&o, "aligned_alloc", 0, 0, false, "and");
	check_probe(&o, "posix_memalign", 0, 0, false, "mov");
	check_probe(&o, "free", 0, 0, false, "nop");
	check_probe(&o, "cfree", 7, 0, true, "je");
	check_probe(&o, "je_malloc", 0, 0, true, "push %rbx"); /* nothing is better */
	check_probe(&o, "je_valloc", 0, 0, false, "sub");
	check_probe(&o, "je_pvalloc", 0, 0, false, "sub");
	check_probe(&o, "je_calloc", 0, 0, true, "nop");
	check_probe(&o, "je_free", 0, 0, false, "ret");
	CHECK_STR(o.f.allocator, "jemalloc");
	opened__close(&o);
}

/* Go's prologues: cmd/internal/obj/x86/obj6.go, stacksplit. */
/* clang-format off */
static const char go_places[] =
	".text\n"
	FUNC("runtime.mallocgc") "cmp 16(%r14), %rsp\njbe 1f\npush %rbp\npop %rbp\nret\n"
	"1: call more\njmp runtime.mallocgc" END("runtime.mallocgc")
	/* a larger frame, and the other branch far away */
	FUNC("runtime.mallocgcTinySC2") "lea -40(%rsp), %r12\ncmp 16(%r14), %r12\njbe 1f\nret\n"
	".skip 200, 0x90\n1: call more\njmp runtime.mallocgcTinySC2" END("runtime.mallocgcTinySC2")
	FUNC("runtime.mallocgcSmallNoScanSC9") "lea -0x400(%rsp), %r12\ncmp 16(%r14), %r12\njbe 1f\nret\n"
	"1: call more\njmp runtime.mallocgcSmallNoScanSC9" END("runtime.mallocgcSmallNoScanSC9")
	/* Go 1.16: the goroutine comes from thread-local storage, arguments from the stack */
	FUNC("runtime.mallocgcSmallNoScanSC2") "mov %fs:-8, %rcx\ncmp 16(%rcx), %rsp\njbe 1f\nret\n"
	"1: call more\njmp runtime.mallocgcSmallNoScanSC2" END("runtime.mallocgcSmallNoScanSC2")
	/* gccgo: C's convention */
	FUNC("runtime.mallocgcSmallNoScanSC3") "push %rbp\nmov %rsp, %rbp\npop %rbp\nret" END("runtime.mallocgcSmallNoScanSC3")
	/* the check without its branch */
	FUNC("runtime.mallocgcSmallNoScanSC4") "cmp 16(%r14), %rsp\nja 1f\n1: ret" END("runtime.mallocgcSmallNoScanSC4")
	FUNC("more") "ret" END("more")
	FUNC("_start") "call runtime.mallocgc\nret" END("_start");
/* clang-format on */

static void check_go(const struct opened *o, const char *name, u64 delta)
{
	const struct site *s = site_of(o, name);

	check_probe(o, name, delta, 0, true, "jbe");
	CHECK(s && s->stack_check);
}

static void probe_go(void)
{
	struct opened o;

	make("go.s", go_places, "gcc -nostdlib -static -o go go.s");
	open_made(&o, "go");
	check_go(&o, "runtime.mallocgc", 4);
	check_go(&o, "runtime.mallocgcTinySC2", 9);
	check_go(&o, "runtime.mallocgcSmallNoScanSC9", 12);
	CHECK_EQ(o.f.sites.cnt, 3);
	CHECK_EQ(o.f.skipped.cnt, 3);
	CHECK_STR(o.f.allocator, "Go");
	opened__close(&o);
}

static const char pool[] =
	"#include <stddef.h>\n"
	"static char heap[1 << 20]; static size_t used;\n"
	"static __attribute__((noipa)) void *carve(size_t n) { used += n; return heap + used; }\n"
	"static __attribute__((noipa)) void *shared(size_t n) { used ^= n; return heap; }\n"
	"static __attribute__((noipa)) void *hook(size_t n) { used |= n; return heap; }\n"
	"void *(*volatile hooked)(size_t) = hook;\n"
	"void *malloc(size_t n) { char *p = carve(n + 8); p[0] = 1; shared(n); hook(n); return p; "
	"}\n"
	"void free(void *p) { if (p) *(char *)p = 0; }\n"
	"void *mine(size_t n) { return (char *)shared(n) + 1; }\n"
	"void malloc_stats(void) { used = 0; }\n";

/* CET's endbr64 comes first and is single-stepped; what only malloc calls is the allocator's. */
static void endbr_and_ranges(void)
{
	struct opened o;

	make("pool.c", pool,
	     "gcc -O2 -fno-builtin -fcf-protection=full -fno-ipa-icf -fPIC -shared -o pool.so "
	     "pool.c"
	     " && gcc -O2 -fno-builtin -fcf-protection=full -fno-ipa-icf -no-pie -DMAIN -o pool "
	     "pool.c"
	     " -nostartfiles -Wl,-emine 2>/dev/null");
	for (int i = 0; i < 2; i++) {
		open_made(&o, i ? "pool" : "pool.so");
		CHECK_EQ(o.f.sites.cnt, 2);
		CHECK(site_of(&o, "malloc") &&
		      site_of(&o, "malloc")->probe_off >= site_of(&o, "malloc")->func_off + 4);
		CHECK(site_of(&o, "malloc") && site_of(&o, "malloc")->emulated);
		CHECK(in_ranges(&o, nm_off(&o, "carve")));
		CHECK(!in_ranges(&o, nm_off(&o, "shared"))); /* mine calls it too */
		CHECK(!in_ranges(&o, nm_off(&o, "hook")));   /* its address is stored */
		CHECK(!in_ranges(&o, nm_off(&o, "mine")));
		CHECK(!site_of(&o, "malloc_stats"));
		opened__close(&o);
	}
	CHECK_EQ(system("cd " DIR_MADE " && strip pool.so"), 0);
	open_made(&o, "pool.so");
	CHECK_EQ(o.f.sites.cnt, 2);
	CHECK(o.f.ranges.cnt >= 2);
	opened__close(&o);
}

static const char versioned[] = "#include <stddef.h>\n"
				"void *old(size_t n) { return (void *)(n | 1); }\n"
				"void *new_one(size_t n) { return (void *)(n | 2); }\n"
				"void *same(size_t n) { return (void *)(n | 3); }\n"
				"__asm__(\".symver old, malloc@V1\");\n"
				"__asm__(\".symver new_one, malloc@@V2\");\n"
				"__asm__(\".symver same, calloc@V1\");\n"
				"__asm__(\".symver same, calloc@@V2\");\n";

/* Two versions are two functions; two names of one function are one. */
static void versions(void)
{
	struct opened o;
	size_t malloc_cnt = 0;

	make("versioned.map", "V1 { global: malloc; calloc; local: *; };\nV2 { } V1;\n", "true");
	make("versioned.c", versioned,
	     "gcc -O2 -fPIC -fno-builtin -shared -Wl,--version-script=versioned.map -o versioned.so"
	     " versioned.c");
	open_made(&o, "versioned.so");
	for (size_t i = 0; i < o.f.sites.cnt; i++)
		malloc_cnt += !strcmp(o.f.sites.v[i].symbol, "malloc");
	CHECK_EQ(malloc_cnt, 2);
	CHECK_EQ(o.f.sites.cnt, 3);
	opened__close(&o);
}

static void prefixes(void)
{
	static const char *const names[] = { "je_", "_rjem_", "sn_", "scudo_" };
	char build[512], name[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct opened o;

		snprintf(
			build, sizeof(build),
			"gcc -O2 -fPIC -fno-builtin -c pool.c -o p.o && objcopy --prefix-symbols=%s"
			" p.o q.o && gcc -shared -o prefixed.so q.o",
			names[i]);
		make("pool.c", pool, build);
		open_made(&o, "prefixed.so");
		CHECK_EQ(o.f.sites.cnt, 2);
		snprintf(name, sizeof(name), "%smalloc", names[i]);
		CHECK(site_of(&o, name) != NULL);
		opened__close(&o);
	}
}

static const char nested[] =
	"#include <malloc.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"int main(int c, char **v) { void *p = malloc(c), *q; p = realloc(p, 100);\n"
	"q = calloc(c, 8); if (posix_memalign(&p, 64, 10)) return 1; p = memalign(32, c);\n"
	"return !strdup(v[0]) || !reallocarray(q, 3, c); }\n";

/* Static musl: calloc calls malloc, the memalign family ends in aligned_alloc. */
static void static_musl(void)
{
	struct opened o;
	const struct site *s;

	make("nested.c", nested, "musl-gcc -O2 -static -fno-builtin -o nested-musl nested.c");
	open_made(&o, "nested-musl");
	CHECK(site_of(&o, "malloc") && site_of(&o, "calloc") && site_of(&o, "aligned_alloc"));
	for (size_t i = 0; i < o.f.sites.cnt; i++)
		CHECK_EQ(o.f.sites.v[i].func_off, nm_off(&o, o.f.sites.v[i].symbol));
	s = site_of(&o, "calloc");
	CHECK(s && in_ranges(&o, s->func_off) && in_ranges(&o, s->func_off + s->func_size - 1));
	CHECK(jumps(&o, "memalign", "aligned_alloc", NULL));
	/* realloc is a jump to __libc_realloc: one of the two is enough */
	CHECK(site_of(&o, "realloc") && !site_of(&o, "__libc_realloc"));
	CHECK(in_ranges(&o, nm_off(&o, "__libc_realloc")));
	CHECK(!in_ranges(&o, nm_off(&o, "strdup")));
	CHECK(!in_ranges(&o, nm_off(&o, "main")));
	opened__close(&o);
}

/* Static C++: operator new is a site, and its call of malloc comes from its range. */
static void static_glibc(void)
{
	static const char source[] =
		"#include <string>\nvoid *volatile sink;\n"
		"int main(int c, char **v) {\n"
		"std::string s(v[0]); sink = new int(c); sink = new int[c]; }\n";
	struct opened o;

	make("static.cc", source, "g++ -O2 -static -fno-builtin -o static static.cc");
	open_made(&o, "static");
	CHECK(site_of(&o, "malloc") && site_of(&o, "_Znwm") && site_of(&o, "_Znam"));
	for (size_t i = 0; i < o.f.sites.cnt; i++) {
		CHECK_EQ(o.f.sites.v[i].func_off, nm_off(&o, o.f.sites.v[i].symbol));
		CHECK(in_ranges(&o, o.f.sites.v[i].func_off));
	}
	CHECK(in_ranges(&o, nm_off(&o, "_int_malloc")));
	CHECK(in_ranges(&o, nm_off(&o, "sysmalloc")));
	CHECK(!in_ranges(&o, nm_off(&o, "main")));
	CHECK(!in_ranges(&o, nm_off(&o, "strdup")));
	CHECK(!in_ranges(&o, nm_off(&o, "__cxa_allocate_exception")));
	CHECK(!in_ranges(&o, nm_off(&o, "_IO_file_doallocate")));
	opened__close(&o);
}

static const char operators[] =
	"#include <cstdlib>\n#include <new>\n"
	"static char heap[1 << 20]; static std::size_t used;\n"
	"__attribute__((noinline)) static void *raw(std::size_t n) {\n"
	"#ifdef OWN\nused += n; return heap + used;\n#else\nheap[0]++; used++; return malloc(n);\n"
	"#endif\n}\n"
	"void *operator new(std::size_t n) { void *p = raw(n); if (!p) throw std::bad_alloc();\n"
	"return p; }\n"
	"void *operator new[](std::size_t n) { return operator new(n); }\n"
	"void operator delete(void *) noexcept { used++; }\n"
	"int main(int c, char **) { return !new int(c) + !new int[c]; }\n";

/* A program's own operator new is left out when it ends in libc's malloc, else it is a site. */
static void own_operators(void)
{
	struct opened o;

	make("operators.cc", operators,
	     "g++ -O2 -o wrapping operators.cc && g++ -O2 -DOWN -o owning operators.cc"
	     " && g++ -O2 -fno-plt -o wrapping-noplt operators.cc");
	open_made(&o, "owning");
	CHECK(site_of(&o, "_Znwm") && site_of(&o, "_Znam") && site_of(&o, "_ZdlPv"));
	CHECK(jumps(&o, "_Znam", "_Znwm", NULL) || !o.f.jumps.cnt); /* inlined or not */
	opened__close(&o);
	open_made(&o, "wrapping");
	CHECK(!site_of(&o, "_Znwm") && !site_of(&o, "_Znam"));
	CHECK(o.f.skipped.cnt >= 2);
	opened__close(&o);
	open_made(&o, "wrapping-noplt");
	CHECK(!site_of(&o, "_Znwm") && !site_of(&o, "_Znam"));
	opened__close(&o);
}

static const char imports[] =
	"#include <stddef.h>\n"
	"void *realloc(void *, size_t);\nvoid free(void *);\nvoid *other(void *);\n"
	"void *reallocf(void *p, size_t n) { return realloc(p, n); }\n"
	"void *reallocarray(void *p, size_t n, size_t m) {\n"
	"if (n > 1000) return other(p); return realloc(p, n * m); }\n"
	"void cfree(void *p) { free(p); }\n";

/* Jumps to other files' functions, through the three kinds of PLT and without one. */
static void imported_jumps(void)
{
	static const char *const flags[] = { "", "-fcf-protection=full -Wl,-z,ibtplt", "-fno-plt",
					     "-Wl,-z,now" };
	char build[256];

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct opened o;

		snprintf(build, sizeof(build),
			 "gcc -O2 -fPIC -fno-builtin -shared %s -o imports.so imports.c", flags[i]);
		make("imports.c", imports, build);
		open_made(&o, "imports.so");
		CHECK_EQ(o.f.sites.cnt, 3);
		CHECK(jumps(&o, "reallocf", NULL, "realloc"));
		CHECK(jumps(&o, "reallocarray", NULL, "realloc"));
		CHECK(jumps(&o, "cfree", NULL, "free"));
		CHECK_EQ(o.f.jumps.cnt, 3); /* `other` is nobody's allocator */
		opened__close(&o);
	}
}

static void ifunc(void)
{
	struct opened o;

	make("ifunc.c",
	     "static void *impl(unsigned long n) { return (void *)(n + 1); }\n"
	     "static void *pick(void) { return (void *)impl; }\n"
	     "void *malloc(unsigned long) __attribute__((ifunc(\"pick\")));\n",
	     "gcc -O2 -fPIC -fno-builtin -shared -o ifunc.so ifunc.c");
	open_made(&o, "ifunc.so");
	CHECK_EQ(o.f.sites.cnt, 0);
	CHECK(o.f.skipped.cnt && strstr(o.f.skipped.v[0], "ifunc"));
	opened__close(&o);
}

/* The table of `list` has a line for each site and its columns under each other. */
static void listing(void)
{
	char buf[16384] = "", *line;
	struct opened o;
	FILE *out = fmemopen(buf, sizeof(buf), "w");
	size_t col, cnt = 0;

	open_made(&o, "places");
	CHECK(out != NULL);
	CHECK_EQ(site_file__write(&o.f, "a\033path", out), 0);
	fclose(out);
	CHECK(!strchr(buf, '\033'));
	line = strchr(buf, '\n') + 1;
	col = (size_t)(strstr(line, "OFFSET") - line);
	for (line = strchr(line, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		CHECK(!strncmp(line + col, "0x", 2));
		cnt++;
	}
	CHECK_EQ(cnt, o.f.sites.cnt);
	CHECK(strstr(buf, "size=arg2 count=arg1"));
	opened__close(&o);
}

/* Random damage: any answer is right but a crash, and what is reported lies inside the file. */
static void damage(const char *path, int rounds)
{
	struct stat st;
	FILE *in = fopen(path, "rb");
	u8 *good;
	u64 seed = 0x853c49e6748fea9b;

	if (!in || fstat(fileno(in), &st))
		return;
	good = malloc((size_t)st.st_size);
	CHECK(good && fread(good, 1, (size_t)st.st_size, in) == (size_t)st.st_size);
	fclose(in);
	for (int round = 0; round < rounds && good; round++) {
		FILE *out = fopen(DIR_MADE "/damaged", "wb");
		struct opened o;

		CHECK(out && fwrite(good, 1, (size_t)st.st_size, out) == (size_t)st.st_size);
		for (int k = 0; k < 60; k++) {
			u64 span = k % 3 ? (u64)st.st_size : 4096; /* headers are worth more */

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			fseek(out, (long)((seed >> 20) % MIN(span, (u64)st.st_size)), SEEK_SET);
			fputc((int)(seed >> 56), out);
		}
		fclose(out);
		if (round % 4 == 0)
			CHECK_EQ(truncate(DIR_MADE "/damaged",
					  (off_t)((seed >> 16) % (u64)st.st_size)),
				 0);
		if (opened__open(&o, DIR_MADE "/damaged"))
			continue;
		for (size_t i = 0; i < o.f.sites.cnt; i++)
			CHECK(o.f.sites.v[i].probe_off < (u64)st.st_size);
		opened__close(&o);
	}
	free(good);
}

int main(void)
{
	if (system("mkdir -p " DIR_MADE " && command -v musl-gcc objcopy g++ >/dev/null")) {
		puts("skipped: musl-gcc, objcopy or g++ is missing");
		return 77;
	}
	probe_places();
	probe_go();
	endbr_and_ranges();
	versions();
	prefixes();
	static_musl();
	static_glibc();
	own_operators();
	imported_jumps();
	ifunc();
	listing();
	damage(DIR_MADE "/pool", 200);
	damage(DIR_MADE "/imports.so", 200);
	damage(DIR_MADE "/nested-musl", 100);
	damage("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0", 60);
	return check__done();
}
