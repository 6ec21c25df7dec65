/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes, durations and rates: read and written, also where the locale writes "1,5". */
#include "base/units.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>

#include "check.h"

static void check_size(const char *text, int err, u64 want)
{
	u64 got = 77;

	CHECK_EQ(units__parse_size(text, &got), err);
	CHECK_EQ(got, err ? 77 : want); /* written only on success */
}

static void check_duration(const char *text, int err, u64 want)
{
	u64 got = 77;

	CHECK_EQ(units__parse_duration(text, &got), err);
	CHECK_EQ(got, err ? 77 : want);
}

static void check_rate(const char *text, int err, double want)
{
	double got = 77;

	CHECK_EQ(units__parse_rate(text, &got), err);
	CHECK(got == (err ? 77 : want));
}

static void sizes(void)
{
	check_size("0", 0, 0);
	check_size("4096", 0, 4096);
	check_size("512K", 0, 512 << 10);
	check_size("512k", 0, 512 << 10);
	check_size("1.5M", 0, 3 << 19);
	check_size(".5K", 0, 512);
	check_size("2GiB", 0, 2ull << 30);
	check_size("3T", 0, 3ull << 40);
	check_size("0.1K", 0, 102);
	check_size("18446744073709551615", 0, UINT64_MAX);
	check_size("18446744073709551616", -ERANGE, 0);
	check_size("16777216T", -ERANGE, 0);
	check_size("16777215T", 0, 16777215ull << 40);
	check_size("1.5", -EINVAL, 0);
	check_size("1.0", 0, 1);
	check_size("", -EINVAL, 0);
	check_size("K", -EINVAL, 0);
	check_size(" 1", -EINVAL, 0);
	check_size("1 ", -EINVAL, 0);
	check_size("-1", -EINVAL, 0);
	check_size("+1", -EINVAL, 0);
	check_size("1,5M", -EINVAL, 0);
	check_size("1.M", -EINVAL, 0);
	check_size("0x10", -EINVAL, 0);
	check_size("1e3", -EINVAL, 0);
	check_size("1s", -EINVAL, 0);
}

static void durations(void)
{
	check_duration("10s", 0, 10000000000ull);
	check_duration("2", 0, 2000000000ull);
	check_duration("0.25", 0, 250000000ull);
	check_duration("1.5m", 0, 90000000000ull);
	check_duration("200ms", 0, 200000000ull);
	check_duration("7us", 0, 7000);
	check_duration("1h", 0, 3600000000000ull);
	check_duration("0.1us", 0, 100);
	check_duration("5ns", 0, 5);
	check_duration("0.5ns", -EINVAL, 0);
	check_duration("99999999999h", -ERANGE, 0);
	check_duration("1K", -EINVAL, 0);
	check_duration("1m30s", -EINVAL, 0);
}

static void rates(void)
{
	check_rate("1", 0, 1);
	check_rate("0.01", 0, 0.01);
	check_rate("1/100", 0, 0.01);
	check_rate("1%", 0, 0.01);
	check_rate("0.1%", 0, 0.001);
	check_rate("100%", 0, 1);
	check_rate("1/3", 0, 1.0 / 3);
	check_rate("0.0001234", 0, 0.0001234);
	check_rate("1/18446744073709551615", 0, 1.0 / 18446744073709551615.0);
	check_rate("0", -ERANGE, 0);
	check_rate("0/0", -ERANGE, 0);
	check_rate("1/0", -ERANGE, 0);
	check_rate("1.01", -ERANGE, 0);
	check_rate("101%", -ERANGE, 0);
	check_rate("2/1", -ERANGE, 0);
	check_rate("-0.1", -EINVAL, 0);
	check_rate("0,1", -EINVAL, 0);
	check_rate("nan", -EINVAL, 0);
	check_rate("1/", -EINVAL, 0);
	check_rate("1/100%", -EINVAL, 0);
	check_rate("", -EINVAL, 0);
}

static void numbers(void)
{
	u64 val = 77;

	CHECK_EQ(units__parse_u64("18446744073709551615", &val), 0);
	CHECK(val == UINT64_MAX);
	CHECK_EQ(units__parse_u64("18446744073709551616", &val), -ERANGE);
	CHECK_EQ(units__parse_u64("1x", &val), -EINVAL);
	CHECK_EQ(units__parse_u64("", &val), -EINVAL);
	CHECK_EQ(units__parse_u64("-1", &val), -EINVAL);
	CHECK(val == UINT64_MAX);
}

static void texts(void)
{
	char buf[32];

	CHECK_STR(units__format_bytes(0, buf), "0 B");
	CHECK_STR(units__format_bytes(640, buf), "640 B");
	CHECK_STR(units__format_bytes(1023, buf), "1023 B");
	CHECK_STR(units__format_bytes(1024, buf), "1.0 KiB");
	CHECK_STR(units__format_bytes(3 << 19, buf), "1.5 MiB");
	CHECK_STR(units__format_bytes((1 << 20) - 1, buf), "1.0 MiB");
	CHECK_STR(units__format_bytes((1 << 20) - 64, buf), "1023.9 KiB");
	CHECK_STR(units__format_bytes(UINT64_MAX, buf), "16.0 EiB");
	CHECK_STR(units__format_ns(0, buf), "0 ns");
	CHECK_STR(units__format_ns(999, buf), "999 ns");
	CHECK_STR(units__format_ns(1500, buf), "1.5 us");
	CHECK_STR(units__format_ns(450000, buf), "450 us");
	CHECK_STR(units__format_ns(999600, buf), "1.0 ms");
	CHECK_STR(units__format_ns(12345678901ull, buf), "12.3 s");
	CHECK_STR(units__format_ns(90ull * 1000000000, buf), "90.0 s");
	CHECK_STR(units__format_ns(300ull * 1000000000, buf), "5.0 m");
	CHECK_STR(units__format_ns(UINT64_MAX, buf), "5124096 h");
}

static void all(void)
{
	sizes();
	durations();
	rates();
	numbers();
	texts();
}

/* Few machines have a locale with a decimal comma installed, but all of libc6 can make one. */
static bool use_comma(char *dir)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
		 dir);
	if (system(cmd) || setenv("LOCPATH", dir, 1) || !setlocale(LC_ALL, "de_DE.UTF-8"))
		return false;
	snprintf(cmd, sizeof(cmd), "%.1f", 1.5);
	return !strcmp(cmd, "1,5");
}

int main(void)
{
	char dir[] = "/tmp/units_test.XXXXXX", cmd[64];

	all();
	if (!mkdtemp(dir))
		return 1;
	if (use_comma(dir))
		all();
	else
		printf("decimal comma not tested: localedef can't make de_DE here\n");
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	CHECK_EQ(system(cmd), 0);
	return check__done();
}
