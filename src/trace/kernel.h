/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loaded BPF object: knobs in, map descriptors out, and what this kernel can do, found out by
 * trying (never by version).
 */
#ifndef TRACE_KERNEL_H
#define TRACE_KERNEL_H

#include <sys/resource.h>
#include <sys/types.h>

#include "abi.h"
#include "base/types.h"
#include "slot.bpf.h"
#include "trace/links.h"
#include "trace/sampler.h"

struct allocsnoop_bpf;

struct filter;

struct kernel_opts {
	bool all;	 /* every process */
	bool follow;	 /* each child gets probes of its own */
	bool leaderless; /* a process whose main thread has exited is among them */
	u64 min_size;
	u64 max_size;
	u32 max_depth;
	const struct sampler *sampler;
	bool live;
	u32 max_live; /* blocks followed at once */
	u32 max_rows; /* and sums of stacks */
	bool events;  /* tell of each block */
	const struct filter *filter;
	bool layers;	     /* there are sites of a layer above 0 */
	bool threads;	     /* sums are told apart by thread */
	u32 trace;	     /* ALLOCSNOOP_TRACE_* */
	double max_overhead; /* percent; 0: no budget */
	bool budget_asked;   /* without it the session is refused; else it goes without */
};

struct kernel {
	struct allocsnoop_bpf *skel;
	bool multi;	/* uprobe_multi links work */
	bool multi_pid; /* ... and limited to one process they fire in all its threads, and only
			   there */
	bool session;	/* session links work: entry and return in one, at the entry's choice */
	bool seccomp_unsafe; /* a return probe can kill a process that has a seccomp filter */
	bool live;
	u32 trace;	      /* ALLOCSNOOP_TRACE_* */
	bool kprobes;	      /* else new mappings are seen by tracepoints */
	bool use_multi;	      /* what this session's probes are */
	bool governed;	      /* there is a budget: attached by windows, costs are counted */
	double trap_ns;	      /* what an empty probe's hit costs; 0 unknown */
	double trap_error;    /* of that, relative */
	u64 hit_ns;	      /* what one hit costs the target here, program included; 0 unknown */
	struct rlimit nofile; /* the limit before it was raised: what COMMAND shall have */
	u32 cpu_cnt;
	u32 tally_rows;	 /* room of one tally */
	int tally_fd[2]; /* inner maps; [active] is being written */
	int active;
	struct as_live_row *live_rows; /* --live: the kernel's, mapped; row_max elements */
	struct as_heap *heaps;	       /* heap_max elements */
	struct as_bucket *buckets;     /* bucket_cnt elements */
	u32 max_live;		       /* blocks */
	u32 row_max;
	u32 heap_max;
	u32 bucket_cnt;
	u64 rows_given; /* elements given back so far */
	u64 heaps_given;
	u64 past_kept; /* calls that were counted in them */
};

/* Else new mappings are seen by tracepoints. */
bool kernel__has_kprobes(void);

/* Words what is missing (rights, BTF, bpf(2)) and how to get it. */
int kernel__open(struct kernel *k, const struct kernel_opts *opts);
void kernel__close(struct kernel *k);

/* Begins / ends counting, for all probes at once. */
void kernel__count(struct kernel *k, bool on);
void kernel__grow(struct kernel *k, bool on); /* the same for growth */

/* Places the sites of a file. pid as in links.h. */
int kernel__attach(struct kernel *k, struct links *l, const char *path,
		   const struct probe_place *places, size_t cnt, pid_t pid);

/* Hooks new executable mappings of targets, and ends of process images. */
int kernel__watch_maps(struct kernel *k);

/* AS_FILTER_PROCS: from now on `procs` gets the children of those in it, and loses who ends. */
int kernel__watch_children(struct kernel *k);
u32 kernel__proc_cnt(struct kernel *k); /* those in `procs` */

/* Calls fn for each executable file mapping of pid (0: of every process). */
int kernel__each_mapping(struct kernel *k, pid_t pid,
			 int (*fn)(void *arg, const struct as_map_event *ev), void *arg);

/* Calls fn for each of our own descriptors that names a file. */
int kernel__each_fd(struct kernel *k, void (*fn)(void *arg, const struct as_fd_event *ev),
		    void *arg);

int kernel__set_proc(struct kernel *k, pid_t pid, u32 flags); /* flags 0: forget it */
int kernel__set_file(struct kernel *k, u64 hash, const struct as_file *f);
int kernel__set_ranges(struct kernel *k, u64 key, const struct as_ranges *r);
/* Every block that this site makes is of this size. */
int kernel__set_fixed(struct kernel *k, u32 site, u64 size);
int kernel__add_jump(struct kernel *k, u32 from, u32 to);

/* Undo the three above. The next mapping of a file that is forgotten is told of. */
int kernel__forget_file(struct kernel *k, u64 hash);
void kernel__forget_ranges(struct kernel *k, u64 hash);
void kernel__forget_sites(struct kernel *k, u32 first, u32 cnt); /* jumps of and to them, sizes */

int kernel__forget_table(struct kernel *k, u32 slot);
void kernel__forget_rules(struct kernel *k); /* a slot's rules that were found before */

bool kernel__take_stop(struct kernel *k,
		       pid_t tid); /* true once after a stop for this thread was asked for */
void kernel__new_tables(struct kernel *k); /* files got tables: cached mappings are stale */

/* The executable mapping at addr, as it was when the process image made it; false: not known any
 * more. */
bool kernel__recall(struct kernel *k, u64 proc, u64 addr, struct as_mapping *m);

void kernel__copy_done(struct kernel *k, u64 size); /* a copy has left the ring: room for another */
u32 kernel__max_depth(const struct kernel *k);

int kernel__ring_fd(struct kernel *k);
int kernel__map_ring_fd(struct kernel *k);
u64 kernel__exits(const struct kernel *k);     /* threads that have ended so far */
u32 kernel__ring_size(const struct kernel *k); /* bytes */
int kernel__tables_fd(struct kernel *k);
int kernel__rules_fd(struct kernel *k);

/* Moves sums that wait in the kernel's caches to the active tally. */
int kernel__flush(struct kernel *k);

/* Makes the other tally the active one; returns the descriptor of the quiet one, whose rows no
 * program changes any more, or -errno. */
int kernel__flip(struct kernel *k);

/* --live: rows and heaps in use, element 0 included. */
u32 kernel__live_row_cnt(const struct kernel *k);
u32 kernel__heap_cnt(const struct kernel *k);

/* What a row sums; all 0 when there was no room for it. */
const struct as_tally_key *kernel__live_key(const struct kernel *k, u32 row);

/* ---- governed.c: what tracing costs (--max-overhead) ---- */

/* The loader's part: sizes and knobs, before loading. */
void kernel__set_governed(struct kernel *k);

/* Sums over the CPUs. */
void kernel__cost(struct kernel *k, struct as_cost *sum);

/* Calls fn for each live thread of the targets, and for each group. */
int kernel__each_thread(struct kernel *k, void (*fn)(void *arg, const struct as_cpu_event *ev),
			void *arg);
int kernel__each_group(struct kernel *k,
		       void (*fn)(void *arg, const struct as_group_key *key,
				  const struct as_group *group),
		       void *arg);
int kernel__alarms_fd(struct kernel *k);
int kernel__watch_ends(struct kernel *k); /* of threads: their CPU time is kept */

struct kernel_counts {
	u64 calls; /* allocation calls, kept or not. Where sampling, those that an allocator makes
		    * itself are left out only where they were kept */
	u64 kept;
	u64 failed;
};

void kernel__counts(struct kernel *k, struct kernel_counts *sum);
void kernel__losses(struct kernel *k, u64 losses[AS_LOSS_CNT]);

#endif
