/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The estimator as a whole: the kernel side's decision, with the thresholds that user space makes,
 * and user space's estimate. DRAWS times each population of calls is sampled with another seed; the
 * mean of the estimates must be the truth, and about 95 of 100 of the 95 % intervals must hold it.
 * Populations are large enough for the mean's own standard error to be below 0.25 %. Seeds are
 * fixed: the test has one outcome.
 */
#include "host.h"

#include <math.h>

#include "base/types.h"
#include "trace/sampler.h"
#include "../unit/check.h"

#define DRAWS 2000

struct block_kind {
	u64 size;
	u32 cnt;
};

struct tried {
	const char *what;
	double mean_cnt; /* relative to the truth */
	double mean_bytes;
	double covered_cnt; /* share of the intervals that hold the truth */
	double covered_bytes;
};

static u64 seeds;

static void kernel__use(const struct sampler *s)
{
	host__reset();
	as_sampling = !s->exact;
	as_same_thr = s->same_thr;
	for (u32 i = 0; i < AS_CLASS_CNT; i++)
		host_map__update(host_map__of(&thr), &i, &s->thr[i], BPF_ANY);
}

/* One recording: how many of each kind are kept, then what user space makes of it. */
static struct estimate record(const struct sampler *s, const struct block_kind *kinds, u32 kind_cnt)
{
	struct estimate e = {};
	u64 hit = 0;

	as_seed = host__random(&seeds);
	host.cpu = as_seed >> 20 & 3;
	for (u32 k = 0; k < kind_cnt; k++) {
		struct call c = { .size = kinds[k].size };
		u64 kept = 0;

		for (u32 i = 0; i < kinds[k].cnt; i++)
			kept += call__is_kept(&c, hit++);
		sampler__add(s, as_size_class(c.size), kept, kept * c.size, &e);
	}
	return e;
}

static bool holds(double estimate, double variance, double truth)
{
	return fabs(estimate - truth) <= 1.96 * sqrt(variance);
}

static struct tried try(const char *what, const struct sampler *s, const struct block_kind *kinds,
			u32 kind_cnt)
{
	double cnt = 0, bytes = 0;
	struct tried t = { .what = what };

	for (u32 k = 0; k < kind_cnt; k++) {
		cnt += kinds[k].cnt;
		bytes += (double)kinds[k].cnt * (double)kinds[k].size;
	}
	for (u32 i = 0; i < DRAWS; i++) {
		struct estimate e = record(s, kinds, kind_cnt);

		t.mean_cnt += e.cnt / cnt / DRAWS;
		t.mean_bytes += e.bytes / bytes / DRAWS;
		t.covered_cnt += holds(e.cnt, e.cnt_var, cnt) / (double)DRAWS;
		t.covered_bytes += holds(e.bytes, e.bytes_var, bytes) / (double)DRAWS;
	}
	printf("%-28s mean %.4f %.4f of the truth, interval holds it %.4f %.4f (calls, bytes)\n",
	       what, t.mean_cnt, t.mean_bytes, t.covered_cnt, t.covered_bytes);
	return t;
}

static void check__tried(const struct tried *t)
{
	CHECK(fabs(t->mean_cnt - 1) < 0.01);
	CHECK(fabs(t->mean_bytes - 1) < 0.01);
	CHECK(t->covered_cnt >= 0.93 && t->covered_cnt <= 0.97);
	CHECK(t->covered_bytes >= 0.93 && t->covered_bytes <= 0.97);
}

static void rate__test(double rate, u32 cnt)
{
	/* Sizes alike: with few large blocks among many small ones the interval of the bytes is no
	 * normal one. */
	const struct block_kind kinds[] = {
		{ 24, cnt / 4 }, { 33, cnt / 4 }, { 40, cnt / 4 }, { 63, cnt / 4 }
	};
	struct sampler s;
	struct tried t;
	char what[64];

	sampler__by_rate(&s, rate);
	kernel__use(&s);
	snprintf(what, sizeof(what), "rate %g", rate);
	t = try(what, &s, kinds, ARRAY_SIZE(kinds));
	check__tried(&t);
}

/*
 * cnt is for p = 1 - exp(-times): enough of the rarer outcome (kept or not kept) for a normal
 * interval. The size is in the middle of its class: the interval of the bytes is for the class's
 * largest size, 3 % wider here, 6 % at most.
 */
static void bytes__test(u64 mean, double times, u32 cnt)
{
	const struct block_kind kind = { (u64)((double)mean * times) / 16 * 17, cnt };
	struct sampler s;
	struct tried t;
	char what[64];

	sampler__by_bytes(&s, mean);
	kernel__use(&s);
	snprintf(what, sizeof(what), "mean %lluK, blocks of %g", (long long)mean >> 10, times);
	t = try(what, &s, &kind, 1);
	check__tried(&t);
}

static void mixed__test(u64 mean)
{
	const struct block_kind kinds[] = { { mean / 64 + 1, 3000 }, { mean / 8, 800 },
					    { mean / 3, 300 },	     { mean, 150 },
					    { 3 * mean, 40 },	     { 40 * mean, 1 } };
	struct sampler s;
	struct tried t;

	sampler__by_bytes(&s, mean);
	kernel__use(&s);
	t = try("mixed", &s, kinds, ARRAY_SIZE(kinds));
	check__tried(&t);
}

/* Far above the interval nearly all are kept, and the estimate is nearly the truth itself. */
static void huge__test(u64 mean)
{
	const struct block_kind kind = { 30 * mean, 500 };
	struct sampler s;

	sampler__by_bytes(&s, mean);
	kernel__use(&s);
	for (u32 i = 0; i < 100; i++) {
		struct estimate e = record(&s, &kind, 1);

		CHECK(fabs(e.cnt - 500) < 1e-3);
		CHECK(fabs(e.bytes / (500.0 * (double)kind.size) - 1) < 1e-6);
	}
}

/* The two ends of a class, and those of its neighbours, are weighed by the p that they are drawn
 * with. */
static void edges__test(void)
{
	static const u64 at[] = { 0, 1, 15, 16, 4096, 1 << 16 };
	struct sampler s;

	sampler__by_bytes(&s, 4096);
	kernel__use(&s);
	for (u32 i = 0; i < ARRAY_SIZE(at); i++) {
		u32 class = as_size_class(at[i]);

		for (u32 c = class ? class - 1 : 0; c <= class + 1; c++) {
			u64 ends[] = { as_class_low(c), as_class_low(c + 1) - 1 };

			for (u32 end = 0; end < 2; end++) {
				struct call call = { .size = ends[end] };
				u64 kept = 0, n = 200000;

				for (u64 hit = 0; hit < n; hit++)
					kept += call__is_kept(&call, hit);
				CHECK(fabs((double)kept - (double)n * sampler__p(&s, c)) <=
				      5 * sqrt((double)n * sampler__p(&s, c)) + 1);
			}
		}
	}
}

static void all__test(void)
{
	struct sampler s;

	sampler__by_rate(&s, 1);
	CHECK(s.exact);
	kernel__use(&s);
	as_sampling = 1; /* even so: every one */
	for (u64 hit = 0; hit < 100000; hit++) {
		struct call c = { .size = hit };

		CHECK(call__is_kept(&c, hit));
	}
	as_same_thr = 0;
	for (u64 hit = 0; hit < 100000; hit++) {
		struct call c = { .size = hit };

		CHECK(call__is_kept(&c, hit));
	}
}

/* ---- the draws themselves ---- */

#define CELLS 256

/* For CELLS - 1 degrees of freedom: mean CELLS - 1, variance twice that; 5 standard deviations. */
static void check__chi2(const char *what, const u32 *cell, u64 n)
{
	double chi2 = 0, expected = (double)n / CELLS;

	for (u32 i = 0; i < CELLS; i++)
		chi2 += (cell[i] - expected) * (cell[i] - expected) / expected;
	printf("%-28s chi2 %.0f of %u\n", what, chi2, CELLS - 1);
	CHECK(fabs(chi2 - (CELLS - 1)) < 5 * sqrt(2.0 * (CELLS - 1)));
}

static void uniform__test(void)
{
	const u64 n = 1 << 20;
	u32 high[CELLS] = {}, low[CELLS] = {}, pairs[CELLS] = {}, small[CELLS] = {};

	host__reset();
	as_seed = 12345;
	for (u64 hit = 0; hit < n; hit++) {
		u32 a = draw__next(hit), b = draw__next(hit + 1);

		high[a >> 24]++;
		low[a & 255]++;
		pairs[a >> 28 << 4 | b >> 28]++;
		small[hit < n / 16 ? a >> 24 : 0] += hit < n / 16;
	}
	check__chi2("high bits", high, n);
	check__chi2("low bits", low, n);
	check__chi2("one hit and the next", pairs, n);
	check__chi2("the first draws", small, n / 16);
}

/* The n-th draws of two CPUs have nothing to do with each other, nor have those of two seeds. */
static void independent__test(void)
{
	const u64 n = 1 << 20;
	u32 cpus[CELLS] = {}, seeded[CELLS] = {};

	host__reset();
	for (u64 hit = 0; hit < n; hit++) {
		u32 a, b, c;

		as_seed = 1;
		host.cpu = 0;
		a = draw__next(hit);
		host.cpu = 1;
		b = draw__next(hit);
		as_seed = 2;
		c = draw__next(hit);
		cpus[a >> 28 << 4 | b >> 28]++;
		seeded[b >> 28 << 4 | c >> 28]++;
	}
	check__chi2("two CPUs", cpus, n);
	check__chi2("two seeds", seeded, n);
}

/* Calls are numbered per CPU, also by programs that interrupt each other; each number is drawn with
 * once. */
static void numbers__test(void)
{
	host__reset();
	for (u64 i = 0; i < 1000; i++) {
		for (u32 cpu = 0; cpu < 4; cpu++) {
			host.cpu = cpu;
			CHECK_EQ(counters__call(), i);
		}
	}
}

/* Of hostile sizes an estimate may not fit into a number; of small ones the sum must be right. */
static void round__test(void)
{
	double left = 0, many = 0;
	u64 sum = 0;

	CHECK_EQ(estimate__round(2.5, &left), 3);
	CHECK_EQ(estimate__round(0, &left), 0);
	CHECK_EQ(estimate__round(0.5, &left), 0);
	CHECK_EQ(estimate__round(0x1p63, &left), 1ull << 63);
	CHECK_EQ(estimate__round(0x1p64, &left), UINT64_MAX);
	CHECK_EQ(estimate__round(1e300, &left), UINT64_MAX);
	for (u32 i = 0; i < 100000; i++)
		sum += estimate__round(1.287, &many);
	CHECK_EQ(sum, 128700);
}

int main(void)
{
	static const u64 means[] = { 4 << 10, 64 << 10, 512 << 10 };

	seeds = 2024;
	round__test();
	rate__test(0.1, 4000);
	rate__test(0.01, 20000);
	rate__test(0.001, 160000);
	for (u32 i = 0; i < ARRAY_SIZE(means); i++) {
		bytes__test(means[i], 1.0 / 64, 12000);
		bytes__test(means[i], 1, 1000);
		bytes__test(means[i], 4, 8000);
		mixed__test(means[i]);
		huge__test(means[i]);
	}
	edges__test();
	all__test();
	uniform__test();
	independent__test();
	numbers__test();
	host__reset();
	return check__done();
}
