/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is given back all at once: long-lived strings and frames. A zeroed struct is empty.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/types.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out */
	/* interned strings: open addressing, see arena__intern() */
	const char **strs;
	size_t str_cnt;
	size_t str_cap;
};

/* Zeroed memory, aligned to 16 bytes; NULL when out of memory. */
void *arena__alloc(struct arena *a, size_t size);

/* A copy of s (of its first n bytes); NULL when out of memory. */
char *arena__strdup(struct arena *a, const char *s);
char *arena__strndup(struct arena *a, const char *s, size_t n);

/* The one copy of equal strings: pointers can be compared. NULL when out of memory or s is NULL. */
const char *arena__intern(struct arena *a, const char *s);

void arena__free(struct arena *a);

#endif
