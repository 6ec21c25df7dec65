/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tracing costs, as the kernel counts it: every hit of a target once, under its process' name,
 * counted or not; an alarm when they come too fast; and CPU time that is neither lost nor doubled
 * when a thread ends.
 */
#include "stage.h"
#include "../unit/check.h"

static struct as_group *group(const char *comm)
{
	struct as_group_key key = {};

	strncpy(key.comm, comm, sizeof(key.comm) - 1);
	return host_map__lookup(host_map__of(&groups), &key);
}

static struct as_cost *cost(u32 cpu)
{
	return host_map__elem(host_map__of(&costs), cpu);
}

static struct pt_regs govern__init(void)
{
	stage__init();
	as_all = 1;
	as_self_tgid = 4242;
	return (struct pt_regs){ .ip = 0x1000, .sp = STACK_HIGH - 0x400, .di = 64 };
}

static void hits__test(void)
{
	struct pt_regs regs = govern__init();

	strcpy(host.task->group_leader->comm, "one");
	for (u32 i = 0; i < 40; i++)
		allocsnoop_callg(&regs);
	CHECK_EQ(cost(host.cpu)->hits, 40);
	CHECK_EQ(cost(host.cpu)->armed, 40);
	CHECK_EQ(group("one")->open_hits, 40);
	CHECK_EQ(group("one")->closed_hits, 0);
	CHECK_EQ(stage__take_sums().cnt, 40);

	/* Attached, but not counting: it costs all the same. */
	counting = 0;
	strcpy(host.task->group_leader->comm, "other");
	host.cpu = 2;
	for (u32 i = 0; i < 5; i++)
		allocsnoop_callg(&regs);
	counting = 1;
	CHECK_EQ(cost(2)->hits, 5);
	CHECK_EQ(group("other")->closed_hits, 5);
	CHECK_EQ(group("other")->open_hits, 0);
	CHECK_EQ(stage__take_sums().cnt, 0);

	/* We are nobody's target. */
	as_self_tgid = host.task->tgid;
	allocsnoop_callg(&regs);
	CHECK_EQ(cost(2)->hits, 5);
}

static void later(void)
{
	host.now += 10;
}

/* One hit in 16 has its time taken; not one that was preempted. */
static void time__test(void)
{
	struct pt_regs regs = govern__init();

	host.now = 1000;
	host.preempt = later;
	for (u32 i = 0; i < 32; i++)
		allocsnoop_callg(&regs);
	CHECK_EQ(cost(0)->timed, 2);
	CHECK(cost(0)->timed_ns >= 20 && cost(0)->timed_ns <= host.now - 1000);
	host.preempt = NULL;
	govern__end(host.now - TIMED_MAX_NS - 1);
	CHECK_EQ(cost(0)->timed, 2);
}

/* A hundred hits within a microsecond are too many, within a second they are not. */
static void alarm__test(void)
{
	struct pt_regs regs = govern__init();
	u32 before;

	as_alarm_hits = 100;
	as_alarm_ns = 1000;
	host.now = 1000000;
	for (u32 i = 0; i <= 100; i++)
		allocsnoop_callg(&regs);
	before = host.ring_cnt;
	CHECK_EQ(cost(0)->armed, 0);
	host.now += 999;
	for (u32 i = 0; i <= 100; i++)
		allocsnoop_callg(&regs);
	CHECK_EQ(host.ring_cnt, before + 1);
	CHECK_EQ(host.ring[before].size, 8);
	host.now += 1000;
	for (u32 i = 0; i <= 100; i++)
		allocsnoop_callg(&regs);
	CHECK_EQ(host.ring_cnt, before + 1);
}

/* Names beyond the room share one element; nothing is lost. */
static void full__test(void)
{
	struct pt_regs regs = govern__init();
	struct as_group_key key = {};

	host_map__of(&groups)->max = 1;
	strcpy(host.task->group_leader->comm, "");
	allocsnoop_callg(&regs);
	strcpy(host.task->group_leader->comm, "no room");
	allocsnoop_callg(&regs);
	CHECK(!group("no room"));
	CHECK_EQ(((struct as_group *)host_map__lookup(host_map__of(&groups), &key))->open_hits, 2);
}

static void cpu__test(void)
{
	struct bpf_iter_meta meta = {};
	struct bpf_iter__task ctx = { .meta = &meta };
	struct as_cpu_event *ev = (void *)host.seq;
	__u64 args[1];

	govern__init();
	strcpy(host.task->group_leader->comm, "worker");
	ctx.task = host.task;
	args[0] = (uintptr_t)host.task;
	host.task->se.sum_exec_runtime = 700;
	allocsnoop_cpu(&ctx);
	CHECK_EQ(host.seq_size, sizeof(*ev));
	CHECK_EQ(ev->ns, 700);
	CHECK_EQ(ev->tgid, host.task->tgid);
	CHECK_STR(ev->group.comm, "worker");

	/* It ends: what it had is the group's, and it is in the list no more; the rest comes later,
	 * under the same name. */
	host.task->flags = PF_EXITING;
	allocsnoop_used(args);
	allocsnoop_cpu(&ctx);
	CHECK_EQ(host.seq_size, sizeof(*ev));
	CHECK_EQ(group("worker")->dead_ns, 700);
	host.task->se.sum_exec_runtime = 750;
	strcpy(host.task->group_leader->comm, "changed");
	allocsnoop_reaped(args);
	allocsnoop_reaped(args);
	CHECK_EQ(group("worker")->dead_ns, 750);
	CHECK(!group("changed"));

	/* Kernel threads, ourselves, and who isn't a target. */
	host.task->flags = PF_KTHREAD;
	allocsnoop_cpu(&ctx);
	host.task->flags = 0;
	as_self_tgid = host.task->tgid;
	allocsnoop_cpu(&ctx);
	as_self_tgid = 0;
	as_all = 0;
	allocsnoop_cpu(&ctx);
	allocsnoop_used(args);
	CHECK_EQ(host.seq_size, sizeof(*ev));
	CHECK(!group("changed"));
}

int main(void)
{
	hits__test();
	time__test();
	alarm__test();
	full__test();
	cpu__test();
	return check__done();
}
