/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over windows, and what they say; the formulas are in duty.h. */
#include "trace/duty.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THIN_NS	    2e6	 /* of CPU time: what is less can't be measured well */
#define UNSEEN_MOST 0.05 /* of all CPU time: more of it in groups that no window met matters */
#define LOST_MOST   0.5	 /* of a group's CPU time in windows: above, progress isn't known */

void duty__fini(struct duty *d)
{
	for (size_t i = 0; i < d->touched.cnt; i++) {
		if (d->touched.v[i]->joined)
			free(d->touched.v[i]);
	}
	vec__free(&d->groups);
	vec__free(&d->touched);
	map__free(&d->group_at);
}

static u64 group_key__hash(const struct as_group_key *key)
{
	u64 word[2];

	memcpy(word, key, sizeof(word));
	return map__mix(map__mix(0, word[0]), word[1]);
}

int duty__group(struct duty *d, const struct as_group_key *key)
{
	u64 h = group_key__hash(key), at;
	struct duty_group group = { .key = *key };

	while (map__get(&d->group_at, h, &at)) {
		if (!memcmp(&d->groups.v[at].key, key, sizeof(*key)))
			return at;
		h = map__mix(h, 1);
	}
	if (d->groups.cnt >= DUTY_GROUPS_MAX)
		return 0; /* of those without a name */
	if (vec__push(&d->groups, group))
		return -ENOMEM;
	if (map__put(&d->group_at, h, d->groups.cnt - 1)) {
		d->groups.cnt--;
		return -ENOMEM;
	}
	return d->groups.cnt - 1;
}

int duty__stage(struct duty *d, struct duty_row **row, u32 at, u64 cnt, u64 bytes)
{
	if (!*row)
		*row = calloc(1, sizeof(**row));
	if (!*row || (!(*row)->now_cnt && vec__push(&d->touched, *row)))
		return -ENOMEM;
	(*row)->at = at;
	(*row)->now_cnt += cnt;
	(*row)->now_bytes += bytes;
	return 0;
}

static void sums__join(struct duty_sums *to, const struct duty_sums *from)
{
	const double *add = (const double *)from;
	double *sum = (double *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += add[i];
}

void duty_row__join(struct duty_row **to, struct duty_row *from)
{
	struct duty_row *gone = from, *stays = *to;

	if (!stays || !from) {
		*to = stays ? stays : from;
		return;
	}
	if (from->now_cnt && !stays->now_cnt) {
		gone = stays;
		stays = *to = from;
	}
	stays->seen += gone->seen;
	stays->now_cnt += gone->now_cnt;
	stays->now_bytes += gone->now_bytes;
	sums__join(&stays->sums, &gone->sums);
	if (gone->now_cnt)
		gone->joined = true; /* freed when the window is settled */
	else
		free(gone);
}

/* What part of its CPU time a group has lost in the window. */
static double group__lost(const struct duty_group *g)
{
	if (!(g->now_lost > 0))
		return 0;
	return g->now_cpu > g->now_lost ? g->now_lost / g->now_cpu : 1;
}

static void sums__add(struct duty_sums *s, const struct estimate *hits, const struct duty_group *g,
		      double w)
{
	double lost = group__lost(g), known = fmin(lost, LOST_MOST), more = 1 / (1 - known);
	double cnt = hits->cnt * more, bytes = hits->bytes * more, ww = w * (w - 1);

	s->cnt += w * cnt;
	s->bytes += w * bytes;
	s->cnt_raw += w * hits->cnt;
	s->bytes_raw += w * hits->bytes;
	s->cnt_lost += w * hits->cnt * lost;
	s->bytes_lost += w * hits->bytes * lost;
	s->cnt_off += w * cnt * known * more;
	s->bytes_off += w * bytes * known * more;
	s->cnt_cnt += ww * cnt * cnt;
	s->bytes_bytes += ww * bytes * bytes;
	s->cnt_c += ww * cnt * g->now_cpu;
	s->bytes_c += ww * bytes * g->now_cpu;
	s->cnt_var += w * more * more * hits->cnt_var;
	s->bytes_var += w * more * more * hits->bytes_var;
}

static void duty__settle_row(struct duty *d, struct duty_row *row, double w, duty_row_fn fn,
			     void *arg)
{
	struct estimate hits = {};
	struct duty_group *g;

	row->group = fn(arg, row->at, row->now_cnt, row->now_bytes, &hits);
	row->seen += row->now_cnt;
	row->now_cnt = row->now_bytes = 0;
	g = &d->groups.v[row->group];
	sums__add(&row->sums, &hits, g, w);
	g->now.cnt += hits.cnt;
	g->now.bytes += hits.bytes;
	g->now.cnt_var += hits.cnt_var;
	g->now.bytes_var += hits.bytes_var;
}

static void group__settle(struct duty_group *g, double w)
{
	sums__add(&g->sums, &g->now, g, w);
	g->windows += g->now_cpu > 0 || g->now.cnt > 0;
	g->seen += g->now_cpu - g->now_lost;
	g->seen_cpu += g->now_cpu;
	g->w_cpu += w * g->now_cpu;
	g->c_c += w * (w - 1) * g->now_cpu * g->now_cpu;
	g->now = (struct estimate){};
	g->now_cpu = g->now_lost = 0;
}

void duty__settle(struct duty *d, double slot_ns, double open_ns, duty_row_fn fn, void *arg)
{
	double w = fmax(1, slot_ns / fmax(open_ns, 1));

	for (size_t i = 0; i < d->touched.cnt; i++) {
		if (d->touched.v[i]->joined)
			free(d->touched.v[i]);
		else
			duty__settle_row(d, d->touched.v[i], w, fn, arg);
	}
	d->touched.cnt = 0;
	for (size_t i = 0; i < d->groups.cnt; i++)
		group__settle(&d->groups.v[i], w);
	d->windows++;
	d->open_ns += open_ns;
	d->slot_ns += slot_ns;
}

/* ---- estimates ---- */

/* It ran, and windows have hardly met it. */
static bool group__is_unseen(const struct duty_group *g)
{
	return g->cpu > THIN_NS && g->windows < 2;
}

bool duty__is_at_least(const struct duty_group *g)
{
	return group__is_unseen(g) || g->sums.cnt_lost > LOST_MOST * g->sums.cnt_raw;
}

/* What all of a group is of what its windows stand for. by_cpu: CPU time says so, else time. */
static double group__scale(const struct duty *d, const struct duty_group *g, bool *by_cpu)
{
	*by_cpu = g->seen_cpu >= THIN_NS && g->w_cpu > 0;
	if (*by_cpu)
		return fmax(0, duty__is_at_least(g) ? g->cpu : g->cpu - g->lost) / g->w_cpu;
	return d->slot_ns > 0 ? d->all_ns / d->slot_ns : 1;
}

/* Of a sum over windows, from its squares and its products with CPU time; off: what it moves by. */
static double sum__var(const struct duty_group *g, bool by_cpu, double sum, double sq,
		       double with_cpu, double off)
{
	/* Intervals are made for many windows. Of few, Student's t is larger: its square by that of
	 * the normal distribution (97.5 %), for 2 windows and more. */
	static const double few[] = { 42, 4.8, 2.6, 2.0, 1.7, 1.6, 1.5, 1.4, 1.3 };
	double r = by_cpu ? sum / g->w_cpu : 0, n = MAX(g->windows, 2u);
	double var = sq - 2 * r * with_cpu + r * r * g->c_c;
	double wider =
		n - 2 < ARRAY_SIZE(few) ? few[g->windows < 2 ? 0 : g->windows - 2] : 1 + 3 / n;

	return fmax(0, var) * wider * n / (n - 1) + off * off;
}

static void sums__estimate(const struct duty *d, const struct duty_group *g,
			   const struct duty_sums *s, struct estimate *e)
{
	bool by_cpu, at_least = duty__is_at_least(g);
	double scale = group__scale(d, g, &by_cpu), square = scale * scale;

	e->cnt += scale * (at_least ? s->cnt_raw : s->cnt);
	e->bytes += scale * (at_least ? s->bytes_raw : s->bytes);
	e->cnt_var += square * (s->cnt_var + sum__var(g, by_cpu, s->cnt, s->cnt_cnt, s->cnt_c,
						      d->error * s->cnt_off));
	e->bytes_var += square * (s->bytes_var + sum__var(g, by_cpu, s->bytes, s->bytes_bytes,
							  s->bytes_c, d->error * s->bytes_off));
}

bool duty__row(const struct duty *d, const struct duty_row *r, struct estimate *e, u64 *seen)
{
	if (!r || !r->seen)
		return false;
	*seen += r->seen;
	sums__estimate(d, &d->groups.v[r->group], &r->sums, e);
	return duty__is_at_least(&d->groups.v[r->group]);
}

bool duty__total(const struct duty *d, double *cnt_var, double *bytes_var)
{
	struct estimate e = {};
	double unseen = 0, cpu = 0;
	bool at_least = false;

	for (size_t i = 0; i < d->groups.cnt; i++) {
		const struct duty_group *g = &d->groups.v[i];

		unseen += group__is_unseen(g) ? g->cpu : 0;
		cpu += fmax(0, g->cpu);
		if (!g->sums.cnt)
			continue;
		sums__estimate(d, g, &g->sums, &e);
		at_least |= duty__is_at_least(g);
	}
	at_least |= unseen > UNSEEN_MOST * cpu;
	*cnt_var += e.cnt_var;
	*bytes_var += e.bytes_var;
	return at_least;
}

bool duty__names_at_least(const struct duty *d, const char *comm)
{
	for (size_t i = 0; i < d->groups.cnt; i++) {
		if (!strncmp(d->groups.v[i].key.comm, comm, sizeof(d->groups.v[i].key.comm)))
			return duty__is_at_least(&d->groups.v[i]);
	}
	return false;
}
