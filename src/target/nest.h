/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What allocator functions do to each other. One call of the program is one allocation, so a probe
 * hit inside another one must be recognized: by its return address, when that lies in text that is
 * the allocator itself (ranges), or by a known jump from one function to the other (jumps).
 */
#ifndef TARGET_NEST_H
#define TARGET_NEST_H

#include "base/types.h"
#include "target/walk.h"

struct site_file;
struct calls;
struct text;

/* Fills f->jumps; f->sites must be final. 0 or -ENOMEM. */
int nest__jumps(struct site_file *f, struct walk *w, const walk_names *names);

/* Fills f->ranges. 0 or -ENOMEM. */
int nest__ranges(struct site_file *f, struct walk *w, const struct calls *c);

/* True when the function at `off` can only be entered from functions that start at one of the
 * other offsets (sorted): then a probe there sees nothing that those don't. */
bool nest__only_from(const struct text *t, const struct calls *c, u64 off, const u64 *offs,
		     size_t off_cnt);

#endif
