/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables FILE...: compiles the unwind tables of these files as allocsnoop does, first one after the
 * other, then in parallel. Prints: files, milliseconds of the first, milliseconds of the second,
 * rows, bytes of pages.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/ahead.h"
#include "unwind/table.h"

static struct unwind_rules rules;
static char **paths;
static u64 *row_cnts, *sizes;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void compile(void *arg, size_t i)
{
	u32 page_cnt = 0, chunk_cnt = 0, first[AS_INDEX_PAGES];
	union as_page *pages = NULL;
	struct unwind_table rows;
	struct elf_image img;
	int fd = open(paths[i], O_RDONLY);

	(void)arg;
	if (fd < 0 || elf_image__open(&img, fd) || unwind_table__compile(&rows, &img, &rules) ||
	    unwind_table__pack(&rows, &pages, &page_cnt, &chunk_cnt, first)) {
		fprintf(stderr, "cannot compile '%s'\n", paths[i]);
		exit(1);
	}
	row_cnts[i] = rows.rows.cnt;
	sizes[i] = page_cnt * sizeof(*pages);
	free(pages);
	unwind_table__fini(&rows);
	elf_image__close(&img);
	close(fd);
}

int main(int argc, char **argv)
{
	size_t cnt = (size_t)argc - 1;
	u64 row_cnt = 0, size = 0;
	double start, single, parallel;
	struct ahead ahead;

	paths = argv + 1;
	row_cnts = calloc(cnt + 1, sizeof(*row_cnts));
	sizes = calloc(cnt + 1, sizeof(*sizes));
	if (!cnt || !row_cnts || !sizes || unwind_rules__init(&rules))
		return 2;
	start = now_ms();
	for (size_t i = 0; i < cnt; i++)
		compile(NULL, i);
	single = now_ms() - start;
	start = now_ms();
	ahead__start(&ahead, cnt, compile, NULL);
	for (size_t i = 0; i < cnt; i++)
		ahead__wait(&ahead, i);
	ahead__end(&ahead);
	parallel = now_ms() - start;
	for (size_t i = 0; i < cnt; i++) {
		row_cnt += row_cnts[i];
		size += sizes[i];
	}
	printf("%zu %.1f %.1f %llu %llu\n", cnt, single, parallel, (unsigned long long)row_cnt,
	       (unsigned long long)size);
	return 0;
}
