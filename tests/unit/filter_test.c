/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows by regular expressions, frames that are left out, and that totals are those of what stays.
 */
#include <errno.h>
#include <math.h>

#include "base/err.h"
#include "check.h"
#include "live_profile.h"

static struct allocsnoop_profile *filter(const struct allocsnoop_profile *p,
					 struct allocsnoop_report_opts opts)
{
	struct allocsnoop_profile *view = NULL;

	opts.lines = true;
	CHECK_EQ(profile__filter(p, &opts, &view), 0);
	CHECK(view);
	return view;
}

/* Two programs: parse and print allocate in both, through a library. */
static struct allocsnoop_profile *two_programs(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	const struct allocsnoop_frame *lib = frame(p, "grow", "/usr/lib/libgrow.so", 2);
	const struct allocsnoop_frame *parse = frame(p, "parse", "/opt/a", 3);
	const struct allocsnoop_frame *print = frame(p, "print", "/opt/a", 4);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/a", 5);

	add_row(p, 1, "a", 1, 1, 10, FRAMES(m, lib, parse, root));
	add_row(p, 1, "a", 2, 2, 200, FRAMES(m, lib, print, root));
	add_row(p, 2, "b", 1, 4, 4000, FRAMES(m, lib, parse, root));
	end_row(add_row(p, 2, "b", 3, 8, 80000, (const struct allocsnoop_frame *[]){ NULL }),
		ALLOCSNOOP_LOST);
	add_process(p, 1, "a", "/opt/a")->alloc_bytes = 210;
	add_process(p, 2, "b", "/opt/a")->alloc_bytes = 84000;
	add_process(p, 3, "c", "/opt/a")->rss_anon = 4096;
	must(vec__push(&p->points, ((struct allocsnoop_point){ .alloc_bytes = 84210 })));
	must(profile__add_loss(p, "stack_not_stored", "", 1));
	p->info.events = 15;
	profile__finish(p);
	return p;
}

static void test_choose(void)
{
	static const struct {
		const char *focus, *ignore;
		u64 bytes;
	} cases[] = {
		{ "parse", NULL, 4010 },
		{ "^parse$", NULL, 4010 },
		{ "pars", NULL, 4010 },
		{ "par|pri", NULL, 4210 },
		{ "libgrow\\.so$", NULL, 4210 },
		{ "/opt/", NULL, 4210 },
		{ NULL, "parse", 80200 },
		{ NULL, "malloc", 80000 },
		{ NULL, "nothing like it", 84210 },
		{ "malloc", "parse", 200 },
		{ "parse", "parse", 0 },
		{ "^$", NULL, 0 },
		{ "ma{1}in", "pr(i)nt", 4010 },
	};
	struct allocsnoop_profile *p = two_programs();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct allocsnoop_profile *v =
			filter(p, (struct allocsnoop_report_opts){ .focus = cases[i].focus,
								   .ignore = cases[i].ignore });
		u64 of_processes = 0;

		CHECK_EQ(v->info.alloc_bytes, cases[i].bytes);
		CHECK(v->info.filtered);
		CHECK_EQ(v->info.all_alloc_bytes, 84210);
		CHECK_EQ(v->info.all_alloc_count, 15);
		CHECK_EQ(v->info.events, 15);
		CHECK_EQ(v->processes.cnt, 3);
		CHECK_EQ(v->losses.cnt, 1);
		CHECK_EQ(v->points.cnt, 0);
		for (size_t k = 0; k < v->processes.cnt; k++)
			of_processes += v->processes.v[k].alloc_bytes;
		CHECK_EQ(of_processes, cases[i].bytes);
		CHECK_EQ(v->processes.v[2].rss_anon, 4096);
		profile__free(v);
	}
	profile__free(p);
}

static void test_hide(void)
{
	struct allocsnoop_profile *p = two_programs(), *v, *g;

	v = filter(p, (struct allocsnoop_report_opts){ .hide = "grow|main" });
	CHECK_EQ(v->info.alloc_bytes, 84210);
	CHECK(!v->info.filtered);
	CHECK_EQ(v->samples.cnt, 4);
	CHECK_EQ(v->points.cnt, 1);
	CHECK_EQ(v->processes.v[1].alloc_bytes, 84000);
	CHECK_EQ(v->samples.v[0].frame_cnt, 2);
	CHECK_STR(v->samples.v[0].frames[1]->function, "parse");
	profile__free(v);

	/* What focus looks for may be hidden. */
	v = filter(p, (struct allocsnoop_report_opts){ .focus = "parse", .hide = "parse" });
	CHECK_EQ(v->info.alloc_bytes, 4010);
	CHECK_EQ(v->samples.v[0].frame_cnt, 3);
	profile__free(v);

	/* Nothing is left of a stack: its row stays. */
	v = filter(p, (struct allocsnoop_report_opts){ .hide = "." });
	CHECK_EQ(v->info.alloc_bytes, 84210);
	CHECK_EQ(v->samples.cnt, 4);
	CHECK_EQ(v->samples.v[0].frame_cnt, 0);
	g = profile__group(v, ALLOCSNOOP_BY_STACK);
	CHECK_EQ(g->samples.cnt, 3); /* a's two became one; lost is another end */
	CHECK_EQ(g->info.alloc_bytes, 84210);
	profile__free(g);
	profile__free(v);

	/* The caller is found where the allocator's frame isn't. */
	v = filter(p, (struct allocsnoop_report_opts){ .hide = "^malloc$" });
	g = profile__group(v, ALLOCSNOOP_BY_FUNCTION);
	CHECK_EQ(g->samples.cnt, 2);
	CHECK_EQ(g->samples.v[0].frame_cnt, 2);
	CHECK_STR(g->samples.v[0].frames[0]->function, "malloc");
	CHECK_STR(g->samples.v[0].frames[1]->function, "grow");
	CHECK_EQ(g->samples.v[0].alloc_bytes, 4210);
	profile__free(g);
	profile__free(v);
	profile__free(p);
}

static const struct allocsnoop_frame *place(struct allocsnoop_profile *p, const char *function,
					    u32 line, bool inlined)
{
	struct allocsnoop_frame *f = (void *)frame(p, function, "/opt/a", 7);

	f->file = "a.c";
	f->line = line;
	f->inlined = inlined;
	return f;
}

static size_t shown(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts,
		    u32 *lines)
{
	struct allocsnoop_profile *view = NULL;
	const struct allocsnoop_sample *s;
	size_t cnt;

	CHECK_EQ(profile__filter(p, &opts, &view), 0);
	s = view ? &view->samples.v[0] : &p->samples.v[0];
	cnt = s->frame_cnt;
	*lines = 0;
	for (size_t i = 0; i < cnt; i++)
		*lines += s->frames[i]->line + 1000 * (s->frames[i]->file != NULL);
	profile__free(view);
	return cnt;
}

static void test_lines(void)
{
	struct allocsnoop_profile *p = profile__new(), *view;
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	u32 lines;

	add_row(p, 1, "a", 1, 1, 10,
		FRAMES(m, place(p, "inner", 3, true), place(p, "outer", 20, false)));
	CHECK_EQ(shown(p, (struct allocsnoop_report_opts){ 0 }, &lines), 2);
	CHECK_EQ(lines, 0);
	CHECK_EQ(shown(p, (struct allocsnoop_report_opts){ .lines = true }, &lines), 3);
	CHECK_EQ(lines, 2023);
	CHECK_EQ(shown(p, (struct allocsnoop_report_opts){ .lines = true, .no_inlines = true },
		       &lines),
		 2);
	CHECK_EQ(lines, 1020);
	/* Who isn't shown isn't searched for. */
	view = NULL;
	CHECK_EQ(profile__filter(p, &(struct allocsnoop_report_opts){ .focus = "inner" }, &view),
		 0);
	CHECK(view && !view->samples.cnt);
	profile__free(view);
	profile__free(p);

	/* Nothing to be left out: nothing is copied. */
	p = two_programs();
	view = p;
	CHECK_EQ(profile__filter(p, &(struct allocsnoop_report_opts){ 0 }, &view), 0);
	CHECK(!view);
	CHECK_EQ(profile__filter(p, &(struct allocsnoop_report_opts){ .lines = true }, &view), 0);
	CHECK(!view);
	profile__free(p);
}

static void test_bad_regex(void)
{
	static const char *const bad[] = { "(", "[", "a{1", "*(", "\\" };
	struct allocsnoop_profile *p = two_programs(), *view = p;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct allocsnoop_report_opts opts = { .hide = bad[i], .focus = "a" };
		char want[32];

		CHECK_EQ(allocsnoop__check_regex(bad[i]), -EINVAL);
		snprintf(want, sizeof(want), "'%s': ", bad[i]);
		CHECK(!strncmp(err__msg(), want, strlen(want)) && err__msg()[strlen(want)]);
		CHECK_EQ(profile__filter(p, &opts, &view), -EINVAL);
		CHECK(!view);
	}
	CHECK_EQ(allocsnoop__check_regex("^(a|b)[[:digit:]]+$"), 0);
	profile__free(p);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void test_errors(void)
{
	struct allocsnoop_profile *p = sampled_profile(), *v;

	p->processes.cnt = 0;
	add_process(p, 7, "prog", "/opt/prog");
	v = filter(p, (struct allocsnoop_report_opts){ .focus = "few" });
	CHECK_EQ(v->info.alloc_count, 900);
	CHECK(near(v->info.alloc_count_se, sqrt(9 * 9900.0)));
	CHECK(near(v->processes.v[0].alloc_bytes_se, sqrt(9 * 9900.0 * 100)));
	CHECK_EQ(v->processes.v[0].sampled_count, 9);
	profile__free(v);
	/* Rows of windows vary together: all of them have the error they had, a part as much more.
	 */
	p->info.budget_pct = 5;
	p->info.alloc_count_se *= 3;
	v = filter(p, (struct allocsnoop_report_opts){ .focus = "." });
	CHECK(near(v->info.alloc_count_se, p->info.alloc_count_se));
	profile__free(v);
	v = filter(p, (struct allocsnoop_report_opts){ .focus = "few" });
	CHECK(near(v->info.alloc_count_se, 3 * sqrt(9 * 9900.0)));
	profile__free(v);
	profile__free(p);
}

static void test_live(void)
{
	struct allocsnoop_profile *p = live_profile(), *v;

	v = filter(p, (struct allocsnoop_report_opts){ .focus = "remember" });
	CHECK_EQ(v->info.live_bytes, 4000 * KIB);
	CHECK_EQ(v->info.all_live_bytes, p->info.live_bytes);
	CHECK_EQ(v->info.freed_count, 1000);
	CHECK_EQ(v->info.grown_count, 120);
	CHECK_EQ(v->processes.v[0].live_bytes, 3000 * KIB);
	CHECK_EQ(v->processes.v[0].peak_bytes, 2500 * KIB);
	CHECK_EQ(v->processes.v[0].rss_anon, 40 * MIB);
	CHECK_EQ(v->processes.v[1].live_bytes, 1000 * KIB);
	CHECK_EQ(v->processes.v[3].live_bytes, 0);
	profile__free(v);
	profile__free(p);
}

/* Sums of several processes have no process of their own in the list. */
static void test_unlisted(void)
{
	struct allocsnoop_profile *p = two_programs(), *v;

	p->samples.v[0].pid = 0;
	p->samples.v[0].pid_cnt = 7;
	v = filter(p, (struct allocsnoop_report_opts){ .focus = "parse" });
	CHECK_EQ(v->processes.cnt, 4);
	CHECK_EQ(v->processes.v[0].alloc_bytes, 0);
	CHECK_EQ(v->processes.v[3].alloc_bytes, 10);
	CHECK_EQ(v->processes.v[3].count, 7);
	CHECK_STR(v->processes.v[3].comm, "a");
	profile__free(v);
	profile__free(p);
}

/* In a sum of profiles: one for all that the rows are of, nobody is counted twice. */
static void test_processes_of_a_sum(void)
{
	struct allocsnoop_profile *ps[3], *sum, *v;
	u64 of_processes = 0, processes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ps); i++)
		ps[i] = two_programs();
	/* b is known once; a ran another program of its own name there. */
	for (size_t i = 1; i < ARRAY_SIZE(ps); i++) {
		ps[i]->samples.v[2].pid = ps[i]->samples.v[3].pid = 20 + i;
		ps[i]->processes.v[1].pid = 20 + i;
	}
	add_process(ps[0], 2, "b", "/opt/a")->rss_anon = 1;
	add_process(ps[1], 0, "a", "")->count = 5;
	CHECK_EQ(allocsnoop_profile__merge((const struct allocsnoop_profile *const *)ps, 3, &sum),
		 0);
	v = filter(sum, (struct allocsnoop_report_opts){ .focus = "parse" });
	CHECK_EQ(v->processes.cnt, 6); /* a, b, b again, b, b, c */
	for (size_t i = 0; i < v->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &v->processes.v[i];

		of_processes += proc->alloc_bytes;
		processes += MAX(proc->count, 1u);
		if (!strcmp(proc->comm, "a"))
			CHECK(!proc->pid && proc->count == 8 && proc->alloc_bytes == 30);
		if (!strcmp(proc->comm, "c"))
			CHECK(!proc->pid && proc->count == 3 && proc->rss_anon == 3 * 4096);
		if (!strcmp(proc->comm, "b"))
			CHECK(proc->pid && proc->alloc_bytes == (proc->rss_anon ? 0 : 4000));
	}
	CHECK_EQ(of_processes, 3 * 4010);
	CHECK_EQ(processes, 8 + 3 + 4);
	profile__free(v);
	profile__free(sum);
	for (size_t i = 0; i < ARRAY_SIZE(ps); i++)
		profile__free(ps[i]);
}

static char *report_of(const struct allocsnoop_profile *p, const char *format, const char *focus,
		       bool tree)
{
	struct allocsnoop_report_opts opts = {
		.sz = sizeof(opts), .format = format, .focus = focus, .tree = tree
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK_EQ(allocsnoop_profile__write(p, &opts, out), 0);
	fclose(out);
	return text;
}

/* Whoever reads a total sees that it isn't of all. */
static void test_reports_say_so(void)
{
	static const char *const formats[] = { "svg", "dhat", "massif", "html" };
	struct allocsnoop_profile *p = live_profile();
	char *text, want[64];

	snprintf(want, sizeof(want), "%llu of %" PRIu64 " live", 4000 * KIB, p->info.live_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (allocsnoop__check_format(formats[i])) /* html needs npm */
			continue;
		text = report_of(p, formats[i], "remember", false);
		CHECK(strstr(text, "rows were chosen: "));
		CHECK(strstr(text, want));
		free(text);
		text = report_of(p, formats[i], NULL, false);
		CHECK(!strstr(text, "rows were chosen: "));
		free(text);
	}
	for (int tree = 0; tree < 2; tree++) {
		text = report_of(p, "text", "nothing like it", tree);
		CHECK(strstr(text, "\nno stacks match\n") && !strstr(text, "no allocations"));
		free(text);
	}
	profile__free(p);
}

static void test_hostile(void)
{
	struct allocsnoop_profile *p = hostile_profile(), *v;

	v = filter(p, (struct allocsnoop_report_opts){ .focus = "." });
	CHECK_EQ(v->samples.cnt, p->samples.cnt - 1); /* the lost one has no frame */
	profile__free(v);
	v = filter(p, (struct allocsnoop_report_opts){ .focus = "script>$", .hide = "N{2000}" });
	CHECK_EQ(v->samples.cnt, 2);
	CHECK_EQ(v->info.alloc_bytes, TWO_63 + 4001);
	profile__free(v);
	profile__free(p);
}

/* A frame meets the expression once, however many rows have it. */
static void test_many(void)
{
	struct allocsnoop_profile *p = profile__new(), *v;
	const struct allocsnoop_frame *f[21] = { NULL };

	for (size_t i = 0; i < 20; i++)
		f[i] = frame(p, "(x+x+)+y is slow for many engines xxxxxxxxxxxxxxxxxx", "/m", i);
	for (u32 i = 0; i < 50000; i++)
		add_row(p, i, "a", i, 1, 1, f);
	v = filter(p, (struct allocsnoop_report_opts){ .ignore = "(x+x+)+y$" });
	CHECK_EQ(v->samples.cnt, 50000);
	profile__free(v);
	profile__free(p);
}

int main(void)
{
	test_choose();
	test_hide();
	test_lines();
	test_bad_regex();
	test_errors();
	test_live();
	test_unlisted();
	test_processes_of_a_sum();
	test_reports_say_so();
	test_hostile();
	test_many();
	return check__done();
}
