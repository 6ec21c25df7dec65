/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports of views, as the library writes them: chosen rows, lines, threads, differences. Compared
 * byte for byte with tests/golden/views_* (GOLDEN_UPDATE=1 rewrites those; look at the difference
 * before you commit it).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "check.h"
#include "golden.h"
#include "live_profile.h"

static struct report write_report(const struct allocsnoop_profile *p,
				  struct allocsnoop_report_opts opts)
{
	struct report r = { 0 };
	FILE *out = open_memstream(&r.text, &r.size);

	opts.sz = sizeof(opts);
	CHECK_EQ(allocsnoop_profile__write(p, &opts, out), 0);
	fclose(out);
	return r;
}

static void check_view(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts,
		       const char *name)
{
	struct report r = write_report(p, opts);
	char golden[256];

	snprintf(golden, sizeof(golden), "views_%s", name);
	check_golden(golden, &r);
	free(r.text);
}

static void check_diff(const struct allocsnoop_profile *a, const struct allocsnoop_profile *b,
		       struct allocsnoop_report_opts opts, const char *name)
{
	struct allocsnoop_profile *d = NULL;

	CHECK_EQ(allocsnoop_profile__diff(a, b, &d), 0);
	check_view(d, opts, name);
	profile__free(d);
}

static void test_filter(void)
{
	struct allocsnoop_profile *p = hostile_profile();

	check_view(p,
		   (struct allocsnoop_report_opts){
			   .focus = "main", .ignore = "[r]ec", .hide = "^malloc$" },
		   "chosen.txt");
	check_view(p,
		   (struct allocsnoop_report_opts){
			   .format = "json", .focus = "push_back", .lines = true },
		   "chosen.json");
	check_view(p,
		   (struct allocsnoop_report_opts){ .format = "folded",
						    .hide = "malloc|deep_rec",
						    .lines = true,
						    .no_inlines = true },
		   "hidden.folded");
	profile__free(p);
	p = live_profile();
	check_view(p, (struct allocsnoop_report_opts){ .focus = "/opt/server", .value = 2 },
		   "chosen_live.txt");
	profile__free(p);
}

static struct allocsnoop_profile *threads_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	struct allocsnoop_frame *f = (void *)frame(p, "C::f(int)", "/opt/prog", 2);
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	struct allocsnoop_sample *s;

	f->mangled = "_ZN1C1fEi";
	f->build_id = "0a1b2c";
	for (u32 i = 0; i < 3; i++) {
		s = add_row(p, 7, "prog", 1, 1 + i, 100 * (1 + i), FRAMES(m, f));
		s->tid = 7 + i;
		s->thread = i ? "io;\x1b" : "main";
		s->type = i ? "struct x" : NULL;
		must(vec__push(&p->points,
			       ((struct allocsnoop_point){ i * 1000, i, i * 10, 0, 0 })));
	}
	p->info.started_ns = 1700000000000000000;
	profile__finish(p);
	return p;
}

static void check_thread_diffs(const struct allocsnoop_profile *p)
{
	struct allocsnoop_profile *more = threads_profile();

	more->samples.v[1].alloc_bytes += 1000;
	more->samples.v[2].alloc_bytes -= 50;
	profile__finish(more);
	check_diff(p, more, (struct allocsnoop_report_opts){ .by = ALLOCSNOOP_BY_THREAD },
		   "diff_threads.txt");
	check_diff(p, more, (struct allocsnoop_report_opts){ .by = ALLOCSNOOP_BY_TYPE },
		   "diff_types.txt");
	profile__free(more);
}

static void test_threads(void)
{
	struct allocsnoop_profile *p = threads_profile();

	check_view(p,
		   (struct allocsnoop_report_opts){ .format = "json", .by = ALLOCSNOOP_BY_THREAD },
		   "threads.json");
	check_view(
		p,
		(struct allocsnoop_report_opts){ .format = "folded", .by = ALLOCSNOOP_BY_THREAD },
		"threads.folded");
	check_view(p,
		   (struct allocsnoop_report_opts){ .format = "folded", .by = ALLOCSNOOP_BY_TYPE },
		   "types.folded");
	check_thread_diffs(p);
	profile__free(p);
}

/* The leak went on, a cache went away, something new came; the hostile names are still there. */
static struct allocsnoop_profile *later_profile(void)
{
	struct allocsnoop_profile *p = live_profile();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);

	for (size_t i = 0; i < p->samples.cnt; i++) {
		struct allocsnoop_sample *s = &p->samples.v[i];

		if (!strcmp(s->frames[1]->function, "remember") && s->pid == 20) {
			s->live_count += 2000;
			s->live_bytes += 2000 * KIB;
			s->alloc_count += 2000;
			s->alloc_bytes += 2000 * KIB;
		}
		if (!strcmp(s->frames[1]->function, "cache_fill")) {
			s->freed_count += s->live_count;
			s->freed_bytes += s->live_bytes;
			s->live_count = s->live_bytes = 0;
		}
	}
	add_fate(p, (struct fate){ .pid = 20, .comm = "server", .size = 100, .live = 3 },
		 FRAMES(m, frame(p, "</script>;new 12", "/opt/server", 0x5000)));
	p->info.target = "every process, later";
	p->info.duration_ns = 180000000000;
	profile__finish(p);
	return p;
}

static void test_diff(void)
{
	struct allocsnoop_profile *a = live_profile(), *b = later_profile();
	static const struct {
		const char *format, *golden;
		enum allocsnoop_value value;
		enum allocsnoop_by by;
		u32 top;
	} reports[] = {
		{ "text", "diff.txt", ALLOCSNOOP_LIVE_BYTES, ALLOCSNOOP_BY_STACK, 0 },
		{ "text", "diff_top.txt", ALLOCSNOOP_LIVE_COUNT, ALLOCSNOOP_BY_STACK, 2 },
		{ "text", "diff_function.txt", ALLOCSNOOP_LIVE_BYTES, ALLOCSNOOP_BY_FUNCTION, 0 },
		{ "text", "diff_process.txt", ALLOCSNOOP_ALLOC_BYTES, ALLOCSNOOP_BY_PROCESS, 0 },
		{ "text", "diff_size.txt", ALLOCSNOOP_ALLOC_COUNT, ALLOCSNOOP_BY_SIZE, 0 },
		{ "folded", "diff.folded", ALLOCSNOOP_LIVE_BYTES, ALLOCSNOOP_BY_STACK, 0 },
		{ "json", "diff.json", ALLOCSNOOP_LIVE_BYTES, ALLOCSNOOP_BY_FUNCTION, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		check_diff(a, b,
			   (struct allocsnoop_report_opts){ .format = reports[i].format,
							    .value = reports[i].value,
							    .by = reports[i].by,
							    .top = reports[i].top },
			   reports[i].golden);
	check_diff(a, a, (struct allocsnoop_report_opts){ .value = ALLOCSNOOP_LIVE_BYTES },
		   "diff_same.txt");
	check_diff(a, b,
		   (struct allocsnoop_report_opts){ .value = ALLOCSNOOP_LIVE_BYTES,
						    .focus = "remember" },
		   "diff_chosen.txt");
	profile__free(a);
	profile__free(b);
}

/* One row has grown for sure, one within what sampling does, one rests on few samples. */
static void test_diff_sampled(void)
{
	struct allocsnoop_profile *a = sampled_live_profile(), *b = sampled_live_profile();
	struct allocsnoop_sample *s = b->samples.v;

	s[0].live_bytes += 5000 * 100;
	s[0].live_count += 5000;
	s[0].alloc_bytes += 100;
	profile__finish(b);
	check_diff(a, b, (struct allocsnoop_report_opts){ .value = ALLOCSNOOP_LIVE_BYTES },
		   "diff_noise.txt");
	s[0].live_bytes += 50000 * 100;
	s[0].live_count += 50000;
	s[1].live_bytes += 100;
	s[1].live_count += 1;
	s[2].at_least = true;
	s[2].live_bytes = 100;
	profile__finish(b);
	check_diff(a, b, (struct allocsnoop_report_opts){ .value = ALLOCSNOOP_LIVE_BYTES },
		   "diff_sampled.txt");
	profile__free(a);
	profile__free(b);
}

static void test_refused(void)
{
	struct allocsnoop_profile *a = live_profile(), *d = NULL;
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts), .value = ALLOCSNOOP_PEAK_BYTES };
	FILE *out = fopen("/dev/null", "w");

	CHECK_EQ(allocsnoop_profile__diff(a, a, &d), 0);
	CHECK_EQ(allocsnoop_profile__write(d, &opts, out), -EINVAL);
	CHECK(strstr(allocsnoop__error(), "difference"));
	opts.value = ALLOCSNOOP_LIVE_BYTES;
	opts.hide = "(";
	CHECK_EQ(allocsnoop_profile__write(d, &opts, out), -EINVAL);
	CHECK(strstr(allocsnoop__error(), "'('"));
	fclose(out);
	profile__free(d);
	profile__free(a);
}

int main(void)
{
	test_filter();
	test_threads();
	test_diff();
	test_diff_sampled();
	test_refused();
	return check__done();
}
