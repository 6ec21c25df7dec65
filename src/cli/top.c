/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `allocsnoop top`: a recording that is looked at while it goes on. The loop polls the session,
 * takes a profile when its time has come, draws, and does what keys ask for. Whatever happens, the
 * terminal is given back before a word is said.
 */
#include <allocsnoop.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/run.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "cli/top_save.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"

#define INTERVAL_NS	 1000000000ull
#define INTERVAL_MOST_NS (1ull << 60) /* 36 years: sums with it don't overflow */
#define KEY_MS		 40	      /* from a key to what it does, at most */

/* Profiles take no more than 1/20 of a core, and the screen stands still for half of the time at
 * most (a profile waits for files that are being read): else the interval becomes longer. */
#define CPU_PART  20
#define WALL_PART 2

struct top {
	const struct cli_opts *o;
	struct allocsnoop *session;
	struct top_model model;
	struct top_view view;
	struct top_notes notes;
	struct canvas canvas;
	u64 interval_ns; /* as asked for */
	u64 next_ns;	 /* when a profile is due */
	bool tracing;
	bool dirty;	    /* what is on the screen isn't what there is */
	bool library_words; /* the error is in the library's words */
};

static u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* ---- start ---- */

/*
 * COMMAND would write on the screen, and read the keys: those of its standard streams that are this
 * terminal are /dev/null. `kept` holds ours meanwhile; -1: that one stays.
 */
static int streams__hide(int kept[3])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err__fail(-errno, "cannot open '/dev/null': %s", strerror(errno));
	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = isatty(fd) ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
		if (kept[fd] >= 0)
			dup2(null, fd);
	}
	close(null);
	return 0;
}

static void streams__show(const int kept[3])
{
	for (int fd = 0; fd < 3; fd++) {
		if (kept[fd] < 0)
			continue;
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
}

static int top__open(struct top *t)
{
	struct allocsnoop_opts opts;
	int err;

	run__options(t->o, &opts);
	opts.old_ns = 0;
	opts.log = top_notes__log;
	opts.log_arg = &t->notes;
	err = allocsnoop__open(&opts, &t->session);
	if (err)
		run__say_open(err);
	return err;
}

static int top__start(struct top *t)
{
	int kept[3], err = 0;

	run__hint_user(t->o);
	if (t->o->words && streams__hide(kept)) {
		say__failure();
		return -EIO;
	}
	err = allocsnoop__start(t->session);
	if (t->o->words)
		streams__show(kept);
	if (err) {
		say__library();
		return err;
	}
	/* As a recording does: files must be opened while their processes live. */
	setpriority(PRIO_PROCESS, 0, -10);
	t->tracing = true;
	return 0;
}

/* ---- profiles ---- */

static void interval__fit(struct top *t, u64 cpu_ns, u64 wall_ns)
{
	u64 least = MAX(cpu_ns * CPU_PART, wall_ns * WALL_PART);

	t->view.interval_ns = MAX(t->interval_ns, least);
	t->next_ns = clock_ns(CLOCK_MONOTONIC) - wall_ns + t->view.interval_ns;
}

static int top__update(struct top *t)
{
	u64 wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct allocsnoop_profile *profile;
	int err = allocsnoop__profile(t->session, &profile);

	if (err) {
		t->library_words = true;
		return err;
	}
	err = top_model__update(&t->model, profile);
	if (!err)
		err = top_view__draw(&t->view, &t->canvas);
	if (err)
		return err__fail(err, "out of memory");
	t->dirty = true;
	interval__fit(t, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu, clock_ns(CLOCK_MONOTONIC) - wall);
	return 0;
}

/* The targets have ended: the last profile stays on the screen. */
static int top__end_tracing(struct top *t)
{
	t->tracing = false;
	t->view.ended = true;
	if (allocsnoop__stop(t->session)) {
		t->library_words = true;
		return -EIO;
	}
	return top__update(t);
}

/* Takes in what the kernel has to say, for as long as a key may wait. */
static int top__poll(struct top *t)
{
	int got;

	if (!t->tracing) {
		screen__wait(KEY_MS * 5);
		return 0;
	}
	got = allocsnoop__poll(t->session, KEY_MS);
	if (!got)
		return top__end_tracing(t);
	if (got < 0 && got != -EINTR) {
		t->library_words = true;
		return got;
	}
	if (t->view.paused || clock_ns(CLOCK_MONOTONIC) < t->next_ns)
		return 0;
	return top__update(t);
}

/* ---- keys ---- */

static void top__save(struct top *t)
{
	struct top_view *v = &t->view;
	const char *format;
	int err = top_save__write(t->o, t->model.profile, v->typed, v->sort->saves, v->replace,
				  &format);

	v->save = v->replace = false;
	if (err == -EEXIST)
		v->input = TOP_INPUT_REPLACE;
	else if (err)
		top_view__say(v, true, "%s", err__msg());
	else
		top_view__say(v, false, "saved as %s: %s", format, v->typed);
}

static void top__take_keys(struct top *t)
{
	u32 key;

	while (!t->view.quit && screen__key(&key)) {
		t->dirty = true;
		if (!key)
			continue;
		top_view__press(&t->view, key);
		if (t->view.save)
			top__save(t);
		/* The next key means what would be seen. */
		if (top_view__draw(&t->view, &t->canvas))
			return;
	}
}

static void top__tell_news(struct top *t)
{
	char *line = top_notes__take_news(&t->notes);

	if (!line)
		return;
	top_view__say(&t->view, true, "%s", line);
	t->dirty = true;
	free(line);
}

static int top__show(struct top *t)
{
	int rows, cols;

	screen__size(&rows, &cols);
	if (!t->dirty && rows == t->view.rows && cols == t->view.cols)
		return 0;
	t->dirty = false;
	t->view.rows = rows;
	t->view.cols = cols;
	if (top_view__draw(&t->view, &t->canvas))
		return err__fail(-ENOMEM, "out of memory");
	screen__show(&t->canvas, t->view.redraw);
	t->view.redraw = false;
	return 0;
}

/* Until the user, a signal, a terminal that has gone (0), or something that broke ends it. */
static int top__loop(struct top *t)
{
	int err = top__update(t);

	while (!err && !t->view.quit && !signals__stop() && !screen__is_gone()) {
		if (signals__take_suspend())
			screen__suspend();
		top__tell_news(t);
		err = top__show(t);
		if (!err)
			err = top__poll(t);
		if (!err)
			top__take_keys(t);
	}
	return err;
}

/* ---- all of it ---- */

static int top__all(struct top *t)
{
	int err = screen__check();

	if (err) {
		say__failure();
		return EXIT_USAGE;
	}
	t->view.utf8 = screen__is_utf8();
	if (top__open(t) || top__start(t))
		return EXIT_FAILED;
	err = screen__open();
	if (!err)
		err = top__loop(t);
	screen__close();
	if (!err)
		return run__command_status(t->session);
	if (t->library_words)
		say__library();
	else
		say__failure();
	return EXIT_FAILED;
}

int run__top(const struct cli_opts *o)
{
	struct top t = { .o = o };
	int status;

	t.interval_ns = o->interval_ns ? MIN(o->interval_ns, INTERVAL_MOST_NS) : INTERVAL_NS;
	signals__init();
	signals__catch_suspend();
	top_notes__init(&t.notes, o->verbosity);
	top_model__init(&t.model);
	top_view__init(&t.view, &t.model, o);
	t.view.notes = &t.notes;
	status = top__all(&t);
	allocsnoop__free(t.session);
	top_view__fini(&t.view);
	top_model__fini(&t.model);
	canvas__fini(&t.canvas);
	top_notes__fini(&t.notes);
	return status;
}
