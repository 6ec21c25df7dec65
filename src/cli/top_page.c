/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of text: a stack as a whole, what was lost and said, the keys. Lines are wrapped, and the
 * part in sight is drawn. */
#include <math.h>
#include <string.h>

#include "cli/top_view.h"

#define NAME_MAX_SHOWN 1000 /* bytes of a frame's name: hostile ones have megabytes */

struct page {
	struct top_view *v;
	struct canvas *c;
	size_t from; /* the first line in sight */
	size_t rows; /* that can be seen */
	size_t cnt;  /* lines so far */
};

static void page__line(struct page *p, enum role role, const char *text, size_t len)
{
	char line[1024];

	if (p->cnt >= p->from && p->cnt < p->from + p->rows) {
		snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
		canvas__put(p->c, role, line);
		canvas__next(p->c);
	}
	p->cnt++;
}

/* Bytes of the next line: up to a blank where there is one in its second half. */
static size_t wrap(const struct canvas *c, const char *text, int cols)
{
	size_t len = canvas__fit(c, text, cols), at = len;

	if (!text[len])
		return len;
	while (at > len / 2 && text[at - 1] != ' ')
		at--;
	return at > len / 2 ? at : len;
}

/* Whole, on as many lines as it takes; `indent` blanks before all but the first. */
static void page__wrapped(struct page *p, enum role role, const char *text, int indent)
{
	struct str clean = {};
	const char *rest;
	char line[1024];

	str__add_utf8(&clean, text, strnlen(text, NAME_MAX_SHOWN), true);
	rest = clean.oom || !clean.s ? "" : clean.s;
	indent = MAX(1, MIN(indent, p->c->cols / 2));
	for (int before = 0; !before || *rest; before = indent) {
		size_t len = wrap(p->c, rest, MAX(1, p->c->cols - before));

		snprintf(line, sizeof(line), "%*s%.*s", before, "", (int)len, rest);
		page__line(p, role, line, strlen(line));
		rest += len;
	}
	p->c->oom |= clean.oom;
	str__free(&clean);
}

static void page__str(struct page *p, enum role role, struct str *s, int indent)
{
	page__wrapped(p, role, s->s ? s->s : "", indent);
	p->c->oom |= s->oom;
	str__clear(s);
}

/* ---- a stack ---- */

#define LABEL	   "%-11s "
#define LABEL_COLS 12

/* Where the row is, or was. */
static const struct top_row *page__row(const struct page *p)
{
	const struct top_level *l = top_view__level(p->v);
	const struct top_model *m = p->v->model;

	return top_table__find(l->of_names ? &m->names : &m->stacks, l->about);
}

static void stack__numbers(struct page *p, const struct top_row *r, struct str *s)
{
	const char *bound = r->at_least ? "at least " : "";

	str__addf(s, LABEL "%s%" PRIu64 " bytes in %" PRIu64 " allocation%s ", "allocated", bound,
		  r->now.bytes, r->now.count, r->now.count == 1 ? "" : "s");
	if (!r->at_least)
		top_look__interval(s, p->v->utf8, sqrt(r->now.bytes_var), (double)r->now.bytes,
				   r->now.hits, "(few samples)");
	page__str(p, ROLE_PLAIN, s, LABEL_COLS);
	if (r->moves) {
		str__addf(s, LABEL "none: a sum that others are moved into", "rate");
	} else {
		str__addf(s, LABEL "%s", "rate", bound);
		top_look__bytes(s, r->byte_rate);
		str__add(s, "/s in ");
		top_look__count(s, r->count_rate);
		str__add(s, " allocations/s over ");
		top_look__seconds(s, top_model__rate_ns(p->v->model));
	}
	page__str(p, ROLE_PLAIN, s, LABEL_COLS);
	if (!p->v->live)
		return;
	str__addf(s, LABEL "%" PRIu64 " bytes in %" PRIu64 " block%s", "live", r->now.live_bytes,
		  r->now.live_count, r->now.live_count == 1 ? "" : "s");
	top_look__live_interval(s, p->v->utf8, &r->now);
	page__str(p, ROLE_PLAIN, s, LABEL_COLS);
}

static void stack__frame(struct page *p, const struct allocsnoop_frame *f, size_t at, struct str *s)
{
	str__addf(s, "%3zu  ", at);
	str__addn(s, f->function, strnlen(f->function, NAME_MAX_SHOWN / 2));
	if (f->inlined)
		str__add(s, "  (inlined)");
	top_look__module(s, f);
	if (f->file)
		str__addf(s, "  %s:%u", f->file, f->line);
	page__str(p, ROLE_PLAIN, s, 5);
}

static void draw_stack(struct page *p)
{
	const struct top_row *r = page__row(p);
	struct str s = {};

	if (!r) {
		page__wrapped(p, ROLE_WARN, "This stack isn't kept any more (--max-memory).", 0);
		return;
	}
	str__addf(&s, LABEL, "process");
	top_look__process(&s, r);
	page__str(p, ROLE_TITLE, &s, LABEL_COLS);
	stack__numbers(p, r, &s);
	if (r->sample->type) {
		str__addf(&s, LABEL "%s", "type", r->sample->type);
		page__str(p, ROLE_PLAIN, &s, LABEL_COLS);
	}
	page__line(p, ROLE_PLAIN, "", 0);
	for (size_t i = 0; i < r->sample->frame_cnt; i++)
		stack__frame(p, r->sample->frames[i], i, &s);
	if (r->sample->end != ALLOCSNOOP_COMPLETE) {
		str__addf(&s, "     the stack ends here: %s", allocsnoop__end_name(r->sample->end));
		page__str(p, ROLE_WARN, &s, 5);
	}
	str__free(&s);
}

/* ---- what was lost and said ---- */

static void draw_losses(struct page *p)
{
	const struct allocsnoop_profile *profile = p->v->model->profile;
	size_t cnt = profile ? allocsnoop_profile__loss_cnt(profile) : 0;
	struct str s = {};

	page__line(p, ROLE_TITLE, cnt ? "losses" : "no losses", 9);
	for (size_t i = 0; i < cnt; i++) {
		const struct allocsnoop_loss *l = allocsnoop_profile__loss(profile, i);

		str__addf(&s, "  %" PRIu64 "  %s: %s", l->count, l->name, l->text);
		page__str(p, ROLE_WARN, &s, 4);
	}
	str__free(&s);
}

static void draw_notes(struct page *p)
{
	char *line;

	draw_losses(p);
	page__line(p, ROLE_PLAIN, "", 0);
	for (size_t i = 0; p->v->notes && (line = top_notes__get(p->v->notes, i)); i++) {
		if (!i)
			page__line(p, ROLE_TITLE, "warnings", 8);
		page__wrapped(p, ROLE_PLAIN, line, 2);
		free(line);
	}
}

/* ---- the keys ---- */

static void draw_key(struct page *p, const char *names, const char *help, struct str *s)
{
	str__addf(s, "  %-14s %s", names, help);
	page__str(p, ROLE_PLAIN, s, 17);
}

static void draw_help(struct page *p)
{
	const char *names, *help;
	struct str s = {};

	page__line(p, ROLE_TITLE, "keys", 4);
	for (size_t i = 0; (help = top_keys__help(i, &names)); i++)
		draw_key(p, names, help, &s);
	page__line(p, ROLE_PLAIN, "", 0);
	page__line(p, ROLE_TITLE, "sort", 4);
	for (const struct top_column *col = top_columns; col->head; col++) {
		char name[2] = { (char)col->key };

		/* "by name" is there for each table. */
		if (!col->key || (col->key == 'n' && col->where & TOP_OF_PROCESSES))
			continue;
		if (!(col->where & TOP_IF_LIVE) || p->v->live)
			draw_key(p, name, col->help, &s);
	}
	str__free(&s);
}

/* ---- all of them ---- */

static void page__draw(struct page *p)
{
	switch (top_view__level(p->v)->kind) {
	case TOP_STACK:
		draw_stack(p);
		break;
	case TOP_NOTES:
		draw_notes(p);
		break;
	default:
		draw_help(p);
		break;
	}
}

void top_page__draw(struct top_view *v, struct canvas *c, int rows)
{
	struct top_level *l = top_view__level(v);
	struct page p = { .v = v, .c = c };

	page__draw(&p); /* counts the lines */
	v->room = (size_t)MAX(rows, 0);
	v->line_cnt = p.cnt;
	if (l->offset + v->room > p.cnt)
		l->offset = p.cnt > v->room ? p.cnt - v->room : 0;
	p = (struct page){ .v = v, .c = c, .from = l->offset, .rows = v->room };
	page__draw(&p);
}
