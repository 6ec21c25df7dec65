/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose calls count, of the processes that have probes. The kernel side decides: bpf/filter.bpf.h.
 */
#ifndef TRACE_FILTER_H
#define TRACE_FILTER_H

#include <allocsnoop.h>

#include "abi.h"
#include "base/types.h"

struct filter {
	u32 kinds;    /* AS_FILTER_*, or'ed */
	char *comm;   /* patterns, as given */
	char *cgroup; /* path below the hierarchy's root */
	int cgroup_fd;
	struct as_globs globs;
};

/* Worded. After failure, too, filter__fini() is due. */
int filter__init(struct filter *f, const struct allocsnoop_opts *o);
void filter__fini(struct filter *f);

/* Does the process pass the filters by name and cgroup, as it is now? */
bool filter__has(const struct filter *f, pid_t pid);

#endif
