/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heap in motion that keeps its own books: threads allocate, move and free blocks from up to
 * 1,000 functions; a block is mostly freed or moved by another thread than the one that made it,
 * and one in twenty is forgotten. Children, forked meanwhile, free what they inherit and leave
 * blocks of their own.
 *
 *   churn THREADS SITES CALLS SECONDS CHILDREN [brief]
 *
 * Each thread makes CALLS calls, or stops after SECONDS (0: never). Prints for each function
 * `expect SITE COUNT BYTES` (allocated), `freed SITE ...`, `live SITE ...` (the parent's at the
 * end), `exit SITE ...` (the children's at theirs), or with `brief` only `live COUNT BYTES` over
 * all.
 *
 * The idea: a block's first words say who made it where, so whoever takes it from the shared slots
 * can book its end. The books are in memory that children share.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "gate.h"

#define SITES	1000
#define SLOTS	4096
#define THREADS 64

struct block {
	uint32_t site;
	uint32_t size;
	pid_t owner;
};

struct sums {
	uint64_t cnt;
	uint64_t bytes;
};

struct books {
	struct sums allocated[SITES];
	struct sums freed[SITES];
	struct sums left[SITES];   /* the parent's live ones; made by sum_up from the others */
	struct sums exited[SITES]; /* the children's, booked while they live */
	uint64_t inherited;	   /* blocks that children freed for themselves */
};

struct worker {
	pthread_t thread;
	uint64_t random;
};

static struct books *books;
static struct block *slots[SLOTS];
static struct worker workers[THREADS];
static unsigned site_cnt;
static uint64_t call_cnt, end_ns;
static pid_t self, parent;

/* ---- a thousand functions that allocate ---- */

static inline __attribute__((always_inline)) void *ask(void *old, size_t size)
{
	void *p;

	if (old)
		p = realloc(old, size);
	else if (size % 4 == 0)
		p = calloc(4, size / 4);
	else if (size % 4 == 1)
		p = aligned_alloc(64, size);
	else
		p = malloc(size);
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

#define SITE(n)                                                                          \
	static __attribute__((noinline, noclone)) void *site_##n(void *old, size_t size) \
	{                                                                                \
		return ask(old, size);                                                   \
	}
#define NAME(n) site_##n,
/* clang-format off */
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define TENS(m, n) TEN(m, n##0) TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) TEN(m, n##4) \
	TEN(m, n##5) TEN(m, n##6) TEN(m, n##7) TEN(m, n##8) TEN(m, n##9)
#define THOUSAND(m) TENS(m, 0) TENS(m, 1) TENS(m, 2) TENS(m, 3) TENS(m, 4) \
	TENS(m, 5) TENS(m, 6) TENS(m, 7) TENS(m, 8) TENS(m, 9)
/* clang-format on */

THOUSAND(SITE)

static void *(*const sites[])(void *old, size_t size) = { THOUSAND(NAME) };

_Static_assert(sizeof(sites) / sizeof(sites[0]) == SITES, "one entry for each function");

/* ---- books ---- */

static void book(struct sums *sums, uint64_t cnt, uint64_t bytes)
{
	__atomic_fetch_add(&sums->cnt, cnt, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->bytes, bytes, __ATOMIC_RELAXED);
}

static void book_end(const struct block *b)
{
	if (b->owner != self) {
		__atomic_fetch_add(&books->inherited, 1, __ATOMIC_RELAXED);
		return;
	}
	book(&books->freed[b->site], 1, b->size);
	if (self != parent)
		book(&books->exited[b->site], -1ull, -(uint64_t)b->size);
}

static void book_start(struct block *b, unsigned site, size_t size)
{
	*b = (struct block){ .site = site, .size = (uint32_t)size, .owner = self };
	book(&books->allocated[site], 1, size);
	if (self != parent)
		book(&books->exited[site], 1, size);
}

/* ---- the motion ---- */

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static struct block *swap(uint64_t random, struct block *b)
{
	return __atomic_exchange_n(&slots[random % SLOTS], b, __ATOMIC_ACQ_REL);
}

static void drop(struct block *b)
{
	if (!b)
		return;
	book_end(b);
	free(b);
}

/* One allocation: of a new block, or by moving an old one. */
static void step(uint64_t *random)
{
	unsigned site = next(random) % site_cnt;
	size_t size = 256 + next(random) % 8000;
	uint64_t turn = next(random);
	struct block *old = turn % 8 == 0 ? swap(next(random), NULL) : NULL;
	struct block *b;

	if (old && old->owner != self) { /* a move would be a free of what isn't the child's */
		drop(old);
		old = NULL;
	}
	if (old)
		book_end(old);
	b = sites[site](old, size);
	if (!b)
		_exit(3);
	book_start(b, site, size);
	if (turn / 8 % 20)
		drop(swap(next(random), b));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint64_t i = 0; i < call_cnt; i++) {
		if (end_ns && now_ns() >= end_ns)
			break;
		step(&w->random);
	}
	return arg;
}

static void child(uint64_t random)
{
	self = getpid();
	for (int i = 0; i < 500; i++)
		step(&random);
	_exit(0);
}

/* One after the other, so that one of them always runs beside the threads. */
static void fork_children(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		pid_t pid = fork();
		int status;

		if (pid < 0)
			_exit(4);
		if (!pid)
			child(0x2545f4914f6cdd1d + (uint64_t)i);
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(5);
	}
}

/* ---- what there is to say ---- */

static void sum_up(void)
{
	for (int i = 0; i < SITES; i++) {
		struct sums *all = &books->allocated[i], *freed = &books->freed[i];
		struct sums *exited = &books->exited[i];

		books->left[i].cnt = all->cnt - freed->cnt - exited->cnt;
		books->left[i].bytes = all->bytes - freed->bytes - exited->bytes;
	}
}

static void say(const char *what, const struct sums *sums)
{
	for (unsigned i = 0; i < site_cnt; i++)
		gate__say("%s site_%03u %llu %llu\n", what, i, (unsigned long long)sums[i].cnt,
			  (unsigned long long)sums[i].bytes);
}

static void say_brief(void)
{
	struct sums all = { 0, 0 };

	for (int i = 0; i < SITES; i++) {
		all.cnt += books->left[i].cnt;
		all.bytes += books->left[i].bytes;
	}
	gate__say("live %llu %llu\n", (unsigned long long)all.cnt, (unsigned long long)all.bytes);
}

static void say_all(void)
{
	say("expect", books->allocated);
	say("freed", books->freed);
	say("live", books->left);
	say("exit", books->exited);
	gate__say("parent %d\ninherited %llu\n", parent, (unsigned long long)books->inherited);
}

int main(int argc, char **argv)
{
	int thread_cnt = argc > 5 ? atoi(argv[1]) : 0;

	if (thread_cnt < 1 || thread_cnt > THREADS)
		return 2;
	site_cnt = (unsigned)atoi(argv[2]);
	call_cnt = strtoull(argv[3], NULL, 10);
	books = mmap(NULL, sizeof(*books), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (site_cnt < 1 || site_cnt > SITES || books == MAP_FAILED)
		return 2;
	self = parent = getpid();
	gate__start();
	if (atoi(argv[4]))
		end_ns = now_ns() + strtoull(argv[4], NULL, 10) * 1000000000;
	for (int i = 0; i < thread_cnt; i++) {
		workers[i].random = 0x9e3779b97f4a7c15 * (uint64_t)(i + 1);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 2;
	}
	fork_children(atoi(argv[5]));
	for (int i = 0; i < thread_cnt; i++)
		pthread_join(workers[i].thread, NULL);
	sum_up();
	if (argc > 6 && !strcmp(argv[6], "brief"))
		say_brief();
	else
		say_all();
	gate__end();
	return 0;
}
