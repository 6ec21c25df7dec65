/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is written for valgrind's readers, beside golden files and read again: DHAT's JSON by
 * jansson, massif's tree line by line. Totals must be the profile's, no stack may come twice, and
 * parents must be the sums of their children.
 */
#include <errno.h>
#include <jansson.h>

#include "live_profile.h"
#include "written.h"

static struct allocsnoop_profile *hostile_live_profile(void)
{
	struct allocsnoop_profile *p = hostile_profile();

	p->info.mode = "live";
	p->info.target = "every\x1b process\ncmd: evil # \"q\" \xff";
	for (size_t i = 0; i < p->samples.cnt; i++) {
		struct allocsnoop_sample *s = &p->samples.v[i];

		s->live_count = s->peak_count = i % 2 ? s->alloc_count : 0;
		s->live_bytes = s->peak_bytes = i % 2 ? s->alloc_bytes : 0;
		s->live_mean_ns = i % 2 ? 1e300 : 0;
	}
	p->processes.v[1].peak_bytes = 4096;
	p->processes.v[1].peak_ns = 2000000000;
	profile__finish(p);
	return p;
}

/* Points of the course, some of which a hostile file would have. */
static struct allocsnoop_profile *course_profile(void)
{
	static const u64 seconds[] = { 1, 5, 7, 3, 30, 120, 999 };
	struct allocsnoop_profile *p = live_profile();

	p->info.duration_ns += 999999; /* the last profile's point is of the same millisecond */

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
		must(vec__push(&p->points,
			       ((struct allocsnoop_point){ .time_ns = seconds[i] * 1000000000,
							   .live_bytes = seconds[i] * MIB })));
	return p;
}

static struct written check_written(const struct allocsnoop_profile *p, const struct writer *w,
				    enum allocsnoop_by by, const char *golden)
{
	struct written r = write_profile(p, w, (struct allocsnoop_report_opts){ .by = by });

	CHECK_EQ(r.err, 0);
	for (size_t i = 0; i < r.size; i++)
		CHECK(r.text[i] == '\n' || ((u8)r.text[i] >= 0x20 && r.text[i] != 0x7f));
	if (golden)
		check_golden_file(golden, &r);
	return r;
}

/* ---- DHAT ---- */

/* Some numbers are beyond what jansson takes for whole ones. */
static double number(const json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member));
}

static double sum_of(const json_t *points, const char *member)
{
	const json_t *one;
	double sum = 0;
	size_t i;

	json_array_foreach(points, i, one) sum += number(one, member);
	return sum;
}

/* To the byte, up to where the reader's numbers have no bytes any more. */
static void check_sum(const json_t *points, const char *member, u64 want)
{
	double is = sum_of(points, member), error = want < 1ull << 53 ? 0 : 1e-12 * (double)want;

	CHECK(is >= (double)want - error && is <= (double)want + error);
}

/* dh_view.html stops at a list that it has seen, and at a frame that isn't there. */
static void check_lists(const json_t *points, const json_t *table)
{
	json_t *seen = json_object(), *one, *id;
	size_t i, k;

	json_array_foreach(points, i, one)
	{
		char *text = json_dumps(json_object_get(one, "fs"), JSON_COMPACT);

		CHECK(text && !json_object_get(seen, text));
		json_object_set_new(seen, text, json_true());
		free(text);
		CHECK(json_array_size(json_object_get(one, "fs")) > 0);
		json_array_foreach(json_object_get(one, "fs"), k, id)
			CHECK(json_number_value(id) > 0 &&
			      json_number_value(id) < (double)json_array_size(table));
	}
	json_decref(seen);
}

static json_t *check_dhat(const struct allocsnoop_profile *p, enum allocsnoop_by by,
			  const char *golden)
{
	struct written r = check_written(p, &writer_dhat, by, golden);
	json_t *all = json_loads(r.text, JSON_DECODE_INT_AS_REAL, NULL),
	       *points = json_object_get(all, "pps");
	u64 peak = 0;

	CHECK(json_is_object(all));
	for (size_t i = 0; i < p->samples.cnt; i++)
		peak += p->samples.v[i].peak_bytes;
	check_sum(points, "tb", p->info.alloc_bytes);
	check_sum(points, "tbk", p->info.alloc_count);
	check_sum(points, "eb", p->info.live_bytes);
	check_sum(points, "ebk", p->info.live_count);
	check_sum(points, "gb", peak);
	CHECK_STR(json_string_value(json_array_get(json_object_get(all, "ftbl"), 0)), "[root]");
	check_lists(points, json_object_get(all, "ftbl"));
	free(r.text);
	return all;
}

static void test_dhat(void)
{
	static const enum allocsnoop_by keys[] = { ALLOCSNOOP_BY_STACK, ALLOCSNOOP_BY_FUNCTION,
						   ALLOCSNOOP_BY_FILE, ALLOCSNOOP_BY_PROCESS,
						   ALLOCSNOOP_BY_SIZE };
	struct allocsnoop_profile *p = live_profile();
	json_t *all;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_decref(check_dhat(p, keys[i], i ? NULL : "live.dhat.json"));
	all = check_dhat(p, ALLOCSNOOP_BY_STACK, NULL);
	/* 3000 blocks of 40 s, 1000 of 80 s, 1000 of 5 us that were freed. */
	CHECK_EQ(number(json_array_get(json_object_get(all, "pps"), 0), "tl"),
		 (3000 * 40 + 1000 * 80) * 1000000ull + 1000 * 5);
	CHECK_EQ(number(all, "te"), 120000000);
	CHECK_EQ(number(all, "tg"), 7300000);
	json_decref(all);
	profile__free(p);
	p = hostile_live_profile();
	json_decref(check_dhat(p, ALLOCSNOOP_BY_STACK, "hostile.dhat.json"));
	profile__free(p);
	p = sampled_live_profile();
	all = check_dhat(p, ALLOCSNOOP_BY_STACK, "live_sampled.dhat.json");
	CHECK_EQ(number(all, "tg"), 0);
	json_decref(all);
	profile__free(p);
}

/* ---- massif ---- */

struct tree {
	char *line; /* the next one; NULL at the end */
	size_t nodes;
};

static char *next_line(struct tree *t)
{
	char *line = t->line;

	t->line = strtok(NULL, "\n");
	return line;
}

/* A node and what is below it; its bytes. */
static u64 read_node(struct tree *t, size_t depth)
{
	char *line = next_line(t);
	unsigned long long children, bytes, sum = 0;
	int at = 0;

	CHECK_EQ(strspn(line, " "), depth);
	CHECK_EQ(sscanf(line + depth, "n%llu: %llu %n", &children, &bytes, &at), 2);
	CHECK(at && line[depth + at]); /* a name */
	t->nodes++;
	for (unsigned long long i = 0; i < children && t->line; i++)
		sum += read_node(t, depth + 1);
	if (children)
		CHECK_EQ(sum, bytes);
	return bytes;
}

struct course {
	unsigned long long at_ms, bytes, last_ms, snapshots, peak, end;
};

static void read_snapshots(struct tree *t, struct course *c)
{
	char kind[16];

	for (char *line; (line = next_line(t));) {
		if (sscanf(line, "time=%llu", &c->at_ms) == 1) {
			CHECK(c->at_ms >= c->last_ms);
			c->last_ms = c->at_ms;
			c->snapshots++;
		}
		sscanf(line, "mem_heap_B=%llu", &c->bytes);
		if (sscanf(line, "heap_tree=%15s", kind) != 1 || !strcmp(kind, "empty"))
			continue;
		CHECK_EQ(read_node(t, 0), c->bytes);
		*(strcmp(kind, "peak") ? &c->end : &c->peak) = c->bytes;
	}
}

static struct course check_massif(const struct allocsnoop_profile *p, const char *golden)
{
	struct written r = check_written(p, &writer_massif, ALLOCSNOOP_BY_STACK, golden);
	struct tree t = { .line = strtok(r.text, "\n") };
	struct course c = {};
	u64 peak = 0;

	read_snapshots(&t, &c);
	for (size_t i = 0; i < p->samples.cnt; i++)
		peak += p->samples.v[i].peak_bytes;
	CHECK_EQ(c.peak, peak);
	CHECK_EQ(c.end, p->info.live_bytes);
	CHECK_EQ(c.last_ms, p->info.duration_ns / 1000000);
	free(r.text);
	return c;
}

static void test_massif(void)
{
	struct allocsnoop_profile *p = live_profile();

	CHECK_EQ(check_massif(p, "live.massif").snapshots, 3);
	profile__free(p);
	p = course_profile(); /* of seven points one goes back, two are too late */
	CHECK_EQ(check_massif(p, "course.massif").snapshots, 7);
	profile__free(p);
	p = hostile_live_profile();
	check_massif(p, "hostile.massif");
	profile__free(p);
	p = sampled_live_profile();
	CHECK_EQ(check_massif(p, "live_sampled.massif").snapshots, 2);
	profile__free(p);
	p = profile__new();
	p->info.mode = "live";
	CHECK_EQ(check_massif(p, "empty.massif").snapshots, 2);
	profile__free(p);
}

/* Stacks that end where others go on, one that is deeper than perl likes, and crumbs. */
static void test_massif_shapes(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1), *deep[301];
	const struct allocsnoop_frame *a = frame(p, "closure#0", "/opt/prog", 2),
				      *b = frame(p, "b", "/opt/prog", 3);

	for (size_t i = 0; i < 300; i++)
		deep[i] = i ? frame(p, "deep", "/opt/prog", 100 + i % 150) : m;
	deep[300] = NULL;
	p->info.mode = "live";
	add_row(p, 1, "p", 1, 1, 50000, FRAMES(m, a));
	add_row(p, 1, "p", 2, 1, 40000, FRAMES(m, a, b));
	add_row(p, 1, "p", 3, 1, 30000, FRAMES(m, a, b, a));
	add_row(p, 1, "p", 4, 1, 20000, deep);
	add_row(p, 1, "p", 5, 1, 77, FRAMES(m, b));
	add_row(p, 1, "p", 6, 1, 7, FRAMES(m, b, a));
	add_row(p, 1, "p", 7, 1, 5, FRAMES(m, deep[7]));
	for (size_t i = 0; i < p->samples.cnt; i++) {
		p->samples.v[i].live_count = 1;
		p->samples.v[i].live_bytes = p->samples.v[i].alloc_bytes;
	}
	profile__finish(p);
	check_massif(p, "shapes.massif");
	profile__free(p);
}

/* A view can leave out the allocator's own frame: what is first then isn't. */
static void test_hidden_allocator(void)
{
	struct allocsnoop_profile *p = profile__new();
	struct written r;

	add_row(p, 1, "p", 1, 1, 10, FRAMES(frame(p, "the_caller", "/opt/prog", 3)));
	add_row(p, 1, "p", 2, 1, 10,
		FRAMES(frame(p, "the_caller", "/opt/prog", 3), frame(p, "main", "/opt/prog", 4)));
	for (size_t i = 0; i < p->samples.cnt; i++) {
		p->samples.v[i].live_count = 1;
		p->samples.v[i].live_bytes = 10;
	}
	p->info.mode = "live";
	profile__finish(p);
	r = check_written(p, &writer_massif, ALLOCSNOOP_BY_STACK, NULL);
	CHECK(strstr(r.text, " n2: 20 0x3: the_caller (in /opt/prog)\n"));
	free(r.text);
	profile__free(p);
}

static void test_refusals(void)
{
	static const struct writer *const both[] = { &writer_dhat, &writer_massif };
	struct allocsnoop_profile *p = hostile_profile();

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct written r = write_profile(p, both[i], (struct allocsnoop_report_opts){});

		CHECK_EQ(r.err, -ENOTSUP);
		CHECK_EQ(r.size, 0);
		CHECK(strstr(err__msg(), "frees were not followed"));
		CHECK_STR(err__hint_msg(), "record with --live");
		free(r.text);
		p->info.diff = true;
		r = write_profile(p, both[i], (struct allocsnoop_report_opts){});
		CHECK_EQ(r.err, -ENOTSUP);
		CHECK(strstr(err__msg(), "differences"));
		p->info.diff = false;
		free(r.text);
	}
	profile__free(p);
}

int main(void)
{
	test_dhat();
	test_massif();
	test_massif_shapes();
	test_hidden_allocator();
	test_refusals();
	return check__done();
}
