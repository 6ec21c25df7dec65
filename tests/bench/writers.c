/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writers STACKS FORMAT...: makes a profile of so many different stacks (25 frames on average, of
 * 20,000 places in 200 files) and writes it in each format, grouping and sorting included. Prints
 * for each: format, milliseconds of CPU time, megabytes written, megabytes of memory at most (all
 * so far).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "profile/profile.h"

#define PLACES	  20000
#define FILES	  200
#define DEPTH_MIN 10
#define DEPTH_MAX 40

static const struct allocsnoop_frame *places[PLACES];

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void must(int err)
{
	if (err) {
		fprintf(stderr, "writers: %s\n", strerror(-err));
		exit(1);
	}
}

static u32 any(u32 below)
{
	static u64 state = 88172645463325252ULL; /* xorshift64 */

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (u32)(state >> 32) % below;
}

static void make_places(struct allocsnoop_profile *p)
{
	for (u32 i = 0; i < PLACES; i++) {
		struct allocsnoop_frame *f = arena__alloc(&p->arena, sizeof(*f));
		char name[64];

		snprintf(name, sizeof(name), "ns::Class%u::method_%u(int, char const*)", i % 997,
			 i);
		f->function = arena__intern(&p->arena, name);
		snprintf(name, sizeof(name), "/usr/lib/x86_64-linux-gnu/libmade%u.so.1", i % FILES);
		f->module = arena__intern(&p->arena, name);
		f->offset = 0x1000 + (u64)i * 64;
		places[i] = f;
	}
}

/* The beginning of another stack, then places of its own. */
static void make_stack(struct allocsnoop_profile *p, u64 id)
{
	static const char *const comms[] = { "nginx", "redis-server", "python3", "cc1",
					     "postgres" };
	const struct allocsnoop_sample *other = id ? &p->samples.v[any(id)] : NULL;
	u32 cnt = DEPTH_MIN + any(DEPTH_MAX - DEPTH_MIN), same = 0;
	const struct allocsnoop_frame **frames = arena__alloc(&p->arena, cnt * sizeof(*frames));
	u64 size = 16u << any(12), count = 1 + any(1000);

	if (other)
		same = any((u32)(other->frame_cnt < cnt ? other->frame_cnt : cnt));
	for (u32 i = 0; i < cnt; i++)
		frames[cnt - 1 - i] =
			i < same ? other->frames[other->frame_cnt - 1 - i] : places[any(PLACES)];
	must(profile__add_sample(p, &(struct allocsnoop_sample){ .pid = 100 + any(50),
								 .pid_cnt = 1,
								 .comm = comms[id % 5],
								 .allocator = "malloc",
								 .size_low = size,
								 .size_high = size,
								 .alloc_count = count,
								 .alloc_bytes = count * size,
								 .sampled_count = count,
								 .stack_id = id + 1,
								 .frames = frames,
								 .frame_cnt = cnt }));
}

static void write_format(const struct allocsnoop_profile *p, const char *format)
{
	const struct allocsnoop_report_opts opts = { .sz = sizeof(opts), .format = format };
	FILE *out = tmpfile();
	struct rusage usage;
	double start = now_ms();

	if (!out || allocsnoop_profile__write(p, &opts, out)) {
		fprintf(stderr, "writers: %s: %s\n", format, allocsnoop__error());
		exit(1);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%s %.0f %.1f %.0f\n", format, now_ms() - start, (double)ftell(out) / 1e6,
	       (double)usage.ru_maxrss / 1024);
	fclose(out);
}

int main(int argc, char **argv)
{
	struct allocsnoop_profile *p = profile__new();
	u64 cnt = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	if (!p || !cnt || argc < 3) {
		fprintf(stderr, "usage: writers STACKS FORMAT...\n");
		return 2;
	}
	make_places(p);
	for (u64 i = 0; i < cnt; i++)
		make_stack(p, i);
	profile__finish(p);
	for (int i = 2; i < argc; i++)
		write_format(p, argv[i]);
	profile__free(p);
	return 0;
}
