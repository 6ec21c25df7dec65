/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles made by hand for the tests of views and writers: names as an attacker would choose them,
 * sums near the ends of 64 bits, and every way a stack can end.
 */
#ifndef TESTS_UNIT_HOSTILE_PROFILE_H
#define TESTS_UNIT_HOSTILE_PROFILE_H

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

#define TWO_63 (1ULL << 63)

static inline void must(int err)
{
	if (err)
		abort();
}

static inline const struct allocsnoop_frame *
frame(struct allocsnoop_profile *p, const char *function, const char *module, u64 offset)
{
	struct allocsnoop_frame *f = arena__alloc(&p->arena, sizeof(*f));

	f->function = arena__intern(&p->arena, function);
	f->module = arena__intern(&p->arena, module);
	f->offset = offset;
	return f;
}

/* frames: leaf first, ended by NULL. */
static inline struct allocsnoop_sample *add_row(struct allocsnoop_profile *p, u32 pid,
						const char *comm, u64 stack_id, u64 count,
						u64 bytes, const struct allocsnoop_frame **frames)
{
	struct allocsnoop_sample s = {
		.pid = pid,
		.pid_cnt = 1,
		.comm = comm,
		.allocator = "malloc",
		.stack_id = stack_id,
		.alloc_count = count,
		.alloc_bytes = bytes,
		.sampled_count = count,
		.size_low = count ? bytes / count : 0,
		.size_high = count ? bytes / count : 0,
	};
	const struct allocsnoop_frame **list;

	while (frames[s.frame_cnt])
		s.frame_cnt++;
	list = arena__alloc(&p->arena, (s.frame_cnt + 1) * sizeof(*list));
	memcpy(list, frames, s.frame_cnt * sizeof(*list));
	s.frames = list;
	must(profile__add_sample(p, &s));
	return &p->samples.v[p->samples.cnt - 1];
}

static inline struct allocsnoop_process *add_process(struct allocsnoop_profile *p, u32 pid,
						     const char *comm, const char *exe)
{
	must(profile__add_process(
		p, &(struct allocsnoop_process){ .pid = pid, .comm = comm, .exe = exe }));
	return &p->processes.v[p->processes.cnt - 1];
}

static inline void end_row(struct allocsnoop_sample *s, enum allocsnoop_end end)
{
	s->end = end;
	s->truncated = end != ALLOCSNOOP_COMPLETE;
}

#define FRAMES(...)  ((const struct allocsnoop_frame *[]){ __VA_ARGS__, NULL })
#define HOSTILE_COMM "ev;il\n\x1b[31m \"q\" \\ \xff</script>"

static inline void add_hostile_rows(struct allocsnoop_profile *p)
{
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *root =
		frame(p, "main", "/opt/a b;c/prog\t(deleted)", 0x1000);
	const struct allocsnoop_frame *evil, *rec, *huge;
	char name[5001];

	memset(name, 'N', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	evil = frame(p,
		     "f<\"a\\b\">;g\r\n\x1b]0;t\x07\x7f\xc2\x9b"
		     "31m\xed\xa0\x80\xe2\x82\xac</script>",
		     "", 0xffffffffffffffffULL);
	rec = frame(p, "deep_rec", "/opt/prog", 0x1100);
	huge = frame(p, name, "/opt/prog", 0x1200);
	add_row(p, 10, HOSTILE_COMM, 1, 3, TWO_63 + 1, FRAMES(m, evil, root));
	add_row(p, 11, HOSTILE_COMM, 1, 4, 4000, FRAMES(m, evil, root));
	add_row(p, 12, "rec", 2, 2, 4096, FRAMES(m, rec, rec, rec, rec, root));
	end_row(add_row(p, 12, "rec", 3, 1, 100, FRAMES(m, rec, rec)), ALLOCSNOOP_TRUNCATED);
	end_row(add_row(p, 12, "rec", 4, 1, 90, FRAMES(m, huge)), ALLOCSNOOP_NO_TABLE);
	end_row(add_row(p, 13, "", 5, 1, 80, (const struct allocsnoop_frame *[]){ NULL }),
		ALLOCSNOOP_LOST);
	add_row(p, 13, "", 6, 0, 0, FRAMES(m, root));
}

static inline void add_plain_rows(struct allocsnoop_profile *p)
{
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *odd =
		frame(p, "libc.so.6+0x2724a", "/usr/lib/libc.so.6", 0x2724a);
	const struct allocsnoop_frame *op =
		frame(p, "operator new(unsigned long)", "/usr/lib/libstdc++.so.6", 0xa0000);
	struct allocsnoop_frame *in =
		(void *)frame(p, "std::vector<int>::push_back(int&&)", "/opt/prog", 0x1300);
	struct allocsnoop_sample *s;

	in->file = arena__intern(&p->arena, "/src/über/vec.cc");
	in->line = 42;
	in->inlined = true;
	add_row(p, 12, "rec", 7, 10, 1000,
		FRAMES(m, op, in, frame(p, "main", "/opt/prog", 0x1), odd));
	/* The same functions in another file: another stack, the same folded line. */
	add_row(p, 14, "rec", 8, 1, 1000,
		FRAMES(m, op, in, frame(p, "main", "/opt/copy", 0x1), odd));
	s = add_row(p, 14, "rec", 9, 1, 12, FRAMES(frame(p, "pool get 12", "/opt/prog", 0x9), in));
	s->allocator = arena__intern(&p->arena, "pool get 12");
	s->type = arena__intern(&p->arena, "struct \"node\"");
	end_row(add_row(p, 14, "rec", 10, 1, 11, FRAMES(m, odd)), ALLOCSNOOP_ANONYMOUS);
	must(profile__add_loss(p, "stack_not_stored", "stacks shown as lost; sums are exact", 5));
	must(profile__add_loss(p, "zero", "never seen", 0));
	must(profile__add_loss(p, "stack_not_stored", "stacks shown as lost; sums are exact", 2));
	must(profile__add_loss(p, "ring\"full", "huge", UINT64_MAX));
}

static inline struct allocsnoop_profile *hostile_profile(void)
{
	struct allocsnoop_profile *p = profile__new();

	add_hostile_rows(p);
	add_plain_rows(p);
	add_process(p, 10, HOSTILE_COMM, "/opt/\n")->exited = true;
	add_process(p, 12, "rec", "/opt/prog");
	add_process(p, 13, "", "");
	p->info.target = arena__intern(&p->arena, "every\x1b process");
	p->info.duration_ns = 12345678901;
	p->info.events = 26;
	p->info.failed_count = 2;
	profile__finish(p);
	return p;
}

/* As if one allocation in a hundred had been kept. */
static inline struct allocsnoop_profile *sampled_profile(void)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *a = frame(p, "many", "/opt/prog", 0x1);
	const struct allocsnoop_frame *b = frame(p, "few", "/opt/prog", 0x2);
	struct allocsnoop_sample *s;

	s = add_row(p, 7, "prog", 1, 12300, 1230000, FRAMES(m, a));
	s->sampled_count = 123;
	s->alloc_count_var = 123 * 9900.0;
	s->alloc_bytes_var = 123 * 9900.0 * 1e4;
	s = add_row(p, 7, "prog", 2, 900, 9000, FRAMES(m, b));
	s->sampled_count = 9;
	s->alloc_count_var = 9 * 9900.0;
	s->alloc_bytes_var = 9 * 9900.0 * 100;
	p->info.exact = false;
	p->info.sampling = ALLOCSNOOP_RATE;
	p->info.sampling_value = 0.01;
	p->info.target = "prog (pid 7)";
	p->info.duration_ns = 2000000000;
	p->info.events = 13190;
	profile__finish(p);
	return p;
}

/* Several processes, two of them in containers; as if sampled where `exact` isn't. */
static inline struct allocsnoop_profile *crowd_profile(bool exact)
{
	static const struct {
		const char *comm, *cgroup, *container;
		u64 count, bytes;
	} rows[] = {
		{ "nginx", "/docker/4f2a", "4f2a9c0b1d3e", 300, 7000000 },
		{ "redis", "/system.slice/redis.service", "redis.service", 40000, 5000000 },
		{ "idle", "/", "", 0, 0 },
		{ HOSTILE_COMM, "/\x1b[2J", "pod\n\x1b[31m", 1, TWO_63 },
		{ "sh", "/user.slice", "", 2, 30 },
		{ "sh", "/user.slice", "", 2, 31 },
		{ "sh", "/user.slice", "", 2, 32 },
	};
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct allocsnoop_process *proc = add_process(p, 20 + i, rows[i].comm, "/opt/prog");
		struct allocsnoop_sample *s;

		if (!rows[i].count)
			continue;
		s = add_row(p, 20 + i, rows[i].comm, 1, rows[i].count, rows[i].bytes, FRAMES(m));
		s->sampled_count = exact ? rows[i].count : rows[i].count / 2;
		s->alloc_count_var = exact ? 0 : 100.0 * i * i;
		s->alloc_bytes_var = exact ? 0 : 1e8 * i * i;
		proc->alloc_count = s->alloc_count;
		proc->alloc_bytes = s->alloc_bytes;
		proc->alloc_count_se = exact ? 0 : 10 * i;
		proc->alloc_bytes_se = exact ? 0 : 1e4 * i;
		proc->sampled_count = s->sampled_count;
		proc->exited = i == 1;
		proc->cgroup = arena__intern(&p->arena, rows[i].cgroup);
		proc->container = arena__intern(&p->arena, rows[i].container);
	}
	p->info.exact = exact;
	p->info.sampling = exact ? ALLOCSNOOP_ALL : ALLOCSNOOP_RATE;
	p->info.sampling_value = exact ? 1 : 0.5;
	profile__finish(p);
	return p;
}

#endif
