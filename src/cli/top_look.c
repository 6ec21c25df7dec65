/* SPDX-License-Identifier: BSD-2-Clause */
/* How numbers look where there are few columns: three digits and a letter. */
#include <math.h>
#include <string.h>

#include "cli/top_view.h"

#define FEW_HITS    10	 /* below so many an interval of the normal distribution means nothing */
#define INTERVAL_95 1.96 /* half of it, of the normal distribution, in standard errors */

static void add_scaled(struct str *s, double value, double step)
{
	static const char letters[] = "\0KMGTPEZY";
	size_t i = 0;

	while (i + 1 < sizeof(letters) - 1 && value >= 999.5) {
		value /= step;
		i++;
	}
	/* Integers: printf's %f would follow the locale. */
	if (i && value < 99.95)
		str__addf(s, "%d.%d%c", (int)(round(value * 10) / 10), (int)round(value * 10) % 10,
			  letters[i]);
	else if (i)
		str__addf(s, "%.0f%c", value, letters[i]);
	else
		str__addf(s, "%.0f", value);
}

void top_look__bytes(struct str *s, double bytes)
{
	add_scaled(s, bytes, 1024);
}

void top_look__count(struct str *s, double count)
{
	if (count < 9999999.5)
		str__addf(s, "%.0f", count);
	else
		add_scaled(s, count, 1000);
}

void top_look__interval(struct str *s, bool utf8, double se, double value, u64 hits,
			const char *few)
{
	double percent = value > 0 ? ceil(100 * INTERVAL_95 * se / value) : 0;

	if (!(value > 0) || !(se > 0))
		return;
	if (hits < FEW_HITS)
		str__add(s, few);
	else if (percent > 999)
		str__add(s, ">999%");
	else
		str__addf(s, "%s%.0f%%", utf8 ? "±" : "+-", percent);
}

/* Samples of one size and of a small probability p stand for n/p with a variance of n/p^2: the
 * square of the first through the second is n. Of other ones it's how many such it would take. */
void top_look__live_interval(struct str *s, bool utf8, const struct top_numbers *n)
{
	double bytes = (double)n->live_bytes, hits;

	if (!(n->live_bytes_var > 0) || !n->live_bytes)
		return;
	hits = bytes * bytes / n->live_bytes_var;
	str__add(s, " ");
	top_look__interval(s, utf8, sqrt(n->live_bytes_var), bytes, (u64)fmin(round(hits), 1e18),
			   "(few samples)");
}

void top_look__seconds(struct str *s, u64 ns)
{
	u64 tenths = ns / 100000000;

	if (tenths < 36000)
		str__addf(s, "%" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
	else
		str__addf(s, "%" PRIu64 "h %02" PRIu64 "m", tenths / 36000, tenths / 600 % 60);
}

void top_look__bar(struct str *s, bool utf8, double part, int width)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int filled = (int)round(fmin(fmax(part, 0), 1) * width * 8);

	for (int i = 0; i < filled / 8; i++)
		str__add(s, utf8 ? "█" : "#");
	if (utf8)
		str__add(s, eighths[filled % 8]);
	else if (filled % 8 >= 4)
		str__add(s, "-");
}

/* From the oldest to now, as parts of the highest that is shown. */
void top_look__trend(struct str *s, const struct top_view *v, const struct top_row *r, int width)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", "_", ".", "-", "=", "+", "*", "%", "#" };
	int cnt = MIN(width, TOP_TREND);
	double most = 0;

	for (int i = TOP_TREND - cnt; i < TOP_TREND; i++)
		most = fmax(most, top_row__trend(v->model, r, (u32)i));
	for (int i = TOP_TREND - cnt; i < TOP_TREND; i++) {
		double now = top_row__trend(v->model, r, (u32)i);
		int step = now > 0 ? MAX(1, (int)ceil(now / most * 8)) : 0;

		str__add(s, (v->utf8 ? blocks : ascii)[MIN(step, 8)]);
	}
}

void top_look__module(struct str *s, const struct allocsnoop_frame *f)
{
	const char *slash = strrchr(f->module, '/');
	const char *name = slash && slash[1] ? slash + 1 : f->module;
	size_t len = strlen(name);

	if (!len || (!strncmp(f->function, name, len) && f->function[len] == '+'))
		return;
	str__addf(s, "  %s", name);
}

void top_look__process(struct str *s, const struct top_row *r)
{
	str__add(s, *r->comm ? r->comm : "[unknown]");
	if (!r->pid && r->info)
		str__addf(s, " (%" PRIu64 " ended)", r->info->count);
	else if (r->pid)
		str__addf(s, " (pid %u%s)", r->pid, r->ended ? ", ended" : "");
}
