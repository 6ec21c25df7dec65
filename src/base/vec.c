/* SPDX-License-Identifier: BSD-2-Clause */
/* The one function behind VEC(): doubles the memory, so that pushing is cheap on average. */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>

int vec__grow(void **v, size_t cnt, size_t *cap, size_t elem_size)
{
	size_t new_cap;
	void *mem;

	if (cnt < *cap)
		return 0;
	new_cap = *cap ? *cap * 2 : 8;
	if (new_cap <= *cap || new_cap > PTRDIFF_MAX / elem_size)
		return -ENOMEM;
	mem = realloc(*v, new_cap * elem_size);
	if (!mem)
		return -ENOMEM;
	*v = mem;
	*cap = new_cap;
	return 0;
}
