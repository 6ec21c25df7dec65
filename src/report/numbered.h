/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks as lists of numbers, for formats that tell a frame once and then call it by its number.
 * The one idea: the lists are sorted, so equal stacks are neighbours, and so are those that begin
 * alike. Trees need no other memory than that.
 */
#ifndef REPORT_NUMBERED_H
#define REPORT_NUMBERED_H

#include "base/map.h"
#include "base/str.h"
#include "profile/profile.h"

/* One frame: equal ones have one number. */
struct numbered_frame {
	const struct allocsnoop_frame *frame; /* NULL: a mark, such as [truncated] */
	const char *text; /* "0x97360: malloc (in /usr/lib/libc.so.6)", as valgrind says it; valid
			   * UTF-8 without control characters */
};

struct numbered_stack {
	size_t first; /* of its numbers in `ids` */
	u32 cnt;      /* at least 1 */
	size_t row;   /* of the profile */
};

struct numbered {
	struct arena arena;
	struct str buf;
	struct map by_frame;		   /* address of a frame -> number */
	struct map by_text;		   /* address of an interned text -> number */
	VEC(struct numbered_frame) frames; /* by number */
	VEC(u32) ids;
	VEC(struct numbered_stack) stacks;
};

enum {
	NUMBERED_ROOT_FIRST = 1, /* else the leaf is first */
	NUMBERED_CALLERS =
		2, /* without the allocator's frame and operator new's, if there are others */
	NUMBERED_PROCESSES = 4, /* the process is the outermost frame, where there are several */
	NUMBERED_THREADS = 8,	/* then the thread */
};

/*
 * Numbers the stacks of all rows of the profile that say anything, and sorts them; rows with
 * the same stack in their order. Whatever it returns, numbered__fini() must follow. 0 or -ENOMEM,
 * in words.
 */
int numbered__init(struct numbered *n, const struct allocsnoop_profile *p, unsigned flags);
void numbered__fini(struct numbered *n);

const u32 *numbered__ids(const struct numbered *n, const struct numbered_stack *s);
bool numbered__equal(const struct numbered *n, const struct numbered_stack *a,
		     const struct numbered_stack *b);

#endif
