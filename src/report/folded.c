/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, the input of flame graphs: `comm;root;...;leaf VALUE`; of a difference `... BEFORE
 * AFTER`, as flamegraph.pl takes two profiles for a differential one. The format has no escapes,
 * so names are cleaned; rows that differ only in what the format can't say become one line. The one
 * idea: clean names have numbers, so a line is a list of numbers and equal lines have equal lists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/paths.h"
#include "report/writer.h"

#define LINES_AHEAD 4

struct name {
	const char *text; /* ";name" */
	u32 len;	  /* of that */
	u32 rank;	  /* among all, in alphabetical order */
};

struct folded {
	struct paths paths; /* a path's values: the one asked for; of a difference also before it */
	struct arena arena;
	VEC(struct name) names;
	struct map by_text; /* interned text -> name */
	struct str buf;
	bool diff;
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

static int name__new(struct folded *f, const char *text)
{
	size_t len = strlen(text);
	char *copy = arena__alloc(&f->arena, len + 2);

	if (!copy || len > INT32_MAX)
		return -ENOMEM;
	copy[0] = ';';
	memcpy(copy + 1, text, len);
	return vec__push(&f->names, ((struct name){ copy, len + 1, 0 }));
}

static int name__of(void *arg, const struct allocsnoop_frame *frame, bool leaf, u32 *name)
{
	struct folded *f = arg;
	const char *text = clean_name(f, frame->function, leaf);
	u64 known;
	int err;

	if (!text)
		return -ENOMEM;
	if (map__get(&f->by_text, (uintptr_t)text, &known)) {
		*name = known;
		return 0;
	}
	*name = f->names.cnt;
	err = name__new(f, text);
	return err ? err : map__put(&f->by_text, (uintptr_t)text, *name);
}

/* Values lie beside each other while they are sorted. */
struct line {
	u64 value;
	u64 base; /* of a difference, else 0 */
	u32 path;
};

static int cmp_text(const void *x, const void *y, void *arg)
{
	const struct folded *f = arg;

	return strcmp(f->names.v[*(const u32 *)x].text, f->names.v[*(const u32 *)y].text);
}

/* So that lines, which have names in common, are compared by numbers. */
static int rank_names(struct folded *f)
{
	u32 *order = calloc(f->names.cnt + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < f->names.cnt; i++)
		order[i] = i;
	qsort_r(order, f->names.cnt, sizeof(*order), cmp_text, f);
	for (size_t i = 0; i < f->names.cnt; i++)
		f->names.v[order[i]].rank = i;
	free(order);
	return 0;
}

static int cmp_names(const struct folded *f, const struct path *a, const struct path *b)
{
	const u32 *a_items = f->paths.items.v + a->first, *b_items = f->paths.items.v + b->first;

	for (u32 i = 0; i < MIN(a->cnt, b->cnt); i++) {
		if (a_items[i] != b_items[i])
			return f->names.v[a_items[i]].rank < f->names.v[b_items[i]].rank ? -1 : 1;
	}
	return (a->cnt > b->cnt) - (a->cnt < b->cnt);
}

/* By how much it is more than before, saturating; without a difference all of it. */
static s64 line__change(const struct line *l)
{
	u64 by = l->value > l->base ? l->value - l->base : l->base - l->value;
	s64 change = by > INT64_MAX ? INT64_MAX : (s64)by;

	return l->value >= l->base ? change : -change;
}

/* What grew most first, then the greatest, then by names: two runs print the same. */
static int cmp_lines(const void *x, const void *y, void *arg)
{
	const struct line *a = x, *b = y;
	const struct folded *f = arg;

	s64 change = line__change(a), other = line__change(b);

	if (change != other)
		return change > other ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return cmp_names(f, &f->paths.paths.v[a->path], &f->paths.paths.v[b->path]);
}

static int print_line(struct folded *f, const struct line *line, FILE *out)
{
	const struct path *path = &f->paths.paths.v[line->path];

	str__clear(&f->buf);
	for (u32 i = 0; i < path->cnt; i++) {
		const struct name *n = &f->names.v[f->paths.items.v[path->first + i]];

		str__addn(&f->buf, n->text + !i, n->len - !i);
	}
	if (f->diff) {
		str__add(&f->buf, " ");
		str__add_u64(&f->buf, line->base);
	}
	str__add(&f->buf, " ");
	str__add_u64(&f->buf, line->value);
	str__add(&f->buf, "\n");
	if (f->buf.oom)
		return -ENOMEM;
	fwrite(f->buf.s, 1, f->buf.len, out);
	return ferror(out) ? writer__done(out) : 0;
}

static struct line line__of(const struct folded *f, size_t path)
{
	const u64 *values = f->paths.values.v + path * f->paths.value_cnt;

	return (struct line){ values[0], f->diff ? values[1] : 0, path };
}

static void prefetch_line(const struct paths *p, const struct line *line)
{
	const struct path *path = &p->paths.v[line->path];

	for (u32 i = 0; i < path->cnt; i += 64 / sizeof(u32))
		__builtin_prefetch(p->items.v + path->first + i);
}

static int print_lines(struct folded *f, FILE *out)
{
	const struct paths *p = &f->paths;
	struct line *lines = calloc(p->paths.cnt + 1, sizeof(*lines));
	int err = lines ? rank_names(f) : -ENOMEM;

	if (err) {
		free(lines);
		return err;
	}
	for (size_t i = 0; i < p->paths.cnt; i++)
		lines[i] = line__of(f, i);
	qsort_r(lines, p->paths.cnt, sizeof(*lines), cmp_lines, f);
	for (size_t i = 0; !err && i < p->paths.cnt; i++) {
		/* In the order of values they lie anywhere in memory. */
		if (i + LINES_AHEAD < p->paths.cnt)
			prefetch_line(p, &lines[i + LINES_AHEAD]);
		err = print_line(f, &lines[i], out);
	}
	free(lines);
	return err;
}

static int folded_write(const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct folded f = { .paths = { .by = opts->by, .item_of = name__of },
			    .diff = p->info.diff };
	int err = 0;

	f.paths.arg = &f;
	f.paths.value_cnt = f.diff ? 2 : 1;
	for (size_t i = 0; !err && i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *row = &p->samples.v[i];
		u64 values[] = { sample__value(row, opts->value),
				 f.diff ? sample__base(row, opts->value) : 0 };

		err = paths__add(&f.paths, row, values);
	}
	if (!err)
		err = print_lines(&f, out);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	paths__fini(&f.paths);
	vec__free(&f.names);
	map__free(&f.by_text);
	str__free(&f.buf);
	arena__free(&f.arena);
	return err ? err : writer__done(out);
}

const struct writer writer_folded = {
	.name = "folded",
	.help = "one line for each stack, for flame graphs: comm;root;...;leaf VALUE",
	.extension = "folded",
	.merges = true,
	.write = folded_write,
};
