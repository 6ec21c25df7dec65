/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile that is being read says of the recording as a whole. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "pprof/in.h"

/* ---- what the values are ---- */

static int type__read(struct in *in, const struct wire_field *f, const char **type,
		      const char **unit)
{
	const Pb__ValueType *m;
	int err = 0;

	m = in__unpack(in, &pb__value_type__descriptor, f, &err);
	if (!m)
		return err;
	err = in__string(in, m->type, type);
	return err ? err : in__string(in, m->unit, unit);
}

/* Bytes are told in bytes by all heap profilers; anything else would be counted wrongly. */
static int type__note(struct in *in, const char *type, const char *unit, size_t at)
{
	enum pprof_column column = foreign__column(type);
	bool bytes = column == COLUMN_ALLOC_BYTES || column == COLUMN_LIVE_BYTES;

	if (column == COLUMN_CNT || in->columns[column] >= 0)
		return 0;
	if (bytes && *unit && strcmp(unit, "bytes") && strcmp(unit, "byte"))
		return err__fail(-EINVAL, "its '%.60s' is in '%.60s', not in bytes", type, unit);
	in->columns[column] = (int)at;
	return 0;
}

static int add_type(struct in *in, const struct wire_field *f, size_t nr)
{
	const char *type, *unit;
	int err;

	if (nr > 1000)
		return err__fail(-EINVAL, "damaged: more than 1000 types of values");
	err = type__read(in, f, &type, &unit);
	in->type_cnt = nr;
	return err ? err : type__note(in, type, unit, nr - 1);
}

/* "samples/count, cpu/nanoseconds" */
static int list_type(struct in *in, const struct wire_field *f, size_t nr)
{
	const char *type, *unit;
	struct str text = {};
	int err = type__read(in, f, &type, &unit);

	if (err || nr > 8)
		return err;
	str__addf(&text, "%s%s%.40s/%.40s", err__msg(), nr > 1 ? ", " : "", type, unit);
	err__fail(-EINVAL, "%s", text.oom ? "not a heap profile" : text.s);
	str__free(&text);
	return 0;
}

static int types__read(struct in *in)
{
	int err, known = -1;

	for (size_t i = 0; i < COLUMN_CNT; i++)
		in->columns[i] = -1;
	err = in__each(in, PPROF_SAMPLE_TYPE, add_type);
	if (err)
		return err;
	for (size_t i = 0; i < COLUMN_CNT; i++)
		known = MAX(known, in->columns[i]);
	if (known >= 0)
		return 0;
	if (!in->type_cnt)
		return err__fail(-EINVAL, "not a pprof profile: it says nothing of its values");
	err__fail(-EINVAL, "not a heap profile: its values are ");
	err = in__each(in, PPROF_SAMPLE_TYPE, list_type);
	return err ? err : -EINVAL;
}

/* ---- others' ---- */

static int read_time(struct in *in, const struct wire_field *f, size_t nr __attribute__((unused)))
{
	in->p->info.started_ns = f->val <= INT64_MAX ? f->val : 0;
	return 0;
}

static int read_duration(struct in *in, const struct wire_field *f,
			 size_t nr __attribute__((unused)))
{
	in->p->info.duration_ns = f->val <= INT64_MAX ? f->val : 0;
	return 0;
}

static int read_period(struct in *in, const struct wire_field *f, size_t nr __attribute__((unused)))
{
	in->period = f->val && f->val <= INT64_MAX ? (double)f->val : 0;
	return 0;
}

/* Only of bytes we know what it means; there are those that are always 1. */
static int read_period_type(struct in *in, const struct wire_field *f,
			    size_t nr __attribute__((unused)))
{
	const char *type, *unit;
	int err = type__read(in, f, &type, &unit);

	in->period_of_bytes = !err && strstr(type, "space") && !strcmp(unit, "bytes");
	return err;
}

/* One value in so many bytes was taken, or all were, or it isn't told. */
static int others__read(struct in *in)
{
	struct allocsnoop_info *info = &in->p->info;
	const char *main_file = in->mappings.cnt ? in->mappings.v[0].file : "";
	const char *slash = strrchr(main_file, '/');
	bool live = in->columns[COLUMN_LIVE_COUNT] >= 0 || in->columns[COLUMN_LIVE_BYTES] >= 0;
	int err = in__each(in, PPROF_TIME, read_time);

	if (!err)
		err = in__each(in, PPROF_DURATION, read_duration);
	if (!err)
		err = in__each(in, PPROF_PERIOD, read_period);
	if (!err)
		err = in__each(in, PPROF_PERIOD_TYPE, read_period_type);
	if (!in->period_of_bytes)
		in->period = 0;
	info->mode = live ? "live" : "alloc";
	info->target = slash ? slash + 1 : main_file;
	info->exact = in->period == 1;
	info->sampling = in->period > 1 ? ALLOCSNOOP_BYTES : ALLOCSNOOP_ALL;
	info->sampling_value = in->period > 1 ? in->period : 1;
	info->trace = ALLOCSNOOP_TRACE_MALLOC;
	return err;
}

/* ---- ours ---- */

/* Numbers with a point can be anything. */
static double real(double val)
{
	return isfinite(val) && val > 0 ? val : 0;
}

#define READ_INFO(name)		info->name = m->name;
#define READ_INFO_REAL(name)	info->name = real(m->name);
#define READ_PROCESS(name)	proc.name = m->name;
#define READ_PROCESS_REAL(name) proc.name = real(m->name);
#define READ_POINT(name)	point.name = m->name;

static int read_recording(struct in *in, const struct wire_field *f, size_t nr)
{
	struct allocsnoop_info *info = &in->p->info;
	const Pb__Recording *m;
	int err = 0;

	m = in__unpack(in, &pb__recording__descriptor, f, &err);
	if (!m)
		return err;
	if (nr > 1 || m->sampling > ALLOCSNOOP_BYTES)
		return err__fail(-EINVAL, "damaged: what it says of the recording");
	PPROF_INFO_NUMBERS(READ_INFO)
	PPROF_INFO_REALS(READ_INFO_REAL)
	in->ours = true;
	info->mode = m->live ? "live" : "alloc";
	info->sampling = m->sampling;
	info->coverage = isfinite(m->coverage) ? m->coverage : -1;
	err = in__string(in, m->target, &info->target);
	if (!err && m->has_base_target)
		err = in__string(in, m->base_target, &info->base_target);
	return err;
}

static int read_process(struct in *in, const struct wire_field *f,
			size_t nr __attribute__((unused)))
{
	struct allocsnoop_process proc = {};
	const Pb__Process *m;
	int err = 0;

	m = in__unpack(in, &pb__process__descriptor, f, &err);
	if (!m)
		return err;
	PPROF_PROCESS_NUMBERS(READ_PROCESS)
	PPROF_PROCESS_REALS(READ_PROCESS_REAL)
	err = in__string(in, m->comm, &proc.comm);
	if (!err)
		err = in__string(in, m->exe, &proc.exe);
	if (!err)
		err = in__string(in, m->cgroup, &proc.cgroup);
	if (!err)
		err = in__string(in, m->container, &proc.container);
	if (!err)
		err = in__take(in, 2 * sizeof(proc));
	if (err)
		return err;
	return profile__add_process(in->p, &proc) ? in__no_memory() : 0;
}

/* There are as many as there are kinds of losses: a few dozens. */
static int read_loss(struct in *in, const struct wire_field *f, size_t nr)
{
	const char *name, *text;
	const Pb__Loss *m;
	int err = 0;

	if (nr > 1000)
		return err__fail(-EINVAL, "damaged: more than 1000 kinds of losses");
	m = in__unpack(in, &pb__loss__descriptor, f, &err);
	if (m)
		err = in__string(in, m->name, &name);
	if (!err)
		err = in__string(in, m->text, &text);
	if (err)
		return err;
	return profile__add_loss(in->p, name, text, m->count) ? in__no_memory() : 0;
}

static int read_point(struct in *in, const struct wire_field *f, size_t nr __attribute__((unused)))
{
	struct allocsnoop_point point;
	const Pb__Point *m;
	int err = 0;

	m = in__unpack(in, &pb__point__descriptor, f, &err);
	if (m)
		err = in__take(in, 2 * sizeof(point));
	if (err)
		return err;
	PPROF_POINT_NUMBERS(READ_POINT)
	return vec__push(&in->p->points, point) ? in__no_memory() : 0;
}

int in__read_head(struct in *in)
{
	int err = types__read(in);

	if (!err)
		err = in__each(in, PPROF_RECORDING, read_recording);
	if (!err && !in->ours)
		return others__read(in);
	if (!err)
		err = in__each(in, PPROF_PROCESS, read_process);
	if (!err)
		err = in__each(in, PPROF_LOSS, read_loss);
	return err ? err : in__each(in, PPROF_POINT, read_point);
}
