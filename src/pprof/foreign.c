/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heap profiles of others: what their values mean, and what we say of numbers that they don't
 * tell. Sampled ones (Go's, tcmalloc's, V8's) are drawn by bytes and hold estimates, which have
 * errors that follow from the size of the blocks and the mean distance of samples.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "pprof/in.h"

/* ---- types of values ---- */

/* clang-format off */
static const struct {
	const char *type;
	enum pprof_column column;
} types[] = {
	{ "alloc_objects", COLUMN_ALLOC_COUNT },	/* Go, ours, jemalloc's and tcmalloc's converted */
	{ "alloc_space", COLUMN_ALLOC_BYTES },
	{ "inuse_objects", COLUMN_LIVE_COUNT },
	{ "inuse_space", COLUMN_LIVE_BYTES },
	{ "objects", COLUMN_LIVE_COUNT },		/* V8, and converted ones without frees */
	{ "space", COLUMN_LIVE_BYTES },
	{ "alloc-space", COLUMN_ALLOC_BYTES },		/* ddprof; its counts are of samples */
	{ "inuse-space", COLUMN_LIVE_BYTES },
	{ "allocs", COLUMN_ALLOC_COUNT },		/* Julia */
	{ "size", COLUMN_ALLOC_BYTES },
	{ "allocations", COLUMN_ALLOC_COUNT },
	{ "Total malloc count", COLUMN_ALLOC_COUNT },	/* heapprofd */
	{ "Total malloc size", COLUMN_ALLOC_BYTES },
	{ "Unreleased malloc count", COLUMN_LIVE_COUNT },
	{ "Unreleased malloc size", COLUMN_LIVE_BYTES },
	{ "Total count", COLUMN_ALLOC_COUNT },		/* of other heaps */
	{ "Total size", COLUMN_ALLOC_BYTES },
	{ "Unreleased count", COLUMN_LIVE_COUNT },
	{ "Unreleased size", COLUMN_LIVE_BYTES },
};
/* clang-format on */

enum pprof_column foreign__column(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!strcmp(types[i].type, type))
			return types[i].column;
	}
	return COLUMN_CNT;
}

/* ---- the allocator's function ---- */

/* Names that allocators put before those of the functions that they replace. */
static const char *const prefixes[] = {
	"__libc_", "__interceptor_", "je_", "_rjem_", "_rjem_je_", "tc_", "mi_", ""
};
static const char *const functions[] = {
	"malloc",	  "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "mallocx",      "rallocx",  "new",
	"newarray",
};

static bool is_one_of(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strlen(functions[i]) == len && !memcmp(functions[i], name, len))
			return true;
	}
	return false;
}

/* As pprof compares: without arguments. */
static bool is_allocator(const char *function)
{
	size_t len = strcspn(function, "(");

	if (!strncmp(function, "operator new", 12))
		return len == 12 || !strncmp(function + 12, "[]", 2);
	if (!strncmp(function, "new", 3)) /* with a prefix only */
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t skip = strlen(prefixes[i]);

		if (len > skip && !strncmp(function, prefixes[i], skip) &&
		    is_one_of(function + skip, len - skip))
			return true;
	}
	return false;
}

/* Files that hold an allocator and nothing else. */
static bool is_allocator_file(const char *module)
{
	static const char *const names[] = { "libjemalloc.", "libjemalloc_", "libtcmalloc.",
					     "libtcmalloc_", "libmimalloc." };
	const char *slash = strrchr(module, '/');
	const char *base = slash ? slash + 1 : module;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* Where the stack enters the allocator, whose own functions may come first; -1: it isn't told. */
static ssize_t list__entry(const struct in *in, const char *allocator)
{
	const size_t deepest = MIN(in->list.cnt, (size_t)16);
	size_t inside = 0;

	for (size_t i = 0; i < deepest; i++) {
		const char *function = in->list.v[i]->function;

		if (*allocator ? !strcmp(function, allocator) : is_allocator(function))
			return (ssize_t)i;
	}
	while (!*allocator && inside < deepest && is_allocator_file(in->list.v[inside]->module))
		inside++;
	return (ssize_t)inside - 1;
}

/* A frame 0 of this name, of no file. NULL: out of memory. */
static const struct allocsnoop_frame *frame__make(struct in *in, const char *name)
{
	struct allocsnoop_frame *f;
	u64 old;

	if (map__get(&in->allocators, (uintptr_t)name, &old))
		return (const void *)(uintptr_t)old;
	f = arena__alloc(&in->p->arena, sizeof(*f));
	if (!f || map__put(&in->allocators, (uintptr_t)name, (uintptr_t)f))
		return NULL;
	f->function = name;
	f->module = "";
	return f;
}

int foreign__lead(struct in *in, const char *allocator, const char **name)
{
	ssize_t entry = list__entry(in, allocator);
	const struct allocsnoop_frame *first;
	size_t cnt = in->list.cnt;

	if (entry >= 0) {
		in->list.cnt -= (size_t)entry;
		memmove(in->list.v, in->list.v + entry, in->list.cnt * sizeof(*in->list.v));
		*name = in->list.v[0]->function;
		return 0;
	}
	*name = arena__intern(&in->p->arena, *allocator ? allocator : PPROF_ALLOCATOR);
	first = *name ? frame__make(in, *name) : NULL;
	if (!first || vec__push(&in->list, NULL))
		return in__no_memory();
	memmove(in->list.v + 1, in->list.v, cnt * sizeof(*in->list.v));
	in->list.v[0] = first;
	return 0;
}

static u64 hash_text(u64 hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (u8)*text) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

/* Of names and places, so that the same stack has the same id in two profiles of a program. */
u64 foreign__stack_id(const struct in *in)
{
	u64 hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < in->list.cnt; i++) {
		const struct allocsnoop_frame *f = in->list.v[i];

		hash = hash_text(hash, f->function);
		hash = map__mix(hash_text(hash, f->module), f->offset);
	}
	return hash ? hash : 1;
}

/* ---- numbers ---- */

/*
 * Blocks of S bytes are kept with probability p = 1 - exp(-S/R), and each kept one stands for 1/p.
 * So n estimated blocks rest on n*p kept ones, and the variance's own estimate is the sum of
 * (1-p)/p^2 over those, n*(1-p)/p; of bytes S^2 times that. Of blocks of unknown size, which is the
 * limit of small ones, the bytes have R times the bytes, the most that there can be.
 */
static void estimate__vars(double r, u64 size, u64 cnt, u64 bytes, double *cnt_var,
			   double *bytes_var)
{
	double p = -expm1(-(double)size / r);

	if (!size) {
		*bytes_var = (double)bytes * r;
		return;
	}
	*cnt_var = (double)cnt * (1 - p) / p;
	*bytes_var = *cnt_var * (double)size * (double)size;
}

static void sample__estimate(double r, u64 size, struct allocsnoop_sample *s)
{
	double kept = size ? (double)s->alloc_count * -expm1(-(double)size / r)
			   : (double)s->alloc_bytes / r;

	s->sampled_count = (u64)llround(MIN(kept, 0x1p62));
	estimate__vars(r, size, s->alloc_count, s->alloc_bytes, &s->alloc_count_var,
		       &s->alloc_bytes_var);
	estimate__vars(r, size, s->live_count, s->live_bytes, &s->live_count_var,
		       &s->live_bytes_var);
}

/* The size of the row's blocks: by the label, else the mean. */
static u64 sample__size(const struct in_labels *l, const struct allocsnoop_sample *s)
{
	if (l->bytes)
		return l->bytes;
	return s->alloc_count ? s->alloc_bytes / s->alloc_count : 0;
}

static u64 rest(u64 whole, u64 part)
{
	return whole > part ? whole - part : 0;
}

static int process__add(struct in *in, const struct in_labels *l, const struct allocsnoop_sample *s)
{
	u64 key = map__mix(s->pid, (uintptr_t)s->comm), at;
	struct allocsnoop_process *proc;

	if (!map__get(&in->processes, key, &at)) {
		const char *exe = !*l->comm && in->mappings.cnt ? in->mappings.v[0].file : "";
		struct allocsnoop_process made = { .pid = s->pid,
						   .comm = s->comm,
						   .exe = exe,
						   .cgroup = l->cgroup,
						   .container = l->container,
						   .count = 1 };
		int err = in__take(in, 2 * sizeof(made) + 4 * sizeof(struct map_slot));

		if (err)
			return err;
		at = in->p->processes.cnt;
		if (profile__add_process(in->p, &made) || map__put(&in->processes, key, at))
			return in__no_memory();
	}
	proc = &in->p->processes.v[at];
	proc->alloc_count = sum__add(proc->alloc_count, s->alloc_count);
	proc->alloc_bytes = sum__add(proc->alloc_bytes, s->alloc_bytes);
	proc->live_count = sum__add(proc->live_count, s->live_count);
	proc->live_bytes = sum__add(proc->live_bytes, s->live_bytes);
	proc->sampled_count = sum__add(proc->sampled_count, s->sampled_count);
	/* Variances until all are there. */
	proc->alloc_count_se += s->alloc_count_var;
	proc->alloc_bytes_se += s->alloc_bytes_var;
	return 0;
}

static bool has(const struct in *in, enum pprof_column count, enum pprof_column bytes)
{
	return in->columns[count] >= 0 || in->columns[bytes] >= 0;
}

int foreign__finish_sample(struct in *in, const struct in_labels *l, struct allocsnoop_sample *s)
{
	const char *target = in->p->info.target;
	u64 size;

	/* What is live was allocated; of what was freed nothing is known then. */
	if (!has(in, COLUMN_ALLOC_COUNT, COLUMN_ALLOC_BYTES)) {
		s->alloc_count = s->live_count;
		s->alloc_bytes = s->live_bytes;
	}
	size = sample__size(l, s);
	s->pid = l->pid;
	s->tid = l->tid;
	s->pid_cnt = 1;
	s->comm = *l->comm ? l->comm : *target ? target : "[unknown]";
	s->size_low = l->sizes.high ? l->sizes.low : size;
	s->size_high = l->sizes.high ? l->sizes.high : size;
	if (has(in, COLUMN_LIVE_COUNT, COLUMN_LIVE_BYTES)) {
		s->freed_count = rest(s->alloc_count, s->live_count);
		s->freed_bytes = rest(s->alloc_bytes, s->live_bytes);
	}
	if (in->period > 1)
		sample__estimate(in->period, size, s);
	else if (in->period)
		s->sampled_count = s->alloc_count;
	return process__add(in, l, s);
}

int foreign__finish(struct in *in)
{
	struct allocsnoop_profile *p = in->p;
	int err = 0;

	for (size_t i = 0; i < p->processes.cnt; i++) {
		struct allocsnoop_process *proc = &p->processes.v[i];

		proc->alloc_count_se = sqrt(proc->alloc_count_se);
		proc->alloc_bytes_se = sqrt(proc->alloc_bytes_se);
	}
	if (!in->period)
		err = profile__add_loss(p, "sampling_unknown",
					"the file doesn't say whether it holds all allocations or "
					"samples",
					1);
	if (!err && !has(in, COLUMN_ALLOC_COUNT, COLUMN_ALLOC_BYTES))
		err = profile__add_loss(p, "freed_unknown",
					"the file has live blocks only: what was freed before is "
					"in no number",
					1);
	profile__finish(p);
	if (p->info.exact)
		p->info.events = p->info.alloc_count;
	return err ? in__no_memory() : 0;
}
