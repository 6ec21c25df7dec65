/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles of mode live made by hand: a leak in two processes of one name, a cache that shrinks,
 * temporary blocks, what a process leaves to its exit, blocks that were lost from sight, and a
 * garbage collector's.
 */
#ifndef TESTS_UNIT_LIVE_PROFILE_H
#define TESTS_UNIT_LIVE_PROFILE_H

#include "hostile_profile.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)
#define NS_US	1000.0
#define NS_S	1e9
#define GC_COMM "gc\x1b[2J;app"

/* Blocks of one size: what became of them, in blocks. */
struct fate {
	u32 pid;
	const char *comm;
	u64 stack_id;
	u64 size;
	u64 live, freed, exit, untracked, temporary, peak;
	s64 grown;
	double freed_mean_ns, live_mean_ns;
	u8 freed_class, live_class; /* all of them have this lifetime */
	bool collected;
};

#define OLD_NS (30 * NS_S)

static inline struct allocsnoop_sample *add_fate(struct allocsnoop_profile *p, struct fate f,
						 const struct allocsnoop_frame **frames)
{
	u64 count = f.live + f.freed + f.exit + f.untracked;
	struct allocsnoop_lifetimes *l = arena__alloc(&p->arena, sizeof(*l));
	struct allocsnoop_sample *s;

	l->freed[f.freed_class] = f.freed;
	l->live[f.live_class] = f.live;
	s = add_row(p, f.pid, f.comm, f.stack_id, count, count * f.size, frames);
	s->live_count = f.live;
	s->live_bytes = f.live * f.size;
	s->freed_count = f.freed;
	s->freed_bytes = f.freed * f.size;
	s->exit_count = f.exit;
	s->exit_bytes = f.exit * f.size;
	s->untracked_count = f.untracked;
	s->untracked_bytes = f.untracked * f.size;
	s->temporary_count = f.temporary;
	s->peak_count = f.peak;
	s->peak_bytes = f.peak * f.size;
	s->grown_count = f.grown;
	s->grown_bytes = f.grown * (s64)f.size;
	s->freed_mean_ns = f.freed_mean_ns;
	s->live_mean_ns = f.live_mean_ns;
	if (f.live_mean_ns >= OLD_NS) {
		s->old_count = s->live_count;
		s->old_bytes = s->live_bytes;
	}
	s->lifetimes = l;
	s->collected = f.collected;
	return s;
}

static inline void add_server(struct allocsnoop_profile *p)
{
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/server", 0x1000);
	const struct allocsnoop_frame **leak =
		FRAMES(m, frame(p, "remember", "/opt/server", 0x2000), root);

	add_fate(p,
		 (struct fate){ .pid = 20,
				.comm = "server",
				.stack_id = 1,
				.size = KIB,
				.live = 3000,
				.freed = 1000,
				.peak = 2500,
				.grown = 100,
				.freed_mean_ns = 5 * NS_US,
				.live_mean_ns = 40 * NS_S,
				.freed_class = 12,
				.live_class = 35 },
		 leak);
	add_fate(p,
		 (struct fate){ .pid = 21,
				.comm = "server",
				.stack_id = 1,
				.size = KIB,
				.live = 1000,
				.peak = 1000,
				.grown = 20,
				.live_mean_ns = 80 * NS_S,
				.live_class = 36 },
		 leak);
	add_fate(p,
		 (struct fate){ .pid = 20,
				.comm = "server",
				.stack_id = 2,
				.size = 64 * KIB,
				.live = 16,
				.freed = 48,
				.peak = 64,
				.grown = -48,
				.freed_mean_ns = 2 * NS_S,
				.live_mean_ns = 9 * NS_S,
				.freed_class = 30,
				.live_class = 33 },
		 FRAMES(m, frame(p, "cache_fill", "/opt/server", 0x3000), root));
	add_fate(p,
		 (struct fate){ .pid = 20,
				.comm = "server",
				.stack_id = 3,
				.size = 32,
				.freed = 90000,
				.temporary = 81000,
				.freed_mean_ns = 700,
				.freed_class = 9 },
		 FRAMES(m, frame(p, "format", "/opt/server", 0x4000), root));
}

static inline void add_others(struct allocsnoop_profile *p)
{
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/worker", 0x1000);
	const struct allocsnoop_frame *gc = frame(p, "GC_malloc", "/usr/lib/libgc.so.1", 0x500);
	struct allocsnoop_sample *s;

	add_fate(p,
		 (struct fate){ .pid = 22,
				.comm = "worker",
				.stack_id = 4,
				.size = 512,
				.exit = 40,
				.freed = 2,
				.peak = 40,
				.freed_mean_ns = 300,
				.freed_class = 8 },
		 FRAMES(m, frame(p, "table_new", "/opt/worker", 0x2000), root));
	add_fate(p,
		 (struct fate){ .pid = 22,
				.comm = "worker",
				.stack_id = 5,
				.size = 16,
				.untracked = 7,
				.exit = 1 },
		 FRAMES(m, frame(p, "late", "/opt/worker", 0x3000), root));
	s = add_fate(p,
		     (struct fate){ .pid = 23,
				    .comm = GC_COMM,
				    .stack_id = 6,
				    .size = 48,
				    .untracked = 5000,
				    .collected = true },
		     FRAMES(gc, frame(p, "cons", "/opt/lisp", 0x2000)));
	s->allocator = arena__intern(&p->arena, "GC_malloc");
	/* The program's own malloc, called by the same function: no garbage. */
	add_fate(p,
		 (struct fate){ .pid = 23,
				.comm = GC_COMM,
				.stack_id = 7,
				.size = 48,
				.live = 3,
				.peak = 3,
				.live_mean_ns = 200,
				.live_class = 7 },
		 FRAMES(m, frame(p, "cons", "/opt/lisp", 0x2004)));
}

static inline void add_live_processes(struct allocsnoop_profile *p)
{
	struct allocsnoop_process *proc;

	proc = add_process(p, 20, "server", "/opt/server");
	proc->live_count = 3016;
	proc->live_bytes = 4024 * KIB;
	proc->peak_count = 2564;
	proc->peak_bytes = 6596 * KIB;
	proc->peak_ns = 7300000000;
	proc->rss_anon = 40 * MIB;
	proc->unknown_frees = 12;
	proc = add_process(p, 21, "server", "/opt/server");
	proc->live_count = proc->peak_count = 1000;
	proc->live_bytes = proc->peak_bytes = 1000 * KIB;
	proc->peak_ns = 12345678901;
	proc->rss_anon = 2 * MIB;
	proc = add_process(p, 22, "worker", "/opt/worker");
	proc->exited = true;
	proc->peak_count = 40;
	proc->peak_bytes = 20 * KIB;
	proc->peak_ns = 100000000;
	proc = add_process(p, 23, GC_COMM, "/opt/lisp");
	proc->live_count = proc->peak_count = 3;
	proc->live_bytes = proc->peak_bytes = 144;
	proc->peak_ns = 4000;
	add_process(p, 24, "idle", "/opt/idle");
}

static inline struct allocsnoop_profile *live_profile(void)
{
	struct allocsnoop_profile *p = profile__new();

	add_server(p);
	add_others(p);
	add_live_processes(p);
	must(profile__add_loss(p, "blocks_full", "neither live nor freed", 7));
	p->info.mode = "live";
	p->info.target = "every process";
	p->info.duration_ns = 120000000000;
	p->info.events = 100117;
	p->info.failed_count = 2;
	p->info.unknown_frees = 12;
	p->info.grown = true;
	profile__finish(p);
	return p;
}

/* As if one allocation in a hundred had been kept: 500 of those kept are live, then 4, then none.
 */
static inline struct allocsnoop_profile *sampled_live_profile(void)
{
	static const u64 live[] = { 500, 4, 0 };
	static const char *const names[] = { "many", "few", "none" };
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);

	for (u64 i = 0; i < ARRAY_SIZE(live); i++) {
		struct allocsnoop_sample *s =
			add_fate(p,
				 (struct fate){ .pid = 7,
						.comm = "prog",
						.stack_id = i + 1,
						.size = 100,
						.live = live[i] * 100,
						.freed = (1000 - live[i]) * 100,
						.live_mean_ns = NS_S,
						.freed_mean_ns = NS_S,
						.live_class = 29,
						.freed_class = 29 },
				 FRAMES(m, frame(p, names[i], "/opt/prog", i)));

		s->sampled_count = 1000;
		s->alloc_count_var = 1000 * 9900.0;
		s->alloc_bytes_var = 1000 * 9900.0 * 1e4;
		s->live_count_var = (double)live[i] * 9900.0;
		s->live_bytes_var = (double)live[i] * 9900.0 * 1e4;
		s->alloc_count += 300; /* live, but too young */
		s->alloc_bytes += 30000;
	}
	add_process(p, 7, "prog", "/opt/prog")->live_bytes = 5040000;
	p->info.mode = "live";
	p->info.exact = false;
	p->info.sampling = ALLOCSNOOP_RATE;
	p->info.sampling_value = 0.01;
	p->info.target = "prog (pid 7)";
	p->info.duration_ns = 2000000000;
	p->info.events = 299800;
	p->info.older_ns = 500000000;
	p->info.old_ns = OLD_NS;
	profile__finish(p);
	return p;
}

#endif
