/* SPDX-License-Identifier: BSD-2-Clause */
/* Regular files are opened; of others the kernel itself says that nobody has opened them. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "check.h"

static bool was_opened(int watch)
{
	char ev[4096] __attribute__((aligned(8)));

	return read(watch, ev, sizeof(ev)) > 0;
}

int main(void)
{
	char dir[] = "/tmp/regular.XXXXXX", path[64], fifo[64], link[64], c = 0;
	int fd, watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK_EQ(write(fd, "x", 1), 1);
	close(fd);
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	CHECK_EQ(symlink(fifo, link), 0);
	CHECK(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	CHECK(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);

	CHECK_EQ(regular__open(fifo), -EINVAL);
	CHECK_EQ(regular__open(link), -EINVAL);
	CHECK_EQ(regular__open(dir), -EINVAL);
	CHECK_EQ(regular__open("/dev/null"), -EINVAL);
	CHECK(!was_opened(watch));
	fd = regular__open(path);
	CHECK(fd >= 0);
	CHECK(was_opened(watch));
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 'x');
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(watch);
	unlink(link);
	unlink(fifo);
	unlink(path);
	CHECK_EQ(regular__open(path), -ENOENT);
	rmdir(dir);
	return check__done();
}
