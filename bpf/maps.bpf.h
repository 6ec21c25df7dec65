/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Every map, and the two words all rooms use: count a loss, count an event. Sizes of 1 are set at
 * load time. */
#ifndef ALLOCSNOOP_MAPS_BPF_H
#define ALLOCSNOOP_MAPS_BPF_H

#define AS_SLOTS_PER_CPU 4
#define AS_SLOT_TRIES	 16

/* One allocation call. */
struct call {
	__u64 cookie;
	__u64 size;
	__u64 old; /* block that realloc takes over, 0 none */
	__u64 sp;  /* at the entry: the return address lies there */
	__u64 ip;  /* of the probe; the next two are the registers there */
	__u64 bp;
	__u64 bx;
	__u64 space; /* --live: whose heap it is, once known */
	__u32 row;   /* --live: what the call is counted in */
	__u32 pad;   /* verifiers before 6.3 want every byte written that is passed on */
};

/* A call that has begun: what its return must know (--live). */
struct as_open {
	__u64 sp; /* of the entry: the call returns with this + 8; 0: free */
	__u64 size;
	__u64 out;   /* where the block's address goes; 0: it's returned */
	__u64 old;   /* the block that realloc was given */
	__u64 flags; /* AS_SITE_*, and AS_OPEN_TOOK */
	__u64 space; /* process image whose heap it is */
	__u32 row;   /* AS_ROW_NONE: the new block isn't counted */
	__u32 pad;
	struct as_block taken; /* the old block's, where it was known */
};

#define AS_OPEN_TOOK (1ull << 63)
#define AS_OPEN_CNT  4 /* calls inside calls: signal handlers */

struct as_thread {
	/* The thread's previous hit, where that function may jump on to another site (see
	 * call__is_jump). */
	__u64 sp; /* of the entry: where the return address is */
	__u64 ra;
	__u64 size;
	__u64 old;
	__u32 site; /* 0: nothing to match */
	__u32 next; /* open call to give up when there are too many */
	/* --live */
	__u64 newest;	 /* the block that the last call returned, until the next call */
	__u64 freed;	 /* the block that was freed last, until the next call */
	__u64 has_exits; /* a call of AS_SITE_EXITS has begun, ever */
	struct as_open open[AS_OPEN_CNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* New mappings of unknown files: read by a thread that does nothing else, as the process may be
 * gone in a moment. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} map_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_slot);
} slots SEC(".maps");

/* Of each slot, what copy__take() has made. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_copy_event);
} copies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct as_thread);
} threads SEC(".maps");

/* AS_JUMP() -> 1. A jump by name leads to each file that has the name: of n copies of a library in
 * containers there are n * n. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
} jumps SEC(".maps");

/*
 * Places (see jumper__key) from which a function that may jump on was called. What falls out was of
 * a process that has ended, or comes again before the jump that it is asked for.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
} jumpers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, AS_CLASS_CNT);
	__type(key, __u32);
	__type(value, __u64); /* keep when a 32-bit draw is below; 2^32: always */
} thr SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct as_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct as_ranges);
} ranges SEC(".maps");

/* Site number -> bytes, of sites with AS_SITE_FIXED. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} fixed_sizes SEC(".maps");

/* See struct as_address_chunk. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct as_address_chunk);
} address_chunks SEC(".maps");

/* tgid -> AS_PROC_* */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} procs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_globs);
} globs SEC(".maps");

/* The kernel's helper looks at the unified hierarchy only. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroup SEC(".maps");

/* tid -> 1: the signal this thread stops for is ours */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} stops SEC(".maps");

/* Stacks and process images that user space was told about. What falls out is told again: harmless.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, __u64);
	__type(value, __u32);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} announced SEC(".maps");

struct tally_inner {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__type(key, struct as_tally_key);
	__type(value, struct as_tally);
};

struct tally_inner tally_a SEC(".maps");
struct tally_inner tally_b SEC(".maps");

/* The active tally. Replacing the slot waits for every program that still holds the old one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct tally_inner);
} tally SEC(".maps") = { .values = { &tally_a } };

/* Rows inserted since the last flip. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} fill SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_counters);
} counters SEC(".maps");

/* Calls counted, by slot: whoever holds the slot adds, so no atomics. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_taken);
} taken SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, AS_LOSS_CNT);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

/* ---- the live heap; sizes are 1 where it isn't asked for ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_bucket);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct as_block);
} spilled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_live_row);
} live_rows SEC(".maps");

/* Tally key -> its row. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct as_tally_key);
	__type(value, __u32);
} live_row_at SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_heap);
} heaps SEC(".maps");

/* Process image -> its heap. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} heap_at SEC(".maps");

/* Elements of `live_rows` and `heaps` that user space has given back: of images that are over. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_heaps SEC(".maps");

/* ---- growth ---- */

/* tid -> where the break was, while a system call raises it */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u64);
} breaks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct as_rss_key);
	__type(value, struct as_rss);
} rss SEC(".maps");

/* What to add to an address of per-CPU memory to get this CPU's; 0: not known yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} percpu SEC(".maps");

/* ---- what tracing costs; there with --max-overhead only ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct as_cost);
} costs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct as_group_key);
	__type(value, struct as_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct as_dying);
} dead SEC(".maps");

/* A ring of its own: nobody who is busy with the other one reads it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} alarms SEC(".maps");

/* ---- unwind tables ---- */

struct table_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(union as_page));
};

#define AS_TABLE_MAX 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, AS_TABLE_MAX);
	__type(key, __u32);
	__array(values, struct table_inner);
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, AS_RULE_MAX);
	__type(key, __u32);
	__type(value, struct as_rule);
} rules SEC(".maps");

/* Direct-mapped cache of row searches: table 16 | file offset 32 | rule 16; one word, so it can't
 * tear. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, AS_RULE_CACHE);
	__type(key, __u32);
	__type(value, __u64);
} rule_cache SEC(".maps");

static __always_inline void loss__add(__u32 which, __u64 cnt)
{
	__u64 *n = bpf_map_lookup_elem(&losses, &which);

	if (n)
		__sync_fetch_and_add(n, cnt);
}

static __always_inline void loss__count(__u32 which)
{
	loss__add(which, 1);
}

static __always_inline struct as_counters *counters__mine(void)
{
	__u32 cpu = bpf_get_smp_processor_id() & as_cpu_mask;

	return bpf_map_lookup_elem(&counters, &cpu);
}

static __always_inline void counters__failed(void)
{
	struct as_counters *c = counters__mine();

	if (c)
		__sync_fetch_and_add(&c->failed, 1);
}

/* Counts a call; the number it gets is its own on this CPU. */
static __always_inline __u64 counters__call(void)
{
	struct as_counters *c = counters__mine();

	return c ? __sync_fetch_and_add(&c->calls, 1) : 0;
}

static __always_inline void taken__count(__u32 slot)
{
	struct as_taken *t = bpf_map_lookup_elem(&taken, &slot);

	if (t)
		t->cnt++;
}

#endif
