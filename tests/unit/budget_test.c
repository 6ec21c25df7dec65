/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The budget, with a clock of the test's own: a program on one CPU that allocates so often per
 * nanosecond of its own progress, and a governor that does what it is told.
 */
#include "trace/budget.h"
#include "check.h"

#define MS 1e6
#define S  1e9

struct sim {
	struct budget b;
	double now, cpu, lost; /* ns */
	double rate;	       /* hits per ns of progress */
	double hit_ns;
	double load; /* of the CPU, that it needs */
	double on_ns, longest_ns;
	unsigned long long random;
};

static double sim__random(struct sim *s)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(s->random >> 11) * 0x1p-53;
}

/* The program runs for so long. Returns what it loses. */
static double sim__run(struct sim *s, double ns, bool attached)
{
	double part = s->rate * s->hit_ns / (1 + s->rate * s->hit_ns);
	double cpu = ns * s->load, lost = attached ? cpu * part : 0;

	s->now += ns;
	s->cpu += cpu;
	s->lost += lost;
	return lost;
}

static void sim__watch(struct sim *s)
{
	double lost = sim__run(s, 20 * MS, true);

	s->on_ns += 20 * MS;
	if (budget__spend(&s->b, 20 * MS, 20 * MS * s->load, lost))
		budget__leave(&s->b, lost / (20 * MS));
}

static void sim__slot(struct sim *s)
{
	struct budget_slot p = budget__plan(&s->b, sim__random(s));
	double own = 1 * MS, lost, len = (double)p.len_ns;

	CHECK(p.open_ns >= BUDGET_WINDOW_NS);
	CHECK(p.start_ns + p.open_ns <= p.len_ns);
	s->longest_ns = p.len_ns > s->longest_ns ? p.len_ns : s->longest_ns;
	sim__run(s, (double)p.start_ns, false);
	lost = sim__run(s, (double)p.open_ns, true);
	CHECK(lost <= 1.01 * BUDGET_WINDOW_NS);
	sim__run(s, len - (double)(p.start_ns + p.open_ns), false);
	s->lost += own;
	budget__spend(&s->b, len, len * s->load, lost + own);
	budget__window(&s->b, (double)p.open_ns, lost, own);
}

static void sim__until(struct sim *s, double end)
{
	while (s->now < end) {
		if (s->b.on)
			sim__watch(s);
		else
			sim__slot(s);
	}
}

static struct sim sim__new(double share, double rate, double load)
{
	struct sim s = { .rate = rate, .hit_ns = 1000, .load = load, .random = 42 };

	budget__init(&s.b, share, 2);
	return s;
}

static double sim__cost(const struct sim *s)
{
	return s->lost / (s->cpu - s->lost);
}

/* Whoever allocates seldom is traced all the time. */
static void test_light(void)
{
	struct sim s = sim__new(0.05, 20e3 / S, 1), idle = sim__new(0.05, 1e6 / S, 0);

	sim__until(&s, 20 * S);
	CHECK(s.on_ns == s.now);
	sim__until(&idle, 20 * S);
	CHECK(idle.on_ns == idle.now);
}

/* One short burst is what the credit at the start is for. */
static void test_burst(void)
{
	struct sim s = sim__new(0.05, 1e6 / S, 1);

	CHECK(s.b.credit >= BUDGET_WINDOW_NS);
	CHECK(!budget__spend(&s.b, 5 * MS, 5 * MS, 4 * MS));
	CHECK(s.b.on);
}

/* The promise, at every rate: 30,000 a second to a storm. */
static void test_budget_is_kept(void)
{
	static const double shares[] = { 0.01, 0.05, 0.2 };
	static const double rates[] = { 30e3, 60e3, 250e3, 1e6, 1e7, 6e7 };

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		for (size_t n = 0; n < sizeof(rates) / sizeof(*rates); n++) {
			struct sim s = sim__new(shares[i], rates[n] / S, 1);

			sim__until(&s, 20 * S);
			CHECK(sim__cost(&s) <= 1.1 * shares[i]);
			CHECK(s.longest_ns <= 2 * S);
			/* ... and what there is, is used: half of it at least where windows of the
			 * usual length can be had for it. */
			if (rates[n] / S * s.hit_ns > 2 * shares[i] && shares[i] < 0.1)
				CHECK(sim__cost(&s) >= 0.5 * shares[i]);
		}
	}
}

/* A storm begins, and ends again. */
static void test_adapts(void)
{
	struct sim s = sim__new(0.05, 10e3 / S, 1);
	double on;

	sim__until(&s, 10 * S);
	CHECK(s.b.on);
	s.rate = 1e7 / S;
	sim__until(&s, 10.5 * S);
	CHECK(!s.b.on);
	sim__until(&s, 20 * S);
	CHECK(!s.b.on);
	CHECK(sim__cost(&s) <= 0.05);
	s.rate = 10e3 / S;
	sim__until(&s, 22 * S);
	CHECK(s.b.on);
	on = s.on_ns;
	sim__until(&s, 25 * S);
	CHECK(s.on_ns - on >= 2.9 * S);
}

/* Debts are paid back, and don't stop all windows. */
static void test_debt(void)
{
	struct sim s = sim__new(0.05, 1e7 / S, 1);
	struct budget_slot p;

	sim__until(&s, 5 * S);
	s.b.credit = -1 * S;
	p = budget__plan(&s.b, 0.5);
	CHECK(p.len_ns > 200 * MS);
	CHECK(p.len_ns <= 2 * S);
	sim__until(&s, 60 * S);
	CHECK(s.b.credit >= -0.1 * S);
}

int main(void)
{
	test_light();
	test_burst();
	test_budget_is_kept();
	test_adapts();
	test_debt();
	return check__done();
}
