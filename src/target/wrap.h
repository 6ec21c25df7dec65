/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * C++ operators that are only a wrapper: libstdc++'s `operator new` calls malloc of another file,
 * where the allocation is seen anyway. A probe on it would cost a trap and tell nothing.
 */
#ifndef TARGET_WRAP_H
#define TARGET_WRAP_H

#include "base/types.h"
#include "target/walk.h"

/*
 * The allocator function of another file in which the function at [off, off + size) ends: itself,
 * through other operators, or through a helper or two. NULL when there is none.
 */
const struct catalog_row *wrap__import(struct walk *w, const walk_names *names,
				       const struct catalog_row *row, u64 off, u64 size);

#endif
