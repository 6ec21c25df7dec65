/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile's stacks as a tree of calls: equal beginnings are one node. */
#ifndef PROFILE_TREE_H
#define PROFILE_TREE_H

#include "profile/profile.h"

enum tree_kind {
	TREE_FRAME,   /* a function */
	TREE_PROCESS, /* a process's name, "nginx" or "nginx (pid 12)" */
	TREE_END,     /* where a stack misses its beginning: "[truncated]" */
};

struct tree_node {
	const struct allocsnoop_frame *frame; /* what is shown: the profile's, or a made-up one that
						 has a function only; NULL: the root */
	struct tree_node *parent;	      /* NULL: the root */
	struct tree_node *child; /* the first one, NULL: none; the rest are its `next` */
	struct tree_node *next;	 /* sibling: by weight, descending, then by name */
	u64 self;		 /* sums of the rows that end here, of the value */
	u64 total;		 /* and of all below, saturating */
	u64 base;		 /* of a difference: total in the profile before */
	u64 moved;		 /* of a difference: what rows have grown and shrunk by, together */
	u64 blocks;		 /* allocations, or blocks of the value's kind, in total */
	double var;		 /* of total; 0 when exact, or when the value has none */
	u64 hits;		 /* behind the estimate of total */
	u32 child_cnt;
	u32 depth;	/* the root has 0 */
	u32 repeat_len; /* with fold: so many nodes, up to this one, follow themselves in some
			   rows, and are told once; else 0 */
	enum tree_kind kind;
	bool at_least; /* total is a lower bound */
};

struct tree_opts {
	enum allocsnoop_value value;
	bool bottom_up; /* the allocator's function first, its callers below; else root first */
	bool processes; /* stacks begin with their process: its name; with BY_PROCESS also its id,
			   with BY_THREAD also its thread */
	enum allocsnoop_by by;
	bool fold; /* recursion is told once: frames, or up to 12 that take turns, that follow
		      themselves */
};

struct tree {
	struct tree_node *root;
	size_t node_cnt; /* with the root */
	u32 depth;	 /* of the deepest node */
	struct arena arena;
};

/*
 * Frames of one function, module, file and line, inlined or not, are one where the frames before
 * them are. Rows without a value (of a difference: in neither profile) and without blocks are left
 * out; one without frames has its allocator for one. Time and memory are linear in the frames of
 * all rows. The tree borrows p's frames. 0 or -ENOMEM; tree__fini() in both cases.
 */
int tree__init(struct tree *t, const struct allocsnoop_profile *p, const struct tree_opts *opts);
void tree__fini(struct tree *t);

/* How much a node matters: its total; of a difference what has moved. Never less than a child's. */
u64 tree__weight(const struct allocsnoop_profile *p, const struct tree_node *node);

/* The one after `node` when nodes come before their children; NULL after the last. `below`: with
 * its children, if it has any. No recursion: stacks have a thousand frames. */
const struct tree_node *tree__next(const struct tree_node *node, bool below);

#endif
