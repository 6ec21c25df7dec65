/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads /proc/PID/maps line by line. The idea: a line is a fixed head and a path that may hold any
 * byte, so the head is parsed by hand and the rest is the path; nothing is copied but the line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/maps.h"
#include "proc/task.h"

#define DELETED " (deleted)"

/* A number in `base` followed by `end`; moves *s past it. */
static bool take(char **s, int base, char end, u64 *val)
{
	char *stop;

	*val = strtoull(*s, &stop, base);
	if (stop == *s || *stop != end)
		return false;
	*s = stop + 1;
	return true;
}

/* "start-end perms offset major:minor inode     path" */
static bool parse_head(char *s, struct proc_map *m, char **path)
{
	u64 skip;

	if (!take(&s, 16, '-', &m->start) || !take(&s, 16, ' ', &m->end))
		return false;
	if (strlen(s) < 5 || s[4] != ' ')
		return false;
	m->exec = s[2] == 'x';
	s += 5;
	if (!take(&s, 16, ' ', &m->file_off) || !take(&s, 16, ':', &skip) ||
	    !take(&s, 16, ' ', &skip))
		return false;
	m->inode = strtoull(s, &s, 10);
	*path = s + strspn(s, " ");
	return true;
}

/* The kernel escapes the newline and nothing else here (not even the backslash): "\012". */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* A file may really be called "x (deleted)": then the process still reaches it by that name. */
static bool is_its_name(pid_t pid, const struct proc_map *m, const char *path)
{
	CLEANUP(free__p) char *seen = NULL;
	struct stat st;

	if (asprintf(&seen, "/proc/%d/root%s", pid, path) < 0) {
		seen = NULL;
		return false;
	}
	return !stat(seen, &st) && st.st_ino == m->inode;
}

static void parse_path(pid_t pid, struct proc_map *m, char *path)
{
	size_t len, cut = strlen(DELETED);

	unescape(path);
	m->path = path;
	m->deleted = false;
	len = strlen(path);
	if (path[0] != '/' || len <= cut || strcmp(path + len - cut, DELETED))
		return;
	if (is_its_name(pid, m, path))
		return;
	path[len - cut] = '\0';
	m->deleted = true;
}

int proc_maps__each(pid_t pid, proc_map_fn fn, void *arg)
{
	CLEANUP(file__closep) FILE *f = NULL;
	CLEANUP(free__p) char *line = NULL;
	struct proc_map m;
	char name[64], *path;
	size_t cap = 0;
	ssize_t len;
	pid_t thread;
	int err;

	/* A leader that has exited has no mappings any more, its other threads have them all. */
	thread = proc_task__live_thread(pid);
	snprintf(name, sizeof(name), "/proc/%d/maps", thread > 0 ? thread : pid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while ((len = getline(&line, &cap, f)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (!parse_head(line, &m, &path))
			continue;
		parse_path(pid, &m, path);
		err = fn(arg, &m);
		if (err)
			return err;
		errno = 0;
	}
	return ferror(f) ? -errno : 0;
}
