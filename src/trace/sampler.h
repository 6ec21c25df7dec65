/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mathematics of sampling. The kernel keeps an allocation of size class c when a uniform 32-bit
 * draw is below thr[c]; user space made thr, so it knows the probability p exactly and weighs each
 * kept one by 1/p (Horvitz-Thompson): unbiased whatever p is, with a variance that can be estimated
 * from the sample itself.
 */
#ifndef TRACE_SAMPLER_H
#define TRACE_SAMPLER_H

#include "abi.h"
#include "base/types.h"

struct sampler {
	u64 thr[AS_CLASS_CNT]; /* of 2^32; 2^32: always */
	u64 same_thr;	       /* the one of all classes, 0 when they differ */
	bool exact;	       /* every p is 1 */
};

/* What the kept allocations of one row say about all of them. */
struct estimate {
	double cnt;
	double bytes;
	double cnt_var;	  /* sum (1-p)/p^2: an unbiased estimate of the count's variance */
	double bytes_var; /* the same with size^2, bounded from above within the size class */
};

/* Keep each with probability rate in (0, 1]. */
void sampler__by_rate(struct sampler *s, double rate);

/* Keep with probability 1 - exp(-size / mean): one sample per `mean` bytes, as a Poisson process
 * over bytes would. */
void sampler__by_bytes(struct sampler *s, u64 mean);

double sampler__p(const struct sampler *s, u32 class);

/*
 * An estimate as a whole number; UINT64_MAX above that. What rounding took from it is left to the
 * next one of its kind: rows of one sample that stands for 1.3 are many, and their sum must not
 * say 1 for each.
 */
u64 estimate__round(double val, double *left);

/* Adds cnt kept allocations of `bytes` in all, of one class, to e. */
void sampler__add(const struct sampler *s, u32 class, u64 cnt, u64 bytes, struct estimate *e);

#endif
