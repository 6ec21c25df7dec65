/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heap profiles of others, and files that are none: each is read for what it says or refused with
 * one line; damage of any kind never does worse.
 */
#include <errno.h>
#include <math.h>

#include "live_profile.h"
#include "pprof/gz.h"
#include "pprof_help.h"

#define R 524288

static void check_refused(const struct made *m, const char *words)
{
	struct allocsnoop_profile *p = made__read(m);

	CHECK(!p);
	if (!p && !strstr(err__msg(), words)) {
		check_failures++;
		fprintf(stderr, "'%s' doesn't say '%s'\n", err__msg(), words);
	}
	profile__free(p);
}

/* ---- others' ---- */

static void period_of_bytes(struct made *m, s64 period)
{
	pb__value_type__init(&m->period_type);
	m->period_type.type = made__string(m, "space");
	m->period_type.unit = made__string(m, "bytes");
	m->m.period_type = &m->period_type;
	m->m.period = period;
}

static void make_go(struct made *m)
{
	made__init(m);
	made__type(m, "alloc_objects", "count");
	made__type(m, "alloc_space", "bytes");
	made__type(m, "inuse_objects", "count");
	made__type(m, "inuse_space", "bytes");
	period_of_bytes(m, R);
	m->m.time_nanos = 1790000000000000000;
	made__mapping(m, "/opt/prog", 0x400000, 0x500000, 0);
	made__location(m, 1, 1, 0x401000, "main.alloc", 12);
	made__location(m, 2, 1, 0x402000, "main.inner", 20);
	made__location(m, 2, 1, 0x402000, "main.main", 30);
	made__sample(m, VALUES(1582, 1582 * R, 316, 316 * R), IDS(1, 2));
	made__label(m, "bytes", NULL, R);
	made__sample(m, VALUES(10, 10 * 64 * R, 0, 0), IDS(2));
	made__label(m, "bytes", NULL, 64 * R);
}

static void test_go(void)
{
	const double p1 = 1 - exp(-1);
	struct allocsnoop_profile *p;
	struct allocsnoop_sample *s;
	struct made m;

	make_go(&m);
	p = made__read(&m);
	if (!p)
		abort();
	CHECK_STR(p->info.mode, "live");
	CHECK_STR(p->info.target, "prog");
	CHECK(!p->info.exact && p->info.sampling == ALLOCSNOOP_BYTES);
	CHECK(p->info.sampling_value == R && p->info.started_ns == 1790000000000000000);
	CHECK_EQ(p->info.alloc_bytes, 1582ll * R + 640ll * R);
	CHECK_EQ(p->info.live_count, 316);
	CHECK_EQ(p->losses.cnt, 0);
	CHECK_EQ(p->samples.cnt, 2);
	s = &p->samples.v[0];
	CHECK_EQ(s->frame_cnt, 4);
	CHECK_STR(s->frames[0]->function, "[allocator]");
	CHECK_STR(s->frames[1]->function, "main.alloc");
	CHECK_STR(s->frames[1]->module, "/opt/prog");
	CHECK_EQ(s->frames[1]->offset, 0x1000);
	CHECK_EQ(s->frames[1]->line, 12);
	CHECK(!s->frames[1]->inlined && s->frames[2]->inlined && !s->frames[3]->inlined);
	CHECK_EQ(s->sampled_count, 1000); /* 1582 * (1 - 1/e) */
	CHECK_EQ(s->freed_count, 1582 - 316);
	CHECK_EQ(s->size_low, R);
	CHECK(fabs(s->alloc_count_var - 1582 * (1 - p1) / p1) < 1e-6);
	CHECK(fabs(s->live_bytes_var / (316 * (1 - p1) / p1 * R * R) - 1) < 1e-9);
	CHECK(s->stack_id && s->stack_id != p->samples.v[1].stack_id);
	/* So large that each is kept. */
	CHECK(p->samples.v[1].alloc_bytes_var < 1 && p->samples.v[1].sampled_count == 10);
	CHECK_EQ(p->processes.cnt, 1);
	CHECK_EQ(p->processes.v[0].alloc_bytes, p->info.alloc_bytes);
	CHECK_STR(p->processes.v[0].exe, "/opt/prog");
	CHECK(fabs(p->processes.v[0].alloc_count_se - p->info.alloc_count_se) < 1e-6);
	profile__free(p);
}

/* What the mean size gives is better than no errors at all. */
static void test_without_sizes(void)
{
	struct allocsnoop_profile *p;
	struct made m;

	make_go(&m);
	m.samples[0].n_label = 0;
	p = made__read(&m);
	CHECK(p && p->samples.v[0].size_low == R && p->samples.v[0].sampled_count == 1000);
	profile__free(p);
}

/* What others don't tell isn't told as 0. */
static void test_go_text(void)
{
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts), .value = ALLOCSNOOP_LIVE_BYTES };
	struct allocsnoop_profile *p;
	char *text = NULL;
	struct made m;
	size_t size;
	FILE *out;

	make_go(&m);
	period_of_bytes(&m, 1);
	p = made__read(&m);
	if (!p)
		abort();
	p->info.events = 0;
	out = open_memstream(&text, &size);
	CHECK_EQ(allocsnoop_profile__write(p, &opts, out), 0);
	fclose(out);
	CHECK(!strstr(text, " 0 ns") && !strstr(text, "\nevents ") && !strstr(text, "peak  0 B"));
	CHECK(strstr(text, "prog (1 process)\n") && !strstr(text, "(1 processes)"));
	free(text);
	profile__free(p);
}

/* Nobody knows how sure these are. */
static void test_unknown_text(void)
{
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts) };
	struct allocsnoop_profile *p;
	char *text = NULL;
	struct made m;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	made__init(&m);
	made__type(&m, "alloc_space", "bytes");
	made__location(&m, 1, 0, 1, "main", 0);
	made__sample(&m, VALUES(100), IDS(1));
	p = made__read(&m);
	if (!p)
		abort();
	CHECK_EQ(allocsnoop_profile__write(p, &opts, out), 0);
	fclose(out);
	CHECK(strstr(text, "exact or sampled: not known\n") && !strstr(text, "Horvitz"));
	CHECK(!strstr(text, "± 0"));
	free(text);
	opts.format = "svg";
	out = open_memstream(&text, &size);
	CHECK_EQ(allocsnoop_profile__write(p, &opts, out), 0);
	fclose(out);
	CHECK(strstr(text, "exact or sampled: not known<"));
	free(text);
	profile__free(p);
}

/* Of bytes alone the error is the greatest that it can be. */
static void test_bytes_only(void)
{
	struct allocsnoop_profile *p;
	struct made m;

	made__init(&m);
	made__type(&m, "inuse_space", "bytes");
	period_of_bytes(&m, R);
	made__location(&m, 1, 0, 1, "main", 0);
	made__sample(&m, VALUES(100 * R), IDS(1));
	p = made__read(&m);
	CHECK(p && p->samples.v[0].sampled_count == 100);
	CHECK(p && fabs(p->info.live_bytes_se - 10.0 * R) < 1);
	profile__free(p);
}

/* A period of something else says nothing. */
static void test_period_type(void)
{
	struct allocsnoop_profile *p;
	struct made m;

	make_go(&m);
	m.m.period = 1;
	m.period_type.type = made__string(&m, "heap");
	p = made__read(&m);
	CHECK(p && !p->info.exact && p->info.sampling == ALLOCSNOOP_ALL);
	CHECK(p && p->losses.cnt == 1 && p->samples.v[0].alloc_bytes_var == 0);
	profile__free(p);

	/* Nor does one of nothing at all. */
	make_go(&m);
	m.m.period_type = NULL;
	p = made__read(&m);
	CHECK(p && !p->info.exact && p->info.sampling == ALLOCSNOOP_ALL);
	CHECK(p && p->losses.cnt == 1 && p->samples.v[0].alloc_bytes_var == 0);
	profile__free(p);
}

static struct allocsnoop_profile *read_types(const char *count, const char *bytes, s64 period)
{
	struct made m;

	made__init(&m);
	made__type(&m, count, "count");
	made__type(&m, bytes, "bytes");
	period_of_bytes(&m, period);
	made__location(&m, 7, 0, 0x1234, "main", 0);
	made__sample(&m, VALUES(3, 300), IDS(7));
	return made__read(&m);
}

static void test_types(void)
{
	static const struct {
		const char *count, *bytes;
		bool live;
	} rows[] = {
		{ "alloc_objects", "alloc_space", false },
		{ "inuse_objects", "inuse_space", true },
		{ "objects", "space", true },
		{ "odd", "alloc-space", false },
		{ "allocs", "size", false },
		{ "Unreleased malloc count", "Unreleased malloc size", true },
		{ "odd", "inuse_space", true },
		{ "alloc_objects", "odd", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct allocsnoop_profile *p = read_types(rows[i].count, rows[i].bytes, 1);
		bool no_count = !strcmp(rows[i].count, "odd"),
		     no_bytes = !strcmp(rows[i].bytes, "odd");

		if (!p)
			abort();
		CHECK(p->info.exact);
		CHECK_STR(p->info.mode, rows[i].live ? "live" : "alloc");
		CHECK_EQ(p->info.alloc_count, no_count ? 0 : 3);
		CHECK_EQ(p->info.alloc_bytes, no_bytes ? 0 : 300);
		CHECK_EQ(p->info.live_bytes, rows[i].live ? 300 : 0);
		CHECK_EQ(p->info.freed_bytes, 0);
		CHECK_EQ(p->losses.cnt, rows[i].live);
		CHECK(!rows[i].live || !strcmp(p->losses.v[0].name, "freed_unknown"));
		profile__free(p);
	}
}

static void test_unknown_sampling(void)
{
	struct allocsnoop_profile *p = read_types("alloc_objects", "alloc_space", 0);

	CHECK(p && !p->info.exact && p->info.sampling == ALLOCSNOOP_ALL);
	CHECK(p && p->losses.cnt == 1 && !strcmp(p->losses.v[0].name, "sampling_unknown"));
	profile__free(p);
}

static void test_places(void)
{
	struct allocsnoop_profile *p;
	const struct allocsnoop_sample *s;
	struct made m;

	make_go(&m);
	made__mapping(&m, "/usr/lib/libx.so", 0x7f0000000000, 0x7f0000100000, 0x2000)->build_id =
		made__string(&m, "c0ffee");
	made__location(&m, 3, 2, 0x7f0000000123, NULL, 0);
	made__location(&m, 4, 0, 0xabc, NULL, 0);
	made__location(&m, 5, 0, 0xdef, "", 0);
	made__location(&m, 6, 2, 0x10, NULL, 0); /* not in its mapping */
	made__sample(&m, VALUES(1, 2, 0, 0), IDS(3, 4, 5, 6));
	p = made__read(&m);
	if (!p)
		abort();
	s = &p->samples.v[2];
	CHECK_STR(s->frames[1]->function, "libx.so+0x2123");
	CHECK_STR(s->frames[1]->build_id, "c0ffee");
	CHECK_EQ(s->frames[1]->offset, 0x2123);
	CHECK_STR(s->frames[2]->function, "0xabc");
	CHECK_STR(s->frames[2]->module, "");
	CHECK_STR(s->frames[3]->function, "0xdef");
	CHECK_STR(s->frames[4]->function, "libx.so+0x10");
	profile__free(p);
}

static void test_labels(void)
{
	struct allocsnoop_profile *p;
	struct made m;

	make_go(&m);
	made__sample(&m, VALUES(1, 100, 1, 100), IDS(1));
	made__label(&m, "pid", "12", 0);
	made__label(&m, "comm", "serv\x1b[31mer", 0);
	made__label(&m, "thread", "worker", 0);
	made__label(&m, "tid", NULL, 13);
	made__label(&m, "type", "node", 0);
	made__label(&m, "cgroup", "/a", 0);
	made__label(&m, "unknown", "x", 0);
	made__sample(&m, VALUES(2, 200, 1, 100), IDS(1));
	made__label(&m, "pid", NULL, -1);
	made__label(&m, "tid", "99999999999", 0);
	made__label(&m, "allocator", "pool_get", 0);
	made__label(&m, "size_class", "64-127", 0);
	made__sample(&m, VALUES(2, 200, 1, 100), IDS(1));
	made__label(&m, "size_class", "64-18446744073709551616", 0);
	p = made__read(&m);
	if (!p)
		abort();
	CHECK_EQ(p->samples.v[2].pid, 12);
	CHECK_EQ(p->samples.v[2].tid, 13);
	CHECK_STR(p->samples.v[2].comm, "serv\xef\xbf\xbd[31mer");
	CHECK_STR(p->samples.v[2].thread, "worker");
	CHECK_STR(p->samples.v[2].type, "node");
	CHECK_EQ(p->samples.v[3].pid, 0);
	CHECK_EQ(p->samples.v[3].tid, 0);
	CHECK(!p->samples.v[3].thread && !p->samples.v[3].type);
	CHECK_STR(p->samples.v[3].allocator, "pool_get");
	CHECK_STR(p->samples.v[3].frames[0]->function, "pool_get");
	CHECK(p->samples.v[3].size_low == 64 && p->samples.v[3].size_high == 127);
	CHECK(p->samples.v[4].size_low == 100 && p->samples.v[4].size_high == 100);
	CHECK_EQ(p->processes.cnt, 2);
	CHECK_STR(p->processes.v[1].cgroup, "/a");
	CHECK_EQ(p->processes.v[1].live_bytes, 100);
	profile__free(p);
}

/* Frame 0 is the function that the program called. */
static void test_allocators(void)
{
	static const struct {
		const char *leaf, *next;
		const char *allocator;
		size_t frame_cnt;
	} rows[] = {
		{ "malloc", "main", "malloc", 2 },
		{ "je_malloc_internal", "je_malloc", "je_malloc", 1 },
		{ "imalloc_body", "operator new(unsigned long)", "operator new(unsigned long)", 1 },
		{ "tc_newarray", "main", "tc_newarray", 2 },
		{ "operator new[]", "main", "operator new[]", 2 },
		{ "operator newer", "main", "[allocator]", 3 },
		{ "new", "main", "[allocator]", 3 },
		{ "mallocator", "main", "[allocator]", 3 },
		{ "app::malloc(int)", "main", "[allocator]", 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct allocsnoop_profile *p;
		struct made m;

		made__init(&m);
		made__type(&m, "space", "bytes");
		made__location(&m, 1, 0, 1, rows[i].leaf, 0);
		made__location(&m, 2, 0, 2, rows[i].next, 0);
		made__sample(&m, VALUES(1), IDS(1, 2));
		p = made__read(&m);
		if (!p)
			abort();
		CHECK_STR(p->samples.v[0].allocator, rows[i].allocator);
		CHECK_STR(p->samples.v[0].frames[0]->function, rows[i].allocator);
		CHECK_EQ(p->samples.v[0].frame_cnt, rows[i].frame_cnt);
		profile__free(p);
	}
}

/* Without names the file says where the allocator ends. */
static void test_allocator_file(void)
{
	struct allocsnoop_profile *p;
	const struct allocsnoop_sample *s;
	struct made m;

	make_go(&m);
	made__mapping(&m, "/usr/lib/libjemalloc.so.2", 0x7f0000000000, 0x7f0000100000, 0);
	made__location(&m, 3, 2, 0x7f0000000123, NULL, 0);
	made__location(&m, 4, 2, 0x7f0000000456, NULL, 0);
	made__sample(&m, VALUES(1, 100, 1, 100), IDS(3, 4, 1));
	made__sample(&m, VALUES(1, 100, 1, 100), IDS(3, 4, 1));
	made__label(&m, "allocator", "mallocx", 0); /* it's told: nothing is to be guessed */
	p = made__read(&m);
	if (!p)
		abort();
	s = &p->samples.v[2];
	CHECK_EQ(s->frame_cnt, 2);
	CHECK_STR(s->allocator, "libjemalloc.so.2+0x456");
	CHECK_STR(s->frames[1]->function, "main.alloc");
	CHECK_EQ(s[1].frame_cnt, 4);
	CHECK_STR(s[1].frames[0]->function, "mallocx");
	profile__free(p);
}

/* Sums of hostile sizes stand still at the end. */
static void test_huge(void)
{
	struct allocsnoop_profile *p;
	struct made m;

	make_go(&m);
	for (int i = 0; i < 3; i++)
		made__sample(&m, VALUES(INT64_MAX, INT64_MAX, INT64_MAX, 0), IDS(1));
	p = made__read(&m);
	CHECK(p && p->info.alloc_bytes == UINT64_MAX &&
	      p->processes.v[0].alloc_bytes == UINT64_MAX);
	profile__free(p);
}

/* ---- refused ---- */

static void test_references(void)
{
	struct made m;

	make_go(&m);
	made__sample(&m, VALUES(1, 1, 1, 1), IDS(1, 99));
	check_refused(&m, "sample 3 names location 99, which isn't there");
	make_go(&m);
	m.lines[1].function_id = 55;
	check_refused(&m, "location 2 names function 55, which isn't there");
	make_go(&m);
	m.locations[0].mapping_id = 9;
	check_refused(&m, "location 1 names mapping 9, which isn't there");
	make_go(&m);
	m.functions[0].name = 1000;
	check_refused(&m, "string 1000 of");
	make_go(&m);
	m.labels[0].key = -1;
	check_refused(&m, "string -1 of");
	make_go(&m);
	m.locations[1].id = 1;
	check_refused(&m, "location 1 is there twice");
	make_go(&m);
	m.functions[1].id = 1;
	check_refused(&m, "function 1 is there twice");
	make_go(&m);
	m.mappings[0].id = 0;
	check_refused(&m, "mapping 0 must not be");
	make_go(&m);
	m.samples[1].n_value = 3;
	check_refused(&m, "sample 2 has 3 values of 4");
}

static void test_no_heap_profile(void)
{
	struct made m;

	made__init(&m);
	made__type(&m, "samples", "count");
	made__type(&m, "cpu\n", "nanoseconds");
	check_refused(
		&m,
		"not a heap profile: its values are samples/count, cpu\xef\xbf\xbd/nanoseconds");
	made__init(&m);
	check_refused(&m, "says nothing of its values");
	made__init(&m);
	made__type(&m, "inuse_space", "kilobytes");
	check_refused(&m, "its 'inuse_space' is in 'kilobytes', not in bytes");
	make_go(&m);
	m.values[0][1] = -5;
	check_refused(&m, "sample 1 has a negative value");
	CHECK(*err__hint_msg());
	make_go(&m);
	m.strings[0] = "x";
	check_refused(&m, "first string isn't empty");
}

static void check_bytes_refused(const void *data, size_t size, const char *words)
{
	struct allocsnoop_profile *p = read_bytes(data, size);

	CHECK(!p);
	if (!p && !strstr(err__msg(), words)) {
		check_failures++;
		fprintf(stderr, "'%s' doesn't say '%s'\n", err__msg(), words);
	}
	profile__free(p);
}

static void test_no_profile(void)
{
	struct allocsnoop_profile *p = live_profile();
	struct bytes b = report_bytes(p, "pprof");
	const char text[] = "heap profile: 1: 2 [3: 4] @ heapprofile\n";

	check_bytes_refused("", 0, "it is empty");
	check_bytes_refused(text, sizeof(text) - 1, "not a pprof profile");
	check_bytes_refused("\x1f\x8b", 2, "cut short");
	check_bytes_refused(b.data, b.size - 1, "cut short");
	check_bytes_refused(b.data, b.size / 2, "cut short");
	b.data[b.size / 2] ^= 0x10;
	check_bytes_refused(b.data, b.size, "damaged");
	b.data[b.size / 2] ^= 0x10;
	b.data[b.size - 6] ^= 1; /* of the checksum */
	check_bytes_refused(b.data, b.size, "damaged");
	free(b.data);
	profile__free(p);
}

/* ---- gzip ---- */

static struct bytes gzip(const void *data, size_t size, size_t times)
{
	struct gz_out *g = malloc(sizeof(*g));
	struct bytes b = {};
	FILE *out = open_memstream(&b.data, &b.size);

	must(gz_out__open(g, out));
	for (size_t i = 0; i < times; i++)
		must(gz_out__write(g, data, size));
	must(gz_out__finish(g));
	gz_out__close(g);
	fclose(out);
	free(g);
	return b;
}

static void test_bomb(void)
{
	u8 *zeros = calloc(1, 1 << 20), *data = NULL;
	struct bytes b = gzip(zeros, 1 << 20, 64);
	size_t size = 0;
	FILE *in = fmemopen(b.data, b.size, "r");

	CHECK(b.size < 1 << 20);
	CHECK_EQ(gz__read(in, 8 << 20, &data, &size), -EFBIG);
	CHECK(strstr(err__msg(), "more than 8 MiB"));
	rewind(in);
	CHECK_EQ(gz__read(in, 64 << 20, &data, &size), 0);
	CHECK_EQ(size, 64 << 20);
	free(data);
	fclose(in);
	free(b.data);
	free(zeros);
}

/* Members one after the other are one text, as gzip has it; of any length, whatever the buffers. */
static void test_members(void)
{
	struct allocsnoop_profile *p;
	struct made m;
	struct bytes raw, parts[2];
	char *all;

	make_go(&m);
	raw = made__pack(&m);
	parts[0] = gzip(raw.data, 10, 1);
	parts[1] = gzip(raw.data + 10, raw.size - 10, 1);
	all = malloc(parts[0].size + parts[1].size + 4);
	memcpy(all, parts[0].data, parts[0].size);
	memcpy(all + parts[0].size, parts[1].data, parts[1].size);
	memcpy(all + parts[0].size + parts[1].size, "junk", 4);
	p = read_bytes(all, parts[0].size + parts[1].size);
	CHECK(p && p->samples.cnt == 2);
	profile__free(p);
	check_bytes_refused(all, parts[0].size + parts[1].size + 4, "damaged");
	free(all);
	free(raw.data);
	free(parts[0].data);
	free(parts[1].data);
}

static void test_large_message(void)
{
	size_t size = (1 << 20) + 100;
	char *big = calloc(1, size + 16);
	struct made m;
	struct bytes raw;
	char *all;

	make_go(&m);
	raw = made__pack(&m);
	all = malloc(raw.size + size + 16);
	memcpy(all, raw.data, raw.size);
	memcpy(all + raw.size, "\x12\xe4\x80\x40", 4); /* sample, 1 MiB + 100 */
	memcpy(all + raw.size + 4, big, size);
	check_bytes_refused(all, raw.size + 4 + size, "no message of its size");
	free(all);
	free(big);
	free(raw.data);
}

/* A location of many lines, named many times: a few bytes for each of very many frames. */
static void test_many_frames(void)
{
	static uint64_t ids[1000];
	static Pb__Line line = PB__LINE__INIT, *lines[1000];
	struct made m;

	make_go(&m);
	line.function_id = 1;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		lines[i] = &line;
		ids[i] = 1;
	}
	m.locations[0].line = lines;
	m.locations[0].n_line = ARRAY_SIZE(lines);
	m.samples[0].location_id = ids;
	m.samples[0].n_location_id = ARRAY_SIZE(ids);
	check_refused(&m, "sample 1 has more than 65536 frames");
}

/* ---- damage ---- */

static void damage(const struct bytes *b)
{
	char *copy = malloc(b->size);

	for (size_t i = 0; i < b->size; i++) {
		static const char flips[] = { 1, 0x10, (char)0x80, (char)0xff };

		profile__free(read_bytes(b->data, i));
		for (size_t k = 0; k < sizeof(flips); k++) {
			memcpy(copy, b->data, b->size);
			copy[i] ^= flips[k];
			profile__free(read_bytes(copy, b->size));
		}
	}
	free(copy);
}

static void test_damage(void)
{
	struct allocsnoop_profile *p = sampled_live_profile();
	struct bytes b = report_bytes(p, "pprof"), raw = {};
	FILE *in = fmemopen(b.data, b.size, "r");
	struct made m;

	must(gz__read(in, 1 << 20, (u8 **)&raw.data, &raw.size));
	damage(&b);
	damage(&raw);
	free(raw.data);
	fclose(in);
	free(b.data);
	profile__free(p);
	make_go(&m);
	raw = made__pack(&m);
	damage(&raw);
	free(raw.data);
}

int main(void)
{
	test_go();
	test_without_sizes();
	test_bytes_only();
	test_go_text();
	test_unknown_text();
	test_period_type();
	test_types();
	test_unknown_sampling();
	test_places();
	test_labels();
	test_allocators();
	test_allocator_file();
	test_huge();
	test_references();
	test_no_heap_profile();
	test_no_profile();
	test_bomb();
	test_members();
	test_large_message();
	test_many_frames();
	test_damage();
	return check__done();
}
