/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds a profile. The one idea: everything a row points to lives in the profile's arena, so that
 * a finished profile can be handed out as plain pointers and given back at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static const char *const end_names[] = {
	[ALLOCSNOOP_COMPLETE] = "complete",
	[ALLOCSNOOP_TRUNCATED] = "truncated",
	[ALLOCSNOOP_NO_TABLE] = "no-table",
	[ALLOCSNOOP_GAP] = "gap",
	[ALLOCSNOOP_UNSUPPORTED] = "unsupported",
	[ALLOCSNOOP_READ_FAULT] = "read-fault",
	[ALLOCSNOOP_BUSY] = "busy",
	[ALLOCSNOOP_ANONYMOUS] = "anonymous",
	[ALLOCSNOOP_NO_PROGRESS] = "no-progress",
	[ALLOCSNOOP_LOST] = "lost",
	[ALLOCSNOOP_AGED] = "aged-out",
};
_Static_assert(ARRAY_SIZE(end_names) == ALLOCSNOOP_END_MAX, "every end has a name");

const char *allocsnoop__end_name(enum allocsnoop_end end)
{
	return (size_t)end < ARRAY_SIZE(end_names) ? end_names[end] : "unknown";
}

u64 sample__value(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	switch (value) {
	case ALLOCSNOOP_ALLOC_COUNT:
		return s->alloc_count;
	case ALLOCSNOOP_LIVE_BYTES:
		return s->live_bytes;
	case ALLOCSNOOP_LIVE_COUNT:
		return s->live_count;
	case ALLOCSNOOP_PEAK_BYTES:
		return s->peak_bytes;
	case ALLOCSNOOP_GROWN_BYTES:
		return s->grown_bytes > 0 ? s->grown_bytes : 0;
	case ALLOCSNOOP_TEMPORARY_COUNT:
		return s->temporary_count;
	case ALLOCSNOOP_ALLOC_BYTES:
		break;
	}
	return s->alloc_bytes;
}

u64 sample__base(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	switch (value) {
	case ALLOCSNOOP_ALLOC_BYTES:
		return s->base_alloc_bytes;
	case ALLOCSNOOP_ALLOC_COUNT:
		return s->base_alloc_count;
	case ALLOCSNOOP_LIVE_BYTES:
		return s->base_live_bytes;
	case ALLOCSNOOP_LIVE_COUNT:
		return s->base_live_count;
	default:
		return 0;
	}
}

s64 sample__change(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	u64 now = sample__value(s, value), base = sample__base(s, value);
	u64 by = now > base ? now - base : base - now;

	if (by > INT64_MAX)
		return now > base ? INT64_MAX : INT64_MIN;
	return now > base ? (s64)by : -(s64)by;
}

double sample__variance(const struct allocsnoop_sample *s, enum allocsnoop_value value)
{
	switch (value) {
	case ALLOCSNOOP_ALLOC_BYTES:
		return s->alloc_bytes_var;
	case ALLOCSNOOP_ALLOC_COUNT:
		return s->alloc_count_var;
	case ALLOCSNOOP_LIVE_BYTES:
		return s->live_bytes_var;
	case ALLOCSNOOP_LIVE_COUNT:
		return s->live_count_var;
	default:
		return 0;
	}
}

struct allocsnoop_profile *profile__new(void)
{
	struct allocsnoop_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->info.mode = "alloc";
	p->info.target = "";
	p->info.exact = true;
	p->info.sampling_value = 1;
	return p;
}

void profile__free(struct allocsnoop_profile *p)
{
	if (!p)
		return;
	vec__free(&p->samples);
	vec__free(&p->processes);
	vec__free(&p->losses);
	vec__free(&p->points);
	arena__free(&p->arena);
	free(p);
}

int profile__add_sample(struct allocsnoop_profile *p, const struct allocsnoop_sample *s)
{
	struct allocsnoop_sample copy = *s;

	copy.comm = arena__intern(&p->arena, s->comm ? s->comm : "");
	copy.allocator = arena__intern(&p->arena, s->allocator ? s->allocator : "");
	copy.type = s->type ? arena__intern(&p->arena, s->type) : NULL;
	copy.thread = s->thread ? arena__intern(&p->arena, s->thread) : NULL;
	if (!copy.comm || !copy.allocator || (s->type && !copy.type) || (s->thread && !copy.thread))
		return -ENOMEM;
	return vec__push(&p->samples, copy);
}

int profile__add_process(struct allocsnoop_profile *p, const struct allocsnoop_process *proc)
{
	struct allocsnoop_process copy = *proc;

	copy.comm = arena__intern(&p->arena, proc->comm ? proc->comm : "");
	copy.exe = arena__intern(&p->arena, proc->exe ? proc->exe : "");
	copy.cgroup = arena__intern(&p->arena, proc->cgroup ? proc->cgroup : "");
	copy.container = arena__intern(&p->arena, proc->container ? proc->container : "");
	if (!copy.comm || !copy.exe || !copy.cgroup || !copy.container)
		return -ENOMEM;
	return vec__push(&p->processes, copy);
}

int profile__add_loss(struct allocsnoop_profile *p, const char *name, const char *text, u64 count)
{
	struct allocsnoop_loss loss = { .count = count };

	if (!count)
		return 0;
	for (size_t i = 0; i < p->losses.cnt; i++) {
		struct allocsnoop_loss *old = &p->losses.v[i];

		if (strcmp(old->name, name))
			continue;
		old->count = sum__add(old->count, count);
		return 0;
	}
	loss.name = arena__intern(&p->arena, name);
	loss.text = arena__intern(&p->arena, text ? text : "");
	if (!loss.name || !loss.text)
		return -ENOMEM;
	return vec__push(&p->losses, loss);
}

bool profile__has_containers(const struct allocsnoop_profile *p)
{
	for (size_t i = 0; i < p->processes.cnt; i++) {
		if (*p->processes.v[i].container)
			return true;
	}
	return false;
}

void info__say_part(struct str *s, const struct allocsnoop_info *info)
{
	if (!info->filtered)
		return;
	str__addf(s, "rows were chosen: %" PRIu64 " of %" PRIu64 " bytes allocated",
		  info->alloc_bytes, info->all_alloc_bytes);
	if (info->mode && !strcmp(info->mode, "live"))
		str__addf(s, ", %" PRIu64 " of %" PRIu64 " live", info->live_bytes,
			  info->all_live_bytes);
}
