/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this kernel's probes really do, tried on ourselves at start: a version says nothing (vendors
 * backport), and "the call succeeded" says too little (the first uprobe_multi filtered by thread,
 * not by process).
 */
#ifndef TRACE_SELFTEST_H
#define TRACE_SELFTEST_H

#include "base/types.h"

struct kernel;

/* Fills k->multi, k->multi_pid and k->hit_ns. What can't be tried counts as absent. */
void selftest__run(struct kernel *k);

/* --live: fills k->session and k->seccomp_unsafe. */
void selftest__returns(struct kernel *k);

/* Do perf uprobes for one process fire in all its threads, and only there? What -p stands on. */
bool selftest__perf(void);

#endif
