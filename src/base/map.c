/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map with linear probing. Deleting moves the entries behind the hole back, so there are no
 * tombstones and a map that sees many short-lived keys doesn't get slow.
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAP_MIN_CAP 16

u64 map__mix(u64 a, u64 b)
{
	/* One 64x64 -> 128 multiplication folded onto itself, then murmur3's 64-bit finalizer. */
	unsigned __int128 m =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xd6e8feb86659fd93ull);
	u64 h = (u64)m ^ (u64)(m >> 64) ^ (a + 0x2545f4914f6cdd1dull * b);

	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	h ^= h >> 33;
	return h;
}

static size_t slot_of(const struct map *m, u64 key)
{
	return map__mix(key, 0) & (m->cap - 1);
}

/* The slot that holds key, or the free slot where it would go. The map is never full. */
static size_t find_slot(const struct map *m, u64 key)
{
	size_t i = slot_of(m, key);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static int grow(struct map *m)
{
	struct map bigger = { .cnt = m->cnt, .cap = m->cap ? m->cap * 2 : MAP_MIN_CAP };

	if (bigger.cap < m->cap)
		return -ENOMEM;
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			bigger.slots[find_slot(&bigger, m->slots[i].key)] = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int map__put(struct map *m, u64 key, u64 val)
{
	size_t i;
	int err;

	if (m->cap) {
		i = find_slot(m, key);
		if (m->slots[i].used) {
			m->slots[i].val = val;
			return 0;
		}
	}
	if (m->cnt >= m->cap / 4 * 3) {
		err = grow(m);
		if (err)
			return err;
	}
	i = find_slot(m, key);
	m->slots[i] = (struct map_slot){ .key = key, .val = val, .used = true };
	m->cnt++;
	return 0;
}

bool map__get(const struct map *m, u64 key, u64 *val)
{
	size_t i;

	if (!m->cnt)
		return false;
	i = find_slot(m, key);
	if (!m->slots[i].used)
		return false;
	*val = m->slots[i].val;
	return true;
}

bool map__del(struct map *m, u64 key)
{
	size_t mask = m->cap - 1;
	size_t hole, i;

	if (!m->cnt)
		return false;
	hole = find_slot(m, key);
	if (!m->slots[hole].used)
		return false;
	for (i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		size_t home = slot_of(m, m->slots[i].key);

		/* An entry may move back only if the hole isn't before its home slot. */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].used = false;
	m->cnt--;
	return true;
}

void map__clear(struct map *m)
{
	if (m->cap)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->cnt = 0;
}

void map__free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

bool map__next(const struct map *m, size_t *i, u64 *key, u64 *val)
{
	for (; *i < m->cap; (*i)++) {
		const struct map_slot *slot = &m->slots[*i];

		if (!slot->used)
			continue;
		*key = slot->key;
		*val = slot->val;
		(*i)++;
		return true;
	}
	return false;
}
