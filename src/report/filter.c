/* SPDX-License-Identifier: BSD-2-Clause */
/* What the text report says of a filter: whoever reads a total must see that it isn't of all. */
#include <string.h>

#include "report/text.h"

static void add_regex(struct str *s, const char *label, const char *regex, const char *what)
{
	if (!regex)
		return;
	str__addf(s, TEXT_LABEL "'", label);
	look__name(s, regex);
	str__addf(s, "': %s\n", what);
}

static void add_part(struct str *s, const char *label, u64 part, u64 whole, const char *unit)
{
	str__addf(s, TEXT_LABEL, label);
	look__share(s, part, whole);
	str__addf(s, ", %" PRIu64 " of %" PRIu64 " %s\n", part, whole, unit);
}

void filter__add_header(struct str *s, const struct allocsnoop_info *info,
			const struct allocsnoop_report_opts *opts)
{
	add_regex(s, "focus", opts->focus, "only stacks with a matching frame");
	add_regex(s, "ignore", opts->ignore, "only stacks without a matching frame");
	add_regex(s, "hide", opts->hide, "matching frames are left out");
	if (!info->filtered)
		return;
	add_part(s, "kept", info->alloc_bytes, info->all_alloc_bytes, "bytes allocated");
	if (!strcmp(info->mode, "live"))
		add_part(s, "", info->live_bytes, info->all_live_bytes, "bytes live");
}
