/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recording from start to end: which processes, their files and probes, and what the kernel
 * sends. The threads that work here are the caller's (poll), the launcher's (ptrace stops), and
 * those that find files (see opener.h, finder.h); `lock` guards everything they share.
 */
#ifndef TRACE_SESSION_H
#define TRACE_SESSION_H

#include <allocsnoop.h>
#include <pthread.h>

#include "proc/cgroup.h"
#include "trace/copies.h"
#include "trace/files.h"
#include "trace/filter.h"
#include "trace/finder.h"
#include "trace/kernel.h"
#include "trace/live.h"
#include "trace/loss.h"
#include "trace/opener.h"
#include "trace/ranges.h"
#include "trace/record.h"
#include "trace/release.h"
#include "trace/sampler.h"

struct governor;
struct launch;
struct ring_buffer;

/* A file's probes in one process. */
struct target_file {
	struct traced_file *file;
	struct links links;
};

/* A process of the session. */
struct target {
	pid_t pid;
	int pidfd; /* -p: readable when it ends; else -1 */
	VEC(struct target_file *) probed;
	bool attached; /* has probes of its own (a vfork child may live on its parent's) */
};

/* What was live in a row of the kernel's when the profile before was taken; kept blocks, when
 * sampled. */
struct live_before {
	u64 cnt;
	u64 bytes;
};

/* A file is let go: last chance to name these places in it, as in struct as_frame. Called with the
 * lock held, by the thread that polls. */
typedef void (*session_keep_fn)(void *arg, const struct traced_file *file, const u64 *offs,
				size_t cnt);

/* Nothing recorded names the file of this hash any more. Likewise. */
typedef void (*session_forget_fn)(void *arg, u64 hash);

struct session {
	pthread_mutex_t lock;
	struct kernel kernel;
	struct filter filter;
	struct cgroups cgroups;
	struct sampler sampler;
	double sample_rate;
	u64 sample_bytes; /* 0: by rate */
	struct files files;
	struct opener opener;
	struct finder finder;
	struct release release;
	struct record record;
	struct copies copies;
	struct ranges ranges; /* --live of growth */
	struct closer *closer;
	struct governor *governor; /* --max-overhead: places and removes all probes; else NULL */
	struct ring_buffer *ring;
	struct launch *launch;
	struct map targets; /* pid -> struct target * */
	VEC(pid_t) pids;    /* -p */
	bool leaderless;    /* the main thread of one of them has exited */
	char **argv;	    /* COMMAND, copied */
	char *user;
	struct probe_set probes;
	u32 trace;    /* ALLOCSNOOP_TRACE_* */
	bool live;    /* --live */
	bool threads; /* told apart */
	u64 older_ns;
	u64 old_ns;
	VEC(struct live_before) before; /* by row */
	bool has_before;
	bool every;  /* no target was named: all processes, or those that pass the filter */
	bool follow; /* -p: and the children that they make */
	bool started;
	bool stopped;
	bool flip_asked;
	u64 start_ns;	/* CLOCK_MONOTONIC */
	u64 started_ns; /* the same moment since 1970 */
	u64 stop_ns;
	u64 losses[LOSS_CNT];
	u64 slow_checked_ns; /* when the targets' slow-down was last looked at */
	u64 cpu_before_ns;   /* CPU time the targets had used at the start */
	bool slow_told;
	u64 tidied_ns;	  /* when it was last asked for what could be given up */
	u64 gave_back_ns; /* ... for what the kernel could have back */
	u64 max_memory;	  /* bytes, of the record */
	u32 shrink_in;	  /* looks until the record is made smaller, if it must be */
	u32 shrink_pause; /* ... after the next one that doesn't help */
	size_t looked_at; /* see over__look() */
	bool leaving;	  /* rows are being given back */
	bool unprobed_told;
	bool no_fd_told;
	allocsnoop_log_fn log;
	void *log_arg;
	allocsnoop_event_fn event; /* NULL: nobody asked */
	void *event_arg;
	u32 events_left;	  /* until the ring's consumer takes a pause */
	session_keep_fn keep;	  /* NULL: names of files that are let go aren't kept */
	session_forget_fn forget; /* set with it */
	void *keep_arg;
};

int session__open(struct session *s, const struct allocsnoop_opts *opts);
int session__start(struct session *s);
int session__poll(struct session *s, int timeout_ms);
int session__stop(struct session *s);
void session__close(struct session *s);

/* Takes in what waits in the ring. Called with the lock held, by the thread that polls. */
int session__consume(struct session *s);

/* While the caller is busy with something else: takes in what the kernel can't keep for long. */
void session__keep_up(struct session *s);

/* Flips and takes in the sums so far. With the lock held, by the thread that polls. */
int session__take_rows(struct session *s);

/* Flips and takes in all that was counted up to now; s->record is complete then. */
int session__drain(struct session *s);

/* Places probes, or has the governor do it; kernel__attach() otherwise. */
int session__attach(struct session *s, struct links *l, const char *path,
		    const struct probe_place *places, size_t cnt, pid_t pid);

/* Removes what was placed for l: in the background, or now. */
void session__detach(struct session *s, struct links *l, u64 tag); /* see closer__give() */
void session__detach_now(struct session *s, struct links *l);

/* Did the caller name this process (-p, COMMAND)? */
bool session__names(const struct session *s, pid_t pid);

u64 session__elapsed_ns(const struct session *s);
u32 session__process_cnt(struct session *s);

/* Sums of the kernel's and user space's losses, up to now. */
void session__losses(struct session *s, u64 losses[LOSS_CNT]);

void session__log(struct session *s, enum allocsnoop_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
