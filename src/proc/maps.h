/* SPDX-License-Identifier: BSD-2-Clause */
/* Executable file mappings of a process, from /proc/PID/maps. */
#ifndef PROC_MAPS_H
#define PROC_MAPS_H

#include <sys/types.h>

#include "base/types.h"

struct proc_map {
	u64 start;
	u64 end;
	u64 file_off;
	u64 inode;
	const char *path; /* as the process sees it, octal escapes decoded, " (deleted)" cut off; ""
			     anonymous */
	bool deleted;
	bool exec;
};

/* Calls fn for each mapping; fn returns non-zero to stop (that value is returned). 0, -ESRCH or
 * -errno. */
typedef int (*proc_map_fn)(void *arg, const struct proc_map *m);
int proc_maps__each(pid_t pid, proc_map_fn fn, void *arg);

#endif
