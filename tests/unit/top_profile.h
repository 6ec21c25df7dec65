/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of one recording, made by hand, as `top` gets them one after the other. */
#ifndef TESTS_UNIT_TOP_PROFILE_H
#define TESTS_UNIT_TOP_PROFILE_H

#include <math.h>

#include "live_profile.h"

#define SECOND 1000000000ull

/* Adds a row, and its numbers to its process. */
static inline struct allocsnoop_sample *row(struct allocsnoop_profile *p,
					    struct allocsnoop_process *proc, u64 stack_id,
					    u64 count, u64 bytes,
					    const struct allocsnoop_frame **frames)
{
	struct allocsnoop_sample *s =
		add_row(p, proc->pid, proc->comm, stack_id, count, bytes, frames);

	proc->alloc_count += count;
	proc->alloc_bytes += bytes;
	proc->sampled_count += count;
	return s;
}

/* The recording after so many seconds: a server at 1000 allocations and 100,000 bytes a second from
 * two places, a worker that began after 2 s and ended after 4 s, an idle process. */
static inline struct allocsnoop_profile *recording(u64 seconds)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/server", 0x1000);
	const struct allocsnoop_frame *op =
		frame(p, "operator new(unsigned long)", "/usr/lib/libstdc++.so.6", 0xa0000);
	struct allocsnoop_process *proc;
	u64 worked = MIN(MAX(seconds, 2u), 4u) - 2;

	proc = add_process(p, 20, "server", "/opt/server");
	row(p, proc, 1, seconds * 800, seconds * 80000,
	    FRAMES(m, op, frame(p, "parse_request", "/opt/server", 0x2000), root));
	proc->container = arena__intern(&p->arena, "web.service");
	row(p, proc, 2, seconds * 200, seconds * 20000,
	    FRAMES(m, frame(p, "send_reply", "/opt/server", 0x3000), root));
	if (seconds >= 2) {
		proc = add_process(p, 21, "worker", "/opt/worker");
		proc->exited = seconds >= 4;
		if (worked)
			row(p, proc, 3, worked * 50, worked * 5000000,
			    FRAMES(m, frame(p, "load_table", "/opt/worker", 0x2000)));
	}
	add_process(p, 22, "idle", "/opt/idle");
	p->info.target = "every process";
	p->info.duration_ns = seconds * SECOND;
	p->info.events = seconds * 1000;
	p->info.exact = true;
	profile__finish(p);
	return p;
}

#endif
