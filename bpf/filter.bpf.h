/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Whose calls count, where probes fire for every process: asked before anything else is done, so
 * that a call of another process costs it no more than the trap.
 */
#ifndef ALLOCSNOOP_FILTER_BPF_H
#define ALLOCSNOOP_FILTER_BPF_H

#define FILTER_OUT 0
/* --live: its calls don't count (any more), but it may hold blocks that do. */
#define FILTER_ENDS 1
#define FILTER_IN   2

static __always_inline bool filter__named(struct task_struct *task)
{
	char comm[AS_COMM_SIZE];
	struct as_globs *g;
	__u32 zero = 0;

	g = bpf_map_lookup_elem(&globs, &zero);
	bpf_probe_read_kernel(comm, sizeof(comm), task->group_leader->comm);
	return g && as_globs_match(g, comm);
}

static __always_inline bool filter__listed(struct task_struct *task)
{
	__u32 tgid = task->tgid, *known = bpf_map_lookup_elem(&procs, &tgid);

	return known && *known & AS_PROC_TARGET;
}

static __always_inline bool filter__holds(struct task_struct *task)
{
	if (as_filter & AS_FILTER_PROCS && !filter__listed(task))
		return false;
	if (as_filter & AS_FILTER_CGROUP && bpf_current_task_under_cgroup(&cgroup, 0) != 1)
		return false;
	return !(as_filter & AS_FILTER_COMM) || filter__named(task);
}

/* FILTER_*, of the current process. A function for the verifier's sake: looked at once. */
__noinline int filter__ask(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 space;

	if (filter__holds(task))
		return FILTER_IN;
	if (!as_live)
		return FILTER_OUT;
	space = space__id(task);
	return bpf_map_lookup_elem(&heap_at, &space) ? FILTER_ENDS : FILTER_OUT;
}

/* ---- the children of those in `procs` ---- */

static __always_inline void follow__forked(struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = parent->tgid, born = child->tgid, flags;
	__u32 *known = bpf_map_lookup_elem(&procs, &tgid);

	if (!known || child->pid != child->tgid)
		return; /* nobody's, or a thread */
	flags = *known;
	if (bpf_map_update_elem(&procs, &born, &flags, BPF_ANY))
		loss__count(AS_LOSS_NOT_FOLLOWED);
}

/* Each thread comes here, the last one when nobody is counted as alive any more. */
static __always_inline void follow__exited(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (!task->signal->live.counter)
		bpf_map_delete_elem(&procs, &tgid);
}

#endif
