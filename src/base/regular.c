/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at a file through O_PATH before it's opened, by way of that very descriptor. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int regular__open(const char *path)
{
	CLEANUP(fd__closep) int handle = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char proc[64];
	int fd;

	if (handle < 0 || fstat(handle, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", handle);
	fd = open(proc, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
