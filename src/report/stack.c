/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack for people: leaf first, one line a frame. Recursion is told once ("eval x 399"), also
 * when several functions take turns, because interpreters make stacks of hundreds of frames that
 * say nothing more.
 */
#include <string.h>

#include "report/text.h"

#define INDENT	   "        "
#define REPEAT_MAX 8 /* functions that take turns */

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

struct stack_text {
	const struct allocsnoop_sample *s;
	FILE *out;
	size_t width; /* of the functions */
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

/* ---- lines ---- */

/* Into t->cell. times: of a function that calls itself. */
static void make_function(struct stack_text *t, const struct allocsnoop_frame *f, size_t times)
{
	str__clear(&t->cell);
	look__name(&t->cell, f->function);
	if (f->inlined)
		str__add(&t->cell, " (inlined)");
	if (times > 1)
		str__addf(&t->cell, " x %zu", times);
	t->line.oom |= t->cell.oom;
}

/* Is the function a made-up name that begins with the module's ("libc.so.6+0x97360")? */
static bool names_module(const struct allocsnoop_frame *f)
{
	const char *slash = strrchr(f->module, '/');
	const char *base = slash ? slash + 1 : f->module;
	size_t len = strlen(base);

	return !strncmp(f->function, base, len) && !strncmp(f->function + len, "+0x", 3);
}

static int print_frame(struct stack_text *t, const struct allocsnoop_frame *f, size_t times)
{
	str__add(&t->line, INDENT);
	make_function(t, f, times);
	look__padded(&t->line, &t->cell, t->width, true);
	if (*f->module && !names_module(f)) {
		str__add(&t->line, "  ");
		look__basename(&t->line, f->module);
	}
	if (f->file) {
		str__add(&t->line, "  ");
		look__basename(&t->line, f->file);
		if (f->line)
			str__addf(&t->line, ":%u", f->line);
	}
	return text__line(&t->line, t->out);
}

static int print_mark(struct stack_text *t, const char *mark)
{
	str__addf(&t->line, INDENT "  %s", mark);
	return text__line(&t->line, t->out);
}

static int print_block(struct stack_text *t, size_t i, struct repeat r)
{
	int err = 0;

	if (r.len == 1)
		return print_frame(t, t->s->frames[i], r.times);
	for (size_t k = 0; !err && k < r.len; k++)
		err = print_frame(t, t->s->frames[i + k], 1);
	if (err)
		return err;
	str__addf(&t->line, INDENT "  [these %zu frames x %zu]", r.len, r.times);
	return text__line(&t->line, t->out);
}

static void measure(struct stack_text *t)
{
	struct repeat r;

	for (size_t i = 0; i < t->s->frame_cnt; i += r.len * r.times) {
		r = repeat_at(t->s, i);
		for (size_t k = 0; k < r.len; k++) {
			make_function(t, t->s->frames[i + k], r.len == 1 ? r.times : 1);
			t->width = MAX(t->width, MIN(look__width(&t->cell), TEXT_PAD_MAX));
		}
	}
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

int stack__write(const struct allocsnoop_sample *s, FILE *out)
{
	struct stack_text t = { .s = s, .out = out };
	int err;

	measure(&t);
	err = print_frames(&t);
	if (!err)
		err = print_end(&t);
	str__free(&t.cell);
	str__free(&t.line);
	return err;
}
