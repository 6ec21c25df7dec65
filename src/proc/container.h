/* SPDX-License-Identifier: BSD-2-Clause */
/* What the shape of a cgroup's path says; see cgroup.h for the first of them. */
#ifndef PROC_CONTAINER_H
#define PROC_CONTAINER_H

#include <stdbool.h>

/* Does a user who says `name` mean the last directory of the path? Its whole name, the name of the
 * container or service that it is, or at least 4 digits that its id begins with. */
bool container__is(const char *path, const char *name);

#endif
