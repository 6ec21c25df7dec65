/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats of other tools, on profiles made by hand. They are compared byte for byte with
 * tests/golden/ (GOLDEN_UPDATE=1 rewrites those; look at the difference before you commit it), and
 * read again: JSON by jq, XML by xmllint, CSV and heap profiles by the grammars they must keep.
 */
#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
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

static struct report write_report(const struct allocsnoop_profile *p, const char *format)
{
	return write_with(p, (struct allocsnoop_report_opts){ .format = format });
}

/* ---- profiles ---- */

/* More, less, the same, new and gone, in a tree of two branches. */
static struct allocsnoop_profile *diff_profile(void)
{
	static const struct {
		const char *name;
		u64 now, before;
	} rows[] = {
		{ "more", 3000, 1000 }, { "less", 500, 4000 }, { "same", 700, 700 },
		{ "new", 2000, 0 },	{ "gone", 0, 900 },
	};
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/prog", 0x1000);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct allocsnoop_frame *f = frame(p, rows[i].name, "/opt/prog", 0x2000 + i);
		struct allocsnoop_sample *s = add_row(p, 7, "prog", i + 1, rows[i].now / 100,
						      rows[i].now, FRAMES(m, f, root));

		s->base_alloc_count = rows[i].before / 100;
		s->base_alloc_bytes = rows[i].before;
	}
	add_process(p, 7, "prog", "/opt/prog");
	p->info.target = "prog (pid 7)";
	p->info.base_target = "prog (pid 6)";
	p->info.diff = true;
	profile__finish(p);
	return p;
}

/* What only these formats must be afraid of. */
static struct allocsnoop_profile *nasty_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *formula =
		frame(p, "=cmd|' /C calc'!A1", "/tmp/x'y'$(touch pwned).so", 0x10);
	const struct allocsnoop_frame *semicolon = frame(p, "a;=b;+c,\"d\"", "/tmp/plain.so", 0x10);
	const struct allocsnoop_frame *same_place = frame(p, "other", "/tmp/plain.so", 0x10);
	const struct allocsnoop_frame *nonchars =
		frame(p, "\xef\xbf\xbe|\xef\xbf\xbf|]]>&'\"", "/tmp/\xc2\xa0.so", 0x20);
	struct allocsnoop_frame *minus =
		(void *)frame(p, "operator--(X&, int)", "/tmp/plain.so", 0x30);
	struct allocsnoop_frame *inner = (void *)frame(p, "-[Object new]", "/tmp/plain.so", 0x30);
	struct allocsnoop_sample *s;

	minus->inlined = inner->inlined = true;
	s = add_row(p, 1, "-comm", 1, 1, 10, FRAMES(m, formula, semicolon));
	s->type = arena__intern(&p->arena, "+type");
	s->thread = arena__intern(&p->arena, "@thread");
	s->tid = 11;
	add_row(p, 1, "-comm", 2, 2, 20, FRAMES(m, same_place, nonchars));
	add_row(p, 1, "-comm", 3, 3, 30,
		FRAMES(m, inner, minus, frame(p, "outer-", "/tmp/plain.so", 0x30), same_place));
	add_row(p, 1, "\xe3\x83\xa1\xe3\x83\xa2\xe3\x83\xaa", 4, 4, 0, FRAMES(m));
	add_process(p, 1, "-comm", "/opt/x y");
	p->info.target = "<target> & \"more\"";
	profile__finish(p);
	return p;
}

enum made { HOSTILE, SAMPLED, LIVE, SAMPLED_LIVE, DIFF, NASTY, EMPTY };

static struct allocsnoop_profile *make(enum made which)
{
	switch (which) {
	case HOSTILE:
		return hostile_profile();
	case SAMPLED:
		return sampled_profile();
	case LIVE:
		return live_profile();
	case SAMPLED_LIVE:
		return sampled_live_profile();
	case DIFF:
		return diff_profile();
	case NASTY:
		return nasty_profile();
	case EMPTY:
		break;
	}
	return profile__new();
}

#define IN(f, v, b)                                                           \
	{                                                                     \
		.format = f, .value = ALLOCSNOOP_##v, .by = ALLOCSNOOP_BY_##b \
	}

static const struct {
	enum made profile;
	struct allocsnoop_report_opts opts;
	const char *golden;
} reports[] = {
	{ HOSTILE, IN("speedscope", ALLOC_BYTES, STACK), "stack.speedscope.json" },
	{ LIVE, IN("speedscope", LIVE_BYTES, STACK), "live.speedscope.json" },
	{ SAMPLED_LIVE, IN("speedscope", PEAK_BYTES, PROCESS), "live_sampled.speedscope.json" },
	{ DIFF, IN("speedscope", ALLOC_COUNT, STACK), "diff.speedscope.json" },
	{ NASTY, IN("speedscope", ALLOC_COUNT, THREAD), "nasty.speedscope.json" },
	{ EMPTY, IN("speedscope", ALLOC_BYTES, STACK), "empty.speedscope.json" },
	{ HOSTILE, IN("svg", ALLOC_BYTES, STACK), "stack.svg" },
	{ SAMPLED, IN("svg", ALLOC_COUNT, STACK), "sampled.svg" },
	{ LIVE, IN("svg", LIVE_BYTES, PROCESS), "live.svg" },
	{ DIFF, IN("svg", ALLOC_BYTES, STACK), "diff.svg" },
	{ NASTY, IN("svg", ALLOC_BYTES, STACK), "nasty.svg" },
	{ EMPTY, IN("svg", ALLOC_BYTES, STACK), "empty.svg" },
	{ HOSTILE, IN("csv", ALLOC_BYTES, STACK), "stack.csv" },
	{ HOSTILE, IN("csv", ALLOC_BYTES, FUNCTION), "function.csv" },
	{ HOSTILE, IN("csv", ALLOC_BYTES, FILE), "file.csv" },
	{ HOSTILE, IN("csv", ALLOC_BYTES, SIZE), "size.csv" },
	{ LIVE, IN("csv", LIVE_BYTES, STACK), "live.csv" },
	{ SAMPLED_LIVE, IN("csv", LIVE_BYTES, STACK), "live_sampled.csv" },
	{ DIFF, IN("csv", ALLOC_BYTES, STACK), "diff.csv" },
	{ NASTY, IN("csv", ALLOC_BYTES, THREAD), "nasty.csv" },
	{ EMPTY, IN("csv", ALLOC_BYTES, STACK), "empty.csv" },
	{ HOSTILE, IN("jeprof", ALLOC_BYTES, STACK), "stack.heap" },
	{ HOSTILE, IN("jeprof", ALLOC_BYTES, FUNCTION), "function.heap" },
	{ LIVE, IN("jeprof", LIVE_BYTES, STACK), "live.heap" },
	{ SAMPLED, IN("jeprof", ALLOC_BYTES, STACK), "sampled.heap" },
	{ NASTY, IN("jeprof", ALLOC_BYTES, THREAD), "nasty.heap" },
	{ EMPTY, IN("jeprof", ALLOC_BYTES, STACK), "empty.heap" },
};

/* Nothing that a terminal obeys, apart from the ends of lines. */
static void check_printable(const struct report *r)
{
	for (size_t i = 0; i < r->size; i++) {
		u8 c = (u8)r->text[i], next = i + 1 < r->size ? (u8)r->text[i + 1] : 0;

		CHECK(c == '\n' || (c == '\r' && next == '\n') || (c >= 0x20 && c != 0x7f));
		CHECK(!(c == 0xc2 && next < 0xa0));
	}
}

static void test_golden(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		struct allocsnoop_profile *p = make(reports[i].profile);
		struct report r = write_with(p, reports[i].opts);

		check_printable(&r);
		check_golden(reports[i].golden, &r);
		free(r.text);
		profile__free(p);
	}
}

/* ---- tools ---- */

static bool have(const char *tool)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
	return system(command) == 0;
}

/* What the command prints about the report, without the last end of a line. */
static char *tell(const struct report *r, const char *command)
{
	char path[] = "/tmp/allocsnoop-formats-XXXXXX", line[4096];
	struct report said = { 0 };
	FILE *pipe, *out = open_memstream(&said.text, &said.size);
	int c, fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	write_file(path, r);
	snprintf(line, sizeof(line), "%s %s", command, path);
	pipe = popen(line, "r");
	while (pipe && (c = fgetc(pipe)) != EOF)
		fputc(c, out);
	CHECK_EQ(pclose(pipe), 0);
	fclose(out);
	unlink(path);
	if (said.size && said.text[said.size - 1] == '\n')
		said.text[said.size - 1] = '\0';
	return said.text;
}

static void check_tells(const struct report *r, const char *command, const char *want)
{
	char *said = tell(r, command);

	CHECK_STR(said, want);
	free(said);
}

/* ---- speedscope ---- */

#define SOUND                                                                                  \
	"jq -c '(.shared.frames | length) as $n | [.profiles[] | "                             \
	"(.samples | length) == (.weights | length), (.weights | add // 0) == .endValue, "     \
	"([.samples[][] | select(. < 0 or . >= $n)] | length) == 0, .startValue == 0, "        \
	"([.samples[] | length] | min // 1) > 0, ([.weights[] | select(. <= 0)] | length) == " \
	"0] | all'"

static void test_speedscope(void)
{
	char end[64];
	struct allocsnoop_profile *p = live_profile();
	struct report r =
		write_with(p, (struct allocsnoop_report_opts)IN("speedscope", LIVE_COUNT, STACK));

	check_tells(&r, SOUND, "true");
	check_tells(&r, "jq -c '[.activeProfileIndex, (.profiles[] | .name, .unit, .endValue)]'",
		    "[3,\"allocated bytes\",\"bytes\",12456080,\"allocations\",\"none\",100117,"
		    "\"live bytes\",\"bytes\",5144720,\"live blocks\",\"none\",4019,"
		    "\"bytes at the peak\",\"bytes\",7798928,\"growth of live bytes\",\"bytes\","
		    "122880,\"temporary blocks\",\"none\",81000]");
	/* Root first; the two processes of one name are one stack. */
	check_tells(&r,
		    "jq -c '.shared.frames as $f | .profiles[3] | [.samples, .weights] | transpose"
		    "[] | select(.[1] == 4000) | [.[0][] | $f[.].name]'",
		    "[\"server\",\"main\",\"remember\",\"malloc\"]");
	free(r.text);
	profile__free(p);
	p = hostile_profile();
	r = write_report(p, "speedscope");
	snprintf(end, sizeof(end), "\"endValue\": %" PRIu64 "}", p->info.alloc_bytes);
	CHECK(p->info.alloc_bytes > TWO_63 && strstr(r.text, end));
	check_tells(&r, "jq -c '.shared.frames[] | select(.line) | [.name, .file, .line]'",
		    "[\"std::vector<int>::push_back(int&&)\",\"/src/über/vec.cc\",42]");
	free(r.text);
	profile__free(p);
	p = diff_profile();
	r = write_report(p, "speedscope");
	check_tells(&r, SOUND, "true");
	check_tells(&r, "jq -c '[.profiles[0:4][].endValue]'", "[6200,6600,4000,4400]");
	free(r.text);
	profile__free(p);
}

/* ---- SVG ---- */

static void test_svg(void)
{
	struct allocsnoop_profile *p = nasty_profile();
	struct report r = write_report(p, "svg");

	check_tells(&r, "xmllint --xpath 'count(//*[local-name()=\"g\"])'", "13");
	check_tells(&r, "xmllint --xpath 'count(//*[local-name()=\"script\"])'", "1");
	CHECK(strstr(r.text, "&lt;target&gt; &amp; &quot;more&quot;"));
	free(r.text);
	profile__free(p);
	p = hostile_profile();
	r = write_report(p, "svg");
	check_tells(&r, "xmllint --noout", "");
	/* The one "</script>" is ours. */
	CHECK(strstr(strstr(r.text, "</script>") + 1, "</script>") == NULL);
	CHECK(strstr(r.text, "lost: 18446744073709551615 ring&quot;full: huge"));
	free(r.text);
	profile__free(p);
	p = sampled_profile();
	r = write_report(p, "svg");
	CHECK(strstr(r.text, "estimated from 132 samples, each allocation kept with probability "
			     "0.01; ± "));
	free(r.text);
	p->info.at_least = true;
	r = write_report(p, "svg");
	CHECK(strstr(r.text, "lower bounds") && !strstr(r.text, "±"));
	free(r.text);
	profile__free(p);
	/* Of 3000 hits four stand for what is live. */
	p = sampled_live_profile();
	p->samples.v[0].live_bytes = p->samples.v[0].live_count = 0;
	p->samples.v[0].live_bytes_var = p->samples.v[0].live_count_var = 0;
	r = write_with(p, (struct allocsnoop_report_opts)IN("svg", LIVE_BYTES, STACK));
	CHECK(strstr(r.text, "0.01; few samples<"));
	free(r.text);
	r = write_with(p, (struct allocsnoop_report_opts)IN("svg", ALLOC_BYTES, STACK));
	CHECK(strstr(r.text, "0.01; ± "));
	free(r.text);
	profile__free(p);
}

/* Rows without frames: sizes and types have boxes. */
static void test_svg_frameless(void)
{
	struct allocsnoop_profile *p = hostile_profile();
	struct report r =
		write_with(p, (struct allocsnoop_report_opts)IN("svg", ALLOC_COUNT, SIZE));

	CHECK(strstr(r.text, "<title>[100-100 bytes]\n"));
	free(r.text);
	r = write_with(p, (struct allocsnoop_report_opts)IN("svg", ALLOC_COUNT, TYPE));
	CHECK(strstr(r.text, "<title>struct &quot;node&quot;\n"));
	CHECK(strstr(r.text, "<title>[unknown type]\n"));
	free(r.text);
	r = write_with(p, (struct allocsnoop_report_opts)IN("folded", ALLOC_COUNT, TYPE));
	CHECK(strstr(r.text, ";struct \"node\" 1\n") && strstr(r.text, ";[unknown type] 24\n"));
	free(r.text);
	profile__free(p);
}

/* Boxes lie within the box of their caller and beside each other. */
static void check_boxes(const struct report *r, size_t cnt)
{
	static double from[2000], to[2000];
	double x, width;
	unsigned y, top = 0, seen = 0;

	for (const char *at = r->text; (at = strstr(at, "<rect x=")); at++) {
		if (sscanf(at, "<rect x=\"%lf\" y=\"%u\" width=\"%lf\"", &x, &y, &width) != 3)
			continue;
		top = seen++ ? top : y;
		y = (y - top) / 17;
		if (y >= ARRAY_SIZE(from))
			break;
		CHECK(width >= 0.3);
		CHECK(!y || (x >= from[y - 1] - 0.011 && x + width <= to[y - 1] + 0.011));
		CHECK(x >= to[y] - 0.011 || !to[y] || x >= from[y - (y > 0)]);
		from[y] = x;
		to[y] = x + width;
	}
	CHECK_EQ(seen, cnt);
}

static void test_svg_deep(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *frames[1001] = { NULL };
	struct report r;

	for (size_t i = 0; i < 1000; i++)
		frames[i] = frame(p, "walk", "/opt/prog", 0x100 + i);
	add_row(p, 1, "deep", 1, 1, 1000, frames);
	add_row(p, 1, "deep", 2, 1, 1, FRAMES(frames[1], frames[0]));
	profile__finish(p);
	r = write_report(p, "svg");
	check_boxes(&r, 1002);
	free(r.text);
	profile__free(p);
}

/* As many boxes as are worth drawing, and what is left out is told. */
static void test_svg_wide(void)
{
	struct allocsnoop_profile *p = profile__new();
	char name[32];
	struct report r;

	for (u64 i = 0; i < 30000; i++) {
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		add_row(p, 1, "wide", i + 1, 1, i < 100 ? 1000 : 1,
			FRAMES(frame(p, name, "/opt/prog", i)));
	}
	profile__finish(p);
	r = write_report(p, "svg");
	check_boxes(&r, 102);
	CHECK(strstr(r.text, "not drawn: 29900 of 30002 boxes, narrower than 0.3 pixels: 23.0 %, "
			     "29.2 KiB (29900 bytes)"));
	CHECK(r.size < 50000);
	free(r.text);
	profile__free(p);
}

/* ---- CSV ---- */

/* One field from *at on; behind it stands a comma or the end of the record. Empty ones are text. */
static bool take_field(const char **at, char *field, size_t size, bool *text)
{
	size_t len = 0;

	*text = **at == '"' || **at == ',' || **at == '\r';
	if (**at != '"') {
		while (len + 1 < size && **at && !strchr(",\"\r\n", **at))
			field[len++] = *(*at)++;
		field[len] = '\0';
		return true;
	}
	for ((*at)++; **at && (**at != '"' || (*at)[1] == '"'); (*at)++) {
		*at += **at == '"';
		if (len + 1 < size)
			field[len++] = **at;
	}
	field[len] = '\0';
	return *(*at)++ == '"';
}

static bool is_number(const char *field)
{
	char *end;

	strtod(field, &end);
	return *field && !*end;
}

/* A spreadsheet that parts cells by semicolons must not find a formula either. */
static bool is_formula(const char *field)
{
	for (const char *c = field; *c; c++) {
		if ((c == field || c[-1] == ';') && strchr("=+-@", *c))
			return true;
	}
	return false;
}

struct table {
	char names[64][32];
	size_t name_cnt;
	size_t records;
	u64 bytes; /* sum of alloc_bytes */
};

static void take_record(struct table *t, const char **at)
{
	static char field[8192];
	size_t n = 0;
	bool text;

	do {
		*at += n > 0;
		CHECK(take_field(at, field, sizeof(field), &text));
		CHECK(text ? !is_formula(field) : is_number(field));
		if (n < t->name_cnt && !strcmp(t->names[n], "alloc_bytes"))
			t->bytes = sum__add(t->bytes, strtoull(field, NULL, 10));
		n++;
	} while (**at == ',');
	CHECK_EQ(n, t->name_cnt);
	CHECK(!strncmp(*at, "\r\n", 2));
	*at += 2;
	t->records++;
}

static struct table check_csv(const struct report *r)
{
	const char *at = r->text;
	struct table t = { 0 };
	bool text;

	for (bool more = true; more && t.name_cnt < ARRAY_SIZE(t.names); at++) {
		CHECK(take_field(&at, t.names[t.name_cnt++], sizeof(t.names[0]), &text));
		more = *at == ',';
	}
	CHECK_EQ(*at++, '\n');
	while (*at)
		take_record(&t, &at);
	return t;
}

static void test_csv(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		struct allocsnoop_profile *p = make(reports[i].profile);
		struct allocsnoop_report_opts opts = reports[i].opts;
		struct allocsnoop_profile *g = profile__group(p, opts.by);
		struct report r;
		struct table t;

		opts.format = "csv";
		r = write_with(p, opts);
		t = check_csv(&r);
		CHECK_EQ(t.records, g->samples.cnt);
		CHECK(t.bytes == p->info.alloc_bytes);
		free(r.text);
		profile__free(g);
		profile__free(p);
	}
}

static void test_csv_columns(void)
{
	struct allocsnoop_profile *p = diff_profile();
	struct report r = write_report(p, "csv");

	CHECK(strstr(r.text, ",base_alloc_count,base_alloc_bytes,change_alloc_count,"
			     "change_alloc_bytes,"));
	CHECK(strstr(r.text, ",5,500,5,40,4000,-35,-3500,"));
	CHECK(!strstr(r.text, "live_") && !strstr(r.text, "_se") && !strstr(r.text, "tid"));
	free(r.text);
	profile__free(p);
	p = nasty_profile();
	r = write_report(p, "csv");
	CHECK(strstr(r.text, "\"'-comm\",11,\"'@thread\",\"malloc\",\"'+type\","));
	CHECK(strstr(r.text, "\"a:=b:+c,\"\"d\"\";'=cmd|' /C calc'!A1;malloc\""));
	free(r.text);
	profile__free(p);
}

/* ---- heap profiles ---- */

struct heap {
	char names[64][6000]; /* of symbols */
	u64 addrs[64];
	size_t symbol_cnt;
	u64 curs, bytes; /* sums of stacks */
};

static const char *symbol_at(const struct heap *h, u64 addr)
{
	for (size_t i = 0; i < h->symbol_cnt; i++) {
		if (h->addrs[i] == addr)
			return h->names[i];
	}
	return NULL;
}

/* jeprof takes one from all addresses but the first. */
static void check_stack(const struct heap *h, const char *line)
{
	bool leaf = true;

	for (const char *at = line; (at = strstr(at, " 0x")); at++, leaf = false)
		CHECK(symbol_at(h, strtoull(at, NULL, 16) - !leaf));
	CHECK(!leaf);
}

static void read_heap(struct heap *h, char *text)
{
	bool in_symbols = false, in_stacks = false;
	u64 n, b, all_n, all_b;

	memset(h, 0, sizeof(*h));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strncmp(line, "---", 3)) {
			in_symbols = !strcmp(line, "--- symbol");
		} else if (in_symbols && h->symbol_cnt < ARRAY_SIZE(h->addrs) &&
			   sscanf(line, "0x%" SCNx64 " %5999[^\n]", &h->addrs[h->symbol_cnt],
				  h->names[h->symbol_cnt]) == 2) {
			CHECK(!symbol_at(h, 0) && line[19] != ' ');
			h->symbol_cnt++;
		} else if (!in_symbols && *line == '@') {
			check_stack(h, line + 1);
			in_stacks = true;
		} else if (in_stacks &&
			   sscanf(line, "  t*: %" SCNu64 ": %" SCNu64 " [%" SCNu64 ": %" SCNu64 "]",
				  &n, &b, &all_n, &all_b) == 4) {
			h->curs = sum__add(h->curs, b);
			h->bytes = sum__add(h->bytes, all_b);
		}
	}
}

static void test_heap(void)
{
	static struct heap h;

	for (enum made which = HOSTILE; which <= EMPTY; which++) {
		struct allocsnoop_profile *p = make(which);
		struct report r = write_report(p, "jeprof");

		CHECK(strstr(r.text, "\n--- heap\n") && strstr(r.text, "\nheap_v2/0\n  t*: "));
		read_heap(&h, r.text);
		CHECK(h.bytes == p->info.alloc_bytes);
		CHECK(h.curs == (which == LIVE || which == SAMPLED_LIVE ? p->info.live_bytes : 0));
		free(r.text);
		profile__free(p);
	}
}

static void test_heap_nasty(void)
{
	struct allocsnoop_profile *p = nasty_profile();
	struct report r =
		write_with(p, (struct allocsnoop_report_opts)IN("jeprof", ALLOC_BYTES, THREAD));
	const char *maps = strstr(r.text, "MAPPED_LIBRARIES:");
	static struct heap h;
	size_t found = 0;

	/* A shell reads what jeprof makes of these. */
	CHECK(maps && strstr(maps, "/tmp/plain.so") && !strpbrk(maps, "'\"$`;&|\\"));
	CHECK(!strstr(maps, "pwned") && !strstr(r.text, "binary="));
	CHECK(strstr(r.text, "\n  t11: 0: 0 [1: 10]\n"));
	free(r.text);
	r = write_report(p, "jeprof");
	CHECK(!strstr(r.text, "t11"));
	read_heap(&h, r.text);
	for (size_t i = 0; i < h.symbol_cnt; i++) {
		/* Three names, in spite of what they are made of; caller first. */
		found += !strcmp(h.names[i], "outer- --operator- -(X&, int)---[Object new]");
		found += !strcmp(h.names[i], "a;=b;+c,\"d\"");
		found += !strcmp(h.names[i], "other"); /* the place is taken */
	}
	CHECK_EQ(found, 3);
	free(r.text);
	profile__free(p);
}

/* ---- ---- */

/* Rows as they were recorded, or grouped: what merges rows itself says the same of both. */
static void test_merging(void)
{
	static const char *const formats[] = { "folded", "speedscope", "svg" };
	struct allocsnoop_profile *p = live_profile();

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct allocsnoop_report_opts opts = { .format = formats[i],
						       .value = ALLOCSNOOP_LIVE_BYTES };
		struct report grouped = write_with(p, opts), whole = { 0 };
		FILE *out = open_memstream(&whole.text, &whole.size);

		CHECK(writer__find(formats[i])->merges);
		CHECK_EQ(writer__find(formats[i])->write(p, &opts, out), 0);
		fclose(out);
		CHECK_STR(whole.text, grouped.text);
		free(whole.text);
		free(grouped.text);
	}
	profile__free(p);
}

int main(void)
{
	test_golden();
	test_svg_frameless();
	test_svg_deep();
	test_svg_wide();
	test_csv();
	test_csv_columns();
	test_heap();
	test_heap_nasty();
	test_merging();
	if (!have("jq") || !have("xmllint")) {
		puts("jq or xmllint is not installed");
		return check_failures ? 1 : 77;
	}
	test_speedscope();
	test_svg();
	return check__done();
}
