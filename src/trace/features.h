/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this kernel's probes and hooks do, tried one by one. Nothing of it stays when the function
 * returns.
 */
#ifndef TRACE_FEATURES_H
#define TRACE_FEATURES_H

#include "base/types.h"

/* A piece that works (err is 0), or the words of its failure. */
struct feature {
	int err; /* -errno */
	char why[256];
	char remedy[256];
};

struct features {
	struct feature bpf;	 /* bpf(2) at all; where it isn't, nothing below was tried */
	struct feature faults;	 /* the tracepoint of page faults */
	struct feature syscalls; /* the one of system calls */
	bool perf_pid;		 /* perf uprobes, limited to one process rightly */
	bool multi;		 /* as in struct kernel */
	bool multi_pid;
	bool session;
	bool seccomp_unsafe;
	bool kprobes;
	u64 hit_ns; /* one hit, with our program; 0 unknown */
};

void features__try(struct features *f);

#endif
