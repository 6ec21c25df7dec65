/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More blocks than a tracer has room for: argv[1] blocks of which at most a third of argv[2] live
 * at once, then argv[1] that all live at once; all are freed. The sizes are known by the number
 * only.
 */
#include <stdlib.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

static void **keep;

static size_t size_of(size_t i)
{
	return 16 + i % 100;
}

NI void full_few(size_t i, size_t room)
{
	free(keep[i % room]);
	keep[i % room] = malloc(size_of(i));
}

NI void full_all(size_t i)
{
	keep[i] = malloc(size_of(i));
}

static void drop(size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free(keep[i]);
		keep[i] = NULL;
	}
}

int main(int argc, char **argv)
{
	size_t cnt = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	size_t room = argc > 2 ? strtoull(argv[2], NULL, 10) / 3 : 0;
	unsigned long long bytes = 0;

	if (!cnt || !room || cnt < room)
		return 2;
	keep = calloc(cnt, sizeof(*keep));
	gate__start();
	for (size_t i = 0; i < cnt; i++)
		full_few(i, room);
	drop(room);
	for (size_t i = 0; i < cnt; i++)
		full_all(i);
	drop(cnt);
	for (size_t i = 0; i < cnt; i++)
		bytes += size_of(i);
	gate__say("expect full_few %zu %llu\nexpect full_all %zu %llu\n", cnt, bytes, cnt, bytes);
	gate__end();
	return 0;
}
