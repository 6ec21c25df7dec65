/* SPDX-License-Identifier: BSD-2-Clause */
/* The self-tests of a session, and hooks that only some options use. */
#include "trace/features.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "trace/kernel.h"
#include "trace/selftest.h"

static void feature__failed(struct feature *f, int err, const char *why, const char *remedy)
{
	f->err = err;
	snprintf(f->why, sizeof(f->why), "%s", why);
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

static void tracepoint__try(struct feature *f, const char *name)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	CLEANUP(fd__closep)
	int prog = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "allocsnoop_try", "Dual BSD/GPL",
				 code, ARRAY_SIZE(code), NULL);
	CLEANUP(fd__closep) int link = prog < 0 ? prog : bpf_raw_tracepoint_open(name, prog);

	if (link < 0)
		feature__failed(f, link, strerror(-link),
				"a kernel with CONFIG_TRACEPOINTS=y and CONFIG_FTRACE=y is needed");
}

static bool bpf__try(struct features *f)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "allocsnoop_try", sizeof(u32), sizeof(u64), 1,
				NULL);

	if (fd >= 0) {
		close(fd);
		return true;
	}
	feature__failed(&f->bpf, fd, strerror(-fd), "");
	return false;
}

void features__try(struct features *f)
{
	struct kernel k = {};

	*f = (struct features){};
	if (!bpf__try(f))
		return;
	selftest__run(&k);
	selftest__returns(&k);
	f->multi = k.multi;
	f->multi_pid = k.multi_pid;
	f->session = k.session;
	f->seccomp_unsafe = k.seccomp_unsafe;
	f->hit_ns = k.hit_ns;
	f->perf_pid = selftest__perf();
	f->kprobes = kernel__has_kprobes();
	tracepoint__try(&f->faults, "page_fault_user");
	tracepoint__try(&f->syscalls, "sys_enter");
}
