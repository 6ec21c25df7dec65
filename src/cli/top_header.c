/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines above: what is traced, how sure the numbers are, what was lost, what the table is. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "cli/top_view.h"

#define WIDE_COLS 70 /* where there are fewer, lines say less */

struct line {
	void (*draw)(const struct top_view *v, const struct allocsnoop_info *info,
		     struct canvas *c);
	u8 rank; /* the lower, the longer it stays on a low terminal */
};

/* ---- the target ---- */

static void draw_target(const struct top_view *v, const struct allocsnoop_info *info,
			struct canvas *c)
{
	struct str right = {};

	if (v->paused)
		str__add(&right, "PAUSED ");
	if (v->ended)
		str__add(&right, "ENDED ");
	top_look__seconds(&right, info->duration_ns);
	canvas__put(c, ROLE_TITLE, c->cols < WIDE_COLS ? "top  " : "allocsnoop top  ");
	if (right.s) {
		int width = c->cols - c->lines[c->y].width - canvas__width(c, right.s) - 1;

		canvas__cell(c, ROLE_PLAIN, info->target, MAX(width, 0), true);
		canvas__put(c, ROLE_PLAIN, " ");
		canvas__put(c, v->paused || v->ended ? ROLE_PROMPT : ROLE_PLAIN, right.s);
	}
	c->oom |= right.oom;
	str__free(&right);
}

/* ---- rates and totals ---- */

/* Exact, or an estimate and its interval, or a bound. */
static void add_sureness(const struct top_view *v, const struct allocsnoop_info *info,
			 struct str *s)
{
	const struct top_row *all = &v->model->all;

	if (info->exact) {
		str__add(s, "exact");
		return;
	}
	str__add(s, info->at_least ? "at least" : "estimate ");
	if (!info->at_least)
		top_look__interval(s, v->utf8, info->alloc_bytes_se, (double)info->alloc_bytes,
				   all->now.hits, "(few samples)");
}

static void draw_rates(const struct top_view *v, const struct allocsnoop_info *info,
		       struct canvas *c)
{
	const struct top_row *all = &v->model->all;
	struct str s = {};

	add_sureness(v, info, &s);
	str__add(&s, "  ");
	top_look__bytes(&s, all->byte_rate);
	str__add(&s, "/s  ");
	top_look__count(&s, all->count_rate);
	if (c->cols < WIDE_COLS) {
		str__add(&s, "/s  ");
		top_look__bytes(&s, (double)info->alloc_bytes);
	} else {
		str__addf(&s, " allocations/s  total %" PRIu64 " bytes", info->alloc_bytes);
	}
	str__addf(&s, " in %" PRIu64, info->alloc_count);
	canvas__put(c, info->exact ? ROLE_PLAIN : ROLE_PROMPT, s.s ? s.s : "");
	c->oom |= s.oom;
	str__free(&s);
}

/* ---- how ---- */

static void add_sampling(const struct allocsnoop_info *info, struct str *s)
{
	char buf[32];

	if (info->sampling == ALLOCSNOOP_BYTES)
		str__addf(s, "  one of %s sampled",
			  units__format_bytes((u64)info->sampling_value, buf));
	else if (info->sampling == ALLOCSNOOP_RATE && info->sampling_value > 0)
		str__addf(s, "  one of %.0f sampled", 1 / info->sampling_value);
}

static void add_percent(struct str *s, double percent)
{
	int tenths = (int)round(fmin(fmax(percent, 0), 1000) * 10);

	str__addf(s, "%d.%d", tenths / 10, tenths % 10);
}

static void add_budget(const struct allocsnoop_info *info, struct str *s)
{
	if (!info->budget_pct) {
		str__add(s, "  no budget");
		return;
	}
	str__add(s, "  cost ");
	add_percent(s, info->cost_pct);
	str__add(s, " of ");
	add_percent(s, info->budget_pct);
	str__add(s, " %");
	if (!info->exact && info->coverage >= 0) {
		str__add(s, "  counted ");
		add_percent(s, info->coverage * 100);
		str__add(s, " %");
	}
}

static void draw_mode(const struct top_view *v, const struct allocsnoop_info *info,
		      struct canvas *c)
{
	struct str s = {};

	str__add(&s, "every ");
	top_look__seconds(&s, v->interval_ns);
	if (v->model->windows) {
		str__add(&s, ", rates over ");
		top_look__seconds(&s, top_model__rate_ns(v->model));
	}
	add_budget(info, &s);
	if (v->live) {
		str__addf(&s, "  live %" PRIu64 " bytes in %" PRIu64, info->live_bytes,
			  info->live_count);
		top_look__live_interval(&s, v->utf8, &v->model->all.now);
	}
	add_sampling(info, &s);
	canvas__put(c, ROLE_PLAIN, s.s ? s.s : "");
	c->oom |= s.oom;
	str__free(&s);
}

/* ---- losses ---- */

static void draw_losses(const struct top_view *v, const struct allocsnoop_info *info,
			struct canvas *c)
{
	size_t cnt = allocsnoop_profile__loss_cnt(v->model->profile);

	(void)info;
	if (!cnt) {
		canvas__put(c, ROLE_FAINT, "no losses");
		return;
	}
	canvas__put(c, ROLE_WARN, "lost:");
	for (size_t i = 0; i < cnt; i++) {
		const struct allocsnoop_loss *l = allocsnoop_profile__loss(v->model->profile, i);

		canvas__putf(c, ROLE_WARN, " %s %" PRIu64 "%s", l->name, l->count,
			     i + 1 < cnt ? "," : "");
	}
	canvas__put(c, ROLE_FAINT, "  (w: more)");
}

/* ---- the level ---- */

static void add_numbers(const struct top_row *r, bool live, struct str *s)
{
	str__addf(s, ": %" PRIu64 " bytes in %" PRIu64, r->now.bytes, r->now.count);
	if (live)
		str__addf(s, ", live %" PRIu64 " in %" PRIu64, r->now.live_bytes,
			  r->now.live_count);
}

static void add_process(const struct top_view *v, const struct top_level *l, struct str *s)
{
	const struct top_row *r = top_table__find(&v->model->processes, l->about);

	str__add(s, " of ");
	if (!r) {
		str__addf(s, "%s (gone)", l->name);
		return;
	}
	top_look__process(s, r);
	add_numbers(r, v->live, s);
}

static void draw_level(const struct top_view *v, const struct allocsnoop_info *info,
		       struct canvas *c)
{
	static const char *const words[][2] = {
		{ "processes", "process" },
		{ "stacks", "stack" },
		{ "stacks of all processes", "stack of all processes" },
	};
	const struct top_level *l = &v->levels[v->depth];
	struct str s = {};

	(void)info;
	str__addf(&s, "%zu %s", v->list.cnt, words[l->kind][v->list.cnt == 1]);
	if (l->kind == TOP_STACKS)
		add_process(v, l, &s);
	if (v->unlisted)
		str__addf(&s, " (%zu more have ended)", v->unlisted);
	canvas__put(c, ROLE_TITLE, s.s ? s.s : "");
	if (*l->filter) {
		canvas__put(c, ROLE_PROMPT, "  with ");
		canvas__put(c, ROLE_PROMPT, l->filter);
	}
	c->oom |= s.oom;
	str__free(&s);
}

/* ---- all of them ---- */

static const struct line lines[] = {
	{ draw_target, 0 }, { draw_rates, 2 }, { draw_mode, 4 },
	{ draw_losses, 3 }, { draw_level, 1 },
};

static bool is_wanted(const struct top_view *v, const struct line *line, int most)
{
	int rank = line->rank;

	if (line->draw == draw_level && v->levels[v->depth].kind >= TOP_STACK)
		return false;
	/* Losses must not be out of sight. */
	if (line->draw == draw_losses && allocsnoop_profile__loss_cnt(v->model->profile))
		rank = 0;
	return rank < most;
}

int top_header__draw(const struct top_view *v, struct canvas *c, int most)
{
	const struct allocsnoop_info *info;
	int from = c->y;

	if (!v->model->profile) {
		canvas__put(c, ROLE_TITLE, "allocsnoop top  (no profile yet)");
		canvas__next(c);
		return c->y - from;
	}
	info = allocsnoop_profile__info(v->model->profile);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!is_wanted(v, &lines[i], most))
			continue;
		lines[i].draw(v, info, c);
		canvas__next(c);
	}
	return c->y - from;
}
