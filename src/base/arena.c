/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory given back all at once. Blocks are chained; a request too large for a block gets one of
 * its own behind the current one, so that the current block's rest isn't wasted.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN	 16
#define ARENA_BLOCK_SIZE (64 * 1024 - 64) /* with malloc's header still below 64 KiB */

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(ARENA_ALIGN) u8 data[];
};

static struct arena_block *block__new(size_t size)
{
	struct arena_block *b = calloc(1, sizeof(*b) + size);

	if (b)
		b->size = size;
	return b;
}

void *arena__alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	void *mem;

	if (size > PTRDIFF_MAX - sizeof(*b) - ARENA_ALIGN)
		return NULL;
	size = size ? (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : ARENA_ALIGN;
	if (!b || b->size - b->used < size) {
		b = block__new(MAX(size, ARENA_BLOCK_SIZE));
		if (!b)
			return NULL;
		if (a->blocks && size > ARENA_BLOCK_SIZE / 4) {
			b->next = a->blocks->next;
			a->blocks->next = b;
		} else {
			b->next = a->blocks;
			a->blocks = b;
		}
	}
	mem = b->data + b->used;
	b->used += size;
	a->used += size;
	return mem;
}

char *arena__strndup(struct arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = arena__alloc(a, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}

char *arena__strdup(struct arena *a, const char *s)
{
	return arena__strndup(a, s, strlen(s));
}

/* FNV-1a, then folded: the low bits alone choose the slot. */
static size_t hash_text(const char *s)
{
	u64 h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (u8)*s) * 0x100000001b3ull;
	return h ^ (h >> 32);
}

static size_t find_text(const char *const *strs, size_t cap, const char *s)
{
	size_t i = hash_text(s) & (cap - 1);

	while (strs[i] && strcmp(strs[i], s))
		i = (i + 1) & (cap - 1);
	return i;
}

/* Takes its memory from malloc: the table is outgrown again and again, an arena keeps everything.
 */
static bool grow_table(struct arena *a)
{
	size_t cap = a->str_cap ? a->str_cap * 2 : 64;
	const char **strs = calloc(cap, sizeof(*strs));

	if (!strs)
		return false;
	for (size_t i = 0; i < a->str_cap; i++)
		if (a->strs[i])
			strs[find_text(strs, cap, a->strs[i])] = a->strs[i];
	free(a->strs);
	a->strs = strs;
	a->str_cap = cap;
	return true;
}

const char *arena__intern(struct arena *a, const char *s)
{
	size_t i;

	if (!s)
		return NULL;
	if (a->str_cnt >= a->str_cap / 4 * 3 && !grow_table(a))
		return NULL;
	i = find_text(a->strs, a->str_cap, s);
	if (a->strs[i])
		return a->strs[i];
	a->strs[i] = arena__strdup(a, s);
	if (a->strs[i])
		a->str_cnt++;
	return a->strs[i];
}

void arena__free(struct arena *a)
{
	struct arena_block *next;

	for (struct arena_block *b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(a->strs);
	*a = (struct arena){ 0 };
}
