/* SPDX-License-Identifier: BSD-2-Clause */
/* What JSON says of a difference: the numbers before, beside those of later. */
#include "report/json.h"

void json_diff__head(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	json__bool(j, "diff", true);
	json__str(j, "base_target", info->base_target ? info->base_target : "");
	json__u64(j, "base_duration_ns", info->base_duration_ns);
}

void json_diff__totals(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	json__u64(j, "base_alloc_count", info->base_alloc_count);
	json__u64(j, "base_alloc_bytes", info->base_alloc_bytes);
	json__u64(j, "base_live_count", info->base_live_count);
	json__u64(j, "base_live_bytes", info->base_live_bytes);
}

void json_diff__stack(struct json *j, const struct allocsnoop_sample *s)
{
	json__u64(j, "base_alloc_count", s->base_alloc_count);
	json__u64(j, "base_alloc_bytes", s->base_alloc_bytes);
	json__u64(j, "base_live_count", s->base_live_count);
	json__u64(j, "base_live_bytes", s->base_live_bytes);
}
