/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What changed between two profiles. The one idea: a row of the profile before is a row whose
 * numbers stand in base_*, so a difference is the sum of both profiles' rows, and every view of a
 * difference is right because it only sums, too.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "profile/copy.h"
#include "profile/group.h"

#define OCTAVES 65 /* of sizes: 0, 1, 2 to 3, 4 to 7 and so on */

struct diff {
	const struct allocsnoop_profile *before;
	const struct allocsnoop_profile *later;
	struct allocsnoop_profile *to;
	struct group *group;
	size_t later_cnt;     /* rows of `to` that later has */
	bool coarse[OCTAVES]; /* size classes in it are told apart in one of them only */
};

/* ---- sizes ---- */

static size_t octave(u64 size)
{
	return size ? 64 - (size_t)__builtin_clzll(size) : 0;
}

static u64 octave_low(size_t octave)
{
	return octave ? 1ull << (octave - 1) : 0;
}

static u64 octave_high(size_t octave)
{
	return octave ? octave_low(octave) - 1 + octave_low(octave) : 0;
}

/* Where classes are octaves, and where they are smaller. */
static void note_classes(const struct allocsnoop_profile *p, bool *whole, bool *parts)
{
	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];
		size_t o = octave(s->size_low);

		if (s->size_low == octave_low(o) && s->size_high == octave_high(o))
			whole[o] = true;
		else if (s->size_high <= octave_high(o))
			parts[o] = true;
	}
}

/* Sampled profiles have smaller classes than exact ones: rows would never meet. */
static void diff__compare_classes(struct diff *d)
{
	bool whole[2][OCTAVES] = {}, parts[2][OCTAVES] = {};

	note_classes(d->before, whole[0], parts[0]);
	note_classes(d->later, whole[1], parts[1]);
	for (size_t o = 0; o < OCTAVES; o++)
		d->coarse[o] = (whole[0][o] && parts[1][o]) || (whole[1][o] && parts[0][o]);
}

static struct allocsnoop_sample coarse(const struct diff *d, struct allocsnoop_sample row)
{
	size_t o = octave(row.size_low);

	if (d->coarse[o] && row.size_high <= octave_high(o)) {
		row.size_low = octave_low(o);
		row.size_high = octave_high(o);
	}
	return row;
}

/* ---- rows ---- */

/* What a difference has no room for: ids, and numbers of one profile's own course. */
static struct allocsnoop_sample anonymous(const struct allocsnoop_sample *s)
{
	struct allocsnoop_sample row = *s;

	row.pid = 0;
	row.tid = 0;
	row.stack_id = 0;
	row.grown_count = row.grown_bytes = 0;
	row.base_alloc_count = row.base_alloc_bytes =
		0; /* of no difference, but of a file perhaps */
	row.base_live_count = row.base_live_bytes = 0;
	return row;
}

/* The row as one of the profile before: nothing of it is there now. */
static struct allocsnoop_sample as_base(const struct allocsnoop_sample *s)
{
	return (struct allocsnoop_sample){
		.pid_cnt = s->pid_cnt,
		.comm = s->comm,
		.allocator = s->allocator,
		.type = s->type,
		.thread = s->thread,
		.size_low = s->size_low,
		.size_high = s->size_high,
		.end = s->end,
		.truncated = s->truncated,
		.frames = s->frames,
		.frame_cnt = s->frame_cnt,
		.collected = s->collected,
		.at_least = s->at_least,
		.sampled_count = s->sampled_count,
		.alloc_count_var = s->alloc_count_var,
		.alloc_bytes_var = s->alloc_bytes_var,
		.live_count_var = s->live_count_var,
		.live_bytes_var = s->live_bytes_var,
		.base_alloc_count = s->alloc_count,
		.base_alloc_bytes = s->alloc_bytes,
		.base_live_count = s->live_count,
		.base_live_bytes = s->live_bytes,
	};
}

static int diff__add_later(struct diff *d)
{
	int err = 0;

	for (size_t i = 0; !err && i < d->later->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &d->later->samples.v[i];
		const struct allocsnoop_sample row = coarse(d, anonymous(s));

		err = group__add(d->group, &row, (struct origin){ .pid = s->pid });
	}
	d->later_cnt = d->to->samples.cnt;
	return err;
}

/* Counts processes only where later has none. */
static int diff__add_before(struct diff *d)
{
	int err = 0;

	for (size_t i = 0; !err && i < d->before->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &d->before->samples.v[i];
		const struct allocsnoop_sample row = coarse(d, as_base(s));

		err = group__add(d->group, &row,
				 (struct origin){ 1, s->pid, .counted_from = d->later_cnt });
	}
	return err;
}

static void diff__sampling(struct allocsnoop_info *info, const struct allocsnoop_info *before)
{
	info->exact &= before->exact;
	info->at_least |= before->at_least;
	if (before->exact || info->sampling != ALLOCSNOOP_ALL)
		return;
	info->sampling = before->sampling;
	info->sampling_value = before->sampling_value;
}

static int diff__info(struct diff *d)
{
	const struct allocsnoop_info *before = &d->before->info, *later = &d->later->info;
	struct allocsnoop_info *info = &d->to->info;
	int err = info__copy(&d->to->arena, info, later);

	if (err)
		return err;
	info->diff = true;
	info->base_target = arena__intern(&d->to->arena, before->target ? before->target : "");
	info->base_duration_ns = before->duration_ns;
	info->grown = false;
	diff__sampling(info, before);
	return info->base_target ? 0 : -ENOMEM;
}

/* Standard errors of totals aren't always those of the rows' sums: see names.c. */
static void diff__finish(struct diff *d)
{
	const struct allocsnoop_info *before = &d->before->info, *later = &d->later->info;
	struct allocsnoop_info *info = &d->to->info;

	profile__finish(d->to);
	info->alloc_count_se = hypot(before->alloc_count_se, later->alloc_count_se);
	info->alloc_bytes_se = hypot(before->alloc_bytes_se, later->alloc_bytes_se);
	info->live_count_se = hypot(before->live_count_se, later->live_count_se);
	info->live_bytes_se = hypot(before->live_bytes_se, later->live_bytes_se);
}

static int diff__run(struct diff *d)
{
	int err = diff__info(d);

	if (err)
		return err;
	d->group = group__new(d->to, &view_diff);
	if (!d->group)
		return -ENOMEM;
	diff__compare_classes(d);
	err = diff__add_later(d);
	if (!err)
		err = diff__add_before(d);
	group__free(d->group);
	if (!err)
		err = profile__copy_processes(d->to, d->later);
	if (!err)
		err = profile__copy_losses(d->to, d->later);
	if (!err)
		err = profile__copy_losses(d->to, d->before);
	if (!err)
		diff__finish(d);
	return err;
}

/* Foreign profiles don't say what was traced: allocations. */
static u32 traced(const struct allocsnoop_info *info)
{
	return info->trace ? info->trace : (u32)ALLOCSNOOP_TRACE_MALLOC;
}

int info__check_alike(const struct allocsnoop_info *a, const struct allocsnoop_info *b,
		      const char *what)
{
	if (a->diff || b->diff)
		return err__fail(-EINVAL, "cannot %s: one is a difference already", what);
	if (strcmp(a->mode, b->mode))
		return err__fail(-EINVAL, "cannot %s: one has mode '%s', the other '%s'", what,
				 a->mode, b->mode);
	if (traced(a) != traced(b))
		return err__fail(-EINVAL, "cannot %s: they count different events", what);
	if (a->older_ns != b->older_ns)
		return err__fail(-EINVAL, "cannot %s: what is live is of different ages (--older)",
				 what);
	return 0;
}

int allocsnoop_profile__diff(const struct allocsnoop_profile *before,
			     const struct allocsnoop_profile *later,
			     struct allocsnoop_profile **diff)
{
	struct diff d = { .before = before, .later = later };
	int err = info__check_alike(&before->info, &later->info, "compare profiles");

	if (!err && before->info.filtered != later->info.filtered)
		err = err__fail(-EINVAL, "cannot compare profiles: one holds chosen rows only "
					 "(--focus, --ignore)");
	if (err)
		return err;
	d.to = profile__new();
	err = d.to ? diff__run(&d) : -ENOMEM;
	if (err) {
		profile__free(d.to);
		return err__fail(err, "cannot compare profiles: %s", strerror(-err));
	}
	*diff = d.to;
	return 0;
}
