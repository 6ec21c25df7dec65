/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests and measurements of writers and of the reader:
 *
 *   profiles make STACKS FRAMES FILE   makes a profile of so many stacks and saves it as pprof
 *   profiles write FILE FORMAT         reads it and writes a report to standard output
 *   profiles time STACKS FRAMES [FORMAT...]
 *                                      makes one, writes each format and (pprof) reads it again;
 *                                      says how long it took and how much memory there was at most
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "pprof/pprof.h"
#include "report/writer.h"

/* xorshift64: the same numbers in every run. */
static u64 next_random(void)
{
	static u64 x = 0x9e3779b97f4a7c15ull;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static void *must(const void *mem)
{
	if (!mem) {
		fputs("profiles: out of memory\n", stderr);
		exit(1);
	}
	return (void *)mem;
}

#define MODULES	  40
#define FUNCTIONS 20000

static const struct allocsnoop_frame *make_frame(struct allocsnoop_profile *p, u64 nr, bool leaf)
{
	struct allocsnoop_frame *f = must(arena__alloc(&p->arena, sizeof(*f)));
	char name[96];

	snprintf(name, sizeof(name), leaf ? "malloc" : "app::module_%d::function_%d(int, char*)",
		 (int)(nr % MODULES), (int)(nr % FUNCTIONS));
	f->function = must(arena__intern(&p->arena, name));
	snprintf(name, sizeof(name), leaf ? "/usr/lib/libc.so.6" : "/usr/lib/libmodule%d.so",
		 (int)(nr % MODULES));
	f->module = must(arena__intern(&p->arena, name));
	f->offset = 0x1000 + nr * 16;
	return f;
}

/* Stacks of a program are alike near their roots: there each frame has few callees. */
static void make_stack(struct allocsnoop_profile *p, const struct allocsnoop_frame **known,
		       size_t frame_cnt, struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame **list;
	u64 at = 1;

	list = must(arena__alloc(&p->arena, frame_cnt * sizeof(*list)));
	for (size_t i = frame_cnt; i-- > 1;) {
		at = (at * 4 + next_random() % 4) % FUNCTIONS;
		list[i] = known[at];
	}
	list[0] = known[FUNCTIONS];
	s->frames = list;
	s->frame_cnt = frame_cnt;
}

static void make_sample(struct allocsnoop_profile *p, const struct allocsnoop_frame **known,
			size_t nr, size_t frame_cnt)
{
	u32 class = (u32)(next_random() % 12);
	struct allocsnoop_sample s = {
		.pid = 1000 + (u32)(nr % 50),
		.pid_cnt = 1,
		.comm = "made",
		.allocator = "malloc",
		.stack_id = nr + 1,
		.size_low = 16ull << class,
		.size_high = (32ull << class) - 1,
		.alloc_count = 1 + next_random() % 1000,
	};
	struct allocsnoop_lifetimes *l = must(arena__alloc(&p->arena, sizeof(*l)));

	make_stack(p, known, frame_cnt, &s);
	s.alloc_bytes = s.alloc_count * (s.size_low + next_random() % s.size_low);
	s.sampled_count = s.alloc_count;
	s.live_count = s.alloc_count / 3;
	s.live_bytes = s.live_count * s.size_low;
	s.freed_count = s.alloc_count - s.live_count;
	s.freed_bytes = s.alloc_bytes - s.live_bytes;
	s.freed_mean_ns = 1e6;
	s.live_mean_ns = 1e9;
	l->freed[20] = s.freed_count;
	l->live[30] = s.live_count;
	s.lifetimes = l;
	if (profile__add_sample(p, &s))
		must(NULL);
}

static struct allocsnoop_profile *make_profile(size_t stack_cnt, size_t frame_cnt)
{
	struct allocsnoop_profile *p = must(profile__new());
	const struct allocsnoop_frame **known = must(calloc(FUNCTIONS + 1, sizeof(*known)));

	for (u64 i = 0; i <= FUNCTIONS; i++)
		known[i] = make_frame(p, i, i == FUNCTIONS);
	for (size_t i = 0; i < stack_cnt; i++)
		make_sample(p, known, i, frame_cnt);
	for (u32 i = 0; i < 50; i++) {
		if (profile__add_process(p, &(struct allocsnoop_process){ .pid = 1000 + i,
									  .comm = "made",
									  .exe = "/usr/bin/made",
									  .cgroup = "/made",
									  .count = 1 }))
			must(NULL);
	}
	free(known);
	p->info.mode = "live";
	p->info.target = "a made profile";
	p->info.trace = ALLOCSNOOP_TRACE_MALLOC;
	profile__finish(p);
	return p;
}

static int failed(void)
{
	fprintf(stderr, "profiles: %s\n", allocsnoop__error());
	return 1;
}

static int write_to(const struct allocsnoop_profile *p, const char *format, const char *path)
{
	struct allocsnoop_report_opts opts = {
		.sz = sizeof(opts),
		.format = format,
		.lines = true,
		.value = strcmp(p->info.mode, "live") ? ALLOCSNOOP_ALLOC_BYTES
						      : ALLOCSNOOP_LIVE_BYTES,
	};
	FILE *out = path ? fopen(path, "w") : stdout;
	int err;

	if (!out) {
		perror(path);
		return 1;
	}
	err = allocsnoop_profile__write(p, &opts, out);
	if (path && fclose(out) && !err) {
		perror(path);
		return 1;
	}
	return err ? failed() : 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long most_mib(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_maxrss / 1024;
}

static int time_read(FILE *file)
{
	struct allocsnoop_profile *p;
	double start = now_ms();

	rewind(file);
	if (allocsnoop_profile__read(file, &p))
		return failed();
	printf("read   %-10s %8.0f ms of CPU, %ld MiB at most\n", "pprof", now_ms() - start,
	       most_mib());
	allocsnoop_profile__free(p);
	return 0;
}

static int time_format(const struct allocsnoop_profile *p, const char *format)
{
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts),
					       .format = format,
					       .lines = true };
	FILE *file = tmpfile();
	double start;
	int err = 0;

	if (file)
		setvbuf(file, NULL, _IOFBF, 256 * 1024); /* as the command has it */
	start = now_ms();
	if (!file || allocsnoop_profile__write(p, &opts, file)) {
		if (file)
			fclose(file);
		return failed();
	}
	printf("write  %-10s %8.0f ms of CPU, %ld MiB at most, %ld bytes\n", format,
	       now_ms() - start, most_mib(), ftell(file));
	if (!strcmp(format, "pprof"))
		err = time_read(file);
	fclose(file);
	return err;
}

static int run_time(char **argv)
{
	struct allocsnoop_profile *p =
		make_profile(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	int err = 0;

	printf("made   %ld MiB\n", most_mib());
	for (char **format = &argv[4]; *format && !err; format++)
		err = time_format(p, *format);
	profile__free(p);
	return err;
}

static int run_make(char **argv)
{
	struct allocsnoop_profile *p =
		make_profile(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	int err = write_to(p, "pprof", argv[4]);

	profile__free(p);
	return err;
}

static int run_write(char **argv)
{
	struct allocsnoop_profile *p;
	FILE *in = fopen(argv[2], "r");
	int err;

	if (!in) {
		perror(argv[2]);
		return 1;
	}
	err = allocsnoop_profile__read(in, &p);
	fclose(in);
	if (err)
		return failed();
	err = write_to(p, argv[3], NULL);
	allocsnoop_profile__free(p);
	return err;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "make"))
		return run_make(argv);
	if (argc == 4 && !strcmp(argv[1], "write"))
		return run_write(argv);
	if (argc >= 4 && !strcmp(argv[1], "time"))
		return run_time(argv);
	fputs("usage: profiles make STACKS FRAMES FILE | write FILE FORMAT | time STACKS FRAMES "
	      "[FORMAT...]\n",
	      stderr);
	return 2;
}
