/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `allocsnoop report`, `diff` and `merge`: saved profiles, read again, compared or added up, and
 * written as any report is. Needs no rights and no kernel: profiles may be another machine's.
 */
#include <allocsnoop.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/say.h"
#include "cli/signals.h"

/* A profile that was read, or the sum of some that stood beside each other. */
struct part {
	struct allocsnoop_profile *profile;
	const char *name; /* of the first file in it */
	size_t cnt;	  /* that it is the sum of */
};

struct saved {
	struct cli_opts o; /* the user's, completed by what the profiles are */
	struct output out;
	VEC(struct part) parts;
	const struct allocsnoop_profile *profile; /* that is reported */
};

/* What the library said, in front of it whose fault it is. */
static int library__fails(int err, const char *name)
{
	char hint[512];

	snprintf(hint, sizeof(hint), "%s", allocsnoop__hint());
	if (name)
		err__fail(err, "cannot read '%s': %s", name, allocsnoop__error());
	else
		err__fail(err, "%s", allocsnoop__error());
	if (*hint)
		err__hint("%s", hint);
	return err;
}

/* ---- reading ---- */

static int stream__check(FILE *in, const char *name)
{
	struct stat st;

	if (!fstat(fileno(in), &st) && S_ISDIR(st.st_mode))
		return err__fail(-EISDIR, "cannot read '%s': %s", name, strerror(EISDIR));
	if (isatty(fileno(in)))
		return err__fail(-EINVAL, "cannot read '%s': a terminal, no profile", name);
	return 0;
}

static int saved__read_stream(struct saved *s, FILE *in, const char *name)
{
	struct allocsnoop_profile *profile;
	int err = stream__check(in, name);

	if (err)
		return err;
	err = allocsnoop_profile__read(in, &profile);
	if (err)
		return library__fails(err, name);
	if (!vec__push(&s->parts, ((struct part){ profile, name, 1 })))
		return 0;
	allocsnoop_profile__free(profile);
	return err__fail(-ENOMEM, "out of memory");
}

static int saved__read(struct saved *s, const char *path)
{
	FILE *in;
	int err;

	if (!strcmp(path, "-"))
		return saved__read_stream(s, stdin, "standard input");
	in = fopen(path, "re");
	if (!in)
		return err__fail(-errno, "cannot read '%s': %s", path, strerror(errno));
	err = saved__read_stream(s, in, path);
	fclose(in);
	return err;
}

/* ---- adding up ---- */

/* Which of many files don't fit: the first one of each sum has what the sum has. */
static int sum__fails(int err, const struct part *a, const struct part *b)
{
	if (err != -EINVAL)
		return library__fails(err, NULL);
	return err__fail(err, "'%s' and '%s': %s", a->name, b->name, allocsnoop__error());
}

/* Puts `made` in the place of the last two. */
static void saved__replace(struct saved *s, struct allocsnoop_profile *made)
{
	struct part *b = &s->parts.v[s->parts.cnt - 1], *a = b - 1;

	allocsnoop_profile__free(a->profile);
	allocsnoop_profile__free(b->profile);
	a->profile = made;
	a->cnt += b->cnt;
	s->parts.cnt--;
}

static int saved__add_last(struct saved *s)
{
	const struct part *last = &s->parts.v[s->parts.cnt - 2];
	const struct allocsnoop_profile *both[] = { last[0].profile, last[1].profile };
	struct allocsnoop_profile *sum;
	int err = allocsnoop_profile__merge(both, 2, &sum);

	if (err)
		return sum__fails(err, &last[0], &last[1]);
	saved__replace(s, sum);
	return 0;
}

/*
 * Equal numbers of profiles are added up as soon as they stand beside each other, as in a merge
 * sort: a thousand profiles are never in memory at once, and none is copied more than ten times.
 */
static int saved__read_sum(struct saved *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->o.files.cnt; i++) {
		err = saved__read(s, s->o.files.v[i]);
		while (!err && s->parts.cnt > 1 &&
		       s->parts.v[s->parts.cnt - 2].cnt == s->parts.v[s->parts.cnt - 1].cnt)
			err = saved__add_last(s);
	}
	while (!err && s->parts.cnt > 1)
		err = saved__add_last(s);
	return err;
}

static int saved__read_diff(struct saved *s)
{
	struct allocsnoop_profile *diff;
	int err = saved__read(s, s->o.files.v[0]);

	if (!err)
		err = saved__read(s, s->o.files.v[1]);
	if (err)
		return err;
	err = allocsnoop_profile__diff(s->parts.v[0].profile, s->parts.v[1].profile, &diff);
	if (err)
		return library__fails(err, NULL);
	saved__replace(s, diff);
	return 0;
}

static int saved__make(struct saved *s)
{
	int err = s->o.verb == VERB_DIFF ? saved__read_diff(s) : saved__read_sum(s);

	s->profile = err ? NULL : s->parts.v[0].profile;
	return err;
}

/* ---- options that depend on what was saved ---- */

static bool is_live(const struct saved *s)
{
	return !strcmp(allocsnoop_profile__info(s->profile)->mode, "live");
}

static int value__check(const struct saved *s)
{
	const struct allocsnoop_info *info = allocsnoop_profile__info(s->profile);
	enum allocsnoop_value value = s->o.value;

	if (value == ALLOCSNOOP_ALLOC_BYTES || value == ALLOCSNOOP_ALLOC_COUNT)
		return 0;
	if (!is_live(s))
		return err__fail(-EINVAL, "--value: recorded without --live: it has only "
					  "alloc-bytes and alloc-count");
	if (value == ALLOCSNOOP_LIVE_BYTES || value == ALLOCSNOOP_LIVE_COUNT)
		return 0;
	if (info->diff)
		return err__fail(-EINVAL, "--value: a difference has alloc-bytes, alloc-count, "
					  "live-bytes and live-count");
	if (value == ALLOCSNOOP_PEAK_BYTES && !info->exact)
		return err__fail(-EINVAL, "--value peak-bytes: recorded with sampling");
	if (value == ALLOCSNOOP_GROWN_BYTES && !info->grown)
		return err__fail(-EINVAL, "--value grown-bytes: there was no report before it");
	return 0;
}

/* Does some row have the label? */
static bool any_thread(const struct allocsnoop_sample *s)
{
	return s->thread || s->tid;
}

static bool any_type(const struct allocsnoop_sample *s)
{
	return s->type;
}

static int label__check(const struct saved *s, bool (*has)(const struct allocsnoop_sample *s),
			const char *key)
{
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(s->profile); i++) {
		if (has(allocsnoop_profile__sample(s->profile, i)))
			return 0;
	}
	return err__fail(-EINVAL, "--by %s: the profile doesn't tell %ss apart", key, key);
}

static int thread__check(const struct saved *s)
{
	int err = label__check(s, any_thread, "thread");

	if (err)
		err__hint("recorded with --by thread it would");
	return err;
}

static int saved__check(struct saved *s)
{
	int err;

	if (s->o.value == VALUE_NOT_GIVEN)
		s->o.value = is_live(s) ? ALLOCSNOOP_LIVE_BYTES : ALLOCSNOOP_ALLOC_BYTES;
	err = value__check(s);
	if (!err && s->o.by == ALLOCSNOOP_BY_THREAD)
		err = thread__check(s);
	if (!err && s->o.by == ALLOCSNOOP_BY_TYPE)
		err = label__check(s, any_type, "type");
	return err;
}

/* ---- the whole ---- */

static int saved__report(struct saved *s)
{
	int err = output__write(&s->out, s->profile, false);

	if (err && !output__pipe_gone(&s->out, err))
		say__failure();
	if (!err)
		output__tell_losses(&s->out, s->profile);
	return err;
}

/* Worded, but for what saved__report() has said. */
static int saved__run(struct saved *s, bool *pipe_gone)
{
	int err = output__open(&s->out, &s->o), status = EXIT_FAILED;

	if (err == -EINVAL)
		status = EXIT_USAGE;
	if (!err)
		err = saved__make(s);
	if (!err) {
		err = saved__check(s);
		status = EXIT_USAGE;
	}
	if (err) {
		say__failure();
		return status;
	}
	err = saved__report(s);
	*pipe_gone = output__pipe_gone(&s->out, err);
	return err ? EXIT_FAILED : EXIT_DONE;
}

int run__saved(const struct cli_opts *o)
{
	struct saved s = { .o = *o };
	bool pipe_gone = false;
	int status;

	signals__init_quitting();
	status = saved__run(&s, &pipe_gone);
	for (size_t i = 0; i < s.parts.cnt; i++)
		allocsnoop_profile__free(s.parts.v[i].profile);
	vec__free(&s.parts);
	output__close(&s.out);
	if (pipe_gone)
		signals__die_of_pipe();
	return status;
}
