/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The border: every layout that kernel side and user side share. Fixed-width types, no pointers,
 * padding named and zeroed (hash keys are compared as bytes).
 */
#ifndef ALLOCSNOOP_ABI_H
#define ALLOCSNOOP_ABI_H

#include <linux/types.h>

/* ---- probe sites ---- */

/*
 * The attach cookie of a probe says all that the program must know, so that a hit needs no look-up:
 *   0-2 size argument (1..6, 7: Go), 3-5 count argument, 6-8 old-block argument (realloc, free),
 * 9-11 alignment argument, 12-19 sp_delta / 8, 20-25 AS_SITE_*, 26-28 argument that points to where
 * the block's address goes (posix_memalign), 29-30 AS_SITE_*, 32-60 site number (from 1), 61-63
 * layer.
 */
#define AS_COOKIE_SIZE(c)	((__u32)((c)&7))
#define AS_COOKIE_COUNT(c)	((__u32)((c) >> 3 & 7))
#define AS_COOKIE_OLD(c)	((__u32)((c) >> 6 & 7))
#define AS_COOKIE_ALIGN(c)	((__u32)((c) >> 9 & 7))
#define AS_COOKIE_SP_DELTA(c)	((__u32)((c) >> 12 & 255) * 8)
#define AS_COOKIE_SP_DELTA_BITS (255ull << 12)
#define AS_SITE_JUMPS		(1ull << 20) /* may jump on to another site's function */
#define AS_SITE_POSIX		(1ull << 21) /* refuses alignments as posix_memalign does */
#define AS_SITE_RESIZES		(1ull << 22) /* in place: returns the size reached (xallocx) */
#define AS_SITE_FREES_OLD	(1ull << 23) /* frees the old block even when it fails (reallocf) */
#define AS_SITE_UNFOLLOWED	(1ull << 24) /* --live: its blocks' ends can't be seen (collectors) */
#define AS_SITE_STACK_CHECK	(1ull << 25) /* on Go's stack check: its branch taken is no call */
#define AS_SITE_EXITS		(1ull << 29) /* --live: plain probes see its returns (it may throw) */
#define AS_COOKIE_OUT(c)	((__u32)((c) >> 26 & 7))
#define AS_COOKIE_SITE(c)	((__u32)((c) >> 32) & 0x1fffffff)
#define AS_SITE_FIXED		(1ull << 30) /* no argument is the size: see `fixed_sizes` */

/*
 * Allocators on top of others are layers of their own: a call from one to the next is none of an
 * allocator to itself, and a block of one may lie at the address of another's. Layer 0 is malloc
 * and its like.
 */
#define AS_COOKIE_LAYER_SHIFT 61
#define AS_COOKIE_LAYER(c)    ((c) >> AS_COOKIE_LAYER_SHIFT)
#define AS_LAYER_MAX	      7

/* A hash, told apart by layer. */
static inline __u64 as_of_layer(__u64 hash, __u64 layer)
{
	return hash + layer * 0x9e3779b97f4a7c15ull;
}

/* How far a function that jumps on may round a size up (pvalloc, alignment): two pages. */
#define AS_ROUND_MAX 8192

/*
 * Growth of the address space or of memory in use: sites without a place, numbered (in 29 bits)
 * above all others. Frame 0 of their stacks has no file, and the number for its offset.
 */
#define AS_GROWTH_MMAP	    0x1fffff01u /* anonymous mappings */
#define AS_GROWTH_MMAP_FILE 0x1fffff02u
#define AS_GROWTH_MREMAP    0x1fffff03u /* what a mapping grew by */
#define AS_GROWTH_BRK	    0x1fffff04u
#define AS_GROWTH_FAULT	    0x1fffff05u /* pages of anonymous memory, in use from now on */

/* Key of the set of known jumps: from << 32 | to, site numbers. */
#define AS_JUMP(from, to) ((__u64)(from) << 32 | (to))

/* ---- size classes: 8 per power of two ---- */

#define AS_CLASS_CNT 512

/* 0..15 for themselves, then 8 classes an octave. Monotone. */
static inline __u32 as_size_class(__u64 size)
{
	__u64 s = size;
	__u32 octave = 0;

	if (size < 16)
		return (__u32)size;
	if (s >> 32) {
		octave += 32;
		s >>= 32;
	}
	if (s >> 16) {
		octave += 16;
		s >>= 16;
	}
	if (s >> 8) {
		octave += 8;
		s >>= 8;
	}
	if (s >> 4) {
		octave += 4;
		s >>= 4;
	}
	if (s >> 2) {
		octave += 2;
		s >>= 2;
	}
	octave += (__u32)(s >> 1); /* floor(log2(size)), 4..63 */
	return octave * 8 - 16 + (__u32)(size >> (octave - 3) & 7);
}

/* Smallest size of a class; the class's largest size is as_class_low(class + 1) - 1. */
static inline __u64 as_class_low(__u32 class)
{
	if (class < 16)
		return class;
	return (__u64)(8 + (class & 7)) << ((class + 16) / 8 - 3);
}

/* The first class of a class's power of two (0, 1, 2..3, 4..7 ...), and the one after its last. */
static inline __u32 as_octave(__u32 class)
{
	if (class >= 16)
		return class & ~7u;
	return class >= 8 ? 8 : class >= 4 ? 4 : class >= 2 ? 2 : class;
}

static inline __u32 as_octave_end(__u32 octave)
{
	return octave >= 16 ? octave + 8 : octave ? octave * 2 : 1;
}

/* ---- stacks ---- */

#define AS_DEPTH_MAX 1000 /* frames; --max-depth's upper limit */
#define AS_FRAME_CAP 1024 /* room for them, a power of two for the verifier */

/* In off: the instruction was interrupted there (by a signal), nothing was called. */
#define AS_FRAME_EXACT (1ull << 63)

struct as_frame {
	__u64 file; /* as_file_key hash; 0: no file, off is the address */
	__u64 off;  /* file offset of the instruction (frame 0) or return address */
};
_Static_assert(sizeof(struct as_frame) == 16, "frames are hashed and stored as words");

/* How a walk ended; the first ones are the public codes of allocsnoop.h. */
#define AS_END_COMPLETE	   0
#define AS_END_TRUNCATED   1
#define AS_END_NO_TABLE	   2
#define AS_END_GAP	   3
#define AS_END_UNSUPPORTED 4
#define AS_END_READ_FAULT  5
#define AS_END_BUSY	   6
#define AS_END_ANONYMOUS   7
#define AS_END_NO_PROGRESS 8

/* ---- files ---- */

/* What the kernel knows a file by (never stat's st_dev: btrfs and overlayfs disagree with the
 * mapping's; not the ctime: it moves when a file that is mapped is replaced or deleted). */
struct as_file_key {
	__u64 ino;
	__u64 dev; /* kernel encoding: major << 20 | minor */
	__u64 generation;
	__u64 mtime_sec;
};

/* bpf map `files`: file hash -> what user space has done about it. */
#define AS_FILE_READY	  1 /* opened, probed when it holds an allocator */
#define AS_FILE_ALLOCATOR 2 /* holds probe sites: `ranges` has an entry */
#define AS_FILE_GONE	  4 /* couldn't be opened: no table will come, unless another try succeeds */

struct as_file {
	__u32 flags;
	__u32 table; /* slot + 1 in `tables`; 0: no unwind rows */
	__u32 chunk_cnt;
	__u32 pad;
};
_Static_assert(sizeof(struct as_file) == 16, "no padding");

/* bpf map `ranges`: as_of_layer(file hash) -> text that is the allocator itself, sorted; calls of
 * its layer from there are nested. */
#define AS_RANGE_MAX 64

struct as_ranges {
	__u32 cnt;
	__u32 pad;
	struct {
		__u64 start;
		__u64 end;
	} r[AS_RANGE_MAX];
};

/* ---- unwind tables: rows in file-offset space, rules shared by all files ---- */

#define AS_RULE_MAX 32768

#define AS_CFA_GAP	 0 /* no row covers the place */
#define AS_CFA_RSP	 1 /* CFA = rsp + cfa_off */
#define AS_CFA_RBP	 2 /* CFA = rbp + cfa_off */
#define AS_CFA_DEREF_RBP 3 /* CFA = *(rbp + cfa_off) + aux (GCC's DRAP in AVX code) */
#define AS_CFA_DEREF_RSP 4 /* CFA = *(rsp + cfa_off) + aux */
#define AS_CFA_PLT	 5 /* CFA = rsp + 8 + ((rip & 15) >= aux ? 8 : 0) */
/* Registers lie in the ucontext at rsp (x86-64: rt_sigframe after its return address). */
#define AS_CFA_SIGFRAME	   6
#define AS_CFA_END	   7 /* the return address is undefined: outermost frame */
#define AS_CFA_UNSUPPORTED 8
#define AS_CFA_RBX	   9 /* CFA = rbx + cfa_off (the dynamic linker's trampolines) */

#define AS_FP_SAME  0 /* caller's rbp is rbp */
#define AS_FP_CFA   1 /* caller's rbp is *(CFA + fp_off) */
#define AS_FP_RBP   2 /* caller's rbp is *(rbp + fp_off) */
#define AS_FP_UNDEF 3 /* lost: must not be followed */

#define AS_BX_SAME 0 /* caller's rbx is rbx */
#define AS_BX_LOST 1 /* must not be followed; no word is saved at an odd place */

struct as_rule {
	__u8 cfa_kind;
	__u8 fp_kind;
	__u16 aux;
	__s32 cfa_off;
	__s32 fp_off;
	__s32 bx_off; /* caller's rbx is *(CFA + bx_off), or AS_BX_* */
};
_Static_assert(sizeof(struct as_rule) == 16, "the kernel spaces array elements by 8 bytes");

/* Rules with fixed numbers. */
#define AS_RULE_GAP	    0
#define AS_RULE_END	    1
#define AS_RULE_UNSUPPORTED 2

struct as_row {
	__u16 pc_delta; /* file offset - chunk base; rows past the last are 0xffff, rule AS_RULE_GAP
			 */
	__u16 rule;
};

#define AS_CHUNK_ROWS  1024
#define AS_INDEX_PAGES 4 /* of one file at most */

/* Rows of at most 65,534 bytes of text, sorted; a row holds up to the next one. */
struct as_chunk {
	__u32 base;
	__u32 pad[3];
	struct as_row rows[AS_CHUNK_ROWS];
};

/* An element of a file's table: first the index pages (bases of the chunks, sorted, ~0 after the
 * last), then the chunks. */
union as_page {
	struct as_chunk chunk;
	__u32 base[AS_CHUNK_ROWS];
};
_Static_assert(sizeof(union as_page) == 4112, "array elements");

/* ---- sums ---- */

struct as_tally_key {
	__u64 stack; /* id; 0: the stack was lost */
	__u64 proc;  /* process image: see as_proc_event */
	__u32 site;
	__u32 size_class; /* and, where threads are told apart, the thread: see below */
};
_Static_assert(sizeof(struct as_tally_key) == 24, "hash keys are compared as bytes");

/* Both fit: thread ids are below 2^22 (PID_MAX_LIMIT, include/linux/threads.h). */
#define AS_KEY_TID_SHIFT 9
_Static_assert(AS_CLASS_CNT == 1 << AS_KEY_TID_SHIFT, "classes and nothing else are below it");

static inline __u32 as_key_class(const struct as_tally_key *key)
{
	return key->size_class & (AS_CLASS_CNT - 1);
}

static inline __u32 as_key_tid(const struct as_tally_key *key)
{
	return key->size_class >> AS_KEY_TID_SHIFT;
}

struct as_tally {
	__u64 cnt;
	__u64 bytes;
};

/* One per possible CPU, a cache line each; added to atomically. */
struct as_counters {
	__u64 calls;  /* allocation calls; only counted here where sampling, else as_taken has them
			 all */
	__u64 failed; /* of impossible sizes or alignments */
	__u64 pad[6];
};
_Static_assert(sizeof(struct as_counters) == 64, "a cache line");

/* One per slot. */
struct as_taken {
	__u64 cnt; /* calls whose sums were added to a tally */
	__u64 pad[7];
};
_Static_assert(sizeof(struct as_taken) == 64, "a cache line");

/* ---- what tracing costs (--max-overhead) ---- */

/* One per possible CPU. */
struct as_cost {
	__u64 hits;	/* of probes, counted or not; not our own */
	__u64 timed;	/* of them had their time in the program taken */
	__u64 timed_ns; /* and took so long */
	__u64 armed;	/* hits since armed_ns */
	__u64 armed_ns; /* CLOCK_MONOTONIC */
	__u64 pad[3];
};
_Static_assert(sizeof(struct as_cost) == 64, "a cache line");

/* Processes of one name, as their main threads have it; the rest is 0. */
struct as_group_key {
	char comm[16];
};

struct as_group {
	__u64 open_hits;   /* while counting */
	__u64 closed_hits; /* while not */
	__u64 dead_ns;	   /* CPU time of threads that have ended */
};

/* A thread that has ended, by the address of its task: the part of its CPU time in dead_ns. */
struct as_dying {
	__u64 ns;
	struct as_group_key group;
};

/* A thread, from the iterator. */
struct as_cpu_event {
	__u32 tgid;
	__u32 pad;
	__u64 ns; /* CPU time it has used; of a running one up to the last tick */
	struct as_group_key group;
};
_Static_assert(sizeof(struct as_cpu_event) == 32, "read by the array");

/* ---- the live heap (--live) ---- */

/* What was allocated and not freed yet. */
struct as_block {
	__u64 size; /* requested bytes */
	__u64 born; /* CLOCK_MONOTONIC, ns */
	__u32 row;  /* in `live_rows` */
	__u32 tid;  /* who allocated it */
};

/*
 * An element of bpf map `buckets`. A block's tag names its process image and address; the low bits
 * say the bucket. User space may read along: a block is whole when its tag is the same before and
 * after.
 */
#define AS_BUCKET_WAYS 7
#define AS_TAG_FREE    0
#define AS_TAG_BUSY    1 /* being written */

struct as_bucket {
	__u64 tag[AS_BUCKET_WAYS];
	__u64 spilled; /* blocks that found no way here: in `spilled`, by their tags */
	struct as_block block[AS_BUCKET_WAYS];
	__u64 pad[3];
};
_Static_assert(sizeof(struct as_bucket) == 256, "the tags are one cache line");

#define AS_ROW_NONE	(~0u) /* a block that isn't counted: filtered, or not sampled */
#define AS_LIFE_CLASSES 48    /* lifetimes by floor(log2(ns)); the last one holds all above */

/*
 * bpf map `live_rows`: sums of one tally key since the start. Live are alloc - freed - untracked.
 * The first AS_CLASS_CNT rows have what found no row of its own, one for each size class: what a
 * sampled block stands for depends on it.
 */
struct as_live_row {
	struct as_tally_key key; /* all 0: unused */
	__u64 alloc_cnt;	 /* calls that succeeded */
	__u64 alloc_bytes;
	__u64 freed_cnt;
	__u64 freed_bytes;
	__u64 untracked_cnt; /* of them no more is known: `blocks` was full, or the site's ends
				can't be seen */
	__u64 untracked_bytes;
	__u64 temporary_cnt; /* freed before the thread allocated again */
	__u64 life_ns;	     /* sum over the freed blocks */
	__u64 peak_of;	     /* the two below are of the heap's peak of so many bytes; where it has
				had a higher one: nothing has changed since, so what is live is what
				was live then */
	__u64 peak_cnt;
	__u64 peak_bytes;
	__u32 heap; /* in `heaps` */
	__u32 pad;
	__u32 life[AS_LIFE_CLASSES]; /* freed blocks by lifetime */
};
_Static_assert(sizeof(struct as_live_row) == 24 + 12 * 8 + AS_LIFE_CLASSES * 4, "no padding");

/* bpf map `heaps`: one process image's. Element 0 is of those that found none. */
struct as_heap {
	__u64 proc; /* 0: unused */
	__u64 live_cnt;
	__u64 live_bytes;
	__u64 peak_bytes; /* the most at once; only grows */
	__u64 peak_cnt;
	__u64 peak_ns;	     /* CLOCK_MONOTONIC */
	__u64 unknown_frees; /* of blocks that weren't seen to be allocated */
};

/* ---- growth ---- */

/*
 * A CPU's share of an address space's counter of anonymous pages, as it was last seen. (Before
 * Linux 6.2: the one counter.)
 */
struct as_rss_key {
	__u64 mm;
	__u64 cpu;
};
_Static_assert(sizeof(struct as_rss_key) == 16, "hash keys are compared as bytes");

struct as_rss {
	__u64 proc;  /* whose it is; 0: not known yet */
	__s64 local; /* pages that the CPU keeps for itself */
	__s64 count; /* pages in the common part */
};

/* ---- losses counted in the kernel: names and texts are in src/trace/loss.c, same order ---- */
#define AS_LOSS_TALLY_FULL	   0
#define AS_LOSS_STACK_RING_FULL	   1
#define AS_LOSS_NO_SLOT		   2
#define AS_LOSS_PROC_RING_FULL	   3
#define AS_LOSS_FILE_RING_FULL	   4
#define AS_LOSS_NO_THREAD_STATE	   5
#define AS_LOSS_SIGNAL_BLOCKED	   6
#define AS_LOSS_CALLER_UNREADABLE  7
#define AS_LOSS_STALE_MAPPING	   8
#define AS_LOSS_BLOCKS_FULL	   9
#define AS_LOSS_MISSED_FREE	   10
#define AS_LOSS_ROWS_FULL	   11
#define AS_LOSS_OPEN_CALLS	   12
#define AS_LOSS_STACK_COPY_LIMITED 13
#define AS_LOSS_EVENT_RING_FULL	   14
#define AS_LOSS_NOT_FOLLOWED	   15
#define AS_LOSS_BREAK_UNKNOWN	   16
#define AS_LOSS_RANGE_RING_FULL	   17
#define AS_LOSS_HEAPS_FULL	   18
#define AS_LOSS_CNT		   19

/* ---- events in the ring buffer ---- */

#define AS_EVENT_STACK	1
#define AS_EVENT_PROC	2
#define AS_EVENT_MAP	3
#define AS_EVENT_FULL	4 /* the tally is half full: flip it now */
#define AS_EVENT_COPY	5
#define AS_EVENT_BLOCK	6
#define AS_EVENT_RANGE	7
#define AS_EVENT_OVER	8
#define AS_EVENT_EXEC	9
#define AS_EVENT_THREAD 10

struct as_stack_event {
	__u32 type;
	__u32 frame_cnt;
	__u64 id;
	__u64 proc;
	__u32 end; /* AS_END_* */
	__u32 pad;
	struct as_frame frames[AS_FRAME_CAP]; /* only frame_cnt are sent */
};

/* A process image is seen for the first time: proc is a hash of the next three. */
struct as_proc_event {
	__u32 type;
	__u32 tgid;
	__u64 proc;
	__u64 start_boottime;
	__u64 exec_id;
	__u64 exe_file; /* file hash, 0 unknown */
	char comm[16];	/* of the group leader */
	__u64 cgroup;	/* id in the unified hierarchy, 0 unknown */
};

/* An announced process image has come to its end: nothing is counted for it from now on. */
#define AS_OVER_ENDED	 1 /* the process has exited */
#define AS_OVER_REPLACED 2 /* it has executed another program */

struct as_over_event {
	__u32 type;
	__u32 how; /* AS_OVER_* */
	__u64 proc;
};

/* Where threads are told apart: one of an announced image has ended. */
struct as_thread_event {
	__u32 type;
	__u32 tid;
	__u64 proc;
	char comm[16]; /* as it was called last */
};
_Static_assert(sizeof(struct as_thread_event) == 32, "no padding");

/* An executable mapping: from the iterator (one for each), or when a target maps a file not yet
 * READY. */
struct as_map_event {
	__u32 type;
	__u32 tgid;
	__u64 start;
	__u64 end;
	__u64 pgoff; /* bytes */
	__u64 proc;  /* see struct as_proc_event */
	__u64 file;  /* hash of key; 0: the mappings couldn't be looked at, user space shall */
	struct as_file_key key;
};

/* An unknown file is executed: where the process found it, should it be gone before its mapping can
 * be opened. */
struct as_exec_event {
	__u32 type;
	__u32 tgid;
	__u64 file;	/* hash */
	char path[256]; /* relative ones are to where the process was */
};

/* One of user space's own descriptors, from an iterator over them. */
struct as_fd_event {
	__u64 file; /* hash of the inode that it names */
	__u32 fd;
	__u32 mapped; /* somebody maps that inode's pages */
};
_Static_assert(sizeof(struct as_fd_event) == 16, "no padding");

#define AS_PAGE	    4096
#define AS_COPY_MAX 65536

/*
 * What the walk of a stack, sent right before under the same id, needs to go on from its last
 * frame, which lies in a file that user space hadn't made known to the kernel yet.
 */
struct as_copy_event {
	__u32 type;
	__u32 tgid;
	__u64 id;
	__u64 proc;
	__u64 taken_ns; /* CLOCK_MONOTONIC */
	__u64 ip;	/* registers in that frame */
	__u64 sp;
	__u64 bp;
	__u64 bx;
	__u64 bx_at; /* WALK_BX_* */
	__u64 hash;  /* of the frames so far */
	__u64 exact; /* ip is no return address */
	__u64 map_start;
	__u64 map_end;	/* of the frame's mapping */
	__u64 map_bias; /* file offset - address */
	__u64 map_file;
	__u64 trampoline; /* in bytes[] of return addresses that the kernel doesn't know */
	__u64 start;	  /* address of bytes[0], a multiple of 8 */
	__u64 size;
	__u8 bytes[AS_COPY_MAX]; /* only size are sent */
};

/* A followed block has come, or has gone. Times are CLOCK_MONOTONIC, ns. */
struct as_block_event {
	__u32 type;
	__u32 freed; /* 0: it has come */
	__u32 row;   /* in `live_rows` */
	__u32 tid;   /* who did it */
	__u64 addr;
	__u64 size;
	__u64 born;
	__u64 time;
};

/*
 * --live of growth: addresses of a process image were mapped, or given back. What gives back is
 * told before it's done, as another thread may have the addresses before the system call has ended;
 * and afterwards when it wasn't done, or something else was.
 */
#define AS_RANGE_MADE	1 /* instead of what was there */
#define AS_RANGE_LEAVES 2
#define AS_RANGE_STAYS	3 /* what the thread last said to leave is still there */
#define AS_RANGE_MOVED	4 /* ... is at `to` now, up to end */

struct as_range_event {
	__u32 type;
	__u32 what; /* AS_RANGE_* */
	__u32 row;  /* MADE: in `live_rows`; AS_ROW_NONE: not counted */
	__u32 tid;
	__u64 space; /* process image */
	__u64 start;
	__u64 end;
	__u64 to;
	__u64 time; /* CLOCK_MONOTONIC, ns */
};

/* bpf map `procs`: tgid -> what to do with a process of the session. */
#define AS_PROC_TARGET 1 /* count it (every-process mode counts all that aren't listed) */
#define AS_PROC_STOP   2 /* followed by ptrace: stop it at mappings of unknown files */

/* ---- filters: whose calls are counted, where probes fire for more than that ---- */

#define AS_FILTER_PROCS	 1 /* those in `procs`, which has their children, too */
#define AS_FILTER_CGROUP 2 /* those in bpf map `cgroup`, or below */
#define AS_FILTER_COMM	 4 /* those whose name is one of `globs` */

#define AS_COMM_SIZE  16
#define AS_GLOB_WORDS 4

/*
 * The only element of bpf map `globs`: patterns of process names as one automaton, 64 states to a
 * word. State i of a pattern means that i of its elements (what isn't a star) have matched: a byte
 * moves it to the next one where `mask` says so, and leaves it where `star` does.
 */
struct as_globs {
	__u64 start[AS_GLOB_WORDS];
	__u64 star[AS_GLOB_WORDS];
	__u64 accept[AS_GLOB_WORDS];
	__u64 mask[256][AS_GLOB_WORDS];
};

static inline int as_globs_match(const struct as_globs *g, const char *comm)
{
	for (__u32 w = 0; w < AS_GLOB_WORDS; w++) {
		__u64 at = g->start[w];

		for (__u32 i = 0; i < AS_COMM_SIZE - 1 && at; i++) {
			__u8 c = comm[i];

			if (!c)
				break;
			at = (at & g->mask[c][w]) << 1 | (at & g->star[w]);
		}
		if (at & g->accept[w])
			return 1;
	}
	return 0;
}

#endif
