/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding a separate debug file (GDB manual, "Debugging Information in Separate Files"). A
 * candidate is first looked at through O_PATH, which can't block on a FIFO or wake a device, and
 * must be a regular file of root or of the stripped file's owner; only then its build id or
 * checksum decides.
 */
#include "elf/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "elf/image.h"

#define CRC_FILE_MAX (4ull << 30) /* larger files are not summed up */
#define CRC_CHUNK    (256 * 1024)

struct link {
	const char *name;
	u32 crc;
};

/* Regular, and of an owner who could have changed the stripped file, too. -1 when not. */
static int open_trusted(const struct elf_image *img, const char *path)
{
	CLEANUP(fd__closep) int handle = open(path, O_PATH | O_CLOEXEC);
	struct stat st, own;
	char proc[64];

	if (handle < 0 || fstat(handle, &st) < 0 || fstat(img->fd, &own) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != own.st_uid))
		return -1;
	if (st.st_dev == own.st_dev && st.st_ino == own.st_ino)
		return -1; /* a debuglink may have the file's own name */
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", handle);
	return open(proc, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

struct id {
	const u8 *v;
	u32 size;
};

/* Whether the build ids allow the two to belong together; `must` when nothing else vouches. */
static bool same_build_id(const struct id *id, int fd, bool must)
{
	struct elf_image debug;
	bool same;

	if (elf_image__open(&debug, fd))
		return false;
	if (!must && (!id->size || !debug.build_id_size))
		same = true;
	else
		same = id->size == debug.build_id_size && !memcmp(id->v, debug.build_id, id->size);
	elf_image__close(&debug);
	return same;
}

static bool has_crc(int fd, u32 want)
{
	CLEANUP(free__p) u8 *buf = malloc(CRC_CHUNK);
	uLong crc = crc32(0, NULL, 0);
	u64 pos = 0;

	while (buf && pos < CRC_FILE_MAX) {
		ssize_t n = pread(fd, buf, CRC_CHUNK, (off_t)pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			return (u32)crc == want;
		crc = crc32(crc, buf, (uInt)n);
		pos += (u64)n;
	}
	return false;
}

static int open_by_build_id(const struct elf_image *img, const struct id *id,
			    const char *debug_root)
{
	struct str path = { 0 };
	int fd = -1;

	if (id->size < 2)
		return -1;
	str__addf(&path, "%s/.build-id/%02x/", debug_root, id->v[0]);
	for (u32 i = 1; i < id->size; i++)
		str__addf(&path, "%02x", id->v[i]);
	str__add(&path, ".debug");
	if (!path.oom)
		fd = open_trusted(img, path.s);
	str__free(&path);
	if (fd >= 0 && !same_build_id(id, fd, true)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A plain file name, a NUL, padding to 4 bytes, the checksum. */
static bool parse_link(const u8 *data, size_t size, struct link *link)
{
	size_t len = strnlen((const char *)data, size);
	size_t crc = (len + 4) & ~(size_t)3;

	if (!len || len > NAME_MAX || crc + 4 > size)
		return false;
	if (memchr(data, '/', len) || !strcmp((const char *)data, ".") ||
	    !strcmp((const char *)data, ".."))
		return false;
	link->name = (const char *)data;
	memcpy(&link->crc, data + crc, 4);
	return true;
}

static int open_linked(const struct elf_image *img, const struct link *link, const char *prefix,
		       int dir_len, const char *dir, const char *sub)
{
	struct id id = { img->build_id, img->build_id_size };
	char path[PATH_MAX];
	int len, fd;

	len = snprintf(path, sizeof(path), "%s%.*s%s%s", prefix, dir_len, dir, sub, link->name);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -1;
	fd = open_trusted(img, path);
	if (fd >= 0 && !(same_build_id(&id, fd, false) && has_crc(fd, link->crc))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_by_link(const struct elf_image *img, const char *path, const char *debug_root)
{
	const Elf64_Shdr *sh = elf_image__section(img, ".gnu_debuglink");
	const char *slash = path ? strrchr(path, '/') : NULL;
	CLEANUP(free__p) u8 *data = NULL;
	struct link link;
	size_t size;
	int dir_len, fd;

	if (!sh || !slash || path[0] != '/' || slash - path >= PATH_MAX ||
	    sh->sh_size > NAME_MAX + 16)
		return -1;
	if (elf_image__read_section(img, sh, &data, &size) || !parse_link(data, size, &link))
		return -1;
	dir_len = (int)(slash - path);
	fd = open_linked(img, &link, "", dir_len, path, "/");
	if (fd < 0)
		fd = open_linked(img, &link, "", dir_len, path, "/.debug/");
	if (fd < 0)
		fd = open_linked(img, &link, debug_root, dir_len, path, "/");
	return fd;
}

int elf_debugfile__open(const struct elf_image *img, const char *path, const char *debug_root,
			int *fd)
{
	struct id id = { img->build_id, img->build_id_size };
	int found = open_by_build_id(img, &id, debug_root);

	if (found < 0)
		found = open_by_link(img, path, debug_root);
	if (found < 0)
		return -ENOENT;
	*fd = found;
	return 0;
}

int elf_debugfile__open_named(const struct elf_image *img, const char *path, int *fd)
{
	int found = open_trusted(img, path);

	if (found < 0)
		return -ENOENT;
	*fd = found;
	return 0;
}

/* A path, a NUL, the build id. The path is relative to the file that holds the link. */
static int open_alt_by_name(const struct elf_image *img, const char *name, const struct id *id)
{
	char proc[64], path[2 * PATH_MAX];
	char *slash = path;
	ssize_t len = 0;
	int fd;

	if (name[0] != '/') {
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", img->fd);
		len = readlink(proc, path, PATH_MAX - 1);
		if (len <= 0)
			return -1;
		path[len] = '\0';
		slash = strrchr(path, '/');
		if (!slash)
			return -1;
		slash++;
	}
	len = snprintf(slash, PATH_MAX, "%s", name);
	if (len < 0 || len >= PATH_MAX)
		return -1;
	fd = open_trusted(img, path);
	if (fd >= 0 && !same_build_id(id, fd, true)) {
		close(fd);
		return -1;
	}
	return fd;
}

int elf_debugfile__open_alt(const struct elf_image *img, const char *debug_root, int *fd)
{
	const Elf64_Shdr *sh = elf_image__section(img, ".gnu_debugaltlink");
	CLEANUP(free__p) u8 *data = NULL;
	struct id id;
	size_t size, len;
	int found;

	if (!sh || sh->sh_size > PATH_MAX || elf_image__read_section(img, sh, &data, &size))
		return -ENOENT;
	len = strnlen((const char *)data, size);
	if (!len || size - len < 3)
		return -ENOENT;
	id = (struct id){ data + len + 1, (u32)(size - len - 1) };
	found = open_by_build_id(img, &id, debug_root);
	if (found < 0)
		found = open_alt_by_name(img, (const char *)data, &id);
	if (found < 0)
		return -ENOENT;
	*fd = found;
	return 0;
}
