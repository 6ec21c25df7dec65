/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What /proc says about a process. The idea: every answer comes from one read() of one file, which
 * the kernel makes in one go, and a process that leaves meanwhile is the plain answer -ESRCH.
 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/task.h"

#define DELETED	       " (deleted)"
#define PROC_KTHREAD   0x00200000u /* PF_KTHREAD, include/linux/sched.h */
#define MAX_STAT_FIELD 22

/* A file that is gone means that the process is: its directory was there for as long as it was. */
static int gone_err(int err)
{
	return err == ENOENT ? -ESRCH : -err;
}

/* NUL-terminated contents of a short file; what doesn't fit is cut off. */
static int read_file(const char *path, char *buf, size_t size)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return gone_err(errno);
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ESRCH;
	buf[n] = '\0';
	return 0;
}

/* The number after "\nNAME:\t". Names come first on their lines and the only hostile text, the
 * process's own name, has its newlines escaped. */
static bool status_field(const char *status, const char *name, u64 *val)
{
	const char *at = strstr(status, name);

	if (!at)
		return false;
	*val = strtoull(at + strlen(name), NULL, 10);
	return true;
}

int proc_task__ids(pid_t id, struct proc_ids *ids)
{
	u64 tgid, ppid, tracer, uid, threads;
	char path[64], buf[4096];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", id);
	err = read_file(path, buf, sizeof(buf));
	if (err)
		return err;
	if (!status_field(buf, "\nTgid:\t", &tgid) || !status_field(buf, "\nPPid:\t", &ppid) ||
	    !status_field(buf, "\nTracerPid:\t", &tracer) || !status_field(buf, "\nUid:\t", &uid))
		return -ESRCH;
	/* A process that is being buried has no thread count any more. */
	if (!status_field(buf, "\nThreads:\t", &threads))
		threads = 0;
	*ids = (struct proc_ids){
		.tgid = tgid, .ppid = ppid, .tracer = tracer, .uid = uid, .threads = threads
	};
	return 0;
}

struct stat_line {
	char comm[16];
	char state;
	u64 field[MAX_STAT_FIELD + 1]; /* by number as in proc(5), from the 4th on */
};

/* "PID (comm) S ppid ...": comm may hold anything, so its end is the last parenthesis. */
static int parse_stat(char *buf, struct stat_line *st)
{
	char *open = strchr(buf, '('), *close = strrchr(buf, ')'), *s;
	size_t len;

	if (!open || !close || close < open || strlen(close) < 4)
		return -ESRCH;
	len = MIN((size_t)(close - open - 1), sizeof(st->comm) - 1);
	memcpy(st->comm, open + 1, len);
	memset(st->comm + len, 0, sizeof(st->comm) - len);
	st->state = close[2];
	s = close + 3;
	for (int i = 4; i <= MAX_STAT_FIELD; i++)
		st->field[i] = strtoull(s, &s, 10);
	return 0;
}

static int read_stat(const char *path, struct stat_line *st)
{
	char buf[1024];
	int err = read_file(path, buf, sizeof(buf));

	return err ? err : parse_stat(buf, st);
}

int proc_task__read(pid_t id, struct proc_task *t)
{
	struct stat_line st;
	struct proc_ids ids;
	char path[64];
	int err;

	err = proc_task__ids(id, &ids);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/stat", ids.tgid);
	err = read_stat(path, &st);
	if (err)
		return err;
	*t = (struct proc_task){
		.tgid = ids.tgid,
		.ppid = ids.ppid,
		.state = st.state,
		.start_ticks = st.field[22],
		.kernel = st.field[9] & PROC_KTHREAD,
		.uid = ids.uid,
		.threads = ids.threads,
	};
	memcpy(t->comm, st.comm, sizeof(t->comm));
	return 0;
}

/* Does the process reach the very file it runs by this name, " (deleted)" and all? */
static bool is_its_name(const char *link, pid_t pid, const char *name)
{
	CLEANUP(free__p) char *seen = NULL;
	struct stat a, b;

	if (asprintf(&seen, "/proc/%d/root%s", pid, name) < 0) {
		seen = NULL;
		return false;
	}
	return !stat(link, &a) && !stat(seen, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

int proc_task__exe(pid_t pid, char *buf, size_t size)
{
	size_t cut = strlen(DELETED);
	char link[64], name[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	len = readlink(link, name, sizeof(name) - 1);
	if (len < 0)
		return gone_err(errno);
	name[len] = '\0';
	if ((size_t)len > cut && !strcmp(name + len - cut, DELETED) &&
	    !is_its_name(link, pid, name))
		name[len - cut] = '\0';
	if (strlen(name) >= size)
		return -ENAMETOOLONG;
	strcpy(buf, name);
	return 0;
}

/* The process's own CPU clock counts in nanoseconds; /proc/PID/stat has but ticks of 10 ms. */
int proc_task__cputime(pid_t pid, u64 *ns)
{
	struct timespec ts;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return -ESRCH;
	*ns = (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
	return 0;
}

int proc_task__is_64bit(pid_t pid)
{
	unsigned char ident[EI_NIDENT];
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return gone_err(errno);
	n = pread(fd, ident, sizeof(ident), 0);
	if (n < 0)
		return -errno;
	if (n < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	return ident[EI_CLASS] == ELFCLASS64;
}

static void dir__closep(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* The next name that is a number; 0 at the end. */
static pid_t next_id(DIR *dir)
{
	struct dirent *e;

	while ((e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			return atoi(e->d_name);
	return 0;
}

int proc_tasks__each(int (*fn)(void *arg, pid_t pid), void *arg)
{
	CLEANUP(dir__closep) DIR *dir = opendir("/proc");
	struct stat_line st;
	char path[64];
	pid_t pid;
	int err;

	if (!dir)
		return -errno;
	while ((pid = next_id(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (read_stat(path, &st) || st.field[9] & PROC_KTHREAD)
			continue;
		err = fn(arg, pid);
		if (err)
			return err;
	}
	return 0;
}

static bool is_live(pid_t pid, pid_t tid)
{
	struct stat_line st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	return !read_stat(path, &st) && !strchr("ZXx", st.state);
}

pid_t proc_task__live_thread(pid_t pid)
{
	char path[64];
	pid_t tid;

	if (is_live(pid, pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	CLEANUP(dir__closep) DIR *dir = opendir(path);

	if (!dir)
		return gone_err(errno);
	while ((tid = next_id(dir)))
		if (is_live(pid, tid))
			return tid;
	return -ESRCH;
}

u64 proc_task__rss_anon(pid_t pid)
{
	char path[64], buf[4096];
	u64 kib;

	/* A leader that has exited has no memory, while its other threads have. */
	snprintf(path, sizeof(path), "/proc/%d/status", proc_task__live_thread(pid));
	if (read_file(path, buf, sizeof(buf)) || !status_field(buf, "\nRssAnon:\t", &kib))
		return 0;
	return kib * 1024;
}

bool proc_task__thread_comm(pid_t pid, pid_t tid, char comm[16])
{
	char path[64], buf[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	if (read_file(path, buf, sizeof(buf)))
		return false;
	len = strlen(buf); /* a newline behind it, and perhaps some in it */
	len -= len && buf[len - 1] == '\n';
	len = MIN(len, 15);
	memcpy(comm, buf, len);
	comm[len] = '\0';
	return true;
}
