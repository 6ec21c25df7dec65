/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF text on the host: includes bpf/allocsnoop.bpf.c with stand-ins for the kernel's helpers,
 * so that tests run the very lines that the kernel runs, under sanitizers, in situations a live
 * system seldom has. What the kernel side would find (tasks, mappings, user memory, a full ring) is
 * in `host`, and is the test's to set.
 */
#ifndef TESTS_BPF_HOST_H
#define TESTS_BPF_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "host_map.h"
#include "vmlinux.h"

struct host_memory {
	__u64 start;
	__u64 size;
	__u8 *bytes;
};

struct host_record {
	__u64 size;
	__u64 flags;
	void *data;
};

#define HOST_MEMORIES 8
#define HOST_VMAS     32

struct host {
	struct task_struct *task; /* that is running */
	struct pt_regs *user;	  /* its registers when it entered the kernel */
	__u32 cpu;
	__u64 cookie;
	__u64 now;	   /* ns */
	long under_cgroup; /* what the kernel says of the current task; < 0: an error */
	bool is_return;	   /* a session program runs for the call's return */
	struct host_memory memory[HOST_MEMORIES];
	__u32 memory_cnt;
	__u64 fault_start; /* user memory that faults, although it's there */
	__u64 fault_end;
	__u64 reads; /* of user memory, so far */
	struct vm_area_struct vma[HOST_VMAS];
	__u32 vma_cnt;
	bool busy;	 /* the lock of the mappings is held: bpf_find_vma fails */
	__u64 busy_at;	 /* ... at this call only, from 1 */
	__u64 vma_calls; /* of bpf_find_vma, so far */
	bool no_storage; /* bpf_task_storage_get fails */
	struct host_record *ring;
	__u32 ring_cnt;
	__u64 ring_used; /* bytes, as the kernel counts them */
	__u64 ring_size;
	__u64 reserved; /* bytes, not submitted yet */
	bool ring_full;
	__u32 signal; /* last one sent */
	int signal_err;
	__u8 seq[4096] __attribute__((aligned(8))); /* what an iterator has written */
	__u64 seq_size;
	enum { MTIME_SEC, MTIME_OLD, MTIME_HIDDEN } mtime;
	bool no_lock_seq;      /* kernels before 6.13 */
	bool no_percpu_rss;    /* kernels before 6.2 */
	bool no_trampoline;    /* kernels that keep its address elsewhere */
	void (*preempt)(void); /* called in every helper: something else may happen there */
};

static struct host host;

static inline void host__preempt(void)
{
	if (host.preempt)
		host.preempt();
}

/* ---- what bpf_helpers.h, bpf_core_read.h and bpf_tracing.h give ---- */

#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__
#define __BPF_TRACING_H__

#define SEC(name)
#define __uint(name, val)  int(*name)[val]
#define __type(name, val)  typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))
#define __ksym
#define __weak			     __attribute__((weak))
#define barrier()		     asm volatile("" ::: "memory")
#define barrier_var(v)		     asm volatile("" : "+r"(v))
#define BPF_KPROBE(name, ...)	     name(struct pt_regs *ctx, __VA_ARGS__)
#define BPF_PROG(name, ...)	     name(unsigned long long *ctx, __VA_ARGS__)
#define HOST_PICK(a, b, c, ...)	     c
#define HOST_READ1(p, a)	     ((p)->a)
#define HOST_READ2(p, a, b)	     ((p)->a->b)
#define BPF_CORE_READ(p, ...)	     HOST_PICK(__VA_ARGS__, HOST_READ2, HOST_READ1)(p, __VA_ARGS__)
#define bpf_core_field_exists(field) ((void)sizeof(field), host__has(#field))
#define bpf_core_field_offset(field) 0

static inline bool host__has(const char *field)
{
	if (strstr(field, "mm_lock_seq"))
		return !host.no_lock_seq;
	if (strstr(field, "rss_stat"))
		return !host.no_percpu_rss;
	if (strstr(field, "uprobes_state") || strstr(field, "area->vaddr"))
		return !host.no_trampoline;
	if (strstr(field, "cgroups"))
		return host.task->cgroups;
	if (strstr(field, "i_mtime_sec"))
		return host.mtime == MTIME_SEC;
	return host.mtime == MTIME_OLD;
}

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	host__preempt();
	return host_map__lookup(host_map__of(map), key);
}

static inline long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	host__preempt();
	return host_map__update(host_map__of(map), key, value, flags);
}

static inline long bpf_map_delete_elem(void *map, const void *key)
{
	host__preempt();
	return host_map__remove(host_map__of(map), key);
}

static inline long bpf_map_pop_elem(void *map, void *value)
{
	host__preempt();
	return host_map__pop(host_map__of(map), value);
}

static inline long bpf_map_push_elem(void *map, const void *value, __u64 flags)
{
	(void)flags;
	host__preempt();
	return host_map__push(host_map__of(map), value);
}

static inline void *bpf_task_storage_get(void *map, struct task_struct *task, const void *value,
					 __u64 flags)
{
	struct host_map *m = host_map__of(map);

	host__preempt();
	if (host.no_storage)
		return NULL;
	if (!host_map__lookup(m, &task) && flags & BPF_LOCAL_STORAGE_GET_F_CREATE)
		host_map__insert(m, &task, value);
	return host_map__lookup(m, &task);
}

/* kernel/bpf/ringbuf.c: a header of 8 bytes, and the sum rounded up to 8. */
static inline long bpf_ringbuf_output(void *map, const void *data, __u64 size, __u64 flags)
{
	__u64 need = (size + 8 + 7) / 8 * 8;
	struct host_record *r;

	(void)map;
	host__preempt();
	if (host.ring_full || host.ring_used + need > host.ring_size)
		return -EAGAIN;
	host.ring_used += need;
	host.ring = realloc(host.ring, (host.ring_cnt + 1) * sizeof(*host.ring));
	r = &host.ring[host.ring_cnt++];
	*r = (struct host_record){ .size = size, .flags = flags, .data = malloc(size) };
	memcpy(r->data, data, size);
	return 0;
}

static inline void *bpf_ringbuf_reserve(void *map, __u64 size, __u64 flags)
{
	static __u8 room[4096] __attribute__((aligned(8)));

	(void)map;
	(void)flags;
	host__preempt();
	if (host.ring_full || size > sizeof(room))
		return NULL;
	host.reserved = size;
	return room;
}

static inline void bpf_ringbuf_submit(void *data, __u64 flags)
{
	bpf_ringbuf_output(NULL, data, host.reserved, flags);
}

static inline long bpf_probe_read_kernel_str(void *to, __u32 size, const void *from)
{
	__u32 n = strnlen(from, size - 1);

	memcpy(to, from, n);
	((char *)to)[n] = '\0';
	return n + 1;
}

static inline __u64 bpf_ringbuf_query(void *map, __u64 flags)
{
	(void)map;
	return flags == BPF_RB_AVAIL_DATA ? host.ring_used : host.ring_size;
}

static inline const __u8 *host__user(__u64 addr, __u64 size)
{
	if (addr < host.fault_end && addr + size > host.fault_start)
		return NULL;
	for (__u32 i = 0; i < host.memory_cnt; i++) {
		const struct host_memory *m = &host.memory[i];

		if (addr >= m->start && addr - m->start <= m->size &&
		    size <= m->size - (addr - m->start))
			return m->bytes + (addr - m->start);
	}
	return NULL;
}

/* All or nothing; what can't be read is zeroed, as the kernel does. */
static inline long bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	const __u8 *bytes = host__user((__u64)(uintptr_t)from, size);

	host__preempt();
	host.reads++;
	if (bytes)
		memcpy(to, bytes, size);
	else
		memset(to, 0, size);
	return bytes ? 0 : -EFAULT;
}

static inline long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

static inline long host__find_vma(__u64 addr, struct vm_area_struct **vma)
{
	host__preempt();
	if (host.busy || ++host.vma_calls == host.busy_at)
		return -EBUSY;
	for (__u32 i = 0; i < host.vma_cnt; i++) {
		*vma = &host.vma[i];
		if (addr >= (*vma)->vm_start && addr < (*vma)->vm_end)
			return 0;
	}
	return -ENOENT;
}

#define bpf_find_vma(task, addr, fn, arg, flags)                   \
	({                                                         \
		struct vm_area_struct *found_vma = NULL;           \
		long found_err = host__find_vma(addr, &found_vma); \
                                                                   \
		if (!found_err)                                    \
			fn(task, found_vma, arg);                  \
		found_err;                                         \
	})

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	return host.task;
}

static inline long bpf_task_pt_regs(struct task_struct *task)
{
	(void)task;
	return (long)host.user;
}

static inline __u64 bpf_get_current_pid_tgid(void)
{
	return (__u64)host.task->tgid << 32 | (__u32)host.task->pid;
}

static inline long bpf_current_task_under_cgroup(void *map, __u32 index)
{
	(void)map;
	(void)index;
	return host.under_cgroup;
}

static inline __u32 bpf_get_smp_processor_id(void)
{
	return host.cpu;
}

static inline __u64 bpf_ktime_get_ns(void)
{
	return host.now;
}

bool bpf_session_is_return(void)
{
	return host.is_return;
}

static inline __u64 bpf_get_attach_cookie(void *ctx)
{
	(void)ctx;
	return host.cookie;
}

static inline long bpf_send_signal_thread(__u32 sig)
{
	host__preempt();
	if (host.signal_err)
		return host.signal_err;
	host.signal = sig;
	return 0;
}

static inline long bpf_seq_write(struct seq_file *seq, const void *data, __u32 size)
{
	(void)seq;
	if (host.seq_size + size > sizeof(host.seq))
		return -EOVERFLOW;
	memcpy(host.seq + host.seq_size, data, size);
	host.seq_size += size;
	return 0;
}

/* ---- the text itself ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define const /* knobs are the loader's to set before it loads; here they are a test's */
#include "config.bpf.h"
#undef const
#include "allocsnoop.bpf.c"
#pragma GCC diagnostic pop

/* ---- for tests ---- */

static inline void host__add_maps(void)
{
	HOST_MAP(slots);
	HOST_MAP(copies);
	HOST_MAP(jumps);
	HOST_MAP(jumpers);
	HOST_MAP(thr);
	HOST_MAP(files);
	HOST_MAP(ranges);
	HOST_MAP(fixed_sizes);
	HOST_MAP(address_chunks);
	HOST_MAP(procs);
	HOST_MAP(globs);
	HOST_MAP(stops);
	HOST_MAP(seen);
	HOST_MAP(announced);
	HOST_MAP(tally_a);
	HOST_MAP(tally_b);
	HOST_MAP(fill);
	HOST_MAP(counters);
	HOST_MAP(taken);
	HOST_MAP(losses);
	HOST_MAP(buckets);
	HOST_MAP(spilled);
	HOST_MAP(live_rows);
	HOST_MAP(live_row_at);
	HOST_MAP(heaps);
	HOST_MAP(heap_at);
	HOST_MAP(breaks);
	HOST_MAP(rss);
	HOST_MAP(percpu);
	HOST_QUEUE(free_rows);
	HOST_QUEUE(free_heaps);
	HOST_MAP(costs);
	HOST_MAP(groups);
	HOST_MAP(dead);
	HOST_MAP(rules);
	HOST_MAP(rule_cache);
	HOST_MAP_OF_MAPS(tally);
	HOST_MAP_OF_MAPS(tables);
	host_map__add(&threads, "threads", BPF_MAP_TYPE_HASH, sizeof(void *),
		      sizeof(*threads.value), 1u << 20);
	host_map_text_cnt = host_map_cnt;
}

static inline void host_ring__consume(void)
{
	for (__u32 i = 0; i < host.ring_cnt; i++)
		free(host.ring[i].data);
	free(host.ring);
	host.ring = NULL;
	host.ring_cnt = 0;
	host.ring_used = 0;
}

static inline void host__set_tally(void *inner)
{
	__u32 zero = 0;

	host_map__update(host_map__of(&tally), &zero, &inner, BPF_ANY);
}

/* A machine of four CPUs on which nothing has happened yet, and the loader's settings. */
static inline void host__reset(void)
{
	if (!host_map_cnt)
		host__add_maps();
	for (__u32 i = 0; i < host_map_cnt; i++) {
		host_map__clear(&host_maps[i]);
		host_maps[i].max = host_maps[i].declared_max;
		host_maps[i].fail = 0;
		host_maps[i].before_update = NULL;
	}
	host_map_cnt = host_map_text_cnt;
	host_ring__consume();
	for (__u32 i = 0; i < host.memory_cnt; i++)
		free(host.memory[i].bytes);
	host = (struct host){ .ring_size = 16 << 20 };
	host_map__of(&slots)->max = host_map__of(&copies)->max = host_map__of(&taken)->max =
		4 * AS_SLOTS_PER_CPU;
	host_map__of(&counters)->max = host_map__of(&costs)->max = 4;
	as_slot_mask = 4 * AS_SLOTS_PER_CPU - 1;
	as_cpu_mask = 3;
	as_self_tgid = as_all = as_filter = as_sampling = as_same_thr = as_seed = as_min_size = 0;
	as_max_size = ~0ull;
	as_max_depth = 512;
	as_tally_half = 1 << 16;
	as_ring_quarter = host.ring_size / 4;
	as_copies_max = host.ring_size / 2;
	as_live = as_events = as_live_exact = as_seccomp_unsafe = as_layers = 0;
	as_threads = 0;
	as_bucket_mask = 0;
	as_rss_batch = 32;
	host_map__of(&rss)->max = 1024;
	as_live_row_max = live_row_cnt = AS_CLASS_CNT;
	as_heap_max = heap_cnt = 1;
	rows_reused = heaps_reused = exits = as_look_at_exec = 0;
	as_alarm_hits = ~0ull;
	as_alarm_ns = 0;
	table_epoch = jumpers_full = copies_sent = copies_done = 0;
	counting = growing = 1;
	host__set_tally(&tally_a);
}

/* Room for user memory of that address. */
static inline __u64 *host__add_memory(__u64 start, __u64 size)
{
	struct host_memory *m = &host.memory[host.memory_cnt++];

	*m = (struct host_memory){ .start = start, .size = size, .bytes = calloc(1, size) };
	return (__u64 *)(void *)m->bytes;
}

static inline void host__add_vma(__u64 start, __u64 end, __u64 pgoff, unsigned long flags,
				 struct file *file)
{
	host.vma[host.vma_cnt++] = (struct vm_area_struct){ .vm_start = start,
							    .vm_end = end,
							    .vm_pgoff = pgoff,
							    .vm_flags = flags,
							    .vm_file = file };
}

static inline __u64 host__loss(__u32 which)
{
	__u64 *n = host_map__lookup(host_map__of(&losses), &which);

	return n ? *n : 0;
}

static inline __u64 host__losses(void)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < AS_LOSS_CNT; i++)
		sum += host__loss(i);
	return sum;
}

/* SplitMix64: tests draw from their own, with fixed seeds. */
static inline uint64_t host__random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

#endif
