/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Other tools' return probes: while a function that has one runs, its return address on the stack
 * is that of a page of the kernel's, and the kernel keeps the one that was there.
 */
#ifndef ALLOCSNOOP_TRAMPOLINE_BPF_H
#define ALLOCSNOOP_TRAMPOLINE_BPF_H

/* Where all return probes of the task's address space make functions return to: the start of its
 * [uprobes] page. 0: it has none. */
static __always_inline __u64 trampoline__addr(struct task_struct *task)
{
	struct xol_area *area = NULL;

	if (!bpf_core_field_exists(task->mm->uprobes_state) || !bpf_core_field_exists(area->vaddr))
		return 0; /* such stacks end there, and say so */
	area = task->mm->uprobes_state.xol_area;
	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

#define TRAMPOLINE_DEPTH 64 /* MAX_URETPROBE_DEPTH, include/linux/uprobes.h */

/*
 * The return address that the kernel took from the stack word at `at`, 0 when it knows of none.
 * Newest first: longjmp(3) leaves entries behind that newer frames have overwritten. Where a
 * function with a return probe has jumped to another one, both entries have the first one's caller.
 */
__noinline __u64 trampoline__caller(__u64 at)
{
	struct uprobe_task *utask = bpf_get_current_task_btf()->utask;
	struct return_instance *ri;

	if (!utask)
		return 0;
	ri = utask->return_instances;
	for (__u32 i = 0; i < TRAMPOLINE_DEPTH && ri; i++, ri = ri->next) {
		if (ri->stack == at)
			return ri->orig_ret_vaddr;
	}
	return 0;
}

/*
 * Would a return probe on a call with this entry stack pointer make the kernel forget another call?
 * It takes all records of lower addresses for dead then, as after longjmp(3). They aren't when this
 * is a signal handler on another stack, and a call whose record is gone ends the process. The word
 * tells: as long as the trampoline's address is in it the call may still return.
 */
__noinline __u32 trampoline__endangers(__u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *ri;
	__u64 word, page;

	if (!utask || !utask->return_instances)
		return 0;
	page = trampoline__addr(task);
	ri = utask->return_instances;
	for (__u32 i = 0; i < TRAMPOLINE_DEPTH && ri && ri->stack < sp; i++, ri = ri->next) {
		word = 0;
		bpf_probe_read_user(&word, sizeof(word), (void *)ri->stack);
		if (word == page)
			return 1;
	}
	return 0;
}

#endif
