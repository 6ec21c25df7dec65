/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_screen.h. */
#define _XOPEN_SOURCE_EXTENDED 1
#include "cli/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/signals.h"
#include "cli/top_view.h"

#include <term.h> /* last: it makes macros of everyday words */
#undef lines

#define ESCAPE_MS 50 /* until a lone ESC isn't the beginning of a key: ssh parts sequences */

static SCREEN *screen; /* NULL: closed; ncurses has its own globals anyway */
static struct termios found;

/* ---- the terminal's state ---- */

bool screen__is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static int term__check(void)
{
	const char *term = getenv("TERM");
	bool able;
	int status;

	if (!term || !*term || setupterm(term, STDOUT_FILENO, &status) != OK) {
		err__fail(-EINVAL, "top: terminal type '%s': unknown", term ? term : "");
		err__hint("TERM=vt100 knows what every terminal knows");
		return -EINVAL;
	}
	able = cursor_address && clear_screen;
	del_curterm(cur_term);
	if (!able) {
		err__fail(-EINVAL, "top: terminal type '%s': can't move its cursor", term);
		err__hint("reports in between need nothing of it: allocsnoop -i 1s");
		return -EINVAL;
	}
	return 0;
}

int screen__check(void)
{
	setlocale(LC_CTYPE, "");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		err__fail(-EINVAL, "top: standard %s is not a terminal",
			  isatty(STDIN_FILENO) ? "output" : "input");
		err__hint("reports in between need none: allocsnoop -i 1s");
		return -EINVAL;
	}
	return term__check();
}

/* What gives the terminal back, without the padding that tputs() makes of time. */
static char restore[128];
static size_t restore_len;

static int restore__put(int c)
{
	if (c && restore_len + 1 < sizeof(restore))
		restore[restore_len++] = (char)c;
	return c;
}

static void restore__prepare(void)
{
	const char *const parts[] = { exit_attribute_mode, keypad_local, cursor_normal,
				      exit_ca_mode };

	restore_len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i])
			tputs(parts[i], 1, restore__put);
	}
	signals__set_terminal(&found, restore, restore_len);
}

/* ---- looks ---- */

enum { PAIR_WARN = 1, PAIR_TREND, PAIR_PROMPT, PAIR_HEAD };

static void colours__start(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(PAIR_WARN, COLOR_RED, -1);
	init_pair(PAIR_TREND, COLOR_CYAN, -1);
	init_pair(PAIR_PROMPT, COLOR_YELLOW, -1);
	init_pair(PAIR_HEAD, COLOR_GREEN, -1);
}

static attr_t role__attributes(enum role role)
{
	static const attr_t looks[ROLE_MAX] = {
		[ROLE_TITLE] = A_BOLD,	   [ROLE_HEAD] = A_REVERSE, [ROLE_SORTED] = A_BOLD,
		[ROLE_CHOSEN] = A_REVERSE, [ROLE_FAINT] = A_DIM,    [ROLE_WARN] = A_BOLD,
		[ROLE_PROMPT] = A_BOLD,
	};

	return looks[role];
}

static short role__pair(enum role role)
{
	static const u8 pairs[ROLE_MAX] = {
		[ROLE_WARN] = PAIR_WARN,
		[ROLE_TREND] = PAIR_TREND,
		[ROLE_PROMPT] = PAIR_PROMPT,
		[ROLE_SORTED] = PAIR_HEAD,
	};

	return COLORS > 0 && COLOR_PAIRS > PAIR_HEAD ? pairs[role] : 0;
}

/* ---- open, close ---- */

int screen__open(void)
{
	if (tcgetattr(STDIN_FILENO, &found))
		return err__fail(-errno, "top: cannot read the terminal's state: %s",
				 strerror(errno));
	/* What they were once: ncurses would take their word for the size for ever. */
	unsetenv("COLUMNS");
	unsetenv("LINES");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return err__fail(-EINVAL, "top: cannot use this terminal");
	restore__prepare();
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	colours__start();
	return 0;
}

void screen__close(void)
{
	if (!screen)
		return;
	if (!exit_ca_mode) { /* what was shown stays: not below what comes next */
		move((int)getmaxy(stdscr) - 1, 0);
		clrtoeol();
		refresh();
	}
	endwin();
	signals__set_terminal(NULL, NULL, 0);
	delscreen(screen);
	screen = NULL;
}

void screen__size(int *rows, int *cols)
{
	getmaxyx(stdscr, *rows, *cols);
}

void screen__suspend(void)
{
	def_prog_mode();
	endwin();
	signals__suspend();
	reset_prog_mode();
	clearok(curscr, TRUE);
	refresh();
}

void screen__wait(int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	poll(&p, 1, ms);
}

bool screen__is_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* ---- out ---- */

static void line__show(const struct canvas_line *line, int y)
{
	size_t from = 0;

	move(y, 0);
	for (size_t i = 0; i < line->spans.cnt; i++) {
		const struct canvas_span *span = &line->spans.v[i];

		attr_set(role__attributes(span->role), role__pair(span->role), NULL);
		addnstr(line->text.s + from, (int)(span->end - from));
		from = span->end;
	}
	attr_set(A_NORMAL, 0, NULL);
}

void screen__show(const struct canvas *c, bool anew)
{
	erase();
	if (anew)
		clearok(curscr, TRUE);
	for (int y = 0; y < c->rows; y++) {
		if (c->lines[y].text.s)
			line__show(&c->lines[y], y);
	}
	curs_set(c->cursor_x >= 0);
	if (c->cursor_x >= 0)
		move(c->cursor_y, c->cursor_x);
	refresh();
}

/* ---- in ---- */

bool screen__key(u32 *key)
{
	static const struct {
		wint_t from;
		u32 to;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },	{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP }, { KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },	{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },	{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ KEY_DC, TOP_KEY_BACKSPACE },	{ KEY_A1, TOP_KEY_HOME },
		{ KEY_C1, TOP_KEY_END },	{ KEY_A3, TOP_KEY_PAGE_UP },
		{ KEY_C3, TOP_KEY_PAGE_DOWN },
	};
	wint_t got;
	int kind = get_wch(&got);

	*key = 0;
	if (kind == ERR)
		return false;
	if (kind != KEY_CODE_YES)
		*key = (u32)got;
	for (size_t i = 0; kind == KEY_CODE_YES && i < ARRAY_SIZE(keys); i++) {
		if (keys[i].from == got)
			*key = keys[i].to;
	}
	return true;
}
