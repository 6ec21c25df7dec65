/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tables of the text report share: their columns (column.c), their lines (table.c) and
 * which of them mode live has (live.c). */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/layout.h"
#include "report/text.h"

enum part {
	PART_ROWS,  /* the main table: all rows, by the value that was asked for */
	PART_GROWN, /* the rest are sections: the first rows by another value */
	PART_OLD,
	PART_PEAK,
	PART_EXIT,
};

struct section {
	enum part part;
	const char *title;
	sample_value_fn value; /* what its rows are sorted by, and shares are of */
	const void *arg;
};

struct table {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	const struct section *section;
	const struct allocsnoop_sample **rows; /* NULL: all of the profile, in its order */
	size_t cnt;			       /* rows */
	size_t shown;			       /* of them */
	u64 total;			       /* of the section's value */
	struct layout layout;
	struct str cell;
	struct str line;
};

struct column {
	const char *head;
	void (*cell)(const struct table *t, const struct allocsnoop_sample *s, struct str *cell);
	u32 wanted; /* WANTED_*, or'ed: all of them must hold */
	u32 parts;  /* 1 << enum part, or'ed; 0: any */
	u32 values; /* 1 << enum allocsnoop_value, or'ed; 0: any */
	u32 by;	    /* 1 << enum allocsnoop_by, or'ed; 0: any */
	bool left;  /* names; numbers stand right */
	enum paint paint;
	bool main; /* as of a layout's column */
	u8 spare;
	u32 shows; /* 1 << enum allocsnoop_value: never spare where rows are sorted by it */
};

#define WANTED_EXACT	 1u  /* every allocation was counted */
#define WANTED_SAMPLED	 2u  /* it wasn't */
#define WANTED_LIVE	 4u  /* frees were followed */
#define WANTED_ALLOC	 8u  /* they weren't */
#define WANTED_CONTAINER 16u /* some process is in one */
#define WANTED_TERMINAL	 32u /* the report goes to one */

extern const struct column columns[];
extern const size_t column_cnt;
bool column__wanted(const struct table *t, const struct column *c);

/* Rows whose value is above 0; writes nothing where there are none. 0 or -errno. */
int table__write_section(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, const struct section *section,
			 FILE *out);

#endif
