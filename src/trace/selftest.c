/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of five instructions that counts hits on a function of our own, and a child with a
 * second thread. */
#include "trace/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "proc/maps.h"
#include "trace/kernel.h"
#include "trace/links.h"

#define TRIES	   50
#define TIMED	   100
#define BATCHES	   9
#define CHILD_MS   5000 /* for its hits, which take one */
#define PROGRAM_NS 300	/* what our real program adds to an empty probe, about */

/* The probed function. Its first instruction is one that the kernel emulates, as those we choose
 * are. */
static void __attribute__((noinline, noclone)) selftest__mark(void)
{
	__asm__ volatile("push %%rbp\n\tpop %%rbp" ::: "memory");
}

struct test {
	int map_fd;
	u64 *hits; /* the map's only value, mapped */
	char path[64];
	struct probe_place place;
};

static int place__find(void *arg, const struct proc_map *m)
{
	struct test *t = arg;
	u64 at = (uintptr_t)selftest__mark;

	if (at < m->start || at >= m->end)
		return 0;
	snprintf(t->path, sizeof(t->path), "/proc/self/map_files/%llx-%llx",
		 (unsigned long long)m->start, (unsigned long long)m->end);
	t->place.off = at - m->start + m->file_off;
	return 1;
}

static int test__open(struct test *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	memset(t, 0, sizeof(*t));
	t->map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "allocsnoop_test", sizeof(u32), sizeof(u64),
				   1, &opts);
	if (t->map_fd < 0)
		return t->map_fd;
	t->hits = mmap(NULL, sizeof(u64), PROT_READ | PROT_WRITE, MAP_SHARED, t->map_fd, 0);
	if (t->hits == MAP_FAILED || proc_maps__each(getpid(), place__find, t) != 1) {
		if (t->hits != MAP_FAILED)
			munmap(t->hits, sizeof(u64));
		close(t->map_fd);
		return -ENOENT;
	}
	return 0;
}

static void test__close(struct test *t)
{
	munmap(t->hits, sizeof(u64));
	close(t->map_fd);
}

/* *value += 1; return `result` */
static int test__program(const struct test *t, int attach_type, int result)
{
	struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = t->map_fd },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1 },
		{ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
		  .dst_reg = 1,
		  .src_reg = 2,
		  .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = result },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "allocsnoop_test", "Dual BSD/GPL", code,
			     ARRAY_SIZE(code), &opts);
}

static void *child__thread(void *arg)
{
	for (int i = 0; i < TRIES; i++)
		selftest__mark();
	return arg;
}

/* Waits for a byte (or for the end of the pipe, so it must not hold the writing end), then hits
 * from two threads. */
static void child__run(const int go[2])
{
	pthread_t second;
	char c;

	close(go[1]);
	if (read(go[0], &c, 1) == 1 && !pthread_create(&second, NULL, child__thread, NULL)) {
		child__thread(NULL);
		pthread_join(second, NULL);
	}
	_exit(0);
}

/* Gives the child time for its hits, unless it isn't to make any; ends and reaps it. */
static void child__end(pid_t child, bool running)
{
	struct pollfd p = { .fd = syscall(SYS_pidfd_open, child, 0), .events = POLLIN };

	while (running && p.fd >= 0 && poll(&p, 1, CHILD_MS) < 0 && errno == EINTR)
		;
	if (p.fd >= 0)
		close(p.fd);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static int test__attach(struct test *t, struct links *l, int prog, bool multi, pid_t pid)
{
	return multi ? links__add_multi(l, prog, MULTI_ENTRY, t->path, &t->place, 1, pid)
		     : links__add_perf(l, prog, false, t->path, &t->place, 1, pid);
}

/* Does a link for the child fire in both its threads, and not in us? */
static bool link__is_per_process(struct test *t, int prog, bool multi)
{
	struct links l = {};
	int go[2];
	bool right = false;
	pid_t child;

	if (pipe2(go, O_CLOEXEC))
		return false;
	child = fork();
	if (child == 0)
		child__run(go);
	*t->hits = 0;
	if (child > 0 && !test__attach(t, &l, prog, multi, child)) {
		child__thread(NULL);
		right = write(go[1], "", 1) == 1;
	}
	close(go[0]);
	close(go[1]);
	if (child > 0)
		child__end(child, right);
	right = right && *t->hits == 2 * TRIES;
	links__close(&l);
	return right;
}

static u64 cpu__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* CPU time of TIMED calls. */
static u64 batch__ns(void)
{
	u64 from = cpu__ns();

	for (int i = 0; i < TIMED; i++)
		selftest__mark();
	return cpu__ns() - from;
}

/* The middle one of some batches, what they differ by, and what a hit is with our real program. */
static u64 hit__ns(struct kernel *k, struct test *t, int prog, bool multi)
{
	struct links l = {};
	u64 took[BATCHES], idle = batch__ns();
	int err;

	err = test__attach(t, &l, prog, multi, getpid());
	for (int i = 0; i < BATCHES && !err; i++)
		took[i] = batch__ns();
	links__close(&l);
	if (err)
		return 0;
	qsort(took, BATCHES, sizeof(*took), by_size);
	k->trap_ns = (double)(took[BATCHES / 2] - MIN(idle, took[BATCHES / 2])) / TIMED;
	k->trap_error = (double)(took[BATCHES * 3 / 4] - took[BATCHES / 4]) / 2 /
			(double)MAX(took[BATCHES / 2], 1u);
	return took[BATCHES / 2] / TIMED + PROGRAM_NS;
}

/* Hits of TRIES calls by a session link whose program answers `result` at the entry. */
static u64 session__hits(struct test *t, int result)
{
	int prog = test__program(t, UPROBE_SESSION_ATTACH, result);
	struct links l = {};

	*t->hits = 0;
	if (prog >= 0 &&
	    !links__add_multi(&l, prog, MULTI_SESSION, t->path, &t->place, 1, getpid()))
		child__thread(NULL);
	links__close(&l);
	if (prog >= 0)
		close(prog);
	return *t->hits;
}

/* ---- return probes and seccomp ---- */

/* Waits for a byte, then calls the marked function under a filter that allows to exit, nothing
 * else.
 */
static void seccomp__child(const int go[2])
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { .len = ARRAY_SIZE(code), .filter = code };
	char c;

	close(go[1]);
	/* Where there are no filters, nobody has one. */
	if (read(go[0], &c, 1) == 1 && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		selftest__mark();
	syscall(SYS_exit_group, 0);
}

/*
 * From 6.11 on a returning call makes a system call of its own, which kernels before the mending
 * showed to the process's seccomp filter: it may kill the process.
 */
static bool return__kills(struct test *t, int prog)
{
	struct links l = {};
	int go[2], status = 1;
	pid_t child;

	if (pipe2(go, O_CLOEXEC))
		return true;
	child = fork();
	if (child == 0)
		seccomp__child(go);
	if (child > 0 && !links__add_perf(&l, prog, true, t->path, &t->place, 1, child) &&
	    write(go[1], "", 1) != 1)
		kill(child, SIGKILL);
	close(go[0]);
	close(go[1]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	links__close(&l);
	return !WIFEXITED(status);
}

void selftest__returns(struct kernel *k)
{
	struct test t;
	int prog;

	k->seccomp_unsafe = true;
	if (test__open(&t))
		return;
	k->session = k->multi && session__hits(&t, 0) == 2 * TRIES && session__hits(&t, 1) == TRIES;
	prog = test__program(&t, 0, 0);
	k->seccomp_unsafe = prog < 0 || return__kills(&t, prog);
	if (prog >= 0)
		close(prog);
	test__close(&t);
}

void selftest__run(struct kernel *k)
{
	struct test t;
	int prog;

	if (test__open(&t))
		return;
	prog = test__program(&t, UPROBE_MULTI_ATTACH, 0);
	if (prog >= 0) {
		k->multi_pid = link__is_per_process(&t, prog, true);
		k->hit_ns = hit__ns(k, &t, prog, true);
		k->multi = k->hit_ns != 0;
		close(prog);
	}
	if (!k->multi) {
		prog = test__program(&t, 0, 0);
		k->hit_ns = prog < 0 ? 0 : hit__ns(k, &t, prog, false);
		if (prog >= 0)
			close(prog);
	}
	test__close(&t);
}

bool selftest__perf(void)
{
	struct test t;
	bool right;
	int prog;

	if (test__open(&t))
		return false;
	prog = test__program(&t, 0, 0);
	right = prog >= 0 && link__is_per_process(&t, prog, false);
	if (prog >= 0)
		close(prog);
	test__close(&t);
	return right;
}
