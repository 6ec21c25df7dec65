/* SPDX-License-Identifier: BSD-2-Clause */
/* Credit, and the length of slots. */
#include "trace/budget.h"

#include <math.h>

#define RATE_NS	     500e6 /* the targets' rate is an average over so long, about */
#define CREDIT_NS    1e9   /* of all CPUs' time: the most that can be saved up */
#define FIRST_NS     100e6 /* and what there is at the start */
#define REPAY_NS     1e9   /* debts are paid back, and savings used, in about so long */
#define SLOT_MIN_NS  120e6 /* placing waits some 10 ms for the kernel, reading the sums 40 ms */
#define SLOT_MAX_NS  2e9
#define LATELY	     8 /* windows in the average of rates */
#define CALM_WINDOWS 3
#define CALM_SHARE   0.8

static double cpus__ns(const struct budget *b, double ns)
{
	return fmax(BUDGET_WINDOW_NS, b->share * ns * b->cpus);
}

void budget__init(struct budget *b, double share, u32 cpus)
{
	*b = (struct budget){ .share = share, .cpus = cpus, .on = true };
	b->credit = cpus__ns(b, FIRST_NS);
}

bool budget__spend(struct budget *b, double wall_ns, double cpu_ns, double lost_ns)
{
	double progress = fmax(0, cpu_ns - lost_ns), old = exp(-wall_ns / RATE_NS);

	b->cpu_ns += cpu_ns;
	b->lost_ns += lost_ns;
	b->credit = fmin(b->credit + b->share * progress - lost_ns, cpus__ns(b, CREDIT_NS));
	if (wall_ns > 0) {
		b->rate_weight = b->rate_weight * old + 1 - old;
		b->cpu_rate += (progress / wall_ns - b->cpu_rate) * (1 - old) / b->rate_weight;
	}
	return b->on && b->credit < 0;
}

void budget__leave(struct budget *b, double lost_rate)
{
	b->on = false;
	b->windows = b->calm = 0;
	b->lost_rate = lost_rate;
}

/* What may be lost per ns from now on. */
static double budget__allowance(const struct budget *b)
{
	double usual = b->share * b->cpu_rate;

	/* Half of what is saved: a storm may come. Debts don't stop all windows. */
	if (b->credit > 0)
		return usual + b->credit / 2 / REPAY_NS;
	return fmax(usual + b->credit / REPAY_NS, usual / 4);
}

struct budget_slot budget__plan(const struct budget *b, double at)
{
	double allowed = budget__allowance(b), open = BUDGET_WINDOW_NS;
	double len = (b->lost_rate * open + b->own_ns) / allowed; /* 0 / 0: as below */

	/* Cheap windows may be long: as long as nobody loses more than in a short one of a storm.
	 */
	if (!(len > SLOT_MIN_NS)) {
		len = SLOT_MIN_NS;
		open = fmax(open, (allowed * len - b->own_ns) / b->lost_rate);
		open = fmin(open, fmax(BUDGET_WINDOW_NS, BUDGET_WINDOW_NS / b->lost_rate));
		open = fmin(open, len / 2);
	}
	len = fmin(len, SLOT_MAX_NS);
	return (struct budget_slot){
		.len_ns = len,
		.open_ns = open,
		.start_ns = at * (len - open),
	};
}

bool budget__window(struct budget *b, double wall_ns, double lost_ns, double own_ns)
{
	double lost_rate = lost_ns / fmax(wall_ns, 1);
	double new = 1.0 / (b->windows < LATELY ? b->windows + 1 : LATELY);

	b->lost_rate += (lost_rate - b->lost_rate) * new;
	b->own_ns += (own_ns - b->own_ns) * new;
	b->windows++;
	b->calm = lost_rate <= CALM_SHARE * b->share * b->cpu_rate ? b->calm + 1 : 0;
	b->on = b->calm >= CALM_WINDOWS && b->credit >= 0;
	return b->on;
}
