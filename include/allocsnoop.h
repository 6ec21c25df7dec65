/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * liballocsnoop: who allocates, what, how much, on a live Linux machine, as in-memory objects.
 *
 * A session is opened with options, started, polled and asked for profiles. A profile is an
 * immutable set of samples; every pointer inside it stays valid until allocsnoop_profile__free().
 *
 * Errors: functions return 0 (or a count) or a negative errno; allocsnoop__error() then holds one
 * line of what and why, allocsnoop__hint() one of what to do about it ("" when there is none), both
 * for the calling thread until its next call.
 *
 * Threads: one session belongs to one thread at a time (the caller's lock); different sessions and
 * finished profiles may be used by different threads at once. The library starts helper threads of
 * its own.
 *
 * Structures with a first member `sz` are versioned: set it to sizeof() and zero the rest; fields
 * are only ever added at the end. Structures returned by pointer only ever grow at the end.
 */
#ifndef ALLOCSNOOP_H
#define ALLOCSNOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ALLOCSNOOP_VERSION "0.1.0"
#define ALLOCSNOOP_API	   __attribute__((visibility("default")))

struct allocsnoop;
struct allocsnoop_profile;

/* Version of the library at run time, as ALLOCSNOOP_VERSION. */
ALLOCSNOOP_API const char *allocsnoop__version(void);

/* Words and remedy of this thread's last error; never NULL. */
ALLOCSNOOP_API const char *allocsnoop__error(void);
ALLOCSNOOP_API const char *allocsnoop__hint(void);

enum allocsnoop_log_level {
	ALLOCSNOOP_WARN = 0,  /* the user should know: a file without symbols, a slowed target */
	ALLOCSNOOP_INFO = 1,  /* progress: what is traced */
	ALLOCSNOOP_DEBUG = 2, /* every site and file */
};

typedef void (*allocsnoop_log_fn)(void *arg, enum allocsnoop_log_level level, const char *line);

enum allocsnoop_event_kind { ALLOCSNOOP_EVENT_ALLOC = 0, ALLOCSNOOP_EVENT_FREE = 1 };

/*
 * A block has come, or has gone; by the program's doing, never by its end. A successful realloc is
 * a FREE and an ALLOC, in this order.
 *
 * A thread's events come in its order. A FREE comes before the ALLOC of a block that is given the
 * same address, except when realloc frees (it's known at its return only): so FREE belongs to the
 * ALLOC with that address whose time_ns is the FREE's time_ns - lifetime_ns.
 */
struct allocsnoop_event {
	enum allocsnoop_event_kind kind;
	uint32_t pid; /* whose block it is; 0 unknown */
	uint32_t tid; /* the thread that did it */
	uint64_t addr;
	uint64_t size;	      /* requested bytes */
	uint64_t time_ns;     /* since the session's start */
	uint64_t lifetime_ns; /* FREE: since the block's ALLOC */
	uint64_t stack_id;    /* of its allocation, also with FREE: a sample's stack_id; 0 lost */
};

typedef void (*allocsnoop_event_fn)(void *arg, const struct allocsnoop_event *ev);

/* What is traced, or'ed. */
enum allocsnoop_trace {
	ALLOCSNOOP_TRACE_MALLOC = 1, /* calls of allocators */
	/* Growth, by whichever code; samples' `allocator` says which it was. */
	ALLOCSNOOP_TRACE_MMAP = 2,  /* mmap(2): "mmap" anonymous, "mmap_file" else; "mremap": what
				       mappings grew by */
	ALLOCSNOOP_TRACE_BRK = 4,   /* "brk": what the break was raised by */
	ALLOCSNOOP_TRACE_FAULT = 8, /* "fault": anonymous memory that came into use (RssAnon) */
};

/* What to trace and how. With neither pids nor argv: every process on the machine. */
struct allocsnoop_opts {
	size_t sz;
	const pid_t *pids; /* process ids; borrowed during allocsnoop__open() only */
	size_t pid_cnt;
	char *const *argv;  /* COMMAND and its arguments, NULL-terminated; excludes pids; borrowed
			       until start returns */
	const char *user;   /* run COMMAND as this user; NULL: as the caller */
	double sample_rate; /* keep each allocation with this probability (0, 1]; 0 means 1: all */
	uint64_t sample_bytes; /* keep one per so many bytes on average; 0: off; excludes
				  sample_rate < 1 */
	uint64_t min_size;     /* only blocks of at least / at most this many requested bytes */
	uint64_t max_size;     /* 0: no limit */
	uint32_t max_depth;    /* frames a stack may have; 0: 512; at most 1000 */
	allocsnoop_log_fn
		log; /* NULL: silent; called from the thread that polls or from a helper thread */
	void *log_arg;
	uint64_t max_table_memory; /* bytes of unwind rows in the kernel; 0: 256 MiB. Files above it
				    * are a loss: stacks end at them unless frame pointers help */
	bool live; /* follow blocks until they are freed: fills the live members of results */
	uint64_t max_live; /* blocks that can be followed at once; 0: 1,048,576. Above it, blocks
			    * are a loss: allocated, but neither live nor freed */
	uint64_t older_ns; /* with live: live counts only blocks of at least this age */
	uint64_t old_ns;   /* with live: fills old_* of samples; 0: they are 0 */
	allocsnoop_event_fn
		event; /* with live: called for each block that is followed (kept by the sampling,
			* not `untracked`), by allocsnoop__poll() and allocsnoop__profile() in the
			* thread that calls them; must not call functions of the session. What it is
			* too slow for is a loss: sums have it, no event tells of it */
	void *event_arg;
	const char *comm;   /* only processes of this name (the main thread's, at the moment of the
			     * call): patterns as of glob(7), parted by commas. Not with pids; NULL:
			     * any. Borrowed during allocsnoop__open() only, as the next one */
	const char *cgroup; /* only processes in this cgroup of the unified hierarchy, or below, at
			     * the moment of the call: a path, or the name or the beginning of the
			     * id of one container or service. Neither with pids nor with argv */
	bool follow; /* with pids: the children, too, that they make from now on, and theirs */
	const char *const *probes; /* allocators of your own, see allocsnoop__check_probe();
				    * borrowed during allocsnoop__open() only. With any, malloc and
				    * the other known allocators are traced only when `trace` has
				    * MALLOC: bytes that a pool takes from malloc count in both */
	size_t probe_cnt;
	uint32_t trace; /* ALLOCSNOOP_TRACE_*; 0: MALLOC, or only the probes where there are any.
			 * With live either MALLOC or MMAP and BRK */
	uint64_t max_memory; /* bytes of stacks and sums that the session keeps; 0: 256 MiB. Above
			      * it, first all ended processes are told apart by name only, then the
			      * stacks that weren't hit for longest are given up: their sums stay,
			      * by process, as ALLOCSNOOP_AGED; a loss */
	uint32_t max_rows;   /* with live: sums followed at once, of a stack, process and power of
			      * two of sizes each; 0: 131,072. Above it, allocations are a loss:
			      * exact sums without a stack. Those of ended processes make room */
	double max_overhead; /* percent of the targets' own CPU time that they may lose; 0: no
			      * budget. Where that isn't enough to count all, probes come for short
			      * windows and the numbers are estimates (info.exact is false).
			      * Excludes live. -ENOTSUP where the kernel can't (before 6.9) */
	bool overhead_if_possible; /* ... then there is a warning and no budget instead */
	bool lines;   /* frames have source lines, and frames of inlined functions, where files have
		       * debugging information */
	bool threads; /* threads are told apart: rows have tid and thread, more of them are needed
		       * (max_rows), and above max_memory the threads so far become one */
};

/*
 * One element of `probes`: `OBJECT:FUNC(size=ARG2,count=ARG1)` makes blocks of the size that is the
 * function's second integer argument times the first. OBJECT is a path, a file name (`libfoo.so.1`,
 * short `libfoo`) or a pattern (`*`); FUNC a symbol (C++: mangled) or the file offset of a function
 * (`0x1a40`). More arguments: `size=64`, a constant; `ptr=ARGn`, the block that is resized (size 0
 * frees it); `out=ARGn`, where the block's address goes when the function returns 0;
 * `align=ARGn`, with out, when it refuses alignments as posix_memalign(3) does.
 * `OBJECT:free=FUNC(ptr=ARG1)` ends blocks. `preset:NAME` are a known allocator's functions.
 * 0, or -EINVAL with the column and the remedy in allocsnoop__error() and allocsnoop__hint().
 */
ALLOCSNOOP_API int allocsnoop__check_probe(const char *spec);

/* Is this a value of `comm`? 0, or -EINVAL with the reason in allocsnoop__error(). */
ALLOCSNOOP_API int allocsnoop__check_comm(const char *comm);

/* The i-th preset's name and one line about it; NULL past the last. */
ALLOCSNOOP_API const char *allocsnoop__preset_name(size_t i);
ALLOCSNOOP_API const char *allocsnoop__preset_help(size_t i);

/* Checks options and rights, loads the BPF programs; nothing is traced yet.
 * -EINVAL bad options, -EPERM not root, -ENOENT no BTF, -ESRCH no such process, or what the kernel
 * said. */
ALLOCSNOOP_API int allocsnoop__open(const struct allocsnoop_opts *opts,
				    struct allocsnoop **session);

/* Places the probes and begins to count; with argv, COMMAND is started with its probes in place
 * before its first allocation. -ENOENT: no allocator found in any target. */
ALLOCSNOOP_API int allocsnoop__start(struct allocsnoop *session);

/* Takes in what the kernel has to say, waiting for at most timeout_ms (-1: until something
 * happens). Call it at least every 100 ms or so while recording, or new stacks are lost (and
 * counted as such). 1: go on; 0: all targets have ended; -EINTR: a signal came; other negative
 * errno: broken. */
ALLOCSNOOP_API int allocsnoop__poll(struct allocsnoop *session, int timeout_ms);

/* A snapshot of all that was counted since the start (totals never decrease from one to the next).
 * Free it with allocsnoop_profile__free(). */
ALLOCSNOOP_API int allocsnoop__profile(struct allocsnoop *session,
				       struct allocsnoop_profile **profile);

/* Stops counting; the profile can still be taken. Idempotent. */
ALLOCSNOOP_API int allocsnoop__stop(struct allocsnoop *session);

/* Stops, removes every probe and program and frees. COMMAND, when it still runs, runs on untraced.
 * NULL is fine. */
ALLOCSNOOP_API void allocsnoop__free(struct allocsnoop *session);

/* COMMAND's wait(2) status; -ECHILD when there is no COMMAND, -EAGAIN while it runs. */
ALLOCSNOOP_API int allocsnoop__exit_status(struct allocsnoop *session, int *wait_status);

struct allocsnoop_stats {
	uint64_t elapsed_ns; /* since start */
	uint64_t events;     /* probe hits that are allocation calls of the targets */
	uint64_t samples;    /* of them kept */
	uint64_t losses;     /* sum over all named losses */
	uint32_t processes;  /* traced now */
	uint32_t sites;	     /* probe places (distinct file offsets) */
};

/* Cheap; for a progress line. Fills at most sz bytes. */
ALLOCSNOOP_API int allocsnoop__stats(struct allocsnoop *session, struct allocsnoop_stats *stats,
				     size_t sz);

/* ---- results ---- */

struct allocsnoop_frame {
	const char *function; /* demangled; "libc.so.6+0x97360" when no symbol covers it,
				 "[unknown]" without a file */
	const char *module;   /* path of the file as the process saw it; "" when there is none */
	uint64_t offset; /* file offset of the instruction; the address itself when there is no file
			  */
	const char *file; /* source file, NULL unknown */
	uint32_t line;	  /* 0 unknown */
	bool inlined;
	const char
		*mangled; /* as the symbol table has it; NULL where that is `function` or nothing */
	const char *build_id; /* of the module, hex digits; NULL unknown */
};

enum allocsnoop_end {				/* how the stack's walk ended */
		      ALLOCSNOOP_COMPLETE = 0,	/* at the program's first frame */
		      ALLOCSNOOP_TRUNCATED = 1, /* at the depth limit */
		      ALLOCSNOOP_NO_TABLE =
			      2, /* no unwind rows for the file, and no frame pointer to follow */
		      ALLOCSNOOP_GAP = 3,	  /* the file's rows don't cover the address */
		      ALLOCSNOOP_UNSUPPORTED = 4, /* a rule that isn't supported */
		      ALLOCSNOOP_READ_FAULT = 5,  /* stack memory could not be read */
		      ALLOCSNOOP_BUSY = 6,	  /* the address space was locked */
		      ALLOCSNOOP_ANONYMOUS =
			      7, /* code without a file (JIT) and no frame pointer to follow */
		      ALLOCSNOOP_NO_PROGRESS = 8, /* the chain turned back */
		      ALLOCSNOOP_LOST = 9, /* the stack itself was lost; its sums are exact */
		      ALLOCSNOOP_AGED =
			      10, /* given up for others (max_memory); its sums are exact */
		      ALLOCSNOOP_END_MAX
};

/* "complete", "truncated", "no-table", ... */
ALLOCSNOOP_API const char *allocsnoop__end_name(enum allocsnoop_end end);

/* Lifetimes by powers of two: element i counts blocks whose age was in [2^i, 2^(i+1)) ns, the last
 * one all above. Estimates where the profile is sampled. */
#define ALLOCSNOOP_LIFE_CLASSES 48
struct allocsnoop_lifetimes {
	uint64_t freed[ALLOCSNOOP_LIFE_CLASSES];
	uint64_t live[ALLOCSNOOP_LIFE_CLASSES]; /* age so far */
};

struct allocsnoop_sample {
	uint32_t pid;	  /* 0 when the row sums several processes */
	uint32_t pid_cnt; /* processes summed in this row; at least: those that ended long ago
			   * can't be told apart by several rows */
	const char *comm;
	const char *allocator; /* the called allocator function: "malloc" */
	const char *type;      /* of the object; NULL unknown */
	uint64_t size_low;     /* requested sizes of the row lie in [size_low, size_high], bytes */
	uint64_t size_high;
	uint64_t alloc_count;	/* unbiased estimates, rounded; exact when the profile is */
	uint64_t alloc_bytes;	/* requested bytes */
	double alloc_count_var; /* variance of the estimate; 0 when exact */
	double alloc_bytes_var;
	uint64_t sampled_count; /* hits behind the estimate */
	uint64_t live_count;	/* 0 unless mode is live */
	uint64_t live_bytes;
	uint64_t stack_id; /* equal stacks have equal ids, across processes and runs of the same
			      files */
	enum allocsnoop_end end;
	bool truncated; /* the stack misses its root: end isn't complete */
	const struct allocsnoop_frame *const
		*frames; /* leaf first; frame 0 is the allocator's function */
	size_t frame_cnt;

	/*
	 * Mode live. alloc = live + freed + exit + untracked, for blocks and for bytes (with
	 * older_ns, live is only the part that is old enough). Blocks of a process that has ended
	 * are `exit`, apart from leaks; only those of a target named by the caller (COMMAND, a pid)
	 * stay `live` as they were at its end.
	 */
	double live_count_var; /* variance of the estimate; 0 when exact */
	double live_bytes_var;
	uint64_t freed_count; /* freed by the program */
	uint64_t freed_bytes;
	uint64_t exit_count; /* given back by the process's exit or exec */
	uint64_t exit_bytes;
	uint64_t untracked_count; /* their end can't be known: see losses, and garbage collectors */
	uint64_t untracked_bytes;
	uint64_t temporary_count; /* freed before the same thread allocated again */
	uint64_t peak_count;	  /* live at the moment of its process's peak of live bytes; 0 */
	uint64_t peak_bytes;	  /* when sampled */
	int64_t grown_count;	  /* live, compared with the session's profile before this one */
	int64_t grown_bytes;
	double freed_mean_ns; /* mean lifetime of the freed blocks, mean age of the live ones; 0 */
	double live_mean_ns;  /* where there are none */
	uint64_t old_count;   /* of live: at least as old as the session's old_ns */
	uint64_t old_bytes;
	const struct allocsnoop_lifetimes *lifetimes; /* NULL unless mode is live */
	bool collected; /* of a garbage collector, or of a pool whose probes name no free: there
			 * are no frees to be seen, and nothing is called live */
	bool at_least;	/* lower bounds: with max_overhead, where hits took so much of the time that
			   they can't be scaled */
	uint32_t tid;	/* of the thread; 0 unless threads were told apart */
	const char *thread; /* its last name, "" unknown; NULL likewise */

	/* Of a difference: the same row in the profile before. Variances are sums of both. */
	uint64_t base_alloc_count, base_alloc_bytes;
	uint64_t base_live_count, base_live_bytes;
};

/* Sums at one moment of the recording, since its start. */
struct allocsnoop_point {
	uint64_t time_ns; /* since the start */
	uint64_t alloc_count, alloc_bytes;
	uint64_t live_count, live_bytes; /* 0 unless mode is live */
};

struct allocsnoop_process {
	uint32_t pid;
	const char *comm;
	const char *exe; /* "" unknown */
	bool exited;

	/* Mode live; estimates where the profile is sampled. */
	uint64_t live_count;
	uint64_t live_bytes;
	uint64_t peak_bytes;	/* most live bytes at once; 0 when sampled */
	uint64_t peak_count;	/* blocks then */
	uint64_t peak_ns;	/* when, since the start of the session */
	uint64_t rss_anon;	/* bytes of anonymous memory the kernel holds for it: what is above
				   live_bytes is the allocator's reserve, fragments, and what isn't
				   malloc's; 0 unknown */
	uint64_t unknown_frees; /* of blocks from before the start, or before a fork; exact mode
				   without filters */

	uint64_t alloc_count; /* sums over its samples; estimates where the profile is sampled */
	uint64_t alloc_bytes;
	double alloc_count_se; /* standard errors */
	double alloc_bytes_se;
	uint64_t sampled_count; /* hits behind the estimates */
	const char *cgroup; /* path in the unified hierarchy when it was first seen (where that is
			     * its root: in one of version 1); "" unknown */
	const char *container; /* container (its name, or 12 digits of its id), pod or systemd
				* service by that path; "" none */
	uint64_t count; /* of process images: 1; more where pid is 0: those of this name that ended
			 * long ago, whose peak is the highest of one of them */
	bool at_least;	/* its samples are lower bounds */
};

struct allocsnoop_loss {
	const char *name; /* "stack_not_stored": stable, for programs */
	const char *text; /* what it means for the numbers */
	uint64_t count;
};

enum allocsnoop_sampling { ALLOCSNOOP_ALL = 0, ALLOCSNOOP_RATE = 1, ALLOCSNOOP_BYTES = 2 };

struct allocsnoop_info {
	const char *mode;   /* "alloc" or "live" */
	const char *target; /* for headings: "sqlite3 (pid 12)", "every process" */
	bool exact;	    /* every allocation was counted: standard errors are 0 */
	enum allocsnoop_sampling sampling;
	double sampling_value; /* rate, or mean bytes between samples; 1 for all */
	uint64_t duration_ns;
	uint64_t events;		       /* allocation calls seen, sampled or not */
	uint64_t alloc_count, alloc_bytes;     /* sums over samples */
	double alloc_count_se, alloc_bytes_se; /* standard errors */
	uint64_t live_count, live_bytes;
	uint64_t failed_count; /* calls that could be seen to fail (impossible sizes; in mode live,
				  all that failed, when sampled those
				  of the kept ones); in no other number */

	/* Mode live: sums over samples. */
	double live_count_se, live_bytes_se; /* standard errors */
	uint64_t freed_count, freed_bytes;
	uint64_t exit_count, exit_bytes;
	uint64_t untracked_count, untracked_bytes;
	uint64_t temporary_count;
	uint64_t older_ns;	/* as asked for; 0: live is all that is live */
	uint64_t old_ns;	/* as asked for; 0: samples' old_* are 0 */
	uint64_t unknown_frees; /* over all processes */
	bool grown; /* there was a profile before this one: grown_* are differences to it */
	int64_t grown_count, grown_bytes;

	uint32_t trace; /* ALLOCSNOOP_TRACE_* */
	/* With max_overhead. */
	double budget_pct; /* 0: no budget, and so are the next ones */
	double cost_pct;   /* what the targets have lost, of their own CPU time */
	double coverage;   /* part of the targets' progress that was counted; 1 when exact, below 0
			      when it can't be known */
	uint64_t windows;  /* in which it was, where it wasn't all the time */
	double window_ns;  /* mean length */
	bool at_least;	   /* totals are lower bounds */

	uint64_t started_ns; /* when the recording began, since 1970; 0 unknown */
	bool diff;	     /* made by allocsnoop_profile__diff(): rows have base_*, and these are
			      * their sums */
	uint64_t base_alloc_count, base_alloc_bytes;
	uint64_t base_live_count, base_live_bytes;
	const char *base_target; /* target of the profile before; NULL unless diff */
	uint64_t base_duration_ns;
	bool filtered; /* rows were chosen by focus or ignore: totals are theirs, these of all */
	uint64_t all_alloc_count, all_alloc_bytes;
	uint64_t all_live_count, all_live_bytes;
	uint32_t profile_cnt; /* profiles that this one is the sum of; 0: it's one */
};

ALLOCSNOOP_API const struct allocsnoop_info *
allocsnoop_profile__info(const struct allocsnoop_profile *profile);
ALLOCSNOOP_API size_t allocsnoop_profile__sample_cnt(const struct allocsnoop_profile *profile);
ALLOCSNOOP_API const struct allocsnoop_sample *
allocsnoop_profile__sample(const struct allocsnoop_profile *profile, size_t i);
ALLOCSNOOP_API size_t allocsnoop_profile__process_cnt(const struct allocsnoop_profile *profile);
ALLOCSNOOP_API const struct allocsnoop_process *
allocsnoop_profile__process(const struct allocsnoop_profile *profile, size_t i);
/* Only losses with a count above 0. */
ALLOCSNOOP_API size_t allocsnoop_profile__loss_cnt(const struct allocsnoop_profile *profile);
ALLOCSNOOP_API const struct allocsnoop_loss *
allocsnoop_profile__loss(const struct allocsnoop_profile *profile, size_t i);
/* The recording's course: a point for each profile that was taken of it so far, in order of time.
 * Beyond 4,096 every second one is dropped, time and again: what was long ago becomes coarser. */
ALLOCSNOOP_API size_t allocsnoop_profile__point_cnt(const struct allocsnoop_profile *profile);
ALLOCSNOOP_API const struct allocsnoop_point *
allocsnoop_profile__point(const struct allocsnoop_profile *profile, size_t i);
ALLOCSNOOP_API void allocsnoop_profile__free(struct allocsnoop_profile *profile);

/* The frame that asked the allocator: `operator new` and what else stands between a program and its
 * allocator is skipped. NULL where the stack has no caller. */
ALLOCSNOOP_API const struct allocsnoop_frame *
allocsnoop_sample__caller(const struct allocsnoop_sample *sample);

/* ---- saved profiles ---- */

/*
 * Reads a heap profile in pprof's format, with gzip or without: one that "pprof" wrote comes back
 * as it was; of others' (Go's, converted ones) what they hold. Nothing of the stream is trusted.
 * -EINVAL: not such a profile (allocsnoop__error() says what is wrong), -EFBIG: too large (1 GiB
 * inflated, 4 GiB in memory), -ENOMEM, or the stream's error.
 */
ALLOCSNOOP_API int allocsnoop_profile__read(FILE *in, struct allocsnoop_profile **profile);

/*
 * What changed: a profile whose rows have the numbers of `later`, and those of `before` in base_*
 * (0 where it has no such row). Rows are the same where process name, thread name, allocator, type,
 * size class and the frames' names (functions, files' names without folders and versions, source
 * lines) are; ids of processes, addresses and builds may differ, so pid and tid are 0. Variances,
 * sampled_count and losses are sums of both; processes are those of `later`; there are no points.
 * Neither is needed afterwards. -EINVAL: profiles that can't be compared: of different modes,
 * events or ages (older_ns), or differences themselves; -ENOMEM.
 */
ALLOCSNOOP_API int allocsnoop_profile__diff(const struct allocsnoop_profile *before,
					    const struct allocsnoop_profile *later,
					    struct allocsnoop_profile **diff);

/*
 * The sum of profiles, of many machines perhaps: counts, bytes, variances, events and losses add
 * up, as do rows with equal processes, stacks and labels. Each profile's processes stay, and rows
 * keep their pid, unless there are processes of this id and name in several of the profiles: those
 * are taken for different ones, and their rows become sums of several processes. duration_ns is the
 * longest, started_ns the first, exact what all are; points stay only where it's one profile.
 * -EINVAL: none, or some that can't be added up (as in a difference); -ENOMEM.
 */
ALLOCSNOOP_API int allocsnoop_profile__merge(const struct allocsnoop_profile *const *profiles,
					     size_t cnt, struct allocsnoop_profile **sum);

/* ---- reports ---- */

enum allocsnoop_value {
	ALLOCSNOOP_ALLOC_BYTES = 0,
	ALLOCSNOOP_ALLOC_COUNT = 1,
	ALLOCSNOOP_LIVE_BYTES = 2,
	ALLOCSNOOP_LIVE_COUNT = 3,
	ALLOCSNOOP_PEAK_BYTES = 4,
	ALLOCSNOOP_GROWN_BYTES = 5, /* what shrank counts as 0 */
	ALLOCSNOOP_TEMPORARY_COUNT = 6,
};

enum allocsnoop_by {
	ALLOCSNOOP_BY_STACK = 0,    /* processes of the same name merge */
	ALLOCSNOOP_BY_FUNCTION = 1, /* the function that called the allocator */
	ALLOCSNOOP_BY_FILE = 2,	    /* that function's module */
	ALLOCSNOOP_BY_PROCESS = 3,
	ALLOCSNOOP_BY_SIZE = 4,	  /* the size classes */
	ALLOCSNOOP_BY_THREAD = 5, /* where threads were told apart */
	ALLOCSNOOP_BY_TYPE = 6,	  /* where types are known */
};

struct allocsnoop_report_opts {
	size_t sz;
	const char *format; /* "text" (NULL), "folded", "json", ...: allocsnoop__format_name() */
	enum allocsnoop_value value;
	enum allocsnoop_by by;
	uint32_t top; /* rows in text; 0: 20 */

	/* Extended regular expressions (regex(7)) that are searched in the names of frames'
	 * functions and modules; NULL: none. With focus or ignore the totals, and sums and peaks of
	 * processes, are those of the rows that stay, and there are no points. */
	const char *focus;  /* only stacks with a matching frame */
	const char *ignore; /* only stacks without one */
	const char *hide;   /* stacks without their matching frames */
	bool lines;	    /* source lines and inlined frames, where the profile has them */
	bool no_inlines;    /* with lines: not the inlined frames */
	bool tree;	    /* text: callers below what they call, as one tree */
	bool colour;	    /* text: escape sequences for a terminal */
	uint32_t width;	    /* text: columns of the terminal; 0: none, whole lines */
	bool ascii;	    /* text: lines, bars and signs of ASCII only; names stay as they are */
};

/* Is this a value of `focus`, `ignore` and `hide`? 0, or -EINVAL with the reason in
 * allocsnoop__error(). */
ALLOCSNOOP_API int allocsnoop__check_regex(const char *regex);

/* Writes a report; the stream isn't closed. -EINVAL unknown format, bad regular expression or value
 * (a difference has alloc_* and live_* only), -ENOTSUP (and others) a format that can't hold this
 * profile: allocsnoop__error() says why; or the stream's error. */
ALLOCSNOOP_API int allocsnoop_profile__write(const struct allocsnoop_profile *profile,
					     const struct allocsnoop_report_opts *opts, FILE *out);

/* The i-th format's name and one line about it; NULL past the last. */
ALLOCSNOOP_API const char *allocsnoop__format_name(size_t i);
ALLOCSNOOP_API const char *allocsnoop__format_help(size_t i);

/* Can reports be written in this format? 0, -EINVAL unknown, or -ENOTSUP with the reason and the
 * remedy: something that it needs was not there when this library was built. */
ALLOCSNOOP_API int allocsnoop__check_format(const char *name);

/* ---- discovery ---- */

struct allocsnoop_list_opts {
	size_t sz;
	pid_t pid;	       /* the files this process maps; 0: not by process */
	const char *path;      /* one ELF file; NULL: not by file. With neither: every process */
	allocsnoop_log_fn log; /* notices such as `no allocator symbols in 'FILE'` */
	void *log_arg;
	const char *const *probes; /* as in struct allocsnoop_opts */
	size_t probe_cnt;
	bool malloc_too;
};

/* Writes a table of what would be probed and why: file, allocator, function, offset, instruction.
 * Works without root for readable files. -ENOENT: nothing to probe. */
ALLOCSNOOP_API int allocsnoop__list(const struct allocsnoop_list_opts *opts, FILE *out);

/* ---- what works here ---- */

struct allocsnoop_doctor_opts {
	size_t sz;
	const char *format; /* "text" (NULL) or "json" */
};

/*
 * Tries what this kernel and the caller's rights allow, feature by feature, and writes it with
 * remedies. Forks children that end with it; takes a second or two. 0: the main job, to count the
 * allocations of processes, can run; -EPERM: not without root; -ENOTSUP: not here (then
 * allocsnoop__error() names what is missing). -EINVAL unknown format, or the stream's error.
 */
ALLOCSNOOP_API int allocsnoop__doctor(const struct allocsnoop_doctor_opts *opts, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
