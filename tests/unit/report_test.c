/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writers on a hostile profile. Text, folded and JSON are compared byte for byte with
 * tests/golden/ (GOLDEN_UPDATE=1 rewrites those; look at the difference before you commit it); what
 * they promise is checked by somebody else: JSON by jq, UTF-8 by iconv(3), folded by its grammar.
 */
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "check.h"
#include "comma_locale.h"
#include "golden.h"
#include "live_profile.h"
#include "report/writer.h"

/* As the library does it: group, sort, write. */
static struct report write_with(const struct allocsnoop_profile *p,
				struct allocsnoop_report_opts opts)
{
	struct allocsnoop_profile *g = profile__group(p, opts.by);
	struct report r = { 0 };
	FILE *out = open_memstream(&r.text, &r.size);

	profile__sort(g, opts.value);
	CHECK_EQ(writer__find(opts.format)->write(g, &opts, out), 0);
	fclose(out);
	profile__free(g);
	return r;
}

static struct report write_report(const struct allocsnoop_profile *p, const char *format,
				  enum allocsnoop_by by, enum allocsnoop_value value, u32 top)
{
	return write_with(p, (struct allocsnoop_report_opts){
				     .format = format, .value = value, .by = by, .top = top });
}

/* ---- what holds for every report ---- */

static void check_utf8(const struct report *r)
{
	iconv_t cd = iconv_open("UTF-32LE", "UTF-8");
	char *in = r->text, *buf = malloc(r->size * 4 + 16), *out = buf;
	size_t in_left = r->size, out_left = r->size * 4 + 16;

	CHECK(cd != (iconv_t)-1 && buf);
	CHECK(iconv(cd, &in, &in_left, &out, &out_left) != (size_t)-1 && !in_left);
	iconv_close(cd);
	free(buf);
}

/* Nothing that a terminal obeys, apart from the end of a line. */
static void check_printable(const struct report *r)
{
	for (size_t i = 0; i < r->size; i++) {
		u8 c = (u8)r->text[i], next = i + 1 < r->size ? (u8)r->text[i + 1] : 0;

		CHECK(c == '\n' || (c >= 0x20 && c != 0x7f));
		CHECK(!(c == 0xc2 && next < 0xa0));
	}
}

static void check_report(const struct allocsnoop_profile *p, const char *format,
			 enum allocsnoop_by by, const char *golden)
{
	struct report r = write_report(p, format, by, ALLOCSNOOP_ALLOC_BYTES, 0);

	check_utf8(&r);
	check_printable(&r);
	check_golden(golden, &r);
	free(r.text);
}

static const struct {
	const char *format;
	enum allocsnoop_by by;
	const char *golden;
} reports[] = {
	{ "text", ALLOCSNOOP_BY_STACK, "stack.txt" },
	{ "text", ALLOCSNOOP_BY_FUNCTION, "function.txt" },
	{ "text", ALLOCSNOOP_BY_FILE, "file.txt" },
	{ "text", ALLOCSNOOP_BY_PROCESS, "process.txt" },
	{ "text", ALLOCSNOOP_BY_SIZE, "size.txt" },
	{ "folded", ALLOCSNOOP_BY_STACK, "stack.folded" },
	{ "folded", ALLOCSNOOP_BY_PROCESS, "process.folded" },
	{ "folded", ALLOCSNOOP_BY_SIZE, "size.folded" },
	{ "json", ALLOCSNOOP_BY_STACK, "stack.json" },
	{ "json", ALLOCSNOOP_BY_PROCESS, "process.json" },
	{ "json", ALLOCSNOOP_BY_FUNCTION, "function.json" },
};

static void test_reports(void)
{
	struct allocsnoop_profile *p = hostile_profile();

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		check_report(p, reports[i].format, reports[i].by, reports[i].golden);
	profile__free(p);
}

static void test_sampled(void)
{
	struct allocsnoop_profile *p = sampled_profile();

	check_report(p, "text", ALLOCSNOOP_BY_STACK, "sampled.txt");
	check_report(p, "json", ALLOCSNOOP_BY_STACK, "sampled.json");
	profile__free(p);
}

static void test_crowd(void)
{
	struct allocsnoop_profile *p = crowd_profile(true);
	struct report r;
	const char *rows;

	check_report(p, "text", ALLOCSNOOP_BY_FUNCTION, "crowd.txt");
	check_report(p, "text", ALLOCSNOOP_BY_PROCESS, "crowd_process.txt");
	check_report(p, "json", ALLOCSNOOP_BY_FUNCTION, "crowd.json");
	r = write_report(p, "text", ALLOCSNOOP_BY_SIZE, ALLOCSNOOP_ALLOC_COUNT, 2);
	rows = strstr(r.text, "processes by number of allocations, the first 2 of 6:");
	CHECK(rows && strstr(rows, "redis (pid 21, exited)") < strstr(rows, "nginx (pid 20)"));
	free(r.text);
	profile__free(p);
	p = crowd_profile(false);
	check_report(p, "text", ALLOCSNOOP_BY_FUNCTION, "crowd_sampled.txt");
	check_report(p, "json", ALLOCSNOOP_BY_FUNCTION, "crowd_sampled.json");
	for (size_t i = 0; i < p->processes.cnt; i++)
		p->processes.v[i].at_least = true;
	r = write_report(p, "text", ALLOCSNOOP_BY_FUNCTION, ALLOCSNOOP_ALLOC_BYTES, 0);
	rows = strstr(r.text, "processes by allocated bytes");
	CHECK(rows && strstr(rows, "at least") && !strstr(rows, "±"));
	free(r.text);
	profile__free(p);
}

/* --max-overhead: counted all the time, in windows, and where windows say little. */
static void test_budget(void)
{
	struct allocsnoop_profile *p = sampled_profile();

	p->info.sampling = ALLOCSNOOP_ALL;
	p->info.sampling_value = 1;
	p->info.budget_pct = 5;
	p->info.cost_pct = 4.81;
	p->info.coverage = 0.1234;
	p->info.windows = 240;
	p->info.window_ns = 5000000;
	check_report(p, "text", ALLOCSNOOP_BY_STACK, "budget.txt");
	p->info.at_least = p->samples.v[1].at_least = true;
	p->info.coverage = -1;
	check_report(p, "text", ALLOCSNOOP_BY_STACK, "budget_at_least.txt");
	check_report(p, "json", ALLOCSNOOP_BY_STACK, "budget_at_least.json");
	profile__free(p);
	p = hostile_profile();
	p->info.budget_pct = 5;
	p->info.coverage = 1;
	check_report(p, "text", ALLOCSNOOP_BY_SIZE, "budget_exact.txt");
	profile__free(p);
}

static void test_empty(void)
{
	struct allocsnoop_profile *p = profile__new();

	check_report(p, "text", ALLOCSNOOP_BY_STACK, "empty.txt");
	check_report(p, "json", ALLOCSNOOP_BY_STACK, "empty.json");
	check_report(p, "folded", ALLOCSNOOP_BY_STACK, "empty.folded");
	profile__free(p);
}

static void test_top(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct report r = write_report(p, "text", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_ALLOC_COUNT, 2);

	check_golden("top.txt", &r);
	CHECK(strstr(r.text, "the first 2 of 10"));
	CHECK(strstr(r.text, "8 more rows not shown"));
	free(r.text);
	profile__free(p);
}

/* An interpreter's stack: three functions that take turns, and one that calls itself. */
static void test_recursion(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *f[100] = { frame(p, "malloc", "libc.so.6", 1) };
	static const char *const turns[] = { "eval", "call", "vector" };
	struct report r;

	for (size_t i = 0; i < 60; i++)
		f[1 + i] = frame(p, turns[i % 3], "/usr/bin/python3", i);
	for (size_t i = 0; i < 30; i++)
		f[61 + i] = frame(p, "walk", "/usr/bin/python3", i);
	f[91] = frame(p, "eval", "/usr/bin/python3", 0); /* twice isn't worth a mark */
	f[92] = frame(p, "main", "/usr/bin/python3", 0);
	f[93] = frame(p, "eval", "/usr/bin/python3", 0);
	f[94] = frame(p, "main", "/usr/bin/python3", 0);
	add_row(p, 1, "python3", 1, 1, 1, f);
	profile__finish(p);
	r = write_report(p, "text", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_ALLOC_BYTES, 0);
	check_golden("recursion.txt", &r);
	CHECK(strstr(r.text, "[these 3 frames x 20]\n"));
	CHECK(strstr(r.text, " walk x 30 "));
	free(r.text);
	profile__free(p);
}

/* ---- mode live ---- */

static const struct {
	struct allocsnoop_report_opts opts;
	const char *golden;
} live_reports[] = {
	{ { .format = "text", .value = ALLOCSNOOP_LIVE_BYTES }, "live.txt" },
	{ { .format = "text", .value = ALLOCSNOOP_PEAK_BYTES, .top = 2 }, "live_peak.txt" },
	{ { .format = "text", .value = ALLOCSNOOP_GROWN_BYTES, .by = ALLOCSNOOP_BY_FUNCTION },
	  "live_grown.txt" },
	{ { .format = "text", .value = ALLOCSNOOP_TEMPORARY_COUNT, .by = ALLOCSNOOP_BY_FILE },
	  "live_temporary.txt" },
	{ { .format = "text", .value = ALLOCSNOOP_ALLOC_BYTES, .by = ALLOCSNOOP_BY_PROCESS },
	  "live_process.txt" },
	{ { .format = "text", .value = ALLOCSNOOP_LIVE_COUNT, .by = ALLOCSNOOP_BY_SIZE },
	  "live_size.txt" },
	{ { .format = "json", .value = ALLOCSNOOP_LIVE_BYTES }, "live.json" },
	{ { .format = "folded", .value = ALLOCSNOOP_LIVE_BYTES }, "live.folded" },
	{ { .format = "folded", .value = ALLOCSNOOP_PEAK_BYTES }, "live_peak.folded" },
	{ { .format = "folded", .value = ALLOCSNOOP_GROWN_BYTES }, "live_grown.folded" },
	{ { .format = "folded", .value = ALLOCSNOOP_TEMPORARY_COUNT }, "live_temporary.folded" },
};

static void check_live_report(const struct allocsnoop_profile *p,
			      struct allocsnoop_report_opts opts, const char *golden)
{
	struct report r = write_with(p, opts);

	check_utf8(&r);
	check_printable(&r);
	check_golden(golden, &r);
	free(r.text);
}

static void test_live(void)
{
	struct allocsnoop_profile *p = live_profile();

	for (size_t i = 0; i < ARRAY_SIZE(live_reports); i++)
		check_live_report(p, live_reports[i].opts, live_reports[i].golden);
	profile__free(p);
	p = sampled_live_profile();
	check_live_report(p, live_reports[0].opts, "live_sampled.txt");
	check_live_report(p, live_reports[6].opts, "live_sampled.json");
	profile__free(p);
}

/* What lies between the line that begins with `from` and the next empty line before a title. */
static char *section(const struct report *r, const char *from)
{
	char *start = strstr(r->text, from), *end = start;

	while (end && (end = strchr(end, '\n')) && !(end[1] == '\n' && end[2] != ' '))
		end++;
	return start && end ? strndup(start, end - start) : strdup("");
}

/* Nothing is taken for a leak that is none. */
static void test_no_false_leaks(void)
{
	static const char *const innocent[] = { "format", "table_new", "late", "GC_malloc" };
	struct allocsnoop_profile *p = live_profile();
	struct report r = write_with(p, live_reports[0].opts);
	char *live = section(&r, "\nstacks by live bytes"), *at_exit;

	CHECK(strstr(live, "remember") && strstr(live, "cache_fill"));
	for (size_t i = 0; i < ARRAY_SIZE(innocent); i++)
		CHECK(!strstr(live, innocent[i]));
	at_exit = section(&r, "\nstacks by bytes not freed before exit");
	CHECK(strstr(at_exit, "table_new") && strstr(at_exit, "late"));
	CHECK(!strstr(at_exit, "remember"));
	free(live);
	free(at_exit);
	free(r.text);
	profile__free(p);
}

/* Without any live block, peak, growth or exit there is no section, and no division by zero. */
static void test_nothing_live(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "libc.so.6", 1);
	struct report r;

	p->info.mode = "live";
	add_fate(p, (struct fate){ .pid = 1, .comm = "x", .size = 8, .freed = 5 }, FRAMES(m));
	profile__finish(p);
	r = write_with(p, live_reports[0].opts);
	CHECK(strstr(r.text, "\nstacks by live bytes: none\n  1 more row not shown: 40 B in 5"));
	CHECK(!strstr(r.text, "not freed") && !strstr(r.text, "growth") && !strstr(r.text, "peak"));
	CHECK(!strstr(r.text, "processes by live bytes"));
	free(r.text);
	profile__free(p);
}

/* A hostile profile has the same numbers as a tame one. */
static void test_live_hostile(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct allocsnoop_lifetimes ends = { .freed = { 2, [47] = 2 }, .live = { [47] = 9 } };
	struct report r;

	p->info.mode = "live";
	p->samples.v[0].lifetimes = &ends;
	for (size_t i = 0; i < p->samples.cnt; i++) {
		p->samples.v[i].live_count = i;
		p->samples.v[i].live_bytes = i * 1000;
		p->samples.v[i].grown_bytes = i % 2 ? INT64_MAX : INT64_MIN;
	}
	p->info.grown = true;
	profile__finish(p);
	r = write_report(p, "text", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_LIVE_BYTES, 3);
	check_printable(&r);
	check_golden("live_hostile.txt", &r);
	CHECK(strstr(r.text, "of freed blocks: 50.0 % < 1.0 us, the rest >= 9.8 h\n"));
	CHECK(strstr(r.text, "of blocks not freed: all >= 9.8 h\n"));
	free(r.text);
	r = write_report(p, "folded", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_LIVE_COUNT, 0);
	CHECK(strstr(r.text, "main;deep_rec;deep_rec;deep_rec;deep_rec;malloc 2\n"));
	free(r.text);
	profile__free(p);
}

/* ---- folded ---- */

/* What flamegraph.pl takes for a value: the digits after the last blank. Cuts it off. */
static bool cut_value(char *line, u64 *value)
{
	char *space = strrchr(line, ' ');
	size_t digits;

	if (!space)
		return false;
	digits = strspn(space + 1, "0123456789");
	if (!digits)
		return false;
	*value = strtoull(space + 1, NULL, 10);
	if (space[1 + digits] == '.')
		digits += 1 + strspn(space + 2 + digits, "0123456789");
	if (space[1 + digits])
		return false;
	*space = '\0';
	return true;
}

static u64 check_folded_line(char *line)
{
	u64 value = 0, second;
	size_t len = strlen(line);

	CHECK(len && line[len - 1] >= '0' && line[len - 1] <= '9');
	CHECK(cut_value(line, &value));
	CHECK(value > 0);
	CHECK(!cut_value(line, &second)); /* would read as a difference of two profiles */
	CHECK(*line && *line != ';' && !strstr(line, ";;") && line[strlen(line) - 1] != ';');
	return value;
}

static void test_folded(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct report r = write_report(p, "folded", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_ALLOC_BYTES, 0);
	u64 sum = 0;
	size_t lines = 0;

	CHECK(strstr(r.text, "rec;[truncated];deep_rec;deep_rec;malloc 100\n"));
	CHECK(strstr(r.text, "rec;[no-table];NNNN"));
	CHECK(strstr(r.text, "[unknown];[lost];malloc 80\n"));
	CHECK(strstr(
		r.text,
		"std::vector<int>::push_back(int&&);operator new(unsigned long);malloc 2000\n"));
	for (char *line = strtok(r.text, "\n"); line; line = strtok(NULL, "\n")) {
		sum += check_folded_line(line);
		lines++;
	}
	CHECK(sum == p->info.alloc_bytes);
	CHECK_EQ(lines, 8); /* 10 rows: one of value 0, two with equal names */
	free(r.text);
	profile__free(p);
}

/* ---- JSON ---- */

static void check_jq(const char *path, const char *filter, const char *want)
{
	char command[4096], got[4096] = "";
	FILE *pipe;
	size_t len;

	snprintf(command, sizeof(command), "jq -rc '%s' %s", filter, path);
	pipe = popen(command, "r");
	len = fread(got, 1, sizeof(got) - 1, pipe);
	CHECK_EQ(pclose(pipe), 0);
	if (len && got[len - 1] == '\n')
		got[len - 1] = '\0';
	if (strcmp(got, want)) {
		check_failures++;
		fprintf(stderr, "jq '%s' says '%s', not '%s'\n", filter, got, want);
	}
}

static void check_json_values(const char *path)
{
	check_jq(path, ".allocsnoop, .mode, .exact, .sampling, .duration_ns, .events",
		 "1\nalloc\ntrue\n{\"kind\":\"all\",\"value\":1}\n12345678901\n26");
	check_jq(path, ".totals | .alloc_count, .alloc_count_se, .failed_count", "25\n0\n2");
	check_jq(path, ".losses | keys", "[\"ring\\\"full\",\"stack_not_stored\"]");
	check_jq(path, ".processes[0] | [.pid, .exited, .exe]", "[10,true,\"/opt/\\n\"]");
	check_jq(path, ".stacks | length", "10");
	check_jq(path, ".stacks[0] | [.pid, .pids, .truncated, .end, .type, .allocator]",
		 "[0,2,false,\"complete\",\"\",\"malloc\"]");
	check_jq(path, ".stacks[0].comm", "ev;il\n\x1b[31m \"q\" \\ \xef\xbf\xbd</script>");
	check_jq(path, ".stacks[0].frames[1] | .function, .file, .line",
		 "f<\"a\\b\">;g\r\n\x1b]0;t\x07\x7f\xc2\x9b"
		 "31m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
		 "\xe2\x82\xac</script>\nnull\n0");
	check_jq(path, "[.stacks[] | select(.truncated) | .end] | sort",
		 "[\"anonymous\",\"lost\",\"no-table\",\"truncated\"]");
	check_jq(path,
		 ".stacks[] | select(.type != \"\") | .type, .frames[1].line, .frames[1].file",
		 "struct \"node\"\n42\n/src/über/vec.cc");
	check_jq(path, "[.stacks[].frames[].function | length] | max", "5000");
	check_jq(path, "[.stacks[].alloc_count] | add", "25");
	check_jq(path, "[.. | numbers | select(. < 0)] | length", "0");
}

static bool have_jq(void)
{
	return system("command -v jq >/dev/null 2>&1") == 0;
}

static void test_json(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct report r = write_report(p, "json", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_ALLOC_BYTES, 0);
	char path[] = "/tmp/allocsnoop-report-XXXXXX";
	int fd = mkstemp(path);

	/* jq reads numbers as doubles; these must be right to the last digit. */
	CHECK(strstr(r.text, "\"alloc_bytes\": 9223372036854779809, \"live_count\""));
	CHECK(strstr(r.text, "\"offset\": 18446744073709551615,"));
	CHECK(strstr(r.text, "\"ring\\\"full\": 18446744073709551615"));
	if (fd >= 0)
		close(fd);
	write_file(path, &r);
	check_json_values(path);
	unlink(path);
	free(r.text);
	profile__free(p);
}

/* Every block is in one of four places, in each row and in all; and processes are what rows are. */
static void check_live_json_values(const char *path)
{
	check_jq(path,
		 "[.totals, .stacks[] | .alloc_count == .live_count + .freed_count + .exit_count + "
		 ".untracked_count and .alloc_bytes == .live_bytes + .freed_bytes + .exit_bytes + "
		 ".untracked_bytes] | all, length",
		 "true\n8");
	check_jq(
		path,
		"(.totals | keys - [\"alloc_count_se\", \"alloc_bytes_se\", \"live_count_se\", "
		"\"live_bytes_se\", \"failed_count\", \"unknown_frees\", \"older_ns\", \"old_ns\", "
		"\"grown\"]) as $keys | . as $all | [$keys[] | . as $key | "
		"([$all.stacks[][$key]] | add) == $all.totals[$key]] | all, length",
		"true\n14");
	check_jq(path,
		 "[.stacks[] | ([.lifetimes[][1]] | add // 0) == .freed_count and "
		 "([.lifetimes[][2]] | add // 0) == .live_count] | all",
		 "true");
	check_jq(path, "[.stacks[] | select(.collected) | .allocator, .live_count]",
		 "[\"GC_malloc\",0]");
	check_jq(path, "([.processes[].peak_bytes] | add) - ([.stacks[].peak_bytes] | add)", "0");
	check_jq(path, ".stacks[0] | [.grown_bytes, .freed_mean_ns, .live_mean_ns, .lifetimes]",
		 "[122880,5000,50000000000,[[12,1000,0],[35,0,3000],[36,0,1000]]]");
	check_jq(path, "[.processes[0] | .live_count, .peak_ns, .rss_anon, .unknown_frees]",
		 "[3016,7300000000,41943040,12]");
}

static void test_live_json(void)
{
	struct allocsnoop_profile *p = live_profile();
	struct report r = write_with(p, (struct allocsnoop_report_opts){
						.format = "json", .value = ALLOCSNOOP_LIVE_BYTES });
	char path[] = "/tmp/allocsnoop-report-XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	write_file(path, &r);
	check_live_json_values(path);
	unlink(path);
	free(r.text);
	profile__free(p);
}

static void test_json_reals(void)
{
	struct allocsnoop_profile *p = sampled_profile();
	struct report r;

	p->samples.v[0].alloc_bytes_var = INFINITY;
	p->samples.v[1].alloc_bytes_var = NAN;
	r = write_report(p, "json", ALLOCSNOOP_BY_STACK, ALLOCSNOOP_ALLOC_BYTES, 0);
	CHECK(strstr(r.text, "{\"kind\": \"rate\", \"value\": 0.01}"));
	CHECK(strstr(r.text, "\"alloc_bytes_se\": null}"));
	CHECK(!strstr(r.text, "inf") && !strstr(r.text, "nan"));
	free(r.text);
	profile__free(p);
}

/* ---- surroundings ---- */

static void test_locale(void)
{
	char dir[] = "/tmp/allocsnoop-locale-XXXXXX", number[16], command[64];

	if (!mkdtemp(dir))
		abort();
	if (set_comma_locale(dir)) {
		snprintf(number, sizeof(number), "%.1f", 1.5);
		CHECK_STR(number, "1,5"); /* else the comparison below means nothing */
		test_reports();
		test_sampled();
		test_json_reals();
		snprintf(number, sizeof(number), "%.1f", 1.5);
		CHECK_STR(number, "1,5"); /* the caller's locale was given back */
	} else {
		puts("no locale de_DE.UTF-8: reports under a decimal comma not checked");
	}
	setlocale(LC_ALL, "C");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_EQ(system(command), 0);
}

static bool needs_live(const char *format)
{
	static const char *const formats[] = { "dhat", "heaptrack", "massif" };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!strcmp(formats[i], format))
			return true;
	}
	return false;
}

static void check_full(const char *format, size_t buf_size)
{
	const struct allocsnoop_report_opts opts = { .sz = sizeof(opts) };
	struct allocsnoop_profile *p = needs_live(format) ? live_profile() : hostile_profile();
	FILE *out = fopen("/dev/full", "w");

	setvbuf(out, NULL, buf_size ? _IOFBF : _IONBF, buf_size);
	CHECK_EQ(writer__find(format)->write(p, &opts, out), -ENOSPC);
	CHECK_STR(err__msg(), "cannot write the report: No space left on device");
	fclose(out);
	profile__free(p);
}

static void test_full_disk(void)
{
	for (size_t i = 0; writers[i]; i++) {
		check_full(writers[i]->name, 0);
		check_full(writers[i]->name, 4096);
		check_full(writers[i]->name, 1 << 20);
	}
}

static void test_find(void)
{
	CHECK(writer__find("text") == &writer_text);
	CHECK(writer__find("folded") == &writer_folded);
	CHECK(writer__find("json") == &writer_json);
	CHECK(!writer__find("pprofx") && !writer__find(""));
}

int main(void)
{
	test_find();
	test_reports();
	test_sampled();
	test_crowd();
	test_budget();
	test_empty();
	test_top();
	test_recursion();
	test_live();
	test_no_false_leaks();
	test_nothing_live();
	test_live_hostile();
	test_folded();
	test_json_reals();
	test_full_disk();
	test_locale();
	if (have_jq()) {
		test_json();
		test_live_json();
	} else {
		puts("jq is not installed: JSON not checked");
	}
	if (!check_failures && !have_jq())
		return 77;
	return check__done();
}
