/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line; see progress.h. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/say.h"

#define REDRAW_NS 250000000ull
#define SITES_NS  1000000000ull /* COMMAND may have none at all */

void progress__init(struct progress *p, int verbosity)
{
	*p = (struct progress){
		.verbosity = verbosity,
		.terminal = isatty(STDERR_FILENO),
	};
	pthread_mutex_init(&p->lock, NULL);
}

void progress__fini(struct progress *p)
{
	pthread_mutex_destroy(&p->lock);
}

/* With blanks: every terminal knows them. The lock is held. */
static void line__erase(struct progress *p)
{
	if (p->width)
		fprintf(stderr, "\r%*s\r", p->width, "");
	p->width = 0;
}

void progress__erase(struct progress *p)
{
	pthread_mutex_lock(&p->lock);
	line__erase(p);
	pthread_mutex_unlock(&p->lock);
}

void progress__log(void *arg, enum allocsnoop_log_level level, const char *line)
{
	struct progress *p = arg;
	bool wanted = p->verbosity > 0 || (!p->verbosity && level == ALLOCSNOOP_WARN);

	if (!wanted)
		return;
	pthread_mutex_lock(&p->lock);
	line__erase(p);
	say__line(line);
	pthread_mutex_unlock(&p->lock);
}

static bool stats__read(struct allocsnoop *session, struct allocsnoop_stats *st)
{
	*st = (struct allocsnoop_stats){};
	return !allocsnoop__stats(session, st, sizeof(*st));
}

void progress__start(struct progress *p, struct allocsnoop *session, bool command)
{
	struct allocsnoop_stats st;

	if (p->started || p->terminal || p->verbosity < 0 || !stats__read(session, &st))
		return;
	/* It has ended already: the report follows. Or its libraries aren't mapped yet. */
	if (command && (!st.processes || (!st.sites && st.elapsed_ns < SITES_NS)))
		return;
	p->started = true;
	pthread_mutex_lock(&p->lock);
	fprintf(stderr, "tracing %u process%s, %u site%s; Ctrl-C for the report\n", st.processes,
		st.processes == 1 ? "" : "es", st.sites, st.sites == 1 ? "" : "s");
	pthread_mutex_unlock(&p->lock);
}

/* Columns of the terminal: a line that wraps can't be erased. */
static int terminal__width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static void line__draw(struct progress *p, const struct allocsnoop_stats *st)
{
	u64 passed_ns = MAX(st->elapsed_ns - p->drawn_ns, 1);
	double rate = (st->events - p->last_events) * 1e9 / passed_ns;
	char text[160], elapsed[32];

	snprintf(text, sizeof(text),
		 "%s  %.0f events/s  %" PRIu64 " samples  %" PRIu64
		 " losses  Ctrl-C for the report",
		 units__format_ns(st->elapsed_ns, elapsed), rate, st->samples, st->losses);
	p->width = MIN((int)strlen(text), terminal__width() - 1);
	fprintf(stderr, "\r%.*s", p->width, text);
	p->drawn_ns = st->elapsed_ns;
	p->last_events = st->events;
}

void progress__draw(struct progress *p, struct allocsnoop *session)
{
	struct allocsnoop_stats st;

	if (!p->terminal || p->verbosity < 0 || !stats__read(session, &st))
		return;
	if (p->drawn_ns && st.elapsed_ns < p->drawn_ns + REDRAW_NS)
		return;
	/* In the background the terminal belongs to somebody else. */
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	pthread_mutex_lock(&p->lock);
	line__erase(p);
	line__draw(p, &st);
	pthread_mutex_unlock(&p->lock);
}
