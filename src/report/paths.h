/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of a profile as lists of numbers, root first, for formats that know what is in a stack by
 * a list of names: their process and how their walk ended are items of it. Rows whose lists are
 * equal are one path.
 */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include "base/map.h"
#include "base/str.h"
#include "profile/profile.h"

struct path {
	size_t first; /* of its items in paths.items, root first */
	u32 cnt;
	u32 next; /* path + 1 with the same hash, 0 for none */
};

struct paths {
	/* Set by the caller. */
	enum allocsnoop_by by;
	size_t value_cnt; /* numbers of a path */
	/* The number of what the format shows of a frame: equal ones for equal looks. Made-up ones
	 * have a function and the module "". Asked once for each frame and place. 0 or -ENOMEM. */
	int (*item_of)(void *arg, const struct allocsnoop_frame *f, bool leaf, u32 *item);
	void *arg;

	VEC(u32) items;
	VEC(struct path) paths;
	VEC(u64) values;    /* value_cnt for each path */
	struct map by_hash; /* hash of a path's items -> path + 1 that came last with it */
	struct map known;   /* frame, + 1 as a leaf -> item */
	struct str label;
};

/* Adds a row with these numbers, unless all are 0; they saturate. 0 or -ENOMEM. */
int paths__add(struct paths *p, const struct allocsnoop_sample *row, const u64 *values);
void paths__fini(struct paths *p);

#endif
