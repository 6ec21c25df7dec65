/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds rows up. The one idea: whatever rows are summed for (a view, a total, the line about rows
 * that aren't shown), there is one function that knows how each number adds, so that a new number
 * can't be forgotten in one of them.
 */
#include <math.h>

#include "profile/profile.h"

u64 sum__add(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void add(u64 *to, u64 b)
{
	*to = sum__add(*to, b);
}

static void add_signed(s64 *to, s64 b)
{
	if (__builtin_add_overflow(*to, b, to))
		*to = b < 0 ? INT64_MIN : INT64_MAX;
}

/* Of a_cnt blocks and b_cnt blocks together. */
static void add_mean(double *a, u64 a_cnt, double b, u64 b_cnt)
{
	double cnt = (double)a_cnt + (double)b_cnt;

	if (b_cnt)
		*a = *a * ((double)a_cnt / cnt) + b * ((double)b_cnt / cnt);
}

static void add_live(struct allocsnoop_sample *to, const struct allocsnoop_sample *s)
{
	add_mean(&to->freed_mean_ns, to->freed_count, s->freed_mean_ns, s->freed_count);
	add_mean(&to->live_mean_ns, to->live_count, s->live_mean_ns, s->live_count);
	add(&to->live_count, s->live_count);
	add(&to->live_bytes, s->live_bytes);
	to->live_count_var += s->live_count_var;
	to->live_bytes_var += s->live_bytes_var;
	add(&to->freed_count, s->freed_count);
	add(&to->freed_bytes, s->freed_bytes);
	add(&to->exit_count, s->exit_count);
	add(&to->exit_bytes, s->exit_bytes);
	add(&to->untracked_count, s->untracked_count);
	add(&to->untracked_bytes, s->untracked_bytes);
	add(&to->temporary_count, s->temporary_count);
	add(&to->old_count, s->old_count);
	add(&to->old_bytes, s->old_bytes);
	add(&to->peak_count, s->peak_count);
	add(&to->peak_bytes, s->peak_bytes);
	add_signed(&to->grown_count, s->grown_count);
	add_signed(&to->grown_bytes, s->grown_bytes);
}

void sample__add(struct allocsnoop_sample *to, const struct allocsnoop_sample *s)
{
	add(&to->alloc_count, s->alloc_count);
	add(&to->alloc_bytes, s->alloc_bytes);
	/* Samples are kept independently of each other, so variances add up. */
	to->alloc_count_var += s->alloc_count_var;
	to->alloc_bytes_var += s->alloc_bytes_var;
	add(&to->sampled_count, s->sampled_count);
	to->at_least |= s->at_least;
	add(&to->base_alloc_count, s->base_alloc_count);
	add(&to->base_alloc_bytes, s->base_alloc_bytes);
	add(&to->base_live_count, s->base_live_count);
	add(&to->base_live_bytes, s->base_live_bytes);
	add_live(to, s);
}

void lifetimes__add(struct allocsnoop_lifetimes *to, const struct allocsnoop_lifetimes *from)
{
	for (size_t i = 0; i < ALLOCSNOOP_LIFE_CLASSES; i++) {
		add(&to->freed[i], from->freed[i]);
		add(&to->live[i], from->live[i]);
	}
}

void profile__sum(const struct allocsnoop_profile *p, struct allocsnoop_sample *sum)
{
	*sum = (struct allocsnoop_sample){ .comm = "", .allocator = "" };
	for (size_t i = 0; i < p->samples.cnt; i++)
		sample__add(sum, &p->samples.v[i]);
}

void profile__finish(struct allocsnoop_profile *p)
{
	struct allocsnoop_info *info = &p->info;
	struct allocsnoop_sample all;

	profile__sum(p, &all);
	info->alloc_count = all.alloc_count;
	info->alloc_bytes = all.alloc_bytes;
	info->alloc_count_se = sqrt(all.alloc_count_var);
	info->alloc_bytes_se = sqrt(all.alloc_bytes_var);
	info->live_count = all.live_count;
	info->live_bytes = all.live_bytes;
	info->live_count_se = sqrt(all.live_count_var);
	info->live_bytes_se = sqrt(all.live_bytes_var);
	info->freed_count = all.freed_count;
	info->freed_bytes = all.freed_bytes;
	info->exit_count = all.exit_count;
	info->exit_bytes = all.exit_bytes;
	info->untracked_count = all.untracked_count;
	info->untracked_bytes = all.untracked_bytes;
	info->temporary_count = all.temporary_count;
	info->grown_count = all.grown_count;
	info->grown_bytes = all.grown_bytes;
	info->base_alloc_count = all.base_alloc_count;
	info->base_alloc_bytes = all.base_alloc_bytes;
	info->base_live_count = all.base_live_count;
	info->base_live_bytes = all.base_live_bytes;
}
