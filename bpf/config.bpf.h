/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Knobs, set by user space before loading: constants for the verifier, so what is off costs
 * nothing. */
#ifndef ALLOCSNOOP_CONFIG_BPF_H
#define ALLOCSNOOP_CONFIG_BPF_H

const volatile __u64 as_self_tgid = 0; /* never traced */
const volatile __u64 as_all = 0;       /* count every process, not only those in `procs` */
const volatile __u64 as_filter = 0;    /* AS_FILTER_*, or'ed: all must hold; 0: none */
const volatile __u64 as_sampling = 0;  /* draw by `thr`; 0: keep all */
const volatile __u64 as_same_thr =
	0; /* of 2^32: keep when a draw is below, whatever the size; 0: by `thr` */
const volatile __u64 as_seed = 0;	  /* of the draws, random */
const volatile __u64 as_min_size = 0;	  /* bytes */
const volatile __u64 as_max_size = ~0ull; /* bytes */
const volatile __u64 as_max_depth = 512;  /* frames, at most AS_DEPTH_MAX */
const volatile __u64 as_slot_mask = 7;	  /* entries of `slots` - 1 */
const volatile __u64 as_cpu_mask = 1023;  /* entries of `counters` - 1 */
const volatile __u64 as_tally_half = 0;	  /* rows after which user space is asked to flip */
const volatile __u64 as_ring_quarter = 0; /* bytes waiting after which user space is woken */
const volatile __u64 as_copies_max = 0;	  /* bytes of stack copies that may wait in the ring */
const volatile __u64 as_live = 0;	  /* follow blocks until they are freed */
const volatile __u64 as_events = 0;	  /* tell of each block that comes or goes */
const volatile __u64 as_threads = 0;	  /* sums are told apart by thread */
const volatile __u64 as_layers = 0;	  /* there are sites of a layer above 0 */
const volatile __u64 as_bucket_mask = 0;  /* elements of `buckets` - 1 */
const volatile __u64 as_live_row_max = 1; /* elements of `live_rows` */
const volatile __u64 as_heap_max = 1;	  /* elements of `heaps` */
/* Frees of unknown blocks are of interest only where every block is known. */
const volatile __u64 as_live_exact = 0;
/* Pages that a CPU may keep for itself: percpu_counter_batch, lib/percpu_counter.c. */
const volatile __u64 as_rss_batch = 32;
const volatile __u64 as_look_at_exec = 0; /* no hook tells of the mappings that execve(2) makes */
/* A return probe can kill a process that has a seccomp filter. */
const volatile __u64 as_seccomp_unsafe = 0;
/* --max-overhead: so many hits on a CPU within so many ns are told at once. */
const volatile __u64 as_alarm_hits = ~0ull;
const volatile __u64 as_alarm_ns = 0;

__u64 exits = 0;    /* threads that have ended */
__u64 counting = 0; /* user space opens and closes counting for all probes at once, */
__u64 growing = 0;  /* and for growth */

#endif
