/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings that come, go in parts, move and stay: against a model that knows for each byte of a
 * small address space which mapping it is of.
 */
#include "trace/ranges.h"

#include <string.h>

#include "check.h"
#include "trace/live.h"

#define SPACE	 256 /* bytes of address space */
#define BASE	 0x10000
#define MADE_MAX 4096
#define ROWS	 5
#define TIDS	 3

static u64 state = 1;

static u64 draw(u64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

struct model {
	u32 of[SPACE]; /* mapping + 1; 0: none */
	struct {
		u32 row;
		u32 left;
	} made[MADE_MAX];
	u32 cnt;
	u64 freed_cnt[ROWS];
	u64 freed_bytes[ROWS];
};

static struct model model;
static struct ranges ranges;
static u64 now;

static void tell(u32 what, u32 tid, u32 row, u64 start, u64 end, u64 to)
{
	struct as_range_event ev = {
		.what = what,
		.row = row,
		.tid = tid,
		.space = 77,
		.start = BASE + start,
		.end = BASE + end,
		.to = BASE + to,
		.time = ++now,
	};

	ranges__event(&ranges, &ev);
}

/* ---- the model ---- */

static void model__free(u64 start, u64 end)
{
	for (u64 i = start; i < end; i++) {
		u32 of = model.of[i];

		model.of[i] = 0;
		if (!of)
			continue;
		model.freed_bytes[model.made[of - 1].row]++;
		if (!--model.made[of - 1].left)
			model.freed_cnt[model.made[of - 1].row]++;
	}
}

static void model__make(u32 row, u64 start, u64 end)
{
	model__free(start, end);
	if (row == AS_ROW_NONE)
		return;
	model.made[model.cnt].row = row;
	model.made[model.cnt].left = end - start;
	model.cnt++;
	for (u64 i = start; i < end; i++)
		model.of[i] = model.cnt;
}

/* mremap(2): [start, start + kept) to another place, the rest of it goes. */
static void model__move(u64 start, u64 size, u64 kept, u64 to)
{
	u32 moved[SPACE];

	memcpy(moved, &model.of[start], kept * sizeof(*moved));
	memset(&model.of[start], 0, kept * sizeof(*moved));
	model__free(start, start + size);
	model__free(to, to + kept);
	memcpy(&model.of[to], moved, kept * sizeof(*moved));
}

/* ---- the comparison ---- */

static void expect__equal(void)
{
	u64 live_cnt[ROWS] = {}, live_bytes[ROWS] = {}, heap_cnt = 0, heap_bytes = 0;
	struct live l = {};
	struct as_heap heap = { .proc = 77 };

	for (u32 i = 0; i < model.cnt; i++) {
		live_cnt[model.made[i].row] += model.made[i].left != 0;
		live_bytes[model.made[i].row] += model.made[i].left;
	}
	for (u32 i = 0; i < ROWS; i++) {
		struct live_row row = {};

		CHECK_EQ(vec__push(&l.rows, row), 0);
	}
	CHECK_EQ(vec__push(&l.heaps, heap), 0);
	CHECK_EQ(map__put(&l.heap_at, 77, 0), 0);
	l.now_ns = now;
	ranges__add_sums(&ranges, &l);
	ranges__add_ages(&ranges, &l, 0, 0);
	for (u32 i = 0; i < ROWS; i++) {
		const struct live_row *r = &l.rows.v[i];
		u64 lives = 0;

		CHECK_EQ(r->sums.freed_cnt, model.freed_cnt[i]);
		CHECK_EQ(r->sums.freed_bytes, model.freed_bytes[i]);
		CHECK_EQ(r->older_cnt, live_cnt[i]);
		CHECK_EQ(r->older_bytes, live_bytes[i]);
		for (u32 c = 0; c < AS_LIFE_CLASSES; c++)
			lives += r->sums.life[c];
		CHECK_EQ(lives, model.freed_cnt[i]);
		heap_cnt += live_cnt[i];
		heap_bytes += live_bytes[i];
	}
	CHECK_EQ(l.heaps.v[0].live_cnt, heap_cnt);
	CHECK_EQ(l.heaps.v[0].live_bytes, heap_bytes);
	live__fini(&l);
}

static void random__step(void)
{
	u64 start = draw(SPACE), size = 1 + draw(SPACE - start), kept, to;
	u32 tid = draw(TIDS), row = draw(4) ? draw(ROWS) : AS_ROW_NONE;

	switch (draw(4)) {
	case 0:
		tell(AS_RANGE_MADE, tid, row, start, start + size, 0);
		model__make(row, start, start + size);
		break;
	case 1:
		tell(AS_RANGE_LEAVES, tid, 0, start, start + size, 0);
		model__free(start, start + size);
		break;
	case 2:
		tell(AS_RANGE_LEAVES, tid, 0, start, start + size, 0);
		tell(AS_RANGE_STAYS, tid, 0, 0, 0, 0);
		break;
	case 3:
		kept = 1 + draw(size);
		to = draw(SPACE - kept + 1);
		tell(AS_RANGE_LEAVES, tid, 0, start, start + size, 0);
		tell(AS_RANGE_MOVED, tid, 0, start, start + kept, to);
		model__move(start, size, kept, to);
		break;
	}
}

static void random__test(void)
{
	for (u32 round = 0; round < 20; round++) {
		memset(&model, 0, sizeof(model));
		ranges = (struct ranges){ .max = 10000 };
		for (u32 i = 0; i < 2000 && !check_failures; i++) {
			random__step();
			if (i % 7 == 0)
				expect__equal();
		}
		CHECK_EQ(ranges.dropped, 0);
		ranges__fini(&ranges);
	}
}

/* Another thread gets the addresses while the first is still in munmap(2): they are its now. */
static void order__test(void)
{
	memset(&model, 0, sizeof(model));
	ranges = (struct ranges){ .max = 100 };
	tell(AS_RANGE_MADE, 1, 0, 0, 100, 0);
	tell(AS_RANGE_LEAVES, 1, 0, 0, 100, 0);
	tell(AS_RANGE_MADE, 2, 1, 0, 50, 0);
	model__make(0, 0, 100);
	model__free(0, 100);
	model__make(1, 0, 50);
	expect__equal();
	tell(AS_RANGE_STAYS, 3, 0, 0, 0, 0); /* a thread that has said nothing */
	expect__equal();
	ranges__forget(&ranges, 77);
	CHECK_EQ(ranges.cnt, 0);
	ranges__fini(&ranges);
}

/* More than there is room for is neither live nor freed. */
static void full__test(void)
{
	struct live l = {};
	struct live_row row = {};

	ranges = (struct ranges){ .max = 2 };
	for (u32 i = 0; i < 5; i++)
		tell(AS_RANGE_MADE, 1, 0, i * 10, i * 10 + 10, 0);
	tell(AS_RANGE_LEAVES, 1, 0, 0, SPACE, 0);
	CHECK_EQ(vec__push(&l.rows, row), 0);
	ranges__add_sums(&ranges, &l);
	CHECK_EQ(ranges.full_cnt, 3);
	CHECK_EQ(l.rows.v[0].sums.untracked_cnt, 3);
	CHECK_EQ(l.rows.v[0].sums.untracked_bytes, 30);
	CHECK_EQ(l.rows.v[0].sums.freed_cnt, 2);
	live__fini(&l);
	ranges__fini(&ranges);
}

/* Threads that unmap and end leave no growing table behind. */
static void threads__test(void)
{
	ranges = (struct ranges){ .max = 100 };
	for (u32 tid = 1; tid < 100000; tid++)
		tell(AS_RANGE_LEAVES, tid, 0, 0, 1, 0);
	CHECK(ranges.leaving.cnt <= 65536);
	ranges__fini(&ranges);
}

/* What a row had when its process had most. */
static void peak__test(void)
{
	struct live l = {};
	struct live_row row = {};
	struct as_heap heap = { .proc = 77 };

	ranges = (struct ranges){ .max = 100 };
	tell(AS_RANGE_MADE, 1, 0, 0, 100, 0);
	tell(AS_RANGE_MADE, 1, 1, 100, 150, 0); /* the peak: 100 and 50 */
	tell(AS_RANGE_LEAVES, 1, 0, 0, 80, 0);
	tell(AS_RANGE_MADE, 1, 1, 0, 40, 0);
	for (u32 i = 0; i < 2; i++)
		CHECK_EQ(vec__push(&l.rows, row), 0);
	CHECK_EQ(vec__push(&l.heaps, heap), 0);
	CHECK_EQ(map__put(&l.heap_at, 77, 0), 0);
	ranges__add_sums(&ranges, &l);
	CHECK_EQ(l.heaps.v[0].peak_bytes, 150);
	CHECK_EQ(l.heaps.v[0].peak_cnt, 2);
	CHECK_EQ(l.rows.v[0].sums.peak_bytes, 100);
	CHECK_EQ(l.rows.v[1].sums.peak_bytes, 50);
	CHECK_EQ(l.rows.v[1].sums.peak_of, l.heaps.v[0].peak_bytes);
	live__fini(&l);
	ranges__fini(&ranges);
}

int main(void)
{
	random__test();
	order__test();
	full__test();
	threads__test();
	peak__test();
	return check__done();
}
