/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds cgroups' directories; what their paths say is in container.c. */
#include "proc/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "proc/container.h"

#define PATHS_MAX     4096 /* remembered at once */
#define DEPTH_MAX     64   /* of directories looked through */
#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h: a handle that is the node's id */

/* Where the unified hierarchy is mounted; "" nowhere. */
static void mount__find(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	path[0] = '\0';
	while (mounts && !path[0] && (m = getmntent(mounts))) {
		if (!strcmp(m->mnt_type, "cgroup2") && strlen(m->mnt_dir) < size)
			strcpy(path, m->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
}

/* What an open directory is called below the mount. */
static int fd__path(int fd, const char *mount, char *path, size_t size)
{
	char link[32], full[PATH_MAX];
	size_t skip = strlen(mount);
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, full, sizeof(full) - 1);
	if (n < 0)
		return -errno;
	full[n] = '\0';
	if (strncmp(full, mount, skip) || (full[skip] && full[skip] != '/'))
		return -ENOENT;
	if (snprintf(path, size, "%s", full[skip] ? full + skip : "/") >= (int)size)
		return -ENAMETOOLONG;
	return 0;
}

/* ---- by id ---- */

static int cgroups__ask(struct cgroups *c, u64 id, char *path, size_t size)
{
	struct {
		struct file_handle h;
		u64 id;
	} handle = { .h = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };

	memcpy(handle.h.f_handle, &id, sizeof(id));
	CLEANUP(fd__closep) int fd = open_by_handle_at(c->mount_fd, &handle.h, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd__path(fd, c->mount, path, size);
}

static void cgroups__forget(struct cgroups *c)
{
	u64 id, val;

	for (size_t i = 0; map__next(&c->paths, &i, &id, &val);)
		free((void *)(uintptr_t)val);
	map__free(&c->paths);
	c->paths = (struct map){};
}

static const char *cgroups__unified(struct cgroups *c, u64 id)
{
	char path[PATH_MAX], *copy;
	u64 val;

	if (map__get(&c->paths, id, &val))
		return (const char *)(uintptr_t)val;
	if (!id || c->mount_fd < 0 || cgroups__ask(c, id, path, sizeof(path)))
		return "";
	if (c->paths.cnt >= PATHS_MAX)
		cgroups__forget(c);
	copy = strdup(path);
	if (!copy || map__put(&c->paths, id, (uintptr_t)copy)) {
		free(copy);
		return "";
	}
	return copy;
}

/* "4:memory:/docker/...": the longest path of all lines. "" there is none. */
static const char *cgroups__older(struct cgroups *c, int pid)
{
	char name[64], line[sizeof(c->older) + 256], *path;
	bool any = false, gone;

	c->older[0] = '\0';
	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	FILE *f = fopen(name, "re");

	gone = !f;
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		path = strncmp(line, "0::", 3) ? strchr(line, '/') : NULL;
		any |= path != NULL;
		if (path && strlen(path) > strlen(c->older) && strlen(path) < sizeof(c->older))
			strcpy(c->older, path);
	}
	if (f)
		fclose(f);
	c->unified_only = !any && !gone;
	return c->older;
}

const char *cgroups__path(struct cgroups *c, u64 id, int pid)
{
	const char *path, *older;

	if (!c->opened) {
		mount__find(c->mount, sizeof(c->mount));
		c->mount_fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		c->opened = true;
	}
	path = cgroups__unified(c, id);
	if (c->unified_only || (path[0] && path[1]))
		return path;
	older = cgroups__older(c, pid);
	return older[0] ? older : path;
}

void cgroups__fini(struct cgroups *c)
{
	cgroups__forget(c);
	if (c->opened && c->mount_fd >= 0)
		close(c->mount_fd);
}

/* ---- by what somebody calls it ---- */

struct hunt {
	const char *name;
	size_t cnt;
	int fd; /* of the first one found */
	char path[2][PATH_MAX];
};

static void hunt__found(struct hunt *h, int fd, const char *path)
{
	if (h->cnt < 2)
		snprintf(h->path[h->cnt], sizeof(h->path[0]), "%s", path);
	if (!h->cnt++)
		h->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Takes fd. path: of the directory, with room for PATH_MAX bytes. */
static void hunt__below(struct hunt *h, int fd, char *path, u32 depth)
{
	DIR *dir = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	size_t len = strlen(path);
	struct dirent *e;
	int sub;

	if (!dir)
		close(fd);
	while (dir && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    snprintf(path + len, PATH_MAX - len, "/%s", e->d_name) >= (int)(PATH_MAX - len))
			continue;
		sub = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (sub >= 0 && container__is(path, h->name)) {
			hunt__found(h, sub, path); /* with all that is below */
			close(sub);
		} else if (sub >= 0) {
			hunt__below(h, sub, path, depth + 1);
		}
	}
	path[len] = '\0';
	if (dir)
		closedir(dir);
}

static int hunt__run(const char *name, const char *mount, int *fd)
{
	struct hunt h = { .name = name, .fd = -1 };
	int root = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	char path[PATH_MAX] = "";

	if (root >= 0)
		hunt__below(&h, root, path, 0);
	if (h.cnt == 1 && h.fd >= 0) {
		*fd = h.fd;
		return 0;
	}
	if (h.fd >= 0)
		close(h.fd);
	if (h.cnt > 1)
		return err__fail(-EINVAL, "cgroup '%s': means %zu, '%s' and '%s' among them", name,
				 h.cnt, h.path[0], h.path[1]);
	err = err__fail(-ENOENT,
			"cgroup '%s': no such directory below '%s', and no container or "
			"service of this name",
			name, mount);
	err__hint("systemd-cgls shows them; /proc/PID/cgroup says where a process is");
	return err;
}

static int dir__open(const char *mount, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", mount, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cgroup__open(const char *name, int *fd, char *path, size_t size)
{
	char mount[256];
	struct statfs fs;
	int err;

	mount__find(mount, sizeof(mount));
	if (!mount[0]) {
		err = err__fail(-ENOENT, "cgroup '%s': the unified hierarchy is not mounted", name);
		err__hint("mount -t cgroup2 none /sys/fs/cgroup");
		return err;
	}
	*fd = dir__open(mount, name);
	if (*fd < 0 && name[0] == '/')
		*fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = *fd < 0 ? hunt__run(name, mount, fd) : 0;
	if (err)
		return err;
	if (!fstatfs(*fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC &&
	    !fd__path(*fd, mount, path, size))
		return 0;
	close(*fd);
	err = err__fail(-ENOENT, "'%s': not a directory of the unified cgroup hierarchy", name);
	err__hint("it is mounted at '%s'; cgroups of version 1 can't be filtered by", mount);
	return err;
}

bool cgroup__has(const char *path, int pid)
{
	char name[64], line[PATH_MAX + 64];
	size_t len = strlen(path);
	bool in = false;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	FILE *f = fopen(name, "re");

	while (f && !in && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		in = !strncmp(line, "0::", 3) &&
		     (len == 1 ||
		      (!strncmp(line + 3, path, len) && (!line[3 + len] || line[3 + len] == '/')));
	}
	if (f)
		fclose(f);
	return in;
}
