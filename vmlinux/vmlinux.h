/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The few kernel types we touch, with only the fields we read; CO-RE finds their real places in the
 * running kernel's BTF. Flavours (name___x) are other kernels' shapes of the same type.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/bpf.h>

#ifdef __TARGET_ARCH_x86
#include "x86.h"
#else
#error "no registers for this architecture"
#endif

#define VM_EXEC 0x00000004 /* include/linux/mm.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	unsigned long sig[1];
} sigset_t;

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
};

struct inode___sec { /* from 6.11 */
	long long i_mtime_sec;
};

struct inode___mtime { /* to 6.6 */
	struct timespec64 i_mtime;
};

struct inode____mtime { /* 6.7 to 6.10 */
	struct timespec64 __i_mtime;
};

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

typedef struct seqcount seqcount_t;

struct percpu_counter {
	long long count;
	int *counters;
};

struct bpf_array { /* BPF_MAP_TYPE_PERCPU_ARRAY */
	void *pptrs[1];
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct file *exe_file;
	unsigned long start_code;
	unsigned long brk;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

struct mm_struct___seq { /* from 6.13: odd while a writer is inside; before that an int, or nothing
			  */
	seqcount_t mm_lock_seq;
};

#define MM_ANONPAGES 1

struct mm_struct___percpu { /* from 6.2; before that counters that threads add to now and then */
	struct percpu_counter rss_stat[MM_ANONPAGES + 1];
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct return_instance {
	unsigned long orig_ret_vaddr;
	unsigned long stack;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct seccomp {
	int mode;
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
	atomic_t live; /* threads that have not begun to exit */
};

struct sched_entity {
	unsigned long long sum_exec_runtime;
};

struct task_struct {
	unsigned int flags;
	struct sched_entity se;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	unsigned long long start_boottime;
	unsigned long long self_exec_id;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	sigset_t blocked;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct seccomp seccomp;
	struct uprobe_task *utask;
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

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* Records of the tracepoints syscalls:sys_enter_* and sys_exit_* (a fixed layout: their `format`
 * files). */
struct syscall_enter {
	unsigned long common;
	long nr;
	unsigned long args[6];
};

struct syscall_exit {
	unsigned long common;
	long nr;
	long ret;
};

#endif
