/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probe places in the machine's real libraries. nm says where the functions are, objdump what the
 * instructions between entry and probe do.
 */
#include <time.h>

#include "check.h"
#include "site_help.h"
#include "target/list.h"

#define LIB "/usr/lib/x86_64-linux-gnu/"

static const char *const arg_names[6][4] = {
	{ "%rdi", "%edi", "%di", "%dil" }, { "%rsi", "%esi", "%si", "%sil" },
	{ "%rdx", "%edx", "%dx", "%dl" },  { "%rcx", "%ecx", "%cx", "%cl" },
	{ "%r8", "%r8d", "%r8w", "%r8b" }, { "%r9", "%r9d", "%r9w", "%r9b" },
};

/* The instruction's last operand is an argument the row needs, and the instruction writes it. */
static bool spoils(const struct catalog_row *row, const char *insn)
{
	u8 args[] = { row->size_arg, row->count_arg, row->ptr_arg, row->align_arg, row->out_arg };
	char text[200], *last;

	snprintf(text, sizeof(text), "%s", insn);
	text[strcspn(text, "#<\n")] = '\0';
	for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	if (!strncmp(text, "cmp", 3) || !strncmp(text, "test", 4))
		return false;
	last = strrchr(text, ',');
	last = last ? last + 1 : strrchr(text, ' ') ? strrchr(text, ' ') + 1 : text;
	for (size_t a = 0; a < ARRAY_SIZE(args); a++)
		for (size_t k = 0; args[a] && k < 4; k++)
			if (!strcmp(last, arg_names[args[a] - 1][k]))
				return true;
	return false;
}

static bool is_emulated(const char *insn)
{
	return !strncmp(insn, "push ", 5) || insn[0] == 'j' || !strncmp(insn, "call ", 5) ||
	       !strncmp(insn, "nop", 3);
}

/* Walks objdump's lines from the entry to the probe. */
static void check_line(const struct opened *o, const struct site *s, const char *text)
{
	char line[256], insn[200], want[32];
	bool at_probe = false, kept = true, straight = true, emulated = false;
	u64 start, probe, addr;

	CHECK(elf_image__off_to_vaddr(&o->img, s->func_off, &start));
	probe = start + (s->probe_off - s->func_off);
	snprintf(want, sizeof(want), "\n%8" PRIx64 ":\t", start);
	text = strstr(text, want);
	CHECK(text != NULL);
	while (text && !at_probe) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(text + 1, "\n"), text + 1);
		text = strchr(text + 1, '\n');
		if (sscanf(line, " %" SCNx64 ":%*[ \t]%199[^\n]", &addr, insn) != 2)
			continue;
		at_probe = addr == probe;
		if (addr > probe)
			break;
		if (at_probe)
			emulated = is_emulated(insn) && !strchr(insn, '*');
		else
			kept &= !spoils(s->row, insn);
		if (!at_probe)
			straight &= !is_emulated(insn) && strncmp(insn, "ret", 3);
	}
	if (!at_probe || !kept || !straight || emulated != s->emulated)
		fprintf(stderr, "%s: %s+%" PRIu64 " (%s)\n", o->path, s->symbol,
			s->probe_off - s->func_off, s->insn);
	CHECK(at_probe);
	CHECK(kept);
	CHECK(straight);
	CHECK_EQ(emulated, s->emulated);
}

/* objdump's text of everything between the first entry and the last probe. */
static char *disassembly(const struct opened *o)
{
	u64 lo = UINT64_MAX, hi = 0, vaddr;

	for (size_t i = 0; i < o->f.sites.cnt; i++) {
		CHECK(elf_image__off_to_vaddr(&o->img, o->f.sites.v[i].func_off, &vaddr));
		lo = MIN(lo, vaddr);
		hi = MAX(hi, vaddr + 64);
	}
	return ask("objdump -d --no-show-raw-insn --start-address=%#" PRIx64
		   " --stop-address=%#" PRIx64 " '%s'",
		   lo, hi, o->path);
}

static void check_all(struct opened *o)
{
	char *text = disassembly(o);

	CHECK(o->f.has_symbols);
	for (size_t i = 0; i < o->f.sites.cnt; i++) {
		const struct site *s = &o->f.sites.v[i];

		CHECK_EQ(s->func_off, nm_off(o, s->symbol));
		CHECK(s->probe_off >= s->func_off);
		CHECK(s->func_size == 0 || s->probe_off < s->func_off + s->func_size);
		CHECK(in_ranges(o, s->func_off));
		CHECK(s->insn[0] && s->why[0]);
		CHECK(i == 0 || s->probe_off > o->f.sites.v[i - 1].probe_off);
		check_line(o, s, text);
	}
	free(text);
	for (size_t i = 0; i < o->f.ranges.cnt; i++) {
		CHECK(o->f.ranges.v[i].start < o->f.ranges.v[i].end);
		CHECK(i == 0 || o->f.ranges.v[i].start > o->f.ranges.v[i - 1].end);
	}
}

/* Where nothing of a function is a site or internal, its allocations are the program's. */
static void check_outside(struct opened *o, const char *const *names)
{
	for (; *names; names++) {
		u64 off = nm_off(o, *names);

		CHECK(off != 0);
		CHECK(!in_ranges(o, off));
	}
}

static void glibc(void)
{
	static const char *const outside[] = { "strdup",	 "getline", "vasprintf", "fopen",
					       "open_memstream", "scandir", NULL };
	struct timespec a, b;
	struct opened o;
	long ms;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	CHECK_EQ(opened__open(&o, "/lib/x86_64-linux-gnu/libc.so.6"), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	ms = (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
	CHECK(ms < 500); /* about 7 ms; sanitizers take longer */
	CHECK_STR(o.f.allocator, "glibc/musl");
	CHECK_EQ(o.f.sites.cnt, 9); /* aliases share an address */
	check_all(&o);
	check_outside(&o, outside);
	CHECK(site_of(&o, "malloc") && site_of(&o, "free") && site_of(&o, "reallocarray"));
	CHECK(!site_of(&o, "__libc_malloc"));
	CHECK(site_of(&o, "malloc") && site__is_named(site_of(&o, "malloc"), "malloc"));
	CHECK(site_of(&o, "aligned_alloc") &&
	      site__is_named(site_of(&o, "aligned_alloc"), "memalign"));
	CHECK(site_of(&o, "free") && !site__is_named(site_of(&o, "free"), "malloc"));
	CHECK_EQ(nm_off(&o, "memalign"), nm_off(&o, "aligned_alloc"));
	/* realloc(NULL) jumps to malloc; memalign does through an inner function; reallocarray
	 * goes through the PLT, and so may lead to another file. */
	CHECK(jumps(&o, "realloc", "malloc", NULL));
	CHECK(jumps(&o, "aligned_alloc", "malloc", NULL));
	CHECK(jumps(&o, "reallocarray", NULL, "realloc"));
	CHECK(jumps(&o, "reallocarray", "realloc", NULL));
	CHECK(!jumps(&o, "calloc", "malloc", NULL));
	opened__close(&o);
}

/* _mid_memalign is no symbol of the stripped file: found where memalign's last jump leads. */
static void glibc_inner(void)
{
	struct opened o;
	char *line;
	u64 off;

	CHECK_EQ(opened__open(&o, "/lib/x86_64-linux-gnu/libc.so.6"), 0);
	line = ask("objdump -d --no-show-raw-insn --start-address=%#" PRIx64
		   " --stop-address=%#" PRIx64 " '%s' | awk '$2 == \"call\" {print $3; exit}'",
		   nm_off(&o, "posix_memalign"), nm_off(&o, "posix_memalign") + 0x80, o.path);
	off = strtoull(line, NULL, 16);
	free(line);
	CHECK(off != 0);
	CHECK(off != nm_off(&o, "malloc"));
	CHECK(in_ranges(&o, off));
	opened__close(&o);
}

static void jemalloc(void)
{
	struct opened o;

	CHECK_EQ(opened__open(&o, LIB "libjemalloc.so.2"), 0);
	CHECK_STR(o.f.allocator, "jemalloc");
	check_all(&o);
	CHECK(site_of(&o, "mallocx") && site_of(&o, "_Znwm") && site_of(&o, "sdallocx"));
	CHECK(jumps(&o, "_Znam", "_Znwm", NULL));
	CHECK_EQ(o.f.ranges.cnt, 1); /* an allocator library: all of its text */
	opened__close(&o);
}

static void tcmalloc(void)
{
	struct opened o;

	CHECK_EQ(opened__open(&o, LIB "libtcmalloc_minimal.so.4"), 0);
	CHECK_STR(o.f.allocator, "gperftools");
	check_all(&o);
	CHECK(site_of(&o, "malloc") && site_of(&o, "_Znwm"));
	CHECK(!site_of(&o, "tc_malloc") && !site_of(&o, "tc_new") && !site_of(&o, "_Znam"));
	CHECK(jumps(&o, "valloc", "aligned_alloc",
		    NULL)); /* through the PLT, by the name tc_memalign */
	opened__close(&o);
}

static void mimalloc(void)
{
	static const char *const outside[] = { "mi_strdup", "mi_heap_strdup", "mi_realpath",
					       "mi_reallocarr", NULL };
	struct opened o;

	CHECK_EQ(opened__open(&o, LIB "libmimalloc.so.2.0"), 0);
	CHECK_STR(o.f.allocator, "mimalloc");
	check_all(&o);
	check_outside(&o, outside);
	CHECK(site_of(&o, "malloc") && site_of(&o, "_Znwm") && site_of(&o, "mi_heap_malloc"));
	CHECK(jumps(&o, "posix_memalign", "mi_posix_memalign", NULL));
	opened__close(&o);
}

static void boehm(void)
{
	static const char *const outside[] = { "GC_strdup", "GC_malloc_many", NULL };
	struct opened o;

	CHECK_EQ(opened__open(&o, LIB "libgc.so.1"), 0);
	CHECK_STR(o.f.allocator, "Boehm GC");
	check_all(&o);
	check_outside(&o, outside);
	CHECK(jumps(&o, "GC_malloc", "GC_malloc_kind", NULL));
	opened__close(&o);
}

static void musl(void)
{
	struct opened o;

	CHECK_EQ(opened__open(&o, "/lib/ld-musl-x86_64.so.1"), 0);
	check_all(&o);
	CHECK_EQ(o.f.sites.cnt, 9);
	CHECK(jumps(&o, "memalign", "aligned_alloc", NULL));
	CHECK(!jumps(&o, "free", "realloc", NULL));
	opened__close(&o);
}

/* libstdc++'s operators end in malloc and free: nothing to probe, and each of them says why. */
static void libstdcxx(void)
{
	struct opened o;
	char *line, buf[4096] = "";
	FILE *out;

	CHECK_EQ(opened__open(&o, LIB "libstdc++.so.6"), 0);
	CHECK_EQ(o.f.sites.cnt, 0);
	CHECK(o.f.allocator == NULL);
	line = ask("nm -D '%s' | grep -cE ' T _Z(nw|na|dl|da)'", o.path);
	CHECK_EQ(o.f.skipped.cnt, atoi(line));
	free(line);
	out = fmemopen(buf, sizeof(buf), "w");
	CHECK(out != NULL);
	CHECK_EQ(site_file__write(&o.f, o.path, out), 0);
	fclose(out);
	CHECK(strstr(buf, "no allocator to probe\n"));
	CHECK(strstr(buf, "    not probed: _Znwm: counted where it ends: malloc\n"));
	opened__close(&o);
}

static void no_allocator(void)
{
	struct opened o;

	CHECK_EQ(opened__open(&o, LIB "libz.so.1"), 0);
	CHECK(o.f.has_symbols);
	CHECK_EQ(o.f.sites.cnt + o.f.skipped.cnt + o.f.ranges.cnt + o.f.jumps.cnt, 0);
	opened__close(&o);
}

/* A name of an address that throws makes its site one that throws. */
static void throwing_sites(void)
{
	struct opened o;

	CHECK_EQ(opened__open(&o, LIB "libjemalloc.so.2"), 0);
	CHECK(site_of(&o, "_Znwm")->throws);
	CHECK(!site_of(&o, "_ZnwmRKSt9nothrow_t")->throws);
	CHECK(!site_of(&o, "malloc")->throws);
	opened__close(&o);
}

int main(void)
{
	throwing_sites();
	glibc();
	glibc_inner();
	jemalloc();
	tcmalloc();
	mimalloc();
	boehm();
	musl();
	libstdcxx();
	no_allocator();
	return check__done();
}
