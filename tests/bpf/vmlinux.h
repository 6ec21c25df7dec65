/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel objects as tests build them: stands where vmlinux/vmlinux.h does in the BPF build. The
 * shapes that i_mtime and mm_lock_seq had in different kernels lie side by side, so that reading
 * the wrong one gives a wrong answer.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/bpf.h>

#include "../../vmlinux/x86.h"

#define VM_EXEC	   0x00000004
#define HOST_SHAPE __attribute__((may_alias))

struct super_block {
	unsigned int s_dev;
};

struct timespec64 {
	long long tv_sec;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	unsigned int i_generation;
	long long mtime_sec;	/* from 6.11 */
	long long mtime_old;	/* to 6.6 */
	long long mtime_hidden; /* 6.7 to 6.10 */
};

struct inode___sec {
	long long before[3];
	long long i_mtime_sec;
} HOST_SHAPE;

struct inode___mtime {
	long long before[4];
	struct timespec64 i_mtime;
} HOST_SHAPE;

struct inode____mtime {
	long long before[5];
	struct timespec64 __i_mtime;
} HOST_SHAPE;

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct address_space {
	struct rb_root_cached i_mmap;
};

struct file {
	struct inode *f_inode;
	struct address_space *f_mapping;
};

struct seqcount {
	unsigned int sequence;
};

struct percpu_counter {
	long long count;
	int *counters;
};

#define MM_ANONPAGES 1

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct file *exe_file;
	unsigned int lock_seq;
	unsigned long start_code;
	unsigned long brk;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
	struct percpu_counter rss_stat[MM_ANONPAGES + 1];
};

struct mm_struct___percpu {
	struct file *before;
	unsigned int seq;
	unsigned long code[3];
	struct uprobes_state uprobes_state;
	struct percpu_counter rss_stat[MM_ANONPAGES + 1];
} HOST_SHAPE;

_Static_assert(sizeof(struct mm_struct___percpu) == sizeof(struct mm_struct), "the same shape");

struct mm_struct___seq {
	struct file *before;
	struct seqcount mm_lock_seq;
} HOST_SHAPE;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct kernfs_node {
	unsigned long long id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	unsigned int flags;
	struct {
		unsigned long long sum_exec_runtime;
	} se;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	unsigned long long start_boottime;
	unsigned long long self_exec_id;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	struct {
		unsigned long sig[1];
	} blocked;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct {
		int mode;
	} seccomp;
	struct signal_struct *signal;
	struct css_set *cgroups;
	char comm[16];
};

struct linux_binprm {
	const char *interp; /* the file that is run */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

struct syscall_enter {
	unsigned long common;
	long nr;
	unsigned long args[6];
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct syscall_exit {
	unsigned long common;
	long nr;
	long ret;
};

#endif
