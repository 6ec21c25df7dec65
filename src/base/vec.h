/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing array: `VEC(struct row) rows = {};` then `vec__push(&rows, row)` and `rows.v[i]`.
 * vec__push() is 0 or -ENOMEM; element addresses change when the array grows.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#define VEC(type)           \
	struct {            \
		type *v;    \
		size_t cnt; \
		size_t cap; \
	}

/* Makes room for one more element of elem_size bytes; 0 or -ENOMEM. */
int vec__grow(void **v, size_t cnt, size_t *cap, size_t elem_size);

#define vec__push(vec, item)                                                                       \
	({                                                                                         \
		int vec_err__ =                                                                    \
			vec__grow((void **)&(vec)->v, (vec)->cnt, &(vec)->cap, sizeof(*(vec)->v)); \
		if (!vec_err__)                                                                    \
			(vec)->v[(vec)->cnt++] = (item);                                           \
		vec_err__;                                                                         \
	})

#define vec__free(vec)                       \
	do {                                 \
		free((vec)->v);              \
		(vec)->v = NULL;             \
		(vec)->cnt = (vec)->cap = 0; \
	} while (0)

#endif
