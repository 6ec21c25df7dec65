/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the SVG flame graph share: boxes (svg.c), and what stands around them: style,
 * script and caption (svg_page.c). */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/str.h"
#include "profile/tree.h"

#define SVG_WIDTH	1200 /* pixels, as the next ones */
#define SVG_MARGIN	10
#define SVG_BOX_HEIGHT	17
#define SVG_LINE_HEIGHT 17
#define SVG_CHAR_WIDTH	725 /* hundredths of a pixel; the script knows it, too */
#define SVG_COLOURS	12  /* of modules; classes c0... */
#define SVG_SHADES	3   /* of a module's functions; classes v0... */
#define SVG_CHANGES	4   /* steps of more and of less; classes m1..., l1... */

struct svg {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	struct tree tree;
	u64 *next;	  /* for each depth: where the next box begins, in units of weight */
	u64 min_width;	  /* of boxes that are drawn, in hundredths of a pixel */
	size_t drawn_cnt; /* boxes */
	u32 drawn_depth;
	u64 hidden;	 /* weight of what is too narrow */
	u32 top;	 /* of the first box, pixels */
	struct str buf;	 /* what is being written */
	struct str text; /* before it is escaped */
};

/* What a box's width stands for: the value; in a difference that of both profiles together, so that
 * what is gone has a box, too. */
u64 svg__weight(const struct svg *s, const struct tree_node *n);

/* Takes s->text into s->buf as text of an element. */
void svg__add_text(struct svg *s);

/* Cuts valid UTF-8 to what fits into so many columns. */
void svg__fit(struct str *text, u32 columns);

/* "1.5 MiB (1572864)" or "12", into s->text. */
void svg__say_value(struct svg *s, u64 value);

/* All before the boxes, and all behind. The first one learns s->top. */
void svg__add_head(struct svg *s);
void svg__add_tail(struct svg *s);

#endif
