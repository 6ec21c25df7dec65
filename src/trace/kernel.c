/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the BPF object and speaks to its maps. */
#include "trace/kernel.h"

#include <allocsnoop.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/filter.h"
#include "trace/growth.h"
#include "trace/selftest.h"

#define KPROBE_PATH	    "/sys/bus/event_source/devices/kprobe" /* there with CONFIG_KPROBE_EVENTS */
#define BTF_PATH	    "/sys/kernel/btf/vmlinux"
#define RING_SIZE	    (32u << 20) /* bytes; a burst of 30,000 new stacks of 20 frames is 10 MB */
#define MAP_RING_SIZE	    (1u << 20) /* bytes; 9,000 mappings */
#define TALLY_ROWS	    (128u << 10)
#define TALLY_ROWS_GOVERNED (32u << 10) /* read after each window, whole */
#define FLUSH_PAUSE_US	    1000
#define FLUSH_TRIES	    10000 /* 10 s of pauses */
#define HEAP_SHARE	    8	  /* rows for each process image */
#define BUCKET_LOAD	    4 /* blocks a bucket when --max-live is reached; then 2 % are spilled */
#define SPILL_SHARE	    8

/* The last thing libbpf had to say goes into our one line; its own lines are never printed. */
static _Thread_local char libbpf_said[256];

static int libbpf__listen(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !libbpf_said[0])
		vsnprintf(libbpf_said, sizeof(libbpf_said), fmt, args);
	libbpf_said[strcspn(libbpf_said, "\n")] = '\0';
	return 0;
}

static u32 pow2__above(u32 n)
{
	u32 p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static int rights__check(void)
{
	int err;

	if (geteuid() != 0) {
		err = err__fail(
			-EPERM,
			"tracing needs root: probes and BPF programs are the administrator's");
		err__hint("run it with sudo");
		return err;
	}
	if (access(BTF_PATH, R_OK)) {
		err = err__fail(-ENOENT, "cannot read '%s': %s", BTF_PATH, strerror(errno));
		err__hint("a kernel with CONFIG_DEBUG_INFO_BTF=y is needed (6.1 or newer), and "
			  "/sys mounted");
		return err;
	}
	return 0;
}

/* A map of one element tells whether bpf(2) may be used at all, before a thousand lines of a load
 * do. */
static int bpf__check(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "allocsnoop_try", sizeof(u32), sizeof(u64), 1,
				NULL);
	int err;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	err = err__fail(fd, "bpf(2) refused: %s", strerror(-fd));
	if (fd == -ENOSYS)
		err__hint("a kernel with CONFIG_BPF_SYSCALL=y is needed");
	else
		err__hint("CAP_BPF and CAP_PERFMON are needed, and no seccomp filter that forbids "
			  "bpf(2) (containers have one); `allocsnoop doctor` says more");
	return err;
}

/* Each probe and each mapped file is a descriptor. */
static void limits__raise(struct rlimit *before)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, before))
		return;
	r = *before;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static void kernel__set_sizes(struct kernel *k, const struct kernel_opts *o)
{
	struct allocsnoop_bpf *s = k->skel;
	u32 slots = pow2__above(k->cpu_cnt) * 4, cpus = pow2__above(k->cpu_cnt);

	k->tally_rows = k->governed ? TALLY_ROWS_GOVERNED : TALLY_ROWS;
	bpf_map__set_max_entries(s->maps.ring, RING_SIZE);
	bpf_map__set_max_entries(s->maps.map_ring, MAP_RING_SIZE);
	bpf_map__set_max_entries(s->maps.slots, slots);
	bpf_map__set_max_entries(s->maps.copies, slots);
	bpf_map__set_max_entries(s->maps.taken, slots);
	bpf_map__set_max_entries(s->maps.counters, cpus);
	bpf_map__set_max_entries(s->maps.tally_a, k->tally_rows);
	bpf_map__set_max_entries(s->maps.tally_b, k->tally_rows);
	if (k->live) {
		k->max_live = o->max_live;
		k->row_max = AS_CLASS_CNT + o->max_rows;
		k->heap_max = o->max_rows / HEAP_SHARE + 2;
		k->bucket_cnt = pow2__above((o->max_live + BUCKET_LOAD - 1) / BUCKET_LOAD);
		bpf_map__set_max_entries(s->maps.buckets, k->bucket_cnt);
		bpf_map__set_max_entries(s->maps.spilled, o->max_live / SPILL_SHARE + 1);
		bpf_map__set_max_entries(s->maps.live_rows, k->row_max);
		bpf_map__set_max_entries(s->maps.live_row_at, k->row_max);
		bpf_map__set_max_entries(s->maps.heaps, k->heap_max);
		bpf_map__set_max_entries(s->maps.heap_at, k->heap_max);
		bpf_map__set_max_entries(s->maps.free_rows, k->row_max);
		bpf_map__set_max_entries(s->maps.free_heaps, k->heap_max);
	}
	s->rodata->as_slot_mask = slots - 1;
	s->rodata->as_cpu_mask = cpus - 1;
	s->rodata->as_tally_half = k->tally_rows / 2;
	s->rodata->as_ring_quarter = RING_SIZE / 4;
	s->rodata->as_copies_max = RING_SIZE / 2;
}

static void kernel__set_knobs(struct kernel *k, const struct kernel_opts *o)
{
	struct allocsnoop_bpf *s = k->skel;
	u64 seed;

	s->rodata->as_self_tgid = getpid();
	s->rodata->as_all = o->all;
	s->rodata->as_filter = o->filter->kinds;
	s->rodata->as_sampling = !o->sampler->exact;
	s->rodata->as_same_thr = o->sampler->same_thr;
	if (getrandom(&seed, sizeof(seed), 0) == sizeof(seed))
		s->rodata->as_seed = seed;
	s->rodata->as_min_size = o->min_size;
	s->rodata->as_max_size = o->max_size;
	s->rodata->as_max_depth = o->max_depth;
	s->rodata->as_live = k->live;
	s->rodata->as_events = o->events;
	s->rodata->as_layers = o->layers;
	s->rodata->as_threads = o->threads;
	s->rodata->as_live_row_max = MAX(k->row_max, (u32)AS_CLASS_CNT);
	s->rodata->as_heap_max = MAX(k->heap_max, 1u);
	s->rodata->as_bucket_mask = MAX(k->bucket_cnt, 1u) - 1;
	s->rodata->as_live_exact = o->sampler->exact && !o->min_size && o->max_size == ~0ull &&
				   !(o->filter->kinds & (AS_FILTER_CGROUP | AS_FILTER_COMM));
	s->rodata->as_seccomp_unsafe = k->seccomp_unsafe;
}

/* Only what is needed is loaded: verifying takes 0.1 s. */
static void kernel__choose_probes(struct kernel *k)
{
	struct allocsnoop_bpf *s = k->skel;
	bool malloc = k->trace & ALLOCSNOOP_TRACE_MALLOC, live = k->live && malloc;
	bool multi = k->use_multi, session = live && multi && k->session;
	bool returns = live && !session;

	growth__choose(k);
	bpf_program__set_expected_attach_type(s->progs.allocsnoop_callm, UPROBE_MULTI_ATTACH);
	bpf_program__set_expected_attach_type(s->progs.allocsnoop_returnm, UPROBE_MULTI_ATTACH);
	bpf_program__set_expected_attach_type(s->progs.allocsnoop_exitm, UPROBE_MULTI_ATTACH);
	bpf_program__set_expected_attach_type(s->progs.allocsnoop_freem, UPROBE_MULTI_ATTACH);
	bpf_program__set_expected_attach_type(s->progs.allocsnoop_session, UPROBE_SESSION_ATTACH);
	bpf_program__set_autoload(s->progs.allocsnoop_callm,
				  malloc && multi && !session && !k->governed);
	bpf_program__set_autoload(s->progs.allocsnoop_returnm, multi && returns);
	bpf_program__set_autoload(s->progs.allocsnoop_exitm, multi && live);
	bpf_program__set_autoload(s->progs.allocsnoop_freem, multi && live);
	bpf_program__set_autoload(s->progs.allocsnoop_session, session);
	bpf_program__set_autoload(s->progs.allocsnoop_call, malloc && !multi);
	bpf_program__set_autoload(s->progs.allocsnoop_return, !multi && returns);
	bpf_program__set_autoload(s->progs.allocsnoop_exit, !multi && live);
	bpf_program__set_autoload(s->progs.allocsnoop_free, !multi && live);
}

static int err__no_memory(const struct kernel_opts *o)
{
	int err = err__fail(-ENOMEM, "the kernel has no memory for tables of %u live blocks",
			    o->max_live);

	err__hint("follow fewer: --max-live (a block takes some 64 bytes)");
	return err;
}

bool kernel__has_kprobes(void)
{
	return !access(KPROBE_PATH, F_OK);
}

/* A kernel without cgroups has no map of them either. */
static void kernel__choose_filters(struct kernel *k, u32 kinds)
{
	struct allocsnoop_bpf *s = k->skel;

	bpf_map__set_autocreate(s->maps.cgroup, kinds & AS_FILTER_CGROUP);
	bpf_program__set_autoload(s->progs.allocsnoop_forked, kinds & AS_FILTER_PROCS);
	bpf_program__set_autoload(s->progs.allocsnoop_exited, kinds & AS_FILTER_PROCS);
}

static int kernel__load(struct kernel *k, const struct kernel_opts *o)
{
	int err;

	libbpf_said[0] = '\0';
	kernel__choose_probes(k);
	k->kprobes = kernel__has_kprobes();
	kernel__choose_filters(k, o->filter->kinds);
	kernel__set_governed(k);
	bpf_program__set_autoload(k->skel->progs.allocsnoop_map, k->kprobes);
	bpf_program__set_autoload(k->skel->progs.allocsnoop_mmap, !k->kprobes);
	k->skel->rodata->as_look_at_exec = !k->kprobes;
	err = allocsnoop_bpf__load(k->skel);
	if (!err)
		return 0;
	if (err == -ENOMEM && k->live)
		return err__no_memory(o);
	err__fail(err, "the kernel refused the BPF programs: %s (%s)", strerror(-err), libbpf_said);
	if (err == -EMFILE)
		err__hint("programs and tables are descriptors: raise the hard limit, ulimit -Hn");
	else if (err == -EPERM)
		err__hint("all of root's capabilities are needed: CAP_SYS_ADMIN, CAP_BPF, "
			  "CAP_PERFMON");
	else
		err__hint("Linux 6.1 or newer is needed; `allocsnoop doctor` says what is missing");
	return err;
}

static int kernel__set_thr(struct kernel *k, const struct sampler *s)
{
	int err = 0;

	for (u32 i = 0; i < AS_CLASS_CNT && !err; i++)
		err = bpf_map__update_elem(k->skel->maps.thr, &i, sizeof(i), &s->thr[i],
					   sizeof(s->thr[i]), BPF_ANY);
	return err;
}

static int kernel__set_filter(struct kernel *k, const struct filter *f)
{
	u32 zero = 0;
	int err = 0;

	if (f->kinds & AS_FILTER_COMM)
		err = bpf_map__update_elem(k->skel->maps.globs, &zero, sizeof(zero), &f->globs,
					   sizeof(f->globs), BPF_ANY);
	if (!err && f->kinds & AS_FILTER_CGROUP)
		err = bpf_map__update_elem(k->skel->maps.cgroup, &zero, sizeof(zero), &f->cgroup_fd,
					   sizeof(f->cgroup_fd), BPF_ANY);
	return err ? err__fail(err, "cannot filter by %s: %s",
			       f->kinds & AS_FILTER_CGROUP ? "cgroup" : "name", strerror(-err))
		   : 0;
}

static int err__no_returns(void)
{
	int err = err__fail(-ENOTSUP, "this kernel's return probes kill processes that have a "
				      "seccomp filter: blocks can't be followed");

	err__hint("Linux 6.10 and older, and 6.14 and newer, are safe; or leave --live out");
	return err;
}

/* Windows need probes that come and go at once: one link for all places of a file. */
static int kernel__choose_governed(struct kernel *k, const struct kernel_opts *o)
{
	int err;

	k->governed = k->trap_ns > 0 && (o->all ? k->multi : k->multi_pid && !o->leaderless);
	k->use_multi |= k->governed;
	if (k->governed || !o->budget_asked)
		return 0;
	if (o->leaderless)
		err = err__fail(-ENOTSUP, "--max-overhead: the main thread of a process has "
					  "ended, and its probes can't come and go");
	else
		err = err__fail(-ENOTSUP, "--max-overhead: this kernel's probes can't be placed "
					  "and removed quickly enough");
	err__hint(o->leaderless ? "leave --max-overhead out, and use a short -d"
				: "Linux 6.9 and newer can (uprobe_multi links); or leave it out "
				  "(--max-overhead none), and use a short -d");
	return err;
}

/* A map's elements in place; NULL when they can't be mapped. */
static void *map__view(struct bpf_map *map, int prot)
{
	size_t size = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *view = mmap(NULL, size, prot, MAP_SHARED, bpf_map__fd(map), 0);

	return view == MAP_FAILED ? NULL : view;
}

static void map__unview(struct bpf_map *map, const void *view)
{
	if (view)
		munmap((void *)view, (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map));
}

static int kernel__view_live(struct kernel *k)
{
	k->live_rows = map__view(k->skel->maps.live_rows, PROT_READ | PROT_WRITE);
	k->heaps = map__view(k->skel->maps.heaps, PROT_READ | PROT_WRITE);
	k->buckets = map__view(k->skel->maps.buckets, PROT_READ | PROT_WRITE);
	if (k->live_rows && k->heaps && k->buckets)
		return 0;
	return err__fail(-errno, "cannot map the table of live blocks: %s", strerror(errno));
}

int kernel__open(struct kernel *k, const struct kernel_opts *o)
{
	bool everywhere = o->all || o->filter->kinds & AS_FILTER_PROCS;
	libbpf_print_fn_t before;
	int err = rights__check();

	memset(k, 0, sizeof(*k));
	if (!err)
		err = bpf__check();
	if (err)
		return err;
	limits__raise(&k->nofile);
	before = libbpf_set_print(libbpf__listen);
	k->cpu_cnt = libbpf_num_possible_cpus();
	k->live = o->live;
	k->trace = o->trace;
	if (k->trace & ALLOCSNOOP_TRACE_MALLOC)
		selftest__run(k);
	/* -p: perf uprobes, which fire for a vfork child too; whoever follows children attaches to
	 * each. */
	k->use_multi = everywhere ? k->multi : o->follow && k->multi_pid;
	if (k->live && k->trace & ALLOCSNOOP_TRACE_MALLOC) {
		selftest__returns(k);
		/* Sessions spare the returns of calls that aren't kept. (A vfork child of -p goes
		 * unseen then.) A multi link finds a process by its main thread. */
		k->use_multi |= k->session && k->multi_pid && !o->leaderless;
	}
	if (o->max_overhead > 0)
		err = kernel__choose_governed(k, o);
	if (err) {
		libbpf_set_print(before);
		return err;
	}
	if (k->live && k->seccomp_unsafe && !(k->use_multi && k->session)) {
		libbpf_set_print(before);
		return err__no_returns();
	}
	k->skel = allocsnoop_bpf__open();
	if (!k->skel) {
		err = err__fail(-errno, "cannot open the BPF object: %s (%s)", strerror(errno),
				libbpf_said);
	} else {
		kernel__set_sizes(k, o);
		kernel__set_knobs(k, o);
		err = kernel__load(k, o);
	}
	if (!err)
		err = kernel__set_thr(k, o->sampler);
	if (!err)
		err = kernel__set_filter(k, o->filter);
	if (!err && k->live)
		err = kernel__view_live(k);
	libbpf_set_print(before);
	if (err) {
		kernel__close(k);
		return err;
	}
	k->tally_fd[0] = bpf_map__fd(k->skel->maps.tally_a);
	k->tally_fd[1] = bpf_map__fd(k->skel->maps.tally_b);
	return 0;
}

void kernel__close(struct kernel *k)
{
	if (k->skel) {
		map__unview(k->skel->maps.live_rows, k->live_rows);
		map__unview(k->skel->maps.heaps, k->heaps);
		map__unview(k->skel->maps.buckets, k->buckets);
	}
	k->live_rows = NULL;
	k->heaps = NULL;
	k->buckets = NULL;
	allocsnoop_bpf__destroy(k->skel);
	k->skel = NULL;
}

void kernel__count(struct kernel *k, bool on)
{
	__atomic_store_n(&k->skel->bss->counting, on, __ATOMIC_SEQ_CST);
}

void kernel__grow(struct kernel *k, bool on)
{
	__atomic_store_n(&k->skel->bss->growing, on, __ATOMIC_SEQ_CST);
}

/* Of a place's own instruction. */
static const struct bpf_program *kernel__perf_program(const struct kernel *k, enum probe_kind kind)
{
	const struct allocsnoop_bpf *s = k->skel;

	if (kind == PROBE_FREE)
		return s->progs.allocsnoop_free;
	return kind == PROBE_EXIT ? s->progs.allocsnoop_exit : s->progs.allocsnoop_call;
}

/* Places of one kind, next to each other. */
static int kernel__attach_kind(struct kernel *k, struct links *l, const char *path,
			       const struct probe_place *at, size_t cnt, pid_t pid)
{
	struct allocsnoop_bpf *s = k->skel;
	bool returns = at->kind == PROBE_ENTRY_RETURN;
	int err;

	if (!k->use_multi) {
		err = links__add_perf(l, bpf_program__fd(kernel__perf_program(k, at->kind)), false,
				      path, at, cnt, pid);
		if (!err && returns)
			err = links__add_perf(l, bpf_program__fd(s->progs.allocsnoop_return), true,
					      path, at, cnt, pid);
		return err;
	}
	if (at->kind == PROBE_FREE)
		return links__add_multi(l, bpf_program__fd(s->progs.allocsnoop_freem), MULTI_ENTRY,
					path, at, cnt, pid);
	if (at->kind == PROBE_EXIT)
		return links__add_multi(l, bpf_program__fd(s->progs.allocsnoop_exitm), MULTI_ENTRY,
					path, at, cnt, pid);
	if (k->live && k->session) /* its entry answers "no return" where none is to be probed */
		return links__add_multi(l, bpf_program__fd(s->progs.allocsnoop_session),
					MULTI_SESSION, path, at, cnt, pid);
	err = links__add_multi(l,
			       bpf_program__fd(k->governed ? s->progs.allocsnoop_callg
							   : s->progs.allocsnoop_callm),
			       MULTI_ENTRY, path, at, cnt, pid);
	if (!err && returns)
		err = links__add_multi(l, bpf_program__fd(s->progs.allocsnoop_returnm),
				       MULTI_RETURN, path, at, cnt, pid);
	return err;
}

int kernel__attach(struct kernel *k, struct links *l, const char *path,
		   const struct probe_place *places, size_t cnt, pid_t pid)
{
	size_t to;
	int err = 0;

	for (size_t from = 0; from < cnt && !err; from = to) {
		for (to = from + 1; to < cnt && places[to].kind == places[from].kind;)
			to++;
		err = kernel__attach_kind(k, l, path, &places[from], to - from, pid);
	}
	return err;
}

/* Where the kernel tells of a finished mapping. */
static const char *const map_hooks[] = { "perf_event_mmap", "uprobe_mmap" };

static int kernel__watch_images(struct allocsnoop_bpf *s)
{
	s->links.allocsnoop_ended = bpf_program__attach(s->progs.allocsnoop_ended);
	s->links.allocsnoop_replaced = bpf_program__attach(s->progs.allocsnoop_replaced);
	return s->links.allocsnoop_ended && s->links.allocsnoop_replaced ? 0 : -errno;
}

int kernel__watch_maps(struct kernel *k)
{
	libbpf_print_fn_t before = libbpf_set_print(libbpf__listen);
	struct allocsnoop_bpf *s = k->skel;
	struct bpf_link *link = NULL;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(map_hooks) && !link && k->kprobes; i++)
		link = bpf_program__attach_kprobe(s->progs.allocsnoop_map, false, map_hooks[i]);
	if (!k->kprobes)
		link = bpf_program__attach(s->progs.allocsnoop_mmap);
	s->links.allocsnoop_exec = bpf_program__attach(s->progs.allocsnoop_exec);
	s->links.allocsnoop_fork = bpf_program__attach(s->progs.allocsnoop_fork);
	err = link && s->links.allocsnoop_exec && s->links.allocsnoop_fork ? 0 : -errno;
	if (!err)
		err = kernel__watch_images(s);
	libbpf_set_print(before);
	s->links.allocsnoop_map = link; /* destroyed with the skeleton */
	if (err) {
		err__fail(err, "cannot watch for new mappings: %s", strerror(-err));
		err__hint(err == -EMFILE ? "raise the hard limit, ulimit -Hn"
					 : "a kernel with CONFIG_KPROBES=y or "
					   "CONFIG_FTRACE_SYSCALLS=y is needed, and tracefs "
					   "mounted");
	}
	return err;
}

int kernel__watch_children(struct kernel *k)
{
	libbpf_print_fn_t before = libbpf_set_print(libbpf__listen);
	struct allocsnoop_bpf *s = k->skel;
	int err = 0;

	s->links.allocsnoop_forked = bpf_program__attach(s->progs.allocsnoop_forked);
	if (s->links.allocsnoop_forked)
		s->links.allocsnoop_exited = bpf_program__attach(s->progs.allocsnoop_exited);
	if (!s->links.allocsnoop_exited)
		err = -errno;
	libbpf_set_print(before);
	return err ? err__fail(err, "cannot watch for children: %s", strerror(-err)) : 0;
}

int kernel__set_proc(struct kernel *k, pid_t pid, u32 flags)
{
	u32 key = pid;

	if (!flags)
		return bpf_map__delete_elem(k->skel->maps.procs, &key, sizeof(key), 0);
	return bpf_map__update_elem(k->skel->maps.procs, &key, sizeof(key), &flags, sizeof(flags),
				    BPF_ANY);
}

u32 kernel__proc_cnt(struct kernel *k)
{
	u32 key, room = bpf_map__max_entries(k->skel->maps.procs), cnt = 0;

	/* One that goes meanwhile makes the walk begin anew. */
	while (cnt < room &&
	       !bpf_map__get_next_key(k->skel->maps.procs, cnt ? &key : NULL, &key, sizeof(key)))
		cnt++;
	return cnt;
}

bool kernel__take_stop(struct kernel *k, pid_t tid)
{
	u32 key = tid;

	return !bpf_map__delete_elem(k->skel->maps.stops, &key, sizeof(key), 0);
}

void kernel__copy_done(struct kernel *k, u64 size)
{
	__atomic_add_fetch(&k->skel->bss->copies_done, size, __ATOMIC_SEQ_CST);
}

bool kernel__recall(struct kernel *k, u64 proc, u64 addr, struct as_mapping *m)
{
	u64 key = chunk__key(proc, addr >> AS_CHUNK_SHIFT);
	struct as_address_chunk chunk;
	const struct as_mapping *known;

	if (bpf_map__lookup_elem(k->skel->maps.address_chunks, &key, sizeof(key), &chunk,
				 sizeof(chunk), 0))
		return false;
	known = chunk__find(&chunk, addr);
	if (known)
		*m = *known;
	return known;
}

u32 kernel__max_depth(const struct kernel *k)
{
	return k->skel->rodata->as_max_depth;
}

int kernel__ring_fd(struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.ring);
}

int kernel__map_ring_fd(struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.map_ring);
}

u64 kernel__exits(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->exits, __ATOMIC_RELAXED);
}

u32 kernel__ring_size(const struct kernel *k)
{
	return bpf_map__max_entries(k->skel->maps.ring);
}

int kernel__tables_fd(struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.tables);
}

int kernel__rules_fd(struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.rules);
}

/*
 * Has the sums that wait in a slot moved to the active tally. A slot in use (its holder was
 * preempted) is tried again: for as long as the holder needs, which is microseconds of CPU time,
 * but it may be kept from having them.
 */
static int slot__flush(int prog_fd, u64 slot)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &slot, .ctx_size_in = sizeof(slot));
	int err;

	for (u32 i = 0; i < FLUSH_TRIES; i++) {
		err = bpf_prog_test_run_opts(prog_fd, &opts);
		if (err)
			return err__fail(err, "cannot collect the sums: %s", strerror(-err));
		if (!opts.retval)
			return 0;
		usleep(FLUSH_PAUSE_US);
	}
	return err__fail(
		-ETIMEDOUT,
		"cannot collect the sums: a thread that is being counted has not run for %d s",
		FLUSH_TRIES / (1000000 / FLUSH_PAUSE_US));
}

int kernel__flush(struct kernel *k)
{
	u32 slots = bpf_map__max_entries(k->skel->maps.slots);
	int err = 0;

	for (u32 i = 0; i < slots && !err; i++)
		err = slot__flush(bpf_program__fd(k->skel->progs.allocsnoop_flush), i);
	return err;
}

int kernel__flip(struct kernel *k)
{
	u32 zero = 0, next = !k->active;
	u64 none = 0;
	int quiet = k->tally_fd[k->active], err;

	/* The system call returns when no program uses the old one any more (kernel/bpf/syscall.c,
	 * maybe_wait_bpf_programs). */
	err = bpf_map_update_elem(bpf_map__fd(k->skel->maps.tally), &zero, &k->tally_fd[next],
				  BPF_ANY);
	if (err)
		return err__fail(-errno, "cannot change the table of sums: %s", strerror(errno));
	bpf_map__update_elem(k->skel->maps.fill, &zero, sizeof(zero), &none, sizeof(none), BPF_ANY);
	k->active = next;
	return quiet;
}

/* ---- live blocks ---- */

u32 kernel__live_row_cnt(const struct kernel *k)
{
	return MIN(__atomic_load_n(&k->skel->data->live_row_cnt, __ATOMIC_RELAXED), k->row_max);
}

u32 kernel__heap_cnt(const struct kernel *k)
{
	return MIN(__atomic_load_n(&k->skel->data->heap_cnt, __ATOMIC_RELAXED), k->heap_max);
}

const struct as_tally_key *kernel__live_key(const struct kernel *k, u32 row)
{
	return &k->live_rows[row < k->row_max ? row : 0].key;
}

static void kernel__live_counts(const struct kernel *k, struct kernel_counts *sum)
{
	u32 cnt = kernel__live_row_cnt(k);

	sum->kept += k->past_kept;
	for (u32 i = 0; i < cnt; i++)
		sum->kept += k->live_rows[i].alloc_cnt;
}

void kernel__counts(struct kernel *k, struct kernel_counts *sum)
{
	u64 losses[AS_LOSS_CNT];
	struct as_counters c;
	struct as_taken t;

	memset(sum, 0, sizeof(*sum));
	for (u32 i = 0; i < bpf_map__max_entries(k->skel->maps.taken); i++) {
		if (!bpf_map__lookup_elem(k->skel->maps.taken, &i, sizeof(i), &t, sizeof(t), 0))
			sum->kept += t.cnt;
	}
	for (u32 i = 0; i < bpf_map__max_entries(k->skel->maps.counters); i++) {
		if (bpf_map__lookup_elem(k->skel->maps.counters, &i, sizeof(i), &c, sizeof(c), 0))
			continue;
		sum->calls += c.calls;
		sum->failed += c.failed;
	}
	kernel__losses(k, losses);
	if (k->live)
		kernel__live_counts(k, sum);
	else
		sum->kept += losses[AS_LOSS_NO_SLOT]; /* summed without a slot */
	if (!k->skel->rodata->as_sampling)
		sum->calls = sum->kept;
}

void kernel__losses(struct kernel *k, u64 losses[AS_LOSS_CNT])
{
	for (u32 i = 0; i < AS_LOSS_CNT; i++) {
		losses[i] = 0;
		bpf_map__lookup_elem(k->skel->maps.losses, &i, sizeof(i), &losses[i],
				     sizeof(losses[i]), 0);
	}
}
