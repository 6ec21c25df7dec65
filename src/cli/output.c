/* SPDX-License-Identifier: BSD-2-Clause */
/* Where reports go; see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "cli/say.h"
#include "cli/signals.h"

#define BUFFER_SIZE (256 * 1024) /* reports of a whole machine have 100 MB */

static int output__fail(const struct output *out, int err)
{
	return err__fail(err, "cannot write '%s': %s", out->name, strerror(-err));
}

/* ---- a file that is replaced ---- */

/* The id that sudo says the user has; `otherwise` without sudo. */
static u32 sudo_id(const char *variable, u32 otherwise)
{
	const char *text = geteuid() == 0 ? getenv(variable) : NULL;
	u64 id;

	if (!text || units__parse_u64(text, &id) || id >= UINT32_MAX)
		return otherwise;
	return id;
}

/*
 * Who may read and own it: as the file that it replaces, else as the user would have made it. Some
 * filesystems have no owners; the report is worth more than its owner.
 */
static int file__dress(int fd, const char *path)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	if (stat(path, &st)) {
		st.st_mode = 0666 & ~mask;
		st.st_uid = sudo_id("SUDO_UID", -1);
		st.st_gid = sudo_id("SUDO_GID", -1);
	}
	if (fchown(fd, st.st_uid, st.st_gid))
		errno = 0;
	return fchmod(fd, st.st_mode & 0777) ? -errno : 0;
}

/* A new temporary file, open for writing; `temporary` holds its template and receives its name. */
static int file__create(const struct output *out, char *temporary, int *fd)
{
	int err;

	strcpy(temporary, out->temporary);
	*fd = mkostemp(temporary, O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	err = file__dress(*fd, out->path);
	if (!err)
		return 0;
	close(*fd);
	unlink(temporary);
	return err;
}

static int file__check(const struct output *out)
{
	CLEANUP(free__p) char *temporary = strdup(out->temporary);
	int err, fd;

	if (!temporary)
		return -ENOMEM;
	err = file__create(out, temporary, &fd);
	if (err)
		return err;
	close(fd);
	unlink(temporary);
	return 0;
}

/* ---- what standard output is ---- */

/* COLUMNS of a shell that knows better, else what the terminal says. */
static u32 terminal__width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	u64 width;

	if (columns && !units__parse_u64(columns, &width) && width && width <= UINT16_MAX)
		return width;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

/* https://no-color.org: set to anything but nothing. */
static bool terminal__has_colours(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return term && *term && strcmp(term, "dumb") && !(no && *no);
}

static bool locale__is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool is = locale && !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");

	if (locale)
		freelocale(locale);
	return is;
}

/* Asked for each report: the window may have been resized. Files get whole lines without colours.
 */
static void output__look(const struct output *out, struct allocsnoop_report_opts *opts)
{
	opts->ascii = !locale__is_utf8();
	if (out->path || out->fd != STDOUT_FILENO || !isatty(out->fd))
		return;
	opts->width = terminal__width();
	opts->colour = terminal__has_colours();
}

/* ---- one report ---- */

/* stdio forgets why a write failed; this stream remembers. */
struct sink {
	int fd;
	int err; /* of the first write that failed */
};

static ssize_t sink__write(void *cookie, const char *buf, size_t size)
{
	struct sink *s = cookie;
	size_t done = 0;

	while (done < size && !s->err) {
		ssize_t n = write(s->fd, buf + done, size - done);

		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			s->err = -errno;
	}
	return s->err ? 0 : (ssize_t)done; /* 0 means an error here */
}

static void print_date(FILE *stream, bool first)
{
	time_t now = time(NULL);
	char date[32] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%F %T", &tm);
	fprintf(stream, "%s--- %s ---\n\n", first ? "" : "\n", date);
}

static int report__write(const struct output *out, const struct allocsnoop_profile *profile, int fd,
			 bool dated)
{
	struct allocsnoop_report_opts opts = {
		.sz = sizeof(opts),
		.format = out->o->format->name,
		.value = out->o->value,
		.by = out->o->by,
		.top = out->o->top,
		.tree = out->o->tree,
		.focus = out->o->focus,
		.ignore = out->o->ignore,
		.hide = out->o->hide,
		.lines = out->o->lines || out->o->format->lines,
		.no_inlines = out->o->no_inlines,
	};
	struct sink sink = { .fd = fd };
	FILE *stream = fopencookie(&sink, "w", (cookie_io_functions_t){ .write = sink__write });
	int err;

	if (!stream)
		return output__fail(out, -ENOMEM);
	output__look(out, &opts);
	if (out->buffer)
		setvbuf(stream, out->buffer, _IOFBF, BUFFER_SIZE);
	if (dated && out->o->format->has_rows)
		print_date(stream, !out->report_cnt);
	err = allocsnoop_profile__write(profile, &opts, stream);
	if (err && !sink.err) {
		err__fail(err, "%s", allocsnoop__error());
		if (*allocsnoop__hint())
			err__hint("%s", allocsnoop__hint());
	}
	fclose(stream);
	return sink.err ? output__fail(out, sink.err) : err;
}

static int output__replace(const struct output *out, const struct allocsnoop_profile *profile)
{
	CLEANUP(free__p) char *temporary = strdup(out->temporary);
	int err, fd;

	if (!temporary)
		return output__fail(out, -ENOMEM);
	err = file__create(out, temporary, &fd);
	if (err)
		return output__fail(out, err);
	signals__set_temporary(temporary);
	err = report__write(out, profile, fd, false);
	if (close(fd) && !err)
		err = output__fail(out, -errno);
	if (!err && rename(temporary, out->path))
		err = output__fail(out, -errno);
	if (err)
		unlink(temporary);
	signals__set_temporary(NULL);
	return err;
}

int output__write(struct output *out, const struct allocsnoop_profile *profile, bool dated)
{
	int err = out->path ? output__replace(out, profile)
			    : report__write(out, profile, out->fd, dated);

	out->report_cnt++;
	return err;
}

bool output__pipe_gone(const struct output *out, int err)
{
	return err == -EPIPE && out->fd == STDOUT_FILENO && !out->path;
}

void output__tell_losses(const struct output *out, const struct allocsnoop_profile *profile)
{
	size_t cnt = allocsnoop_profile__loss_cnt(profile);

	if (out->o->format->holds_losses || out->o->verbosity < 0)
		return;
	if (allocsnoop_profile__info(profile)->at_least)
		say__line("numbers are lower bounds: see --max-overhead");
	for (size_t i = 0; i < cnt; i++) {
		const struct allocsnoop_loss *loss = allocsnoop_profile__loss(profile, i);

		err__fail(0, "lost: %s %" PRIu64 ": %s", loss->name, loss->count, loss->text);
		say__failure();
	}
}

/* ---- open, close ---- */

/* "/dev/stdout", "/dev/fd/3": what is open already, and may be a file that isn't ours to replace.
 * -1: none of those. */
static int open_fd(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	u64 fd;

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t len = strlen(folders[i]);

		if (!strncmp(path, folders[i], len) && !units__parse_u64(path + len, &fd) &&
		    fd <= INT32_MAX)
			return (int)fd;
	}
	return -1;
}

static int output__open_file(struct output *out)
{
	const char *path = out->o->output;
	struct stat st;
	bool exists = !stat(path, &st);
	int fd = open_fd(path);

	out->name = path;
	if (fd == STDOUT_FILENO)
		return 0;
	if (fd >= 0) {
		out->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		return out->fd >= 0 ? 0 : output__fail(out, -errno);
	}
	if (exists && S_ISDIR(st.st_mode))
		return output__fail(out, -EISDIR);
	if (exists && !S_ISREG(st.st_mode)) {
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
		return out->fd >= 0 ? 0 : output__fail(out, -errno);
	}
	out->path = exists ? realpath(path, NULL) : strdup(path);
	if (!out->path || asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0)
		return output__fail(out, -errno);
	return 0;
}

/* Before the recording, not after it. */
static int format__check(const struct cli_opts *o)
{
	int err = allocsnoop__check_format(o->format->name);

	if (!err)
		return 0;
	err__fail(err, "--format %s: %s", o->format->name, allocsnoop__error());
	err__hint("%s", allocsnoop__hint());
	return err;
}

int output__open(struct output *out, const struct cli_opts *o)
{
	int err = 0;

	*out = (struct output){ .o = o, .fd = STDOUT_FILENO, .name = "standard output" };
	err = format__check(o);
	if (err)
		return err;
	out->buffer = malloc(BUFFER_SIZE); /* without it the stream has a small one */
	if (o->output && strcmp(o->output, "-"))
		err = output__open_file(out);
	if (err)
		return err;
	if (!out->path && o->format->binary && isatty(out->fd)) {
		err__fail(-EINVAL, "--format %s: not for a terminal", o->format->name);
		err__hint("write it to a file: -o FILE%s", o->format->extension);
		return -EINVAL;
	}
	if (!out->path && o->format->single && o->interval_ns) {
		err__fail(-EINVAL, "--interval: only one report of --format %s fits into %s",
			  o->format->name, out->name);
		err__hint("with a file it is always the latest: -o FILE%s", o->format->extension);
		return -EINVAL;
	}
	err = out->path ? file__check(out) : 0;
	return err ? output__fail(out, err) : 0;
}

void output__close(struct output *out)
{
	if (out->fd > STDOUT_FILENO)
		close(out->fd);
	free(out->path);
	free(out->temporary);
	free(out->buffer);
	*out = (struct output){};
}
