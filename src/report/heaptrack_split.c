/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks with a row's sums. A row tells how many blocks, with how many bytes together, were
 * allocated (A), live at the peak (P) and live at the end (L), and between which sizes each lies.
 * Be x of them, with y bytes, at the peak and at the end; then the counts and bytes of the other
 * three fates follow. Each fate's bytes must lie between its count times the smallest and times the
 * largest size, which bounds y from both sides by lines in x: the room between the highest lower
 * and the lowest upper one is concave, so its largest place is found by halving.
 */
#include <errno.h>

#include "report/heaptrack.h"

typedef __int128 s128; /* counts times sizes */

struct problem {
	s128 a_cnt, a_bytes;
	s128 p_cnt, p_bytes;
	s128 l_cnt, l_bytes;
	s128 low, high; /* sizes */
};

struct bounds {
	s128 low, high;
};

static void bounds__cut(struct bounds *b, s128 low, s128 high)
{
	b->low = MAX(b->low, low);
	b->high = MIN(b->high, high);
}

/* Of y, when x blocks are at both. */
static struct bounds bytes_at(const struct problem *q, s128 x)
{
	s128 rest_cnt = q->a_cnt - q->p_cnt - q->l_cnt + x;
	s128 rest_bytes = q->a_bytes - q->p_bytes - q->l_bytes; /* without y */
	struct bounds b = { x * q->low, x * q->high };

	bounds__cut(&b, q->p_bytes - (q->p_cnt - x) * q->high,
		    q->p_bytes - (q->p_cnt - x) * q->low);
	bounds__cut(&b, q->l_bytes - (q->l_cnt - x) * q->high,
		    q->l_bytes - (q->l_cnt - x) * q->low);
	bounds__cut(&b, rest_cnt * q->low - rest_bytes, rest_cnt * q->high - rest_bytes);
	return b;
}

/* Below 0: no y will do. */
static s128 room_at(const struct problem *q, s128 x)
{
	struct bounds b = bytes_at(q, x);

	return b.high - b.low;
}

/* What x may be by the counts alone. */
static struct bounds counts(const struct problem *q)
{
	s128 low = q->p_cnt + q->l_cnt - q->a_cnt;

	return (struct bounds){ MAX(low, 0), MIN(q->p_cnt, q->l_cnt) };
}

static s128 roomiest(const struct problem *q)
{
	struct bounds x = counts(q);

	while (x.low < x.high) {
		s128 mid = x.low + (x.high - x.low) / 2;

		if (room_at(q, mid + 1) > room_at(q, mid))
			x.low = mid + 1;
		else
			x.high = mid;
	}
	return x.low;
}

/* From a place where there is room towards the end of those, as far as there is. */
static s128 farthest(const struct problem *q, s128 from, s128 end)
{
	while (from != end) {
		s128 mid = end > from ? from + (end - from + 1) / 2 : from - (from - end + 1) / 2;

		if (room_at(q, mid) >= 0)
			from = mid;
		else
			end = end > from ? mid - 1 : mid + 1;
	}
	return from;
}

static bool solve(const struct problem *q, bool most, s128 *x, s128 *y)
{
	struct bounds cnt = counts(q), bytes;

	if (q->p_cnt > q->a_cnt || q->l_cnt > q->a_cnt)
		return false;
	*x = roomiest(q);
	if (room_at(q, *x) < 0)
		return false;
	*x = farthest(q, *x, most ? cnt.high : cnt.low);
	bytes = bytes_at(q, *x);
	*y = q->l_cnt ? *x * q->l_bytes / q->l_cnt : 0; /* as large as the others, if possible */
	*y = MIN(MAX(*y, bytes.low), bytes.high);
	return true;
}

/*
 * Threads change a row while another notes it, so the count at the peak may be off by some blocks.
 * The format has no place for it; only the bytes must be those that were recorded.
 */
static bool solve_for_bytes(struct problem *q, bool most, s128 *x, s128 *y)
{
	s128 low = 0, high = q->a_cnt;

	if (solve(q, most, x, y))
		return true;
	while (low < high) {
		struct problem left = *q, right = *q;

		left.p_cnt = low + (high - low) / 2;
		right.p_cnt = left.p_cnt + 1;
		if (room_at(&right, roomiest(&right)) > room_at(&left, roomiest(&left)))
			low = right.p_cnt;
		else
			high = left.p_cnt;
	}
	q->p_cnt = low;
	return solve(q, most, x, y);
}

static bool solve_somehow(const struct allocsnoop_sample *s, bool most, struct problem *q, s128 *x,
			  s128 *y, bool *no_peak)
{
	const struct problem given = *q;

	if (q->l_cnt > q->a_cnt)
		return false;
	if (s->size_low <= s->size_high && solve_for_bytes(q, most, x, y))
		return true;
	*q = given;
	q->low = 0;
	q->high = q->a_bytes;
	if (solve_for_bytes(q, most, x, y))
		return true;
	q->p_cnt = q->p_bytes = 0;
	*no_peak = true;
	return solve(q, most, x, y);
}

/* ---- parts ---- */

static void part__set(struct heaptrack_part *part, s128 cnt, s128 bytes)
{
	u64 mean = cnt ? (u64)(bytes / cnt) : 0, larger = cnt ? (u64)(bytes % cnt) : 0;

	part->run[0] = (struct heaptrack_run){ .cnt = (u64)cnt - larger, .size = mean };
	part->run[1] = (struct heaptrack_run){ .cnt = larger, .size = mean + 1 };
}

u64 heaptrack_part__cnt(const struct heaptrack_part *part)
{
	return part->run[0].cnt + part->run[1].cnt;
}

u64 heaptrack_part__bytes(const struct heaptrack_part *part)
{
	return part->run[0].cnt * part->run[0].size + part->run[1].cnt * part->run[1].size;
}

u64 heaptrack_part__largest(const struct heaptrack_part *part)
{
	return part->run[1].cnt ? part->run[1].size : part->run[0].cnt ? part->run[0].size : 0;
}

int heaptrack_split__find(const struct allocsnoop_sample *s, bool most,
			  struct heaptrack_split *split)
{
	struct problem q = {
		.a_cnt = s->alloc_count,
		.a_bytes = s->alloc_bytes,
		.p_cnt = s->peak_count,
		.p_bytes = s->peak_bytes,
		.l_cnt = s->live_count,
		.l_bytes = s->live_bytes,
		.low = s->size_low,
		.high = s->size_high,
	};
	u64 passed_cnt;
	s128 x, y;

	*split = (struct heaptrack_split){};
	if (!solve_somehow(s, most, &q, &x, &y, &split->no_peak))
		return -EINVAL;
	if (q.p_bytes == y)
		q.p_cnt = x; /* blocks of no bytes make no peak: they may pass */
	part__set(&split->part[FATE_KEPT], x, y);
	part__set(&split->part[FATE_PEAK], q.p_cnt - x, q.p_bytes - y);
	part__set(&split->part[FATE_LATE], q.l_cnt - x, q.l_bytes - y);
	part__set(&split->part[FATE_PASSED], q.a_cnt - q.p_cnt - q.l_cnt + x,
		  q.a_bytes - q.p_bytes - q.l_bytes + y);
	if (s->temporary_count > s->alloc_count - s->live_count)
		return -EINVAL;
	passed_cnt = heaptrack_part__cnt(&split->part[FATE_PASSED]);
	split->temporary_cnt = MIN(s->temporary_count, passed_cnt);
	split->excess_cnt = s->temporary_count - split->temporary_cnt;
	return 0;
}
