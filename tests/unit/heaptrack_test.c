/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack's file, read as its reader does: what it adds up must be what the profile says, to the
 * byte. The profiles come from simulated threads that keep their own books, so that every row is
 * one that a recording could have; and from rows that no recording could have.
 */
#include <errno.h>

#include "live_profile.h"
#include "written.h"

#define TRACES	200
#define INFOS	2000
#define SIZES	8  /* octaves of the simulation */
#define STACKS	12 /* stacks of it */
#define THREADS 4
#define BLOCKS	200

/* ---- the reader ---- */

struct costs {
	u64 allocated, temporary, leaked, peak;
};

struct reading {
	u32 trace_ip[TRACES], trace_cnt;
	u64 info_size[INFOS];
	u32 info_trace[INFOS], info_cnt;
	struct costs trace[TRACES], all;
	u64 allocated_bytes, size_least[TRACES], size_most[TRACES];
	u64 ip_cnt, string_cnt;
	u64 last;	 /* kind that was allocated last; 0 after any free */
	u64 ms, peak_ms; /* now; of the peak */
	u64 line_cnt;
	bool bad;
};

static void note_peak(struct reading *r)
{
	r->all.peak = r->all.leaked;
	r->peak_ms = r->ms;
	for (u32 i = 0; i <= r->trace_cnt; i++)
		r->trace[i].peak = r->trace[i].leaked;
}

static void read_alloc(struct reading *r, u64 info)
{
	u32 trace = info < r->info_cnt ? r->info_trace[info] : 0;
	u64 size = r->info_size[info];

	r->bad |= info >= r->info_cnt;
	r->last = info;
	r->trace[trace].allocated++;
	r->trace[trace].leaked += size;
	r->size_least[trace] =
		r->trace[trace].allocated == 1 ? size : MIN(r->size_least[trace], size);
	r->size_most[trace] = MAX(r->size_most[trace], size);
	r->all.allocated++;
	r->all.leaked += size;
	r->allocated_bytes += size;
	if (r->all.leaked > r->all.peak)
		note_peak(r);
}

static void read_free(struct reading *r, u64 info)
{
	u32 trace = info < r->info_cnt ? r->info_trace[info] : 0;
	bool temporary = info == r->last;

	r->bad |= info >= r->info_cnt || r->trace[trace].leaked < r->info_size[info];
	r->last = 0;
	r->trace[trace].leaked -= r->info_size[info];
	r->trace[trace].temporary += temporary;
	r->all.leaked -= r->info_size[info];
	r->all.temporary += temporary;
}

static void read_line(struct reading *r, const char *line)
{
	unsigned long long a = 0, b = 0;

	sscanf(line + 1, "%llx %llx", &a, &b);
	r->line_cnt++;
	switch (line[0]) {
	case '+':
		read_alloc(r, a);
		break;
	case '-':
		read_free(r, a);
		break;
	case 'c':
		r->bad |= a < r->ms;
		r->ms = a;
		break;
	case 'a':
		r->bad |= !b || b > r->trace_cnt;
		r->info_size[r->info_cnt] = a;
		r->info_trace[r->info_cnt++] = (u32)b;
		break;
	case 't':
		r->bad |= !a || a > r->ip_cnt || b > r->trace_cnt;
		r->trace_ip[++r->trace_cnt] = (u32)a;
		break;
	case 'i':
		r->ip_cnt++;
		break;
	case 's':
		r->bad |= strlen(strchr(line + 2, ' ') + 1) != a;
		r->string_cnt++;
		break;
	default:
		r->bad |= !strchr("vX#", line[0]);
	}
}

static struct reading *read_all(struct written *w)
{
	struct reading *r = calloc(1, sizeof(*r));

	CHECK_EQ(w->err, 0);
	for (char *line = strtok(w->text, "\n"); line; line = strtok(NULL, "\n"))
		read_line(r, line);
	CHECK(!r->bad);
	return r;
}

static struct reading *write_and_read(const struct allocsnoop_profile *p)
{
	struct written w = write_profile(p, &writer_heaptrack, (struct allocsnoop_report_opts){});
	struct reading *r = read_all(&w);

	free(w.text);
	return r;
}

/* ---- against the profile ---- */

static u64 sum_of(const struct allocsnoop_profile *p, size_t member)
{
	u64 sum = 0;

	for (size_t i = 0; i < p->samples.cnt; i++)
		sum += *(const u64 *)((const char *)&p->samples.v[i] + member);
	return sum;
}

#define SUM(p, member) sum_of(p, offsetof(struct allocsnoop_sample, member))

static void check_totals(const struct allocsnoop_profile *p, const struct reading *r)
{
	CHECK_EQ(r->all.allocated, SUM(p, alloc_count));
	CHECK_EQ(r->allocated_bytes, SUM(p, alloc_bytes));
	CHECK_EQ(r->all.temporary, SUM(p, temporary_count));
	CHECK_EQ(r->all.leaked, SUM(p, live_bytes));
	CHECK_EQ(r->all.peak, SUM(p, peak_bytes));
	CHECK_EQ(r->ms, p->info.duration_ns / 1000000);
	if (r->all.peak)
		CHECK_EQ(r->peak_ms, p->processes.v[0].peak_ns / 1000000);
}

/* Stacks of the simulation have one frame besides the allocator's: traces are stacks. */
static void check_stacks(const struct allocsnoop_profile *p, const struct reading *r)
{
	struct costs want[STACKS] = {}, is[STACKS] = {};
	u64 low[STACKS], high[STACKS] = {};
	u32 at = 0;

	memset(low, 0xff, sizeof(low));

	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];
		struct costs *c = &want[s->stack_id];

		c->allocated += s->alloc_count;
		c->leaked += s->live_bytes;
		c->peak += s->peak_bytes;
		c->temporary += s->temporary_count;
		low[s->stack_id] = MIN(low[s->stack_id], s->size_low);
		high[s->stack_id] = MAX(high[s->stack_id], s->size_high);
	}
	/* Traces come in the order of the frames' numbers: that of the rows. */
	for (size_t i = 0; i < STACKS; i++) {
		if (!want[i].allocated)
			continue;
		while (!r->trace[++at].allocated)
			;
		is[i] = r->trace[at];
		CHECK(r->size_least[at] >= low[i] && r->size_most[at] <= high[i]);
		CHECK_EQ(is[i].allocated, want[i].allocated);
		CHECK_EQ(is[i].leaked, want[i].leaked);
		CHECK_EQ(is[i].peak, want[i].peak);
		CHECK(is[i].temporary <= want[i].temporary);
	}
}

/* ---- threads that allocate ---- */

struct block {
	u64 size, serial; /* of its thread's allocations */
	u32 stack, octave, thread;
};

struct simulation {
	struct allocsnoop_sample rows[STACKS][SIZES];
	struct block blocks[BLOCKS];
	size_t block_cnt;
	u64 serial[THREADS], live, peak;
	u64 random;
};

static u64 dice(struct simulation *sim, u64 sides)
{
	sim->random = sim->random * 6364136223846793005ull + 1442695040888963407ull;
	return (sim->random >> 33) % sides;
}

static void at_peak(struct simulation *sim)
{
	sim->peak = sim->live;
	for (size_t i = 0; i < STACKS * SIZES; i++) {
		struct allocsnoop_sample *s = &sim->rows[i / SIZES][i % SIZES];

		s->peak_count = s->live_count;
		s->peak_bytes = s->live_bytes;
	}
}

static void simulate_alloc(struct simulation *sim, u32 stack_cnt)
{
	u32 stack = dice(sim, stack_cnt), octave = dice(sim, SIZES), thread = dice(sim, THREADS);
	u64 low = octave ? 1ull << (octave + 2) : 0, size = low + dice(sim, low ? low : 1);
	struct allocsnoop_sample *s = &sim->rows[stack][octave];

	s->alloc_count++;
	s->alloc_bytes += size;
	s->live_count++;
	s->live_bytes += size;
	s->size_low = low;
	s->size_high = low ? low * 2 - 1 : 0;
	sim->live += size;
	sim->blocks[sim->block_cnt++] =
		(struct block){ size, ++sim->serial[thread], stack, octave, thread };
	if (sim->live > sim->peak)
		at_peak(sim);
}

static void simulate_free(struct simulation *sim, size_t at)
{
	struct block b = sim->blocks[at];
	struct allocsnoop_sample *s = &sim->rows[b.stack][b.octave];

	s->live_count--;
	s->live_bytes -= b.size;
	s->freed_count++;
	s->freed_bytes += b.size;
	s->temporary_count += b.serial == sim->serial[b.thread];
	sim->live -= b.size;
	sim->blocks[at] = sim->blocks[--sim->block_cnt];
}

static void simulate(struct simulation *sim, u64 seed)
{
	u32 events, stack_cnt, often;

	*sim = (struct simulation){ .random = seed * 7919 + 1 };
	events = 1 + dice(sim, seed % 3 ? 12 : 3000);
	stack_cnt = 1 + dice(sim, STACKS);
	often = 1 + dice(sim, 9);
	while (events--) {
		if (sim->block_cnt && (sim->block_cnt == BLOCKS || dice(sim, 10) < often))
			simulate_free(sim, dice(sim, 3) ? sim->block_cnt - 1
							: dice(sim, sim->block_cnt));
		else
			simulate_alloc(sim, stack_cnt);
	}
}

/* A row with the numbers of another. */
static struct allocsnoop_sample *add_numbers(struct allocsnoop_profile *p, u64 stack,
					     const struct allocsnoop_sample *numbers,
					     const struct allocsnoop_frame **frames)
{
	struct allocsnoop_sample *row = add_row(p, 1, "prog", stack, 1, 1, frames), named = *row;

	*row = *numbers;
	row->pid_cnt = 1;
	row->comm = named.comm;
	row->allocator = named.allocator;
	row->stack_id = stack;
	row->frames = named.frames;
	row->frame_cnt = named.frame_cnt;
	return row;
}

static struct allocsnoop_profile *simulated(struct simulation *sim, u64 seed)
{
	struct allocsnoop_profile *p = profile__new();
	const struct allocsnoop_frame *m = frame(p, "malloc", "/usr/lib/libc.so.6", 1);
	struct allocsnoop_process *proc;
	char name[32];

	simulate(sim, seed);
	for (u32 stack = 0; stack < STACKS; stack++) {
		snprintf(name, sizeof(name), "function_%u", stack);
		const struct allocsnoop_frame *f = frame(p, name, "/opt/prog", stack);

		for (u32 octave = 0; octave < SIZES; octave++) {
			if (sim->rows[stack][octave].alloc_count)
				add_numbers(p, stack, &sim->rows[stack][octave], FRAMES(m, f));
		}
	}
	proc = add_process(p, 1, "prog", "/opt/prog");
	proc->peak_bytes = sim->peak;
	proc->peak_ns = dice(sim, 5) * 1000000000;
	p->info.mode = "live";
	p->info.duration_ns = 4000000000;
	profile__finish(p);
	return p;
}

static void test_simulated(void)
{
	struct simulation *sim = calloc(1, sizeof(*sim));

	for (u64 seed = 1; seed <= 1500 && !check_failures; seed++) {
		struct allocsnoop_profile *p = simulated(sim, seed);
		struct reading *r = write_and_read(p);

		check_totals(p, r);
		check_stacks(p, r);
		if (check_failures)
			fprintf(stderr, "seed %" PRIu64 "\n", seed);
		free(r);
		profile__free(p);
	}
	free(sim);
}

/* ---- rows that are rarely so, or never ---- */

/* One stack; the numbers are A, P, L and temporary ones as counts, then their bytes. */
struct numbers {
	u64 alloc, peak, live, temporary, alloc_bytes, peak_bytes, live_bytes, low, high;
};

static struct allocsnoop_profile *one_row(struct numbers n)
{
	struct allocsnoop_profile *p = profile__new();
	struct allocsnoop_process *proc = add_process(p, 1, "prog", "/opt/prog");

	add_numbers(p, 1,
		    &(struct allocsnoop_sample){
			    .alloc_count = n.alloc,
			    .alloc_bytes = n.alloc_bytes,
			    .peak_count = n.peak,
			    .peak_bytes = n.peak_bytes,
			    .live_count = n.live,
			    .live_bytes = n.live_bytes,
			    .temporary_count = n.temporary,
			    .freed_count = n.alloc - n.live,
			    .size_low = n.low,
			    .size_high = n.high,
		    },
		    FRAMES(frame(p, "malloc", "/usr/lib/libc.so.6", 1),
			   frame(p, "main", "/opt/prog", 2)));
	proc->peak_bytes = n.peak_bytes;
	proc->peak_ns = 1000000;
	p->info.mode = "live";
	p->info.duration_ns = 2000000;
	profile__finish(p);
	return p;
}

static void check_row(struct numbers n)
{
	struct allocsnoop_profile *p = one_row(n);
	struct reading *r = write_and_read(p);

	check_totals(p, r);
	free(r);
	profile__free(p);
}

static void check_contradiction(struct numbers n)
{
	struct allocsnoop_profile *p = one_row(n);
	struct written w = write_profile(p, &writer_heaptrack, (struct allocsnoop_report_opts){});

	CHECK_EQ(w.err, -EINVAL);
	CHECK(strstr(err__msg(), "contradict"));
	CHECK_EQ(w.size, 0);
	free(w.text);
	profile__free(p);
}

static void test_rows(void)
{
	/* One block, freed at leisure: another must stand between its two lines. */
	check_row((struct numbers){ 1, 1, 0, 0, 100, 100, 0, 64, 127 });
	check_row((struct numbers){ 1, 1, 0, 1, 100, 100, 0, 64, 127 });
	/* Each as large as the peak; the last one stays. */
	check_row((struct numbers){ 9, 1, 1, 8, 900, 100, 100, 64, 127 });
	check_row((struct numbers){ 9, 1, 1, 0, 900, 100, 100, 64, 127 });
	/* Different blocks at the peak and at the end. */
	check_row((struct numbers){ 2, 1, 1, 0, 47, 31, 16, 16, 31 });
	/* Blocks of no bytes. */
	check_row((struct numbers){ 7, 0, 3, 2, 0, 0, 0, 0, 0 });
	/* Threads: the count at the peak is of another moment than its bytes. */
	check_row((struct numbers){ 20, 3, 2, 5, 2000, 800, 200, 64, 127 });
	check_row((struct numbers){ 20, 20, 2, 5, 2000, 800, 200, 64, 127 });
	/* No range of sizes, or a wrong one. */
	check_row((struct numbers){ 10, 5, 5, 0, 1000, 600, 500, 0, 0 });
	check_row((struct numbers){ 10, 5, 5, 0, 1000, 600, 500, 9, 3 });
	check_row((struct numbers){ 3, 1, 1, 1, TWO_63, TWO_63 / 2, 5, 0, UINT64_MAX });
	check_contradiction((struct numbers){ 1, 0, 2, 0, 10, 0, 20, 0, 99 });
	check_contradiction((struct numbers){ 2, 0, 2, 1, 20, 0, 20, 0, 99 });
	check_contradiction((struct numbers){ 2, 0, 1, 0, 20, 0, 40, 0, 99 });
	check_contradiction((struct numbers){ 2, 0, 0, 3, 20, 0, 0, 0, 99 });
}

/* Numbers of a file that lies: refused, or still allocated, temporary and leaked as it says. */
static void test_lies(void)
{
	struct simulation sim = { .random = 1 };
	u64 written = 0;

	for (int i = 0; i < 4000 && !check_failures; i++) {
		u64 cnt = dice(&sim, 20), low = dice(&sim, 40), high = low + dice(&sim, 40);
		u64 live = dice(&sim, 3) ? dice(&sim, cnt + 1) : dice(&sim, 25);
		struct allocsnoop_profile *p = one_row((struct numbers){
			cnt, dice(&sim, 25), live, dice(&sim, 3) ? 0 : dice(&sim, cnt + 1),
			cnt * low + dice(&sim, cnt * 40 + 1), dice(&sim, 2000),
			live * low + dice(&sim, live * 40 + 1), low, high });
		struct written w =
			write_profile(p, &writer_heaptrack, (struct allocsnoop_report_opts){});

		if (w.err) {
			CHECK_EQ(w.err, -EINVAL);
		} else {
			struct reading *r = read_all(&w);

			CHECK_EQ(r->all.allocated, SUM(p, alloc_count));
			CHECK_EQ(r->allocated_bytes, SUM(p, alloc_bytes));
			CHECK_EQ(r->all.temporary, SUM(p, temporary_count));
			CHECK_EQ(r->all.leaked, SUM(p, live_bytes));
			free(r);
			written++;
		}
		free(w.text);
		profile__free(p);
	}
	CHECK(written > 400);
}

/* A peak that no blocks can have is left out, and the file says so. */
static void test_bad_peak(void)
{
	struct allocsnoop_profile *p = one_row((struct numbers){ 2, 2, 1, 0, 20, 4000, 10, 8, 15 });
	struct written w = write_profile(p, &writer_heaptrack, (struct allocsnoop_report_opts){});
	struct reading *r;

	CHECK(strstr(w.text, "# The peak isn't known of all stacks."));
	r = read_all(&w);
	CHECK_EQ(r->all.allocated, 2);
	CHECK_EQ(r->all.leaked, 10);
	free(r);
	free(w.text);
	profile__free(p);
}

/* Several processes, names as an attacker would choose them, lost stacks, and no stacks at all. */
static void test_made(void)
{
	struct allocsnoop_profile *p = live_profile();
	struct reading *r;

	p->processes.v[0].peak_ns = 7300000000;
	r = write_and_read(p);
	check_totals(p, r);
	free(r);
	profile__free(p);
	p = profile__new();
	p->info.mode = "live";
	r = write_and_read(p);
	check_totals(p, r);
	free(r);
	profile__free(p);
}

static struct allocsnoop_profile *hostile_live_profile(void)
{
	struct allocsnoop_profile *p = hostile_profile();

	p->info.mode = "live";
	p->info.target = "every\x1b process\nX evil # \xff";
	for (size_t i = 0; i < p->samples.cnt; i++) {
		struct allocsnoop_sample *s = &p->samples.v[i];

		s->size_low = 0;
		s->size_high = UINT64_MAX;
		s->live_count = s->peak_count = i % 2 ? s->alloc_count : 0;
		s->live_bytes = s->peak_bytes = i % 2 ? s->alloc_bytes : 0;
	}
	p->processes.v[1].peak_bytes = 4096;
	p->processes.v[1].peak_ns = 2000000000;
	profile__finish(p);
	return p;
}

static void test_hostile(void)
{
	struct allocsnoop_profile *p = hostile_live_profile();
	struct written w = write_profile(p, &writer_heaptrack, (struct allocsnoop_report_opts){});
	struct reading *r;

	check_golden_file("hostile.heaptrack", &w);
	for (size_t i = 0; i < w.size; i++)
		CHECK(w.text[i] == '\n' || ((u8)w.text[i] >= 0x20 && w.text[i] != 0x7f));
	r = read_all(&w);
	CHECK_EQ(r->all.allocated, p->info.alloc_count);
	free(r);
	free(w.text);
	profile__free(p);
}

/* ---- what it refuses ---- */

static void check_refused(const struct allocsnoop_profile *p, int err, const char *words,
			  const char *hint)
{
	struct written w = write_profile(p, &writer_heaptrack, (struct allocsnoop_report_opts){});

	CHECK_EQ(w.err, err);
	CHECK_EQ(w.size, 0);
	CHECK(strstr(err__msg(), words));
	CHECK(strstr(err__hint_msg(), hint));
	free(w.text);
}

static void test_refusals(void)
{
	struct allocsnoop_profile *p = sampled_profile();

	check_refused(p, -ENOTSUP, "frees were not followed", "--live");
	profile__free(p);
	p = sampled_live_profile();
	check_refused(p, -ENOTSUP, "sampled", "dhat");
	p->info.exact = true;
	check_refused(p, -ENOTSUP, "--older", "without --older");
	p->info.older_ns = 0;
	p->info.trace = ALLOCSNOOP_TRACE_MMAP;
	check_refused(p, -ENOTSUP, "in parts", "massif");
	p->info.trace = 0;
	p->info.diff = true;
	check_refused(p, -ENOTSUP, "differences", "each of the two");
	p->info.diff = false;
	p->info.alloc_count = 100000001;
	check_refused(p, -EFBIG, "100000001 allocations", "dhat");
	profile__free(p);
}

/* The library passes a writer's own words on, and has some where the writer has none. */
static void test_words(void)
{
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts), .format = "heaptrack" };
	struct allocsnoop_profile *p = sampled_live_profile();
	FILE *full = fopen("/dev/full", "w");

	CHECK_EQ(allocsnoop_profile__write(p, &opts, full), -ENOTSUP);
	CHECK(strstr(allocsnoop__error(), "format heaptrack: is a list of all blocks: sampled"));
	CHECK(strstr(allocsnoop__hint(), "without sampling"));
	profile__free(p);
	p = live_profile();
	CHECK_EQ(allocsnoop_profile__write(p, &opts, full), -ENOSPC);
	CHECK_STR(allocsnoop__error(), "cannot write the report: No space left on device");
	CHECK_STR(allocsnoop__hint(), "");
	profile__free(p);
	fclose(full);
}

int main(void)
{
	test_simulated();
	test_rows();
	test_bad_peak();
	test_lies();
	test_made();
	test_hostile();
	test_refusals();
	test_words();
	return check__done();
}
