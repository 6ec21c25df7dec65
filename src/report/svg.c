/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph that needs nothing: an image that says all it knows in tooltips, can be zoomed and
 * searched where scripts run, and stands in <img> where they don't. Roots are on top, since that is
 * where a reader begins and stacks may be a thousand boxes deep. The one idea: places are computed
 * from sums of whole numbers, so that boxes never overlap and two runs draw the same picture.
 */
#include "report/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/row.h"
#include "report/text.h"
#include "report/writer.h"

#define PLOT_WIDTH  ((u64)(SVG_WIDTH - 2 * SVG_MARGIN) * 100)
#define MIN_WIDTH   30	  /* hundredths of a pixel */
#define BOXES_MAX   20000 /* browsers get slow */
#define TEXT_INDENT 3

u64 svg__weight(const struct svg *s, const struct tree_node *n)
{
	return s->p->info.diff ? sum__add(n->total, n->base) : n->total;
}

/* ---- text ---- */

/* U+FFFE and U+FFFF are valid UTF-8 but not XML: https://www.w3.org/TR/xml/#charsets */
static bool is_nonchar(const char *c)
{
	return (u8)c[0] == 0xef && (u8)c[1] == 0xbf && ((u8)c[2] & 0xfe) == 0xbe;
}

void svg__add_text(struct svg *s)
{
	s->buf.oom |= s->text.oom;
	for (const char *c = s->text.len && !s->text.oom ? s->text.s : ""; *c; c++) {
		if (*c == '&') {
			str__add(&s->buf, "&amp;");
		} else if (*c == '<') {
			str__add(&s->buf, "&lt;");
		} else if (*c == '>') {
			str__add(&s->buf, "&gt;");
		} else if (*c == '"') {
			str__add(&s->buf, "&quot;");
		} else if (is_nonchar(c)) {
			str__add(&s->buf, "\xef\xbf\xbd");
			c += 2;
		} else {
			str__addn(&s->buf, c, 1);
		}
	}
	str__clear(&s->text);
}

void svg__say_value(struct svg *s, u64 value)
{
	if (!value__in_bytes(s->opts->value)) {
		str__addf(&s->text, "%" PRIu64, value);
		return;
	}
	look__bytes(&s->text, value);
	if (value >= 1024)
		str__addf(&s->text, " (%" PRIu64 " bytes)", value);
}

static void say_change(struct svg *s, u64 now, u64 before)
{
	str__add(&s->text, "\nbefore: ");
	svg__say_value(s, before);
	str__add(&s->text, now > before ? ", more: " : now < before ? ", less: " : ", the same");
	if (now != before)
		svg__say_value(s, now > before ? now - before : before - now);
}

static void say_frame(struct svg *s, const struct allocsnoop_frame *f)
{
	look__name(&s->text, *f->function ? f->function : "[unknown]");
	if (f->inlined)
		str__add(&s->text, "\ninlined into its caller");
	if (*f->module) {
		str__add(&s->text, "\n");
		look__name(&s->text, f->module);
	}
	if (f->file) {
		str__add(&s->text, "\n");
		look__name(&s->text, f->file);
		if (f->line)
			str__addf(&s->text, ":%u", f->line);
	}
}

/* What the tooltip says; its first line is the name. */
static void add_title(struct svg *s, const struct tree_node *n)
{
	if (n->frame)
		say_frame(s, n->frame);
	else
		str__add(&s->text, "all");
	str__addf(&s->text, "\n%s: ", value__name(s->opts->value));
	svg__say_value(s, n->total);
	str__add(&s->text, ", ");
	look__share(&s->text, n->total, s->tree.root->total);
	if (n->self && n->self != n->total) {
		str__add(&s->text, ", itself ");
		svg__say_value(s, n->self);
	}
	if (value__in_bytes(s->opts->value))
		str__addf(&s->text, ", in %" PRIu64 " blocks", n->blocks);
	if (s->p->info.diff)
		say_change(s, n->total, n->base);
	str__add(&s->buf, "<title>");
	svg__add_text(s);
	str__add(&s->buf, "</title>");
}

/* Columns that the character at c takes, and its bytes. */
static u32 char_columns(const char *c, size_t *len)
{
	*len = 1;
	while (((u8)c[*len] & 0xc0) == 0x80)
		(*len)++;
	/* From U+1100 on there are scripts of double width; better too much room than too little.
	 */
	return *len > 3 || (*len == 3 && ((u8)c[0] > 0xe1 || (u8)c[1] >= 0x84)) ? 2 : 1;
}

void svg__fit(struct str *text, u32 columns)
{
	size_t at = 0, cut = 0, len;
	u32 used = 0;

	while (text->s[at]) {
		used += char_columns(text->s + at, &len);
		if (used > columns)
			break;
		at += len;
		if (used + 2 <= columns)
			cut = at;
	}
	if (!text->s[at])
		return;
	text->len = cut;
	text->s[cut] = '\0';
	str__add(text, cut ? ".." : "");
}

/* ---- boxes ---- */

static u32 hash_text(const char *text)
{
	u32 h = 2166136261; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (u8)*text) * 16777619;
	return h ^ h >> 16;
}

/* How much more or less, from 1 to SVG_CHANGES; all of it is the most. */
static u32 change_of(u64 now, u64 before)
{
	u64 change = now > before ? now - before : before - now, most = MAX(now, before);
	u32 step = ((unsigned __int128)change * SVG_CHANGES + most - 1) / most;

	return MAX(step, 1);
}

static void add_class(struct svg *s, const struct tree_node *n)
{
	str__add(&s->buf, "<g class=\"");
	if (s->p->info.diff && n->total != n->base)
		str__addf(&s->buf, "%c%u", n->total > n->base ? 'm' : 'l',
			  change_of(n->total, n->base));
	else if (s->p->info.diff || !n->frame || n->kind == TREE_PROCESS)
		str__add(&s->buf, "p");
	else if (n->kind == TREE_END)
		str__add(&s->buf, "e");
	else
		str__addf(&s->buf, "c%u v%u", hash_text(n->frame->module) % SVG_COLOURS,
			  hash_text(n->frame->function) % SVG_SHADES);
	str__add(&s->buf, n->frame && n->frame->inlined ? " i\">" : "\">");
}

static void add_pixels(struct str *s, const char *name, u64 hundredths)
{
	str__addf(s, " %s=\"%" PRIu64 ".%02u\"", name, hundredths / 100, (u32)(hundredths % 100));
}

static void add_label(struct svg *s, const struct tree_node *n, u64 x, u32 y, u64 width)
{
	u64 room = width > 2 * TEXT_INDENT * 100 ? width - 2 * TEXT_INDENT * 100 : 0;

	if (room < 3 * SVG_CHAR_WIDTH)
		return;
	look__name(&s->text, n->frame ? n->frame->function : "all");
	if (!s->text.oom)
		svg__fit(&s->text, room / SVG_CHAR_WIDTH);
	str__add(&s->buf, "<text");
	add_pixels(&s->buf, "x", x + TEXT_INDENT * 100);
	str__addf(&s->buf, " y=\"%u\">", y + SVG_BOX_HEIGHT - 5);
	svg__add_text(s);
	str__add(&s->buf, "</text>");
}

static int flush_buf(struct svg *s)
{
	if (s->buf.oom)
		return -ENOMEM;
	fwrite(s->buf.s, 1, s->buf.len, s->out);
	str__clear(&s->buf);
	/* Tell of a full disk or a closed pipe now, not after the last box. */
	return ferror(s->out) ? writer__done(s->out) : 0;
}

static int write_box(struct svg *s, const struct tree_node *n, u64 x, u64 width)
{
	u32 y = s->top + n->depth * SVG_BOX_HEIGHT;

	add_class(s, n);
	add_title(s, n);
	str__add(&s->buf, "<rect");
	add_pixels(&s->buf, "x", x + SVG_MARGIN * 100);
	str__addf(&s->buf, " y=\"%u\"", y);
	add_pixels(&s->buf, "width", width);
	str__addf(&s->buf, " height=\"%u\"/>", SVG_BOX_HEIGHT - 1);
	add_label(s, n, x + SVG_MARGIN * 100, y, width);
	str__add(&s->buf, "</g>\n");
	return flush_buf(s);
}

/* ---- layout ---- */

/* Where the weight `at` is, in hundredths of a pixel. */
static u64 place_of(const struct svg *s, u64 at)
{
	u64 all = svg__weight(s, s->tree.root);

	return MIN((unsigned __int128)at * PLOT_WIDTH / all, PLOT_WIDTH);
}

/* Visits what is wide enough, parents first; callees lie below their caller from its left side on.
 */
static int each_box(struct svg *s, int (*visit)(struct svg *, const struct tree_node *, u64, u64))
{
	bool wide;
	int err = 0;

	s->next[0] = s->hidden = 0;
	for (const struct tree_node *n = s->tree.root; !err && n; n = tree__next(n, wide)) {
		u64 weight = svg__weight(s, n), from = s->next[n->depth], x = place_of(s, from);
		u64 width = place_of(s, sum__add(from, weight)) - x;

		s->next[n->depth] = sum__add(from, weight);
		s->next[n->depth + 1] = from;
		wide = width >= s->min_width;
		if (wide)
			err = visit(s, n, x, width);
		else
			s->hidden = sum__add(s->hidden, weight);
	}
	return err;
}

static int count_box(struct svg *s, const struct tree_node *n, u64 x, u64 width)
{
	(void)x;
	(void)width;
	s->drawn_cnt++;
	s->drawn_depth = MAX(s->drawn_depth, n->depth);
	return 0;
}

/* Twice as wide until there are few enough. */
static int choose_boxes(struct svg *s)
{
	int err;

	s->min_width = MIN_WIDTH;
	for (;; s->min_width *= 2) {
		s->drawn_cnt = s->drawn_depth = 0;
		err = each_box(s, count_box);
		if (err || s->drawn_cnt <= BOXES_MAX)
			return err;
	}
}

static int write_all(struct svg *s)
{
	const struct tree_opts opts = { .value = s->opts->value,
					.processes = true,
					.by = s->opts->by };
	bool empty;
	int err = tree__init(&s->tree, s->p, &opts);

	if (err)
		return err;
	s->next = calloc((size_t)s->tree.depth + 2, sizeof(*s->next));
	if (!s->next)
		return -ENOMEM;
	empty = !svg__weight(s, s->tree.root);
	err = empty ? 0 : choose_boxes(s);
	svg__add_head(s);
	if (!err)
		err = flush_buf(s);
	if (!err && !empty)
		err = each_box(s, write_box);
	svg__add_tail(s);
	return err ? err : flush_buf(s);
}

static int write_svg(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out)
{
	struct svg s = { .p = p, .opts = opts, .out = out };
	int err = write_all(&s);

	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	free(s.next);
	tree__fini(&s.tree);
	str__free(&s.buf);
	str__free(&s.text);
	return err ? err : writer__done(out);
}

static int svg_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out)
{
	return writer__in_c_locale(write_svg, p, opts, out);
}

const struct writer writer_svg = {
	.name = "svg",
	.help = "a flame graph as an image, for browsers and documents",
	.extension = "svg",
	.merges = true,
	.write = svg_write,
};
