/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel counts for --max-overhead: hits, their cost, and the targets' CPU time. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "trace/budget.h"
#include "trace/kernel.h"

#define GROUP_BATCH 256

static u32 cpus__mask(const struct kernel *k)
{
	return k->skel->rodata->as_cpu_mask;
}

void kernel__set_governed(struct kernel *k)
{
	struct allocsnoop_bpf *s = k->skel;
	bool on = k->governed;

	bpf_program__set_expected_attach_type(s->progs.allocsnoop_callg, UPROBE_MULTI_ATTACH);
	bpf_program__set_autoload(s->progs.allocsnoop_callg, on);
	bpf_program__set_autoload(s->progs.allocsnoop_used, on);
	bpf_program__set_autoload(s->progs.allocsnoop_reaped, on);
	bpf_program__set_autoload(s->progs.allocsnoop_cpu, on);
	bpf_map__set_autocreate(s->maps.costs, on);
	bpf_map__set_autocreate(s->maps.groups, on);
	bpf_map__set_autocreate(s->maps.dead, on);
	bpf_map__set_autocreate(s->maps.alarms, on);
	if (!on)
		return;
	bpf_map__set_max_entries(s->maps.costs, cpus__mask(k) + 1);
	s->rodata->as_alarm_ns = BUDGET_WINDOW_NS;
	s->rodata->as_alarm_hits =
		(u64)(BUDGET_WINDOW_NS * BUDGET_STORM / (k->trap_ns + BUDGET_PROGRAM_NS));
}

void kernel__cost(struct kernel *k, struct as_cost *sum)
{
	struct as_cost c;

	memset(sum, 0, sizeof(*sum));
	for (u32 i = 0; i <= cpus__mask(k); i++) {
		if (bpf_map__lookup_elem(k->skel->maps.costs, &i, sizeof(i), &c, sizeof(c), 0))
			continue;
		sum->hits += c.hits;
		sum->timed += c.timed;
		sum->timed_ns += c.timed_ns;
	}
}

int kernel__each_thread(struct kernel *k, void (*fn)(void *arg, const struct as_cpu_event *ev),
			void *arg)
{
	struct as_cpu_event evs[512];
	struct allocsnoop_bpf *s = k->skel;
	ssize_t n;
	int fd;

	if (!s->links.allocsnoop_cpu)
		s->links.allocsnoop_cpu = bpf_program__attach_iter(s->progs.allocsnoop_cpu, NULL);
	if (!s->links.allocsnoop_cpu)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(s->links.allocsnoop_cpu));
	if (fd < 0)
		return fd;
	/* The kernel gives whole records (its buffer is a multiple of theirs). */
	while ((n = read(fd, evs, sizeof(evs))) > 0) {
		for (size_t i = 0; i < n / sizeof(evs[0]); i++)
			fn(arg, &evs[i]);
	}
	n = n < 0 ? -errno : 0;
	close(fd);
	return n;
}

int kernel__each_group(struct kernel *k,
		       void (*fn)(void *arg, const struct as_group_key *key,
				  const struct as_group *group),
		       void *arg)
{
	struct as_group_key keys[GROUP_BATCH];
	struct as_group vals[GROUP_BATCH];
	u32 batch, cnt;
	int err = 0;

	for (bool first = true; !err; first = false) {
		cnt = GROUP_BATCH;
		err = bpf_map_lookup_batch(bpf_map__fd(k->skel->maps.groups), first ? NULL : &batch,
					   &batch, keys, vals, &cnt, NULL);
		if (err && errno != ENOENT)
			return -errno;
		for (u32 i = 0; i < cnt; i++)
			fn(arg, &keys[i], &vals[i]);
	}
	return 0;
}

int kernel__alarms_fd(struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.alarms);
}

int kernel__watch_ends(struct kernel *k)
{
	struct allocsnoop_bpf *s = k->skel;

	s->links.allocsnoop_used = bpf_program__attach(s->progs.allocsnoop_used);
	s->links.allocsnoop_reaped = bpf_program__attach(s->progs.allocsnoop_reaped);
	return s->links.allocsnoop_used && s->links.allocsnoop_reaped ? 0 : -errno;
}
