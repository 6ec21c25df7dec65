/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the text report looks like on terminals and as a tree, compared with tests/golden/
 * (GOLDEN_UPDATE=1 rewrites those). Whatever the width: no line is longer, no escape sequence is
 * anybody's but ours, and the numbers are those of the report in a file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "check.h"
#include "golden.h"
#include "live_profile.h"
#include "report/text.h"
#include "report/writer.h"

/* As the library does it: group, sort, write. */
static char *write_text(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts)
{
	bool tree = opts.tree && opts.by == ALLOCSNOOP_BY_FUNCTION;
	struct allocsnoop_profile *g = profile__group(p, tree ? ALLOCSNOOP_BY_STACK : opts.by);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	profile__sort(g, opts.value);
	CHECK_EQ(writer_text.write(g, &opts, out), 0);
	fclose(out);
	profile__free(g);
	CHECK_EQ(strlen(text), size);
	return text;
}

static void check_text(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts,
		       const char *golden)
{
	char *text = write_text(p, opts);

	check_golden(golden, &(struct report){ text, strlen(text) });
	free(text);
}

/* ---- terminals ---- */

/* Takes our escape sequences out; nobody else's may be there. */
static void strip_colours(char *text)
{
	char *to = text;

	for (char *c = text; *c;) {
		if (*c != '\x1b') {
			*to++ = *c++;
			continue;
		}
		CHECK(c[1] == '[');
		c += 2 + strspn(c + 2, "0123456789");
		CHECK(*c == 'm');
		c++;
	}
	*to = '\0';
}

/* min: what the narrowest table needs for its numbers. */
static void check_lines(const char *text, size_t width)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct str line = { .s = (char *)text, .len = len };

		if (look__width(&line) > width) {
			check_failures++;
			fprintf(stderr, "more than %zu columns: %.*s\n", width, (int)len, text);
		}
		text += len + (text[len] == '\n');
	}
}

/* Colours are all that colours add. */
static void check_colours(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts)
{
	char *plain = write_text(p, opts), *coloured;

	opts.colour = true;
	coloured = write_text(p, opts);
	CHECK(strstr(coloured, "\x1b[1m") && strstr(coloured, "\x1b[0m"));
	CHECK(!strstr(plain, "\x1b["));
	strip_colours(coloured);
	CHECK_STR(coloured, plain);
	free(plain);
	free(coloured);
}

static void check_widths(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts)
{
	static const u32 widths[] = { 80, 100, 132, 250 };

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		char *text;

		opts.width = widths[i];
		text = write_text(p, opts);
		check_lines(text, widths[i]);
		free(text);
		check_colours(p, opts);
	}
	for (opts.width = 1; opts.width < 80; opts.width += 7)
		free(write_text(p, opts)); /* too narrow for the numbers: nothing breaks */
}

static void test_widths(void)
{
	struct allocsnoop_profile *p = hostile_profile(), *live = live_profile(),
				  *crowd = crowd_profile(true);

	for (int tree = 0; tree < 2; tree++) {
		for (u32 by = 0; by <= ALLOCSNOOP_BY_TYPE; by++) {
			struct allocsnoop_report_opts opts = { .by = by, .tree = tree };

			check_widths(p, opts);
			check_widths(crowd, opts);
			opts.value = ALLOCSNOOP_LIVE_BYTES;
			check_widths(live, opts);
			opts.ascii = true;
			check_widths(live, opts);
		}
	}
	profile__free(p);
	profile__free(live);
	profile__free(crowd);
}

static bool is_ascii(const char *text)
{
	while (*text > 0)
		text++;
	return !*text;
}

static void test_terminal(void)
{
	struct allocsnoop_report_opts opts = { .width = 80, .value = ALLOCSNOOP_LIVE_BYTES };
	struct allocsnoop_profile *p = live_profile();
	char *text;

	check_text(p, opts, "terminal_live.txt");
	opts.colour = true;
	check_text(p, opts, "terminal_colour.txt");
	profile__free(p);
	p = hostile_profile();
	opts = (struct allocsnoop_report_opts){ .width = 80 };
	check_text(p, opts, "terminal_stack.txt");
	opts.by = ALLOCSNOOP_BY_FUNCTION;
	check_text(p, opts, "terminal_function.txt");
	profile__free(p);
	p = sampled_profile();
	opts = (struct allocsnoop_report_opts){ .width = 80, .ascii = true };
	text = write_text(p, opts);
	CHECK(is_ascii(text) && strstr(text, "########") && strstr(text, "+- 2163"));
	free(text);
	opts.tree = true;
	text = write_text(p, opts);
	CHECK(is_ascii(text) && strstr(text, "`- few") && strstr(text, "+- "));
	free(text);
	profile__free(p);
}

static void check_fit(const char *name, size_t width, bool ascii, const char *want)
{
	struct str s = { 0 };

	str__add(&s, name);
	paint__fit(&s, width, ascii);
	CHECK_EQ(s.len, strlen(want));
	CHECK(!strncmp(s.s, want, s.len));
	str__free(&s);
}

static void test_fit(void)
{
	check_fit("operator", 8, false, "operator");
	check_fit("operator", 7, false, "ope…tor");
	check_fit("operator", 7, true, "op...or");
	check_fit("operator", 2, false, "o…");
	check_fit("operator", 1, false, "o");
	check_fit("operator", 3, true, "ope");
	check_fit("operator", 0, false, "");
	check_fit("äöüßéè", 5, false, "äö…éè");
	check_fit("äöüßéè", 6, true, "äöüßéè");
	check_fit("分配内存", 8, false, "分配内存");
	check_fit("分配内存", 7, false, "分…存"); /* half an ideograph is none */
	check_fit("e\u0301e\u0301e\u0301e\u0301", 3, false, "e\u0301…e\u0301");
	CHECK_EQ(paint__columns("\xf0\x9f", 2), 1); /* nothing is read behind the end */
	CHECK_EQ(paint__columns("a\U0001f600b", 6), 4);
}

static void check_wrap(const char *line, size_t width, size_t indent, const char *want)
{
	struct str s = { 0 };

	paint__wrap(&s, line, strlen(line), width, indent);
	CHECK_STR(s.s, want);
	str__free(&s);
}

static void test_wrap(void)
{
	check_wrap("mode one two three", 0, 5, "mode one two three\n");
	check_wrap("mode one two three", 18, 5, "mode one two three\n");
	check_wrap("mode one two three", 17, 5, "mode one two\n     three\n");
	check_wrap("mode one two three", 11, 5, "mode one\n     two\n     three\n");
	check_wrap("mode one two three", 10, 5, "mode one two three\n"); /* too narrow */
	check_wrap("mode onetwothree x", 12, 5, "mode onetwothree\n     x\n");
	check_wrap("mode ééé ééé", 11, 5, "mode ééé\n     ééé\n");
	check_wrap("", 11, 5, "\n");
}

static void check_bar(u64 part, u64 whole, bool ascii, const char *want)
{
	struct str s = { 0 };

	paint__bar(&s, part, whole, ascii);
	CHECK_STR(s.s ? s.s : "", want);
	str__free(&s);
}

static void test_bar(void)
{
	check_bar(0, 0, false, "");
	check_bar(0, 9, false, "");
	check_bar(1, 1, false, "████████");
	check_bar(1, 2, true, "####");
	check_bar(9, 16, true, "####-");
	check_bar(9, 16, false, "████▌");
	check_bar(1, 1000, false, "");
	check_bar(UINT64_MAX, UINT64_MAX, false, "████████");
	check_bar(2, 1, true, "########"); /* parts of hostile sums */
}

/* ---- numbers ---- */

static void check_interval(struct interval i, const char *want)
{
	struct str s = { 0 };

	look__interval(&s, &i);
	CHECK_STR(s.s, want);
	str__free(&s);
}

/* What was counted is as sure for three calls as for a thousand, in a row as in a process. */
static void test_intervals(void)
{
	check_interval((struct interval){ .se = 10, .sampled_cnt = 10 }, "± 20");
	check_interval((struct interval){ .se = 10, .sampled_cnt = 9 }, "few samples");
	check_interval((struct interval){ .sampled_cnt = 3, .counted = true }, "± 0");
	check_interval((struct interval){ .sampled_cnt = 30, .counted = true }, "± 0");
	check_interval((struct interval){ .sampled_cnt = 30 }, "few samples"); /* of one window */
	check_interval((struct interval){ .se = 1, .sampled_cnt = 3, .counted = true },
		       "few samples"); /* rounded up to what was counted */
	check_interval((struct interval){ .se = NAN, .sampled_cnt = 99 }, "few samples");
	check_interval((struct interval){ .se = INFINITY, .sampled_cnt = 99, .ascii = true },
		       "+- 18446744073709551615");
}

static void test_grammar(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	char *text;

	add_row(p, 0, "prog", 1, 1, 1, FRAMES(m))->pid_cnt = 1;
	must(profile__add_loss(p, "one", "of a kind", 1));
	profile__finish(p);
	p->info.exact = false;
	p->info.events = p->info.failed_count = 1;
	p->info.budget_pct = 5;
	p->info.coverage = -1;
	p->info.windows = 1;
	text = write_text(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(strstr(text, "estimated from 1 sample in 1 window ("));
	CHECK(strstr(text, "coverage    not known, in 1 window of "));
	CHECK(strstr(text, "events      1 allocation call\n"));
	CHECK(strstr(text, "failed      1 call with impossible sizes, in no other number\n"));
	CHECK(strstr(text, "            1 ± 0 allocation (95 %)\n"));
	CHECK(strstr(text, "losses      1 kind, listed at the end\n"));
	CHECK(strstr(text, "  prog (1 process)\n"));
	free(text);
	add_process(p, 7, "prog", "/prog")->exited = true;
	text = write_text(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(strstr(text, "processes   1, exited\n"));
	free(text);
	add_process(p, 8, "prog", "/prog")->exited = true;
	text = write_text(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(strstr(text, "processes   2, all exited\n"));
	free(text);
	profile__free(p);
	p = profile__new();
	p->info.exact = false;
	p->info.budget_pct = 5;
	p->info.coverage = -1;
	p->info.windows = 9;
	text = write_text(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(strstr(text, "coverage    none: no process was met, in 9 windows of "));
	free(text);
	profile__free(p);
}

/* ---- groups ---- */

static struct allocsnoop_sample *in_thread(struct allocsnoop_sample *s, u32 tid, const char *thread)
{
	s->tid = tid;
	s->thread = thread;
	return s;
}

static void test_threads_and_types(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	const struct allocsnoop_frame *a = frame(p, "a", "prog", 2);

	in_thread(add_row(p, 7, "prog", 1, 1, 5000, FRAMES(m)), 7, "prog")->type = "struct node";
	in_thread(add_row(p, 7, "prog", 2, 2, 3000, FRAMES(m, a)), 8, "wor\x1bker");
	in_thread(add_row(p, 7, "prog", 1, 3, 6000, FRAMES(m)), 8, "wor\x1bker")->type = "int [4]";
	add_row(p, 9, "other", 3, 4, 100, FRAMES(m));
	profile__finish(p);
	check_text(p, (struct allocsnoop_report_opts){ .by = ALLOCSNOOP_BY_THREAD }, "thread.txt");
	check_text(p, (struct allocsnoop_report_opts){ .by = ALLOCSNOOP_BY_TYPE }, "type.txt");
	check_text(p, (struct allocsnoop_report_opts){ .by = ALLOCSNOOP_BY_THREAD, .tree = true },
		   "tree_thread.txt");
	profile__free(p);
}

/* ---- frames ---- */

/* Recursion from several places shows none of them; from one place that one. */
static void test_places(void)
{
	struct allocsnoop_profile *p = profile__new();
	struct allocsnoop_frame f[6];
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		f[i] = (struct allocsnoop_frame){ .function = i < 3 ? "walk" : "eval",
						  .module = "/bin/prog",
						  .file = "src/walk.c",
						  .line = i < 3 ? 10 + i : 20 };
	add_row(p, 1, "prog", 1, 1, 1, FRAMES(&f[0], &f[1], &f[2], &f[3], &f[4], &f[5]));
	profile__finish(p);
	text = write_text(p, (struct allocsnoop_report_opts){ 0 });
	CHECK(strstr(text, "          walk x 3  prog\n          eval x 3  prog  walk.c:20\n"));
	free(text);
	profile__free(p);
}

/* ---- the tree ---- */

static const struct allocsnoop_frame *in_prog(struct allocsnoop_profile *p, const char *function)
{
	return frame(p, function, "/usr/bin/prog", 1);
}

static struct allocsnoop_profile *tree_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	const struct allocsnoop_frame *start = frame(p, "libc.so.6+0x2724a", "/lib/libc.so.6", 1);
	const struct allocsnoop_frame *main = in_prog(p, "main"), *walk = in_prog(p, "walk");
	const struct allocsnoop_frame *load = in_prog(p, "load"), *parse = in_prog(p, "parse");
	const struct allocsnoop_frame *eval = in_prog(p, "eval"), *call = in_prog(p, "call");

	add_row(p, 7, "prog", 1, 10, 60000, FRAMES(m, parse, load, main, start));
	add_row(p, 7, "prog", 2, 5, 25000, FRAMES(m, load, main, start));
	add_row(p, 7, "prog", 3, 1, 90, FRAMES(m, in_prog(p, "log"), main, start));
	add_row(p, 7, "prog", 4, 1, 80, FRAMES(m, in_prog(p, "name"), main, start));
	add_row(p, 7, "prog", 5, 4, 4000, FRAMES(m, walk, walk, walk, main, start));
	add_row(p, 7, "prog", 6, 4, 4000, FRAMES(m, walk, main, start));
	add_row(p, 7, "prog", 7, 2, 9000, FRAMES(m, call, eval, call, eval, main, start));
	add_row(p, 7, "prog", 8, 2, 9000, FRAMES(parse, load, main, start)); /* its own pool */
	end_row(add_row(p, 8, "other", 9, 3, 3000, FRAMES(m, walk)), ALLOCSNOOP_NO_TABLE);
	end_row(add_row(p, 8, "other", 0, 1, 1000, FRAMES(NULL)), ALLOCSNOOP_LOST);
	profile__finish(p);
	return p;
}

static void test_tree(void)
{
	struct allocsnoop_profile *p = tree_profile(), *live;
	struct allocsnoop_report_opts opts = { .tree = true };

	check_text(p, opts, "tree.txt");
	opts.by = ALLOCSNOOP_BY_FUNCTION;
	check_text(p, opts, "tree_function.txt");
	opts.by = ALLOCSNOOP_BY_PROCESS;
	opts.value = ALLOCSNOOP_ALLOC_COUNT;
	check_text(p, opts, "tree_process.txt");
	opts = (struct allocsnoop_report_opts){ .tree = true, .top = 4, .width = 80 };
	check_text(p, opts, "tree_top.txt");
	opts = (struct allocsnoop_report_opts){ .tree = true, .ascii = true };
	check_text(p, opts, "tree_ascii.txt");
	live = hostile_profile();
	opts = (struct allocsnoop_report_opts){ .tree = true, .value = ALLOCSNOOP_ALLOC_COUNT };
	check_text(live, opts, "tree_hostile.txt");
	profile__free(live);
	live = live_profile();
	opts.value = ALLOCSNOOP_LIVE_BYTES;
	check_text(live, opts, "tree_live.txt");
	opts.value = ALLOCSNOOP_GROWN_BYTES;
	free(write_text(live, opts));
	profile__free(live);
	live = sampled_profile();
	opts.value = ALLOCSNOOP_ALLOC_BYTES;
	check_text(live, opts, "tree_sampled.txt");
	profile__free(live);
	profile__free(p);
	p = profile__new();
	check_text(p, opts, "empty.txt");
	profile__free(p);
}

static int write_by_library(const struct allocsnoop_profile *p, const char *format,
			    enum allocsnoop_by by, char **text)
{
	const struct allocsnoop_report_opts opts = {
		.sz = sizeof(opts),
		.format = format,
		.by = by,
		.tree = true,
	};
	size_t size;
	FILE *out = open_memstream(text, &size);
	int err = allocsnoop_profile__write(p, &opts, out);

	fclose(out);
	return err;
}

static void test_full_disk(void)
{
	const struct allocsnoop_report_opts opts = { .tree = true, .width = 80, .colour = true };
	struct allocsnoop_profile *p = tree_profile();

	for (int buffered = 0; buffered < 2; buffered++) {
		FILE *out = fopen("/dev/full", "w");

		setvbuf(out, NULL, buffered ? _IOFBF : _IONBF, 4096);
		CHECK_EQ(writer_text.write(p, &opts, out), -ENOSPC);
		CHECK_STR(err__msg(), "cannot write the report: No space left on device");
		fclose(out);
	}
	profile__free(p);
}

/* The library knows what a tree can be of, and that its callers' stacks are needed whole. */
static void test_library(void)
{
	struct allocsnoop_profile *p = tree_profile();
	char *text;

	CHECK_EQ(write_by_library(p, NULL, ALLOCSNOOP_BY_FUNCTION, &text), 0);
	check_golden("tree_function.txt", &(struct report){ text, strlen(text) });
	free(text);
	CHECK_EQ(write_by_library(p, "text", ALLOCSNOOP_BY_SIZE, &text), -EINVAL);
	CHECK_STR(allocsnoop__error(), "a tree is by stack, function, process or thread");
	CHECK_STR(text, "");
	free(text);
	CHECK_EQ(write_by_library(p, "json", ALLOCSNOOP_BY_STACK, &text), -EINVAL);
	CHECK_STR(allocsnoop__error(), "format 'json': has no tree");
	free(text);
	profile__free(p);
}

/* What moved most comes first, be it up or down, and what didn't is summed up. */
static void test_diff_tree(void)
{
	struct allocsnoop_profile *p = tree_profile();
	struct allocsnoop_report_opts opts = { .tree = true };

	p->info.diff = true;
	for (size_t i = 0; i < p->samples.cnt; i++) {
		struct allocsnoop_sample *s = &p->samples.v[i];

		s->base_alloc_bytes = s->alloc_bytes;
		s->base_alloc_count = s->alloc_count;
	}
	check_text(p, opts, "tree_same.txt");
	p->samples.v[0].base_alloc_bytes = 20000; /* parse has grown */
	p->samples.v[4].base_alloc_bytes = 54000; /* walk has shrunk */
	p->samples.v[7].alloc_bytes = 0;	  /* parse's own pool is gone */
	profile__finish(p);
	check_text(p, opts, "tree_diff.txt");
	opts.by = ALLOCSNOOP_BY_FUNCTION;
	check_text(p, opts, "tree_diff_function.txt");
	profile__free(p);
}

/* A saved profile says when it was made; not one that doesn't know it. */
static void test_started(void)
{
	struct allocsnoop_profile *p = tree_profile();
	struct allocsnoop_report_opts opts = { 0 };
	char *text = write_text(p, opts);

	setenv("TZ", "UTC", 1);
	CHECK(!strstr(text, "\nduration "));
	free(text);
	p->info.started_ns = 1700000000999999999;
	text = write_text(p, opts);
	CHECK(strstr(text, "\nduration    not known, from 2023-11-14 22:13:20\n"));
	free(text);
	p->info.duration_ns = 2000000;
	text = write_text(p, opts);
	CHECK(strstr(text, "\nduration    2.0 ms, from 2023-11-14 22:13:20\n"));
	free(text);
	p->info.profile_cnt = 3;
	text = write_text(p, opts);
	CHECK(strstr(text, "\nduration    2.0 ms, the first from 2023-11-14 22:13:20\n"));
	free(text);
	profile__free(p);
}

/* Lines with numbers, of nodes. */
static size_t count_nodes(const char *text)
{
	size_t cnt = 0;

	for (text = strstr(text, "\n\ntree by"); text && *text; text += strspn(text, "\n")) {
		size_t len = strcspn(text, "\n");
		char *line = strndup(text, len);

		cnt += strstr(line, " %  ") && !strstr(line, " more") && !strstr(line, "[itself]");
		free(line);
		text += len;
	}
	return cnt;
}

/* A function that calls itself a thousand times, allocating on each level, and a crowd of others.
 */
static void test_deep_tree(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *stack[1001] = { frame(p, "malloc", "libc.so.6", 1) };
	char name[32], *text;

	for (size_t i = 1; i < 1000; i++) {
		snprintf(name, sizeof(name), "d%zu", i);
		stack[i] = frame(p, name, "prog", i);
	}
	/* Each level allocates, and calls two. */
	for (size_t i = 999; i > 400; i--) {
		const struct allocsnoop_frame *upper[1001] = { stack[0] };

		memcpy(upper + 1, stack + i, (1000 - i) * sizeof(*upper));
		add_row(p, 1, "deep", i, 10, 10, upper);
		upper[1] = frame(p, "side", "prog", i);
		add_row(p, 1, "deep", i + 1000, 10, 10, upper);
	}
	add_row(p, 1, "deep", 1, 5, 5, stack);
	profile__finish(p);
	for (u32 top = 0; top < 2000; top = top ? top * 4 : 1) {
		text = write_text(p,
				  (struct allocsnoop_report_opts){ .tree = true,
								   .value = ALLOCSNOOP_ALLOC_COUNT,
								   .top = top,
								   .width = 80 });
		check_lines(text, 80);
		if (top)
			CHECK_EQ(count_nodes(text), MIN(top, 1202u));
		free(text);
	}
	profile__free(p);
}

int main(void)
{
	test_fit();
	test_wrap();
	test_bar();
	test_intervals();
	test_grammar();
	test_terminal();
	test_widths();
	test_threads_and_types();
	test_places();
	test_tree();
	test_full_disk();
	test_library();
	test_diff_tree();
	test_started();
	test_deep_tree();
	return check__done();
}
