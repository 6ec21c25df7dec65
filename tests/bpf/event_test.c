/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks one by one: which have events, what these say, and in which order they come. */
#include "heap.h"
#include "../unit/check.h"

static struct as_block_event event__at(u32 at)
{
	for (u32 i = 0; i < host.ring_cnt; i++) {
		const struct as_block_event *ev = host.ring[i].data;

		if (ev->type == AS_EVENT_BLOCK && !at--)
			return *ev;
	}
	return (struct as_block_event){};
}

#define EVENT(at, is_freed, who, where, bytes, since, when) \
	do {                                                \
		struct as_block_event ev = event__at(at);   \
		CHECK_EQ(ev.type, AS_EVENT_BLOCK);          \
		CHECK_EQ(ev.freed, (u64)(is_freed));        \
		CHECK_EQ(ev.tid, (u64)(who));               \
		CHECK_EQ(ev.addr, (u64)(where));            \
		CHECK_EQ(ev.size, (u64)(bytes));            \
		CHECK_EQ(ev.born, (u64)(since));            \
		CHECK_EQ(ev.time, (u64)(when));             \
	} while (0)

/* Each block that is followed, and no other, in the order in which the sums move. */
static void events__test(void)
{
	scene__init(64);
	as_events = 1;
	call(MALLOC, 100, 0, 0x1000);
	call(MALLOC, 50, 0, 0);		/* failed */
	call(COLLECTED, 60, 0, 0x7000); /* its end can't be seen */
	host.now = 1010;
	call(REALLOC, 0x1000, 300, 0x3000);
	call(REALLOC, 0x3000, 1ull << 40, 0); /* failed */
	free_of(0x4000);		      /* unknown */
	host.now = 1020;
	stage.task.pid = 102;
	call(MALLOC, 10, 0, 0x3000); /* its free was missed */
	host.now = 1030;
	free_of(0x3000);
	stage.task.pid = 101;
	CHECK_EQ(stage__events(AS_EVENT_BLOCK), 6);
	EVENT(0, false, 101, 0x1000, 100, 1000, 1000);
	EVENT(1, true, 101, 0x1000, 100, 1000, 1010);
	EVENT(2, false, 101, 0x3000, 300, 1010, 1010);
	EVENT(3, true, 102, 0x3000, 300, 1010, 1020);
	EVENT(4, false, 102, 0x3000, 10, 1020, 1020);
	EVENT(5, true, 102, 0x3000, 10, 1020, 1030);
	CHECK_EQ(row__at(event__at(0).row)->key.site, MALLOC);
	CHECK_EQ(row__at(event__at(3).row)->key.site, REALLOC);
	CHECK_EQ(row__at(event__at(5).row)->key.site, MALLOC);
	CHECK_EQ(host__losses(), host__loss(AS_LOSS_MISSED_FREE));
	as_events = 0;
	call(MALLOC, 100, 0, 0x1000);
	free_of(0x1000);
	CHECK_EQ(stage__events(AS_EVENT_BLOCK), 6);
}

/* A block that finds no room has no event: nobody would tell of its end. */
static void events_untracked__test(void)
{
	u64 sent, lost;

	scene__init(1);
	as_events = 1;
	for (u64 i = 1; i <= 16; i++)
		call(MALLOC, 8, 0, i << 12);
	sent = stage__events(AS_EVENT_BLOCK);
	lost = host__loss(AS_LOSS_BLOCKS_FULL);
	CHECK(lost > 0);
	CHECK_EQ(sent, 16 - lost);
}

/* What doesn't fit is counted, the sums have it all, and other events still find room. */
static void events_full__test(void)
{
	u64 sent, stacks;

	scene__init(64);
	as_events = 1;
	host.ring_size = 1 << 14;
	as_ring_quarter = host.ring_size / 4;
	for (u64 i = 0; i < 1000; i++) {
		call(MALLOC, 8, 0, 0x1000);
		free_of(0x1000);
	}
	sent = stage__events(AS_EVENT_BLOCK);
	CHECK(sent > 100);
	CHECK_EQ(host__loss(AS_LOSS_EVENT_RING_FULL), 2000 - sent);
	CHECK_EQ(sums__of(0).freed_cnt, 1000);
	stacks = stage__events(AS_EVENT_STACK);
	call(POSIX, 0x100, 64, 0); /* a stack that is new */
	CHECK_EQ(stage__events(AS_EVENT_STACK), stacks + 1);
	CHECK_EQ(host__losses(), host__loss(AS_LOSS_EVENT_RING_FULL));
}

int main(void)
{
	events__test();
	events_untracked__test();
	events_full__test();
	return check__done();
}
