/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Grows, in ways with known books. `maps`: mappings that come, go in parts, move and stay, as lines
 * `expect FUNCTION COUNT BYTES`, `live ...` and `freed ...`; FUNCTION is who called libc's
 * function. `touch MIB [huge]`: writes to each page of so much memory, and says what the kernel
 * counted for that. `fork MIB`: a child writes to memory that it has from its parent, then to some
 * of its own. `threads`: six of them touch, and give back, 16 MiB five times.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "gate.h"

#define PAGE	   4096ul
#define MIB	   (1ul << 20)
#define HUGE_ALIGN (2 * MIB)
#define THREADS	   6
#define ROUNDS	   5
#define OUR_OWN	   __attribute__((noinline))

/* After each call of interest, so that it's none that ends its function. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static char *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

#define MAPPER(name)                                                                            \
	OUR_OWN static char *name(size_t size)                                                  \
	{                                                                                       \
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, \
			       -1, 0);                                                          \
		NO_TAIL_CALL();                                                                 \
		return p;                                                                       \
	}

MAPPER(g_kept)
MAPPER(g_half)
MAPPER(g_holes)
MAPPER(g_moved)
MAPPER(g_replaced)
MAPPER(g_stayed)

OUR_OWN static char *g_regrown(char *p, size_t from, size_t to)
{
	char *q = mremap(p, from, to, MREMAP_MAYMOVE);

	NO_TAIL_CALL();
	return q;
}

OUR_OWN static void g_over(char *p, size_t size)
{
	if (mmap(p, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
		_exit(3);
	NO_TAIL_CALL();
}

OUR_OWN static void g_failed(void)
{
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		_exit(3);
	NO_TAIL_CALL();
}

OUR_OWN static void g_break(intptr_t by)
{
	if (sbrk(by) == (void *)-1)
		_exit(3);
	NO_TAIL_CALL();
}

OUR_OWN static void g_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || mmap(NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(3);
	NO_TAIL_CALL();
	close(fd);
}

static void maps(const char *self)
{
	char *p;

	g_kept(10000);
	p = g_half(8 * PAGE);
	munmap(p, 4 * PAGE);
	p = g_holes(9 * PAGE);
	munmap(p + 3 * PAGE, 3 * PAGE);
	munmap(p, 3 * PAGE);
	munmap(p + 6 * PAGE, 3 * PAGE);
	p = g_moved(4 * PAGE);
	g_kept(PAGE);
	p = g_regrown(p, 4 * PAGE, 64 * PAGE);
	g_regrown(p, 64 * PAGE, 2 * PAGE); /* shrinks: nothing of the growth is left */
	p = g_replaced(3 * PAGE);
	g_over(p, 3 * PAGE);
	p = g_stayed(PAGE);
	munmap(p + 1, PAGE); /* refused: no page begins there */
	g_failed();
	sbrk(0);
	g_break(100000);
	g_break(-40000);
	g_file(self);
	gate__say("expect g_kept 2 14096\nexpect g_half 1 32768\nexpect g_holes 1 36864\n"
		  "expect g_moved 1 16384\nexpect g_regrown 1 245760\nexpect g_replaced 1 12288\n"
		  "expect g_over 1 12288\nexpect g_stayed 1 4096\nexpect sbrk 1 100000\n"
		  "expect g_file 1 100\n");
	gate__say(
		"live g_kept 2 14096\nlive g_half 1 16384\nlive g_holes 0 0\nlive g_moved 1 8192\n"
		"live g_regrown 0 0\nlive g_replaced 0 0\nlive g_over 1 12288\nlive g_file 1 100\n"
		"live g_stayed 1 4096\nlive sbrk 1 60000\n");
	gate__say("freed g_kept 0 0\nfreed g_half 0 16384\nfreed g_holes 1 36864\n"
		  "freed g_moved 0 8192\nfreed g_regrown 1 245760\nfreed g_replaced 1 12288\n"
		  "freed sbrk 0 40000\n");
}

/* ---- pages ---- */

/* RssAnon of /proc/self/status, in kB. Nothing here touches a new page the second time. */
static long rss_anon(void)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *at;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "RssAnon:");
	return at ? atol(at + strlen("RssAnon:")) : -1;
}

OUR_OWN static void touch_pages(char *p, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		*(volatile char *)(p + i) = 1;
}

OUR_OWN static void touch_again(char *p, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		*(volatile char *)(p + i) = 2;
}

/* Reads give every page the same zeroes: no memory. */
OUR_OWN static void read_pages(char *p, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		*(volatile char *)(p + i);
}

static char *map_aligned(size_t size)
{
	char *p = map(size + HUGE_ALIGN);

	return (char *)(((uintptr_t)p + HUGE_ALIGN - 1) & ~(HUGE_ALIGN - 1));
}

static void touch(size_t size, int huge)
{
	char *p = map_aligned(size);
	long before;

	madvise(p, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	rss_anon();
	before = rss_anon();
	if (!huge)
		read_pages(p, 16 * MIB);
	touch_pages(p, size);
	gate__say("rss_anon %ld\n", (rss_anon() - before) * 1024);
	touch_again(p, 16 * MIB);
}

static void fork_and_touch(size_t size)
{
	char *p = map_aligned(size);

	madvise(p, size, MADV_NOHUGEPAGE);
	touch_pages(p, size);
	if (!fork()) {
		char *own = map_aligned(size);

		madvise(own, size, MADV_NOHUGEPAGE);
		touch_again(p, size); /* copies: they were the child's before */
		touch_pages(own, size);
		_exit(0);
	}
	wait(NULL);
	gate__say("expect touch_pages %zu %zu\nexpect touch_again 0 0\n", 2 * size / PAGE,
		  2 * size);
}

static void *thread__run(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *p = map_aligned(16 * MIB);

		madvise(p, 16 * MIB, MADV_NOHUGEPAGE);
		touch_pages(p, 16 * MIB);
		madvise(p, 16 * MIB, MADV_DONTNEED);
	}
	return arg;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread__run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	gate__say("expect touch_pages %lu %lu\n", THREADS * ROUNDS * 16 * MIB / PAGE,
		  THREADS * ROUNDS * 16 * MIB);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "maps";
	size_t size = argc > 2 ? (size_t)atoi(argv[2]) * MIB : 64 * MIB;

	gate__start();
	if (!strcmp(mode, "touch"))
		touch(size, argc > 3);
	else if (!strcmp(mode, "fork"))
		fork_and_touch(size);
	else if (!strcmp(mode, "threads"))
		threads();
	else
		maps(argv[0]);
	gate__end();
	return 0;
}
