/* SPDX-License-Identifier: BSD-2-Clause */
/* What JSON says in mode live, and in no other. */
#include <math.h>

#include "report/json.h"

void json_live__totals(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	json__real(j, "live_count_se", info->live_count_se);
	json__real(j, "live_bytes_se", info->live_bytes_se);
	json__u64(j, "freed_count", info->freed_count);
	json__u64(j, "freed_bytes", info->freed_bytes);
	json__u64(j, "exit_count", info->exit_count);
	json__u64(j, "exit_bytes", info->exit_bytes);
	json__u64(j, "untracked_count", info->untracked_count);
	json__u64(j, "untracked_bytes", info->untracked_bytes);
	json__u64(j, "temporary_count", info->temporary_count);
	json__u64(j, "unknown_frees", info->unknown_frees);
	json__u64(j, "older_ns", info->older_ns);
	json__u64(j, "old_ns", info->old_ns);
	json__bool(j, "grown", info->grown);
	json__s64(j, "grown_count", info->grown_count);
	json__s64(j, "grown_bytes", info->grown_bytes);
}

void json_live__process(struct json *j, const struct allocsnoop_process *proc)
{
	json__u64(j, "live_count", proc->live_count);
	json__u64(j, "live_bytes", proc->live_bytes);
	json__u64(j, "peak_count", proc->peak_count);
	json__u64(j, "peak_bytes", proc->peak_bytes);
	json__u64(j, "peak_ns", proc->peak_ns);
	json__u64(j, "rss_anon", proc->rss_anon);
	json__u64(j, "unknown_frees", proc->unknown_frees);
}

/* [[10, 5, 0], ...]: class, freed, live; most of the classes are empty. */
static void add_lifetimes(struct json *j, const struct allocsnoop_lifetimes *l)
{
	const char *comma = "";

	json__key(j, "lifetimes");
	str__add(&j->buf, "[");
	for (size_t i = 0; l && i < ALLOCSNOOP_LIFE_CLASSES; i++) {
		if (!l->freed[i] && !l->live[i])
			continue;
		str__addf(&j->buf, "%s[%zu, %" PRIu64 ", %" PRIu64 "]", comma, i, l->freed[i],
			  l->live[i]);
		comma = ", ";
	}
	str__add(&j->buf, "]");
}

void json_live__stack(struct json *j, const struct allocsnoop_sample *s)
{
	json__u64(j, "freed_count", s->freed_count);
	json__u64(j, "freed_bytes", s->freed_bytes);
	json__u64(j, "exit_count", s->exit_count);
	json__u64(j, "exit_bytes", s->exit_bytes);
	json__u64(j, "untracked_count", s->untracked_count);
	json__u64(j, "untracked_bytes", s->untracked_bytes);
	json__u64(j, "temporary_count", s->temporary_count);
	json__u64(j, "old_count", s->old_count);
	json__u64(j, "old_bytes", s->old_bytes);
	json__u64(j, "peak_count", s->peak_count);
	json__u64(j, "peak_bytes", s->peak_bytes);
	json__s64(j, "grown_count", s->grown_count);
	json__s64(j, "grown_bytes", s->grown_bytes);
	json__number(j, "freed_mean_ns", round(s->freed_mean_ns));
	json__number(j, "live_mean_ns", round(s->live_mean_ns));
	add_lifetimes(j, s->lifetimes);
	json__bool(j, "collected", s->collected);
	if (j->p->info.exact)
		return;
	json__real(j, "live_count_se", sqrt(s->live_count_var));
	json__real(j, "live_bytes_se", sqrt(s->live_bytes_var));
}
