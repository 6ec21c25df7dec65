/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the text report share: the header and losses (text.c), the table (table.c),
 * stacks (stack.c) and how numbers and names look (look.c). */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

#include "base/str.h"
#include "profile/profile.h"

#define TEXT_NAME_MAX	     200 /* characters of a name shown; hostile ones have megabytes */
#define TEXT_FEW_SAMPLES     10	 /* below so many hits a normal interval means nothing */
#define TEXT_ROWS_BY_DEFAULT 20
#define TEXT_PAD_MAX	     60 /* a few very long names must not push other columns out of sight */

/* A name fit for a terminal: valid UTF-8, no control characters, cut at TEXT_NAME_MAX. */
void look__name(struct str *s, const char *name);

/* The last part of a path, likewise. */
void look__basename(struct str *s, const char *path);

/* Columns that text takes on a terminal (wide characters count one). */
size_t look__width(const struct str *s);

/* Two blanks and the cell, filled with blanks to the width at its right (left: names) or left side.
 */
void look__padded(struct str *line, const struct str *cell, size_t width, bool left);

void look__bytes(struct str *s, u64 bytes); /* "1.5 MiB" */

/* "45.2 %"; "-" of nothing. */
void look__share(struct str *s, u64 part, u64 whole);

/* Half the 95 % interval of an estimate: "± 12.3 MiB", or "few samples". */
void look__interval(struct str *s, double se, u64 sampled_cnt, bool bytes);

/* The sums of the rows from `from` on, as one row without a stack (and without variances). */
void sum_rows(const struct allocsnoop_profile *p, size_t from, struct allocsnoop_sample *sum);

/* Writes a line without trailing blanks and empties it. 0 or -errno. */
int text__line(struct str *line, FILE *out);

/* The frames of a row, leaf first, and how its stack ended. 0 or -errno. */
int stack__write(const struct allocsnoop_sample *s, FILE *out);

/* The rows that opts->top lets through, and a line about those that it doesn't. 0 or -errno. */
int table__write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		 FILE *out);

#endif
