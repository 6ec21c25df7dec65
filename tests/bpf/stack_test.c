/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User space is told once of each stack and each process; what couldn't be told is a loss, and is
 * told later. When nowhere is room to walk, sums are still exact.
 */
#include "stage.h"
#include "../unit/check.h"

#define SP (STACK_HIGH - 0x400)

static const u64 cookie = COOKIE(1) | COOKIE_SIZE_ARG(1);

static void hit(u64 size)
{
	struct pt_regs regs = { .ip = ALLOC_TEXT + 0x100, .sp = SP, .di = size };

	stage__call(cookie, &regs);
}

static void scene__init(void)
{
	stage__init();
	stage__set_word(SP, app__ip(0x100));
}

static void once__test(void)
{
	const struct as_stack_event *ev;

	scene__init();
	for (u32 i = 0; i < 10; i++) {
		hit(64);
		if (i % 3 == 2)
			stage__forget(); /* a walk again */
	}
	CHECK_EQ(stage__events(AS_EVENT_STACK), 1);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 1);
	for (u32 i = 0; i < host.ring_cnt; i++) {
		ev = host.ring[i].data;
		if (ev->type != AS_EVENT_STACK)
			continue;
		CHECK_EQ(host.ring[i].size,
			 offsetof(struct as_stack_event, frames) + 2 * sizeof(struct as_frame));
		CHECK_EQ(ev->frame_cnt, 2);
		CHECK_EQ(ev->end, AS_END_NO_TABLE);
		CHECK_EQ(ev->proc, proc__id(&stage.task));
		CHECK_EQ(ev->frames[0].file, stage.alloc.hash);
		CHECK_EQ(ev->frames[0].off, 0x100 + (ALLOC_PGOFF << 12));
		CHECK_EQ(ev->frames[1].file, stage.app.hash);
		CHECK_EQ(ev->frames[1].off, 0x100);
	}
	CHECK_EQ(host__losses(), 0);
}

static void stack_full__test(void)
{
	struct stage_sum sum;

	scene__init();
	hit(64);
	host_ring__consume();
	stage__set_word(SP, app__ip(0x200));
	host.ring_full = true;
	for (u32 i = 0; i < 3; i++)
		hit(64);
	CHECK_EQ(host__loss(AS_LOSS_STACK_RING_FULL), 3);
	CHECK_EQ(host_map__of(&seen)->cnt, 1);
	host.ring_full = false;
	for (u32 i = 0; i < 3; i++)
		hit(64);
	CHECK_EQ(stage__events(AS_EVENT_STACK), 1);
	CHECK_EQ(host_map__of(&seen)->cnt, 2);
	CHECK_EQ(host__losses(), 3);
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 7);
	CHECK_EQ(sum.bytes, 7 * 64);
	CHECK_EQ(sum.rows, 2);
}

/* The process is told again, too, although its first hit's event didn't get through. */
static void proc_full__test(void)
{
	scene__init();
	host.ring_full = true;
	hit(64);
	hit(64);
	CHECK(host__loss(AS_LOSS_PROC_RING_FULL) >= 1);
	CHECK_EQ(host_map__of(&announced)->cnt, 0);
	host.ring_full = false;
	hit(64);
	hit(64);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 1);
	CHECK_EQ(host_map__of(&announced)->cnt, 1);
}

static void small_ring__test(void)
{
	scene__init();
	host.ring_size = 512;
	for (u32 i = 0; i < 50; i++) {
		stage__set_word(SP, app__ip(0x100 + i * 16));
		hit(64);
	}
	CHECK(host.ring_used <= host.ring_size);
	CHECK_EQ(stage__events(AS_EVENT_STACK) + host__loss(AS_LOSS_STACK_RING_FULL), 50);
	CHECK(stage__events(AS_EVENT_STACK) > 2);
	CHECK_EQ(stage__take_sums().cnt, 50);
}

static void wakeup__test(void)
{
	scene__init();
	as_ring_quarter = 600;
	for (u32 i = 0; i < 20; i++) {
		stage__set_word(SP, app__ip(0x100 + i * 16));
		hit(64);
	}
	for (u64 i = 0, used = 0; i < host.ring_cnt; i++) {
		const u32 *type = host.ring[i].data;

		if (*type == AS_EVENT_STACK)
			CHECK_EQ(host.ring[i].flags,
				 used > 600 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
		used += (host.ring[i].size + 15) / 8 * 8;
	}
}

static struct as_slot *slot(u32 at)
{
	return host_map__lookup(host_map__of(&slots), &at);
}

static void claim__test(void)
{
	u32 at;

	scene__init();
	for (u32 cpu = 0; cpu < 4; cpu++) {
		host.cpu = cpu;
		CHECK(slot__claim(&at) == slot(cpu * AS_SLOTS_PER_CPU));
		CHECK(slot__claim(&at) == slot(cpu * AS_SLOTS_PER_CPU + 1));
		CHECK_EQ(at, cpu * AS_SLOTS_PER_CPU + 1);
	}
	host.cpu = 3; /* goes on in others' when its own are busy */
	for (u32 i = 0; i < 8; i++)
		CHECK(slot__claim(&at) != NULL);
	CHECK_EQ(host__loss(AS_LOSS_NO_SLOT), 0);
	CHECK(slot__claim(&at) == NULL);
	CHECK_EQ(host__loss(AS_LOSS_NO_SLOT), 1);
	slot__release(slot(5));
	CHECK(slot__claim(&at) == slot(5));
}

static void all_busy__test(void)
{
	struct stage_sum sum;

	scene__init();
	for (u32 i = 0; i < 16; i++)
		slot(i)->busy = 1;
	for (u32 i = 1; i <= 10; i++)
		hit(64 + i % 2);
	for (u32 i = 0; i < 16; i++) {
		CHECK_EQ(stage__flush_slot(i), 1);
		slot(i)->busy = 0;
	}
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 10);
	CHECK_EQ(sum.bytes, 10 * 64 + 5);
	CHECK_EQ(sum.rows, 1); /* 64 and 65 are of one class */
	CHECK_EQ(sum.key.stack, 0);
	CHECK_EQ(sum.key.site, 1);
	CHECK_EQ(sum.key.proc, proc__id(&stage.task));
	CHECK_EQ(host__loss(AS_LOSS_NO_SLOT), 10);
	CHECK_EQ(host__losses(), 10);
}

/* Not even then is a jump from one function to another a call of its own. */
static void busy_jump__test(void)
{
	struct pt_regs regs = { .ip = ALLOC_TEXT + 0x200, .sp = SP, .di = 0, .si = 64 };
	u64 key = AS_JUMP(2, 1);
	u32 yes = 1;

	scene__init();
	host_map__update(host_map__of(&jumps), &key, &yes, BPF_ANY);
	for (u32 i = 0; i < 16; i++)
		slot(i)->busy = 1;
	stage__call(COOKIE(2) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_JUMPS, &regs);
	hit(64);
	for (u32 i = 0; i < 16; i++)
		slot(i)->busy = 0;
	CHECK_EQ(stage__take_sums().cnt, 1);
}

/* A stack that fell out of `seen` is told again: that's harmless, and all that happens. */
static void evicted__test(void)
{
	scene__init();
	host_map__of(&seen)->max = 4;
	for (u32 i = 0; i < 20; i++) {
		stage__set_word(SP, app__ip(0x100 + i % 5 * 16));
		hit(64);
		stage__forget();
	}
	CHECK_EQ(host_map__of(&seen)->cnt, 4);
	CHECK(stage__events(AS_EVENT_STACK) > 5);
	CHECK_EQ(host__losses(), 0);
}

/* Nothing of the last walk serves the next, not even in the same slot: the allocator is mapped
 * anew, elsewhere. */
static void remapped__test(void)
{
	const struct as_stack_event *ev;

	scene__init();
	stage__set_word(SP, 1); /* the walk ends in the allocator */
	hit(64);
	stage__take_sums();
	for (u32 i = 0; i < host.vma_cnt; i++)
		host.vma[i].vm_pgoff += 16;
	stage.mm.lock_seq += 2;
	hit(64);
	ev = stage__find_stack(stage__take_sums().key.stack);
	CHECK(ev && ev->frame_cnt == 1 && ev->frames[0].off == 0x100 + ((ALLOC_PGOFF + 16) << 12));
}

int main(void)
{
	once__test();
	stack_full__test();
	proc_full__test();
	small_ring__test();
	wakeup__test();
	claim__test();
	all_busy__test();
	busy_jump__test();
	evicted__test();
	remapped__test();
	host__reset();
	return check__done();
}
