/* SPDX-License-Identifier: BSD-2-Clause */
/* See head.h. */
#include "pprof/head.h"

#include <errno.h>
#include <string.h>

static bool is_live(const struct allocsnoop_profile *p)
{
	return !strcmp(p->info.mode, "live");
}

/* ---- comments ---- */

struct comments {
	struct out *o;
	struct str line;
	VEC(s64) ids;
};

/* The line goes among the comments. */
static void comments__add(struct comments *c)
{
	if (c->line.oom || vec__push(&c->ids, out__text(c->o, c->line.s)))
		c->o->err = -ENOMEM;
	str__clear(&c->line);
}

static void add_estimator(struct comments *c, const struct allocsnoop_info *info)
{
	str__addf(&c->line, "mode %s", info->mode);
	if (info->exact)
		str__add(&c->line, ", exact: all was counted");
	else
		str__add(&c->line, ", estimates (values are unsampled)");
	if (!info->exact && info->budget_pct > 0)
		str__addf(&c->line, " from %" PRIu64 " windows", info->windows);
	if (!info->exact && info->budget_pct > 0 && info->coverage >= 0)
		str__addf(&c->line, ", %.4g of the targets' progress", info->coverage);
	if (info->sampling == ALLOCSNOOP_RATE)
		str__addf(&c->line, ": each allocation kept with probability %g",
			  info->sampling_value);
	if (info->sampling == ALLOCSNOOP_BYTES)
		str__addf(&c->line, ": one kept per %.0f bytes on average", info->sampling_value);
	if (info->at_least)
		str__add(&c->line, ", lower bounds");
	comments__add(c);
}

static void add_errors(struct comments *c, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;

	if (info->exact)
		return;
	str__addf(&c->line, "standard errors: alloc_objects %.0f, alloc_space %.0f",
		  info->alloc_count_se, info->alloc_bytes_se);
	if (is_live(p))
		str__addf(&c->line, ", inuse_objects %.0f, inuse_space %.0f", info->live_count_se,
			  info->live_bytes_se);
	comments__add(c);
}

static void add_losses(struct comments *c, const struct allocsnoop_profile *p)
{
	for (size_t i = 0; i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		str__addf(&c->line, "loss: %s %" PRIu64 ": %s", l->name, l->count, l->text);
		comments__add(c);
	}
	if (p->losses.cnt)
		return;
	str__add(&c->line, "no losses");
	comments__add(c);
}

static void add_comments(struct comments *c, const struct allocsnoop_profile *p)
{
	str__add(&c->line, "made by allocsnoop " ALLOCSNOOP_VERSION);
	comments__add(c);
	str__addf(&c->line, "target: %s", p->info.target);
	comments__add(c);
	if (p->info.diff) {
		str__addf(&c->line, "difference to: %s",
			  p->info.base_target ? p->info.base_target : "");
		comments__add(c);
	}
	if (p->info.filtered) {
		info__say_part(&c->line, &p->info);
		comments__add(c);
	}
	add_estimator(c, &p->info);
	add_errors(c, p);
	add_losses(c, p);
}

/* ---- which frames are the allocator's ---- */

/* As pprof compares: without arguments. What RE2 takes for more than itself is escaped. */
static void add_pattern(struct str *s, const char *name)
{
	size_t len = strcspn(name, "(");

	if (!len || len > 200)
		return;
	str__add(s, s->len ? "|" : "");
	for (size_t i = 0; i < len; i++) {
		if (strchr("\\.+*?()|[]{}^$", name[i]))
			str__add(s, "\\");
		str__addn(s, &name[i], 1);
	}
}

#define ALLOCATORS_MAX 64

/* So that the functions that asked for memory come first in pprof's tables, not malloc. */
static s64 drop_frames(struct out *o, const struct allocsnoop_profile *p)
{
	const char *names[ALLOCATORS_MAX];
	struct str text = {};
	size_t cnt = 0;
	s64 id;

	for (size_t i = 0; i < p->samples.cnt && cnt < ALLOCATORS_MAX; i++) {
		const char *name = p->samples.v[i].allocator;
		size_t known = 0;

		while (known < cnt && names[known] != name)
			known++;
		if (known < cnt)
			continue;
		names[cnt++] = name;
		add_pattern(&text, name);
	}
	str__add(&text, text.len ? "|operator new.*" : "operator new.*");
	if (text.oom)
		o->err = -ENOMEM;
	id = out__text(o, text.s);
	str__free(&text);
	return id;
}

/* ---- values ---- */

static Pb__ValueType value_type(struct out *o, const char *type, const char *unit)
{
	Pb__ValueType t = PB__VALUE_TYPE__INIT;

	t.type = out__text(o, type);
	t.unit = out__text(o, unit);
	return t;
}

/* Mean bytes between samples; 1 where all was counted, 0 where there is no such number. */
static s64 period(const struct allocsnoop_info *info)
{
	if (info->exact)
		return 1;
	if (info->sampling != ALLOCSNOOP_BYTES || info->budget_pct > 0)
		return 0;
	return info->sampling_value > 1 && info->sampling_value < 0x1p62 ? (s64)info->sampling_value
									 : 1;
}

/* Some values have no column. */
static enum pprof_column default_column(const struct allocsnoop_profile *p,
					enum allocsnoop_value value)
{
	switch (value) {
	case ALLOCSNOOP_ALLOC_COUNT:
		return COLUMN_ALLOC_COUNT;
	case ALLOCSNOOP_ALLOC_BYTES:
		return COLUMN_ALLOC_BYTES;
	case ALLOCSNOOP_LIVE_COUNT:
		return is_live(p) ? COLUMN_LIVE_COUNT : COLUMN_ALLOC_COUNT;
	default:
		return is_live(p) ? COLUMN_LIVE_BYTES : COLUMN_ALLOC_BYTES;
	}
}

static void head__write_values(struct out *o, const struct allocsnoop_profile *p,
			       enum allocsnoop_value value)
{
	Pb__ValueType types[COLUMN_CNT] = {
		value_type(o, "alloc_objects", "count"),
		value_type(o, "alloc_space", "bytes"),
		value_type(o, "inuse_objects", "count"),
		value_type(o, "inuse_space", "bytes"),
	};
	Pb__ValueType *list[] = { &types[0], &types[1], &types[2], &types[3] };
	Pb__ValueType space = value_type(o, "space", "bytes");
	size_t cnt = is_live(p) ? COLUMN_CNT : COLUMN_LIVE_COUNT;
	Pb__Profile piece = PB__PROFILE__INIT;
	struct comments c = { .o = o };

	add_comments(&c, p);
	piece.n_comment = c.ids.cnt;
	piece.comment = c.ids.v;
	piece.n_sample_type = cnt;
	piece.sample_type = list;
	piece.default_sample_type = types[default_column(p, value)].type;
	piece.period_type = &space;
	piece.period = period(&p->info);
	piece.time_nanos = (s64)MIN(p->info.started_ns, (u64)INT64_MAX);
	piece.duration_nanos = (s64)MIN(p->info.duration_ns, (u64)INT64_MAX);
	piece.drop_frames = drop_frames(o, p);
	out__emit(o, &piece);
	vec__free(&c.ids);
	str__free(&c.line);
}

/* ---- for our own reader ---- */

#define COPY_INFO(name)	   r.name = info->name;
#define COPY_PROCESS(name) m.name = proc->name;
#define COPY_POINT(name)   m.name = point->name;

static void head__write_recording(struct out *o, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Recording r = PB__RECORDING__INIT;

	PPROF_INFO_NUMBERS(COPY_INFO)
	PPROF_INFO_REALS(COPY_INFO)
	r.format = 1;
	r.live = is_live(p);
	r.target = out__text(o, info->target);
	r.has_base_target = info->base_target != NULL;
	r.base_target = out__text(o, info->base_target);
	r.sampling = info->sampling;
	r.coverage = info->coverage;
	piece.recording = &r;
	out__emit(o, &piece);
}

static void process__write(struct out *o, const struct allocsnoop_process *proc)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Process m = PB__PROCESS__INIT, *list = &m;

	PPROF_PROCESS_NUMBERS(COPY_PROCESS)
	PPROF_PROCESS_REALS(COPY_PROCESS)
	m.comm = out__string(o, proc->comm);
	m.exe = out__string(o, proc->exe);
	m.cgroup = out__string(o, proc->cgroup);
	m.container = out__string(o, proc->container);
	piece.n_process = 1;
	piece.process = &list;
	out__emit(o, &piece);
}

static void loss__write(struct out *o, const struct allocsnoop_loss *loss)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Loss m = PB__LOSS__INIT, *list = &m;

	m.name = out__string(o, loss->name);
	m.text = out__string(o, loss->text);
	m.count = loss->count;
	piece.n_loss = 1;
	piece.loss = &list;
	out__emit(o, &piece);
}

static void point__write(struct out *o, const struct allocsnoop_point *point)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Point m = PB__POINT__INIT, *list = &m;

	PPROF_POINT_NUMBERS(COPY_POINT)
	piece.n_point = 1;
	piece.point = &list;
	out__emit(o, &piece);
}

void head__write(struct out *o, const struct allocsnoop_profile *p, enum allocsnoop_value value)
{
	head__write_values(o, p, value);
	head__write_recording(o, p);
	for (size_t i = 0; i < p->processes.cnt; i++)
		process__write(o, &p->processes.v[i]);
	for (size_t i = 0; i < p->losses.cnt; i++)
		loss__write(o, &p->losses.v[i]);
	for (size_t i = 0; i < p->points.cnt; i++)
		point__write(o, &p->points.v[i]);
}
