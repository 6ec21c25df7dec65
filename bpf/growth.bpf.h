/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Growth below the allocators: of the address space, by system calls, and of memory in use, page by
 * page. The same sums and stacks as of allocation calls; only the stack begins in the middle of a
 * function, with the registers that the thread had when it entered the kernel.
 */
#ifndef ALLOCSNOOP_GROWTH_BPF_H
#define ALLOCSNOOP_GROWTH_BPF_H

#define GROWTH_MAP_ANONYMOUS	0x20 /* asm-generic/mman-common.h */
#define GROWTH_MREMAP_DONTUNMAP 4    /* linux/mman.h */
#define GROWTH_ERROR(ret)	((__u64)(ret) > -4096ul)

/* Is it of interest what this process does? */
static __always_inline bool growth__is_watched(const struct task_struct *task)
{
	__u32 tgid = task->tgid, *known;

	if (!growing || (as_filter && filter__ask() != FILTER_IN))
		return false;
	if (as_all)
		return tgid != as_self_tgid;
	known = bpf_map_lookup_elem(&procs, &tgid);
	return known && *known & AS_PROC_TARGET;
}

static __always_inline struct pt_regs *growth__regs(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

/* What a memo is found by. (A probe may be on the instruction that was interrupted.) */
static __always_inline __u64 growth__memo_ip(const struct call *c)
{
	return c->ip ^ c->cookie;
}

/* As call__walk(), from interrupted code. */
__noinline int growth__walk(struct call *c, __u32 slot)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct walk *w;

	if (!c || !s)
		return 0;
	w = &s->walk;
	memo__begin(s, growth__memo_ip(c), c->sp, c->bp);
	s->now.may_be_jumped_to = 0;
	walk__begin_at(w, s, AS_COOKIE_SITE(c->cookie), c->ip, c->sp, c->bp, c->bx);
	walk__rest(w, slot);
	call__settle(c, s, w, slot);
	return 0;
}

static __always_inline void growth__take(struct call *c, struct task_struct *task)
{
	struct as_memo *m;
	struct as_slot *s;
	__u32 slot;

	s = slot__claim(&slot);
	if (!s) {
		call__sum(c, 0, space__id(task));
		return;
	}
	slot__enter(s, task);
	m = memo__find(s, growth__memo_ip(c), c->sp, c->bp);
	if (m)
		call__add(c, &m->key, m);
	else
		growth__walk(c, slot);
	if (!as_live)
		taken__count(slot);
	slot__release(s);
}

/* ---- --live: user space keeps the mappings, since parts of them come and go ---- */

static __noinline int range__tell(__u32 what, __u64 start, __u64 end, __u64 to, __u32 row)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_range_event ev = {
		.type = AS_EVENT_RANGE,
		.what = what,
		.row = row,
		.tid = task->pid,
		.space = space__id(task),
		.start = start,
		.end = end,
		.to = to,
		.time = bpf_ktime_get_ns(),
	};

	if (!bpf_ringbuf_output(&ring, &ev, sizeof(ev), ring__flags()))
		return true;
	loss__count(AS_LOSS_RANGE_RING_FULL);
	return false;
}

/* Counts what user space is told of. */
static __noinline int range__made(__u64 start, __u64 size, __u32 at)
{
	bool told = range__tell(AS_RANGE_MADE, start, start + size, 0, at);
	struct as_live_row *r;

	if (at == AS_ROW_NONE)
		return 0;
	if (!told)
		return row__untracked(at, size);
	r = bpf_map_lookup_elem(&live_rows, &at);
	if (!r)
		return 0;
	__sync_fetch_and_add(&r->alloc_cnt, 1);
	__sync_fetch_and_add(&r->alloc_bytes, size);
	return 0;
}

/* So many bytes more, by the code that entered the kernel; with --live they are at start. */
static __noinline int growth__add(__u32 site, __u64 size, __u64 start)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = growth__regs(task);
	struct call c = {
		.cookie = (__u64)site << 32,
		.size = size,
		.sp = user->sp,
		.ip = user->ip,
		.bp = user->bp,
		.bx = user->bx,
		.row = AS_ROW_NONE,
	};

	if (size >= as_min_size && size <= as_max_size &&
	    (!as_sampling || call__is_kept(&c, counters__call())))
		growth__take(&c, task);
	if (as_live)
		range__made(start, size, c.row);
	return 0;
}

/* ---- system calls ---- */

#define GROWTH_PAGE_UP(size) (((size) + AS_PAGE - 1) & -(__u64)AS_PAGE)

static __always_inline void growth__mmap(__u64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct regs_args args;

	if (!growth__is_watched(task))
		return;
	args = regs__syscall_args(growth__regs(task));
	if (GROWTH_ERROR(ret))
		counters__failed();
	else
		growth__add(args.v[4] & GROWTH_MAP_ANONYMOUS ? AS_GROWTH_MMAP : AS_GROWTH_MMAP_FILE,
			    args.v[2], ret);
}

/* munmap(2) begins (--live). */
static __always_inline void growth__munmap_begins(__u64 start, __u64 size)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (growth__is_watched(task))
		range__tell(AS_RANGE_LEAVES, start, start + GROWTH_PAGE_UP(size), 0, AS_ROW_NONE);
}

static __always_inline void growth__munmap(__u64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (ret && growth__is_watched(task))
		range__tell(AS_RANGE_STAYS, 0, 0, 0, AS_ROW_NONE);
}

/* From no bytes, or with the old mapping left where it is, mremap(2) makes a whole one more. */
static __always_inline __u64 mremap__old_size(const struct regs_args *args)
{
	return args->v[4] & GROWTH_MREMAP_DONTUNMAP ? 0 : args->v[2];
}

/* mremap(2) begins (--live). */
static __always_inline void growth__mremap_begins(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct regs_args args;
	__u64 old;

	if (!growth__is_watched(task))
		return;
	args = regs__syscall_args(growth__regs(task));
	old = mremap__old_size(&args);
	if (old)
		range__tell(AS_RANGE_LEAVES, args.v[1], args.v[1] + GROWTH_PAGE_UP(old), 0,
			    AS_ROW_NONE);
}

/* --live: where the old mapping, or as much as is left of it, has gone. */
static __always_inline void mremap__moved(const struct regs_args *args, __u64 old, __u64 ret)
{
	__u64 kept = old < args->v[3] ? old : args->v[3];

	if (GROWTH_ERROR(ret))
		range__tell(AS_RANGE_STAYS, 0, 0, 0, AS_ROW_NONE);
	else
		range__tell(AS_RANGE_MOVED, args->v[1], args->v[1] + GROWTH_PAGE_UP(kept), ret,
			    AS_ROW_NONE);
}

static __always_inline void growth__mremap(__u64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct regs_args args;
	__u64 old, new;

	if (!growth__is_watched(task))
		return;
	args = regs__syscall_args(growth__regs(task));
	old = mremap__old_size(&args);
	new = args.v[3];
	if (as_live && old)
		mremap__moved(&args, old, ret);
	if (new <= old)
		return;
	if (GROWTH_ERROR(ret))
		counters__failed();
	else
		growth__add(AS_GROWTH_MREMAP, new - old, ret + old);
}

/* A break is about to be set: noted where it was. */
static __always_inline void growth__brk_begins(__u64 wanted)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = task->pid;
	__u64 old;

	if (!growth__is_watched(task) || !task->mm)
		return;
	old = task->mm->brk;
	if ((wanted > old || (as_live && wanted && wanted < old)) &&
	    bpf_map_update_elem(&breaks, &tid, &old, BPF_ANY))
		loss__count(AS_LOSS_BREAK_UNKNOWN);
}

/* brk(2) returns where the break is now, moved or not. */
static __always_inline void growth__brk(__u64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *noted, old;
	__u32 tid = task->pid;

	if (!growth__is_watched(task))
		return;
	noted = bpf_map_lookup_elem(&breaks, &tid);
	if (!noted)
		return;
	old = *noted;
	bpf_map_delete_elem(&breaks, &tid);
	if (ret > old)
		growth__add(AS_GROWTH_BRK, ret - old, old);
	else if (ret < old)
		range__tell(AS_RANGE_LEAVES, ret, old, 0, AS_ROW_NONE);
	else if (growth__regs(task)->di > old)
		counters__failed();
}

/* ---- memory in use ---- */

#define RSS_HUGE   512 /* pages of the largest folio that a fault brings */
#define RSS_SYNCED 64  /* before 6.2: TASK_RSS_EVENTS_THRESH, mm/memory.c */

/* Since 6.2 each change is told of, but not what it was: that follows from the CPU's own part. */
static __always_inline bool rss__is_percpu(void)
{
	struct mm_struct___percpu *mm = NULL;

	return bpf_core_field_exists(mm->rss_stat[MM_ANONPAGES].counters);
}

/*
 * Where this CPU's copy of per-CPU memory lies, counted from its address. Variables that say so
 * have no addresses in kernels without CONFIG_KALLSYMS_ALL; but a per-CPU map has both.
 */
static __always_inline __u64 percpu__offset(void)
{
	__u64 at_cpu = 0, at_map = 0, addr = 0, *off;
	void *map = &percpu;
	__u32 zero = 0;

	off = bpf_map_lookup_elem(map, &zero);
	if (!off)
		return 0;
	if (*off)
		return *off;
	/* The verifier lets nobody count with such pointers; read from the stack they are numbers.
	 */
	bpf_probe_read_kernel(&at_cpu, sizeof(at_cpu), &off);
	bpf_probe_read_kernel(&at_map, sizeof(at_map), &map);
	at_map += bpf_core_field_offset(((struct bpf_array *)0)->pptrs);
	bpf_probe_read_kernel(&addr, sizeof(addr), (void *)at_map);
	*off = at_cpu - addr;
	return *off;
}

static __always_inline void rss__read(struct mm_struct *mm, struct as_rss *now)
{
	struct percpu_counter *c = &((struct mm_struct___percpu *)mm)->rss_stat[MM_ANONPAGES];
	__u64 counters = (__u64)c->counters;
	int local = 0;

	now->count = c->count;
	bpf_probe_read_kernel(&local, sizeof(local), (void *)(counters + percpu__offset()));
	now->local = local;
}

/* Has the kernel been entered by an exception? Those bring pages; a system call may also take some
 * away. */
static __always_inline bool growth__is_exception(void)
{
	return regs__syscall(growth__regs(bpf_get_current_task_btf())) < 0;
}

static __always_inline bool rss__is_folio(__s64 pages)
{
	return pages > 0 && pages <= RSS_HUGE && !(pages & (pages - 1));
}

/*
 * Pages that have come (below 0: gone) with this change. Where a CPU's part would reach the batch
 * it goes to the common part, and is 0 then; how much it was follows from that, unless other CPUs
 * have changed it, too.
 */
static __always_inline __s64 rss__change(const struct as_rss *last, const struct as_rss *now)
{
	__s64 moved;

	if (!rss__is_percpu())
		return now->count - last->count;
	if (now->local || now->count == last->count)
		return now->local - last->local;
	moved = now->count - last->count - last->local;
	if (rss__is_folio(moved))
		return moved;
	if (last->local == -1 || last->local == (__s64)as_rss_batch - 1)
		return 1;
	return growth__is_exception() ? RSS_HUGE : 0;
}

/* Of an address space that is seen for the first time, here. */
static __always_inline __s64 rss__first(const struct as_rss *now)
{
	if (!growth__is_exception())
		return 0;
	if (rss__is_percpu())
		return 1;
	return now->count < RSS_SYNCED ? now->count : RSS_SYNCED;
}

/*
 * The pages that the current process has got; 0 also where its address space isn't the one that has
 * changed: fork(2) fills the child's, reclaim takes from anybody's. That is noted all the same, for
 * those that a target has seen before.
 */
static __noinline __s64 rss__grown(struct mm_struct *mm, __u64 count, __u64 proc, __u64 watched)
{
	struct as_rss_key key = { .mm = (__u64)mm };
	struct as_rss now = { .proc = proc, .count = count }, *last;
	__s64 pages;

	if (rss__is_percpu()) {
		key.cpu = bpf_get_smp_processor_id();
		rss__read(mm, &now);
	}
	last = bpf_map_lookup_elem(&rss, &key);
	if (!last) {
		if (watched)
			bpf_map_update_elem(&rss, &key, &now, BPF_ANY);
		return proc ? rss__first(&now) : 0;
	}
	pages = !proc || !last->proc || last->proc == proc ? rss__change(last, &now)
							   : rss__first(&now);
	*last = now;
	return proc ? pages : 0;
}

static __always_inline bool growth__gives_up(long nr)
{
	return nr == REGS_NR_MUNMAP || nr == REGS_NR_MADVISE || nr == REGS_NR_EXECVE ||
	       nr == REGS_NR_EXECVEAT || nr == REGS_NR_EXIT || nr == REGS_NR_EXIT_GROUP;
}

static __always_inline void growth__rss(struct mm_struct *mm, __u64 count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool own = task->mm == mm, watched = growth__is_watched(task);
	__s64 pages;

	if (own && !watched)
		return;
	pages = rss__grown(mm, count, own ? proc__id(task) : 0, watched);
	if (pages > 0 && !growth__gives_up(regs__syscall(growth__regs(task))))
		growth__add(AS_GROWTH_FAULT, pages << 12, 0);
}

#endif
