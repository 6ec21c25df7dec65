/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows from profiles; see top_model.h. */
#include "cli/top_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/siphash.h"

/* With a budget there may be one window in two seconds, and what it says is made up for later:
 * rates are means over this time, and up to twice as long. */
#define WINDOWS_BASE_NS 5000000000ull

#define NAMES_LEAST 1000 /* stacks whose names are remembered for nothing */

void top_model__init(struct top_model *m)
{
	*m = (struct top_model){};
	if (getrandom(m->secret, sizeof(m->secret), GRND_NONBLOCK) < 0)
		m->secret[0] = (uintptr_t)m;
}

static void table__clear(struct top_table *t)
{
	for (size_t i = 0; i < t->rows.cnt; i++)
		free(t->rows.v[i]);
	t->rows.cnt = 0;
	map__clear(&t->at);
}

static void table__fini(struct top_table *t)
{
	table__clear(t);
	vec__free(&t->rows);
	map__free(&t->at);
}

void top_model__fini(struct top_model *m)
{
	map__free(&m->named);
	table__fini(&m->processes);
	table__fini(&m->stacks);
	table__fini(&m->names);
	allocsnoop_profile__free(m->profile);
	*m = (struct top_model){};
}

const struct top_row *top_table__find(const struct top_table *t, u64 key)
{
	u64 val;

	return map__get(&t->at, key, &val) ? (const void *)(uintptr_t)val : NULL;
}

static int table__new(struct top_table *t, u64 key, struct top_row **row)
{
	struct top_row *r = calloc(1, sizeof(*r));

	if (!r || vec__push(&t->rows, r)) {
		free(r);
		return -ENOMEM;
	}
	r->key = key;
	*row = r;
	return map__put(&t->at, key, (uintptr_t)r);
}

/* The row of this key, ready for the update's numbers. */
static int table__row(struct top_model *m, struct top_table *t, u64 key, struct top_row **row)
{
	u64 val;
	int err = 0;

	if (map__get(&t->at, key, &val))
		*row = (void *)(uintptr_t)val;
	else
		err = table__new(t, key, row);
	if (err || (*row)->seen == m->update)
		return err;
	(*row)->seen = m->update;
	(*row)->now = (struct top_numbers){};
	(*row)->at_least = false;
	(*row)->info = NULL;
	(*row)->sample = NULL;
	return 0;
}

/* ---- keys: never 0 ---- */

static u64 key__hash(const struct top_model *m, const void *data, size_t size)
{
	u64 out[2];

	siphash(data, size, m->secret, out);
	return out[0] ? out[0] : 1;
}

static u64 key__process(const struct top_model *m, u32 pid, const char *comm)
{
	u64 words[2] = { pid, key__hash(m, comm, strlen(comm)) };

	return key__hash(m, words, sizeof(words));
}

/* Without an id it's no stack, but a sum of calls whose stacks were lost, or were given up. */
static u64 key__frames(const struct top_model *m, const struct allocsnoop_sample *s)
{
	u64 words[3] = { s->end };

	for (size_t i = 0; i < s->frame_cnt; i++) {
		const struct allocsnoop_frame *f = s->frames[i];

		words[1] = key__hash(m, f->function, strlen(f->function));
		words[2] = key__hash(m, f->module, strlen(f->module));
		words[0] = key__hash(m, words, sizeof(words));
	}
	return words[0];
}

/* Names are looked at once for each stack. 0 or -ENOMEM. */
static int key__names(struct top_model *m, const struct allocsnoop_sample *s, u64 *key)
{
	if (s->stack_id && map__get(&m->named, s->stack_id, key))
		return 0;
	*key = key__frames(m, s);
	return s->stack_id ? map__put(&m->named, s->stack_id, *key) : 0;
}

static u64 key__stack(const struct top_model *m, u64 of, u64 names)
{
	u64 words[2] = { of, names };

	return key__hash(m, words, sizeof(words));
}

/* ---- one profile ---- */

static u64 sum(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void numbers__add_process(struct top_numbers *n, const struct allocsnoop_process *p)
{
	n->count = sum(n->count, p->alloc_count);
	n->bytes = sum(n->bytes, p->alloc_bytes);
	n->hits = sum(n->hits, p->sampled_count);
	n->count_var += p->alloc_count_se * p->alloc_count_se;
	n->bytes_var += p->alloc_bytes_se * p->alloc_bytes_se;
	n->live_count = sum(n->live_count, p->live_count);
	n->live_bytes = sum(n->live_bytes, p->live_bytes);
}

static void numbers__add_sample(struct top_numbers *n, const struct allocsnoop_sample *s)
{
	n->count = sum(n->count, s->alloc_count);
	n->bytes = sum(n->bytes, s->alloc_bytes);
	n->hits = sum(n->hits, s->sampled_count);
	n->count_var += s->alloc_count_var;
	n->bytes_var += s->alloc_bytes_var;
	n->live_count = sum(n->live_count, s->live_count);
	n->live_bytes = sum(n->live_bytes, s->live_bytes);
	n->live_bytes_var += s->live_bytes_var;
}

static int take_process(struct top_model *m, const struct allocsnoop_process *p)
{
	struct top_row *row;
	int err = table__row(m, &m->processes, key__process(m, p->pid, p->comm), &row);

	if (err)
		return err;
	/* Of several images (sh that becomes sh) the one that runs tells whether it has ended. */
	if (!row->info || row->info->exited)
		row->info = p;
	row->pid = p->pid;
	row->comm = p->comm;
	row->moves = !p->pid;
	row->at_least |= p->at_least;
	m->containers |= *p->container != '\0';
	numbers__add_process(&row->now, p);
	return 0;
}

static int take_stack(struct top_model *m, struct top_table *t, u64 process, u64 key,
		      const struct allocsnoop_sample *s)
{
	struct top_row *row;
	int err = table__row(m, t, key, &row);

	if (err)
		return err;
	if (!row->sample)
		row->pid = process ? s->pid : 0;
	row->sample = s;
	row->comm = s->comm;
	row->process = process;
	row->moves = s->end == ALLOCSNOOP_AGED || (process && !s->pid);
	row->at_least |= s->at_least;
	numbers__add_sample(&row->now, s);
	return 0;
}

static int take_sample(struct top_model *m, const struct allocsnoop_sample *s)
{
	u64 name = key__process(m, 0, s->comm);
	u64 process = s->pid ? key__process(m, s->pid, s->comm) : name;
	u64 names;
	int err = key__names(m, s, &names);

	if (!err)
		err = take_stack(m, &m->stacks, process, key__stack(m, process, names), s);
	if (!err)
		err = take_stack(m, &m->names, 0, key__stack(m, name, names), s);
	return err;
}

static int take_all(struct top_model *m)
{
	size_t process_cnt = allocsnoop_profile__process_cnt(m->profile);
	size_t sample_cnt = allocsnoop_profile__sample_cnt(m->profile);
	int err = 0;

	for (size_t i = 0; i < process_cnt && !err; i++)
		err = take_process(m, allocsnoop_profile__process(m->profile, i));
	for (size_t i = 0; i < sample_cnt && !err; i++)
		err = take_sample(m, allocsnoop_profile__sample(m->profile, i));
	return err;
}

static void take_sums(struct top_model *m)
{
	const struct allocsnoop_info *info = allocsnoop_profile__info(m->profile);
	struct top_numbers *n = &m->all.now;

	*n = (struct top_numbers){
		.count = info->alloc_count,
		.bytes = info->alloc_bytes,
		.count_var = info->alloc_count_se * info->alloc_count_se,
		.bytes_var = info->alloc_bytes_se * info->alloc_bytes_se,
		.live_count = info->live_count,
		.live_bytes = info->live_bytes,
		.live_bytes_var = info->live_bytes_se * info->live_bytes_se,
	};
	for (size_t i = 0; i < m->processes.rows.cnt; i++) {
		if (m->processes.rows.v[i]->seen == m->update)
			n->hits = sum(n->hits, m->processes.rows.v[i]->now.hits);
	}
	m->all.at_least = info->at_least;
	m->now_ns = info->duration_ns;
	m->windows = !info->exact && info->windows;
}

/* ---- rates ---- */

/* Standard error of what has come since, each second. Samples are independent: their variances are
 * differences. What windows say is revised as a whole; it grows as time goes on. */
static double rate_se(const struct top_model *m, double now_var, double base_var, double seconds)
{
	double var = now_var - base_var;

	if (m->windows)
		var = now_var * seconds * 1e9 / (double)m->now_ns;
	return var > 0 ? sqrt(var) / seconds : 0;
}

static double rate(u64 now, u64 base, double seconds)
{
	return now > base ? (double)(now - base) / seconds : 0;
}

static void row__rebase(struct top_row *r, bool windows)
{
	struct top_base now = {
		.count = r->now.count,
		.bytes = r->now.bytes,
		.hits = r->now.hits,
		.count_var = (float)r->now.count_var,
		.bytes_var = (float)r->now.bytes_var,
	};

	r->base[0] = windows ? r->base[1] : now;
	r->base[1] = now;
}

static void row__rate(const struct top_model *m, struct top_row *r)
{
	double seconds = (double)top_model__rate_ns(m) / 1e9;
	const struct top_numbers *n = &r->now;
	const struct top_base *b = &r->base[0];

	r->byte_rate = r->byte_rate_se = r->count_rate = r->count_rate_se = 0;
	r->rate_hits = 0;
	/* Stacks of the row were given up: what came since can't be told from what they had. */
	if (n->hits < b->hits) {
		row__rebase(r, false);
		return;
	}
	/* Estimates are rounded so that sums are right: one may move by 1 without a hit. */
	if (!(seconds > 0) || r->moves || (n->hits == b->hits && !m->windows))
		return;
	r->byte_rate = rate(n->bytes, b->bytes, seconds);
	r->count_rate = rate(n->count, b->count, seconds);
	r->byte_rate_se = rate_se(m, n->bytes_var, b->bytes_var, seconds);
	r->count_rate_se = rate_se(m, n->count_var, b->count_var, seconds);
	r->rate_hits = n->hits - b->hits;
}

/* Rates to 0.07 %, up to 2^65: more than a picture of eight steps shows. */
static u16 trend__pack(double rate)
{
	return (u16)fmin(round(log2(1 + rate) * 1000), UINT16_MAX);
}

static double trend__unpack(u16 packed)
{
	return exp2(packed / 1000.0) - 1;
}

static void row__finish(const struct top_model *m, struct top_row *r)
{
	row__rate(m, r);
	r->trend[m->update % TOP_TREND] = trend__pack(r->byte_rate);
	r->ended = r->info && r->info->exited ? r->ended + 1 : 0;
}

/* Rows that the profile doesn't have any more go, the others get their rates. */
static void table__finish(const struct top_model *m, struct top_table *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->rows.cnt; i++) {
		struct top_row *r = t->rows.v[i];

		if (r->seen == m->update) {
			row__finish(m, r);
			t->rows.v[kept++] = r;
		} else {
			map__del(&t->at, r->key);
			free(r);
		}
	}
	t->rows.cnt = kept;
}

static void table__rebase(struct top_table *t, bool windows)
{
	for (size_t i = 0; i < t->rows.cnt; i++)
		row__rebase(t->rows.v[i], windows);
}

/* Before an update: what is now will be before. With windows base[0] is WINDOWS_BASE_NS old at
 * least, once the recording is. */
static void model__rebase(struct top_model *m)
{
	bool windows = m->windows;

	if (!m->update || (windows && m->now_ns - m->base_ns[1] < WINDOWS_BASE_NS))
		return;
	table__rebase(&m->processes, windows);
	table__rebase(&m->stacks, windows);
	table__rebase(&m->names, windows);
	row__rebase(&m->all, windows);
	m->base_ns[0] = windows ? m->base_ns[1] : m->now_ns;
	m->base_ns[1] = m->now_ns;
}

u64 top_model__rate_ns(const struct top_model *m)
{
	return m->now_ns - m->base_ns[0];
}

double top_row__trend(const struct top_model *m, const struct top_row *r, u32 i)
{
	return trend__unpack(r->trend[(m->update + 1 + i) % TOP_TREND]);
}

/* Of stacks that were given up there would be ever more. */
static void model__forget_names(struct top_model *m)
{
	if (m->named.cnt > 2 * allocsnoop_profile__sample_cnt(m->profile) + NAMES_LEAST)
		map__clear(&m->named);
}

int top_model__update(struct top_model *m, struct allocsnoop_profile *profile)
{
	struct allocsnoop_profile *before = m->profile;
	int err;

	model__rebase(m);
	m->profile = profile;
	m->update++;
	m->containers = false;
	err = take_all(m);
	if (err) {
		table__clear(&m->processes);
		table__clear(&m->stacks);
		table__clear(&m->names);
	}
	take_sums(m);
	row__finish(m, &m->all);
	table__finish(m, &m->processes);
	table__finish(m, &m->stacks);
	table__finish(m, &m->names);
	model__forget_names(m);
	allocsnoop_profile__free(before);
	return err;
}
