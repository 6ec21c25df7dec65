/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's events: traces a command, keeps books of every block that comes and goes, and
 * compares them with the profile's sums, stack by stack. Prints `events ALLOCS BYTES FREES BYTES
 * LOST`; status 0 when all is right. With RATE it samples; with SLOW the first event takes two
 * seconds, so some are lost.
 */
#include <allocsnoop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES	(1u << 21)
#define THREADS (1u << 22) /* every id a thread can have */
#define STACKS	(1u << 16)

struct block {
	uint64_t addr;
	struct allocsnoop_event born;
	int freed;
};

/* What a process has from one stack, by events less by the profile. */
struct row {
	uint64_t stack_id;
	uint32_t pid;
	int used, in_profile;
	int64_t allocs, alloc_bytes, frees, free_bytes;
};

struct books {
	struct block *blocks; /* by address and birth */
	struct row *rows;
	uint64_t *last; /* each thread's newest event */
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	int slow, bad;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	return h ^ h >> 32;
}

static void wrong(struct books *b, const char *what, const struct allocsnoop_event *ev)
{
	if (b->bad++ < 10)
		fprintf(stderr, "%s: kind %d tid %u addr %#llx size %llu time %llu\n", what,
			(int)ev->kind, ev->tid, (unsigned long long)ev->addr,
			(unsigned long long)ev->size, (unsigned long long)ev->time_ns);
}

static struct row *row_of(struct books *b, uint64_t stack_id, uint32_t pid)
{
	uint64_t at = mix(stack_id, pid);
	struct row *r;

	for (;; at++) {
		r = &b->rows[at & (STACKS - 1)];
		if (!r->used || (r->stack_id == stack_id && r->pid == pid))
			break;
	}
	r->used = 1;
	r->stack_id = stack_id;
	r->pid = pid;
	return r;
}

/* The block of an address and a birth; or a free place for it. */
static struct block *block_of(struct books *b, uint64_t addr, uint64_t born)
{
	uint64_t at = mix(addr, born);
	struct block *place;

	do
		place = &b->blocks[at++ & (PLACES - 1)];
	while (place->addr && (place->addr != addr || place->born.time_ns != born));
	return place;
}

static void on_alloc(struct books *b, const struct allocsnoop_event *ev)
{
	struct block *place = block_of(b, ev->addr, ev->time_ns);

	b->allocs++;
	b->alloc_bytes += ev->size;
	if (place->addr || ev->lifetime_ns || b->allocs > PLACES / 2)
		wrong(b, "no new block", ev);
	place->addr = ev->addr;
	place->born = *ev;
}

static void on_free(struct books *b, const struct allocsnoop_event *ev)
{
	struct block *place = block_of(b, ev->addr, ev->time_ns - ev->lifetime_ns);

	b->frees++;
	b->free_bytes += ev->size;
	if (ev->lifetime_ns > ev->time_ns)
		wrong(b, "older than the session", ev);
	if (b->slow) /* its ALLOC may be among the lost ones */
		return;
	if (!place->addr || place->freed || place->born.size != ev->size ||
	    place->born.stack_id != ev->stack_id || place->born.pid != ev->pid)
		wrong(b, "no such block", ev);
	place->freed = 1;
}

static void on_event(void *arg, const struct allocsnoop_event *ev)
{
	struct books *b = (struct books *)arg;
	struct row *r = row_of(b, ev->stack_id, ev->pid);

	if (b->slow && !b->allocs)
		sleep(2);
	if (!ev->addr || !ev->pid || ev->tid >= THREADS || ev->time_ns < b->last[ev->tid])
		wrong(b, "not in order", ev);
	b->last[ev->tid & (THREADS - 1)] = ev->time_ns;
	if (ev->kind == ALLOCSNOOP_EVENT_ALLOC) {
		on_alloc(b, ev);
		r->allocs++;
		r->alloc_bytes += (int64_t)ev->size;
	} else {
		on_free(b, ev);
		r->frees++;
		r->free_bytes += (int64_t)ev->size;
	}
}

static uint64_t lost_events(const struct allocsnoop_profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < allocsnoop_profile__loss_cnt(p); i++) {
		const struct allocsnoop_loss *l = allocsnoop_profile__loss(p, i);

		sum += strcmp(l->name, "event_ring_full") ? 0 : l->count;
	}
	return sum;
}

static void compare_rows(struct books *b, const struct allocsnoop_profile *p)
{
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(p); i++) {
		const struct allocsnoop_sample *s = allocsnoop_profile__sample(p, i);
		struct row *r = row_of(b, s->stack_id, s->pid);

		r->in_profile = 1;
		r->allocs -= (int64_t)(s->alloc_count - s->untracked_count);
		r->alloc_bytes -= (int64_t)(s->alloc_bytes - s->untracked_bytes);
		r->frees -= (int64_t)s->freed_count;
		r->free_bytes -= (int64_t)s->freed_bytes;
	}
	for (size_t i = 0; i < STACKS; i++) {
		const struct row *r = &b->rows[i];

		if (!r->used || (r->in_profile && (b->slow || (!r->allocs && !r->alloc_bytes &&
							       !r->frees && !r->free_bytes))))
			continue;
		b->bad++;
		fprintf(stderr, "stack %#llx pid %u: %s, too many events: %lld, %lld\n",
			(unsigned long long)r->stack_id, r->pid,
			r->in_profile ? "in the profile" : "unknown", (long long)r->allocs,
			(long long)r->frees);
	}
}

/* What is kept gives an event, and nothing else. */
static void compare_sampled(struct books *b, const struct allocsnoop_profile *p)
{
	uint64_t sampled = 0;

	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(p); i++)
		sampled += allocsnoop_profile__sample(p, i)->sampled_count;
	if (sampled != b->allocs) {
		b->bad++;
		fprintf(stderr, "%llu events of %llu samples\n", (unsigned long long)b->allocs,
			(unsigned long long)sampled);
	}
}

static void compare_all(struct books *b, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = allocsnoop_profile__info(p);

	if (b->allocs + b->frees + lost_events(p) !=
	    info->alloc_count - info->untracked_count + info->freed_count) {
		b->bad++;
		fprintf(stderr, "allocated %llu, untracked %llu, freed %llu\n",
			(unsigned long long)info->alloc_count,
			(unsigned long long)info->untracked_count,
			(unsigned long long)info->freed_count);
	}
	compare_rows(b, p);
}

static void compare(struct books *b, const struct allocsnoop_profile *p)
{
	if (allocsnoop_profile__info(p)->exact)
		compare_all(b, p);
	else
		compare_sampled(b, p);
	printf("events %llu %llu %llu %llu %llu\n", (unsigned long long)b->allocs,
	       (unsigned long long)b->alloc_bytes, (unsigned long long)b->frees,
	       (unsigned long long)b->free_bytes, (unsigned long long)lost_events(p));
}

static int complain(struct allocsnoop *session)
{
	fprintf(stderr, "%s\n%s\n", allocsnoop__error(), allocsnoop__hint());
	allocsnoop__free(session);
	return 1;
}

int main(int argc, char **argv)
{
	struct allocsnoop_opts opts;
	struct allocsnoop *session = NULL;
	struct allocsnoop_profile *profile;
	struct books books;
	int more = 1;

	memset(&books, 0, sizeof(books));
	books.blocks = (struct block *)calloc(PLACES, sizeof(*books.blocks));
	books.rows = (struct row *)calloc(STACKS, sizeof(*books.rows));
	books.last = (uint64_t *)calloc(THREADS, sizeof(*books.last));
	books.slow = getenv("SLOW") != NULL;
	if (argc < 2 || !books.blocks || !books.rows || !books.last)
		return 2;
	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.argv = argv + 1;
	opts.event = on_event;
	opts.event_arg = &books;
	if (!allocsnoop__open(&opts, &session)) {
		fprintf(stderr, "events without live are not refused\n");
		return 1;
	}
	opts.live = true;
	if (getenv("RATE"))
		opts.sample_rate = atof(getenv("RATE"));
	if (allocsnoop__open(&opts, &session) || allocsnoop__start(session))
		return complain(session);
	while (more > 0)
		more = allocsnoop__poll(session, 100);
	if (more < 0 || allocsnoop__stop(session) || allocsnoop__profile(session, &profile))
		return complain(session);
	compare(&books, profile);
	allocsnoop_profile__free(profile);
	allocsnoop__free(session);
	free(books.blocks);
	free(books.rows);
	free(books.last);
	return books.bad != 0;
}
