/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack for people: leaf first, one line a frame. Recursion is told once ("eval x 399"), also
 * when several functions take turns, because interpreters make stacks of hundreds of frames that
 * say nothing more.
 */
#include <string.h>

#include "report/layout.h"
#include "report/text.h"

#define INDENT	   "        "
#define REPEAT_MAX 12 /* functions that take turns: an import in Python has nine */

static const char *const end_marks[ALLOCSNOOP_END_MAX] = {
	[ALLOCSNOOP_TRUNCATED] = "[truncated: depth limit]",
	[ALLOCSNOOP_NO_TABLE] = "[cut: no unwind table and no frame pointer]",
	[ALLOCSNOOP_GAP] = "[cut: the unwind table doesn't cover this address]",
	[ALLOCSNOOP_UNSUPPORTED] = "[cut: unsupported unwind rule]",
	[ALLOCSNOOP_READ_FAULT] = "[cut: stack memory could not be read]",
	[ALLOCSNOOP_BUSY] = "[cut: the address space was locked]",
	[ALLOCSNOOP_ANONYMOUS] = "[cut: code without a file (JIT) and no frame pointer]",
	[ALLOCSNOOP_NO_PROGRESS] = "[cut: the chain of frames turned back]",
	[ALLOCSNOOP_LOST] = "[lost: the stack was not stored]",
	[ALLOCSNOOP_AGED] = "[aged out: not hit for long, and --max-memory was reached]",
};

enum { FUNCTION, MODULE, PLACE, FRAME_COLUMNS };

struct stack_text {
	const struct allocsnoop_sample *s;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	struct layout layout;
	struct str cell;
	struct str line;
};

/* ---- recursion ---- */

struct repeat {
	size_t len;   /* frames in the block */
	size_t times; /* how often it follows itself */
};

static bool same_function(const struct allocsnoop_frame *a, const struct allocsnoop_frame *b)
{
	return a == b || (!strcmp(a->function, b->function) && !strcmp(a->module, b->module) &&
			  a->inlined == b->inlined);
}

static bool same_block(const struct allocsnoop_sample *s, size_t a, size_t b, size_t len)
{
	if (b + len > s->frame_cnt)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!same_function(s->frames[a + i], s->frames[b + i]))
			return false;
	}
	return true;
}

/* The shortest block at frame i that is worth telling once. */
static struct repeat repeat_at(const struct allocsnoop_sample *s, size_t i)
{
	for (size_t len = 1; len <= REPEAT_MAX; len++) {
		size_t times = 1, worth = len == 1 ? 2 : 3;

		while (same_block(s, i, i + times * len, len))
			times++;
		if (times >= worth)
			return (struct repeat){ len, times };
	}
	return (struct repeat){ 1, 1 };
}

/* ---- cells ---- */

/* Is the function a made-up name that begins with the module's ("libc.so.6+0x97360")? */
static bool names_module(const struct allocsnoop_frame *f)
{
	const char *slash = strrchr(f->module, '/');
	const char *base = slash ? slash + 1 : f->module;
	size_t len = strlen(base);

	return !strncmp(f->function, base, len) && !strncmp(f->function + len, "+0x", 3);
}

void stack__add_module(struct str *s, const struct allocsnoop_frame *f)
{
	if (*f->module && !names_module(f))
		look__basename(s, f->module);
}

void stack__add_place(struct str *s, const struct allocsnoop_frame *f)
{
	if (!f->file)
		return;
	look__basename(s, f->file);
	if (f->line)
		str__addf(s, ":%u", f->line);
}

static bool same_place(const struct allocsnoop_frame *a, const struct allocsnoop_frame *b)
{
	return a->line == b->line &&
	       (a->file == b->file || (a->file && b->file && !strcmp(a->file, b->file)));
}

/* A frame of a block that is told once, though it follows itself: where its calls are made from
 * different places, none of them is shown. */
static void make_place(struct stack_text *t, size_t i, struct repeat r)
{
	const struct allocsnoop_frame *const *f = t->s->frames;

	for (size_t n = 1; n < r.times; n++) {
		if (!same_place(f[i], f[i + n * r.len]))
			return;
	}
	stack__add_place(&t->cell, f[i]);
}

/* Into t->cell: what a column says of frame i. */
static void make_cell(struct stack_text *t, size_t i, struct repeat r, size_t column)
{
	const struct allocsnoop_frame *f = t->s->frames[i];

	str__clear(&t->cell);
	if (column == MODULE)
		stack__add_module(&t->cell, f);
	if (column == PLACE)
		make_place(t, i, r);
	if (column == FUNCTION) {
		look__name(&t->cell, f->function);
		str__add(&t->cell, f->inlined ? " (inlined)" : "");
		if (r.len == 1 && r.times > 1)
			str__addf(&t->cell, " x %zu", r.times);
	}
	t->line.oom |= t->cell.oom;
}

static void measure(struct stack_text *t)
{
	struct repeat r;

	t->layout = (struct layout){
		.opts = t->opts,
		.cnt = FRAME_COLUMNS,
		.indent = strlen(INDENT),
	};
	for (size_t c = 0; c < FRAME_COLUMNS; c++)
		t->layout.columns[c] = (struct layout_column){ .shown = true,
							       .left = true,
							       .main = c == FUNCTION };
	for (size_t i = 0; i < t->s->frame_cnt; i += r.len * r.times) {
		r = repeat_at(t->s, i);
		for (size_t k = 0; k < r.len * FRAME_COLUMNS; k++) {
			make_cell(t, i + k / FRAME_COLUMNS, r, k % FRAME_COLUMNS);
			layout__widen(&t->layout, k % FRAME_COLUMNS, &t->cell);
		}
	}
	/* A column that nobody has anything for isn't there. */
	for (size_t c = 0; c < FRAME_COLUMNS; c++)
		t->layout.columns[c].shown = t->layout.columns[c].width;
	layout__fit(&t->layout);
}

/* ---- lines ---- */

static int print_frame(struct stack_text *t, size_t i, struct repeat r)
{
	str__add(&t->line, INDENT);
	for (size_t c = 0; c < FRAME_COLUMNS; c++) {
		make_cell(t, i, r, c);
		layout__add(&t->layout, c, &t->cell, c == FUNCTION ? PAINT_NONE : PAINT_ASIDE,
			    &t->line);
	}
	return text__line(&t->line, t->out);
}

static int print_mark(struct stack_text *t, const char *mark)
{
	str__add(&t->line, INDENT "  ");
	paint__begin(&t->line, t->opts, PAINT_WARN);
	str__add(&t->line, mark);
	paint__end(&t->line, t->opts, PAINT_WARN);
	return text__line(&t->line, t->out);
}

static int print_block(struct stack_text *t, size_t i, struct repeat r)
{
	int err = 0;

	for (size_t k = 0; !err && k < r.len; k++)
		err = print_frame(t, i + k, r);
	if (err || r.len == 1)
		return err;
	str__addf(&t->line, INDENT "  [these %zu frames x %zu]", r.len, r.times);
	return text__line(&t->line, t->out);
}

static int print_frames(struct stack_text *t)
{
	struct repeat r;
	int err = 0;

	for (size_t i = 0; !err && i < t->s->frame_cnt; i += r.len * r.times) {
		r = repeat_at(t->s, i);
		err = print_block(t, i, r);
	}
	if (err || t->s->frame_cnt || !*t->s->allocator)
		return err;
	/* The stack was lost, but the called function is known. */
	str__add(&t->line, INDENT "  ");
	look__name(&t->line, t->s->allocator);
	return text__line(&t->line, t->out);
}

static int print_end(struct stack_text *t)
{
	u32 end = t->s->end;

	if (!t->s->truncated && end == ALLOCSNOOP_COMPLETE)
		return 0;
	return print_mark(t, end < ALLOCSNOOP_END_MAX && end_marks[end] ? end_marks[end] : "[cut]");
}

int stack__write(const struct allocsnoop_sample *s, const struct allocsnoop_report_opts *opts,
		 FILE *out)
{
	struct stack_text t = { .s = s, .opts = opts, .out = out };
	int err;

	measure(&t);
	err = print_frames(&t);
	if (!err)
		err = print_end(&t);
	str__free(&t.cell);
	str__free(&t.line);
	return err;
}
