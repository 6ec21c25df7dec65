/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the text report share: the header and losses (text.c), what mode live adds
 * (live.c), tables of processes (process.c), tables (table.c) and their columns' widths (layout.c),
 * stacks (stack.c), the tree of calls (tree.c, tree_line.c), how numbers and names look (look.c)
 * and what only terminals get (paint.c). */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

#include "base/str.h"
#include "profile/profile.h"
#include "report/paint.h"

#define TEXT_NAME_MAX		     200 /* characters of a name shown; hostile ones have megabytes */
#define TEXT_FEW_SAMPLES	     10 /* below so many hits a normal interval means nothing */
#define TEXT_ROWS_BY_DEFAULT	     20
#define TEXT_SECTION_ROWS_BY_DEFAULT 5

/* A name fit for a terminal: valid UTF-8, no control characters, cut at TEXT_NAME_MAX. */
void look__name(struct str *s, const char *name);

/* The last part of a path, likewise. */
void look__basename(struct str *s, const char *path);

/* Columns that text takes on a terminal. */
size_t look__width(const struct str *s);

/* "1 block", "2 blocks": one, many. */
void look__count(struct str *s, u64 cnt, const char *one, const char *many);
/* Of a title: ", the first 4 of 11"; nothing where all are shown. */
void look__first(struct str *s, size_t shown, size_t cnt);

void look__bytes(struct str *s, u64 bytes);	   /* "1.5 MiB" */
void look__signed_bytes(struct str *s, s64 bytes); /* "+1.5 MiB" */
void look__ns(struct str *s, double ns);	   /* "12.3 s" */

/* "45.2 %"; "-" of nothing. */
void look__share(struct str *s, u64 part, u64 whole);

/* Half the 95 % interval of an estimate: "± 12.3 MiB", or "few samples". */
struct interval {
	double se;
	u64 sampled_cnt; /* hits behind the estimate */
	bool counted;	 /* each of them was seen: nothing was estimated */
	bool bytes;	 /* with a unit */
	bool ascii;
};
/* Another's profile, that doesn't tell whether it is sampled: see its losses. */
bool look__is_unknown(const struct allocsnoop_info *info, u64 sampled_cnt);
/* Was each block of the row counted? Profiles of others may have bytes and no blocks. */
bool look__is_counted(const struct allocsnoop_sample *s);
void look__interval(struct str *s, const struct interval *i);

/* How many samples the row's live numbers rest on: of those behind the row most may be freed. */
u64 look__live_samples(const struct allocsnoop_sample *s);

/* A line of the header begins with what it is about. */
#define TEXT_LABEL "%-11s "

/* A number of bytes in a number of blocks or calls, with its errors where it is an estimate. */
struct amount {
	const char *label;
	const char *unit, *units; /* "allocation", "allocations" */
	u64 bytes, count;
	double bytes_se, count_se;
	u64 sampled_cnt; /* hits behind it */
	bool counted;	 /* as of an interval */
	bool at_least;	 /* lower bounds */
	bool ascii;
};
void text__add_amount(struct str *s, const struct amount *a, bool exact);

/* What mode live adds to the header, all: the sum of all rows; and after the main table. */
void live__add_header(struct str *s, const struct allocsnoop_profile *p,
		      const struct allocsnoop_sample *all, bool ascii);
int live__write_sections(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, FILE *out);

/* Processes: their heaps beside the memory that they hold, and their peaks. 0 or -errno. */
int process__write_heaps(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, FILE *out);

/* Several processes: who has allocated most. 0 or -errno. */
int process__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		   FILE *out);

/* What was chosen of the profile, and how much of it that is. */
void filter__add_header(struct str *s, const struct allocsnoop_info *info,
			const struct allocsnoop_report_opts *opts);

/* Differences: the header, and the rows by their change. */
void diff__add_header(struct str *s, const struct allocsnoop_profile *p,
		      const struct allocsnoop_report_opts *opts);
int diff__write_rows(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out);

/* Writes a line without trailing blanks and empties it. 0 or -errno. */
int text__line(struct str *line, FILE *out);

/* A line that goes on, indented, where the terminal is narrower; likewise. */
int text__wrapped(struct str *line, const struct allocsnoop_report_opts *opts, size_t indent,
		  FILE *out);

/* A line in one colour, likewise. */
int text__painted(struct str *line, const struct allocsnoop_report_opts *opts, enum paint paint,
		  FILE *out);

/* The frames of a row, leaf first, and how its stack ended. 0 or -errno. */
int stack__write(const struct allocsnoop_sample *s, const struct allocsnoop_report_opts *opts,
		 FILE *out);

/* "libc.so.6", or nothing where the function's name says it ("libc.so.6+0x97360"). */
void stack__add_module(struct str *s, const struct allocsnoop_frame *f);
/* "vec.cc:42", or nothing. */
void stack__add_place(struct str *s, const struct allocsnoop_frame *f);

/* All rows as one tree. 0 or -errno. */
int tree__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		FILE *out);

/* The rows that opts->top lets through, and a line about those that it doesn't. 0 or -errno. */
int table__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		 FILE *out);

/* Says why there is no row. */
void text__write_none(const struct allocsnoop_info *info, FILE *out);

/* What a section is called and sorted by: "allocated bytes". */
const char *text__value_name(enum allocsnoop_value value);

#endif
