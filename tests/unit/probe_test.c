/* SPDX-License-Identifier: BSD-2-Clause */
/* --probe: what its texts mean, what is refused and where, which files they name, and which places
 * of a real program they become. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "check.h"
#include "elf/image.h"
#include "target/site.h"

/* ---- texts ---- */

static void check_row(const char *spec, const char *object, const char *symbol, u8 role, u8 size,
		      u8 count, u8 ptr, u8 align, u8 out)
{
	struct probe_set set = {};
	const struct probe *p;

	CHECK_EQ(probe_set__add(&set, spec), 0);
	CHECK_EQ(set.v.cnt, 1);
	if (set.v.cnt == 1) {
		p = set.v.v[0];
		CHECK(!strcmp(p->object, object));
		CHECK(!strcmp(p->row.symbol, symbol));
		CHECK_EQ(p->row.role, role);
		CHECK_EQ(p->row.size_arg, size);
		CHECK_EQ(p->row.count_arg, count);
		CHECK_EQ(p->row.ptr_arg, ptr);
		CHECK_EQ(p->row.align_arg, align);
		CHECK_EQ(p->row.out_arg, out);
		CHECK_EQ(p->row.layer, 1);
		CHECK(probe__of(&p->row) == p);
	}
	probe_set__free(&set);
}

static void texts(void)
{
	check_row("lib.so:f(size=ARG1)", "lib.so", "f", ROLE_ALLOC, 1, 0, 0, 0, 0);
	check_row("a:f(count=ARG6,size=ARG2)", "a", "f", ROLE_ALLOC, 2, 6, 0, 0, 0);
	check_row("/x:y/z:f(ptr=ARG1,size=ARG2)", "/x:y/z", "f", ROLE_REALLOC, 2, 0, 1, 0, 0);
	check_row("*:f(out=ARG1,align=ARG2,size=ARG3)", "*", "f", ROLE_ALLOC, 3, 0, 0, 2, 1);
	check_row("a:free=f(ptr=ARG2)", "a", "f", ROLE_FREE, 0, 0, 2, 0, 0);
	check_row("a:_ZN1aC2Em(size=ARG2)", "a", "_ZN1aC2Em", ROLE_ALLOC, 2, 0, 0, 0, 0);
	check_row("d/a:0x1a40(size=64)", "d/a", "a+0x1a40", ROLE_ALLOC, 0, 0, 0, 0, 0);
	check_row("a:free(ptr=ARG1,size=ARG2)", "a", "free", ROLE_REALLOC, 2, 0, 1, 0, 0);
}

static void refused(const char *spec, const char *words)
{
	struct probe_set set = {};

	err__clear();
	CHECK_EQ(probe_set__add(&set, spec), -EINVAL);
	CHECK_EQ(set.v.cnt, 0);
	if (!strstr(err__msg(), words) || !err__hint_msg()[0]) {
		fprintf(stderr, "'%.60s': '%s', without '%s'\n", spec, err__msg(), words);
		check_failures++;
	}
	probe_set__free(&set);
}

static void wrong_texts(void)
{
	refused("", "column 1: no colon");
	refused("f(size=ARG1)", "column 1: no colon");
	refused("f(a:b)", "column 1: no colon");
	refused(":f(size=ARG1)", "column 1: no object");
	refused("a:", "column 3: no function");
	refused("a:(size=ARG1)", "column 3: no function");
	refused("a:f", "column 4: no arguments");
	refused("a:f g(size=ARG1)", "column 4: not part of a symbol");
	refused("a:b::f(int)(size=ARG1)", "column 8: not size=");
	refused("a:f(", "column 5: not size=");
	refused("a:f()", "column 5: not size=");
	refused("a:f(size)", "column 5: not size=");
	refused("a:f(size=)", "column 10: not ARG1 to ARG6, nor");
	refused("a:f(size=ARG0)", "column 10: not ARG1 to ARG6");
	refused("a:f(size=ARG7)", "column 10: not ARG1 to ARG6");
	refused("a:f(size=ARG12)", "column 10: not ARG1 to ARG6");
	refused("a:f(size=arg1)", "column 10: not ARG1 to ARG6");
	refused("a:f(size=0)", "column 10: not a size");
	refused("a:f(size=-1)", "column 10: not ARG1");
	refused("a:f(size=99999999999999999999)", "column 10: not a size");
	refused("a:f(size=9223372036854775808)", "column 10: not a size");
	refused("a:f(size=64x)", "column 12: neither");
	refused("a:f(size=ARG1", "column 14: neither");
	refused("a:f(size=ARG1,)", "column 15: not size=");
	refused("a:f(size=ARG1)x", "column 15: something after");
	refused("a:f(size=ARG1,size=ARG2)", "column 20: said twice");
	refused("a:f(size=8,size=ARG2)", "column 17: said twice");
	refused("a:f(size=ARG1,count=ARG1)", "column 21: this argument means");
	refused("a:f(size=ARG1,count=4)", "column 21: not ARG1 to ARG6");
	refused("a:f(count=ARG1)", "column 5: no size=");
	refused("a:f(ptr=ARG1)", "column 5: no size=");
	refused("a:f(size=ARG1,align=ARG2)", "column 5: align= means");
	refused("a:f(size=ARG1,ptr=ARG2,out=ARG3)", "column 5: ptr= and out=");
	refused("a:free=f(size=ARG1)", "column 10: a free has");
	refused("a:free=f(ptr=ARG1,size=ARG2)", "column 10: a free has");
	refused("a:0x(size=ARG1)", "column 3: not an offset");
	refused("a:0x12q(size=ARG1)", "column 3: not an offset");
	refused("a:0x0(size=ARG1)", "column 3: not an offset");
	refused("a:0x1ffffffffffffffff(size=ARG1)", "column 3: not an offset");
	refused("preset:", "no such preset");
	refused("preset:CPython", "no such preset");
}

/* Long ones, and every beginning and every flipped bit of a good one: refused or taken, no more. */
static void hostile_texts(void)
{
	static const char good[] = "a*[/:free=:f(ptr=ARG1,size=0x40,count=ARG2)";
	char text[PROBE_SPEC_MAX + 16];

	for (size_t len = 1; len < sizeof(text); len = len * 2 + 1) {
		struct probe_set set = {};

		memset(text, 'f', len);
		text[len] = '\0';
		text[0] = len % 3 ? '*' : 'a';
		if (len > 2)
			text[1] = ':';
		CHECK(probe_set__add(&set, text) < 0);
		probe_set__free(&set);
	}
	for (size_t i = 0; i < sizeof(good) * 8; i++) {
		struct probe_set set = {};

		memcpy(text, good, sizeof(good));
		text[i / 8] ^= (char)(1 << i % 8);
		probe_set__add(&set, text);
		probe_set__finish(&set);
		for (size_t k = 0; k < set.v.cnt; k++)
			probe__matches(set.v.v[k], "/a/[b");
		probe_set__free(&set);
	}
}

/* ---- sets ---- */

static u8 ends_of(const char *const *specs, size_t at)
{
	struct probe_set set = {};
	u8 ends;

	for (size_t i = 0; specs[i]; i++)
		CHECK_EQ(probe_set__add(&set, specs[i]), 0);
	probe_set__finish(&set);
	ends = set.v.v[at]->row.ends;
	probe_set__free(&set);
	return ends;
}

static void followed(void)
{
	CHECK_EQ(ends_of((const char *[]){ "a:f(size=ARG1)", NULL }, 0), ENDS_COLLECTED);
	CHECK_EQ(ends_of((const char *[]){ "a:f(size=ARG1)", "a:free=g(ptr=ARG1)", NULL }, 0), 0);
	CHECK_EQ(ends_of((const char *[]){ "a:f(size=ARG1)", "b:free=g(ptr=ARG1)", NULL }, 0),
		 ENDS_COLLECTED);
	CHECK_EQ(ends_of((const char *[]){ "a:f(size=ARG1)", "a:g(ptr=ARG1,size=ARG2)", NULL }, 0),
		 ENDS_COLLECTED);
	CHECK_EQ(ends_of((const char *[]){ "lua:f(ptr=ARG2,size=ARG4)", NULL }, 0), 0);
}

static void layers(void)
{
	struct probe_set set = {};
	char spec[64];

	CHECK_EQ(probe_set__add(&set, "a:f(size=ARG1)"), 0);
	CHECK_EQ(probe_set__add(&set, "preset:cpython"), 0);
	CHECK_EQ(probe_set__add(&set, "a:g(size=ARG1)"), 0);
	CHECK_EQ(probe_set__add(&set, "a:g(size=ARG1)"), -EINVAL); /* twice */
	CHECK_EQ(set.v.v[0]->row.layer, 1);
	CHECK_EQ(set.v.v[1]->row.layer, 2);
	CHECK_EQ(set.v.v[set.v.cnt - 1]->row.layer, 1);
	for (int i = 3; i <= PROBE_LAYER_MAX; i++) {
		snprintf(spec, sizeof(spec), "o%d:f(size=ARG1)", i);
		CHECK_EQ(probe_set__add(&set, spec), 0);
	}
	CHECK_EQ(probe_set__add(&set, "one_more:f(size=ARG1)"), -EINVAL);
	CHECK(strstr(err__msg(), "at most 7"));
	probe_set__free(&set);
}

static void presets(void)
{
	for (const struct probe_preset *ps = probe_presets; ps->name; ps++) {
		struct probe_set set = {};
		char spec[64];

		snprintf(spec, sizeof(spec), "preset:%s", ps->name);
		CHECK_EQ(probe_set__add(&set, spec), 0);
		CHECK_EQ(set.v.cnt, ps->row_cnt);
		for (size_t i = 0; i < set.v.cnt; i++) {
			const struct catalog_row *row = &set.v.v[i]->row;

			CHECK(!catalog__find(row->symbol));
			CHECK(row->allocator == ps->allocator);
			CHECK((row->role == ROLE_FREE) == !row->size_arg);
			CHECK((row->role == ROLE_ALLOC) == !row->ptr_arg);
		}
		probe_set__free(&set);
	}
}

/* ---- files ---- */

static bool names(const char *object, const char *path)
{
	struct probe_set set = {};
	char spec[128];
	bool is;

	snprintf(spec, sizeof(spec), "%s:f(size=ARG1)", object);
	if (probe_set__add(&set, spec))
		return false;
	is = probe__matches(set.v.v[0], path);
	probe_set__free(&set);
	return is;
}

static void objects(void)
{
	CHECK(names("*", "/usr/bin/x"));
	CHECK(names("x", "/usr/bin/x"));
	CHECK(names("x", "x"));
	CHECK(!names("x", "/usr/bin/xy"));
	CHECK(!names("x", "/x/y"));
	CHECK(names("/usr/bin/x", "/usr/bin/x"));
	CHECK(!names("/bin/x", "/usr/bin/x"));
	CHECK(names("libx", "/lib/libx.so"));
	CHECK(names("libx", "/lib/libx.so.1.2"));
	CHECK(!names("libx", "/lib/libxy.so.1"));
	CHECK(names("libx.so", "/lib/libx.so.1"));
	CHECK(names("libx.so.1", "/lib/libx.so.1.2.3"));
	CHECK(!names("libx.so.1", "/lib/libx.so.12"));
	CHECK(names("python3*", "/usr/bin/python3.11"));
}

/* ---- places ---- */

#define PROGRAM "build/tests/workload/own_pool"

static void read_program(struct site_file *f, struct probe_set *set)
{
	struct elf_image img;
	int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	*f = (struct site_file){};
	CHECK(fd >= 0);
	if (fd < 0 || elf_image__open(&img, fd))
		return;
	CHECK_EQ(site_file__read(f, &img, "/x/own_pool", set), 0);
	elf_image__close(&img);
	close(fd);
}

static void places(void)
{
	struct probe_set set = {};
	struct site_file f;
	char why[256];
	size_t at = 0;

	probe_set__add(&set, "own_pool:pool_alloc(size=ARG2)");
	probe_set__add(&set, "own_pool:pool_node(size=48)");
	probe_set__add(&set, "own_pool:free=pool_free(ptr=ARG2)");
	probe_set__add(&set, "own_pool:pool_aloc(size=ARG2)");
	probe_set__add(&set, "/bin/own_pool:pool_get(size=ARG3)");
	probe_set__add(&set, "own_pool:0x7fffffff(size=8)");
	set.only = true;
	probe_set__finish(&set);
	read_program(&f, &set);
	CHECK_EQ(f.sites.cnt, 3);
	CHECK_EQ(f.skipped.cnt, 1); /* the offset is no code */
	for (size_t i = 0; i < f.sites.cnt; i++)
		CHECK_EQ(f.sites.v[i].row->layer, 1);
	for (size_t i = 0; i < f.ranges.cnt; i++)
		CHECK_EQ(f.ranges.v[i].layer, 1);
	CHECK(f.ranges.cnt > 0);
	CHECK(!strcmp(probe_set__missed(&set, &at, why, sizeof(why)),
		      "own_pool:pool_aloc(size=ARG2)"));
	CHECK(strstr(why, "it has 'pool_alloc'"));
	CHECK(strstr(probe_set__missed(&set, &at, why, sizeof(why)), "pool_get"));
	CHECK(strstr(why, "no file '/bin/own_pool' was mapped"));
	CHECK(strstr(probe_set__missed(&set, &at, why, sizeof(why)), "0x7fffffff"));
	CHECK(!probe_set__missed(&set, &at, why, sizeof(why)));
	site_file__free(&f);
	probe_set__free(&set);
}

int main(void)
{
	texts();
	wrong_texts();
	hostile_texts();
	followed();
	layers();
	presets();
	objects();
	places();
	return check__done();
}
