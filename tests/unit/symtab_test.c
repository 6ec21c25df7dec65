/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The symbol index against binutils: every function that `nm` lists in real files must be found at
 * its address, with its size, under one of the names nm gives that address; nothing else may be.
 */
#include "elf/symtab.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "check.h"
#include "elf/image.h"
#include "elf_fixture.h"

struct nm_sym {
	u64 addr, size;
	const char *name;
};

struct nm {
	struct arena arena;
	VEC(struct nm_sym) syms;
};

/* nm's text symbols with their sizes ("address size type name"), versions cut off. */
static bool nm__read(struct nm *nm, const char *options, const char *path)
{
	char cmd[512], name[4096], type;
	struct nm_sym s;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm -S --defined-only %s '%s' 2>/dev/null", options, path);
	f = popen(cmd, "r");
	if (!f)
		return false;
	while (fscanf(f, "%" SCNx64 " %" SCNx64 " %c %4095s", &s.addr, &s.size, &type, name) == 4 ||
	       (!feof(f) && fscanf(f, "%*[^\n]") != EOF)) {
		if (!strchr("tTiwW", type))
			continue;
		if (strchr(name + 1, '@'))
			*strchr(name + 1, '@') = '\0';
		s.name = arena__intern(&nm->arena, name);
		if (vec__push(&nm->syms, s))
			abort();
	}
	pclose(f);
	return nm->syms.cnt > 0;
}

static void nm__free(struct nm *nm)
{
	arena__free(&nm->arena);
	vec__free(&nm->syms);
}

/* nm gives alphabetical order; here: is `name` one of those at addr? */
static bool nm__has(const struct nm *nm, u64 addr, const char *name, u64 *size)
{
	for (size_t i = 0; i < nm->syms.cnt; i++) {
		const struct nm_sym *s = &nm->syms.v[i];

		if (s->addr == addr && !strcmp(s->name, name)) {
			*size = s->size;
			return true;
		}
	}
	return false;
}

static bool is_code(const struct elf_image *img, u64 addr)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++)
		if (img->phdrs[i].p_type == PT_LOAD && (img->phdrs[i].p_flags & PF_X) &&
		    addr - img->phdrs[i].p_vaddr < img->phdrs[i].p_filesz)
			return true;
	return false;
}

static void check_against_nm(const char *path, const char *options, size_t least)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_symtab t;
	struct elf_image img;
	struct nm nm = { 0 };
	size_t found = 0;

	if (fd < 0 || !nm__read(&nm, options, path)) {
		nm__free(&nm);
		printf("%s: not here or without symbols, not compared\n", path);
		return;
	}
	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(elf_symtab__read(&t, &img), 0);
	CHECK(t.sym_cnt >= least);
	for (size_t i = 0; i < nm.syms.cnt; i++) {
		const struct nm_sym *s = &nm.syms.v[i];
		const struct elf_sym *sym;
		u64 off;

		if (!is_code(&img, s->addr) || !elf_image__vaddr_to_off(&img, s->addr, &off))
			continue; /* nm's W may be data */
		sym = elf_symtab__find(&t, off);
		CHECK(sym != NULL);
		if (!sym)
			continue;
		found++;
		CHECK_EQ(sym->off, off);
		/* an alias may be longer: then the last byte belongs to nobody or to this one */
		if (elf_symtab__find(&t, off + s->size - 1) != sym && sym->size >= s->size)
			CHECK(elf_symtab__find(&t, off + s->size - 1)->off > off);
	}
	CHECK(found >= least);
	for (size_t i = 0; i < t.sym_cnt; i++) {
		u64 addr, size = 0;

		if (i % 7 && t.sym_cnt > 5000) /* nm__has() is linear */
			continue;
		CHECK(elf_image__off_to_vaddr(&img, t.syms[i].off, &addr));
		if (nm__has(&nm, addr, elf_symtab__name(&t, &t.syms[i]), &size))
			CHECK_EQ(t.syms[i].size, size);
		else
			CHECK(strcmp(options, "") == 0); /* a .dynsym name that was better */
	}
	printf("%s: %zu of nm's %zu symbols found\n", path, found, nm.syms.cnt);
	elf_symtab__free(&t);
	elf_image__close(&img);
	nm__free(&nm);
}

static u64 sym_addr(const char *file, const char *name)
{
	char cmd[256];
	u64 addr = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s/%s | sed -n 's/ . %s$//p'", fixture_dir, file, name);
	f = popen(cmd, "r");
	if (!f || fscanf(f, "%" SCNx64, &addr) != 1)
		CHECK(!"nm knows the symbol");
	if (f)
		pclose(f);
	return addr; /* in these small files .text has equal addresses and offsets */
}

static void check_found(const struct elf_symtab *t, u64 off, const char *want)
{
	const struct elf_sym *s = elf_symtab__find(t, off);

	CHECK_STR(s ? elf_symtab__name(t, s) : "(none)", want);
}

/* Nested, unsized and aliased symbols; nothing gets a name it doesn't have. */
static void rules(const struct elf_symtab *t)
{
	u64 outer = sym_addr("lib.so", "outer_asm"), inner = sym_addr("lib.so", "inner_asm");
	u64 unsized = sym_addr("lib.so", "unsized_asm");

	check_found(t, sym_addr("lib.so", "visible"), "visible"); /* not __visible, _v or weak */
	check_found(t, outer, "outer_asm");
	check_found(t, inner - 1, "outer_asm");
	check_found(t, inner, "inner_asm");
	check_found(t, inner + 1, "inner_asm");
	check_found(t, inner + 2, "outer_asm"); /* behind the inner one */
	check_found(t, inner + 4, "outer_asm");
	check_found(t, inner + 5, "(none)"); /* padding */
	check_found(t, unsized - 1, "(none)");
	check_found(t, unsized, "unsized_asm");
	check_found(t, unsized + 1, "unsized_asm");
	check_found(t, 0, "(none)");
	check_found(t, UINT64_MAX, "(none)");
}

struct seen {
	int visible, alias, weak, hidden_static, undefined, dynamic;
};

static int note(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind, bool dynamic)
{
	struct seen *s = arg;

	CHECK(off && (size || strstr(name, "unsized") || name[0] == '_' || strchr(name, '_')));
	CHECK(type == STT_FUNC || type == STT_NOTYPE);
	s->visible += !strcmp(name, "visible");
	s->alias += !strcmp(name, "__visible");
	s->weak += !strcmp(name, "weak") && bind == STB_WEAK;
	s->hidden_static += !strcmp(name, "hidden_leaf") && bind == STB_LOCAL && !dynamic;
	s->undefined += !strcmp(name, "exit");
	s->dynamic += dynamic;
	return 0;
}

static int stop(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind, bool dynamic)
{
	(void)name, (void)off, (void)size, (void)type, (void)bind, (void)dynamic;
	++*(int *)arg;
	return 42;
}

static void small_file(void)
{
	CLEANUP(fd__closep) int fd = -1;
	struct seen seen = { 0 };
	struct elf_symtab t;
	struct elf_image img;
	char path[128];
	int calls = 0;

	snprintf(path, sizeof(path), "%s/lib.so", fixture_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(elf_symtab__read(&t, &img), 0);
	rules(&t);
	CHECK_EQ(elf_symtab__each(&img, note, &seen), 0);
	CHECK_EQ(seen.visible, 2); /* once in .symtab, once in .dynsym */
	CHECK_EQ(seen.alias, 2);
	CHECK_EQ(seen.weak, 2);
	CHECK_EQ(seen.hidden_static, 1);
	CHECK_EQ(seen.undefined, 0);
	CHECK_EQ(seen.dynamic, 4);
	CHECK_EQ(elf_symtab__each(&img, stop, &calls), 42);
	CHECK_EQ(calls, 1);
	elf_symtab__free(&t);
	elf_image__close(&img);
}

/*
 * Which alias names an address. glibc's strdup is a weak alias of __strdup: binding comes after
 * underscores, yet a local name is never better than one that others can call.
 */
static void aliases(void)
{
	static const char *const want[] = { "plain", "__shared", "both" };
	CLEANUP(fd__closep) int fd = -1;
	struct elf_symtab t;
	struct elf_image img;
	char path[128];

	if (fixture__run("echo '#define A(x, y) __attribute__((x, alias(#y)))' > a.c && "
			 "echo 'int __plain(int n) { return n; }' >> a.c && "
			 "echo 'int plain(int) A(weak, __plain);' >> a.c && "
			 "echo 'int __shared(int n) { return n + 1; }' >> a.c && "
			 "echo 'static int own(int) A(used, __shared);' >> a.c && "
			 "echo 'int both(int n) { return n + 2; }' >> a.c && "
			 "echo 'int bot(int) A(weak, both);' >> a.c && "
			 "gcc -O1 -shared -fPIC -o a.so a.c && nm a.so > a.nm && "
			 "grep -q ' W plain' a.nm && grep -q ' t own' a.nm"))
		CHECK(!"compiles");
	snprintf(path, sizeof(path), "%s/a.so", fixture_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(elf_symtab__read(&t, &img), 0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		check_found(&t, sym_addr("a.so", want[i]), want[i]);
	elf_symtab__free(&t);
	elf_image__close(&img);
}

/* Versions are written into .symtab's names: memcpy@@GLIBC_2.14. They aren't part of the name. */
static void versions(void)
{
	CLEANUP(fd__closep) int fd = -1;
	struct elf_symtab t;
	struct elf_image img;
	bool has_b = false;
	char path[128];

	if (fixture__run("echo 'int b_impl(int n) { return n; }' > b.c && "
			 "echo '__asm__(\".symver b_impl,b@@V1\");' >> b.c && "
			 "echo 'V1 { global: b; local: *; };' > b.map && "
			 "gcc -shared -fPIC -Wl,--version-script=b.map -o b.so b.c && "
			 "nm b.so | grep -q 'T b@@V1'"))
		CHECK(!"compiles");
	snprintf(path, sizeof(path), "%s/b.so", fixture_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), 0);
	CHECK_EQ(elf_symtab__read(&t, &img), 0);
	for (size_t i = 0; i < t.sym_cnt; i++) {
		const char *name = elf_symtab__name(&t, &t.syms[i]);

		CHECK(!strchr(name, '@'));
		has_b |= !strcmp(name, "b");
	}
	CHECK(has_b);
	elf_symtab__free(&t);
	elf_image__close(&img);
}

/* What a look-up costs, in CPU time: printed, and far from a linear search. */
static void speed(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_symtab t;
	struct elf_image img;
	u64 x = 1, hits = 0;
	clock_t start;
	double us;

	CHECK_EQ(elf_image__open(&img, fd), 0);
	start = clock();
	CHECK_EQ(elf_symtab__read(&t, &img), 0);
	printf("%s: %zu symbols read in %.1f ms, ", path, t.sym_cnt,
	       (double)(clock() - start) * 1000 / CLOCKS_PER_SEC);
	start = clock();
	for (int i = 0; i < 1000000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		hits += elf_symtab__find(&t, (x >> 20) % img.size) != NULL;
	}
	us = (double)(clock() - start) / CLOCKS_PER_SEC;
	printf("%.3f us a look-up, %.1f %% hits\n", us, (double)hits / 10000);
	CHECK(us < 5);
	elf_symtab__free(&t);
	elf_image__close(&img);
}

int main(void)
{
	char path[128];

	fixture__make("");
	check_against_nm("/lib/x86_64-linux-gnu/libc.so.6", "-D", 2000);
	check_against_nm("/usr/bin/python3.11", "-D", 1000);
	snprintf(path, sizeof(path), "/proc/%d/exe", getpid());
	check_against_nm(path, "", 20);
	small_file();
	aliases();
	versions();
	speed("/lib/x86_64-linux-gnu/libc.so.6");
	fixture__remove();
	return check__done();
}
