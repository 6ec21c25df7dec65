/* SPDX-License-Identifier: BSD-2-Clause */
/* The widths of a table's columns: as wide as their cells, and on a terminal as wide as it. */
#ifndef REPORT_LAYOUT_H
#define REPORT_LAYOUT_H

#include "report/paint.h"

#define LAYOUT_MAX 48 /* columns that a table may have */

struct layout_column {
	size_t width;
	bool shown;
	bool left; /* names; numbers stand right, and are never cut */
	bool main; /* what rows are about: names beside it are cut first */
	u8 spare;  /* 0: always shown; else left out on narrow terminals, the greatest first */
};

struct layout {
	const struct allocsnoop_report_opts *opts;
	struct layout_column columns[LAYOUT_MAX];
	size_t cnt;
	size_t indent; /* columns of the terminal that stand before them */
};

/* One of the cells of a column that is shown. */
void layout__widen(struct layout *l, size_t column, const struct str *cell);

/* When all cells are known. */
void layout__fit(struct layout *l);

/* Two blanks and the cell (cut where the terminal asks for it), filled with blanks. */
void layout__add(const struct layout *l, size_t column, struct str *cell, enum paint paint,
		 struct str *line);

#endif
