/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's JSON (https://www.speedscope.app/file-format-schema.json): a "sampled" profile for
 * each value, over one list of frames. The one idea: frames are numbered by their weight, and
 * stacks come in the order of these numbers, so that equal callers lie side by side, heavy ones
 * first: the view by time, which knows no other order, shows a flame graph, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/json.h"
#include "report/paths.h"
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

#define KIND_CNT ARRAY_SIZE(kinds)

struct known_frame {
	const char *function; /* interned, as the others */
	const char *module;
	const char *file;
	u32 line;
	u32 next;   /* frame + 1 with the same hash, 0 for none */
	u64 weight; /* of the stacks that it is in */
};

struct speedscope {
	struct json j; /* its arena holds the frames' names */
	const struct allocsnoop_report_opts *opts;
	struct paths paths; /* values: of each kind that is shown, now and, if compared, before */
	VEC(struct known_frame) frames;
	struct map by_hash; /* of what is shown -> frame + 1 that came last with it */
	u32 *order;	    /* frames, the heaviest first */
	u32 *number;	    /* of each frame: its place there */
	u32 *stacks;	    /* paths in the order of their numbers */
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

static int frame__find(struct speedscope *s, const struct known_frame *f, u32 *item)
{
	u64 hash = map__mix((uintptr_t)f->function, (uintptr_t)f->module), last = 0;
	struct known_frame copy = *f;
	int err;

	hash = map__mix(map__mix(hash, (uintptr_t)f->file), f->line);
	map__get(&s->by_hash, hash, &last);
	for (u32 i = last; i; i = s->frames.v[i - 1].next) {
		const struct known_frame *old = &s->frames.v[i - 1];

		*item = i - 1;
		if (old->function == f->function && old->module == f->module &&
		    old->file == f->file && old->line == f->line)
			return 0;
	}
	copy.next = last;
	*item = s->frames.cnt;
	err = vec__push(&s->frames, copy);
	return err ? err : map__put(&s->by_hash, hash, s->frames.cnt);
}

/* Inlined or not, first or last in its stack: a frame that shows the same is the same. */
static int frame__of(void *arg, const struct allocsnoop_frame *f, bool leaf, u32 *item)
{
	struct speedscope *s = arg;
	struct known_frame k = { .line = f->file ? f->line : 0 };

	(void)leaf;
	k.function = arena__intern(&s->j.arena, *f->function ? f->function : "[unknown]");
	k.module = arena__intern(&s->j.arena, f->module);
	k.file = f->file ? arena__intern(&s->j.arena, f->file) : NULL;
	if (!k.function || !k.module || (f->file && !k.file))
		return -ENOMEM;
	return frame__find(s, &k, item);
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

	str__add(&s->j.buf, ",\n\"shared\": {\"frames\": [");
	for (size_t i = 0; !err && i < s->frames.cnt; i++) {
		str__add(&s->j.buf, i ? ",\n" : "\n");
		add_frame(&s->j, &s->frames.v[s->order[i]]);
		err = flush_buf(&s->j, FLUSH_SIZE);
	}
	str__add(&s->j.buf, "]}");
	return err;
}

/* ---- kinds ---- */

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

static bool is_compared(const struct speedscope *s, const struct kind *kind)
{
	return kind->compared && s->j.p->info.diff;
}

static size_t row__values(const struct speedscope *s, const struct allocsnoop_sample *row,
			  u64 values[2 * KIND_CNT])
{
	size_t cnt = 0;

	for (size_t i = 0; i < KIND_CNT; i++) {
		if (!is_shown(s, &kinds[i]))
			continue;
		values[cnt++] = sample__value(row, kinds[i].value);
		if (is_compared(s, &kinds[i]))
			values[cnt++] = sample__base(row, kinds[i].value);
	}
	return cnt;
}

/* ---- order ---- */

static u64 path__weight(const struct paths *p, size_t path)
{
	u64 weight = 0;

	for (size_t i = 0; i < p->value_cnt; i++)
		weight = sum__add(weight, p->values.v[path * p->value_cnt + i]);
	return weight;
}

static void weigh_frames(struct speedscope *s)
{
	const struct paths *p = &s->paths;

	for (size_t i = 0; i < p->paths.cnt; i++) {
		u64 weight = path__weight(p, i);

		for (size_t n = 0; n < p->paths.v[i].cnt; n++) {
			u64 *to = &s->frames.v[p->items.v[p->paths.v[i].first + n]].weight;

			*to = sum__add(*to, weight);
		}
	}
}

static int cmp_frames(const void *x, const void *y, void *arg)
{
	const struct speedscope *s = arg;
	const struct known_frame *a = &s->frames.v[*(const u32 *)x];
	const struct known_frame *b = &s->frames.v[*(const u32 *)y];
	int diff;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	diff = strcmp(a->function, b->function);
	if (!diff)
		diff = strcmp(a->module, b->module);
	if (!diff)
		diff = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	return diff ? diff : (a->line > b->line) - (a->line < b->line);
}

static int cmp_paths(const void *x, const void *y, void *arg)
{
	const struct paths *p = arg;
	const struct path *a = &p->paths.v[*(const u32 *)x], *b = &p->paths.v[*(const u32 *)y];
	const u32 *a_items = p->items.v + a->first, *b_items = p->items.v + b->first;

	for (u32 i = 0; i < MIN(a->cnt, b->cnt); i++) {
		if (a_items[i] != b_items[i])
			return a_items[i] < b_items[i] ? -1 : 1;
	}
	return (a->cnt > b->cnt) - (a->cnt < b->cnt);
}

static int make_order(struct speedscope *s)
{
	struct paths *p = &s->paths;

	s->order = calloc(s->frames.cnt + 1, sizeof(*s->order));
	s->number = calloc(s->frames.cnt + 1, sizeof(*s->number));
	s->stacks = calloc(p->paths.cnt + 1, sizeof(*s->stacks));
	if (!s->order || !s->number || !s->stacks)
		return -ENOMEM;
	weigh_frames(s);
	for (size_t i = 0; i < s->frames.cnt; i++)
		s->order[i] = i;
	qsort_r(s->order, s->frames.cnt, sizeof(*s->order), cmp_frames, s);
	for (size_t i = 0; i < s->frames.cnt; i++)
		s->number[s->order[i]] = i;
	for (size_t i = 0; i < p->items.cnt; i++)
		p->items.v[i] = s->number[p->items.v[i]];
	for (size_t i = 0; i < p->paths.cnt; i++)
		s->stacks[i] = i;
	qsort_r(s->stacks, p->paths.cnt, sizeof(*s->stacks), cmp_paths, p);
	return 0;
}

/* ---- profiles ---- */

static u64 stack__weight(const struct speedscope *s, size_t i, size_t value, enum side side)
{
	const u64 *values = &s->paths.values.v[s->stacks[i] * s->paths.value_cnt + value];

	switch (side) {
	case SIDE_BEFORE:
		return values[1];
	case SIDE_MORE:
		return values[0] > values[1] ? values[0] - values[1] : 0;
	case SIDE_LESS:
		return values[1] > values[0] ? values[1] - values[0] : 0;
	case SIDE_NOW:
		break;
	}
	return values[0];
}

static void add_stack(struct speedscope *s, size_t i)
{
	const struct path *path = &s->paths.paths.v[s->stacks[i]];

	for (size_t n = 0; n < path->cnt; n++) {
		str__addn(&s->j.buf, n ? "," : "[", 1);
		str__add_u64(&s->j.buf, s->paths.items.v[path->first + n]);
	}
	str__add(&s->j.buf, "]");
}

static int write_samples(struct speedscope *s, size_t value, enum side side)
{
	const char *before = "\n";
	int err = 0;

	str__add(&s->j.buf, ",\n\"samples\": [");
	for (size_t i = 0; !err && i < s->paths.paths.cnt; i++) {
		if (!stack__weight(s, i, value, side))
			continue;
		str__add(&s->j.buf, before);
		add_stack(s, i);
		before = ",\n";
		err = flush_buf(&s->j, FLUSH_SIZE);
	}
	str__add(&s->j.buf, "]");
	return err;
}

static int write_weights(struct speedscope *s, size_t value, enum side side, u64 *sum)
{
	const char *before = "\n";
	int err = 0;

	*sum = 0;
	str__add(&s->j.buf, ",\n\"weights\": [");
	for (size_t i = 0; !err && i < s->paths.paths.cnt; i++) {
		u64 weight = stack__weight(s, i, value, side);

		if (!weight)
			continue;
		*sum = sum__add(*sum, weight);
		str__add(&s->j.buf, before);
		str__add_u64(&s->j.buf, weight);
		before = ",\n";
		err = flush_buf(&s->j, FLUSH_SIZE);
	}
	str__add(&s->j.buf, "]");
	return err;
}

static int write_profile(struct speedscope *s, const struct kind *kind, size_t value,
			 enum side side)
{
	struct json *j = &s->j;
	u64 sum;
	int err;

	str__addf(&j->buf, s->profile_cnt++ ? ",\n{" : "\n{");
	json__str(j, "type", "sampled");
	str__addf(&j->buf, ", \"name\": \"%s%s\"", value__name(kind->value), side_names[side]);
	json__str(j, "unit", value__in_bytes(kind->value) ? "bytes" : "none");
	json__u64(j, "startValue", 0);
	err = write_samples(s, value, side);
	if (!err)
		err = write_weights(s, value, side, &sum);
	if (err)
		return err;
	json__u64(j, "endValue", sum);
	str__add(&j->buf, "}");
	return 0;
}

static int write_profiles(struct speedscope *s)
{
	size_t value = 0;
	int err = 0;

	str__add(&s->j.buf, ",\n\"profiles\": [");
	for (size_t i = 0; !err && i < KIND_CNT; i++) {
		size_t sides = is_compared(s, &kinds[i]) ? ARRAY_SIZE(side_names) : 1;

		if (!is_shown(s, &kinds[i]))
			continue;
		for (size_t side = 0; !err && side < sides; side++)
			err = write_profile(s, &kinds[i], value, side);
		value += sides > 1 ? 2 : 1;
	}
	str__add(&s->j.buf, "]");
	return err;
}

/* ---- the whole ---- */

static size_t active_profile(const struct speedscope *s)
{
	size_t at = 0;

	for (size_t i = 0; i < KIND_CNT && kinds[i].value != s->opts->value; i++) {
		if (is_shown(s, &kinds[i]))
			at += is_compared(s, &kinds[i]) ? ARRAY_SIZE(side_names) : 1;
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

static int read_rows(struct speedscope *s)
{
	u64 values[2 * KIND_CNT];
	int err = 0;

	s->paths.value_cnt = row__values(s, &(struct allocsnoop_sample){ 0 }, values);
	for (size_t i = 0; !err && i < s->j.p->samples.cnt; i++) {
		row__values(s, &s->j.p->samples.v[i], values);
		err = paths__add(&s->paths, &s->j.p->samples.v[i], values);
	}
	return err ? err : make_order(s);
}

static int write_all(struct speedscope *s)
{
	struct json *j = &s->j;
	int err = read_rows(s);

	if (err)
		return err;
	str__add(&j->buf, "{");
	json__str(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json__str(j, "exporter", "allocsnoop@" ALLOCSNOOP_VERSION);
	add_name(s);
	json__u64(j, "activeProfileIndex", active_profile(s));
	err = write_frames(s);
	if (!err)
		err = write_profiles(s);
	str__add(&j->buf, "}\n");
	return err ? err : flush_buf(j, 0);
}

static int speedscope_write(const struct allocsnoop_profile *p,
			    const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct speedscope s = { .j = { .out = out, .p = p }, .opts = opts };
	int err;

	s.j.live = !strcmp(p->info.mode, "live");
	s.paths.by = opts->by;
	s.paths.item_of = frame__of;
	s.paths.arg = &s;
	err = write_all(&s);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	paths__fini(&s.paths);
	vec__free(&s.frames);
	map__free(&s.by_hash);
	free(s.order);
	free(s.number);
	free(s.stacks);
	str__free(&s.j.buf);
	str__free(&s.j.clean);
	arena__free(&s.j.arena);
	return err ? err : writer__done(out);
}

const struct writer writer_speedscope = {
	.name = "speedscope",
	.help = "for speedscope.app: a profile for each value",
	.extension = "speedscope.json",
	.merges = true,
	.write = speedscope_write,
};
