/* SPDX-License-Identifier: BSD-2-Clause */
/* Folding images and ageing stacks against a model that keeps every row: sums stay what they are.
 */
#include "trace/fold.h"

#include <string.h>

#include "base/vec.h"
#include "check.h"

#define PROCS  300
#define STACKS 400
#define NAMES  7

struct hit {
	u32 proc, stack, site, class;
	u64 cnt, bytes;
};

static struct record r;
static VEC(struct hit) hits;
static u64 random_state = 42;
static u64 told[STACKS]; /* the kernel's `seen` */
static u32 thread_cnt;	 /* of each process; 0: not told apart */

static u32 draw(u32 below)
{
	random_state = map__mix(random_state, 7);
	return random_state % below;
}

static u64 proc_id(u32 p)
{
	return (u64)p * 2 + 1001;
}

static u64 stack_id(u32 s)
{
	return map__mix(s, 99) | 1ull << 63;
}

static void tell_proc(u32 p)
{
	struct as_proc_event ev = { .tgid = 5000 + p, .proc = proc_id(p), .exec_id = 1 };
	struct recorded_proc *before;

	snprintf(ev.comm, sizeof(ev.comm), "name%u", p % NAMES);
	ev.exe_file = p % NAMES;
	record__proc(&r, &ev, "", &before);
}

static void tell_stack(u32 s)
{
	static struct as_stack_event ev;

	if (told[s])
		return;
	told[s] = 1;
	ev.id = stack_id(s);
	ev.frame_cnt = 5 + s % 20;
	record__stack(&r, &ev);
}

/* A hit, as the kernel adds it up and a drain brings it. */
static void hit(u32 p, u32 s)
{
	struct hit h = { p, s, 1 + draw(2), draw(3), 1 + draw(5), draw(1000) };
	struct as_tally_key key = { stack_id(s), proc_id(p), h.site, h.class };
	struct as_tally val = { h.cnt, h.bytes };

	if (thread_cnt)
		key.size_class |= (1 + p * thread_cnt + draw(thread_cnt)) << AS_KEY_TID_SHIFT;
	tell_proc(p);
	tell_stack(s);
	record__add(&r, &key, &val, 1);
	CHECK_EQ(vec__push(&hits, h), 0);
}

static const char *comm_of(u64 proc)
{
	const struct recorded_proc *p = record__find_proc(&r, proc);

	CHECK(p != NULL);
	return p ? p->comm : "";
}

/* Sums by name, site and class, and by those and the stack where it wasn't aged out. */
static void check_sums(void)
{
	u64 is[NAMES][3][3][2] = {}, should[NAMES][3][3][2] = {}, by_stack = 0, aged = 0;
	struct map exact = {};
	u64 val;

	for (size_t i = 0; i < hits.cnt; i++) {
		const struct hit *h = &hits.v[i];
		u64 key =
			map__mix(stack_id(h->stack), h->proc % NAMES * 16 + h->site * 4 + h->class);

		should[h->proc % NAMES][h->site][h->class][0] += h->cnt;
		should[h->proc % NAMES][h->site][h->class][1] += h->bytes;
		val = 0;
		map__get(&exact, key, &val);
		map__put(&exact, key, val + h->bytes);
	}
	for (size_t i = 0; i < r.rows.cnt; i++) {
		const struct recorded_row *row = &r.rows.v[i];
		u32 name = comm_of(row->key.proc)[4] - '0';
		u64 key = map__mix(row->key.stack,
				   name * 16 + row->key.site * 4 + as_key_class(&row->key));

		CHECK(name < NAMES);
		is[name][row->key.site][as_key_class(&row->key)][0] += row->cnt;
		is[name][row->key.site][as_key_class(&row->key)][1] += row->bytes;
		CHECK(row->images >= 1);
		if (row->key.stack == STACK_AGED) {
			aged++;
			continue;
		}
		/* No more than was hit with it; all of it where nothing was aged out. */
		CHECK(record__find_stack(&r, row->key.stack) != NULL);
		CHECK(map__get(&exact, key, &val) && row->bytes <= val);
		map__put(&exact, key, val - row->bytes);
		by_stack++;
	}
	CHECK(!memcmp(is, should, sizeof(is)));
	for (size_t i = 0; !aged && map__next(&exact, &i, &(u64){ 0 }, &val);)
		CHECK_EQ(val, 0);
	CHECK(by_stack + aged == r.rows.cnt);
	map__free(&exact);
}

static u64 images(void)
{
	u64 key, val, sum = 0;

	for (size_t i = 0; map__next(&r.procs, &i, &key, &val);) {
		const struct recorded_proc *p = (void *)(uintptr_t)val;

		sum += p->count ? p->count : 1;
		CHECK(p->count == 0 || p->pid == 0);
	}
	return sum;
}

static void end_proc(u32 p)
{
	struct recorded_proc *proc = record__find_proc(&r, proc_id(p));

	if (!proc)
		return;
	record__over(&r, proc, AS_OVER_ENDED);
	record__retire(&r, proc);
}

static void forget(void *arg, u64 id)
{
	(void)arg;
	for (u32 i = 0; i < STACKS; i++) {
		if (stack_id(i) == id)
			told[i] = 0;
	}
}

static void reset(void)
{
	record__fini(&r);
	memset(&r, 0, sizeof(r));
	memset(told, 0, sizeof(told));
	hits.cnt = 0;
}

/* ---- folding ---- */

static void fold__test(void)
{
	reset();
	for (u32 p = 0; p < PROCS; p++) {
		for (u32 i = 0; i < 40; i++)
			hit(p, draw(20));
	}
	r.drains++;
	for (u32 p = 0; p < PROCS; p += 2)
		end_proc(p);
	record__fold(&r, 0); /* their last sums may still come */
	CHECK_EQ(record__retired_cnt(&r), PROCS / 2);
	CHECK_EQ(r.procs.cnt, PROCS);
	hit(0, 3);
	r.drains++;
	record__fold(&r, 10);
	CHECK_EQ(record__retired_cnt(&r), 10);
	CHECK_EQ(r.procs.cnt, PROCS - (PROCS / 2 - 10) + NAMES);
	CHECK_EQ(images(), PROCS);
	CHECK_EQ(r.by_pid.cnt, PROCS - (PROCS / 2 - 10));
	CHECK(!record__find_proc(&r, proc_id(0)));
	CHECK(record__find_proc(&r, proc_id(PROCS - 2)) != NULL); /* the newest ones stay */
	CHECK(record__find_proc(&r, proc_id(1)) != NULL);	  /* and what runs */
	check_sums();
	for (u32 p = 1; p < PROCS; p += 2)
		end_proc(p);
	r.drains++;
	record__fold(&r, 0);
	CHECK_EQ(r.procs.cnt, NAMES);
	CHECK_EQ(r.by_pid.cnt, 0);
	CHECK_EQ(images(), PROCS);
	CHECK(r.rows.cnt <= NAMES * 20 * 2 * 3);
	check_sums();
	for (size_t i = 0; i < r.rows.cnt; i++)
		CHECK(r.rows.v[i].images <= PROCS / NAMES + 1);
	CHECK_EQ(r.unnamed_cnt, 0);
}

static void end_threads(u32 p)
{
	for (u32 i = 0; i < thread_cnt; i++) {
		struct as_thread_event ev = {
			.tid = 1 + p * thread_cnt + i,
			.proc = proc_id(p),
		};

		snprintf(ev.comm, sizeof(ev.comm), "thread%u", i % 10);
		record__thread(&r, &ev);
	}
}

/* Rows with a thread, and those of the most images. */
static size_t threaded_rows(u32 *images)
{
	size_t cnt = 0;

	*images = 0;
	for (size_t i = 0; i < r.rows.cnt; i++) {
		cnt += as_key_tid(&r.rows.v[i].key) != 0;
		*images = MAX(*images, r.rows.v[i].images);
	}
	return cnt;
}

/* Groups have no threads, and an image counts once however many it had. Above the limit none are
 * told apart. */
static void threads__test(void)
{
	size_t rows;
	u32 most;

	reset();
	thread_cnt = 5;
	for (u32 p = 0; p < PROCS; p++) {
		for (u32 i = 0; i < 100; i++)
			hit(p, draw(4));
		end_threads(p);
	}
	CHECK_EQ(threaded_rows(&most), r.rows.cnt);
	CHECK_STR(record__thread_name(&r, proc_id(7), 1 + 7 * 5 + 3), "thread3");
	CHECK(!record__thread_name(&r, proc_id(7), 1 + 8 * 5 + 3));
	for (u32 p = 0; p < PROCS; p += 2)
		end_proc(p);
	r.drains++;
	record__fold(&r, 0);
	rows = threaded_rows(&most);
	CHECK(rows && rows < r.rows.cnt);
	CHECK(most <= PROCS / 2 / NAMES + 1 && most > 1);
	CHECK_EQ(r.threads.cnt, PROCS / 2 * 5);
	CHECK(!record__thread_name(&r, proc_id(6), 1 + 6 * 5));
	CHECK_EQ(r.threads_cnt, 0);
	check_sums();
	record__fold_threads(&r);
	CHECK_EQ(threaded_rows(&most), 0);
	CHECK(most <= PROCS / 2 / NAMES + 1);
	CHECK_EQ(r.threads_cnt, rows);
	CHECK_EQ(r.threads.cnt, 0);
	check_sums();
	thread_cnt = 0;
}

/* Images that were replaced before they allocated are nobody's: they go without being folded. */
static void passed__test(void)
{
	reset();
	for (u32 p = 0; p < PROCS; p++) {
		struct recorded_proc *proc;

		tell_proc(p);
		if (p % 2)
			hit(p, draw(20));
		proc = record__find_proc(&r, proc_id(p));
		record__over(&r, proc, p % 3 ? AS_OVER_REPLACED : AS_OVER_ENDED);
		record__retire(&r, proc);
	}
	record__fold(&r, PROCS); /* few enough */
	CHECK_EQ(r.procs.cnt, PROCS);
	record__fold(&r, PROCS - 1); /* their last sums may still come */
	CHECK_EQ(r.procs.cnt, PROCS);
	r.drains++;
	record__fold(&r, PROCS - 1);
	for (u32 p = 0; p < PROCS; p++)
		CHECK_EQ(record__find_proc(&r, proc_id(p)) != NULL, p % 2 || p % 3 == 0);
	CHECK_EQ(record__retired_cnt(&r), r.procs.cnt);
	CHECK_EQ(images(), r.procs.cnt);
	check_sums();
	record__fold(&r, 0);
	CHECK(r.procs.cnt <= NAMES);
	check_sums();
}

/* Images of more names than are told apart. */
static void names__test(void)
{
	struct recorded_proc *before, *other = NULL;
	u64 key, val, counts = 0;

	reset();
	for (u32 p = 0; p < 5000; p++) {
		struct as_proc_event ev = { .tgid = p + 1, .proc = proc_id(p) };

		snprintf(ev.comm, sizeof(ev.comm), "c%u", p);
		record__proc(&r, &ev, "", &before);
		end_proc(p);
	}
	r.drains = 1;
	record__fold(&r, 0);
	CHECK_EQ(r.procs.cnt, 4097);
	CHECK_EQ(r.unnamed_cnt, 5000 - 4096);
	for (size_t i = 0; map__next(&r.procs, &i, &key, &val);) {
		struct recorded_proc *p = (void *)(uintptr_t)val;

		counts += p->count;
		if (!strcmp(p->comm, "[other]"))
			other = p;
	}
	CHECK_EQ(counts, 5000);
	CHECK(other && other->count == 5000 - 4096);
}

/* ---- ageing ---- */

static void age__test(void)
{
	struct map pinned = {};

	reset();
	for (u32 s = 0; s < STACKS; s++)
		hit(s % 5, s);
	r.drains++;
	for (u32 s = 0; s < 100; s++)
		hit(s % 5, s); /* newer */
	r.drains++;
	CHECK_EQ(map__put(&pinned, stack_id(399), 1), 0);
	record__choose(&r, 1ull << 40, &pinned, forget, NULL);
	CHECK(told[399] && !told[398] && !told[0]);
	/* One is hit before it's gone: counted by a walk that was remembered, or told of again. */
	r.drains++;
	told[398] = 1;
	hit(0, 398);
	told[398] = 0;
	tell_stack(397);
	record__age(&r, &pinned);
	CHECK_EQ(r.stacks.cnt, 3);
	CHECK_EQ(r.aged_cnt, STACKS - 3);
	CHECK(record__find_stack(&r, stack_id(397)) != NULL);
	check_sums();
	CHECK(r.rows.cnt <= 5 * 2 * 3 + 4);
	/* Those that come again have their rows again. */
	hit(1, 7);
	check_sums();
	CHECK(record__find_stack(&r, stack_id(7)) != NULL);
	map__free(&pinned);
}

/* The oldest go first, and no more than need be. */
static void oldest__test(void)
{
	u64 before;

	reset();
	for (u32 s = 0; s < STACKS; s++) {
		hit(0, s);
		r.drains++;
	}
	r.drains++;
	before = record__bytes(&r);
	record__choose(&r, before / 4, NULL, forget, NULL);
	r.drains++;
	record__age(&r, NULL);
	CHECK(record__bytes(&r) < before * 4 / 5 && record__bytes(&r) > before * 2 / 3);
	for (u32 s = 1; s < STACKS; s++)
		CHECK(!told[s - 1] || told[s]);
	CHECK(told[STACKS - 1] && !told[0]);
	check_sums();
	CHECK_EQ(r.drains, STACKS + 2);
}

/* A stack that no row refers to is given up, and no loss. */
static void unused__test(void)
{
	reset();
	for (u32 s = 0; s < STACKS; s++)
		tell_stack(s);
	CHECK(r.stack_bytes > 0);
	r.drains++;
	record__choose(&r, 1ull << 40, NULL, forget, NULL);
	r.drains++;
	record__age(&r, NULL);
	CHECK_EQ(r.stacks.cnt, 0);
	CHECK_EQ(r.stack_bytes, 0);
	CHECK_EQ(r.aged_cnt, 0);
}

/* ---- rows that the kernel gave back ---- */

static void past__test(void)
{
	u64 cnt = 0, bytes = 0, peak = 0, life = 0;

	reset();
	for (u32 p = 0; p < 100; p++) {
		struct recorded_proc *proc;

		tell_proc(p);
		for (u32 s = 0; s < 10; s++) {
			struct past_row row = { .used = r.drains, .images = 1, .before_cnt = 1 };

			tell_stack(s);
			row.sums.key = (struct as_tally_key){ stack_id(s), proc_id(p), 1, 16 };
			row.sums.alloc_cnt = 3 + s;
			row.sums.alloc_bytes = 100 * p;
			row.sums.peak_bytes = p;
			row.sums.life[5] = s;
			CHECK_EQ(record__past(&r, &row), 0);
		}
		proc = record__find_proc(&r, proc_id(p));
		proc->heap = (struct as_heap){ .proc = proc->proc,
					       .peak_bytes = 1000 + p,
					       .unknown_frees = 2 };
		end_proc(p);
	}
	r.drains++;
	record__fold(&r, 30);
	CHECK_EQ(r.past.cnt, 30 * 10 + NAMES * 10);
	record__choose(&r, 1ull << 40, NULL, forget, NULL);
	r.drains++;
	record__age(&r, NULL);
	record__fold(&r, 0);
	CHECK_EQ(r.past.cnt, NAMES);
	for (size_t i = 0; i < r.past.cnt; i++) {
		const struct past_row *row = &r.past.v[i];
		const struct recorded_proc *g = record__find_proc(&r, row->sums.key.proc);

		CHECK_EQ(row->sums.key.stack, STACK_AGED);
		CHECK(g && g->heap.peak_bytes >= 1093 && g->heap.unknown_frees == 2 * g->count);
		cnt += row->sums.alloc_cnt;
		bytes += row->sums.alloc_bytes;
		peak += row->sums.peak_bytes;
		life += row->sums.life[5];
	}
	CHECK_EQ(cnt, 100 * (30 + 45));
	CHECK_EQ(bytes, 10 * 100 * 4950);
	CHECK_EQ(peak, 10 * 4950);
	CHECK_EQ(life, 100 * 45);
}

/* ---- all of it ---- */

static void any__test(void)
{
	reset();
	for (u32 step = 0; step < 20000; step++) {
		switch (draw(200)) {
		case 0:
			r.drains++;
			record__fold(&r, draw(50));
			break;
		case 1:
			r.drains++;
			record__choose(&r, draw(100000), NULL, forget, NULL);
			r.drains++;
			for (u32 i = draw(20); i; i--)
				hit(PROCS + draw(20), draw(STACKS));
			record__age(&r, NULL);
			break;
		case 2:
			if (step % 10 == 0)
				check_sums();
			break;
		default: {
			/* Whoever has ended hits nothing. */
			u32 p = step / 100 + draw(20);

			hit(p, draw(STACKS));
			if (p >= 10)
				end_proc(step / 100 - 1);
		}
		}
	}
	check_sums();
}

int main(void)
{
	fold__test();
	threads__test();
	passed__test();
	names__test();
	age__test();
	oldest__test();
	unused__test();
	past__test();
	any__test();
	reset();
	vec__free(&hits);
	return check__done();
}
