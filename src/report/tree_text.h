/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the text report's tree share: which nodes are shown, in which order (tree.c),
 * and what their lines look like (tree_line.c). */
#ifndef REPORT_TREE_TEXT_H
#define REPORT_TREE_TEXT_H

#include "profile/tree.h"
#include "report/layout.h"
#include "report/text.h"

/* A node that is open: what is still to come of what is below it. */
struct level {
	const struct tree_node *next; /* child */
	u32 children;		      /* to be shown */
	struct tree_node itself;      /* what the node with children has without them */
	bool own;		      /* something */
	struct tree_node rest;	      /* sum of children that aren't shown */
	u32 rest_cnt;
	u32 left; /* lines to come, of all of them */
};

struct tree_text {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	struct tree tree;
	VEC(struct level) levels;
	u64 least;	/* nodes of at least this weight are shown */
	size_t ties;	/* how many of those that have just that */
	bool measuring; /* widths are made, nothing is printed */
	struct layout layout;
	struct str cell;
	struct str aside;
	struct str line;
};

/* How a line hangs on those above. */
enum hang {
	HANG_BRANCH, /* begins a branch of the level that is open last */
	HANG_TRUNK,  /* goes on with it */
	HANG_TWIG,   /* is all there is of a branch of the trunk */
};

/* Before anything is printed: the widths of the numbers are learned with t->measuring. */
void tree_line__layout(struct tree_text *t);

/* The headings. All: 0 or -errno. */
int tree_line__heads(struct tree_text *t);

/* A node; numbers: they aren't those of the line above. */
int tree_line__node(struct tree_text *t, const struct tree_node *n, enum hang hang, bool numbers);

/* Numbers, and words in the place of a name. */
int tree_line__words(struct tree_text *t, const struct tree_node *numbers, const char *words,
		     enum hang hang);

/* tree__weight() in the profile at hand. */
static inline u64 weight(const struct tree_text *t, const struct tree_node *n)
{
	return tree__weight(t->p, n);
}

#endif
