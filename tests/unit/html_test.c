/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page's data, read by another JSON reader: sums of its rows are the profile's totals whatever
 * was pruned, and no name can leave its string. With a directory as its argument, this writes the
 * pages that a browser opens in tests/e2e/html.sh.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/err.h"
#include "check.h"
#include "comma_locale.h"
#include "page_profile.h"
#include "report/writer.h"

#define BEGIN "<script type=\"application/json\" id=\"profile\">"
#define END   "</script>"

#define MANY	   100000
#define PAGE_LIMIT (5 * 1000 * 1000)

struct page {
	char *text;
	size_t size;
	char *data; /* the JSON in it */
};

static struct page write_page(const struct allocsnoop_profile *p,
			      struct allocsnoop_report_opts opts)
{
	struct page page = { 0 };
	FILE *out = open_memstream(&page.text, &page.size);
	const char *from, *to;

	CHECK_EQ(writer_html.write(p, &opts, out), 0);
	fclose(out);
	from = strstr(page.text, BEGIN);
	if (!from)
		abort();
	from += strlen(BEGIN);
	to = strstr(from, END);
	if (!to)
		abort();
	page.data = strndup(from, to - from);
	return page;
}

static void page__free(struct page *page)
{
	free(page->text);
	free(page->data);
}

static json_t *read_data(const struct page *page)
{
	json_error_t err;
	json_t *data = json_loads(page->data, 0, &err);

	if (!data) {
		fprintf(stderr, "not JSON: %s at %d\n", err.text, err.position);
		abort();
	}
	return data;
}

static u64 sum_of(json_t *rows, const char *kind)
{
	u64 sum = 0;
	json_t *val;
	size_t i;

	json_array_foreach(json_object_get(rows, kind), i, val) sum += json_integer_value(val);
	return sum;
}

static u64 total_of(json_t *data, const char *kind)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(data, "totals"), kind));

	return text ? strtoull(text, NULL, 10) : 0;
}

static void check_sum(json_t *data, const char *kind, u64 should)
{
	json_t *tree;
	size_t i;

	json_array_foreach(json_object_get(data, "trees"), i, tree)
		CHECK_EQ(sum_of(json_object_get(tree, "rows"), kind), should);
	CHECK_EQ(total_of(data, kind), should);
}

static void check_sums(json_t *data, const struct allocsnoop_info *info)
{
	check_sum(data, "alloc_bytes", info->alloc_bytes);
	check_sum(data, "alloc_count", info->alloc_count);
	check_sum(data, "live_bytes", info->live_bytes);
	check_sum(data, "live_count", info->live_count);
	check_sum(data, "temporary_count", info->temporary_count);
}

/* Every node is one of what is before it and has a frame; rows are at nodes. */
static void check_tree(json_t *tree, json_int_t frame_cnt)
{
	json_t *nodes = json_object_get(tree, "nodes");
	json_t *places = json_object_get(json_object_get(tree, "rows"), "node");
	json_int_t node = 0, step;

	for (size_t i = 0; i < json_array_size(nodes); i += 2) {
		step = json_integer_value(json_array_get(nodes, i));
		CHECK(step >= 1 && step <= (json_int_t)i / 2 + 1);
		CHECK(json_integer_value(json_array_get(nodes, i + 1)) < frame_cnt);
	}
	for (size_t i = 0; i < json_array_size(places); i++)
		node += json_integer_value(json_array_get(places, i));
	CHECK(node <= (json_int_t)json_array_size(nodes) / 2);
}

static void check_numbers(json_t *data)
{
	json_t *frames = json_object_get(data, "frames"), *tree;
	json_int_t strings = json_array_size(json_object_get(data, "strings"));
	size_t i;

	for (i = 0; i < json_array_size(frames); i++) {
		if (i % 5 < 3)
			CHECK(json_integer_value(json_array_get(frames, i)) < strings);
	}
	json_array_foreach(json_object_get(data, "trees"), i, tree)
		check_tree(tree, json_array_size(frames) / 5);
	CHECK_EQ(i, 2);
}

static json_t *tree_of(json_t *data, size_t i)
{
	return json_array_get(json_object_get(data, "trees"), i);
}

static json_int_t pruned_of(json_t *tree)
{
	return json_integer_value(json_object_get(json_object_get(tree, "pruned"), "stacks"));
}

/* ---- the tests ---- */

static void test_live(void)
{
	struct allocsnoop_profile *p = live_profile();
	struct page page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	json_t *data = read_data(&page);

	check_sums(data, &p->info);
	check_numbers(data);
	CHECK_EQ(pruned_of(tree_of(data, 0)), 0);
	CHECK_EQ(pruned_of(tree_of(data, 1)), 0);
	CHECK_STR(json_string_value(json_object_get(data, "value")), "alloc_bytes");
	/* What grew, and not what it is less by what shrank. */
	check_sum(data, "grown_bytes", 120 * KIB);
	json_decref(data);
	page__free(&page);
	profile__free(p);
}

/* Deep recursion, as deep as stacks can be, and the same page each time. */
static struct allocsnoop_profile *deep_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *frames[1001] = { frame(p, "malloc", "/usr/lib/libc.so.6",
							      0) };

	for (u32 i = 1; i < 1000; i++)
		frames[i] = frame(p, i % 2 ? "even" : "odd", "/opt/prog", i);
	for (u32 i = 0; i < 200; i++) {
		frames[1000 - i] = NULL;
		add_row(p, 1, "deep", i + 1, 1 + i, 1000 + i, frames);
	}
	profile__finish(p);
	return p;
}

static void test_same(void)
{
	struct allocsnoop_profile *p = deep_profile(), *q = deep_profile();
	struct page a = write_page(p, (struct allocsnoop_report_opts){ 0 });
	struct page b = write_page(q, (struct allocsnoop_report_opts){ 0 });
	json_t *data = read_data(&a);

	CHECK_STR(a.data, b.data);
	check_sums(data, &p->info);
	json_decref(data);
	page__free(&a);
	page__free(&b);
	profile__free(p);
	profile__free(q);
}

static void test_views(void)
{
	struct allocsnoop_profile *p = live_profile();

	for (int by = ALLOCSNOOP_BY_STACK; by <= ALLOCSNOOP_BY_TYPE; by++) {
		struct page page =
			write_page(p, (struct allocsnoop_report_opts){
					      .by = by, .value = ALLOCSNOOP_LIVE_COUNT });
		json_t *data = read_data(&page);

		check_sums(data, &p->info);
		check_numbers(data);
		CHECK_STR(json_string_value(json_object_get(data, "value")), "live_count");
		json_decref(data);
		page__free(&page);
	}
	profile__free(p);
}

/* Names that would end the element, a comment or a line; numbers near the ends of 64 bits. */
static void test_hostile(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	struct page page;
	json_t *data;

	add_row(p, 1, "<!--<script>", 99, 1, 1,
		FRAMES(m,
		       frame(p,
			     "</script><img src=x onerror=alert(1)>-->\xe2\x80\xa8\xe2\x80\xa9]]>",
			     "</title>", 0)));
	page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(!strpbrk(page.data, "<>"));
	CHECK(!strstr(page.data, "\xe2\x80\xa8") && !strstr(page.data, "\xe2\x80\xa9"));
	data = json_loads(page.data, JSON_DECODE_INT_AS_REAL, NULL);
	CHECK(data != NULL);
	CHECK_STR(
		json_string_value(json_object_get(json_object_get(data, "totals"), "alloc_bytes")),
		"9223372036854786199");
	json_decref(data);
	page__free(&page);
	profile__free(p);
}

static u64 total_of_function(json_t *functions, json_t *strings, const char *name)
{
	json_t *names = json_object_get(functions, "names");

	for (size_t i = 0; i < json_array_size(names); i += 2) {
		size_t id = json_integer_value(json_array_get(names, i));

		if (!strcmp(json_string_value(json_array_get(strings, id)), name))
			return json_integer_value(json_array_get(
				json_object_get(functions, "total_alloc_bytes"), i / 2));
	}
	return 0;
}

/* More than a page can hold: the limits hold, and totals stay exact, those of functions too. */
static void test_many(void)
{
	struct allocsnoop_profile *p = many_stacks_profile(MANY);
	struct page page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	json_t *data = read_data(&page), *tree;
	size_t i;

	CHECK(page.size < PAGE_LIMIT);
	check_sums(data, &p->info);
	check_numbers(data);
	json_array_foreach(json_object_get(data, "trees"), i, tree)
	{
		json_t *below = json_object_get(json_object_get(tree, "pruned"), "below");

		CHECK(pruned_of(tree) > 0);
		CHECK_EQ(sum_of(json_object_get(tree, "rows"), "stacks"), pruned_of(tree));
		CHECK(json_number_value(below) > 0 && json_number_value(below) < 0.001);
	}
	CHECK_EQ(total_of_function(json_object_get(data, "functions"),
				   json_object_get(data, "strings"), "malloc"),
		 p->info.alloc_bytes);
	json_decref(data);
	page__free(&page);
	profile__free(p);
}

/* Allocated bytes at and below the nodes of a function; in a tree where it calls itself nowhere. */
static u64 total_of_nodes(json_t *data, json_t *tree, size_t name)
{
	json_t *nodes = json_object_get(tree, "nodes"), *rows = json_object_get(tree, "rows");
	json_t *places = json_object_get(rows, "node"), *frames = json_object_get(data, "frames");
	size_t cnt = json_array_size(nodes) / 2 + 1, node = 0;
	size_t *parent = calloc(cnt, sizeof(*parent));
	u64 sum = 0;

	for (size_t i = 1; i < cnt; i++)
		parent[i] = i - json_integer_value(json_array_get(nodes, 2 * i - 2));
	for (size_t i = 0; i < json_array_size(places); i++) {
		node += json_integer_value(json_array_get(places, i));
		for (size_t at = node; at; at = parent[at]) {
			size_t f = json_integer_value(json_array_get(nodes, 2 * at - 1));

			if ((size_t)json_integer_value(json_array_get(frames, 5 * f)) == name)
				sum += json_integer_value(
					json_array_get(json_object_get(rows, "alloc_bytes"), i));
		}
	}
	free(parent);
	return sum;
}

static size_t number_of_string(json_t *data, const char *name)
{
	json_t *val;
	size_t i;

	json_array_foreach(json_object_get(data, "strings"), i, val)
	{
		if (!strcmp(json_string_value(val), name))
			return i;
	}
	return SIZE_MAX;
}

/* A function whose stacks are all too small to be there is there itself, with all that it has. */
static void test_crowd(void)
{
	struct allocsnoop_profile *p = many_stacks_profile(60000);
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *crowd = frame(p, "crowd", "/opt/prog", 1);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/prog", 2);
	u64 each = p->info.alloc_bytes / 50 / 50000;
	struct page page;
	char name[32];
	json_t *data;

	for (u32 i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "f_%u", i);
		add_row(p, 1, "prog", 1 + i, 1, each,
			FRAMES(m, frame(p, name, "/opt/prog", 100 + i), crowd, root));
	}
	profile__finish(p);
	page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	data = read_data(&page);
	check_sums(data, &p->info);
	CHECK_EQ(total_of_nodes(data, tree_of(data, 0), number_of_string(data, "crowd")),
		 each * 50000);
	json_decref(data);
	page__free(&page);
	profile__free(p);
}

/* One name of a megabyte, and very many processes: it's still a page. */
static void test_long_names(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	char *name = malloc(1 << 20), comm[32];
	struct page page;
	json_t *data;

	memset(name, '<', 1 << 20);
	name[(1 << 20) - 1] = '\0';
	add_row(p, 1, name, 5000, 7, 7000, FRAMES(m, frame(p, name, name, 1)));
	name[4000] = '\0';
	for (u32 i = 0; i < 3000; i++) {
		snprintf(name, 16, "%u", i);
		name[strlen(name)] = '<';
		snprintf(comm, sizeof(comm), "process-%u", i);
		add_row(p, 1 + i, comm, i + 1, 1, 1000 - i % 100,
			FRAMES(m, frame(p, name, "/opt/prog", i)));
		add_process(p, 1 + i, comm, name)->alloc_bytes = 1000 - i % 100;
	}
	profile__finish(p);
	page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(page.size < PAGE_LIMIT);
	data = read_data(&page);
	check_sums(data, &p->info);
	json_decref(data);
	page__free(&page);
	free(name);
	profile__free(p);
}

static void test_empty(void)
{
	struct allocsnoop_profile *p = profile__new();
	struct page page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	json_t *data = read_data(&page);

	check_sums(data, &p->info);
	json_decref(data);
	page__free(&page);
	profile__free(p);
}

static void check_sampled(void)
{
	struct allocsnoop_profile *p = sampled_profile();
	struct page page = write_page(p, (struct allocsnoop_report_opts){ 0 });
	json_t *data = read_data(&page), *rows = json_object_get(tree_of(data, 0), "rows");
	double var = 0;
	json_t *val;
	size_t i;

	json_array_foreach(json_object_get(rows, "alloc_bytes_var"), i, val) var +=
		json_number_value(val);
	CHECK(fabs(sqrt(var) / p->info.alloc_bytes_se - 1) < 1e-4);
	json_decref(data);
	page__free(&page);
	profile__free(p);
}

/* Numbers have points, whatever the program's locale. */
static void test_locale(void)
{
	char dir[] = "/tmp/allocsnoop-locale-XXXXXX", command[64];

	if (!mkdtemp(dir))
		abort();
	check_sampled();
	if (set_comma_locale(dir))
		check_sampled();
	else
		puts("no locale de_DE.UTF-8: the page under a decimal comma not checked");
	setlocale(LC_ALL, "C");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_EQ(system(command), 0);
}

static void test_full_disk(void)
{
	struct allocsnoop_profile *p = many_stacks_profile(1000);
	struct allocsnoop_report_opts opts = { 0 };
	FILE *out = fopen("/dev/full", "w");

	CHECK_EQ(writer_html.write(p, &opts, out), -ENOSPC);
	CHECK(strstr(err__msg(), "cannot write the report: No space left"));
	fclose(out);
	profile__free(p);
}

/* ---- pages for a browser ---- */

static int save(const char *dir, const char *name, struct allocsnoop_profile *p)
{
	struct allocsnoop_report_opts opts = { 0 };
	char path[512];
	FILE *out;
	int err;

	snprintf(path, sizeof(path), "%s/%s.html", dir, name);
	out = fopen(path, "w");
	if (!out)
		return 1;
	err = writer_html.write(p, &opts, out);
	fclose(out);
	profile__free(p);
	return err ? 1 : 0;
}

static int save_all(const char *dir)
{
	struct allocsnoop_profile *hostile = hostile_profile(), *sampled = sampled_profile();
	struct allocsnoop_profile *bounds = sampled_profile();
	const struct allocsnoop_frame *m = frame(hostile, "malloc", "/usr/lib/libc.so.6", 0x97360);

	add_row(hostile, 1, "<b id=bold>", 99, 1, TWO_63 / 2,
		FRAMES(m, frame(hostile, "</script><img src=x onerror=window.hurt=1>", "<i>", 0)));
	hostile->info.target = "</title><script>window.hurt=1</script>";
	profile__finish(hostile);
	add_course(sampled);
	bounds->info.budget_pct = 5;
	bounds->info.windows = 1;
	bounds->info.coverage = -1;
	bounds->info.at_least = bounds->samples.v[0].at_least = true;
	return save(dir, "hostile", hostile) || save(dir, "sampled", sampled) ||
	       save(dir, "few", sampled_live_profile()) || save(dir, "live", live_profile()) ||
	       save(dir, "difference", difference_profile()) || save(dir, "bounds", bounds) ||
	       save(dir, "deep", deep_profile()) || save(dir, "empty", profile__new()) ||
	       save(dir, "many", many_stacks_profile(MANY));
}

static int test_refusal(void)
{
	const struct writer *w;

	CHECK_EQ(writer__check("html", &w), -ENOTSUP);
	CHECK_STR(err__msg(), "this allocsnoop was built without npm");
	CHECK(strstr(err__hint_msg(), "make deps-html html"));
	return check__done();
}

int main(int argc, char **argv)
{
	if (writer_html.ready())
		return argc > 1 ? 77 : test_refusal();
	if (argc > 1)
		return save_all(argv[1]);
	test_live();
	test_same();
	test_views();
	test_hostile();
	test_many();
	test_crowd();
	test_long_names();
	test_empty();
	test_locale();
	test_full_disk();
	return check__done();
}
