/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack's file, version 3, for heaptrack_print and heaptrack_gui: frames, traces, kinds of
 * blocks (a size and a trace) and the events of heaptrack_events.c. Here is also decided when in
 * relation to the peak each row's blocks come and go.
 */
#include "report/heaptrack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/writer.h"

#define LINES_MAX 200000000ull /* above that readers take minutes, and the file gigabytes */

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
		struct heaptrack_row *r = &h->rows.v[i];

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

static u64 bytes_of(const struct heaptrack_row *r, enum heaptrack_fate fate)
{
	return heaptrack_part__bytes(&r->split.part[fate]);
}

static u64 largest(const struct heaptrack_row *r)
{
	return heaptrack_part__largest(&r->split.part[FATE_PASSED]);
}

static int split_rows(struct heaptrack *h, bool most)
{
	h->peak = h->kept = h->excess = 0;
	h->no_peak = false;
	for (size_t i = 0; i < h->rows.cnt; i++) {
		struct heaptrack_row *r = &h->rows.v[i];

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
		struct heaptrack_row *r = &h->rows.v[i];
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
		struct heaptrack_row *r = &h->rows.v[i];
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
		const struct heaptrack_row *r = &h->rows.v[i];

		if (r->split.excess_cnt) {
			h->last = i;
			return;
		}
		if (bytes_of(r, FATE_KEPT) || bytes_of(r, FATE_PEAK))
			h->last = i;
	}
}

static int plan(struct heaptrack *h)
{
	static const struct heaptrack_row none;
	const struct allocsnoop_process *highest = writer__highest(h->p);
	u64 end_ns = h->p->info.duration_ns;
	int err = numbered__init(&h->n, h->p, NUMBERED_ROOT_FIRST | NUMBERED_CALLERS);

	for (size_t i = 0; i < h->n.stacks.cnt && !err; i++)
		err = vec__push(&h->rows, none);
	if (!err)
		err = split_rows(h, true);
	if (!err && has_peak_alone(h))
		err = split_rows(h, false);
	if (err)
		return err;
	h->peak_ns = highest ? MIN(highest->peak_ns, end_ns) : end_ns;
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
		heaptrack__put_events(h);
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
