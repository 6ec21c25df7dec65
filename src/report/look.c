/* SPDX-License-Identifier: BSD-2-Clause */
/* How numbers and names look in the text report. Numbers keep plain digits, so they can be searched
 * for and pasted into a calculator. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/text.h"

/* Half the width of a 95 % interval of the normal distribution, in standard errors. */
#define INTERVAL_95 1.96

/* Bytes of the first `max` characters of valid UTF-8. */
static size_t prefix_len(const char *s, size_t max)
{
	size_t i = 0;

	for (size_t chars = 0; s[i]; i++) {
		bool first = ((u8)s[i] & 0xc0) != 0x80;

		if (first && chars++ == max)
			break;
	}
	return i;
}

void look__name(struct str *s, const char *name)
{
	struct str clean = { 0 };
	/* A character has at most 4 bytes; what can't be shown need not be cleaned. */
	size_t len = strnlen(name, 4 * TEXT_NAME_MAX + 4), shown;

	str__add_utf8(&clean, name, len, true);
	if (!clean.oom) {
		shown = prefix_len(clean.s, TEXT_NAME_MAX);
		str__addn(s, clean.s, shown);
		if (clean.s[shown])
			str__add(s, "...");
	}
	s->oom |= clean.oom;
	str__free(&clean);
}

void look__basename(struct str *s, const char *path)
{
	const char *slash = strrchr(path, '/');

	look__name(s, slash && slash[1] ? slash + 1 : path);
}

size_t look__width(const struct str *s)
{
	return paint__columns(s->s, s->len);
}

void look__count(struct str *s, u64 cnt, const char *one, const char *many)
{
	str__addf(s, "%" PRIu64 " %s", cnt, cnt == 1 ? one : many);
}

void look__first(struct str *s, size_t shown, size_t cnt)
{
	if (shown == 1 && cnt > 1)
		str__addf(s, ", the first of %zu", cnt);
	else if (shown < cnt)
		str__addf(s, ", the first %zu of %zu", shown, cnt);
}

void look__bytes(struct str *s, u64 bytes)
{
	char buf[32];

	str__add(s, units__format_bytes(bytes, buf));
}

void look__signed_bytes(struct str *s, s64 bytes)
{
	/* Not -bytes: INT64_MIN has no positive counterpart. */
	u64 size = bytes < 0 ? -(u64)bytes : (u64)bytes;

	str__add(s, bytes < 0 ? "-" : bytes ? "+" : "");
	look__bytes(s, size);
}

void look__ns(struct str *s, double ns)
{
	char buf[32];

	str__add(s, units__format_ns(ns > 0 ? ns < 0x1p64 ? (u64)ns : UINT64_MAX : 0, buf));
}

void look__share(struct str *s, u64 part, u64 whole)
{
	/* Integers: printf's %f would follow the locale. */
	u64 permille;

	if (!whole) {
		str__add(s, "-");
		return;
	}
	permille = (u64)(((unsigned __int128)part * 1000 + whole / 2) / whole);
	str__addf(s, "%" PRIu64 ".%" PRIu64 " %%", permille / 10, permille % 10);
}

bool look__is_unknown(const struct allocsnoop_info *info, u64 sampled_cnt)
{
	return !info->exact && !sampled_cnt && info->sampling == ALLOCSNOOP_ALL &&
	       !(info->budget_pct > 0) && (info->alloc_count || info->alloc_bytes);
}

bool look__is_counted(const struct allocsnoop_sample *s)
{
	return s->sampled_count == s->alloc_count && (s->alloc_count || !s->alloc_bytes);
}

/* Numbers that were counted have no error, be they as few as they like. One that is estimated and
 * seems to have none rests on one window, say. */
void look__interval(struct str *s, const struct interval *i)
{
	double half = ceil(INTERVAL_95 * i->se);
	u64 whole = half < 0x1p64 ? (u64)half : UINT64_MAX;
	bool exact = i->counted && i->se == 0;

	if (!exact && (i->sampled_cnt < TEXT_FEW_SAMPLES || !(i->se > 0))) {
		str__add(s, "few samples");
		return;
	}
	str__add(s, i->ascii ? "+- " : "± ");
	if (i->bytes)
		look__bytes(s, whole);
	else
		str__addf(s, "%" PRIu64, whole);
}

/*
 * Kept samples of probability p stand for n/p with a variance of n(1-p)/p^2: the square of the
 * first through the second is n/(1-p), which is n where p is small and beyond doubt where it isn't.
 */
u64 look__live_samples(const struct allocsnoop_sample *s)
{
	double est = (double)s->live_count, cnt = est * est / s->live_count_var;

	if (!s->live_count)
		return 0;
	return cnt < (double)s->sampled_count ? (u64)round(cnt) : s->sampled_count;
}
