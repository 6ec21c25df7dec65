/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Screens of `top`, drawn without a terminal and compared with tests/golden/screen_* line by line
 * (GOLDEN_UPDATE=1 rewrites those; look at the difference before you commit it). What holds for
 * every screen of every size is checked for hostile names and random keys.
 */
#include "cli/top_view.h"

#include <locale.h>
#include <wchar.h>

#include "check.h"
#include "top_profile.h"

struct screen {
	struct top_model model;
	struct top_view view;
	struct top_notes notes;
	struct canvas canvas;
	struct cli_opts o;
};

static void screen__new(struct screen *s, int rows, int cols, bool live)
{
	*s = (struct screen){ .o = { .live = live, .interval_ns = SECOND } };
	s->o.value = live ? ALLOCSNOOP_LIVE_BYTES : ALLOCSNOOP_ALLOC_BYTES;
	top_notes__init(&s->notes, 0);
	top_model__init(&s->model);
	/* Ties end with keys: they must be those of the golden screens. */
	s->model.secret[0] = s->model.secret[1] = 1;
	top_view__init(&s->view, &s->model, &s->o);
	s->view.notes = &s->notes;
	s->view.rows = rows;
	s->view.cols = cols;
	s->view.utf8 = true;
}

static void screen__free(struct screen *s)
{
	top_view__fini(&s->view);
	top_model__fini(&s->model);
	top_notes__fini(&s->notes);
	canvas__fini(&s->canvas);
}

static void draw(struct screen *s)
{
	CHECK_EQ(top_view__draw(&s->view, &s->canvas), 0);
}

static void update(struct screen *s, struct allocsnoop_profile *p)
{
	CHECK_EQ(top_model__update(&s->model, p), 0);
	draw(s);
}

/* Each character is a key; between two of them the screen is drawn. */
static void press(struct screen *s, const char *keys)
{
	for (; *keys; keys++) {
		top_view__press(&s->view, (u8)*keys);
		draw(s);
	}
}

static void press_key(struct screen *s, u32 key)
{
	top_view__press(&s->view, key);
	draw(s);
}

/* ---- golden screens ---- */

static const char *line(const struct screen *s, int y)
{
	return s->canvas.lines[y].text.s ? s->canvas.lines[y].text.s : "";
}

static void write_screen(const struct screen *s, FILE *out)
{
	for (int y = 0; y < s->canvas.rows; y++) {
		size_t len = strlen(line(s, y));

		while (len && line(s, y)[len - 1] == ' ')
			len--;
		fprintf(out, "%.*s\n", (int)len, line(s, y));
	}
}

static char *read_file(const char *path, size_t *size)
{
	FILE *in = fopen(path, "r"), *out;
	char *text;
	int c;

	out = open_memstream(&text, size);
	while (in && (c = fgetc(in)) != EOF)
		fputc(c, out);
	if (in)
		fclose(in);
	fclose(out);
	return text;
}

static void check_golden(const struct screen *s, const char *name)
{
	char path[128], *is, *should;
	size_t is_size, should_size;
	FILE *out = open_memstream(&is, &is_size);

	write_screen(s, out);
	fclose(out);
	snprintf(path, sizeof(path), "tests/golden/screen_%s.txt", name);
	if (getenv("GOLDEN_UPDATE")) {
		out = fopen(path, "w");
		write_screen(s, out);
		fclose(out);
	}
	should = read_file(path, &should_size);
	if (is_size != should_size || memcmp(is, should, is_size)) {
		check_failures++;
		fprintf(stderr, "%s differs; got:\n%s", path, is);
	}
	free(is);
	free(should);
}

/* ---- what holds for every screen ---- */

static void check_line(const struct screen *s, const struct canvas_line *l)
{
	mbstate_t state = {};
	const char *p = l->text.s ? l->text.s : "";
	size_t len = strlen(p), end = 0, used;
	int width = 0;
	wchar_t c;

	CHECK_EQ(len, l->text.len);
	for (; *p; p += used) {
		used = mbrtowc(&c, p, strlen(p), &state);
		CHECK(used <= 4);
		if (used > 4)
			return;
		CHECK(s->view.utf8 || c < 0x80);
		CHECK(c >= 0x20 && (c < 0x7f || c >= 0xa0) && wcwidth(c) >= 0);
		CHECK(!(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e));
		width += wcwidth(c);
	}
	CHECK_EQ(width, l->width);
	CHECK(width <= s->canvas.cols);
	for (size_t i = 0; i < l->spans.cnt; i++) {
		CHECK(l->spans.v[i].end >= end);
		end = l->spans.v[i].end;
	}
	CHECK_EQ(end, len);
}

static void check_screen(const struct screen *s)
{
	CHECK_EQ(s->canvas.rows, s->view.rows);
	for (int y = 0; y < s->canvas.rows; y++)
		check_line(s, &s->canvas.lines[y]);
	CHECK(s->canvas.cursor_x < MAX(s->view.cols, 1));
}

/* ---- ordinary screens ---- */

static void grow(struct screen *s, u64 upto)
{
	for (u64 i = 1; i <= upto; i++)
		update(s, recording(i));
}

static void test_sizes(void)
{
	static const struct {
		int rows, cols;
	} sizes[] = { { 24, 80 }, { 10, 40 }, { 50, 200 }, { 5, 20 } };
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct screen s;

		screen__new(&s, sizes[i].rows, sizes[i].cols, false);
		grow(&s, 3);
		snprintf(name, sizeof(name), "processes_%dx%d", sizes[i].cols, sizes[i].rows);
		check_golden(&s, name);
		check_screen(&s);
		screen__free(&s);
	}
}

static void test_descent(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 3);
	press(&s, "j\r"); /* the server is the second: the worker is faster */
	check_golden(&s, "stacks");
	press(&s, "\r");
	check_golden(&s, "stack");
	press(&s, "q");
	press_key(&s, TOP_KEY_BACKSPACE);
	CHECK_EQ(s.view.depth, 0);
	press(&s, "a");
	check_golden(&s, "names");
	press(&s, "\r\x1b"
		  "aj");
	CHECK_EQ(s.view.depth, 0);
	press(&s, "h");
	check_golden(&s, "help");
	press(&s, "hq");
	CHECK(s.view.quit);
	screen__free(&s);
}

static void test_ascii(void)
{
	struct screen s;

	screen__new(&s, 12, 80, false);
	s.view.utf8 = false;
	grow(&s, 3);
	update(&s, hostile_profile());
	check_golden(&s, "ascii");
	check_screen(&s);
	screen__free(&s);
}

static void test_live(void)
{
	struct screen s;

	screen__new(&s, 24, 80, true);
	update(&s, live_profile());
	check_golden(&s, "live");
	press(&s, "j\r");
	check_golden(&s, "live_stacks");
	press(&s, "\x1bw");
	check_golden(&s, "losses");
	screen__free(&s);
	screen__new(&s, 12, 120, true);
	update(&s, sampled_live_profile());
	press(&s, "\r");
	check_golden(&s, "live_sampled");
	press(&s, "j\r"); /* of four samples */
	check_golden(&s, "live_few");
	screen__free(&s);
}

static void test_estimates(void)
{
	struct allocsnoop_profile *p = crowd_profile(false);
	struct screen s;

	screen__new(&s, 16, 100, false);
	p->info.target = "every process";
	p->info.duration_ns = 4 * SECOND;
	p->info.budget_pct = 5;
	p->info.cost_pct = 4.8;
	p->info.coverage = 0.123;
	p->info.windows = 7;
	p->processes.v[0].at_least = true;
	update(&s, p);
	press(&s, "t");
	check_golden(&s, "estimates");
	screen__free(&s);
}

/* ---- rows ---- */

static const char *chosen(const struct screen *s)
{
	for (int y = 0; y < s->canvas.rows; y++) {
		if (line(s, y)[0] == '>')
			return line(s, y);
	}
	return "";
}

static void test_sort(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 3);
	CHECK(strstr(chosen(&s), "worker"));
	press(&s, "c");
	CHECK(strstr(chosen(&s), "server"));
	press(&s, "t");
	CHECK(strstr(chosen(&s), "worker"));
	press(&s, "I");
	CHECK(strstr(chosen(&s), "idle"));
	press(&s, "n");
	CHECK(strstr(chosen(&s), "idle")); /* names begin with a */
	press(&s, ">");
	CHECK(s.view.sort->key == 'n'); /* there is no other */
	press(&s, "<");
	CHECK(s.view.sort->key == 'c');
	press(&s, "<<<<<<<");
	CHECK(s.view.sort->key == 'P');
	CHECK(strstr(chosen(&s), "idle")); /* the newest process */
	press(&s, "l");
	CHECK(s.view.sort->key == 'P'); /* without --live there is no such column */
	screen__free(&s);
}

/* The cursor goes with its row; at the top it stays at the top. */
static void test_cursor(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	update(&s, recording(1));
	CHECK(strstr(chosen(&s), "server"));
	update(&s, recording(3));
	CHECK(strstr(chosen(&s), "worker"));
	press_key(&s, TOP_KEY_DOWN);
	CHECK(strstr(chosen(&s), "server"));
	update(&s, recording(6));
	update(&s, recording(7)); /* it's the first now */
	CHECK(strstr(chosen(&s), "server"));
	press_key(&s, TOP_KEY_END);
	CHECK(strstr(chosen(&s), "idle"));
	press_key(&s, TOP_KEY_HOME);
	press_key(&s, TOP_KEY_UP);
	CHECK(strstr(chosen(&s), "server"));
	press_key(&s, TOP_KEY_PAGE_DOWN);
	CHECK(strstr(chosen(&s), "idle"));
	screen__free(&s);
}

/* Who has ended stays for a while, then where totals count. */
static void test_ended(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 4);
	CHECK_EQ(s.view.list.cnt, 3);
	for (u64 i = 5; i <= 10; i++)
		update(&s, recording(i));
	CHECK_EQ(s.view.list.cnt, 2);
	CHECK(strstr(line(&s, 4), "2 processes (1 more have ended)"));
	press(&s, "t");
	CHECK_EQ(s.view.list.cnt, 3);
	CHECK(strstr(chosen(&s), "worker (ended)"));
	screen__free(&s);
}

static void test_filter(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 3);
	press(&s, "fWORK");
	CHECK_EQ(s.view.list.cnt, 1);
	CHECK(!strcmp(line(&s, 23), "filter: WORK"));
	CHECK_EQ(s.canvas.cursor_x, 12);
	press(&s, "q\x7f\r"); /* a letter, and away with it */
	CHECK_EQ(s.view.list.cnt, 1);
	CHECK(strstr(line(&s, 4), "with WORK"));
	press(&s, "\x1b");
	CHECK_EQ(s.view.list.cnt, 3);
	press(&s, "fservice\r"); /* a container */
	CHECK_EQ(s.view.list.cnt, 1);
	press(&s, "\r");
	CHECK_EQ(s.view.list.cnt, 2); /* each screen has a filter of its own */
	press(&s, "fPARSE_\r");
	CHECK_EQ(s.view.list.cnt, 1);
	press(&s, "f\x15main\r"); /* any frame */
	CHECK_EQ(s.view.list.cnt, 2);
	update(&s, recording(4));
	CHECK_EQ(s.view.list.cnt, 2);
	press(&s, "fnothing");
	CHECK_EQ(s.view.list.cnt, 0);
	check_screen(&s);
	press(&s, "\x1b\x1b");
	CHECK_EQ(s.view.depth, 0);
	CHECK_EQ(s.view.list.cnt, 1);
	press(&s, "/\x15"
		  "22\r"); /* a process id */
	CHECK(strstr(chosen(&s), "idle"));
	press_key(&s, 'f');
	press_key(&s, 0xfc);
	press_key(&s, 0x1f600);
	press_key(&s, TOP_KEY_UP);
	CHECK(!strcmp(s.view.typed, "22\xc3\xbc\xf0\x9f\x98\x80"));
	press(&s, "\x7f\x7f");
	CHECK(!strcmp(s.view.typed, "22"));
	screen__free(&s);
}

static void test_save_keys(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 3);
	press(&s, "s");
	CHECK(!strncmp(s.view.typed, "allocsnoop-2", 12));
	press(&s, "\x15"
		  "x.json\r");
	CHECK(s.view.save && !s.view.replace && !strcmp(s.view.typed, "x.json"));
	s.view.save = false;
	top_input__begin(&s.view, TOP_INPUT_REPLACE, s.view.typed);
	press(&s, "n");
	CHECK(!s.view.save && s.view.input == TOP_INPUT_NONE);
	top_input__begin(&s.view, TOP_INPUT_REPLACE, s.view.typed);
	press(&s, "y");
	CHECK(s.view.save && s.view.replace);
	s.view.save = s.view.replace = false;
	press(&s, "s\x1b");
	CHECK(!s.view.save && s.view.input == TOP_INPUT_NONE);
	screen__free(&s);
}

/* A process and a stack that are looked at may go. */
static void test_gone(void)
{
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 3);
	press(&s, "\r\r");
	update(&s, recording(1));
	CHECK(strstr(line(&s, 4), "isn't kept any more"));
	press(&s, "q");
	CHECK(strstr(line(&s, 4), "0 stacks of worker (gone)"));
	press(&s, "\rq");
	CHECK_EQ(s.view.depth, 0);
	screen__free(&s);
}

static void test_notes(void)
{
	char text[32], *got;
	struct screen s;

	screen__new(&s, 24, 80, false);
	grow(&s, 1);
	CHECK(!top_notes__take_news(&s.notes));
	for (int i = 0; i < 150; i++) {
		snprintf(text, sizeof(text), "warning %d \x1b[2J", i);
		top_notes__log(&s.notes, ALLOCSNOOP_WARN, text);
	}
	top_notes__log(&s.notes, ALLOCSNOOP_INFO, "nobody asked");
	got = top_notes__take_news(&s.notes);
	CHECK(got && strstr(got, "warning 149"));
	free(got);
	got = top_notes__get(&s.notes, 0);
	CHECK(got && strstr(got, "warning 50"));
	free(got);
	press(&s, "wG");
	check_screen(&s);
	CHECK(strstr(line(&s, 22), "warning 149"));
	press(&s, "w");
	CHECK_EQ(s.view.depth, 0);
	screen__free(&s);
}

/* ---- every size, every key, hostile names ---- */

static struct allocsnoop_profile *any_profile(int which, u64 seconds)
{
	switch (which % 6) {
	case 0:
		return hostile_profile();
	case 1:
		return crowd_profile(false);
	case 2:
		return sampled_profile();
	case 3:
		return live_profile();
	case 4:
		return profile__new();
	default:
		return recording(seconds);
	}
}

static void test_every_size(void)
{
	static const char *const ways[] = { "", "\r", "\r\r", "a", "a\r", "h", "w", "fx" };
	struct screen s;

	screen__new(&s, 1, 1, true);
	for (int i = 0; i < 6; i++)
		update(&s, any_profile(5 - i, 3));
	for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
		press(&s, ways[way]);
		for (int rows = 0; rows <= 26; rows += rows < 9 ? 1 : 8) {
			for (int cols = 0; cols <= 130; cols += cols < 30 ? 1 : 13) {
				s.view.rows = rows;
				s.view.cols = cols;
				s.view.utf8 = cols % 2;
				draw(&s);
				check_screen(&s);
			}
		}
		press(&s, "\x1b\x1b\x1b");
	}
	screen__free(&s);
}

static u64 random_state = 7;

static u32 draw_number(u32 below)
{
	random_state = map__mix(random_state, 3);
	return (u32)(random_state % below);
}

static void test_every_key(void)
{
	static const char keys[] = "jkgGh?qpwaIsf/ <>,.PrRtclLn\r\x1b\x7fyx\x0c\x02\x06\x15";
	struct screen s;

	screen__new(&s, 24, 80, true);
	for (u64 i = 0; i < 2500; i++) {
		u32 key = (u8)keys[draw_number(sizeof(keys) - 1)];

		if (!draw_number(4))
			key = TOP_KEY_UP + draw_number(8);
		if (!draw_number(40))
			key = draw_number(0x110000);
		top_view__press(&s.view, key);
		s.view.quit = s.view.save = s.view.replace = false;
		if (!draw_number(10))
			update(&s, any_profile((int)draw_number(6), i));
		if (!draw_number(30)) {
			s.view.rows = (int)draw_number(40);
			s.view.cols = (int)draw_number(150);
		}
		draw(&s);
		check_screen(&s);
	}
	screen__free(&s);
}

/* ---- characters ---- */

static void test_characters(void)
{
	static const struct {
		const char *text;
		int width;
		const char *utf8, *ascii; /* in a cell of 6 */
	} rows[] = {
		{ "abc", 3, "abc   ", "abc   " },
		{ "abcdefgh", 8, "abcde…", "abcde~" },
		{ "日本語日", 8, "日本…  ", NULL },
		{ "e\xcc\x81t\xcc\x81\xcc\x81\xcc\x81", 2, "e\xcc\x81t\xcc\x81\xcc\x81    ", NULL },
		{ "a\xe2\x80\xae"
		  "b",
		  3,
		  "a\xef\xbf\xbd"
		  "b   ",
		  "a?b   " },
		{ "a\x1b[2J", 5, "a\xef\xbf\xbd[2J ", "a?[2J " },
		{ "\xff\xc2\x9b", 2, "\xef\xbf\xbd\xef\xbf\xbd    ", "??    " },
	};
	struct canvas c = {};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(canvas__begin(&c, 1, 20, true), 0);
		CHECK_EQ(canvas__width(&c, rows[i].text), rows[i].width);
		canvas__cell(&c, ROLE_PLAIN, rows[i].text, 6, true);
		if (strcmp(rows[i].text, "日本語日")) /* its cut leaves a column */
			CHECK_STR(c.lines[0].text.s, rows[i].utf8);
		CHECK_EQ(c.lines[0].width, 6);
		CHECK_EQ(canvas__begin(&c, 1, 20, false), 0);
		canvas__cell(&c, ROLE_PLAIN, rows[i].text, 6, true);
		if (rows[i].ascii)
			CHECK_STR(c.lines[0].text.s, rows[i].ascii);
	}
	canvas__fini(&c);
}

static void test_numbers(void)
{
	static const struct {
		double value;
		const char *bytes, *count;
	} rows[] = {
		{ 0, "0", "0" },
		{ 999, "999", "999" },
		{ 1000, "1.0K", "1000" },
		{ 1024 * 99.94, "99.9K", "102339" },
		{ 1024 * 99.96, "100K", "102359" },
		{ 1024 * 999.6, "1.0M", "1023590" },
		{ 9999999, "9.5M", "9999999" },
		{ 10000000, "9.5M", "10.0M" },
		{ 0x1p64, "16.0E", "18.4E" },
	};
	struct str s = {};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		str__clear(&s);
		top_look__bytes(&s, rows[i].value);
		CHECK_STR(s.s, rows[i].bytes);
		str__clear(&s);
		top_look__count(&s, rows[i].value);
		CHECK_STR(s.s, rows[i].count);
	}
	str__free(&s);
}

/* One is one. */
static void test_grammar(void)
{
	struct allocsnoop_profile *p = recording(4);
	struct screen s;

	for (size_t i = 0; i < p->samples.cnt; i++) {
		p->samples.v[i].alloc_count = p->samples.v[i].live_count = 1;
		p->samples.v[i].alloc_bytes = p->samples.v[i].live_bytes = 24;
	}
	screen__new(&s, 24, 80, true);
	update(&s, p);
	press(&s, "a\n");
	CHECK(strstr(line(&s, 5), " 24 bytes in 1 allocation "));
	CHECK(strstr(line(&s, 7), " 24 bytes in 1 block"));
	CHECK(!strstr(line(&s, 7), "blocks"));
	screen__free(&s);
}

int main(void)
{
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return 77;
	setenv("TZ", "UTC", 1);
	test_sizes();
	test_descent();
	test_ascii();
	test_live();
	test_estimates();
	test_sort();
	test_cursor();
	test_ended();
	test_filter();
	test_save_keys();
	test_gone();
	test_notes();
	test_every_size();
	test_every_key();
	test_characters();
	test_numbers();
	test_grammar();
	return check__done();
}
