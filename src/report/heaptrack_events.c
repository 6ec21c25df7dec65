/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack's file has no sums, only a line for each allocation and each free; so blocks that have
 * the profile's sums (heaptrack_split.c) come and go here, in an order of our own: three moments
 * are known, the start, the peak and the end. The reader adds up what was recorded, to the byte.
 *
 * Two rules of the reader shape the order. A free is temporary when it follows an allocation of the
 * same kind directly; after any free the reader takes kind 0 for the last allocation. So kind 0 is
 * kept for a block of no bytes that is only ever freed: such a free parts an allocation from its
 * own free, and a second one counts as temporary. And the peak is where the sum is highest for the
 * first time: nothing before may reach it.
 */
#include "report/heaptrack.h"

#define EVENTS_AT_ONE 256 /* between two time stamps, at most */
#define BATCH	      64  /* blocks that come before they go */
#define EVENT_MAX     32  /* bytes of a line, at most */
#define NS_PER_MS     1000000

/* ---- lines ---- */

static void flush(struct heaptrack *h)
{
	fwrite(h->buf, 1, h->len, h->out);
	h->failed = ferror(h->out);
	h->len = 0;
}

static size_t put_hex(char *to, u64 val)
{
	size_t digits = val ? (size_t)(63 - __builtin_clzll(val)) / 4 + 1 : 1;

	for (size_t i = digits; i > 0; i--, val >>= 4)
		to[i - 1] = "0123456789abcdef"[val & 15];
	return digits;
}

static void put_event(struct heaptrack *h, char kind, u64 val)
{
	if (h->len + EVENT_MAX > sizeof(h->buf))
		flush(h);
	h->buf[h->len++] = kind;
	h->buf[h->len++] = ' ';
	h->len += put_hex(h->buf + h->len, val);
	h->buf[h->len++] = '\n';
}

static void put_stamp(struct heaptrack *h, u64 ms)
{
	if (ms == h->stamp_ms)
		return;
	h->stamp_ms = ms;
	put_event(h, 'c', ms);
}

/* Time passes with the events. */
static void pass_time(struct heaptrack *h, u64 events)
{
	double part;

	h->done += events;
	part = h->all ? (double)MIN(h->done, h->all) / (double)h->all : 0;
	put_stamp(h, h->from_ms + (u64)(part * (double)(h->to_ms - h->from_ms)));
}

/* ---- events ---- */

static void put_many(struct heaptrack *h, char kind, const struct heaptrack_run *run, u64 cnt)
{
	for (u64 i = 0; i < cnt && !h->failed; i++) {
		put_event(h, kind, run->info);
		if (i % EVENTS_AT_ONE == EVENTS_AT_ONE - 1)
			pass_time(h, EVENTS_AT_ONE);
	}
	pass_time(h, cnt % EVENTS_AT_ONE);
	h->now += kind == '+' ? cnt * run->size : -(cnt * run->size);
}

static void put_part(struct heaptrack *h, char kind, const struct heaptrack_part *part)
{
	put_many(h, kind, &part->run[0], part->run[0].cnt);
	put_many(h, kind, &part->run[1], part->run[1].cnt);
}

/* Freed before anything else is allocated. */
static void put_temporary(struct heaptrack *h, const struct heaptrack_run *run, u64 cnt)
{
	for (u64 i = 0; i < cnt && !h->failed; i++) {
		put_event(h, '+', run->info);
		put_event(h, '-', run->info);
		pass_time(h, 1);
	}
}

/* Others: several at once where there is room below the peak, and never one after the other. */
static void put_passing(struct heaptrack *h, const struct heaptrack_run *run, u64 cnt, u64 room)
{
	u64 most = run->size ? MIN(room / run->size, BATCH) : BATCH;

	while (cnt && !h->failed) {
		u64 batch = MIN(cnt, MAX(most, 1));

		for (u64 i = 0; i < batch; i++)
			put_event(h, '+', run->info);
		put_event(h, '-', 0);
		for (u64 i = 0; i < batch; i++)
			put_event(h, '-', run->info);
		cnt -= batch;
		pass_time(h, batch);
	}
}

/* ---- halves ---- */

/* How many of cnt there are before the peak: as much of them as of the time. */
static u64 share_before(const struct heaptrack *h, const struct heaptrack_row *r, u64 cnt)
{
	u64 duration_ns = h->p->info.duration_ns;

	if (r->before == PASS_NEVER)
		return 0;
	if (r->after == PASS_NEVER || !duration_ns)
		return cnt;
	return (u64)((unsigned __int128)cnt * h->peak_ns / duration_ns);
}

static void put_half(struct heaptrack *h, const struct heaptrack_row *r, bool before, u64 room)
{
	u64 left = r->split.temporary_cnt;

	for (size_t i = 0; i < 2; i++) {
		const struct heaptrack_run *run = &r->split.part[FATE_PASSED].run[i];
		u64 temporary = MIN(left, run->cnt), others = run->cnt - temporary;
		u64 first = share_before(h, r, temporary), second = share_before(h, r, others);

		left -= temporary;
		put_temporary(h, run, before ? first : temporary - first);
		put_passing(h, run, before ? second : others - second, room);
	}
}

static u64 passing_events(const struct heaptrack *h, const struct heaptrack_row *r, bool before)
{
	u64 left = r->split.temporary_cnt, cnt = 0, first;

	for (size_t i = 0; i < 2; i++) {
		u64 all = r->split.part[FATE_PASSED].run[i].cnt, temporary = MIN(left, all);

		left -= temporary;
		first = share_before(h, r, temporary) + share_before(h, r, all - temporary);
		cnt += before ? first : all - first;
	}
	return cnt;
}

/* Nothing before the peak may be as high. */
static u64 room_before(const struct heaptrack *h)
{
	return h->peak > h->now ? h->peak - h->now - 1 : 0;
}

static u64 room_after(const struct heaptrack *h)
{
	return h->peak > h->now ? h->peak - h->now : 0;
}

static void put_rise(struct heaptrack *h, struct heaptrack_row *r)
{
	put_part(h, '+', &r->split.part[FATE_KEPT]);
	put_part(h, '+', &r->split.part[FATE_PEAK]);
}

/* The last row's last block is the one that makes the peak. */
static void put_peak(struct heaptrack *h)
{
	struct heaptrack_row *r = &h->rows.v[h->last];
	struct heaptrack_run *run = NULL;

	for (size_t i = 0; i < 4; i++) {
		struct heaptrack_run *at = &r->split.part[i / 2 ? FATE_PEAK : FATE_KEPT].run[i % 2];

		if (at->cnt)
			run = at;
	}
	if (!run)
		return; /* nothing was live, as far as we know */
	run->cnt--;
	put_rise(h, r);
	run->cnt++;
	put_stamp(h, h->to_ms);
	put_event(h, '+', run->info);
	h->now += run->size;
	if (!r->split.excess_cnt) {
		put_event(h, '-', 0); /* what comes next isn't this one's free */
		return;
	}
	put_event(h, '-', run->info);
	h->now -= run->size;
	run->cnt--;
	r->split.excess_cnt--;
	h->excess--;
}

static void put_first_half(struct heaptrack *h)
{
	for (size_t i = 0; i < h->rows.cnt; i++) {
		if (h->rows.v[i].before == PASS_APART)
			put_half(h, &h->rows.v[i], true, room_before(h));
	}
	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct heaptrack_row *r = &h->rows.v[i];

		if (r->before == PASS_WITH)
			put_half(h, r, true, room_before(h));
		if (i != h->last)
			put_rise(h, r);
	}
	if (h->rows.cnt)
		put_peak(h);
}

static void put_second_half(struct heaptrack *h)
{
	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct heaptrack_row *r = &h->rows.v[i];

		put_part(h, '-', &r->split.part[FATE_PEAK]);
		if (r->after == PASS_WITH)
			put_half(h, r, false, room_after(h));
	}
	for (; h->excess; h->excess--)
		put_event(h, '-', 0); /* after a free: counts as temporary */
	for (size_t i = 0; i < h->rows.cnt; i++) {
		if (h->rows.v[i].after == PASS_APART)
			put_half(h, &h->rows.v[i], false, room_after(h));
	}
	for (size_t i = 0; i < h->rows.cnt; i++)
		put_part(h, '+', &h->rows.v[i].split.part[FATE_LATE]);
}

static void start_half(struct heaptrack *h, u64 from_ns, u64 to_ns, bool before)
{
	h->from_ms = from_ns / NS_PER_MS;
	h->to_ms = to_ns / NS_PER_MS;
	h->done = h->all = 0;
	for (size_t i = 0; i < h->rows.cnt; i++) {
		const struct heaptrack_row *r = &h->rows.v[i];
		const struct heaptrack_part *part = r->split.part;

		h->all += passing_events(h, r, before);
		h->all += heaptrack_part__cnt(&part[FATE_PEAK]);
		h->all += heaptrack_part__cnt(&part[before ? FATE_KEPT : FATE_LATE]);
	}
	put_stamp(h, h->from_ms);
}

void heaptrack__put_events(struct heaptrack *h)
{
	h->stamp_ms = UINT64_MAX;
	start_half(h, 0, h->peak_ns, true);
	put_first_half(h);
	start_half(h, h->peak_ns, h->p->info.duration_ns, false);
	put_second_half(h);
	put_stamp(h, h->to_ms);
	flush(h);
}
