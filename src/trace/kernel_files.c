/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel side knows of files, and what it finds mapped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "base/cleanup.h"
#include "trace/kernel.h"

static int libbpf__hush(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

/* A running iterator over one task (0: over all); the descriptor keeps it. */
static int iter__open(const struct bpf_program *prog, pid_t tid)
{
	union bpf_iter_link_info info = { .task = { .tid = tid } };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	libbpf_print_fn_t before = libbpf_set_print(libbpf__hush);
	struct bpf_link *link = bpf_program__attach_iter(prog, tid ? &opts : NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;

	libbpf_set_print(before);
	bpf_link__destroy(link);
	return fd;
}

/*
 * Ends with the file, or, for one process (whose mappings come in the order of their addresses),
 * with a read that brings none above those of before. When a writer waits for the address space
 * during a read, the kernel's iterator over one task's mappings (task_vma_seq_get_next(), seen with
 * 6.18) doesn't remember that it reached the end: every further read begins again where that was.
 */
static int maps__read(int iter_fd, bool one_process,
		      int (*fn)(void *arg, const struct as_map_event *ev), void *arg)
{
	struct as_map_event evs[64];
	bool more = true;
	size_t have = 0;
	u64 end = 0;
	ssize_t n = 0;
	int err;

	while (more && (n = read(iter_fd, (char *)evs + have, sizeof(evs) - have)) > 0) {
		size_t whole;

		have += n;
		whole = have / sizeof(evs[0]);
		more = !one_process || !whole;
		for (size_t i = 0; i < whole; i++) {
			err = fn(arg, &evs[i]);
			if (err)
				return err;
			more |= evs[i].end > end;
			end = MAX(end, evs[i].end);
		}
		have -= whole * sizeof(evs[0]);
		memmove(evs, &evs[whole], have);
	}
	return n < 0 ? -errno : 0;
}

int kernel__each_mapping(struct kernel *k, pid_t pid,
			 int (*fn)(void *arg, const struct as_map_event *ev), void *arg)
{
	int err, fd = iter__open(k->skel->progs.allocsnoop_maps, pid);

	if (fd < 0)
		return fd;
	err = maps__read(fd, pid != 0, fn, arg);
	close(fd);
	return err;
}

static int fds__read(int iter_fd, void (*fn)(void *arg, const struct as_fd_event *ev), void *arg)
{
	struct as_fd_event evs[256];
	size_t have = 0, whole;
	ssize_t n;

	while ((n = read(iter_fd, (char *)evs + have, sizeof(evs) - have)) > 0) {
		have += n;
		whole = have / sizeof(evs[0]);
		for (size_t i = 0; i < whole; i++)
			fn(arg, &evs[i]);
		have -= whole * sizeof(evs[0]);
		memmove(evs, &evs[whole], have);
	}
	return n < 0 ? -errno : 0;
}

int kernel__each_fd(struct kernel *k, void (*fn)(void *arg, const struct as_fd_event *ev),
		    void *arg)
{
	int err, fd = iter__open(k->skel->progs.allocsnoop_fds, getpid());

	if (fd < 0)
		return fd;
	err = fds__read(fd, fn, arg);
	close(fd);
	return err;
}

int kernel__set_file(struct kernel *k, u64 hash, const struct as_file *f)
{
	return bpf_map__update_elem(k->skel->maps.files, &hash, sizeof(hash), f, sizeof(*f),
				    BPF_ANY);
}

int kernel__set_fixed(struct kernel *k, u32 site, u64 size)
{
	return bpf_map__update_elem(k->skel->maps.fixed_sizes, &site, sizeof(site), &size,
				    sizeof(size), BPF_ANY);
}

int kernel__set_ranges(struct kernel *k, u64 key, const struct as_ranges *r)
{
	return bpf_map__update_elem(k->skel->maps.ranges, &key, sizeof(key), r, sizeof(*r),
				    BPF_ANY);
}

int kernel__add_jump(struct kernel *k, u32 from, u32 to)
{
	u64 key = AS_JUMP(from, to);
	u32 one = 1;

	return bpf_map__update_elem(k->skel->maps.jumps, &key, sizeof(key), &one, sizeof(one),
				    BPF_ANY);
}

int kernel__forget_file(struct kernel *k, u64 hash)
{
	return bpf_map__delete_elem(k->skel->maps.files, &hash, sizeof(hash), 0);
}

void kernel__forget_ranges(struct kernel *k, u64 hash)
{
	for (u32 layer = 0; layer <= AS_LAYER_MAX; layer++) {
		u64 key = as_of_layer(hash, layer);

		bpf_map__delete_elem(k->skel->maps.ranges, &key, sizeof(key), 0);
	}
}

static bool jump__touches(u64 jump, u32 first, u32 cnt)
{
	return (u32)(jump >> 32) - first < cnt || (u32)jump - first < cnt;
}

static void kernel__forget_jumps(struct kernel *k, u32 first, u32 cnt)
{
	struct bpf_map *map = k->skel->maps.jumps;
	u64 key, next;
	bool more = !bpf_map__get_next_key(map, NULL, &key, sizeof(key));

	while (more) {
		more = !bpf_map__get_next_key(map, &key, &next, sizeof(next));
		if (jump__touches(key, first, cnt))
			bpf_map__delete_elem(map, &key, sizeof(key), 0);
		key = next;
	}
}

void kernel__forget_sites(struct kernel *k, u32 first, u32 cnt)
{
	kernel__forget_jumps(k, first, cnt);
	for (u32 i = 0; i < cnt; i++) {
		u32 site = first + i;

		bpf_map__delete_elem(k->skel->maps.fixed_sizes, &site, sizeof(site), 0);
	}
}

void kernel__new_tables(struct kernel *k)
{
	__atomic_add_fetch(&k->skel->bss->table_epoch, 1, __ATOMIC_SEQ_CST);
}

int kernel__forget_table(struct kernel *k, u32 slot)
{
	return bpf_map__delete_elem(k->skel->maps.tables, &slot, sizeof(slot), 0);
}

void kernel__forget_rules(struct kernel *k)
{
	u64 none = 0;

	for (u32 i = 0; i < AS_RULE_CACHE; i++)
		bpf_map__update_elem(k->skel->maps.rule_cache, &i, sizeof(i), &none, sizeof(none),
				     BPF_ANY);
}
