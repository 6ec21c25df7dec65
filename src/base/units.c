/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes, durations and rates, read and written. Everything is done on integers with our own digits
 * loop: strtod() and printf("%f") change with the user's locale (decimal comma), and "0.1" of
 * something should be exact.
 */
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	u64 factor;
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", 1ull << 10 },
	{ "KB", 1ull << 10 },
	{ "KiB", 1ull << 10 },
	{ "M", 1ull << 20 },
	{ "MB", 1ull << 20 },
	{ "MiB", 1ull << 20 },
	{ "G", 1ull << 30 },
	{ "GB", 1ull << 30 },
	{ "GiB", 1ull << 30 },
	{ "T", 1ull << 40 },
	{ "TB", 1ull << 40 },
	{ "TiB", 1ull << 40 },
};

#define NS_PER_S 1000000000ull

static const struct unit time_units[] = {
	{ "", NS_PER_S },	  { "ns", 1 },	     { "us", 1000 },
	{ "ms", 1000000 },	  { "s", NS_PER_S }, { "m", 60 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
};

/* Digits after the point that count; more are read and dropped. */
#define FRACTION_DIGITS 15

struct decimal {
	u64 whole;
	u64 fraction; /* in units of 1/scale */
	u64 scale;    /* a power of ten */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits into *val. -EINVAL when there is none, -ERANGE beyond 64 bits. */
static int read_digits(const char **text, u64 *val)
{
	const char *p = *text;
	u64 v = 0;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (u64)(*p - '0'), &v))
			return -ERANGE;
	}
	*text = p;
	*val = v;
	return 0;
}

static int read_decimal(const char **text, struct decimal *d)
{
	const char *p = *text;
	int err;

	*d = (struct decimal){ .scale = 1 };
	if (*p != '.') {
		err = read_digits(&p, &d->whole);
		if (err)
			return err;
	}
	if (*p == '.') {
		p++;
		if (!is_digit(*p))
			return -EINVAL;
		for (int i = 0; is_digit(*p); p++, i++) {
			if (i >= FRACTION_DIGITS)
				continue;
			d->fraction = d->fraction * 10 + (u64)(*p - '0');
			d->scale *= 10;
		}
	}
	*text = p;
	return 0;
}

/* A decimal number and one of the units; rounded to the nearest whole. */
static int parse_quantity(const char *text, const struct unit *units, size_t unit_cnt, u64 *val)
{
	unsigned __int128 v;
	struct decimal d;
	size_t i;
	int err;

	err = read_decimal(&text, &d);
	if (err)
		return err;
	for (i = 0; i < unit_cnt; i++)
		if (!strcasecmp(text, units[i].name))
			break;
	if (i == unit_cnt)
		return -EINVAL;
	if (units[i].factor == 1 && d.fraction)
		return -EINVAL; /* there are no fractions of a byte or of a nanosecond */
	v = (unsigned __int128)d.whole * units[i].factor;
	v += ((unsigned __int128)d.fraction * units[i].factor + d.scale / 2) / d.scale;
	if (v > UINT64_MAX)
		return -ERANGE;
	*val = (u64)v;
	return 0;
}

int units__parse_size(const char *text, u64 *bytes)
{
	return parse_quantity(text, size_units, ARRAY_SIZE(size_units), bytes);
}

int units__parse_duration(const char *text, u64 *ns)
{
	return parse_quantity(text, time_units, ARRAY_SIZE(time_units), ns);
}

int units__parse_u64(const char *text, u64 *val)
{
	u64 v;
	int err = read_digits(&text, &v);

	if (err)
		return err;
	if (*text)
		return -EINVAL;
	*val = v;
	return 0;
}

int units__parse_rate(const char *text, double *rate)
{
	struct decimal d;
	double num, den;
	u64 divisor;
	int err;

	err = read_decimal(&text, &d);
	if (err)
		return err;
	/* Both are below 2^53 for any rate in (0, 1], so one division rounds correctly. */
	num = (double)d.whole * (double)d.scale + (double)d.fraction;
	den = (double)d.scale;
	if (*text == '/') {
		text++;
		err = read_digits(&text, &divisor);
		if (err)
			return err;
		den *= (double)divisor;
	} else if (*text == '%') {
		text++;
		den *= 100;
	}
	if (*text)
		return -EINVAL;
	if (!(num > 0) || num > den)
		return -ERANGE;
	*rate = num / den;
	return 0;
}

/* Writes val/factor with one digit after the point. */
static void format_tenths(u64 val, u64 factor, const char *unit, char buf[32])
{
	u64 tenths = (u64)(((unsigned __int128)val * 10 + factor / 2) / factor);

	snprintf(buf, 32, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, unit);
}

const char *units__format_bytes(u64 bytes, char buf[32])
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	/* 1023.95 KiB would round to "1024.0 KiB": that is 1.0 MiB. */
	while (i + 1 < ARRAY_SIZE(names) &&
	       (unsigned __int128)bytes * 20 >= (unsigned __int128)(i ? 20479 : 20480) << (10 * i))
		i++;
	if (i == 0)
		snprintf(buf, 32, "%" PRIu64 " B", bytes);
	else
		format_tenths(bytes, 1ull << (10 * i), names[i], buf);
	return buf;
}

const char *units__format_ns(u64 ns, char buf[32])
{
	/* up to `below` ns the unit is used */
	static const struct {
		u64 below, factor;
		const char *unit;
	} rows[] = {
		{ 1000, 1, "ns" },
		{ 999500, 1000, "us" },
		{ 999500000, 1000000, "ms" },
		{ 120 * NS_PER_S, NS_PER_S, "s" },
		{ 7200 * NS_PER_S, 60 * NS_PER_S, "m" },
		{ UINT64_MAX, 3600 * NS_PER_S, "h" },
	};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(rows) && ns >= rows[i].below)
		i++;
	if (ns / 100 >= rows[i].factor || rows[i].factor == 1)
		snprintf(buf, 32, "%" PRIu64 " %s",
			 ns / rows[i].factor + (ns % rows[i].factor * 2 >= rows[i].factor),
			 rows[i].unit);
	else
		format_tenths(ns, rows[i].factor, rows[i].unit, buf);
	return buf;
}
