/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What tracing costs, and whom (--max-overhead): hits and the time they take, and the CPU time that
 * the targets have used, by the name of their process. User space decides (src/trace/govern.c).
 */
#ifndef ALLOCSNOOP_GOVERN_BPF_H
#define ALLOCSNOOP_GOVERN_BPF_H

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

#define TIMED_OF     16	    /* one hit in so many has its time taken */
#define TIMED_MAX_NS 100000 /* more is another thread's: this one was preempted */

static __always_inline struct as_group_key group__key(struct task_struct *task)
{
	struct as_group_key key = {};

	bpf_probe_read_kernel_str(key.comm, sizeof(key.comm), task->group_leader->comm);
	return key;
}

/* The element of a name. Where there is no room for another they share the one without a name. */
static __always_inline struct as_group *group__of(struct as_group_key *key)
{
	struct as_group none = {}, *g = bpf_map_lookup_elem(&groups, key);

	if (g)
		return g;
	if (bpf_map_update_elem(&groups, key, &none, BPF_NOEXIST) == -E2BIG)
		*key = (struct as_group_key){};
	return bpf_map_lookup_elem(&groups, key);
}

/* So many hits on one CPU, sooner than they should have come: user space is told at once. */
static __always_inline void cost__alarm(struct as_cost *c)
{
	__u64 now = bpf_ktime_get_ns(), since = c->armed_ns;

	c->armed = 0;
	c->armed_ns = now;
	if (now - since < as_alarm_ns)
		bpf_ringbuf_output(&alarms, &now, sizeof(now), BPF_RB_FORCE_WAKEUP);
}

/* A hit begins. Not 0: when; its time is to be taken. */
static __noinline __u64 govern__begin(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id() & as_cpu_mask;
	struct as_cost *c = bpf_map_lookup_elem(&costs, &cpu);
	struct as_group_key key;
	struct as_group *g;
	__u64 hit, now = 0;

	if (!c || (__u32)task->tgid == as_self_tgid)
		return 0;
	hit = __sync_fetch_and_add(&c->hits, 1);
	if (!(hit % TIMED_OF))
		now = bpf_ktime_get_ns();
	if (__sync_fetch_and_add(&c->armed, 1) == as_alarm_hits)
		cost__alarm(c);
	key = group__key(task);
	g = group__of(&key);
	if (g)
		__sync_fetch_and_add(counting ? &g->open_hits : &g->closed_hits, 1);
	return now;
}

static __noinline int govern__end(__u64 since)
{
	__u32 cpu = bpf_get_smp_processor_id() & as_cpu_mask;
	struct as_cost *c = bpf_map_lookup_elem(&costs, &cpu);
	__u64 took = bpf_ktime_get_ns() - since;

	if (!c || took > TIMED_MAX_NS)
		return 0;
	__sync_fetch_and_add(&c->timed_ns, took);
	__sync_fetch_and_add(&c->timed, 1);
	return 0;
}

/* ---- CPU time ---- */

static __always_inline bool cpu__is_target(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (task->flags & PF_KTHREAD || tgid == as_self_tgid)
		return false;
	return as_all || bpf_map_lookup_elem(&procs, &tgid);
}

/*
 * A thread ends: from now on what it has used is the group's. It still runs for a while, and its
 * time is only brought up to date when it stops; the rest comes when its task is freed.
 */
static __always_inline void cpu__exited(struct task_struct *task)
{
	struct as_group_key key;
	struct as_dying dying = {};
	struct as_group *g;
	__u64 id = (__u64)task;

	if (!cpu__is_target(task))
		return;
	key = group__key(task);
	g = group__of(&key);
	dying.ns = task->se.sum_exec_runtime;
	dying.group = key;
	if (g && !bpf_map_update_elem(&dead, &id, &dying, BPF_ANY))
		__sync_fetch_and_add(&g->dead_ns, dying.ns);
}

static __always_inline void cpu__freed(struct task_struct *task)
{
	__u64 id = (__u64)task, more;
	struct as_dying *dying = bpf_map_lookup_elem(&dead, &id);
	struct as_group_key key;
	struct as_group *g;

	if (!dying)
		return;
	more = task->se.sum_exec_runtime - dying->ns;
	key = dying->group;
	g = bpf_map_lookup_elem(&groups, &key);
	if (g)
		__sync_fetch_and_add(&g->dead_ns, more);
	bpf_map_delete_elem(&dead, &id);
}

/* False: none of ours, or counted when it exited. */
static __always_inline bool cpu__read(struct task_struct *task, struct as_cpu_event *ev)
{
	if (task->flags & PF_EXITING || !cpu__is_target(task))
		return false;
	ev->tgid = task->tgid;
	ev->ns = task->se.sum_exec_runtime;
	ev->group = group__key(task);
	return true;
}

#endif
