/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates from windows, against programs whose every allocation the test knows: a steady one,
 * one in bursts, one that is idle in between, several at once. Many runs each, from fixed seeds:
 * is the mean right, and is the truth within the printed 95 % as often as that says?
 */
#include <math.h>

#include "check.h"
#include "trace/duty.h"

#define MS   1e6
#define S    1e9
#define RUNS 300

static struct duty_row *rows[32]; /* of the recording: what windows say of them */

static void end(struct duty *d)
{
	duty__fini(d);
	for (size_t i = 0; i < 32; i++) {
		free(rows[i]);
		rows[i] = NULL;
	}
}

static unsigned long long state;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) * 0x1p-53;
}

/* A program: allocations of 100 bytes, so many per ns of its own progress, in phases. */
struct program {
	double rate;	    /* per ns of progress, while it's on */
	double period, on;  /* ns of wall time; 0: always on */
	double off_load;    /* of the CPU, while it isn't */
	double hit_ns;	    /* what a hit costs */
	double believed_ns; /* what we think it costs */
	double tick_ns;	    /* its CPU time is known up to that */
};

static bool program__is_on(const struct program *p, double at)
{
	return !p->period || fmod(at, p->period) < p->on;
}

struct run {
	double truth; /* allocations */
	double cpu, lost;
};

/* From `from` to `to` in steps; what is counted meanwhile is the result. */
static double program__run(const struct program *p, struct run *r, double from, double to,
			   bool probed)
{
	double counted = 0, step = 0.1 * MS;

	for (double t = from; t < to; t += step) {
		double ns = fmin(step, to - t);
		bool on = program__is_on(p, t);
		double cpu = on ? ns : ns * p->off_load;
		double slower = probed && on ? 1 + p->rate * p->hit_ns : 1;
		double calls = on ? cpu / slower * p->rate : 0;

		r->truth += calls;
		r->cpu += cpu;
		r->lost += probed ? calls * p->believed_ns : 0;
		counted += calls;
	}
	return counted;
}

static double ticked(const struct program *p, double cpu)
{
	return p->tick_ns ? floor(cpu / p->tick_ns + uniform()) * p->tick_ns : cpu;
}

static u32 row_of(void *arg, u32 row, u64 cnt, u64 bytes, struct estimate *e)
{
	const u32 *groups = arg;

	e->cnt += (double)cnt;
	e->bytes += (double)bytes;
	return groups[row];
}

static void one_run(struct duty *d, const struct program *p, struct run *r, double seconds,
		    double slot_ns)
{
	static const struct as_group_key key = { "a program" };
	u32 group = duty__group(d, &key);
	double now = uniform() * S, end = now + seconds * S;

	d->error = 0.1;
	while (now < end) {
		double len = slot_ns * (0.7 + 0.6 * uniform()), open = 5 * MS;
		double at = now + uniform() * (len - open), cpu, lost, counted;

		program__run(p, r, now, at, false);
		cpu = r->cpu;
		lost = r->lost;
		counted = program__run(p, r, at, at + open, true);
		d->groups.v[group].now_cpu = ticked(p, r->cpu - cpu);
		d->groups.v[group].now_lost = r->lost - lost;
		CHECK(!duty__stage(d, &rows[0], 0, (u64)counted, (u64)counted * 100));
		program__run(p, r, at + open, now + len, false);
		duty__settle(d, len, open, row_of, &group);
		d->all_ns += len;
		now += len;
	}
	d->groups.v[group].cpu = r->cpu;
	d->groups.v[group].lost = r->lost;
}

/* bias: of the mean, at most. */
static void holds(const char *what, const struct program *p, double seconds, double slot_ns,
		  double bias)
{
	double sum = 0, truths = 0;
	u32 within = 0, same = 0;

	state = 7;
	for (u32 i = 0; i < RUNS; i++) {
		struct duty d = {};
		struct run r = {};
		struct estimate e = {};
		double cnt_var = 0, bytes_var = 0;
		u64 seen = 0;

		one_run(&d, p, &r, seconds, slot_ns);
		CHECK(!duty__row(&d, rows[0], &e, &seen));
		CHECK(!duty__total(&d, &cnt_var, &bytes_var));
		same += fabs(cnt_var - e.cnt_var) <= 1e-6 * e.cnt_var &&
			fabs(e.bytes - 100 * e.cnt) <= 1e-6 * e.bytes;
		sum += e.cnt;
		truths += r.truth;
		within += fabs(e.cnt - r.truth) <= 1.96 * sqrt(e.cnt_var);
		end(&d);
	}
	CHECK_EQ(same, RUNS);
	CHECK(fabs(sum / truths - 1) <= bias);
	CHECK(within >= RUNS * 85 / 100);
	if (check_failures)
		fprintf(stderr, "%s: mean %.4f of the truth, %u of %u within\n", what, sum / truths,
			within, RUNS);
}

static void test_programs(void)
{
	const struct program steady = { .rate = 50e3 / S, .hit_ns = 1000, .believed_ns = 1000 };
	const struct program ticks = {
		.rate = 50e3 / S, .hit_ns = 1000, .believed_ns = 1000, .tick_ns = 4 * MS
	};
	const struct program wrong = { .rate = 300e3 / S, .hit_ns = 1000, .believed_ns = 1100 };
	const struct program bursts = { .rate = 200e3 / S,
					.period = 400 * MS,
					.on = 100 * MS,
					.off_load = 1,
					.hit_ns = 1000,
					.believed_ns = 1000 };
	const struct program idle = { .rate = 200e3 / S,
				      .period = 400 * MS,
				      .on = 100 * MS,
				      .hit_ns = 1000,
				      .believed_ns = 1000 };

	holds("steady", &steady, 10, 120 * MS, 0.01);
	holds("known by ticks", &ticks, 10, 120 * MS, 0.02);
	holds("a wrong cost", &wrong, 10, 120 * MS, 0.06);
	holds("bursts", &bursts, 20, 120 * MS, 0.03);
	holds("bursts of one that is idle", &idle, 20, 120 * MS, 0.03);
}

/* Where most of the time is lost nothing is claimed but what must have been. */
static void test_storm(void)
{
	const struct program storm = { .rate = 50e6 / S, .hit_ns = 1000, .believed_ns = 1000 };
	struct estimate e = {};
	struct duty d = {};
	struct run r = {};
	double var = 0;
	u64 seen = 0;

	state = 7;
	one_run(&d, &storm, &r, 10, 120 * MS);
	CHECK(duty__row(&d, rows[0], &e, &seen));
	CHECK(duty__total(&d, &var, &var));
	CHECK(duty__names_at_least(&d, "a program"));
	CHECK(!duty__names_at_least(&d, "another"));
	CHECK(e.cnt > 0 && e.cnt <= r.truth);
	end(&d);
}

/* Two rows of one group that take turns: each is uncertain, their sum is not. And a group with
 * hardly any CPU time, whose hits stand for time. */
static void test_rows(void)
{
	static const struct as_group_key names[] = { { "busy" }, { "thin" } };
	struct estimate one = {}, other = {}, thin = {};
	struct duty d = {};
	double total = 0, bytes = 0;
	u32 groups[3] = { 0, 0, 1 };
	u64 seen = 0;

	CHECK_EQ(duty__group(&d, &names[0]), 0);
	CHECK_EQ(duty__group(&d, &names[1]), 1);
	CHECK_EQ(duty__group(&d, &names[0]), 0);
	for (u32 i = 0; i < 100; i++) {
		d.groups.v[0].now_cpu = 5 * MS;
		d.groups.v[1].now_cpu = 0.01 * MS;
		CHECK(!duty__stage(&d, &rows[i % 2], i % 2, 100, 6400));
		CHECK(!duty__stage(&d, &rows[2], 2, 3, 30));
		CHECK(!duty__stage(&d, &rows[2], 2, 4, 40)); /* another drain of the same window */
		duty__settle(&d, 100 * MS, 5 * MS, row_of, groups);
	}
	d.all_ns = 100 * 100 * MS;
	d.groups.v[0].cpu = 100 * 100 * MS;
	duty__row(&d, rows[0], &one, &seen);
	duty__row(&d, rows[1], &other, &seen);
	CHECK_EQ(seen, 10000);
	CHECK_EQ(llround(one.cnt), 100000);
	CHECK_EQ(llround(one.bytes), 6400000);
	CHECK(sqrt(one.cnt_var) > 5000);
	duty__row(&d, rows[2], &thin, &seen);
	CHECK_EQ(llround(thin.cnt), 100 * 7 * 20);
	duty__total(&d, &total, &bytes);
	CHECK(sqrt(total) < 1.1 * sqrt(thin.cnt_var));
	duty__row(&d, rows[17], &thin, &seen); /* never seen in a window */
	CHECK_EQ(seen, 10700);
	end(&d);
}

/* It ran, but not when a window was open: that says nothing, and must not look like 0. */
static void test_unseen(void)
{
	static const struct as_group_key name = { "unlucky" };
	double var = 0;
	struct duty d = {};
	u32 group = duty__group(&d, &name);

	duty__settle(&d, 1 * S, 5 * MS, row_of, &group);
	duty__settle(&d, 1 * S, 5 * MS, row_of, &group);
	d.all_ns = 2 * S;
	d.groups.v[group].cpu = 200 * MS;
	CHECK(duty__names_at_least(&d, "unlucky"));
	CHECK(duty__total(&d, &var, &var));
	d.groups.v[group].cpu = 0.1 * MS; /* it hardly ran */
	CHECK(!duty__names_at_least(&d, "unlucky"));
	end(&d);
}

int main(void)
{
	test_unseen();
	test_programs();
	test_storm();
	test_rows();
	return check__done();
}
