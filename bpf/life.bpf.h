/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Process images and their executable mappings, as they come. */
#ifndef ALLOCSNOOP_LIFE_BPF_H
#define ALLOCSNOOP_LIFE_BPF_H

/* Names one process image for good: PID re-use and exec make another. Never 0. */
static __always_inline __u64 proc__image(struct task_struct *task, __u64 exec_id)
{
	__u64 h = hash__mix(hash__mix(0, task->tgid), task->group_leader->start_boottime);

	return hash__mix(h, exec_id) | 1;
}

static __always_inline __u64 proc__id(struct task_struct *task)
{
	return proc__image(task, task->self_exec_id);
}

/*
 * Whose blocks the task's allocations are: with --live its parent's while it's a vfork(2) child
 * that still runs in the parent's address space, as they stay there after it. Else its own.
 */
static __always_inline struct task_struct *space__owner(struct task_struct *task)
{
	struct task_struct *parent = task->real_parent;

	return as_live && parent->mm == task->mm && parent->tgid != task->tgid ? parent : task;
}

static __always_inline __u64 space__id(struct task_struct *task)
{
	return proc__id(space__owner(task));
}

/* Of the unified hierarchy; 0 where the kernel has no cgroups. */
static __always_inline __u64 cgroup__id(struct task_struct *task)
{
	return bpf_core_field_exists(task->cgroups) ? task->cgroups->dfl_cgrp->kn->id : 0;
}

/* Not 0: the event didn't get through. */
static __always_inline int proc__tell(struct task_struct *task, __u64 proc, __u64 wakeup)
{
	struct as_proc_event ev = { .type = AS_EVENT_PROC, .proc = proc };
	struct task_struct *leader = task->group_leader;
	struct file *exe = task->mm ? task->mm->exe_file : NULL;
	struct as_file_key key;
	__u32 one = 1;

	if (bpf_map_lookup_elem(&announced, &proc))
		return 0;
	ev.tgid = task->tgid;
	ev.start_boottime = leader->start_boottime;
	ev.exec_id = task->self_exec_id;
	ev.cgroup = cgroup__id(task);
	bpf_probe_read_kernel(ev.comm, sizeof(ev.comm), leader->comm);
	if (exe) {
		file__key(exe, &key);
		ev.exe_file = file__hash(&key);
	}
	if (bpf_ringbuf_output(&ring, &ev, sizeof(ev), wakeup)) {
		loss__count(AS_LOSS_PROC_RING_FULL);
		return 1;
	}
	bpf_map_update_elem(&announced, &proc, &one, BPF_ANY);
	return 0;
}

static __noinline int proc__announce(__u64 proc)
{
	return proc__tell(space__owner(bpf_get_current_task_btf()), proc, BPF_RB_FORCE_WAKEUP);
}

/*
 * Makes the slot the task's: its process is known to user space, its mappings are the cached ones
 * or none are, and no stack has been read. Mostly the same task comes again.
 */
static __always_inline void slot__enter(struct as_slot *s, struct task_struct *task)
{
	__u64 proc = s->proc, last = s->task;

	if (last != (__u64)task || s->born != task->start_boottime ||
	    s->exec_id != task->self_exec_id) {
		s->task = (__u64)task;
		s->born = task->start_boottime;
		s->exec_id = task->self_exec_id;
		proc = space__id(task);
		if ((proc != s->proc || !last) && proc__announce(proc))
			s->task = 0; /* so that the next hit tries again */
	}
	mapping__renew(s, task, proc);
	s->window.words = 0;
}

/*
 * The image is over. What it has counted may still wait in slots, but user space asks for that
 * before it takes an image's rows to be all there are. Where this event finds no room user space
 * notices by itself, later.
 */
static __always_inline void proc__over(__u64 proc, __u32 how)
{
	struct as_over_event ev = { .type = AS_EVENT_OVER, .how = how, .proc = proc };

	if (!bpf_map_lookup_elem(&announced, &proc))
		return;
	if (!bpf_ringbuf_output(&ring, &ev, sizeof(ev), BPF_RB_NO_WAKEUP))
		bpf_map_delete_elem(&announced, &proc);
}

/* Whoever looks at the sums later can't ask the thread for its name any more. */
static __always_inline void thread__tell(struct task_struct *task)
{
	struct as_thread_event ev = { .type = AS_EVENT_THREAD, .tid = task->pid };

	ev.proc = proc__id(task);
	if (!bpf_map_lookup_elem(&announced, &ev.proc))
		return;
	bpf_probe_read_kernel(ev.comm, sizeof(ev.comm), task->comm);
	if (bpf_ringbuf_output(&ring, &ev, sizeof(ev), BPF_RB_NO_WAKEUP))
		loss__count(AS_LOSS_PROC_RING_FULL);
}

/* The current thread ends; its process does when no other is left. */
static __always_inline void thread__ended(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = task->pid;

	bpf_map_delete_elem(&stops, &tid); /* it was killed before it stopped */
	if (as_threads)
		thread__tell(task);
	if (!task->signal->live.counter)
		proc__over(proc__id(task), AS_OVER_ENDED);
}

/* The current process has executed a program; the image before it had the number before. */
static __always_inline void image__replaced(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	proc__over(proc__image(task, task->self_exec_id - 1), AS_OVER_REPLACED);
}

/* vma: from a probe's register, so read by helper. False when it isn't an executable file mapping.
 */
static __always_inline bool map__event(struct vm_area_struct *vma, struct task_struct *task,
				       struct as_map_event *ev)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);

	if (!file || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return false;
	ev->type = AS_EVENT_MAP;
	ev->tgid = task->tgid;
	ev->proc = proc__id(task);
	ev->start = BPF_CORE_READ(vma, vm_start);
	ev->end = BPF_CORE_READ(vma, vm_end);
	ev->pgoff = BPF_CORE_READ(vma, vm_pgoff) << 12;
	file__key(file, &ev->key);
	ev->file = file__hash(&ev->key);
	return true;
}

#define SIGCHLD	   17
#define SIGURG	   23
#define SIGWINCH   28
#define SIG_BIT(n) (1ul << ((n)-1))

/*
 * A signal whose default action is to be ignored and that this thread doesn't block; 0 when it
 * blocks all of them. The tracer sees it before the program does and swallows it; should the tracer
 * have died in between, it does no harm.
 */
static __always_inline __u32 stop__signal(struct task_struct *task)
{
	unsigned long blocked = task->blocked.sig[0];

	if (!(blocked & SIG_BIT(SIGWINCH)))
		return SIGWINCH;
	if (!(blocked & SIG_BIT(SIGURG)))
		return SIGURG;
	if (!(blocked & SIG_BIT(SIGCHLD)))
		return SIGCHLD;
	return 0;
}

/* Holds the thread at the end of its system call, before it can run what it has just mapped. */
static __always_inline bool stop__request(struct task_struct *task)
{
	__u32 tid = task->pid, one = 1, sig = stop__signal(task);

	if (!sig || bpf_map_update_elem(&stops, &tid, &one, BPF_ANY))
		return false;
	if (!bpf_send_signal_thread(sig))
		return true;
	bpf_map_delete_elem(&stops, &tid);
	return false;
}

/* Where user space couldn't open the file, it tries again: walks may hope for rows. */
static __always_inline void file__expect(__u64 hash)
{
	struct as_file *f = bpf_map_lookup_elem(&files, &hash);

	if (f)
		__sync_fetch_and_and(&f->flags, ~AS_FILE_GONE);
}

/* A new executable mapping of a file that user space doesn't know: the process is held, or at least
 * reported. */
static __always_inline void map__unknown(struct task_struct *task, const struct as_map_event *ev,
					 __u32 flags)
{
	file__expect(ev->file);
	if (flags & AS_PROC_STOP) {
		if (stop__request(task))
			return;
		loss__count(AS_LOSS_SIGNAL_BLOCKED);
	}
	if (bpf_ringbuf_output(&map_ring, (void *)ev, sizeof(*ev), BPF_RB_FORCE_WAKEUP))
		loss__count(AS_LOSS_FILE_RING_FULL);
}

/* AS_PROC_* of the current process; false when its mappings are nobody's business. */
static __always_inline bool map__is_watched(__u32 tgid, __u32 *flags)
{
	__u32 *known = bpf_map_lookup_elem(&procs, &tgid);

	*flags = known ? *known : 0;
	return tgid != as_self_tgid && (known || as_all);
}

static __always_inline bool file__is_ready(__u64 hash)
{
	struct as_file *f = bpf_map_lookup_elem(&files, &hash);

	return f && f->flags & AS_FILE_READY;
}

static __always_inline void map__note(const struct as_map_event *ev)
{
	struct as_mapping m = {
		.start = ev->start,
		.end = ev->end,
		.bias = ev->pgoff - ev->start,
		.file = ev->file,
		.flags = AS_MAPPING_EXEC,
	};

	mapping__remember(ev->proc, &m);
}

/* A mapping was made or made executable. */
static __always_inline void map__enter(struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_map_event ev = {};
	__u32 flags;

	if (!map__is_watched(task->tgid, &flags) || !map__event(vma, task, &ev))
		return;
	map__note(&ev);
	if (!file__is_ready(ev.file))
		map__unknown(task, &ev, flags);
}

static long map__found(struct task_struct *task, struct vm_area_struct *vma,
		       struct as_map_event *ev)
{
	map__event(vma, task, ev);
	return 0;
}

/* The current process may have a new mapping at addr. Where it can't be looked up just now, user
 * space shall look. */
static __always_inline void map__look_at(struct task_struct *task, __u64 addr, __u32 flags)
{
	struct as_map_event ev = { .type = AS_EVENT_MAP, .tgid = task->tgid };
	long err = bpf_find_vma(task, addr, map__found, &ev, 0);

	if (!err && ev.file)
		map__note(&ev);
	if (err == -EBUSY || (ev.file && !file__is_ready(ev.file)))
		map__unknown(task, &ev, flags);
}

/* mmap(2) returned addr. */
static __always_inline void map__returned(__u64 addr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 flags;

	if (addr <= -4096ul && map__is_watched(task->tgid, &flags))
		map__look_at(task, addr, flags);
}

/* execve(2) has mapped the program, and the interpreter that will run first. */
static __always_inline void map__executed(struct task_struct *task, __u32 flags)
{
	map__look_at(task, task->mm->start_code, flags);
	map__look_at(task, ((struct pt_regs *)bpf_task_pt_regs(task))->ip, flags);
}

/* Says where the new program was found, if its file isn't known. */
static __always_inline void exe__tell(struct task_struct *task, struct linux_binprm *bprm)
{
	struct file *exe = task->mm ? task->mm->exe_file : NULL;
	struct as_exec_event *ev;
	struct as_file_key key;
	__u64 hash;

	if (!exe)
		return;
	file__key(exe, &key);
	hash = file__hash(&key);
	if (file__is_ready(hash))
		return;
	ev = bpf_ringbuf_reserve(&map_ring, sizeof(*ev), 0);
	if (!ev)
		return; /* it's a second try only */
	ev->type = AS_EVENT_EXEC;
	ev->tgid = task->tgid;
	ev->file = hash;
	ev->path[0] = '\0';
	bpf_probe_read_kernel_str(ev->path, sizeof(ev->path), bprm->interp);
	bpf_ringbuf_submit(ev, BPF_RB_FORCE_WAKEUP);
}

static __always_inline bool filter__holds(struct task_struct *task); /* filter.bpf.h */

/* Is the current process, or one that it has just made, to be listed though it hasn't allocated? */
static __always_inline bool proc__is_listed(struct task_struct *task)
{
	return !as_filter || filter__holds(task);
}

/* The current process is a new program: it's listed, whether it will allocate or not. */
static __always_inline void proc__executed(struct linux_binprm *bprm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 flags;

	if (!map__is_watched(task->tgid, &flags))
		return;
	if (!(flags & AS_PROC_STOP))
		exe__tell(task, bprm);
	if (proc__is_listed(task))
		proc__tell(task, proc__id(task), BPF_RB_NO_WAKEUP);
	/* Whoever is followed by ptrace stands still after exec and is looked at as a whole. */
	if (as_look_at_exec && !(flags & AS_PROC_STOP))
		map__executed(task, flags);
}

/* The current process has made another, or a thread. */
static __always_inline void proc__forked(struct task_struct *child)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 flags;

	if (child->tgid == task->tgid || !map__is_watched(task->tgid, &flags))
		return;
	if ((as_all || flags & AS_PROC_STOP) && proc__is_listed(task))
		proc__tell(child, proc__id(child), BPF_RB_NO_WAKEUP);
}

/* A descriptor that names a file. */
static __always_inline void fd__event(struct file *file, __u32 fd, struct as_fd_event *ev)
{
	struct as_file_key key;

	file__key(file, &key);
	ev->file = file__hash(&key);
	ev->fd = fd;
	ev->mapped = BPF_CORE_READ(file, f_mapping, i_mmap.rb_root.rb_node) != NULL;
}

#endif
