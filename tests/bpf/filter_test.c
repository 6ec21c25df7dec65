/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose calls count: by list, cgroup and name; what is left of a process that has stopped counting;
 * and the children of those in the list. */
#include "heap.h"
#include "../unit/check.h"

static void globs__set(const char *name)
{
	struct as_globs g = { .start = { 1 } };
	u32 zero = 0;

	for (u32 i = 0; name[i]; i++)
		g.mask[(u8)name[i]][0] |= 1ull << i;
	g.accept[0] = 1ull << strlen(name);
	host_map__update(host_map__of(&globs), &zero, &g, BPF_ANY);
}

static void list__set(u32 tgid, u32 flags)
{
	host_map__update(host_map__of(&procs), &tgid, &flags, BPF_ANY);
}

static u32 list__get(u32 tgid)
{
	u32 *flags = host_map__lookup(host_map__of(&procs), &tgid);

	return flags ? *flags : 0;
}

/* How many of one call are counted. */
static u64 hit(void)
{
	struct pt_regs regs = { .ip = ALLOC_TEXT + 0x100, .sp = SP, .di = 64 };
	u64 cnt;

	host_ring__consume();
	stage__set_word(SP, RA);
	stage__call(cookies[MALLOC], &regs);
	cnt = stage__take_sums().cnt;
	CHECK_EQ(stage__events(AS_EVENT_PROC), cnt != 0); /* of others nothing is said */
	return cnt;
}

static void scene(u32 filter)
{
	stage__init();
	as_all = 1;
	as_filter = filter;
}

static void list__test(void)
{
	scene(AS_FILTER_PROCS);
	CHECK_EQ(hit(), 0);
	list__set(100, AS_PROC_STOP);
	CHECK_EQ(hit(), 0);
	list__set(101, AS_PROC_TARGET); /* a thread's number is nobody's */
	CHECK_EQ(hit(), 0);
	list__set(100, AS_PROC_TARGET);
	CHECK_EQ(hit(), 1);
	CHECK_EQ(host__losses(), 0);
}

static void cgroup__test(void)
{
	scene(AS_FILTER_CGROUP);
	CHECK_EQ(hit(), 0);
	host.under_cgroup = -EAGAIN; /* no cgroup has been set */
	CHECK_EQ(hit(), 0);
	host.under_cgroup = 1;
	CHECK_EQ(hit(), 1);
}

static void name__test(void)
{
	struct task_struct leader;

	scene(AS_FILTER_COMM);
	CHECK_EQ(hit(), 0); /* no pattern is there */
	globs__set("program");
	leader = stage.task;
	strcpy(stage.task.comm, "a thread's");
	stage.task.group_leader = &leader;
	CHECK_EQ(hit(), 1);
	strcpy(leader.comm, "program2");
	CHECK_EQ(hit(), 0);
	memset(leader.comm, 'p', sizeof(leader.comm)); /* not even a 0 at its end */
	CHECK_EQ(hit(), 0);
}

static void all__test(void)
{
	scene(AS_FILTER_CGROUP | AS_FILTER_COMM);
	globs__set("program");
	CHECK_EQ(hit(), 0);
	host.under_cgroup = 1;
	CHECK_EQ(hit(), 1);
	globs__set("other");
	CHECK_EQ(hit(), 0);
}

/* A process is moved out: its new blocks don't count, its old ones' ends do. */
static void ends__test(void)
{
	scene__init(8);
	as_all = 1;
	as_filter = AS_FILTER_CGROUP;
	as_live_exact = 0; /* as the loader sets it then */
	CHECK(!call(MALLOC, 10, 0, 0x1000));
	free_of(0x1000);
	CHECK_EQ(unknown_frees(), 0);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 0);
	host.under_cgroup = 1;
	for (u64 i = 1; i <= 4; i++)
		call(MALLOC, 100, 0, i * 0x10000);
	host.under_cgroup = 0;
	CHECK(!call(MALLOC, 7, 0, 0x70000));
	free_of(0x10000);
	CHECK(call(REALLOC, 0x20000, 5000, 0x80000)); /* its new block isn't counted */
	CHECK(call(REALLOC, 0x30000, 5000, 0));	      /* failed: as it was */
	CHECK(call(REALLOC, 0x40000, ~0ull, 0));      /* likewise, as its size can't be */
	CHECK_EQ(sums__of(0).alloc_cnt, 4);
	CHECK_EQ(sums__of(0).alloc_bytes, 400);
	CHECK_EQ(sums__of(0).freed_cnt, 2);
	CHECK_EQ(sums__of(0).live_cnt, 2);
	CHECK_EQ(counted__failed(), 2); /* for blocks that count */
	host.under_cgroup = 1;
	free_of(0x30000);
	free_of(0x40000);
	CHECK_EQ(sums__of(0).live_cnt, 0);
	CHECK_EQ(host__losses(), 0);
}

/* ---- children ---- */

static void fork__test(void)
{
	struct task_struct child = { .pid = 200, .tgid = 200 },
			   thread = { .pid = 102, .tgid = 100 };
	struct task_struct grandchild = { .pid = 300, .tgid = 300 };

	scene(AS_FILTER_PROCS);
	allocsnoop_forked(NULL, &stage.task, &child);
	CHECK_EQ(list__get(200), 0); /* nobody's */
	list__set(100, AS_PROC_TARGET);
	allocsnoop_forked(NULL, &stage.task, &child); /* by a thread, as its process's */
	CHECK_EQ(list__get(200), AS_PROC_TARGET);
	allocsnoop_forked(NULL, &child, &grandchild);
	CHECK_EQ(list__get(300), AS_PROC_TARGET);
	allocsnoop_forked(NULL, &stage.task, &thread);
	CHECK_EQ(list__get(102), 0);
	CHECK_EQ(host__losses(), 0);
	host_map__of(&procs)->max = 3;
	child.pid = child.tgid = 201;
	allocsnoop_forked(NULL, &stage.task, &child);
	CHECK_EQ(list__get(201), 0);
	CHECK_EQ(host__loss(AS_LOSS_NOT_FOLLOWED), 1);
}

static void exit__test(void)
{
	struct signal_struct threads = { .live = { 1 } };

	scene(AS_FILTER_PROCS);
	stage.task.signal = &threads;
	list__set(100, AS_PROC_TARGET);
	allocsnoop_exited(NULL, &stage.task); /* another thread lives */
	CHECK_EQ(list__get(100), AS_PROC_TARGET);
	threads.live.counter = 0;
	allocsnoop_exited(NULL, &stage.task);
	CHECK_EQ(list__get(100), 0);
}

/* The cgroup that a process is announced with. */
static void announce__test(void)
{
	struct kernfs_node kn = { .id = 4711 };
	struct cgroup cgrp = { .kn = &kn };
	struct css_set set = { .dfl_cgrp = &cgrp };
	const struct as_proc_event *ev = NULL;

	scene(0);
	stage.task.cgroups = &set;
	CHECK_EQ(hit(), 1);
	for (u32 i = 0; i < host.ring_cnt; i++) {
		if (*(u32 *)host.ring[i].data == AS_EVENT_PROC)
			ev = host.ring[i].data;
	}
	CHECK(ev && ev->cgroup == 4711);
}

int main(void)
{
	list__test();
	cgroup__test();
	name__test();
	all__test();
	ends__test();
	fork__test();
	exit__test();
	announce__test();
	return check__done();
}
