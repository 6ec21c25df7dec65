/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map from u64 to u64 (or to a pointer cast to uintptr_t): open addressing, grows by itself.
 * A zeroed struct is an empty map.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/types.h"

struct map_slot {
	u64 key;
	u64 val;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t cnt; /* entries */
	size_t cap; /* slots, a power of two; 0 when empty */
};

/* Inserts or replaces; 0 or -ENOMEM. */
int map__put(struct map *m, u64 key, u64 val);

/* True and *val set when present. */
bool map__get(const struct map *m, u64 key, u64 *val);

/* True when the key was there. */
bool map__del(struct map *m, u64 key);

/* Empties it; the room stays, so as many entries as there were can be put again without a failure.
 */
void map__clear(struct map *m);

void map__free(struct map *m);

/* Iterates: for (size_t i = 0; map__next(m, &i, &key, &val);) */
bool map__next(const struct map *m, size_t *i, u64 *key, u64 *val);

/* A good 64-bit mix of two words, for building keys. */
u64 map__mix(u64 a, u64 b);

#endif
