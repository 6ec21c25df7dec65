/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the page share: the writer (html.c), the call trees and what is left out of
 * them (html_tree.c, html_way.c), strings and frames, each once (html_names.c), sums of functions
 * (html_function.c) and the parts that aren't stacks (html_facts.c). The page's own code is in
 * html/.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/map.h"
#include "report/json.h"
#include "report/writer.h"

/* The numbers that the page can show: those of enum allocsnoop_value, then those before a
 * difference. */
#define HTML_VALUES 7
#define HTML_KINDS  11
#define HTML_VARS   4 /* the first of them have standard errors */

struct html_kind {
	const char *name;
	u64 (*value)(const struct allocsnoop_sample *s);
	double (*var)(const struct allocsnoop_sample *s); /* NULL: none */
};
extern const struct html_kind html_kinds[HTML_KINDS];

/* ---- names ---- */

#define HTML_NAME_MAX 1024 /* bytes of a name that are kept; hostile ones have megabytes */

enum html_flags {
	HTML_INLINED = 1,
	HTML_PROCESS = 2, /* not a function: the process at the root of its stacks */
	HTML_NOTE = 4,	  /* nor this: how a stack ended, a size class */
};

struct html_string {
	const char *text;
	u32 out; /* its number in the page; 0: not used ("" is 0, too) */
};

struct html_frame {
	u32 function, module, file; /* strings; file 0: unknown */
	u32 line;
	u32 flags;
	u32 out;     /* number in the page + 1; 0: not used */
	size_t next; /* frame + 1 with the same hash, 0 for none */
};

/* Strings and frames by number; those that are used have another one in the page. */
struct html_names {
	struct arena arena;
	VEC(struct html_string) strings; /* the first is "" */
	VEC(struct html_frame) frames;
	VEC(u32) used_strings, used_frames;
	struct map string_ids; /* interned string -> number */
	struct map frame_ids;  /* hash -> frame + 1 that came last with it */
	struct map known;      /* struct allocsnoop_frame * -> number */
	size_t cost;	       /* bytes that what is used takes in the page, about */
};

int html_names__init(struct html_names *n);
void html_names__fini(struct html_names *n);

/* The number of a string, of a frame, of a label that stands in its place. 0 or -ENOMEM. */
int html_names__string(struct html_names *n, const char *s, u32 *id);
int html_names__frame(struct html_names *n, const struct allocsnoop_frame *f, u32 *id);
int html_names__label(struct html_names *n, const char *text, u32 flags, u32 *id);

/* What it would add to the page: 0 when it's there. */
size_t html_names__frame_cost(const struct html_names *n, u32 id);

/* Puts it into the page. 0 or -ENOMEM. */
int html_names__use_string(struct html_names *n, u32 id);
int html_names__use_frame(struct html_names *n, u32 id);

/* ---- the trees ---- */

struct html_node {
	u32 parent, frame;
	u32 depth;
	u32 child, sibling; /* first, next; 0 none: node 0 is the root */
	u32 row, other;	    /* row + 1 of stacks that end here; of those whose ways are left out */
};

struct html_row {
	u32 node;
	u32 self; /* steps up to the node of the function that called the allocator, + 1; 0: unknown
		   */
	u64 stacks; /* whose ways are left out and that are summed here; 0: all of the way is there
		     */
	u64 values[HTML_KINDS];
	double vars[HTML_VARS];
	u64 size_low, size_high;
	u64 sampled_cnt;
	bool at_least;
};

struct html_limits {
	size_t cost;   /* bytes of nodes, rows and names */
	size_t nodes;  /* what a browser lays out without a pause */
	size_t others; /* rows of what is left out */
};

/* A stack as the frames of its way from the tree's root. */
struct html_way {
	const struct allocsnoop_sample *s;
	size_t first; /* of html_tree.steps */
	u32 cnt;
	u32 self; /* as in the row */
};

/* A node that may be added: the ways [first, first + cnt) go through it. */
struct html_branch {
	double share; /* largest part of any total */
	size_t first, cnt;
	u32 parent;
};

struct html_tree {
	const struct allocsnoop_profile *p; /* grouped: one row a stack */
	enum allocsnoop_by by;
	bool up; /* from the callers of the allocator to the processes, not the other way round */
	struct html_names *names;
	struct html_limits limits;
	const u64 *totals;
	VEC(struct html_node) nodes;
	VEC(struct html_row) rows;
	VEC(u32) steps;		   /* this one and the next ones are gone when it's built */
	VEC(struct html_way) ways; /* in the order of their steps */
	VEC(struct html_branch) heap;
	struct str label;
	size_t cost_before; /* of names, when it began */
	size_t other_cnt;
	size_t stack_cnt;
	size_t pruned; /* stacks whose ways are left out, partly */
	double below;  /* ... there, where less than this part of any total went */
};

/* 0 or -ENOMEM. */
int html_tree__build(struct html_tree *t);
void html_tree__fini(struct html_tree *t);

/* Largest part that a row has of any total. */
double html__share(const u64 *values, const u64 *totals);

/* ---- functions ---- */

struct html_function {
	const char *function, *module;
	u64 self[HTML_KINDS];  /* where it called the allocator itself */
	u64 total[HTML_KINDS]; /* and where functions did that it called */
	size_t stack;	       /* + 1: the last one it was seen in */
	size_t next;	       /* function + 1 with the same hash, 0 for none */
};

struct html_functions {
	VEC(struct html_function) all; /* html_functions__sum(): the largest first */
	struct map by_hash;
	struct map known; /* struct allocsnoop_frame * -> function */
};

/* Sums over all stacks, pruned ones too. 0 or -ENOMEM. */
int html_functions__sum(struct html_functions *f, const struct allocsnoop_profile *p,
			const u64 *totals);
void html_functions__fini(struct html_functions *f);

/* ---- the parts of the page's data ---- */

struct html {
	struct json j;
	struct html_names names;
	const struct allocsnoop_profile *stacks; /* grouped */
	struct html_tree trees[2];		 /* from the root down, from the callers up */
	u64 totals[HTML_KINDS];
	struct html_functions functions;
	bool shown[HTML_KINDS]; /* kinds that there are numbers of */
};

/* Escapes what has been made for a place inside <script>, writes it out. 0 or -errno. */
int html__flush(struct html *h);
/* "key":[ with a comma before it unless it's the object's first. */
void html__array(struct html *h, const char *key);
void html__number(struct html *h, const char *before, u64 val);

int html__add_facts(struct html *h, const struct allocsnoop_profile *p,
		    const struct allocsnoop_report_opts *opts);
int html__add_trees(struct html *h);
int html__add_functions(struct html *h);

#endif
