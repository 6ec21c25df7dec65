/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `top` knows: one profile after the other becomes rows by process, by stack of a process and
 * by stack of a name, each with its numbers now and before, so that there are rates. Rows are known
 * by a key that stays theirs from profile to profile. As in reports, stacks whose frames have equal
 * names are one row.
 *
 * Numbers of a row may fall, when estimates are revised or a stack is given up and comes again:
 * such a row has no rate below 0. What ended long ago, and stacks that were given up, are sums that
 * others are moved into: they have no rate at all.
 */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include <allocsnoop.h>

#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"

#define TOP_TREND 60 /* rates that are remembered */

struct top_numbers {
	u64 count, bytes; /* allocated */
	u64 hits;	  /* behind them */
	double count_var, bytes_var;
	u64 live_count, live_bytes;
	double live_bytes_var; /* of stacks only */
};

/* Of them what rates need. There are a hundred thousand rows at times: none is larger than must be.
 */
struct top_base {
	u64 count, bytes, hits;
	float count_var, bytes_var;
};

struct top_row {
	u64 key;
	u64 process; /* of a stack: key of its process's row; 0 where it's of all of one name */
	u32 seen;    /* the newest update that had it */
	u32 ended;   /* updates since its process has ended; 0: it runs */
	bool moves;  /* a sum that others are moved into: no rate */
	bool at_least;
	struct top_numbers now;
	struct top_base base[2];	/* before: see struct top_model */
	double byte_rate, byte_rate_se; /* a second */
	double count_rate, count_rate_se;
	u64 rate_hits;	      /* behind the rates */
	u16 trend[TOP_TREND]; /* byte_rate of update i at i % TOP_TREND, packed */
	u32 filter_at;	      /* the filter that it was last compared with, and what came of it */
	bool filter_hit;

	/* Of the newest profile, which owns them. */
	u32 pid; /* 0: several */
	const char *comm;
	const struct allocsnoop_process *info;	/* one of them; of processes */
	const struct allocsnoop_sample *sample; /* one of them; of stacks */
};

struct top_table {
	VEC(struct top_row *) rows;
	struct map at; /* key -> row */
};

struct top_model {
	struct allocsnoop_profile *profile; /* the newest; NULL: none yet */
	struct top_table processes;
	struct top_table stacks; /* of each process */
	struct top_table names;	 /* stacks of all processes of a name */
	struct map named;	 /* stack id -> hash of its frames' names */
	struct top_row all;	 /* the profile's sums */
	u64 secret[2];		 /* of keys: names are chosen by others */
	u32 update;		 /* the newest; the first is 1 */
	bool windows;		 /* estimates from windows: a rate of one interval says little */
	bool containers;	 /* some process is in one */
	/* When the numbers in base[] were taken, since the start. Rates are since base[0]; base[1]
	 * takes its place when it is old enough. */
	u64 now_ns, base_ns[2];
};

void top_model__init(struct top_model *m);
void top_model__fini(struct top_model *m);

/* Takes the profile, whatever it returns. 0, or -ENOMEM: there are no rows then. */
int top_model__update(struct top_model *m, struct allocsnoop_profile *profile);

/* NULL: there is none any more. */
const struct top_row *top_table__find(const struct top_table *t, u64 key);

/* Of the rate at position 0 (the oldest) to TOP_TREND - 1 (now). */
double top_row__trend(const struct top_model *m, const struct top_row *r, u32 i);

/* The time that rates are means over. */
u64 top_model__rate_ns(const struct top_model *m);

#endif
