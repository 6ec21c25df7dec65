/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack's file, version 3, for heaptrack_print and heaptrack_gui. It has no sums, only a line
 * for each allocation and each free; so blocks that have the profile's sums (heaptrack_split.c)
 * come and go here, in an order of our own: three moments are known, the start, the peak and the
 * end. The reader adds up what was recorded, to the byte.
 *
 * Two rules of the reader shape the order. A free is temporary when it follows an allocation of the
 * same kind directly; after any free the reader takes kind 0 for the last allocation. So kind 0 is
 * kept for a block of no bytes that is only ever freed: such a free parts an allocation from its
 * own free, and a second one counts as temporary. And the peak is where the sum is highest for the
 * first time: nothing before may reach it.
 */
#include "report/heaptrack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/numbered.h"
#include "report/writer.h"

#define LINES_MAX     200000000ull /* above that readers take minutes, and the file gigabytes */
#define EVENTS_AT_ONE 256	   /* between two time stamps, at most */
#define BATCH	      64	   /* blocks that come before they go */
#define BUFFER_SIZE   65536
#define EVENT_SIZE    16 /* "+ ffffffff\n", at most */
#define NS_PER_MS     1000000

/* When passing blocks of a row come and go. */
enum passing {
	PASS_WITH,  /* beside the row's other blocks */
	PASS_APART, /* before any other row's (first half); when all frees are done (second) */
	PASS_NEVER, /* not in this half */
};

struct row {
	struct heaptrack_split split;
	u32 trace;
	enum passing before, after; /* the peak */
};

struct heaptrack {
	const struct allocsnoop_profile *p;
	FILE *out;
	struct numbered n;
	struct map strings; /* interned text -> its number */
	u32 string_cnt, trace_cnt, info_cnt;
	VEC(struct row) rows; /* in the order of numbered.stacks */
	u64 peak, kept;	      /* bytes at the peak; of them, bytes that are there at the end */
	u64 peak_ns;
	size_t last;   /* the row whose block makes the peak */
	u64 excess;    /* temporary blocks that can't be shown as such where they belong */
	bool no_peak;  /* some part of the peak is unknown, or contradicts the rest */
	u64 now;       /* bytes that are live */
	u64 done, all; /* events of this half */
	u64 from_ms, to_ms, stamp_ms;
	size_t len;
	char buf[BUFFER_SIZE];
};

/* ---- lines ---- */

static void flush(struct heaptrack *h)
{
	fwrite(h->buf, 1, h->len, h->out);
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
	if (h->len + EVENT_SIZE * 2 > sizeof(h->buf))
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
	for (u64 i = 0; i < cnt; i++) {
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
	for (u64 i = 0; i < cnt; i++) {
		put_event(h, '+', run->info);
		put_event(h, '-', run->info);
		pass_time(h, 1);
	}
}

/* Others: several at once where there is room below the peak, and never one after the other. */
static void put_passing(struct heaptrack *h, const struct heaptrack_run *run, u64 cnt, u64 room)
{
	u64 most = run->size ? MIN(room / run->size, BATCH) : BATCH;

	while (cnt) {
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
static u64 share_before(const struct heaptrack *h, const struct row *r, u64 cnt)
{
	u64 duration_ns = h->p->info.duration_ns;

	if (r->before == PASS_NEVER)
		return 0;
	if (r->after == PASS_NEVER || !duration_ns)
		return cnt;
	return (u64)((unsigned __int128)cnt * h->peak_ns / duration_ns);
}

static void put_half(struct heaptrack *h, const struct row *r, bool before, u64 room)
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

static u64 passing_events(const struct heaptrack *h, const struct row *r, bool before)
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

static void put_rise(struct heaptrack *h, struct row *r)
{
	put_part(h, '+', &r->split.part[FATE_KEPT]);
	put_part(h, '+', &r->split.part[FATE_PEAK]);
}

/* The last row's last block is the one that makes the peak. */
static void put_peak(struct heaptrack *h)
{
	struct row *r = &h->rows.v[h->last];
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
		struct row *r = &h->rows.v[i];

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
		struct row *r = &h->rows.v[i];

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
		const struct row *r = &h->rows.v[i];
		const struct heaptrack_part *part = r->split.part;

		h->all += passing_events(h, r, before);
		h->all += heaptrack_part__cnt(&part[FATE_PEAK]);
		h->all += heaptrack_part__cnt(&part[before ? FATE_KEPT : FATE_LATE]);
	}
	put_stamp(h, h->from_ms);
}

static void put_events(struct heaptrack *h)
{
	h->stamp_ms = UINT64_MAX;
	start_half(h, 0, h->peak_ns, true);
	put_first_half(h);
	start_half(h, h->peak_ns, h->p->info.duration_ns, false);
	put_second_half(h);
	put_stamp(h, h->to_ms);
	flush(h);
}

/* ---- head ---- */

static int put_string(struct heaptrack *h, const char *text, u32 *id)
{
	struct str *s = &h->n.buf;
	const char *clean;
	u64 known;

	*id = 0;
	if (!text || !*text)
		return 0;
	str__clear(s);
	str__add_utf8(s, text, strlen(text), true);
	clean = s->oom ? NULL : arena__intern(&h->n.arena, s->s);
	if (!clean)
		return -ENOMEM;
	if (map__get(&h->strings, (uintptr_t)clean, &known)) {
		*id = (u32)known;
		return 0;
	}
	fprintf(h->out, "s %zx %s\n", s->len, clean);
	*id = ++h->string_cnt;
	return map__put(&h->strings, (uintptr_t)clean, *id);
}

/* One line for each frame, those of inlined functions too, so that none is lost. */
static int put_frames(struct heaptrack *h)
{
	u32 module, function, file;
	int err = 0;

	for (size_t i = 0; i < h->n.frames.cnt && !err; i++) {
		const struct numbered_frame *nf = &h->n.frames.v[i];
		const struct allocsnoop_frame *f = nf->frame;

		err = put_string(h, f ? f->module : NULL, &module);
		if (!err)
			err = put_string(h, f && *f->function ? f->function : nf->text, &function);
		if (!err)
			err = put_string(h, f ? f->file : NULL, &file);
		if (!err)
			fprintf(h->out, "i %" PRIx64 " %x %x %x %x\n", f ? f->offset : 0, module,
				function, file, f ? f->line : 0);
	}
	return err;
}

/* How many frames from the root a stack shares with the one before it. */
static u32 shared(const struct heaptrack *h, size_t at)
{
	const struct numbered_stack *s = &h->n.stacks.v[at], *before = s - 1;
	u32 i = 0;

	while (at && i < MIN(s->cnt, before->cnt) &&
	       numbered__ids(&h->n, s)[i] == numbered__ids(&h->n, before)[i])
		i++;
	return i;
}

/* A trace is a frame and the trace of its caller; path has those of the stack at hand. */
static int put_traces(struct heaptrack *h)
{
	VEC(u32) path = {};
	int err = 0;

	for (size_t i = 0; i < h->n.stacks.cnt && !err; i++) {
		const struct numbered_stack *s = &h->n.stacks.v[i];

		for (u32 at = path.cnt = shared(h, i); at < s->cnt && !err; at++) {
			fprintf(h->out, "t %x %x\n", numbered__ids(&h->n, s)[at] + 1,
				at ? path.v[at - 1] : 0);
			err = vec__push(&path, ++h->trace_cnt);
		}
		h->rows.v[i].trace = path.v ? path.v[path.cnt - 1] : 0;
	}
	vec__free(&path);
	return err;
}

/* Kinds of blocks; kind 0 is that of no bytes. */
static int put_infos(struct heaptrack *h)
{
	u32 name, trace = 1;

	if (h->excess > 1) { /* one is the last before the peak */
		int err = put_string(h, "[temporary, live at a peak]", &name);

		if (err)
			return err;
		fprintf(h->out, "i 0 0 %x 0 0\nt %zx 0\n", name, h->n.frames.cnt + 1);
		trace = ++h->trace_cnt;
	}
	if (h->rows.cnt)
		fprintf(h->out, "a 0 %x\n", trace);
	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct row *r = &h->rows.v[i];

		for (size_t n = 0; n < FATE_CNT * 2; n++) {
			struct heaptrack_run *run = &r->split.part[n / 2].run[n % 2];

			if (!run->cnt)
				continue;
			run->info = ++h->info_cnt;
			fprintf(h->out, "a %" PRIx64 " %x\n", run->size, r->trace);
		}
	}
	return 0;
}

static int put_head(struct heaptrack *h)
{
	struct str *s = &h->n.buf;
	const char *target = h->p->info.target ? h->p->info.target : "";
	int err;

	str__clear(s);
	str__add(s, "v 10400 3\n"
		    "# Written by allocsnoop " ALLOCSNOOP_VERSION " from sums: what each stack has "
		    "allocated, had at the peak and\n"
		    "# has at the end is exact; order, times and sizes within a power of two are "
		    "not recorded.\n");
	if (h->p->processes.cnt > 1)
		str__add(s, "# The peak is the sum of each process's own.\n");
	if (h->no_peak)
		str__add(s, "# The peak isn't known of all stacks.\n");
	str__add(s, "X ");
	str__add_utf8(s, target, strlen(target), true);
	str__add(s, "\n");
	if (s->oom)
		return -ENOMEM;
	fwrite(s->s, 1, s->len, h->out);
	err = put_frames(h);
	if (!err)
		err = put_traces(h);
	return err ? err : put_infos(h);
}

/* ---- plan ---- */

static u64 bytes_of(const struct row *r, enum heaptrack_fate fate)
{
	return heaptrack_part__bytes(&r->split.part[fate]);
}

static u64 largest(const struct row *r)
{
	return heaptrack_part__largest(&r->split.part[FATE_PASSED]);
}

static int split_rows(struct heaptrack *h, bool most)
{
	h->peak = h->kept = h->excess = 0;
	h->no_peak = false;
	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct row *r = &h->rows.v[i];

		if (heaptrack_split__find(&h->p->samples.v[h->n.stacks.v[i].row], most, &r->split))
			return err__fail(-EINVAL, "format heaptrack: the numbers of a stack "
						  "contradict each other");
		h->peak =
			sum__add(h->peak, sum__add(bytes_of(r, FATE_KEPT), bytes_of(r, FATE_PEAK)));
		h->kept = sum__add(h->kept, bytes_of(r, FATE_KEPT));
		h->excess += r->split.excess_cnt;
		h->no_peak |= r->split.no_peak;
	}
	return 0;
}

/* A block that passes and is as large as the whole peak was alone, and came after it. */
static bool has_peak_alone(const struct heaptrack *h)
{
	for (size_t i = 0; i < h->rows.cnt; i++) {
		if (largest(&h->rows.v[i]) && largest(&h->rows.v[i]) >= h->peak)
			return true;
	}
	return false;
}

static void place_before(struct heaptrack *h)
{
	u64 now = 0;

	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct row *r = &h->rows.v[i];
		u64 size = largest(r);

		r->before = !size || size < h->peak - now ? PASS_WITH
			    : size < h->peak		  ? PASS_APART
							  : PASS_NEVER;
		if (i != h->last)
			now += bytes_of(r, FATE_KEPT) + bytes_of(r, FATE_PEAK);
	}
}

static void place_after(struct heaptrack *h)
{
	u64 now = h->peak;

	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct row *r = &h->rows.v[i];
		u64 size = largest(r);

		now -= bytes_of(r, FATE_PEAK);
		r->after = size <= h->peak - now       ? PASS_WITH
			   : size <= h->peak - h->kept ? PASS_APART
						       : PASS_NEVER;
		if (r->before == PASS_NEVER && r->after == PASS_NEVER) {
			r->before = PASS_APART; /* the file will have a higher peak than we know */
			h->no_peak = true;
		}
	}
}

/* The last block to come before the peak: a temporary one where such a one was live then. */
static void choose_last(struct heaptrack *h)
{
	h->last = 0;
	for (size_t i = 0; i < h->rows.cnt; i++) {
		const struct row *r = &h->rows.v[i];

		if (r->split.excess_cnt) {
			h->last = i;
			return;
		}
		if (bytes_of(r, FATE_KEPT) || bytes_of(r, FATE_PEAK))
			h->last = i;
	}
}

/* When the process with the highest peak had it. */
static u64 highest_ns(const struct allocsnoop_profile *p)
{
	u64 most = 0, ns = p->info.duration_ns;

	for (size_t i = 0; i < p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &p->processes.v[i];

		if (proc->peak_bytes <= most)
			continue;
		most = proc->peak_bytes;
		ns = proc->peak_ns;
	}
	return MIN(ns, p->info.duration_ns);
}

static int plan(struct heaptrack *h)
{
	static const struct row none;
	int err = numbered__init(&h->n, h->p, NUMBERED_ROOT_FIRST | NUMBERED_CALLERS);

	for (size_t i = 0; i < h->n.stacks.cnt && !err; i++)
		err = vec__push(&h->rows, none);
	if (!err)
		err = split_rows(h, true);
	if (!err && has_peak_alone(h))
		err = split_rows(h, false);
	if (err)
		return err;
	h->peak_ns = highest_ns(h->p);
	choose_last(h);
	place_before(h);
	place_after(h);
	return 0;
}

/* ---- what can't be told ---- */

static int refuse(const char *why, const char *hint)
{
	err__fail(-ENOTSUP, "format heaptrack: is a list of all blocks: %s", why);
	err__hint("%s", hint);
	return -ENOTSUP;
}

static int check(const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;
	int err = writer__needs_live(p, "heaptrack");

	if (err)
		return err;
	if (!info->exact || info->at_least)
		return refuse("sampled profiles don't have it", "record without sampling, or "
								"write dhat");
	if (info->older_ns)
		return refuse("with --older some are neither live nor freed",
			      "record without --older");
	if (info->trace & ~ALLOCSNOOP_TRACE_MALLOC)
		return refuse("mappings are given back in parts", "write massif, or dhat");
	if (info->alloc_count <= LINES_MAX / 2)
		return 0;
	err__fail(-EFBIG,
		  "format heaptrack: %" PRIu64 " allocations would be as many lines, and as "
		  "many more of frees: at most %llu",
		  info->alloc_count, LINES_MAX);
	err__hint("formats with sums don't grow with the allocations: dhat, pprof");
	return -EFBIG;
}

static int heaptrack_write(const struct allocsnoop_profile *p,
			   const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct heaptrack *h;
	int err = check(p);

	(void)opts;
	if (err)
		return err;
	h = calloc(1, sizeof(*h));
	if (!h)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	h->p = p;
	h->out = out;
	err = plan(h);
	if (!err)
		err = put_head(h);
	if (!err)
		put_events(h);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	vec__free(&h->rows);
	map__free(&h->strings);
	numbered__fini(&h->n);
	free(h);
	return err ? err : writer__done(out);
}

const struct writer writer_heaptrack = {
	.name = "heaptrack",
	.help = "for heaptrack_print and heaptrack_gui, of exact runs with --live",
	.extension = "heaptrack",
	.whole = true,
	.write = heaptrack_write,
};
