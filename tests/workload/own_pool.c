/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool allocator on top of malloc, and callers that keep their own books of it. As one program;
 * or, with POOL_ONLY and MAIN_ONLY, as a library and its user.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

#define CHUNK	  (1u << 20)
#define NODE_SIZE 48

struct pool {
	char *at;
	size_t left;
};

struct pool *pool_new(void);
void *pool_alloc(struct pool *p, size_t size);
void *pool_calloc(struct pool *p, size_t cnt, size_t size);
void *pool_resize(struct pool *p, void *old, size_t size);
int pool_get(struct pool *p, void **out, size_t size);
void *pool_node(struct pool *p);
void pool_free(struct pool *p, void *block);
void *thin_alloc(size_t size);
void thin_free(void *block);

#ifndef MAIN_ONLY

NI void pool_more(struct pool *p)
{
	p->at = malloc(CHUNK);
	p->left = CHUNK;
	if (!p->at)
		abort();
}

NI struct pool *pool_new(void)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	pool_more(p);
	return p;
}

/* Each block has its size before it. */
NI void *pool_alloc(struct pool *p, size_t size)
{
	size_t need = (size + 31) / 16 * 16;
	char *block;

	if (size > CHUNK / 2)
		return NULL;
	if (need > p->left)
		pool_more(p);
	block = p->at + 16;
	memcpy(p->at, &size, sizeof(size));
	p->at += need;
	p->left -= need;
	return block;
}

NI void *pool_calloc(struct pool *p, size_t cnt, size_t size)
{
	return pool_alloc(p, cnt * size); /* the chunks aren't used twice: zeroes */
}

NI void pool_free(struct pool *p, void *block)
{
	(void)p;
	if (block)
		memset(block, 0xdd, 1);
}

NI void *pool_resize(struct pool *p, void *old, size_t size)
{
	void *block = size ? pool_alloc(p, size) : NULL;

	if (size && !block)
		return NULL;
	if (size && old)
		memcpy(block, old, 1);
	pool_free(p, old);
	return block;
}

NI int pool_get(struct pool *p, void **out, size_t size)
{
	void *block = pool_alloc(p, size);

	if (!block)
		return -1;
	*out = block;
	return 0;
}

NI void *pool_node(struct pool *p)
{
	return pool_alloc(p, NODE_SIZE);
}

NI void *thin_alloc(size_t size)
{
	return malloc(size);
}

NI void thin_free(void *block)
{
	free(block);
}

#endif
#ifndef POOL_ONLY

/* What went on in the functions below, by the sizes that they asked for. */
static unsigned long alloc_cnt, alloc_bytes, live_cnt, live_bytes;

static void *kept[64];
static bool fails; /* some calls shall fail */

static void got(void *block, size_t size)
{
	if (!block)
		abort();
	alloc_cnt++;
	alloc_bytes += size;
	live_cnt++;
	live_bytes += size;
}

static void gave(size_t size)
{
	live_cnt--;
	live_bytes -= size;
}

static void tell(const char *function)
{
	gate__say("expect %s %lu %lu\n", function, alloc_cnt, alloc_bytes);
	gate__say("live %s %lu %lu\n", function, live_cnt, live_bytes);
	gate__say("freed %s %lu %lu\n", function, alloc_cnt - live_cnt, alloc_bytes - live_bytes);
	alloc_cnt = alloc_bytes = live_cnt = live_bytes = 0;
}

NI void allocates(struct pool *p)
{
	for (size_t i = 0; i < 300; i++) {
		size_t size = 1 + i * 7 % 400;
		void *block = pool_alloc(p, size);

		got(block, size);
		if (i % 3)
			continue;
		pool_free(p, block);
		gave(size);
	}
	tell("allocates");
}

NI void counts(struct pool *p)
{
	for (size_t i = 1; i <= 50; i++)
		got(pool_calloc(p, i, 24), i * 24);
	tell("counts");
}

NI void resizes(struct pool *p)
{
	for (size_t i = 0; i < 100; i++) {
		void *block = pool_resize(p, NULL, 40);

		got(block, 40);
		got(block = pool_resize(p, block, 100 + i), 100 + i);
		gave(40);
		if (fails && pool_resize(p, block, CHUNK)) /* fails: the old block stays */
			abort();
		if (i % 4)
			continue;
		pool_resize(p, block, 0);
		gave(100 + i);
	}
	tell("resizes");
}

NI void gets(struct pool *p)
{
	for (size_t i = 0; i < 70; i++) {
		void *block = NULL;

		if (fails && !pool_get(p, &block, CHUNK))
			abort();
		if (pool_get(p, &block, 10 + i))
			abort();
		got(block, 10 + i);
		if (i % 2) {
			pool_free(p, block);
			gave(10 + i);
		}
	}
	tell("gets");
}

NI void nodes(struct pool *p)
{
	for (size_t i = 0; i < 80; i++) {
		void *node = pool_node(p);

		got(node, NODE_SIZE);
		if (i < 20) {
			pool_free(p, node);
			gave(NODE_SIZE);
		}
	}
	tell("nodes");
}

NI void thins(void)
{
	for (size_t i = 0; i < 60; i++) {
		kept[i] = thin_alloc(200);
		got(kept[i], 200);
		if (i % 2) {
			thin_free(kept[i]);
			gave(200);
		}
	}
	tell("thins");
}

int main(void)
{
	struct pool *p;

	fails = getenv("FAILS");
	gate__start();
	p = pool_new();
	allocates(p);
	counts(p);
	resizes(p);
	gets(p);
	nodes(p);
	thins();
	gate__end();
	return 0;
}

#endif
