/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the CPU times of the targets; see cputimes.h. */
#include "trace/cputimes.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "trace/budget.h"
#include "trace/duty.h"
#include "trace/kernel.h"

static u64 now__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void urgent_mutex__init(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}

void cputimes__init(struct cputimes *c, double trap_ns)
{
	memset(c, 0, sizeof(*c));
	urgent_mutex__init(&c->lock);
	c->trap_ns = trap_ns;
	c->hit_ns = trap_ns + BUDGET_PROGRAM_NS;
}

void cputimes__fini(struct cputimes *c)
{
	vec__free(&c->groups);
	vec__free(&c->procs);
	vec__free(&c->next);
	map__free(&c->group_at);
	map__free(&c->proc_at);
	map__free(&c->next_at);
	pthread_mutex_destroy(&c->lock);
}

static const struct as_group_key nobody; /* those that aren't told apart any more */

/* NULL: out of memory. */
static struct cpu_group *cputimes__group(struct cputimes *c, const struct as_group_key *key)
{
	struct cpu_group group = { .key = *key };
	u64 word[2], h, at;

	memcpy(word, key, sizeof(word));
	h = map__mix(map__mix(0, word[0]), word[1]);
	while (map__get(&c->group_at, h, &at)) {
		if (!memcmp(&c->groups.v[at].key, key, sizeof(*key)))
			return &c->groups.v[at];
		h = map__mix(h, 1);
	}
	if (c->groups.cnt >= DUTY_GROUPS_MAX && memcmp(key, &nobody, sizeof(nobody)))
		return cputimes__group(c, &nobody);
	if (vec__push(&c->groups, group) || map__put(&c->group_at, h, c->groups.cnt - 1)) {
		c->out_of_memory = true;
		return NULL;
	}
	return &c->groups.v[c->groups.cnt - 1];
}

static void cputimes__thread(void *arg, const struct as_cpu_event *ev)
{
	struct cputimes *c = arg;
	struct cpu_group *g = cputimes__group(c, &ev->group);
	struct cpu_proc proc = { .tgid = ev->tgid, .ns = ev->ns };
	u64 at;

	if (!g)
		return;
	g->alive += ev->ns;
	if (map__get(&c->next_at, ev->tgid, &at)) {
		c->next.v[at].ns += ev->ns;
		return;
	}
	proc.group = g - c->groups.v;
	if (vec__push(&c->next, proc) || map__put(&c->next_at, ev->tgid, c->next.cnt - 1))
		c->out_of_memory = true;
}

static void cputimes__ended(void *arg, const struct as_group_key *key, const struct as_group *group)
{
	struct cpu_group *g = cputimes__group(arg, key);

	if (!g)
		return;
	g->dead = group->dead_ns;
	g->open_hits = group->open_hits;
	g->closed_hits = group->closed_hits;
}

/* What a process had used under another name stays there. */
static void cputimes__renamed(struct cputimes *c)
{
	for (size_t i = 0; i < c->next.cnt; i++) {
		const struct cpu_proc *now = &c->next.v[i], *old;
		u64 at;

		if (!map__get(&c->proc_at, now->tgid, &at))
			continue;
		old = &c->procs.v[at];
		if (old->group == now->group || old->ns > now->ns)
			continue;
		c->groups.v[old->group].adjust += (double)old->ns;
		c->groups.v[now->group].adjust -= (double)old->ns;
	}
}

static void cputimes__turn(struct cputimes *c)
{
	void *v = c->procs.v;
	size_t cap = c->procs.cap;

	c->procs.v = c->next.v;
	c->procs.cnt = c->next.cnt;
	c->procs.cap = c->next.cap;
	c->next.v = v;
	c->next.cnt = 0;
	c->next.cap = cap;
	map__free(&c->proc_at);
	c->proc_at = c->next_at;
	memset(&c->next_at, 0, sizeof(c->next_at));
}

static void cputimes__sum_up(struct cputimes *c, const u64 *hits_before, size_t known, bool duty)
{
	for (size_t i = 0; i < c->groups.cnt; i++) {
		struct cpu_group *g = &c->groups.v[i];
		double cpu = (double)g->alive + (double)g->dead + g->adjust;
		u64 hits = g->open_hits + g->closed_hits;
		u64 more = hits - (i < known ? hits_before[i] : 0);
		double used = cpu - g->cpu, lost = (double)more * c->hit_ns;

		g->cpu = cpu;
		c->hits += more;
		c->cpu += used;
		c->lost += lost;
		c->exact_cpu += duty ? 0 : used;
		c->exact_lost += duty ? 0 : lost;
		g->duty_cpu += duty ? used : 0;
		g->duty_lost += duty ? lost : 0;
	}
}

int cputimes__read(struct cputimes *c, struct kernel *k, bool duty)
{
	struct as_cost cost;
	u64 from = now__ns(), *hits;
	size_t known;
	int err;

	pthread_mutex_lock(&c->lock);
	known = c->groups.cnt;
	hits = calloc(known + 1, sizeof(*hits));
	err = hits ? 0 : -ENOMEM;
	for (size_t i = 0; i < known && !err; i++) {
		hits[i] = c->groups.v[i].open_hits + c->groups.v[i].closed_hits;
		c->groups.v[i].alive = 0;
	}
	kernel__cost(k, &cost);
	if (cost.timed)
		c->hit_ns = c->trap_ns + (double)cost.timed_ns / (double)cost.timed;
	if (!err)
		err = kernel__each_thread(k, cputimes__thread, c);
	if (!err)
		err = kernel__each_group(k, cputimes__ended, c);
	if (!err) {
		cputimes__renamed(c);
		cputimes__sum_up(c, hits, known, duty);
		cputimes__turn(c);
		c->at_ns = from + (now__ns() - from) / 2;
	}
	pthread_mutex_unlock(&c->lock);
	free(hits);
	return err;
}

void cputimes__begin(struct cputimes *c)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->groups.cnt; i++)
		c->groups.v[i].mark_hits = c->groups.v[i].open_hits;
	pthread_mutex_unlock(&c->lock);
}

void cputimes__mark(struct cputimes *c)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->groups.cnt; i++)
		c->groups.v[i].mark_cpu = c->groups.v[i].cpu;
	pthread_mutex_unlock(&c->lock);
}

void cputimes__window(struct cputimes *c)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->groups.cnt; i++) {
		struct cpu_group *g = &c->groups.v[i];

		g->window_cpu = g->cpu - g->mark_cpu;
		g->window_lost = (double)(g->open_hits - g->mark_hits) * c->hit_ns;
	}
	pthread_mutex_unlock(&c->lock);
}
