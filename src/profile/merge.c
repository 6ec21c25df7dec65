/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sum of profiles. Numbers add up; what needs thought is whose they are: process ids of
 * different machines, or days, say nothing about each other. So a row keeps its pid where only one
 * of the profiles knows a process of this id and name; else it becomes a sum of several processes,
 * as every view makes them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "profile/copy.h"
#include "profile/group.h"

#define TARGETS_LEN 100 /* bytes after which a sum's list of targets ends */

#define SEVERAL UINT64_MAX /* profiles know the process */

struct merge {
	const struct allocsnoop_profile *const *profiles;
	size_t cnt;
	struct allocsnoop_profile *to;
	struct group *group;
	struct map owners; /* pid and name -> the one profile that knows it, or SEVERAL */
};

/* ---- whose a row is ---- */

static int merge__own(struct merge *m, u64 profile, u32 pid, const char *comm)
{
	const char *name = arena__intern(&m->to->arena, comm);
	u64 key = map__mix((uintptr_t)name, pid), owner;

	if (!name)
		return -ENOMEM;
	if (!map__get(&m->owners, key, &owner))
		return map__put(&m->owners, key, profile);
	return owner == profile ? 0 : map__put(&m->owners, key, SEVERAL);
}

static bool merge__is_known_once(const struct merge *m, const struct allocsnoop_sample *s)
{
	const char *name = arena__intern(&m->to->arena, s->comm);
	u64 owner = SEVERAL;

	map__get(&m->owners, map__mix((uintptr_t)name, s->pid), &owner);
	return owner != SEVERAL;
}

static int merge__owners(struct merge *m)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->cnt; i++) {
		const struct allocsnoop_profile *p = m->profiles[i];

		for (size_t k = 0; !err && k < p->processes.cnt; k++)
			err = merge__own(m, i, p->processes.v[k].pid, p->processes.v[k].comm);
		for (size_t k = 0; !err && k < p->samples.cnt; k++)
			err = merge__own(m, i, p->samples.v[k].pid, p->samples.v[k].comm);
	}
	return err;
}

/* ---- rows ---- */

static int merge__rows(struct merge *m, size_t at)
{
	const struct allocsnoop_profile *p = m->profiles[at];
	int err = 0;

	for (size_t i = 0; !err && i < p->samples.cnt; i++) {
		struct allocsnoop_sample row = p->samples.v[i];
		const struct origin from = { .profile = at, .pid = row.pid };

		if (row.pid && !merge__is_known_once(m, &row))
			row.pid = row.tid = 0;
		if (!m->to->info.grown)
			row.grown_count = row.grown_bytes = 0;
		if (!m->to->info.old_ns)
			row.old_count = row.old_bytes = 0;
		err = group__add(m->group, &row, from);
	}
	return err;
}

static int merge__all_rows(struct merge *m)
{
	int err = 0;

	m->group = group__new(m->to, &view_merge);
	if (!m->group)
		return -ENOMEM;
	for (size_t i = 0; !err && i < m->cnt; i++)
		err = merge__rows(m, i);
	group__free(m->group);
	return err;
}

static int merge__rest(struct merge *m)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->cnt; i++) {
		err = profile__copy_processes(m->to, m->profiles[i]);
		if (!err)
			err = profile__copy_losses(m->to, m->profiles[i]);
	}
	return err;
}

/* ---- info ---- */

/* Of one kind if they are; else a mixture, which only the standard errors tell about. */
static void add_sampling(struct allocsnoop_info *to, const struct allocsnoop_info *from)
{
	to->exact &= from->exact;
	if (to->sampling == from->sampling && to->sampling_value == from->sampling_value)
		return;
	to->sampling = ALLOCSNOOP_ALL;
	to->sampling_value = 1;
}

static void add_budget(struct allocsnoop_info *to, const struct allocsnoop_info *from)
{
	u64 windows = sum__add(to->windows, from->windows);

	if (windows)
		to->window_ns = (to->window_ns * (double)to->windows +
				 from->window_ns * (double)from->windows) /
				(double)windows;
	to->windows = windows;
	to->budget_pct = fmax(to->budget_pct, from->budget_pct);
	to->cost_pct = fmax(to->cost_pct, from->cost_pct);
	if (to->coverage != from->coverage)
		to->coverage = -1; /* of how much, isn't known */
	to->at_least |= from->at_least;
}

static void add_times(struct allocsnoop_info *to, const struct allocsnoop_info *from)
{
	to->duration_ns = MAX(to->duration_ns, from->duration_ns);
	if (from->started_ns && (!to->started_ns || from->started_ns < to->started_ns))
		to->started_ns = from->started_ns;
	if (to->old_ns != from->old_ns)
		to->old_ns = 0;
}

static u32 profiles(const struct allocsnoop_info *info)
{
	return MAX(info->profile_cnt, 1u);
}

/* What isn't the sum of rows. */
static void info__add(struct allocsnoop_info *to, const struct allocsnoop_info *from)
{
	add_sampling(to, from);
	add_budget(to, from);
	add_times(to, from);
	to->events = sum__add(to->events, from->events);
	to->failed_count = sum__add(to->failed_count, from->failed_count);
	to->unknown_frees = sum__add(to->unknown_frees, from->unknown_frees);
	to->grown &= from->grown;
	to->filtered |= from->filtered;
	to->trace |= from->trace;
	to->profile_cnt = profiles(to) + profiles(from);
}

static void add_filtered(struct allocsnoop_info *to, const struct allocsnoop_info *from)
{
	const bool part = from->filtered;

	to->all_alloc_count =
		sum__add(to->all_alloc_count, part ? from->all_alloc_count : from->alloc_count);
	to->all_alloc_bytes =
		sum__add(to->all_alloc_bytes, part ? from->all_alloc_bytes : from->alloc_bytes);
	to->all_live_count =
		sum__add(to->all_live_count, part ? from->all_live_count : from->live_count);
	to->all_live_bytes =
		sum__add(to->all_live_bytes, part ? from->all_live_bytes : from->live_bytes);
}

/* Standard errors of totals aren't always those of the rows' sums: see names.c. */
static void merge__finish(struct merge *m)
{
	struct allocsnoop_info se = {}, *info = &m->to->info;

	info->all_alloc_count = info->all_alloc_bytes = 0;
	info->all_live_count = info->all_live_bytes = 0;
	for (size_t i = 0; i < m->cnt; i++) {
		const struct allocsnoop_info *from = &m->profiles[i]->info;

		se.alloc_count_se = hypot(se.alloc_count_se, from->alloc_count_se);
		se.alloc_bytes_se = hypot(se.alloc_bytes_se, from->alloc_bytes_se);
		se.live_count_se = hypot(se.live_count_se, from->live_count_se);
		se.live_bytes_se = hypot(se.live_bytes_se, from->live_bytes_se);
		if (info->filtered)
			add_filtered(info, from);
	}
	profile__finish(m->to);
	info->alloc_count_se = se.alloc_count_se;
	info->alloc_bytes_se = se.alloc_bytes_se;
	info->live_count_se = se.live_count_se;
	info->live_bytes_se = se.live_bytes_se;
}

/* Is the name one of the list? */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at && (at = strstr(at, name)); at++) {
		bool begins = at == list || (at - list >= 2 && !memcmp(at - 2, ", ", 2));
		bool ends = !at[len] || !strncmp(at + len, ", ", 2);

		if (begins && ends)
			return true;
	}
	return false;
}

/* False: the list is long enough. */
static bool add_target(struct str *s, const char *target, size_t len)
{
	char *one = strndup(target, len);
	bool rest = one && !strcmp(one, "..."); /* of a list that was long enough */

	s->oom |= !one;
	if (one && !rest && (!len || is_listed(s->s, one))) {
		free(one);
		return true;
	}
	str__add(s, s->len ? ", " : "");
	rest |= s->len >= TARGETS_LEN;
	str__add(s, rest ? "..." : one);
	free(one);
	return !rest;
}

/* Likewise; a sum has a list already. */
static bool add_targets(struct str *s, const struct allocsnoop_info *info)
{
	const char *target = info->target ? info->target : "", *comma;
	bool more = true;

	if (info->profile_cnt > 1) {
		for (; more && (comma = strstr(target, ", ")); target = comma + 2)
			more = add_target(s, target, comma - target);
	}
	return more && add_target(s, target, strlen(target));
}

/* "sqlite3 :memory:, process 12 (nginx), ..." */
static int merge__target(struct merge *m)
{
	struct str s = {};
	const char *target;

	for (size_t i = 0; i < m->cnt && add_targets(&s, &m->profiles[i]->info); i++)
		;
	target = s.oom ? NULL : arena__intern(&m->to->arena, s.s ? s.s : "");
	str__free(&s);
	if (!target)
		return -ENOMEM;
	m->to->info.target = target;
	return 0;
}

static int merge__info(struct merge *m)
{
	int err = info__copy(&m->to->arena, &m->to->info, &m->profiles[0]->info);

	for (size_t i = 1; i < m->cnt; i++)
		info__add(&m->to->info, &m->profiles[i]->info);
	if (err || m->cnt == 1)
		return err ? err : profile__copy_points(m->to, m->profiles[0]);
	return merge__target(m);
}

/* ---- the whole ---- */

static int merge__run(struct merge *m)
{
	int err = merge__info(m);

	if (!err)
		err = merge__owners(m);
	if (!err)
		err = merge__all_rows(m);
	if (!err)
		err = merge__rest(m);
	if (!err)
		merge__finish(m);
	return err;
}

static int merge__check(const struct allocsnoop_profile *const *profiles, size_t cnt)
{
	int err = 0;

	if (!cnt)
		return err__fail(-EINVAL, "cannot add up profiles: there are none");
	for (size_t i = 0; i < cnt && !err; i++)
		err = info__check_alike(&profiles[0]->info, &profiles[i]->info, "add up profiles");
	return err;
}

int allocsnoop_profile__merge(const struct allocsnoop_profile *const *profiles, size_t cnt,
			      struct allocsnoop_profile **sum)
{
	struct merge m = { .profiles = profiles, .cnt = cnt };
	int err = merge__check(profiles, cnt);

	if (err)
		return err;
	m.to = profile__new();
	err = m.to ? merge__run(&m) : -ENOMEM;
	map__free(&m.owners);
	if (err) {
		profile__free(m.to);
		return err__fail(err, "cannot add up profiles: %s", strerror(-err));
	}
	*sum = m.to;
	return 0;
}
