/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles made for the page: one of very many stacks, as a build farm's machine would give, one
 * that is a difference, and one with a course. Everything is made by a small generator of numbers,
 * the same each time.
 */
#ifndef TESTS_UNIT_PAGE_PROFILE_H
#define TESTS_UNIT_PAGE_PROFILE_H

#include "live_profile.h"

#define PAGE_FUNCTIONS 6000
#define PAGE_DEPTH     36

static inline u64 page_random(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Names as long as C++ has them. */
static inline const struct allocsnoop_frame *page_function(struct allocsnoop_profile *p, u32 i)
{
	char name[200], module[64];

	snprintf(name, sizeof(name),
		 "project::module_%u::Handler%u<std::vector<int, "
		 "std::allocator<int>>>::step_%u(int)",
		 i % 97, i % 1009, i);
	snprintf(module, sizeof(module), "/usr/lib/project/libmodule_%u.so.%u", i % 23, i % 3);
	return frame(p, name, module, i);
}

/* The callees of a function are few, so stacks share their beginnings, as real ones do. */
static inline void page_stack(struct allocsnoop_profile *p,
			      const struct allocsnoop_frame **functions, u32 n, u64 *state)
{
	const struct allocsnoop_frame *frames[PAGE_DEPTH + 1] = { functions[0] };
	size_t depth = 8 + page_random(state) % (PAGE_DEPTH - 8);
	u64 size = 16ull << page_random(state) % 14;
	u64 count = 1 + (page_random(state) % 1000) * (page_random(state) % 1000) / 1000;
	struct allocsnoop_sample *s;
	u64 at = 1;

	for (size_t i = 0; i < depth; i++) {
		u64 dice = page_random(state) % 16;
		u64 pick = dice < 10 ? 0 : dice < 13 ? 1 : dice < 15 ? 2 : 3;

		frames[depth - i] = functions[at];
		at = 1 + (at * 31 + pick * (i < 12 ? 1 : 977) + i) % (PAGE_FUNCTIONS - 1);
	}
	frames[depth + 1] = NULL;
	s = add_row(p, 100 + n % 50, n % 3 ? "cc1plus" : "ld", n + 1, count, count * size, frames);
	s->live_count = count / 3;
	s->live_bytes = count / 3 * size;
	s->freed_count = count - count / 3;
	s->freed_bytes = (count - count / 3) * size;
	s->temporary_count = count / 7;
}

static inline struct allocsnoop_profile *many_stacks_profile(u32 cnt)
{
	static const struct allocsnoop_frame *functions[PAGE_FUNCTIONS];
	struct allocsnoop_profile *p = profile__new();
	u64 state = 42;

	functions[0] = frame(p, "malloc", "/usr/lib/libc.so.6", 0);
	for (u32 i = 1; i < PAGE_FUNCTIONS; i++)
		functions[i] = page_function(p, i);
	for (u32 i = 0; i < cnt; i++)
		page_stack(p, functions, i, &state);
	for (u32 i = 0; i < 50; i++)
		add_process(p, 100 + i, i % 3 ? "cc1plus" : "ld", "/usr/bin/prog");
	p->info.mode = "live";
	p->info.target = "every process";
	p->info.duration_ns = 60000000000;
	p->info.events = cnt;
	profile__finish(p);
	return p;
}

/* The sampled one is one of allocations only, so its points have nothing live. */
static inline void add_course(struct allocsnoop_profile *p)
{
	for (u64 i = 1; i <= 20; i++) {
		struct allocsnoop_point point = {
			.time_ns = i * 100000000,
			.alloc_count = p->info.alloc_count * i / 20,
			.alloc_bytes = p->info.alloc_bytes * i / 20,
		};

		must(vec__push(&p->points, point));
	}
}

/* Grown, shrunk, new, gone and the same. */
static inline struct allocsnoop_profile *difference_profile(void)
{
	static const struct {
		const char *name;
		u64 before, after;
	} rows[] = { { "grown", 100, 900 },
		     { "shrunk", 800, 200 },
		     { "new", 0, 300 },
		     { "gone", 400, 0 },
		     { "same", 500, 500 } };
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 0x97360);
	const struct allocsnoop_frame *root = frame(p, "main", "/opt/prog", 0x1000);

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct allocsnoop_sample *s =
			add_row(p, 7, "prog", i + 1, rows[i].after, rows[i].after * 1024,
				FRAMES(m, frame(p, rows[i].name, "/opt/prog", i), root));

		s->base_alloc_count = rows[i].before;
		s->base_alloc_bytes = rows[i].before * 1024;
	}
	add_process(p, 7, "prog", "/opt/prog");
	p->info.target = "prog, later";
	p->info.base_target = "prog, before";
	p->info.diff = true;
	profile__finish(p);
	return p;
}

#endif
