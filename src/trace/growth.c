/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads and attaches the programs of bpf/growth.bpf.h. */
#include "trace/growth.h"

#include <allocsnoop.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "base/err.h"

#define RSS_ENTRIES (64u << 10) /* address spaces, once for each CPU that they run on */

struct growth_program {
	u32 trace; /* ALLOCSNOOP_TRACE_* */
	bool live; /* of use with --live only */
	struct bpf_program *prog;
	struct bpf_link **link; /* destroyed with the skeleton */
	const char *what;
};

#define GROWTH_PROGRAMS 8

#define PROGRAM(on, with_live, name, text)                                   \
	((struct growth_program){ .trace = ALLOCSNOOP_TRACE_##on,            \
				  .live = with_live,                         \
				  .prog = k->skel->progs.allocsnoop_##name,  \
				  .link = &k->skel->links.allocsnoop_##name, \
				  .what = text })

/* Exits before entries: whoever is between the two has left no note, and is nobody's. */
static void growth__programs(const struct kernel *k, struct growth_program p[GROWTH_PROGRAMS])
{
	p[0] = PROGRAM(MMAP, false, grow_mmap, "mmap(2)");
	p[1] = PROGRAM(MMAP, false, grow_mremap, "mremap(2)");
	p[2] = PROGRAM(MMAP, true, mremap_enter, "mremap(2)");
	p[3] = PROGRAM(MMAP, true, munmap_exit, "munmap(2)");
	p[4] = PROGRAM(MMAP, true, munmap_enter, "munmap(2)");
	p[5] = PROGRAM(BRK, false, grow_brk, "brk(2)");
	p[6] = PROGRAM(BRK, false, brk_enter, "brk(2)");
	p[7] = PROGRAM(FAULT, false, grow_rss, "page counts");
}

static bool program__is_wanted(const struct kernel *k, const struct growth_program *p)
{
	return k->trace & p->trace && (k->live || !p->live);
}

void growth__choose(struct kernel *k)
{
	struct growth_program p[GROWTH_PROGRAMS];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	growth__programs(k, p);
	for (u32 i = 0; i < GROWTH_PROGRAMS; i++)
		bpf_program__set_autoload(p[i].prog, program__is_wanted(k, &p[i]));
	if (!(k->trace & ALLOCSNOOP_TRACE_FAULT))
		return;
	bpf_map__set_max_entries(k->skel->maps.rss, RSS_ENTRIES);
	/* compute_batch_value(), lib/percpu_counter.c */
	k->skel->rodata->as_rss_batch = MAX(32, 2 * cpus);
}

int growth__attach(struct kernel *k)
{
	struct growth_program p[GROWTH_PROGRAMS];
	int err;

	growth__programs(k, p);
	for (u32 i = 0; i < GROWTH_PROGRAMS; i++) {
		if (!program__is_wanted(k, &p[i]))
			continue;
		*p[i].link = bpf_program__attach(p[i].prog);
		if (*p[i].link)
			continue;
		err = err__fail(-errno, "cannot watch %s: %s", p[i].what, strerror(errno));
		err__hint("a kernel with CONFIG_FTRACE_SYSCALLS=y is needed, and tracefs mounted");
		return err;
	}
	return 0;
}

const struct traced_site *growth__site(u32 number)
{
	static const struct catalog_row row = { .symbol = "growth", .allocator = "kernel" };
	static const struct site sites[] = {
		{ .row = &row, .symbol = "mmap" },   { .row = &row, .symbol = "mmap_file" },
		{ .row = &row, .symbol = "mremap" }, { .row = &row, .symbol = "brk" },
		{ .row = &row, .symbol = "fault" },
	};
	static const struct traced_site traced[ARRAY_SIZE(sites)] = {
		{ .site = &sites[0] }, { .site = &sites[1] }, { .site = &sites[2] },
		{ .site = &sites[3] }, { .site = &sites[4] },
	};

	if (number < AS_GROWTH_MMAP || number - AS_GROWTH_MMAP >= ARRAY_SIZE(traced))
		return NULL;
	return &traced[number - AS_GROWTH_MMAP];
}
