/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The doors: each program reads its arguments and calls one verb of a room. */
#include "vmlinux.h"

#include <linux/errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"
#include "config.bpf.h"
#include "slot.bpf.h"
#include "maps.bpf.h"
#include "regs.bpf.h"
#include "trampoline.bpf.h"
#include "file.bpf.h"
#include "window.bpf.h"
#include "tally.bpf.h"
#include "blocks.bpf.h"
#include "event.bpf.h"
#include "live.bpf.h"
#include "memo.bpf.h"
#include "rows.bpf.h"
#include "unwind.bpf.h"
#include "stack.bpf.h"
#include "life.bpf.h"
#include "copy.bpf.h"
#include "filter.bpf.h"
#include "call.bpf.h"
#include "growth.bpf.h"
#include "govern.bpf.h"

/* Weak: kernels without it don't get the program that calls it. */
extern bool bpf_session_is_return(void) __ksym __weak;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A perf uprobe on an allocator function. */
SEC("uprobe")
int allocsnoop_call(struct pt_regs *ctx)
{
	call__enter(ctx, bpf_get_attach_cookie(ctx));
	return 0;
}

/* The same for uprobe_multi links (6.6): loaded with another attach type, set by user space. */
SEC("uprobe")
int allocsnoop_callm(struct pt_regs *ctx)
{
	call__enter(ctx, bpf_get_attach_cookie(ctx));
	return 0;
}

/* With --max-overhead: what the hit costs is counted, too. */
SEC("uprobe")
int allocsnoop_callg(struct pt_regs *ctx)
{
	__u64 since = govern__begin();

	call__enter_alloc(ctx, bpf_get_attach_cookie(ctx));
	if (since)
		govern__end(since);
	return 0;
}

/* A return probe was hit. (Where there is one layer the cookie isn't asked for.) */
static __always_inline void return__seen(struct pt_regs *ctx)
{
	__u64 cookie = as_layers ? bpf_get_attach_cookie(ctx) : 0;

	live__returned(ctx, open__key(ctx->sp - REGS_WORD, cookie), 0);
}

/* --live: entry and return by one session link (6.13), which spares the returns of no interest. */
SEC("uprobe")
int allocsnoop_session(struct pt_regs *ctx)
{
	if (bpf_session_is_return()) {
		return__seen(ctx);
		return 0;
	}
	return !call__enter(ctx, bpf_get_attach_cookie(ctx));
}

/* --live elsewhere: a probe on the return. */
SEC("uretprobe")
int allocsnoop_return(struct pt_regs *ctx)
{
	return__seen(ctx);
	return 0;
}

SEC("uretprobe")
int allocsnoop_returnm(struct pt_regs *ctx)
{
	return__seen(ctx);
	return 0;
}

/* --live: an instruction by which a function that may throw returns. */
SEC("uprobe")
int allocsnoop_exit(struct pt_regs *ctx)
{
	live__returned(ctx, ctx->sp, AS_SITE_EXITS);
	return 0;
}

SEC("uprobe")
int allocsnoop_exitm(struct pt_regs *ctx)
{
	live__returned(ctx, ctx->sp, AS_SITE_EXITS);
	return 0;
}

/* --live: a function that frees. */
SEC("uprobe")
int allocsnoop_free(struct pt_regs *ctx)
{
	call__free(ctx, bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("uprobe")
int allocsnoop_freem(struct pt_regs *ctx)
{
	call__free(ctx, bpf_get_attach_cookie(ctx));
	return 0;
}

/* Run by user space for each slot in turn: moves the sums that wait there to the tally. 1: somebody
 * holds the slot. */
SEC("raw_tp")
int allocsnoop_flush(struct bpf_raw_tracepoint_args *ctx)
{
	return slot__flush(ctx->args[0]);
}

/*
 * The kernel calls this function for every new mapping and for mprotect, with the mapping in place.
 * (A kprobe, not fentry: kernels built without function tracing have no fentry.)
 */
SEC("kprobe/perf_event_mmap")
int BPF_KPROBE(allocsnoop_map, struct vm_area_struct *vma)
{
	map__enter(vma);
	return 0;
}

/* Where the kernel has no kprobes. (It puts every system call of the machine on the slower path:
 * second choice.) */
SEC("tracepoint/syscalls/sys_exit_mmap")
int allocsnoop_mmap(struct syscall_exit *ctx)
{
	map__returned(ctx->ret);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int allocsnoop_exec(__u64 *ctx)
{
	proc__executed((struct linux_binprm *)ctx[2]);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int allocsnoop_fork(__u64 *ctx)
{
	proc__forked((struct task_struct *)ctx[1]);
	return 0;
}

/* User space's own descriptors, as struct as_fd_event: are the files still mapped? */
SEC("iter/task_file")
int allocsnoop_fds(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct as_fd_event ev = {};

	if (!ctx->task || !file)
		return 0;
	fd__event(file, ctx->fd, &ev);
	bpf_seq_write(ctx->meta->seq, &ev, sizeof(ev));
	return 0;
}

/* -p with --follow. The kernel calls this before the child runs. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(allocsnoop_forked, struct task_struct *parent, struct task_struct *child)
{
	follow__forked(parent, child);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(allocsnoop_exited, struct task_struct *task)
{
	follow__exited(task);
	return 0;
}

/* -e mmap, -e brk: the exit has the result, and the arguments are still in the registers. */
SEC("tracepoint/syscalls/sys_exit_mmap")
int allocsnoop_grow_mmap(struct syscall_exit *ctx)
{
	growth__mmap(ctx->ret);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_mremap")
int allocsnoop_grow_mremap(struct syscall_exit *ctx)
{
	growth__mremap(ctx->ret);
	return 0;
}

/* ... but for where the break was. */
SEC("tracepoint/syscalls/sys_enter_brk")
int allocsnoop_brk_enter(struct syscall_enter *ctx)
{
	growth__brk_begins(ctx->args[0]);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_brk")
int allocsnoop_grow_brk(struct syscall_exit *ctx)
{
	growth__brk(ctx->ret);
	return 0;
}

/* ... and with --live what is given back. */
SEC("tracepoint/syscalls/sys_enter_munmap")
int allocsnoop_munmap_enter(struct syscall_enter *ctx)
{
	growth__munmap_begins(ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_munmap")
int allocsnoop_munmap_exit(struct syscall_exit *ctx)
{
	growth__munmap(ctx->ret);
	return 0;
}

SEC("tracepoint/syscalls/sys_enter_mremap")
int allocsnoop_mremap_enter(void *ctx)
{
	growth__mremap_begins();
	return 0;
}

/* -e fault: a counter of pages of an address space has just changed. */
SEC("tp_btf/rss_stat")
int allocsnoop_grow_rss(__u64 *ctx)
{
	/* Before 6.2 there is a third argument, the new count. */
	__u64 count = rss__is_percpu() ? 0 : ctx[2];

	if ((__u32)ctx[1] == MM_ANONPAGES)
		growth__rss((struct mm_struct *)ctx[0], count);
	return 0;
}

/* A thread of any process ends. */
SEC("raw_tp/sched_process_exit")
int allocsnoop_ended(void *ctx)
{
	__sync_fetch_and_add(&exits, 1);
	thread__ended();
	return 0;
}

SEC("raw_tp/sched_process_exec")
int allocsnoop_replaced(void *ctx)
{
	image__replaced();
	return 0;
}

/* --max-overhead: CPU time of threads, when they end... */
SEC("tp_btf/sched_process_exit")
int allocsnoop_used(__u64 *ctx)
{
	cpu__exited((struct task_struct *)ctx[0]);
	return 0;
}

SEC("tp_btf/sched_process_free")
int allocsnoop_reaped(__u64 *ctx)
{
	cpu__freed((struct task_struct *)ctx[0]);
	return 0;
}

/* ... and of those that live, as struct as_cpu_event. */
SEC("iter/task")
int allocsnoop_cpu(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct as_cpu_event ev = {};

	if (task && cpu__read(task, &ev))
		bpf_seq_write(ctx->meta->seq, &ev, sizeof(ev));
	return 0;
}

/* Every executable file mapping of the asked-for tasks, as struct as_map_event. */
SEC("iter/task_vma")
int allocsnoop_maps(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct as_map_event ev = {};

	if (!task || !vma || !map__event(vma, task, &ev))
		return 0;
	map__note(&ev);
	bpf_seq_write(ctx->meta->seq, &ev, sizeof(ev));
	return 0;
}
