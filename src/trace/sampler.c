/* SPDX-License-Identifier: BSD-2-Clause */
/* Thresholds and estimates; see sampler.h for the idea. */
#include "trace/sampler.h"

#include <math.h>

#define THR_ALWAYS (1ull << 32)

/* Rounds up: a class that can be asked for is never without a chance, or its estimate would be
 * biased to 0. */
static u64 thr__of(double p)
{
	double t = ceil(p * (double)THR_ALWAYS);

	return t >= (double)THR_ALWAYS ? THR_ALWAYS : t < 1 ? 1 : (u64)t;
}

void sampler__by_rate(struct sampler *s, double rate)
{
	s->exact = rate >= 1;
	s->same_thr = thr__of(rate);
	for (u32 i = 0; i < AS_CLASS_CNT; i++)
		s->thr[i] = thr__of(rate);
}

/* Any p above 0 is unbiased; the middle of the class is near the best one for each of its sizes.
 * Blocks of size 0 and 1 are drawn as one byte, so that they can be seen at all. */
void sampler__by_bytes(struct sampler *s, u64 mean)
{
	s->exact = mean <= 1;
	s->same_thr = 0;
	for (u32 i = 0; i < AS_CLASS_CNT; i++) {
		double low = (double)as_class_low(i), high = (double)(as_class_low(i + 1) - 1);
		double size = fmax(1, (low + high) / 2);

		s->thr[i] = s->exact ? THR_ALWAYS : thr__of(-expm1(-size / (double)mean));
	}
}

double sampler__p(const struct sampler *s, u32 class)
{
	return (double)s->thr[class] / (double)THR_ALWAYS;
}

u64 estimate__round(double val, double *left)
{
	double want = val + *left, whole = want < 0.5 ? 0 : round(want);

	if (val == 0)
		return 0; /* nothing was seen there */
	if (!(whole < 0x1p64))
		return UINT64_MAX;
	*left = want - whole;
	return (u64)whole;
}

/*
 * Squares of sizes aren't summed in the kernel (they pass 64 bits). For sizes in [low, high] the
 * sum of (size - low)(high - size) isn't negative, so bytes (low + high) - cnt low high bounds the
 * sum of squares, and meets it where all sizes lie at the ends (Bhatia and Davis 2000).
 */
static double squares__bound(u32 class, u64 cnt, u64 bytes)
{
	double low = (double)as_class_low(class), high = (double)(as_class_low(class + 1) - 1);

	return fmax(0, (double)bytes * (low + high) - (double)cnt * low * high);
}

void sampler__add(const struct sampler *s, u32 class, u64 cnt, u64 bytes, struct estimate *e)
{
	double p = sampler__p(s, class), left = (1 - p) / (p * p);

	e->cnt += (double)cnt / p;
	e->bytes += (double)bytes / p;
	e->cnt_var += (double)cnt * left;
	e->bytes_var += squares__bound(class, cnt, bytes) * left;
}
