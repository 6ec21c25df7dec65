/* SPDX-License-Identifier: BSD-2-Clause */
/* The made-up frames of a row; see row.h. */
#include "report/row.h"

void row__process(struct str *s, const struct allocsnoop_sample *row, enum allocsnoop_by by)
{
	bool ids = by == ALLOCSNOOP_BY_PROCESS || by == ALLOCSNOOP_BY_THREAD;

	str__add(s, !*row->comm && row->pid_cnt > 1 ? "[several]" : row->comm);
	if (ids && row->pid)
		str__addf(s, "-%u", row->pid);
}

void row__thread(struct str *s, const struct allocsnoop_sample *row, enum allocsnoop_by by)
{
	if (by == ALLOCSNOOP_BY_THREAD && (row->tid || row->thread))
		str__addf(s, "%s-%u", row->thread ? row->thread : "", row->tid);
}

void row__end(struct str *s, const struct allocsnoop_sample *row)
{
	if (row->truncated || row->end != ALLOCSNOOP_COMPLETE)
		str__addf(s, "[%s]", allocsnoop__end_name(row->end));
}

void row__frameless(struct str *s, const struct allocsnoop_sample *row, enum allocsnoop_by by)
{
	if (by == ALLOCSNOOP_BY_SIZE)
		str__addf(s, "[%" PRIu64 "-%" PRIu64 " bytes]", row->size_low, row->size_high);
	else if (by == ALLOCSNOOP_BY_TYPE)
		str__add(s, row->type ? row->type : "[unknown type]");
	else
		str__add(s, row->allocator);
}

static const struct {
	const char *name;
	bool in_bytes;
} values[] = {
	[ALLOCSNOOP_ALLOC_BYTES] = { "allocated bytes", true },
	[ALLOCSNOOP_ALLOC_COUNT] = { "allocations", false },
	[ALLOCSNOOP_LIVE_BYTES] = { "live bytes", true },
	[ALLOCSNOOP_LIVE_COUNT] = { "live blocks", false },
	[ALLOCSNOOP_PEAK_BYTES] = { "bytes at the peak", true },
	[ALLOCSNOOP_GROWN_BYTES] = { "growth of live bytes", true },
	[ALLOCSNOOP_TEMPORARY_COUNT] = { "temporary blocks", false },
};

/* As sample__value() takes an unknown one. */
static size_t value__known(enum allocsnoop_value value)
{
	return (size_t)value < ARRAY_SIZE(values) ? value : ALLOCSNOOP_ALLOC_BYTES;
}

const char *value__name(enum allocsnoop_value value)
{
	return values[value__known(value)].name;
}

bool value__in_bytes(enum allocsnoop_value value)
{
	return values[value__known(value)].in_bytes;
}
