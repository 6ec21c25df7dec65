/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, the input of flame graphs: `comm;root;...;leaf VALUE`. The format has no escapes,
 * so names are cleaned; rows that differ only in what the format can't say become one line. The one
 * idea: clean names are interned, so a line is a list of pointers and equal lines have equal lists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "report/row.h"
#include "report/writer.h"

struct line {
	size_t first; /* of its names in folded.names */
	size_t cnt;
	u64 value;
	size_t next; /* line + 1 with the same hash, 0 for none */
};

struct folded {
	const struct allocsnoop_report_opts *opts;
	struct arena arena;
	VEC(const char *) names; /* of all lines, root first */
	VEC(struct line) lines;
	struct map by_hash; /* hash of a line's names -> line + 1 that came last with it */
	struct map frames;  /* frame -> clean name */
	struct str buf;
	struct str label; /* a made-up name */
};

/*
 * The value is what follows the last space; flamegraph.pl takes `leaf 12 34` for two values. So the
 * last name must not end in a space and a number.
 */
static void guard_leaf(char *name)
{
	size_t i = strlen(name);

	while (i && strchr("0123456789.", name[i - 1]))
		i--;
	if (i && name[i] && name[i - 1] == ' ')
		name[i - 1] = '_';
}

static const char *clean_name(struct folded *f, const char *name, bool leaf)
{
	struct str *s = &f->buf;

	str__clear(s);
	str__add_utf8(s, name, strlen(name), true);
	if (!s->len)
		str__add(s, "[unknown]");
	if (s->oom)
		return NULL;
	for (char *c = strchr(s->s, ';'); c; c = strchr(c, ';'))
		*c = ':';
	if (leaf)
		guard_leaf(s->s);
	return arena__intern(&f->arena, s->s);
}

static int push_name(struct folded *f, const char *clean)
{
	return clean ? vec__push(&f->names, clean) : -ENOMEM;
}

static int push_frame(struct folded *f, const struct allocsnoop_frame *frame, bool leaf)
{
	const char *clean;
	u64 old;

	if (leaf)
		return push_name(f, clean_name(f, frame->function, true));
	if (map__get(&f->frames, (uintptr_t)frame, &old))
		return push_name(f, (const char *)(uintptr_t)old);
	clean = clean_name(f, frame->function, false);
	if (!clean || map__put(&f->frames, (uintptr_t)frame, (uintptr_t)clean))
		return -ENOMEM;
	return push_name(f, clean);
}

/* Takes the label, unless there is none. */
static int push_label(struct folded *f, bool leaf)
{
	int err = f->label.oom ? -ENOMEM : 0;

	if (!err && f->label.len)
		err = push_name(f, clean_name(f, f->label.s, leaf));
	str__clear(&f->label);
	return err;
}

static int push_process(struct folded *f, const struct allocsnoop_sample *s)
{
	row__process(&f->label, s, f->opts->by);
	if (!f->label.len && !f->label.oom)
		return push_name(f, clean_name(f, "", false));
	return push_label(f, false);
}

static int push_names(struct folded *f, const struct allocsnoop_sample *s)
{
	int err = push_process(f, s);

	row__end(&f->label, s);
	if (!err)
		err = push_label(f, false);
	if (!err && !s->frame_cnt) {
		row__frameless(&f->label, s, f->opts->by);
		err = push_label(f, true);
	}
	for (size_t i = s->frame_cnt; !err && i > 0; i--)
		err = push_frame(f, s->frames[i - 1], i == 1);
	return err;
}

static u64 line__hash(const struct folded *f, const struct line *l)
{
	u64 h = l->cnt;

	for (size_t i = 0; i < l->cnt; i++)
		h = (h ^ (uintptr_t)f->names.v[l->first + i]) * 0x9e3779b97f4a7c15ULL;
	return map__mix(h, l->cnt);
}

static bool line__equal(const struct folded *f, const struct line *a, const struct line *b)
{
	return a->cnt == b->cnt &&
	       !memcmp(&f->names.v[a->first], &f->names.v[b->first], a->cnt * sizeof(*f->names.v));
}

static int add_row(struct folded *f, const struct allocsnoop_sample *s)
{
	struct line line = { .first = f->names.cnt, .value = sample__value(s, f->opts->value) };
	u64 hash, last = 0;
	int err;

	if (!line.value)
		return 0;
	err = push_names(f, s);
	if (err)
		return err;
	line.cnt = f->names.cnt - line.first;
	hash = line__hash(f, &line);
	if (map__get(&f->by_hash, hash, &last))
		line.next = last;
	for (size_t i = last; i; i = f->lines.v[i - 1].next) {
		struct line *old = &f->lines.v[i - 1];

		if (!line__equal(f, old, &line))
			continue;
		old->value = sum__add(old->value, line.value);
		f->names.cnt = line.first;
		return 0;
	}
	err = vec__push(&f->lines, line);
	return err ? err : map__put(&f->by_hash, hash, f->lines.cnt);
}

static int print_lines(struct folded *f, FILE *out)
{
	for (size_t i = 0; i < f->lines.cnt && !ferror(out); i++) {
		const struct line *l = &f->lines.v[i];

		str__clear(&f->buf);
		for (size_t n = 0; n < l->cnt; n++) {
			str__add(&f->buf, n ? ";" : "");
			str__add(&f->buf, f->names.v[l->first + n]);
		}
		str__addf(&f->buf, " %" PRIu64 "\n", l->value);
		if (f->buf.oom)
			return err__fail(-ENOMEM, "cannot write the report: out of memory");
		fwrite(f->buf.s, 1, f->buf.len, out);
	}
	return writer__done(out);
}

static int folded_write(const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct folded f = { .opts = opts };
	int err = 0;

	for (size_t i = 0; !err && i < p->samples.cnt; i++)
		err = add_row(&f, &p->samples.v[i]);
	if (err)
		err__fail(err, "cannot write the report: %s", strerror(-err));
	else
		err = print_lines(&f, out);
	vec__free(&f.names);
	vec__free(&f.lines);
	map__free(&f.by_hash);
	map__free(&f.frames);
	str__free(&f.buf);
	str__free(&f.label);
	arena__free(&f.arena);
	return err;
}

const struct writer writer_folded = {
	.name = "folded",
	.help = "one line for each stack, for flame graphs: comm;root;...;leaf VALUE",
	.extension = "folded",
	.write = folded_write,
};
