/* SPDX-License-Identifier: BSD-2-Clause */
/* What changed between two profiles: which rows are the same, and that nothing is lost or doubled.
 */
#include <errno.h>
#include <math.h>

#include "base/err.h"
#include "check.h"
#include "live_profile.h"

static struct allocsnoop_profile *diff(const struct allocsnoop_profile *a,
				       const struct allocsnoop_profile *b)
{
	struct allocsnoop_profile *d = NULL;

	CHECK_EQ(allocsnoop_profile__diff(a, b, &d), 0);
	CHECK(d && d->info.diff);
	return d;
}

static const struct allocsnoop_sample *find(const struct allocsnoop_profile *p,
					    const char *function)
{
	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		for (size_t k = 0; k < s->frame_cnt; k++) {
			if (!strcmp(s->frames[k]->function, function))
				return s;
		}
	}
	return NULL;
}

/* A run of a program: elsewhere in memory and on disk, as another process, a bit different. */
struct run {
	const char *folder;
	u32 pid;
	u64 base; /* of addresses */
	u64 leak, work, old, now;
};

static struct allocsnoop_sample *add_site(struct allocsnoop_profile *p, const struct run *r,
					  const char *name, u64 bytes)
{
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	char path[64];
	struct allocsnoop_sample *s;

	snprintf(path, sizeof(path), "/opt/%s/prog", r->folder);
	s = add_row(p, r->pid, "prog", r->pid + bytes, bytes ? 10 : 0, bytes,
		    FRAMES(m, frame(p, name, path, r->base + strlen(name)),
			   frame(p, "[unknown]", "", r->base * 3),
			   frame(p, "main", path, r->base)));
	s->size_low = 16;
	s->size_high = 31;
	return s;
}

static struct allocsnoop_profile *run_profile(const struct run *r)
{
	struct allocsnoop_profile *p = profile__new();

	if (r->leak)
		add_site(p, r, "leak", r->leak);
	add_site(p, r, "work", r->work);
	if (r->old)
		add_site(p, r, "old", r->old);
	if (r->now)
		add_site(p, r, "now", r->now);
	add_process(p, r->pid, "prog", "/opt/prog");
	must(profile__add_loss(p, "late_attach", "late", r->pid));
	p->info.target = arena__intern(&p->arena, r->folder);
	p->info.duration_ns = r->pid * 1000;
	p->info.events = 20;
	profile__finish(p);
	return p;
}

static const struct run before = { "v1", 100, 0x1000, 100, 500, 70, 0 };
static const struct run later = { "v2", 200, 0x5000, 900, 500, 0, 30 };

static void test_rows(void)
{
	struct allocsnoop_profile *a = run_profile(&before), *b = run_profile(&later), *d;
	const struct allocsnoop_sample *s;

	d = diff(a, b);
	profile__free(a);
	profile__free(b);
	CHECK_EQ(d->samples.cnt, 4);
	s = find(d, "leak");
	CHECK(s && s->alloc_bytes == 900 && s->base_alloc_bytes == 100 && s->alloc_count == 10);
	CHECK(s && s->base_alloc_count == 10 && !s->pid && s->pid_cnt == 1);
	CHECK(s && !strcmp(s->frames[1]->module, "/opt/v2/prog"));
	s = find(d, "work");
	CHECK(s && s->alloc_bytes == 500 && s->base_alloc_bytes == 500);
	s = find(d, "old");
	CHECK(s && !s->alloc_bytes && s->base_alloc_bytes == 70 && s->pid_cnt == 1);
	s = find(d, "now");
	CHECK(s && s->alloc_bytes == 30 && !s->base_alloc_bytes);
	CHECK_EQ(d->info.alloc_bytes, 1430);
	CHECK_EQ(d->info.base_alloc_bytes, 670);
	CHECK_EQ(d->info.base_alloc_count, 30);
	CHECK_STR(d->info.target, "v2");
	CHECK_STR(d->info.base_target, "v1");
	CHECK_EQ(d->info.duration_ns, 200000);
	CHECK_EQ(d->info.base_duration_ns, 100000);
	CHECK(d->info.exact);
	CHECK_EQ(d->losses.v[0].count, 300);
	CHECK_EQ(d->processes.cnt, 1);
	CHECK_EQ(d->processes.v[0].pid, 200);
	profile__free(d);
}

static void test_order(void)
{
	static const char *const order[] = { "leak", "now", "work", "old" };
	struct allocsnoop_profile *a = run_profile(&before), *b = run_profile(&later);
	struct allocsnoop_profile *d = diff(a, b), *g;

	g = profile__group(d, ALLOCSNOOP_BY_STACK);
	profile__sort(g, ALLOCSNOOP_ALLOC_BYTES);
	CHECK_EQ(g->samples.cnt, 4);
	for (size_t i = 0; i < g->samples.cnt && i < ARRAY_SIZE(order); i++)
		CHECK_STR(g->samples.v[i].frames[1]->function, order[i]);
	CHECK_EQ(sample__change(&g->samples.v[0], ALLOCSNOOP_ALLOC_BYTES), 800);
	CHECK_EQ(sample__change(&g->samples.v[3], ALLOCSNOOP_ALLOC_BYTES), -70);
	CHECK_EQ(sample__change(&g->samples.v[3], ALLOCSNOOP_ALLOC_COUNT), -10);
	profile__free(g);
	profile__free(d);
	/* The other way round: what it was is what it is. */
	d = diff(b, a);
	CHECK_EQ(d->info.alloc_bytes, 670);
	CHECK_EQ(sample__change(find(d, "leak"), ALLOCSNOOP_ALLOC_BYTES), -800);
	profile__free(d);
	profile__free(a);
	profile__free(b);
}

static void test_saturates(void)
{
	struct allocsnoop_sample s = { .alloc_bytes = UINT64_MAX };

	CHECK_EQ(sample__change(&s, ALLOCSNOOP_ALLOC_BYTES), INT64_MAX);
	s.base_alloc_bytes = UINT64_MAX;
	CHECK_EQ(sample__change(&s, ALLOCSNOOP_ALLOC_BYTES), 0);
	s.alloc_bytes = 0;
	CHECK_EQ(sample__change(&s, ALLOCSNOOP_ALLOC_BYTES), INT64_MIN);
	s.base_alloc_bytes = 1ull << 63;
	CHECK_EQ(sample__change(&s, ALLOCSNOOP_ALLOC_BYTES), INT64_MIN);
}

static u64 changed_rows(const struct allocsnoop_profile *p)
{
	u64 cnt = 0;

	for (size_t i = 0; i < p->samples.cnt; i++)
		cnt += sample__change(&p->samples.v[i], ALLOCSNOOP_ALLOC_BYTES) != 0;
	return cnt;
}

/* A profile and itself: nothing changed, in no view. */
static void test_itself(void)
{
	struct allocsnoop_profile *ps[] = { hostile_profile(), live_profile(), sampled_profile(),
					    crowd_profile(false) };

	for (size_t i = 0; i < ARRAY_SIZE(ps); i++) {
		struct allocsnoop_profile *d = diff(ps[i], ps[i]);

		CHECK_EQ(d->info.alloc_bytes, ps[i]->info.alloc_bytes);
		CHECK_EQ(d->info.base_alloc_bytes, ps[i]->info.alloc_bytes);
		CHECK_EQ(d->info.base_live_count, ps[i]->info.live_count);
		CHECK_EQ(changed_rows(d), 0);
		for (int by = 0; by <= ALLOCSNOOP_BY_TYPE; by++) {
			struct allocsnoop_profile *g = profile__group(d, by);

			CHECK_EQ(changed_rows(g), 0);
			CHECK_EQ(g->info.alloc_bytes, ps[i]->info.alloc_bytes);
			profile__free(g);
		}
		profile__free(d);
		profile__free(ps[i]);
	}
}

/* A file that is no difference may say what one has. */
static void test_bases(void)
{
	struct allocsnoop_profile *p = live_profile(), *d;

	p->samples.v[0].base_alloc_bytes = p->samples.v[0].base_live_count = 8192;
	d = diff(p, p);
	CHECK_EQ(d->info.base_alloc_bytes, p->info.alloc_bytes);
	CHECK_EQ(d->info.base_live_count, p->info.live_count);
	CHECK_EQ(changed_rows(d), 0);
	profile__free(d);
	profile__free(p);
}

/* What tells rows apart, and what doesn't. */
static void test_labels(void)
{
	struct allocsnoop_profile *a = profile__new(), *b = profile__new(), *d;
	struct allocsnoop_sample *s;

	for (int i = 0; i < 7; i++) {
		struct run r = { i == 6 ? "v9" : "v1", 100 + i, 0x1000 * i, 0, 0, 0, 0 };

		add_site(a, &(struct run){ .folder = "v1", .pid = 1 }, "f", 10);
		s = add_site(b, &r, "f", 10);
		if (i == 0)
			s->thread = "io";
		if (i == 1)
			s->type = "struct x";
		if (i == 2)
			s->size_high = 32;
		if (i == 3)
			s->allocator = "calloc";
		if (i == 4)
			s->comm = "other";
		if (i == 5)
			end_row(s, ALLOCSNOOP_TRUNCATED);
	}
	d = diff(a, b);
	CHECK_EQ(d->samples.cnt, 7);
	s = &d->samples.v[6];
	CHECK_EQ(s->alloc_bytes, 10);
	CHECK_EQ(s->base_alloc_bytes, 70);
	profile__free(d);
	profile__free(a);
	profile__free(b);
}

static const char *module_of_match(const char *one, const char *two)
{
	struct allocsnoop_profile *a = profile__new(), *b = profile__new(), *d;
	const char *which;

	add_row(a, 1, "x", 1, 1, 1, FRAMES(frame(a, "f", one, 1)));
	add_row(b, 1, "x", 1, 1, 1, FRAMES(frame(b, "f", two, 1)));
	d = diff(a, b);
	which = d->samples.cnt == 1 ? "same" : "other";
	profile__free(d);
	profile__free(a);
	profile__free(b);
	return which;
}

static void test_modules(void)
{
	CHECK_STR(module_of_match("/a/libx.so.1.2", "/b/libx.so.1.3"), "same");
	CHECK_STR(module_of_match("/a/libx.so.1.2", "/b/libx.so"), "same");
	CHECK_STR(module_of_match("/a/prog (deleted)", "/a/prog"), "same");
	CHECK_STR(module_of_match("/a/libx.so (deleted)", "/a/libx.so.2"), "same");
	CHECK_STR(module_of_match("/a/x.solver.so.1", "/a/x.solver.so.2"), "same");
	CHECK_STR(module_of_match("/a/libx.so", "/a/liby.so"), "other");
	CHECK_STR(module_of_match("/a/prog", "/a/prog2"), "other");
	CHECK_STR(module_of_match("", "/a/prog"), "other");
	CHECK_STR(module_of_match("", ""), "same");
}

static void test_live(void)
{
	struct allocsnoop_profile *a = live_profile(), *b = live_profile(), *d;
	const struct allocsnoop_sample *s;

	for (size_t i = 0; i < b->samples.cnt; i++) {
		if (!strcmp(b->samples.v[i].frames[1]->function, "remember")) {
			b->samples.v[i].live_bytes += 5000;
			b->samples.v[i].live_count += 5;
		}
	}
	profile__finish(b);
	d = diff(a, b);
	s = find(d, "remember");
	CHECK_EQ(sample__change(s, ALLOCSNOOP_LIVE_BYTES), 10000);
	CHECK_EQ(sample__change(s, ALLOCSNOOP_LIVE_COUNT), 10);
	CHECK_EQ(s->pid_cnt, 2);
	CHECK_EQ(d->info.live_bytes, a->info.live_bytes + 10000);
	CHECK(s->lifetimes && s->lifetimes->live[35] == 3000 && s->lifetimes->live[36] == 1000);
	CHECK(!d->info.grown && !s->grown_bytes);
	profile__free(d);
	profile__free(a);
	profile__free(b);
}

static void test_sampled(void)
{
	struct allocsnoop_profile *a = sampled_profile(), *b = sampled_profile(), *d;
	const struct allocsnoop_sample *s;

	d = diff(a, b);
	s = find(d, "few");
	CHECK_EQ(s->alloc_bytes_var, 2 * 9 * 9900.0 * 100);
	CHECK_EQ(s->sampled_count, 18);
	CHECK(fabs(d->info.alloc_count_se - hypot(a->info.alloc_count_se, b->info.alloc_count_se)) <
	      1e-6);
	CHECK(!d->info.exact);
	profile__free(d);
	b->info.exact = true;
	b->info.sampling = ALLOCSNOOP_ALL;
	b->info.sampling_value = 1;
	d = diff(a, b);
	CHECK(!d->info.exact && d->info.sampling == ALLOCSNOOP_RATE);
	CHECK(d->info.sampling_value == 0.01);
	profile__free(d);
	profile__free(a);
	profile__free(b);
}

static void refused(const struct allocsnoop_profile *a, const struct allocsnoop_profile *b,
		    const char *words)
{
	struct allocsnoop_profile *d = NULL;

	CHECK_EQ(allocsnoop_profile__diff(a, b, &d), -EINVAL);
	CHECK(!d && strstr(err__msg(), words));
}

static void test_refused(void)
{
	struct allocsnoop_profile *a = hostile_profile(), *b = live_profile(), *d;

	refused(a, b, "mode");
	d = diff(a, a);
	refused(a, d, "difference already");
	refused(d, a, "difference already");
	profile__free(d);
	profile__free(b);
	b = hostile_profile();
	b->info.trace = ALLOCSNOOP_TRACE_MMAP;
	refused(a, b, "different events");
	b->info.trace = ALLOCSNOOP_TRACE_MALLOC; /* as what says nothing */
	d = diff(a, b);
	profile__free(d);
	b->info.older_ns = 5;
	refused(a, b, "ages");
	profile__free(b);
	profile__free(a);
}

static void add_class(struct allocsnoop_profile *p, u64 low, u64 high, u64 bytes)
{
	struct allocsnoop_sample *s =
		add_row(p, 1, "x", 1, 1, bytes, FRAMES(frame(p, "f", "/a/prog", 1)));

	s->size_low = low;
	s->size_high = high;
}

/* Classes of two profiles meet, also where only one of them has small ones. */
static void test_sizes(void)
{
	struct allocsnoop_profile *a = profile__new(), *b = profile__new(), *d, *g;

	add_class(a, 2048, 4095, 5000);
	add_class(a, 256, 319, 300);
	add_class(a, 0, 0, 0);
	add_class(a, 1ull << 63, UINT64_MAX, 7);
	add_class(b, 3840, 4095, 4000);
	add_class(b, 2048, 2303, 2100);
	add_class(b, 256, 319, 310);
	add_class(b, 320, 383, 350);
	add_class(b, 0, 0, 0);
	add_class(b, 1ull << 63, (1ull << 63) + 5, 9);
	d = diff(a, b);
	g = profile__group(d, ALLOCSNOOP_BY_SIZE);
	CHECK_EQ(g->samples.cnt, 5);
	for (size_t i = 0; i < g->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &g->samples.v[i];

		if (s->size_low == 2048)
			CHECK(s->size_high == 4095 && s->alloc_bytes == 6100 &&
			      s->base_alloc_bytes == 5000);
		if (s->size_low == 256)
			CHECK(s->alloc_bytes == 310 && s->base_alloc_bytes == 300);
		if (s->size_low == 1ull << 63)
			CHECK(s->size_high == UINT64_MAX && s->alloc_bytes == 9 &&
			      s->base_alloc_bytes == 7);
	}
	profile__free(g);
	profile__free(d);
	profile__free(a);
	profile__free(b);
}

/* What was counted once, and may have been missed by samples: nothing is sure about the change. */
static void test_missed(void)
{
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts) };
	struct allocsnoop_profile *a = run_profile(&before), *b = sampled_profile(), *d;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	a->samples.cnt = 1;
	a->samples.v[0].alloc_count = a->samples.v[0].sampled_count = 1;
	profile__finish(a);
	d = diff(a, b);
	CHECK_EQ(allocsnoop_profile__write(d, &opts, out), 0);
	fclose(out);
	CHECK(strstr(text, "  -100 B ") && strstr(strstr(text, "  -100 B "), "few samples"));
	CHECK(!strstr(text, "± 0"));
	free(text);
	profile__free(d);
	profile__free(b);
	profile__free(a);
}

int main(void)
{
	test_rows();
	test_order();
	test_saturates();
	test_itself();
	test_bases();
	test_labels();
	test_modules();
	test_live();
	test_sampled();
	test_sizes();
	test_missed();
	test_refused();
	return check__done();
}
