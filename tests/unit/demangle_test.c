/* SPDX-License-Identifier: BSD-2-Clause */
/* Demangling as `c++filt -i` does it, for every name of a real C++ library; and names that bite. */
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "check.h"
#include "symbol/resolve.h"

static struct arena arena;

static void check_name(const char *raw, const char *want)
{
	CHECK_STR(symbol__demangle(&arena, raw), want);
}

static void known_names(void)
{
	check_name("", "");
	check_name("malloc", "malloc");
	check_name("_Z11leaf_malloci", "leaf_malloc(int)");
	check_name("_Znwm", "operator new(unsigned long)");
	check_name("_ZN3foo3barEv.isra.0", "foo::bar() [clone .isra.0]");
	check_name("_ZN3foo3barEv.cold", "foo::bar() [clone .cold]");
	check_name("static_fn.isra.0", "static_fn.isra.0");
	check_name("_Zebra", "_Zebra");
	check_name("_Restore", "_Restore");
	/* C names that are C++ types when taken for one */
	check_name("f", "f");
	check_name("i", "i");
	check_name("main.(*T).f", "main.(*T).f");
	/* Rust, legacy (the hash goes) and v0 */
	check_name("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check_name("_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$"
		   "5clone17h0123456789abcdefE",
		   "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
	check_name("_RNvCsbmNqQUJIY6D_7___rustc12___rust_alloc", "__rustc::__rust_alloc");
	check_name("_RNvC6_123foo3bar", "123foo::bar");
	/* control characters in an identifier */
	check_name("_Z3a\nbv", "a\xef\xbf\xbd"
			       "b()");
	check_name("x\x1b[2J", "x\xef\xbf\xbd[2J");
	check_name("x\xff", "x\xef\xbf\xbd");
}

/* All names of libstdc++ (6,000 or so), by c++filt and by us. */
static void against_cxxfilt(const char *lib)
{
	char cmd[512], raw[16384], *want = NULL;
	size_t want_size = 0, cnt = 0;
	FILE *names, *filt;

	snprintf(cmd, sizeof(cmd), "nm -D --defined-only %s | sed 's/.* //; s/@.*//'", lib);
	names = popen(cmd, "r");
	snprintf(cmd, sizeof(cmd), "nm -D --defined-only %s | sed 's/.* //; s/@.*//' | c++filt -i",
		 lib);
	filt = popen(cmd, "r");
	while (names && filt && fgets(raw, sizeof(raw), names) &&
	       getline(&want, &want_size, filt) > 0) {
		raw[strcspn(raw, "\n")] = '\0';
		want[strcspn(want, "\n")] = '\0';
		check_name(raw, want);
		cnt++;
	}
	if (names)
		pclose(names);
	if (filt)
		pclose(filt);
	free(want);
	CHECK(cnt > 3000);
	printf("%zu names of %s as c++filt has them\n", cnt, lib);
}

/* f(P<int, int>, P<S, S>, ...) where each parameter repeats the last one twice, by substitutions.
 */
static void cxx_doubling(struct str *s, int times)
{
	str__clear(s);
	str__add(s, "_Z1f1PIiiES_IS0_S0_E");
	for (int i = 1; i < times; i++) {
		char id = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		str__addf(s, "S_IS%c_S%c_E", id, id);
	}
}

/* a::<(usize, usize), (B, B), ...> with back references to the tuple before, in Rust v0. */
static void rust_doubling(struct str *s, int times)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	int last = 8; /* where the tuple starts, counted behind "_R" */

	str__clear(s);
	str__add(s, "_RINvC1a1fTjjE");
	for (int i = 0; i < times; i++) {
		int here = (int)s->len - 2, ref = last - 1; /* base-62, less one */
		char ref_text[3] = { digits[ref / 62], digits[ref % 62], '\0' };
		const char *text = ref < 62 ? ref_text + 1 : ref_text;

		str__addf(s, "TB%s_B%s_E", text, text);
		last = here;
	}
	str__add(s, "E");
}

/* 2^29 times the text when let go: then the name stays as it is. */
static void doubling(void)
{
	static const char base36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct str s = { 0 };

	cxx_doubling(&s, 3);
	check_name(
		s.s,
		"f(P<int, int>, P<P<int, int>, P<int, int> >, P<P<P<int, int>, P<int, int> >, "
		"P<P<int, int>, P<int, int> > >, P<P<P<P<int, int>, P<int, int> >, P<P<int, int>, "
		"P<int, int> > >, P<P<P<int, int>, P<int, int> >, P<P<int, int>, P<int, int> > > "
		">)");
	cxx_doubling(&s, 30);
	check_name(s.s, s.s);
	/* a pack expansion over the doubled type, printed before it: silent, so not cut by length
	 */
	str__clear(&s);
	str__add(&s, "_Z1fM1QI1PIiiE");
	for (int i = 2; i < 33; i++)
		str__addf(&s, "S0_IS%c_S%c_E", base36[i - 1], base36[i - 1]);
	str__add(&s, "EDpSV_");
	check_name(s.s, s.s);
	rust_doubling(&s, 2);
	check_name(s.s,
		   "a::f::<(usize, usize), ((usize, usize), (usize, usize)), (((usize, usize), "
		   "(usize, usize)), ((usize, usize), (usize, usize)))>");
	rust_doubling(&s, 5);
	CHECK(!strncmp(symbol__demangle(&arena, s.s), "a::f::<((((", 0));
	rust_doubling(&s, 30);
	check_name(s.s, s.s);
	str__free(&s);
}

/* "_Z1f", a piece so often that it is about len long, a tail. */
static void check_repeated(const char *piece, size_t len, const char *tail, bool any)
{
	struct str s = { 0 };

	str__add(&s, "_Z1f");
	while (s.len < len)
		str__add(&s, piece);
	str__add(&s, tail);
	if (any)
		CHECK(symbol__demangle(&arena, s.s) != NULL);
	else
		check_name(s.s, s.s);
	str__free(&s);
}

/* 3,000 characters, more than c++filt takes: f(a_long_name_..., ...). */
static void long_but_fair(void)
{
	struct str raw = { 0 }, want = { 0 };

	str__add(&raw, "_Z1f");
	str__add(&want, "f(");
	for (int i = 0; i < 60; i++) {
		str__addf(&raw, "50t%049d", i);
		str__addf(&want, "%st%049d", i ? ", " : "", i);
	}
	str__add(&want, ")");
	check_name(raw.s, want.s);
	str__free(&raw);
	str__free(&want);
}

static void deep_and_long(void)
{
	static const char *const nests[] = { "P",    "1PI",  "K",   "F",     "A1_",  "M1P",
					     "Dp",   "Z1aI", "N1a", "XcvPi", "Xad",  "LZ",
					     "DTcl", "ISt",  "IJ",  "UlT_",  "Dv1_", "T_I" };

	for (size_t i = 0; i < ARRAY_SIZE(nests); i++) {
		check_repeated(nests[i], 4000, "i", true);
		check_repeated(nests[i], 60000, "i", false);
		check_repeated(nests[i], 70000, "i", false);
	}
	check_repeated("R", 60000, "", false);
}

/* Real names with bytes changed. */
static void damaged(void)
{
	static const char *const names[] = {
		"_ZNSt6vectorIN3foo3BarESaIS1_EE17_M_realloc_insertIJRKS1_EEEvN9__gnu_cxx17__"
		"normal_"
		"iteratorIPS1_S3_EEDpOT_",
		"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
		"_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
		"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$"
		"17h0123456789"
		"abcdefE",
	};
	static const char alphabet[] = "STIJELNKOPRDpt_0123456789BCMXYZaijvcksr.$u";
	char text[256];

	srand(11);
	for (int round = 0; round < 40000; round++) {
		size_t len;

		snprintf(text, sizeof(text), "%s", names[round % 4]);
		len = strlen(text);
		for (int k = rand() % 6; k >= 0; k--)
			text[2 + (size_t)rand() % (len - 2)] =
				alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		if (rand() % 4 == 0)
			text[2 + (size_t)rand() % (len - 2)] = '\0';
		CHECK(symbol__demangle(&arena, text) != NULL);
	}
}

int main(void)
{
	alarm(120); /* a name that takes for ever ends the test */
	known_names();
	doubling();
	deep_and_long();
	long_but_fair();
	damaged();
	against_cxxfilt("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	arena__free(&arena);
	return check__done();
}
