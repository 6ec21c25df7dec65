/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/PID/maps as read by proc_maps__each(), against what this process has mapped itself. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/maps.h"
#include "check.h"

struct query {
	u64 addr;
	struct proc_map m;
	char path[4096];
	int calls;
	int hits;
	u64 last_end;
};

static int note(void *arg, const struct proc_map *m)
{
	struct query *q = arg;

	q->calls++;
	CHECK(m->start < m->end);
	/* The kernel's own page sits above everything; the rest is in order and doesn't overlap. */
	CHECK(m->start >= q->last_end);
	q->last_end = m->end;
	if (q->addr < m->start || q->addr >= m->end)
		return 0;
	q->hits++;
	q->m = *m;
	snprintf(q->path, sizeof(q->path), "%s", m->path);
	return 0;
}

static struct query ask(const void *addr)
{
	struct query q = { .addr = (u64)(uintptr_t)addr };

	CHECK_EQ(proc_maps__each(getpid(), note, &q), 0);
	CHECK_EQ(q.hits, 1);
	return q;
}

static void *map_file(const char *path, int prot, off_t off)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	void *p;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 65536), 0);
	p = mmap(NULL, 4096, prot, MAP_PRIVATE, fd, off);
	CHECK(p != MAP_FAILED);
	close(fd);
	return p;
}

static u64 inode_of(const char *path)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	return st.st_ino;
}

static void test_own_code(void)
{
	struct query q = ask((void *)(uintptr_t)test_own_code);
	char exe[4096] = "";

	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	CHECK_STR(q.path, exe);
	CHECK(q.m.exec);
	CHECK(!q.m.deleted);
	CHECK_EQ(q.m.inode, inode_of("/proc/self/exe"));
	CHECK(q.calls > 10);
}

static void test_anonymous(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct query q = ask(p);

	CHECK_STR(q.path, "");
	CHECK(q.m.exec);
	CHECK_EQ(q.m.inode, 0);
	munmap(p, 4096);
	q = ask(&q);
	CHECK(!q.m.exec);
}

/* Mapped, then unlinked or not: what the name says afterwards. */
static void check_name(const char *path, bool unlinked)
{
	void *p = map_file(path, PROT_READ | PROT_EXEC, 8192);
	u64 inode = inode_of(path);
	struct query q;

	if (unlinked)
		CHECK_EQ(unlink(path), 0);
	q = ask(p);
	CHECK_STR(q.path, path);
	CHECK_EQ(q.m.file_off, 8192);
	CHECK_EQ(q.m.inode, inode);
	CHECK_EQ(q.m.deleted, unlinked);
	munmap(p, 4096);
	if (!unlinked)
		CHECK_EQ(unlink(path), 0);
}

static void test_names(const char *dir)
{
	const char *const names[] = { "plain",	 "with space", "a\nnewline",
				      "a\\040b", "\xff\xfe",   "really (deleted)" };
	char path[4096];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		check_name(path, false);
		check_name(path, true);
	}
}

static void test_replaced(const char *dir)
{
	char a[4096], b[4096];
	struct query q;
	void *p;

	snprintf(a, sizeof(a), "%s/lib", dir);
	snprintf(b, sizeof(b), "%s/new", dir);
	p = map_file(a, PROT_READ, 0);
	munmap(map_file(b, PROT_READ, 0), 4096);
	CHECK_EQ(rename(b, a), 0);
	q = ask(p);
	CHECK_STR(q.path, a);
	CHECK(q.m.deleted);
	CHECK(q.m.inode != inode_of(a));
	munmap(p, 4096);
	CHECK_EQ(unlink(a), 0);
}

static int stop_at_third(void *arg, const struct proc_map *m)
{
	int *n = arg;

	(void)m;
	return ++*n == 3 ? 77 : 0;
}

static void test_ends(void)
{
	pid_t pid = fork();
	int n = 0;

	if (!pid)
		for (;;)
			pause();
	CHECK_EQ(proc_maps__each(pid, stop_at_third, &n), 77);
	CHECK_EQ(n, 3);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	n = 0;
	CHECK_EQ(proc_maps__each(pid, stop_at_third, &n), -ESRCH);
	CHECK_EQ(proc_maps__each(0, stop_at_third, &n), -ESRCH);
	CHECK_EQ(proc_maps__each(-1, stop_at_third, &n), -ESRCH);
	CHECK_EQ(n, 0);
	/* A kernel thread has no mappings, and that is no error. */
	if (!access("/proc/2/maps", R_OK))
		CHECK_EQ(proc_maps__each(2, stop_at_third, &n), 0);
}

int main(void)
{
	char dir[] = "/tmp/maps_test.XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	test_own_code();
	test_anonymous();
	test_names(dir);
	test_replaced(dir);
	test_ends();
	CHECK_EQ(rmdir(dir), 0);
	return check__done();
}
