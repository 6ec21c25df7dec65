/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The saved form: whatever a profile holds comes back, member by member, and JSON says the same of
 * both. What was written is decoded by protoc and compared with tests/golden/ (GOLDEN_UPDATE=1
 * rewrites those; look at the difference before you commit it).
 */
#include <errno.h>
#include <unistd.h>

#include "live_profile.h"
#include "pprof_help.h"

/* ---- member by member ---- */

/* Names come back clean. */
static const char *clean(const char *text, struct str *s)
{
	str__clear(s);
	str__add_utf8(s, text ? text : "", text ? strlen(text) : 0, true);
	return s->s;
}

static void check_name(const char *is, const char *was)
{
	struct str s = {};

	CHECK(!is == (!was || !*was) || (is && !*is));
	CHECK_STR(is ? is : "", clean(was, &s));
	str__free(&s);
}

/* A new member belongs into the saved form, and here. */
_Static_assert(sizeof(struct allocsnoop_sample) == 328, "all of a sample is saved");
_Static_assert(sizeof(struct allocsnoop_info) == 392, "all of the info is saved");
_Static_assert(sizeof(struct allocsnoop_process) == 160, "all of a process is saved");
_Static_assert(sizeof(struct allocsnoop_frame) == 56, "all of a frame is saved");

/* clang-format off */
#define SAME(name) CHECK(is->name == was->name);
#define FRAME_NUMBERS(X) X(offset) X(line) X(inlined)
#define VALUES_OF_ROWS(X) X(alloc_count) X(alloc_bytes) X(live_count) X(live_bytes)
#define SUMS(X) \
	VALUES_OF_ROWS(X) X(freed_count) X(freed_bytes) X(exit_count) X(exit_bytes) \
	X(untracked_count) X(untracked_bytes) X(temporary_count) X(grown_count) X(grown_bytes) \
	X(base_alloc_count) X(base_alloc_bytes) X(base_live_count) X(base_live_bytes)
/* clang-format on */

static void check_frame(const struct allocsnoop_frame *is, const struct allocsnoop_frame *was)
{
	check_name(is->function, was->function);
	check_name(is->module, was->module);
	check_name(is->file, was->file);
	check_name(is->mangled, was->mangled);
	check_name(is->build_id, was->build_id);
	FRAME_NUMBERS(SAME)
}

static void check_sample(const struct allocsnoop_sample *is, const struct allocsnoop_sample *was)
{
	check_name(is->comm, was->comm);
	check_name(is->allocator, was->allocator);
	check_name(is->type, was->type);
	check_name(is->thread, was->thread);
	PPROF_ROW_NUMBERS(SAME)
	PPROF_ROW_REALS(SAME)
	VALUES_OF_ROWS(SAME)
	CHECK_EQ(is->end, was->end);
	CHECK_EQ(is->frame_cnt, was->frame_cnt);
	CHECK(!is->lifetimes == !was->lifetimes);
	if (is->lifetimes && was->lifetimes)
		CHECK(!memcmp(is->lifetimes, was->lifetimes, sizeof(*is->lifetimes)));
	for (size_t i = 0; i < MIN(is->frame_cnt, was->frame_cnt); i++)
		check_frame(is->frames[i], was->frames[i]);
}

static void check_info(const struct allocsnoop_info *is, const struct allocsnoop_info *was)
{
	CHECK_STR(is->mode, was->mode);
	check_name(is->target, was->target);
	check_name(is->base_target, was->base_target);
	PPROF_INFO_NUMBERS(SAME)
	PPROF_INFO_REALS(SAME)
	SUMS(SAME)
	CHECK(is->sampling == was->sampling);
	CHECK(is->coverage == was->coverage);
}

static void check_process(const struct allocsnoop_process *is, const struct allocsnoop_process *was)
{
	check_name(is->comm, was->comm);
	check_name(is->exe, was->exe);
	check_name(is->cgroup, was->cgroup);
	check_name(is->container, was->container);
	PPROF_PROCESS_NUMBERS(SAME)
	PPROF_PROCESS_REALS(SAME)
}

static void check_same(const struct allocsnoop_profile *is, const struct allocsnoop_profile *was)
{
	check_info(&is->info, &was->info);
	CHECK_EQ(is->samples.cnt, was->samples.cnt);
	CHECK_EQ(is->processes.cnt, was->processes.cnt);
	CHECK_EQ(is->losses.cnt, was->losses.cnt);
	CHECK_EQ(is->points.cnt, was->points.cnt);
	for (size_t i = 0; i < MIN(is->samples.cnt, was->samples.cnt); i++)
		check_sample(&is->samples.v[i], &was->samples.v[i]);
	for (size_t i = 0; i < MIN(is->processes.cnt, was->processes.cnt); i++)
		check_process(&is->processes.v[i], &was->processes.v[i]);
	for (size_t i = 0; i < MIN(is->losses.cnt, was->losses.cnt); i++) {
		check_name(is->losses.v[i].name, was->losses.v[i].name);
		check_name(is->losses.v[i].text, was->losses.v[i].text);
		CHECK(is->losses.v[i].count == was->losses.v[i].count);
	}
	for (size_t i = 0; i < MIN(is->points.cnt, was->points.cnt); i++)
		CHECK(!memcmp(&is->points.v[i], &was->points.v[i], sizeof(is->points.v[i])));
}

/* And the second time nothing changes at all. */
static void check_again(const struct allocsnoop_profile *p)
{
	struct bytes first = report_bytes(p, "pprof"), second, json[2];
	struct allocsnoop_profile *back = read_bytes(first.data, first.size);

	if (!back)
		abort();
	second = report_bytes(back, "pprof");
	CHECK(first.size == second.size && !memcmp(first.data, second.data, first.size));
	json[0] = report_bytes(p, "json");
	json[1] = report_bytes(back, "json");
	CHECK(json[0].size == json[1].size && !memcmp(json[0].data, json[1].data, json[0].size));
	free(json[0].data);
	free(json[1].data);
	free(first.data);
	free(second.data);
	profile__free(back);
}

static void check_round_trip(struct allocsnoop_profile *p)
{
	struct allocsnoop_profile *back = there_and_back(p);

	check_same(back, p);
	check_again(back); /* its names are clean */
	profile__free(back);
	profile__free(p);
}

/* ---- profiles ---- */

/* The process images' own numbers, a difference, every member of the newest. */
static struct allocsnoop_profile *diff_profile(void)
{
	struct allocsnoop_profile *p = live_profile();

	p->info.diff = true;
	p->info.base_target = "the one before";
	p->info.base_duration_ns = 77;
	p->info.filtered = true;
	p->info.all_alloc_count = UINT64_MAX;
	p->info.all_alloc_bytes = 2;
	p->info.all_live_count = 3;
	p->info.all_live_bytes = 4;
	p->info.profile_cnt = 5;
	p->info.started_ns = 1790000000123456789;
	p->info.trace = ALLOCSNOOP_TRACE_MMAP | ALLOCSNOOP_TRACE_BRK;
	p->info.older_ns = 5;
	p->info.old_ns = 7;
	for (size_t i = 0; i < p->samples.cnt; i++) {
		struct allocsnoop_sample *s = &p->samples.v[i];

		s->base_alloc_count = s->alloc_count * 2 * (i % 2);
		s->base_alloc_bytes = s->alloc_bytes * 3 * (i % 2);
		s->base_live_count = 10 * i;
		s->base_live_bytes = 1000 * i;
		s->tid = i % 3 ? 100 + (u32)i : 0;
		s->thread = i % 3 ? "worker \"1\"" : NULL;
		s->type = i % 4 ? "struct node" : NULL;
		s->at_least = i == 2;
		s->pid_cnt = 1 + (u32)i;
	}
	p->samples.v[3].base_alloc_bytes = UINT64_MAX;
	p->samples.v[4].alloc_count = p->samples.v[4].alloc_bytes = 0;
	profile__finish(p);
	return p;
}

static struct allocsnoop_profile *budget_profile(void)
{
	struct allocsnoop_profile *p = sampled_profile();

	p->info.sampling = ALLOCSNOOP_ALL;
	p->info.sampling_value = 1;
	p->info.budget_pct = 5;
	p->info.cost_pct = 4.81;
	p->info.coverage = -1;
	p->info.windows = 240;
	p->info.window_ns = 5000000;
	p->info.at_least = true;
	p->info.alloc_count_se = 12.5; /* not what the rows' variances give */
	p->info.alloc_bytes_se = 1e300;
	for (u64 i = 0; i < 5; i++)
		must(vec__push(&p->points, ((struct allocsnoop_point){ .time_ns = i * 1000000000,
								       .alloc_count = i,
								       .alloc_bytes = i << 60,
								       .live_count = 1,
								       .live_bytes = i })));
	return p;
}

static const struct allocsnoop_frame *line_frame(struct allocsnoop_profile *p, const char *function,
						 u64 offset, u32 line, bool inlined)
{
	struct allocsnoop_frame *f = (void *)frame(p, function, "/opt/prog", offset);

	f->mangled = line % 2 ? "_ZN1aIiE1bEv" : NULL;
	f->file = "/src/a.cc";
	f->line = line;
	f->inlined = inlined;
	f->build_id = "c0ffee00";
	return f;
}

/* Inlined functions at every end of a stack, files without a place, one file in two builds. */
static struct allocsnoop_profile *lines_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *a = line_frame(p, "a<int>::b()", 0x100, 1, true);
	const struct allocsnoop_frame *b = line_frame(p, "b(int)", 0x100, 2, true);
	const struct allocsnoop_frame *c = line_frame(p, "c", 0x100, 3, false);
	const struct allocsnoop_frame *d = line_frame(p, "d", 0x200, UINT32_MAX, false);
	struct allocsnoop_frame *other = (void *)line_frame(p, "d", 0x200, 9, false);
	struct allocsnoop_frame *nowhere = (void *)frame(p, "[unknown]", "", 0xffff800000001234);
	const struct allocsnoop_frame *far = frame(p, "far", "/opt/far", 1ull << 40);
	const struct allocsnoop_frame *zero = frame(p, "zero", "/opt/far", 0);

	other->build_id = "deadbeef";
	nowhere->build_id = "0123";
	add_row(p, 1, "x", 1, 1, 10, FRAMES(m, a, b, c, d));
	add_row(p, 1, "x", 2, 1, 11, FRAMES(a, b, c, a, c, c, d));
	add_row(p, 1, "x", 3, 1, 12, FRAMES(m, d, a, b));
	add_row(p, 1, "x", 4, 1, 13, FRAMES(m, a, d, b, nowhere, a));
	add_row(p, 1, "x", 5, 1, 14, FRAMES(c, other, far, zero, c, m, nowhere));
	add_row(p, 1, "x", 6, 1, 15, FRAMES(zero, zero, far));
	profile__finish(p);
	return p;
}

static void test_round_trips(void)
{
	check_round_trip(live_profile());
	check_round_trip(sampled_live_profile());
	check_round_trip(hostile_profile());
	check_round_trip(sampled_profile());
	check_round_trip(crowd_profile(true));
	check_round_trip(crowd_profile(false));
	check_round_trip(diff_profile());
	check_round_trip(budget_profile());
	check_round_trip(lines_profile());
	check_round_trip(profile__new());
}

/* Rows of one stack share its frames, and stacks their places. */
static void test_sharing(void)
{
	struct allocsnoop_profile *p = profile__new(), *back;
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);

	for (u32 i = 0; i < 100; i++)
		add_row(p, 1 + i, "x", 1, 1, 10, FRAMES(m, frame(p, "main", "/opt/prog", 7)));
	back = there_and_back(p);
	CHECK_EQ(back->samples.cnt, 100);
	for (u32 i = 1; i < 100; i++)
		CHECK(back->samples.v[i].frames == back->samples.v[0].frames);
	profile__free(back);
	profile__free(p);
}

/* ---- what is in the file ---- */

static struct bytes decoded(const struct allocsnoop_profile *p)
{
	char path[] = "/tmp/pprof_test.XXXXXX", command[256];
	struct bytes b = report_bytes(p, "pprof"), text = {};
	FILE *out = fdopen(mkstemp(path), "w"), *in, *to;
	int c;

	fwrite(b.data, 1, b.size, out);
	fclose(out);
	free(b.data);
	snprintf(command, sizeof(command),
		 "gzip -dc %s | protoc --decode=pb.Profile -Isrc/pprof profile.proto", path);
	in = popen(command, "r");
	to = open_memstream(&text.data, &text.size);
	while ((c = fgetc(in)) != EOF)
		fputc(c, to);
	CHECK_EQ(pclose(in), 0);
	fclose(to);
	unlink(path);
	return text;
}

static void check_golden(const char *path, struct allocsnoop_profile *p)
{
	struct bytes is = decoded(p), want = {};
	FILE *file = fopen(path, getenv("GOLDEN_UPDATE") ? "w+" : "r"), *to;
	int c;

	if (!file) {
		perror(path);
		abort();
	}
	if (getenv("GOLDEN_UPDATE"))
		fwrite(is.data, 1, is.size, file);
	rewind(file);
	to = open_memstream(&want.data, &want.size);
	while ((c = fgetc(file)) != EOF)
		fputc(c, to);
	fclose(to);
	fclose(file);
	if (want.size != is.size || memcmp(want.data, is.data, is.size)) {
		check_failures++;
		fprintf(stderr, "%s differs; got:\n%s", path, is.data);
	}
	free(is.data);
	free(want.data);
	profile__free(p);
}

static void test_golden(void)
{
	check_golden("tests/golden/lines.pprof", lines_profile());
	check_golden("tests/golden/sampled_live.pprof", sampled_live_profile());
	check_golden("tests/golden/hostile.pprof", hostile_profile());
}

/* A full disk: one clear line. */
static void test_full_disk(void)
{
	struct allocsnoop_profile *p = live_profile();
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts), .format = "pprof" };
	FILE *out = fopen("/dev/full", "w");

	CHECK_EQ(allocsnoop_profile__write(p, &opts, out), -ENOSPC);
	CHECK_STR(allocsnoop__error(), "cannot write the report: No space left on device");
	fclose(out);
	profile__free(p);
}

int main(void)
{
	test_round_trips();
	test_sharing();
	test_golden();
	test_full_disk();
	return check__done();
}
