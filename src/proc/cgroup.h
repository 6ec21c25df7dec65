/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control groups (cgroups(7)), of the unified hierarchy: the directory that somebody means, the
 * path of one that the kernel names by number, and what is known by the shape of a path: the
 * container or service.
 */
#ifndef PROC_CGROUP_H
#define PROC_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/types.h"

#define CGROUP_NAME_MAX 256 /* bytes of a container's name, the last one 0 */

/*
 * Paths of cgroups by the kernel's id (the inode number of the directory). They are remembered, as
 * a process's cgroup may be gone right after it. A zeroed struct is ready.
 */
struct cgroups {
	struct map paths; /* id -> char * */
	char mount[256];  /* of the hierarchy, "" none */
	char older[1024]; /* path of the last process of a hierarchy of version 1 */
	int mount_fd;
	bool opened;
	bool unified_only; /* there are no such hierarchies */
};

/*
 * The cgroup of a process by the kernel's id: "/system.slice/ssh.service", below the hierarchy's
 * root; "" unknown. Where that is the root itself, and there are hierarchies of version 1, the
 * longest of the process's paths in them, if it still runs. Good until the next call.
 */
const char *cgroups__path(struct cgroups *c, u64 id, int pid);
void cgroups__fini(struct cgroups *c);

/*
 * The directory that `name` means: a path (absolute, below the hierarchy's root, or of a directory
 * under its mount), or the name or the beginning of the id of exactly one container or service. *fd
 * is the open directory, path what cgroups__path() would say. Worded: -ENOENT, or -EINVAL when it
 * means several.
 */
int cgroup__open(const char *name, int *fd, char *path, size_t size);

/* Is the process in the cgroup of this path, or below? */
bool cgroup__has(const char *path, int pid);

/* The container (a name, or 12 digits of its id), pod or systemd service that a cgroup's path
 * names; false, and "", when it names none. */
bool cgroup__container(const char *path, char name[CGROUP_NAME_MAX]);

#endif
