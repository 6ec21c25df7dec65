/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's JSON (https://www.speedscope.app/file-format-schema.json): a "sampled" profile for
 * each value, over one list of frames. Stacks come in the order of the tree of calls, heaviest
 * first, so that equal callers lie side by side in the view by time too. The one idea: the list of
 * frames is written last, when all that use it are, so nothing is kept but the frames themselves.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "profile/tree.h"
#include "report/json.h"
#include "report/row.h"
#include "report/writer.h"

#define FLUSH_SIZE (64 * 1024)

/* What one profile shows of a stack. */
enum side { SIDE_NOW, SIDE_BEFORE, SIDE_MORE, SIDE_LESS };

static const char *const side_names[] = {
	[SIDE_NOW] = "",
	[SIDE_BEFORE] = ", before",
	[SIDE_MORE] = ", more than before",
	[SIDE_LESS] = ", less than before",
};

static const struct kind {
	enum allocsnoop_value value;
	bool live;     /* only there in mode live */
	bool compared; /* there is one of before in a difference */
} kinds[] = {
	{ ALLOCSNOOP_ALLOC_BYTES, false, true },     { ALLOCSNOOP_ALLOC_COUNT, false, true },
	{ ALLOCSNOOP_LIVE_BYTES, true, true },	     { ALLOCSNOOP_LIVE_COUNT, true, true },
	{ ALLOCSNOOP_PEAK_BYTES, true, false },	     { ALLOCSNOOP_GROWN_BYTES, true, false },
	{ ALLOCSNOOP_TEMPORARY_COUNT, true, false },
};

struct known_frame {
	const char *function; /* interned, as the others */
	const char *module;
	const char *file;
	u32 line;
	u32 next; /* frame + 1 with the same hash, 0 for none */
};

struct speedscope {
	struct json j; /* its arena holds the frames' names */
	const struct allocsnoop_report_opts *opts;
	VEC(struct known_frame) frames;
	struct map by_hash; /* of what is shown -> frame + 1 that came last with it */
	struct map seen;    /* frame of the tree at hand -> its number */
	VEC(u64) weights;   /* of the profile at hand */
	VEC(u32) path;	    /* of the stack at hand, leaf first */
	size_t profile_cnt;
};

static int flush_buf(struct json *j, size_t above)
{
	if (j->buf.oom)
		return -ENOMEM;
	if (j->buf.len <= above)
		return 0;
	fwrite(j->buf.s, 1, j->buf.len, j->out);
	str__clear(&j->buf);
	/* Tell of a full disk or a closed pipe now, not after the last row. */
	return ferror(j->out) ? writer__done(j->out) : 0;
}

/* ---- frames ---- */

static int frame__find(struct speedscope *s, const struct known_frame *f, u32 *number)
{
	u64 hash = map__mix((uintptr_t)f->function, (uintptr_t)f->module), last = 0;
	struct known_frame copy = *f;
	int err;

	hash = map__mix(map__mix(hash, (uintptr_t)f->file), f->line);
	map__get(&s->by_hash, hash, &last);
	for (u32 i = last; i; i = s->frames.v[i - 1].next) {
		const struct known_frame *old = &s->frames.v[i - 1];

		*number = i - 1;
		if (old->function == f->function && old->module == f->module &&
		    old->file == f->file && old->line == f->line)
			return 0;
	}
	copy.next = last;
	*number = s->frames.cnt;
	err = vec__push(&s->frames, copy);
	return err ? err : map__put(&s->by_hash, hash, s->frames.cnt);
}

/* Frames of two trees are the same to the reader when they show the same. */
static int frame__number(struct speedscope *s, const struct allocsnoop_frame *f, u32 *number)
{
	struct known_frame k = { .line = f->file ? f->line : 0 };
	u64 old;
	int err;

	if (map__get(&s->seen, (uintptr_t)f, &old)) {
		*number = old;
		return 0;
	}
	k.function = arena__intern(&s->j.arena, *f->function ? f->function : "[unknown]");
	k.module = arena__intern(&s->j.arena, f->module);
	k.file = f->file ? arena__intern(&s->j.arena, f->file) : NULL;
	if (!k.function || !k.module || (f->file && !k.file))
		return -ENOMEM;
	err = frame__find(s, &k, number);
	return err ? err : map__put(&s->seen, (uintptr_t)f, *number);
}

/* speedscope has no modules: where the source is unknown, the file is the program's. */
static void add_frame(struct json *j, const struct known_frame *f)
{
	const char *file = f->file ? f->file : f->module;

	str__add(&j->buf, "{");
	json__str(j, "name", f->function);
	if (*file)
		json__str(j, "file", file);
	if (f->line)
		json__u64(j, "line", f->line);
	str__add(&j->buf, "}");
}

static int write_frames(struct speedscope *s)
{
	int err = 0;

	str__add(&s->j.buf, "],\n\"shared\": {\"frames\": [");
	for (size_t i = 0; !err && i < s->frames.cnt; i++) {
		str__add(&s->j.buf, i ? ",\n" : "\n");
		add_frame(&s->j, &s->frames.v[i]);
		err = flush_buf(&s->j, FLUSH_SIZE);
	}
	str__add(&s->j.buf, "]}}\n");
	return err ? err : flush_buf(&s->j, 0);
}

/* ---- stacks ---- */

static u64 own_base(const struct tree_node *n)
{
	u64 below = 0;

	for (const struct tree_node *c = n->child; c; c = c->next)
		below = sum__add(below, c->base);
	return n->base > below ? n->base - below : 0;
}

static u64 node__weight(const struct tree_node *n, enum side side)
{
	u64 before;

	if (side == SIDE_NOW)
		return n->self;
	before = own_base(n);
	if (side == SIDE_MORE)
		return n->self > before ? n->self - before : 0;
	if (side == SIDE_LESS)
		return before > n->self ? before - n->self : 0;
	return before;
}

static int add_stack(struct speedscope *s, const struct tree_node *leaf, u64 weight)
{
	struct str *buf = &s->j.buf;
	int err = 0;

	s->path.cnt = 0;
	for (const struct tree_node *n = leaf; !err && n->frame; n = n->parent) {
		u32 number;

		err = frame__number(s, n->frame, &number);
		if (!err)
			err = vec__push(&s->path, number);
	}
	if (err)
		return err;
	str__add(buf, s->weights.cnt ? ",\n[" : "\n[");
	for (size_t i = s->path.cnt; i > 0; i--)
		str__addf(buf, "%u%s", s->path.v[i - 1], i > 1 ? "," : "");
	str__add(buf, "]");
	err = vec__push(&s->weights, weight);
	return err ? err : flush_buf(&s->j, FLUSH_SIZE);
}

static int write_weights(struct speedscope *s, u64 *sum)
{
	int err = 0;

	str__add(&s->j.buf, "],\n\"weights\": [");
	for (size_t i = 0; !err && i < s->weights.cnt; i++) {
		*sum = sum__add(*sum, s->weights.v[i]);
		str__addf(&s->j.buf, "%s%" PRIu64, i ? ",\n" : "\n", s->weights.v[i]);
		err = flush_buf(&s->j, FLUSH_SIZE);
	}
	str__add(&s->j.buf, "]");
	return err;
}

static int write_profile(struct speedscope *s, const struct tree *t, const struct kind *kind,
			 enum side side)
{
	struct json *j = &s->j;
	u64 sum = 0;
	int err = 0;

	str__addf(&j->buf, s->profile_cnt++ ? ",\n{" : "\n{");
	json__str(j, "type", "sampled");
	str__addf(&j->buf, ", \"name\": \"%s%s\"", value__name(kind->value), side_names[side]);
	json__str(j, "unit", value__in_bytes(kind->value) ? "bytes" : "none");
	json__u64(j, "startValue", 0);
	str__add(&j->buf, ",\n\"samples\": [");
	s->weights.cnt = 0;
	for (const struct tree_node *n = t->root; !err && n; n = tree__next(n, true)) {
		u64 weight = node__weight(n, side);

		if (weight)
			err = add_stack(s, n, weight);
	}
	if (!err)
		err = write_weights(s, &sum);
	json__u64(j, "endValue", sum);
	str__add(&j->buf, "}");
	return err;
}

static int write_kind(struct speedscope *s, const struct kind *kind)
{
	bool compared = s->j.p->info.diff && kind->compared;
	struct tree_opts opts = { .value = kind->value, .processes = true, .by = s->opts->by };
	struct tree t;
	int err = tree__init(&t, s->j.p, &opts);

	for (size_t side = 0; !err && side < (compared ? ARRAY_SIZE(side_names) : 1); side++)
		err = write_profile(s, &t, kind, side);
	map__clear(&s->seen); /* made-up frames go with the tree */
	tree__fini(&t);
	return err;
}

/* ---- the whole ---- */

static bool is_shown(const struct speedscope *s, const struct kind *kind)
{
	const struct allocsnoop_info *info = &s->j.p->info;

	if (kind->value == s->opts->value || !kind->live)
		return true;
	if (kind->value == ALLOCSNOOP_PEAK_BYTES && !info->exact)
		return false;
	if (kind->value == ALLOCSNOOP_GROWN_BYTES && !info->grown)
		return false;
	return s->j.live;
}

static size_t active_profile(const struct speedscope *s)
{
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && kinds[i].value != s->opts->value; i++) {
		if (!is_shown(s, &kinds[i]))
			continue;
		at += s->j.p->info.diff && kinds[i].compared ? ARRAY_SIZE(side_names) : 1;
	}
	return at;
}

/* The page shows it as the title: the one place to say how sure the numbers are. */
static void add_name(struct speedscope *s)
{
	const struct allocsnoop_info *info = &s->j.p->info;
	struct str name = { 0 };

	str__add(&name, *info->target ? info->target : "allocsnoop");
	if (info->diff)
		str__addf(&name, ", compared with %s",
			  info->base_target ? info->base_target : "before");
	str__add(&name, info->at_least ? " (lower bounds)" : info->exact ? "" : " (estimates)");
	if (s->j.p->losses.cnt)
		str__add(&name, " (with losses)");
	if (name.oom)
		s->j.buf.oom = true;
	else
		json__str(&s->j, "name", name.s);
	str__free(&name);
}

static int write_all(struct speedscope *s)
{
	struct json *j = &s->j;
	int err = 0;

	str__add(&j->buf, "{");
	json__str(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json__str(j, "exporter", "allocsnoop@" ALLOCSNOOP_VERSION);
	add_name(s);
	json__u64(j, "activeProfileIndex", active_profile(s));
	str__add(&j->buf, ",\n\"profiles\": [");
	for (size_t i = 0; !err && i < ARRAY_SIZE(kinds); i++) {
		if (is_shown(s, &kinds[i]))
			err = write_kind(s, &kinds[i]);
	}
	return err ? err : write_frames(s);
}

static int speedscope_write(const struct allocsnoop_profile *p,
			    const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct speedscope s = { .j = { .out = out, .p = p }, .opts = opts };
	int err;

	s.j.live = !strcmp(p->info.mode, "live");
	err = write_all(&s);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	vec__free(&s.frames);
	vec__free(&s.weights);
	vec__free(&s.path);
	map__free(&s.by_hash);
	map__free(&s.seen);
	str__free(&s.j.buf);
	str__free(&s.j.clean);
	arena__free(&s.j.arena);
	return err ? err : writer__done(out);
}

const struct writer writer_speedscope = {
	.name = "speedscope",
	.help = "for speedscope.app: a profile for each value",
	.extension = "speedscope.json",
	.write = speedscope_write,
};
