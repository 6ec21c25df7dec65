/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of `top`: to add one is to add a row. */
#include <math.h>
#include <string.h>

#include "cli/top_view.h"

/* ---- what is in them ---- */

static void pid_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	(void)v;
	(void)width;
	if (r->pid)
		str__addf(s, "%u", r->pid);
	else
		str__add(s, "-");
}

static void at_least(const struct top_view *v, const struct top_row *r, struct str *s)
{
	if (r->at_least)
		str__add(s, v->utf8 ? "≥" : ">");
}

static void byte_rate_cell(const struct top_view *v, const struct top_row *r, int width,
			   struct str *s)
{
	(void)width;
	if (r->moves) {
		str__add(s, "-");
		return;
	}
	at_least(v, r, s);
	top_look__bytes(s, r->byte_rate);
}

static void interval_cell(const struct top_view *v, const struct top_row *r, int width,
			  struct str *s)
{
	(void)width;
	if (!r->at_least) /* there is no interval of a lower bound */
		top_look__interval(s, v->utf8, r->byte_rate_se, r->byte_rate, r->rate_hits, "few");
}

static void count_rate_cell(const struct top_view *v, const struct top_row *r, int width,
			    struct str *s)
{
	(void)width;
	if (r->moves) {
		str__add(s, "-");
		return;
	}
	at_least(v, r, s);
	top_look__count(s, r->count_rate);
}

static void bytes_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	(void)width;
	at_least(v, r, s);
	top_look__bytes(s, (double)r->now.bytes);
}

static void count_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	(void)width;
	at_least(v, r, s);
	top_look__count(s, (double)r->now.count);
}

static void live_bytes_cell(const struct top_view *v, const struct top_row *r, int width,
			    struct str *s)
{
	(void)v;
	(void)width;
	top_look__bytes(s, (double)r->now.live_bytes);
}

static void live_count_cell(const struct top_view *v, const struct top_row *r, int width,
			    struct str *s)
{
	(void)v;
	(void)width;
	top_look__count(s, (double)r->now.live_count);
}

static void share_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	double part = v->list_sum ? (double)top_row__amount(v, r) / (double)v->list_sum : 0;

	str__addf(s, "%3.0f%% ", fmin(100, part * 100));
	top_look__bar(s, v->utf8, part, width - 5);
}

static void trend_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	top_look__trend(s, v, r, width);
}

static void container_cell(const struct top_view *v, const struct top_row *r, int width,
			   struct str *s)
{
	(void)v;
	(void)width;
	str__add(s, r->info && *r->info->container ? r->info->container : "-");
}

static void comm_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	(void)v;
	(void)width;
	str__add(s, *r->comm ? r->comm : "[unknown]");
}

static void process_cell(const struct top_view *v, const struct top_row *r, int width,
			 struct str *s)
{
	comm_cell(v, r, width, s);
	if (!r->pid && r->info)
		str__addf(s, " (%" PRIu64 " ended)", r->info->count);
	else if (r->ended)
		str__add(s, " (ended)");
}

const struct allocsnoop_frame *top_row__caller(const struct top_row *r)
{
	return r->sample ? allocsnoop_sample__caller(r->sample) : NULL;
}

/* Who called it, and who called that one, for as long as there is room. */
static void caller_cell(const struct top_view *v, const struct top_row *r, int width, struct str *s)
{
	const struct allocsnoop_frame *f = top_row__caller(r);
	size_t at = 0, room = (size_t)width * 4; /* a character has 4 bytes at most */

	(void)v;
	if (!f) {
		str__addf(s, "[stack: %s]", allocsnoop__end_name(r->sample->end));
		return;
	}
	str__addn(s, f->function, strnlen(f->function, room));
	top_look__module(s, f);
	while (at < r->sample->frame_cnt && r->sample->frames[at] != f)
		at++;
	while (++at < r->sample->frame_cnt && s->len < room) {
		const char *name = r->sample->frames[at]->function;

		str__add(s, " < ");
		str__addn(s, name, strnlen(name, room));
	}
}

/* ---- what they are sorted by ---- */

/* Rates as integers: fractions part rows that have hardly any. */
static u64 thousandths(double rate)
{
	return rate < 1e15 ? (u64)(rate * 1000) : (u64)1e18;
}

static u64 byte_rate_value(const struct top_row *r)
{
	return thousandths(r->byte_rate);
}

static u64 count_rate_value(const struct top_row *r)
{
	return thousandths(r->count_rate);
}

static u64 bytes_value(const struct top_row *r)
{
	return r->now.bytes;
}

static u64 count_value(const struct top_row *r)
{
	return r->now.count;
}

static u64 live_bytes_value(const struct top_row *r)
{
	return r->now.live_bytes;
}

static u64 live_count_value(const struct top_row *r)
{
	return r->now.live_count;
}

static u64 pid_value(const struct top_row *r)
{
	return r->pid;
}

u64 top_row__amount(const struct top_view *v, const struct top_row *r)
{
	bool adds_up = v->sort->value && v->sort->value != pid_value;

	return adds_up ? v->sort->value(r) : r->now.bytes;
}

#define BYTES	   ALLOCSNOOP_ALLOC_BYTES
#define COUNT	   ALLOCSNOOP_ALLOC_COUNT
#define LIVE_BYTES ALLOCSNOOP_LIVE_BYTES
#define LIVE_COUNT ALLOCSNOOP_LIVE_COUNT
#define LIVE	   (TOP_OF_ANY | TOP_IF_LIVE)
#define ESTIMATE   (TOP_OF_ANY | TOP_IF_ESTIMATE)
#define CONTAINERS (TOP_OF_PROCESSES | TOP_IF_CONTAINERS)
#define OF_STACKS  (TOP_OF_STACKS | TOP_OF_NAMES)

/* clang-format off */
const struct top_column top_columns[] = {
	{ "PID", 'P', "by process id", 7, 0, 2, TOP_OF_PROCESSES, false, false, ROLE_PLAIN,
	  pid_cell, pid_value, BYTES },
	{ "RATE/s", 'r', "by bytes a second", 7, 0, 1, TOP_OF_ANY, false, false, ROLE_PLAIN,
	  byte_rate_cell, byte_rate_value, BYTES },
	{ "95%", 0, NULL, 5, 0, 5, ESTIMATE, false, false, ROLE_PLAIN, interval_cell, NULL, BYTES },
	{ "ALLOCS/s", 'R', "by allocations a second", 8, 0, 6, TOP_OF_ANY, false, false, ROLE_PLAIN,
	  count_rate_cell, count_rate_value, COUNT },
	{ "TOTAL", 't', "by bytes allocated", 7, 0, 4, TOP_OF_ANY, false, true, ROLE_PLAIN,
	  bytes_cell, bytes_value, BYTES },
	{ "COUNT", 'c', "by number of allocations", 8, 0, 9, TOP_OF_ANY, false, true, ROLE_PLAIN,
	  count_cell, count_value, COUNT },
	{ "LIVE", 'l', "by live bytes", 7, 0, 3, LIVE, false, true, ROLE_PLAIN, live_bytes_cell,
	  live_bytes_value, LIVE_BYTES },
	{ "BLOCKS", 'L', "by live blocks", 8, 0, 7, LIVE, false, true, ROLE_PLAIN, live_count_cell,
	  live_count_value, LIVE_COUNT },
	{ "SHARE", 0, NULL, 8, 12, 10, TOP_OF_ANY, true, false, ROLE_TREND, share_cell, NULL, BYTES },
	{ "TREND", 0, NULL, 8, TOP_TREND, 8, TOP_OF_ANY, true, false, ROLE_TREND, trend_cell, NULL,
	  BYTES },
	{ "CONTAINER", 0, NULL, 12, 20, 11, CONTAINERS, true, false, ROLE_PLAIN, container_cell, NULL,
	  BYTES },
	{ "PROCESS", 0, NULL, 15, 0, 3, TOP_OF_NAMES, true, false, ROLE_PLAIN, comm_cell, NULL,
	  BYTES },
	/* The last column of each table has the rest of the line. */
	{ "PROCESS", 'n', "by name", 12, 24, 0, TOP_OF_PROCESSES, true, false, ROLE_PLAIN,
	  process_cell, NULL, BYTES },
	{ "CALLER", 'n', "by name", 24, 50, 0, OF_STACKS, true, false, ROLE_PLAIN, caller_cell, NULL,
	  BYTES },
	{},
};
/* clang-format on */

bool top_column__is_there(const struct top_view *v, const struct top_column *col)
{
	const struct allocsnoop_info *info =
		v->model->profile ? allocsnoop_profile__info(v->model->profile) : NULL;
	u32 kind = v->levels[v->depth].kind;

	if (!(col->where & TOP_OF_ANY & 1u << kind))
		return false;
	if (col->where & TOP_IF_LIVE && !v->live)
		return false;
	if (col->where & TOP_IF_ESTIMATE && (!info || info->exact))
		return false;
	return !(col->where & TOP_IF_CONTAINERS) || v->model->containers;
}

static bool can_sort(const struct top_view *v, const struct top_column *col)
{
	return col->key && top_column__is_there(v, col);
}

/* The same column in this table: the one that is sorted by may be of another. */
static const struct top_column *column__here(const struct top_view *v)
{
	const struct top_column *here = top_column__by_key(v, v->sort->key);

	return here ? here : v->sort;
}

const struct top_column *top_column__next(const struct top_view *v, int step)
{
	const struct top_column *col = column__here(v), *end = top_columns;

	while (end->head)
		end++;
	for (col += step; col >= top_columns && col < end; col += step) {
		if (can_sort(v, col))
			return col;
	}
	return v->sort;
}

const struct top_column *top_column__by_key(const struct top_view *v, u32 key)
{
	for (const struct top_column *col = top_columns; col->head; col++) {
		if (col->key == key && can_sort(v, col))
			return col;
	}
	return NULL;
}

const struct top_column *top_column__of_value(enum allocsnoop_value value)
{
	for (const struct top_column *col = top_columns; col->head; col++) {
		if (col->totals && col->saves == value)
			return col;
	}
	return NULL;
}
