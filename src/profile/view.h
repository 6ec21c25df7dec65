/* SPDX-License-Identifier: BSD-2-Clause */
/* What a view (view.c) and the sums made with it (group.c) know of each other. */
#ifndef PROFILE_VIEW_H
#define PROFILE_VIEW_H

#include "base/map.h"
#include "profile/group.h"

/* What makes two rows one. Strings belong to the profile that is grouped; never NULL. */
struct group_key {
	const char *comm;
	const char *allocator;
	const char *function;
	const char *module;
	u64 stack; /* of its names; not the id, which tells two calls in one function apart */
	u64 size_low;
	u64 size_high;
	const char *thread;
	const char *type;
	u32 pid;
	u32 tid;
	bool collected;
	u32 end;     /* only when the view asks for a caller and there is none */
	size_t next; /* row + 1 with the same hash, 0 for none; not part of the key */
};

/* A list of frames that rows share, as stacks of one recording do; looked at once. */
struct known_list {
	const struct allocsnoop_frame *const *frames;
	size_t frame_cnt;
	const struct allocsnoop_frame **copy; /* NULL until a row needs it */
	u64 names;			      /* hash of all that is shown of it */
};

/* A frame, looked at once. */
struct known_frame {
	const struct allocsnoop_frame *copy;
	u64 hash; /* of what tells it apart */
};

struct group {
	struct allocsnoop_profile *to;
	const struct view *view;
	struct arena scratch;	    /* known lists and frames */
	struct map lists;	    /* list of frames -> struct known_list * */
	VEC(struct group_key) keys; /* of the rows of `to` */
	struct map rows;	    /* hash of a key -> row + 1 that came last with it */
	struct map pids;	    /* row and process -> how many it was counted as in the row */
	struct map frames;	    /* frame -> struct known_frame * */
	struct map copies;	    /* hash of a copied frame -> the frame */
};

/* How a view makes its key and the frames that stay. */
struct view {
	int (*key)(struct group *g, const struct allocsnoop_sample *s, struct group_key *key);
	int (*frames)(struct group *g, const struct allocsnoop_sample *s,
		      struct allocsnoop_sample *row);
	bool keep_end; /* the stack stays, so the way it ended does */
	bool places;   /* addresses and builds tell frames apart, too */
};

/* What modules are told apart by; NULL: out of memory. Programs of a difference may have been
 * rebuilt elsewhere. */
const char *group__module(struct group *g, const char *module);

/* The row's frames, copied; NULL: out of memory. */
const struct allocsnoop_frame **group__frames(struct group *g, const struct allocsnoop_sample *s);

/* A hash of all that is shown of the row's stack. 0 or -ENOMEM. */
int group__stack(struct group *g, const struct allocsnoop_sample *s, u64 *hash);

#endif
