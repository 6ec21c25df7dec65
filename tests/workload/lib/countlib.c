/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An oracle for real programs: preloaded in front of glibc, it counts allocations by the rule of
 * the reports (a successful call is one allocation of the requested bytes; realloc to a size above
 * zero is one; realloc(p, 0) is a free), in a way that shares nothing with probes.
 *
 * The idea: the sums live in a file mapped shared and named by COUNT_FILE, so a process needs no
 * exit handler: its children, its death by a signal and its exec all keep what was counted.
 *
 * Built with IDLE it counts nothing and replaces nothing, but takes the same room in memory: some
 * programs allocate by what their addresses are, so they need the same layout to do the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef IDLE
#define malloc	       idle_1
#define calloc	       idle_2
#define realloc	       idle_3
#define reallocarray   idle_4
#define memalign       idle_5
#define aligned_alloc  idle_6
#define valloc	       idle_7
#define pvalloc	       idle_8
#define posix_memalign idle_9
#endif

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t cnt, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

struct sums {
	uint64_t cnt;
	uint64_t bytes;
	uint64_t failed;
};

static struct sums nowhere;
static struct sums *sums;

/* Runs inside the first malloc of a process, so it may not allocate itself. */
static struct sums *sums__open(void)
{
	const char *path = getenv("COUNT_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at = MAP_FAILED;

	if (fd >= 0) {
		at = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	return at == MAP_FAILED ? &nowhere : at;
}

static void *count(void *p, size_t size)
{
	int saved = errno;

	if (!sums)
		sums = sums__open();
	errno = saved;
	if (!p) {
		__atomic_fetch_add(&sums->failed, 1, __ATOMIC_RELAXED);
		return p;
	}
	__atomic_fetch_add(&sums->cnt, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->bytes, size, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size), size);
}

void *calloc(size_t cnt, size_t size)
{
	return count(__libc_calloc(cnt, size), cnt * size);
}

void *realloc(void *p, size_t size)
{
	void *q = __libc_realloc(p, size);

	return p && !size ? q : count(q, size);
}

void *reallocarray(void *p, size_t cnt, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(cnt, size, &bytes)) {
		errno = ENOMEM;
		return count(NULL, 0);
	}
	return realloc(p, bytes);
}

void *memalign(size_t align, size_t size)
{
	return count(__libc_memalign(align, size), size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return count(__libc_memalign(align, size), size);
}

void *valloc(size_t size)
{
	return count(__libc_valloc(size), size);
}

void *pvalloc(size_t size)
{
	return count(__libc_pvalloc(size), size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *p;

	if (align % sizeof(void *) || (align & (align - 1)) || !align)
		return EINVAL;
	p = count(__libc_memalign(align, size), size);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
