/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What valgrind's DHAT writes (version 2 of its file), for dh_view.html and for what imports it.
 * Totals, lifetimes, the peak and the end of each stack; a member that the viewer doesn't know,
 * "notes", says what the numbers are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/json.h"
#include "report/numbered.h"
#include "report/writer.h"

#define SHORT_LIVED_US 10
#define NS_PER_US      1000

struct dhat {
	struct json j;
	struct numbered n;
};

/* One stack's numbers. */
struct dhat_point {
	struct allocsnoop_sample sum;
	double lives_ns; /* of all its blocks whose life is known */
};

static int flush_buf(struct json *j)
{
	if (j->buf.oom)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	fwrite(j->buf.s, 1, j->buf.len, j->out);
	str__clear(&j->buf);
	return ferror(j->out) ? writer__done(j->out) : 0;
}

/* ---- head ---- */

/* One more of a list, in a line of its own. */
static void add_more(struct json *j, const char *text)
{
	str__add(&j->buf, ",\n ");
	json__string(j, text);
}

static void add_loss(struct json *j, const struct allocsnoop_loss *loss)
{
	struct str line = {};

	str__addf(&line, "lost: %s %" PRIu64 ": %s", loss->name, loss->count, loss->text);
	if (line.oom)
		j->buf.oom = true;
	else
		add_more(j, line.s);
	str__free(&line);
}

static void add_part(struct json *j)
{
	struct str line = {};

	info__say_part(&line, &j->p->info);
	j->buf.oom |= line.oom;
	if (line.len)
		add_more(j, line.s);
	str__free(&line);
}

static void add_notes(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	str__add(&j->buf, ",\n\"notes\": [");
	json__string(j, "written by allocsnoop " ALLOCSNOOP_VERSION);
	if (!info->exact)
		add_more(j,
			 "sampled: numbers are estimates, and the peak (gb, gbk, tg) is unknown");
	else if (j->p->processes.cnt > 1)
		add_more(j, "gb and gbk are of each process's own peak, tg is the highest one's "
			    "time");
	add_more(j, "mb and mbk: at least so much; a stack's own maximum isn't recorded");
	add_more(j, "tl: blocks that were freed, and live ones up to now; no others");
	if (info->older_ns)
		add_more(j, "eb and ebk: only blocks of at least the age that was asked for");
	add_part(j);
	for (size_t i = 0; i < j->p->losses.cnt; i++)
		add_loss(j, &j->p->losses.v[i]);
	str__add(&j->buf, "]");
}

/* Without control characters: the viewer shows it as it is. */
static void add_command(struct dhat *d)
{
	const char *target = d->j.p->info.target ? d->j.p->info.target : "";
	struct str clean = {};

	str__add_utf8(&clean, target, strlen(target), true);
	d->j.buf.oom |= clean.oom;
	json__str(&d->j, "cmd", clean.s ? clean.s : "");
	str__free(&clean);
}

static int write_head(struct dhat *d)
{
	const struct allocsnoop_info *info = &d->j.p->info;
	const struct allocsnoop_process *peak = writer__highest(d->j.p);
	struct json *j = &d->j;

	str__add(&j->buf, "{");
	json__u64(j, "dhatFileVersion", 2);
	json__str(j, "mode", "heap");
	json__str(j, "verb", "Allocated");
	json__bool(j, "bklt", true);
	json__bool(j, "bkacc", false);
	json__str(j, "tu", "us");
	json__str(j, "Mtu", "s");
	json__u64(j, "tuth", SHORT_LIVED_US);
	add_command(d);
	json__u64(j, "pid", j->p->processes.cnt == 1 ? j->p->processes.v[0].pid : 0);
	json__u64(j, "te", info->duration_ns / NS_PER_US);
	json__u64(j, "tg", peak ? MIN(peak->peak_ns, info->duration_ns) / NS_PER_US : 0);
	add_notes(j);
	return flush_buf(j);
}

/* ---- stacks ---- */

static void point__add(struct dhat_point *pt, const struct allocsnoop_sample *s)
{
	sample__add(&pt->sum, s);
	pt->lives_ns +=
		s->freed_mean_ns * (double)s->freed_count + s->live_mean_ns * (double)s->live_count;
}

/* Bytes that were live at one moment at least: some block isn't smaller than the mean. */
static u64 most_bytes(const struct allocsnoop_sample *s)
{
	u64 cnt = s->alloc_count, block = cnt ? s->alloc_bytes / cnt + !!(s->alloc_bytes % cnt) : 0;

	return MAX(block, MAX(s->peak_bytes, s->live_bytes));
}

/* JSON has no infinity, and no reader numbers beyond 64 bits. */
static u64 whole_us(double ns)
{
	double us = round(ns / NS_PER_US);

	return us >= 0 && us < 0x1p64 ? (u64)us : us >= 0x1p64 ? UINT64_MAX : 0;
}

static void add_ids(struct json *j, const u32 *ids, u32 cnt)
{
	json__key(j, "fs");
	for (u32 i = 0; i < cnt; i++)
		str__addf(&j->buf, "%s%u", i ? "," : "[", ids[i] + 1); /* 0 is the root */
	str__add(&j->buf, "]");
}

/* Stacks that differ in nothing that the format knows must be one: the viewer refuses others. */
static void add_point(struct dhat *d, const struct numbered_stack *s)
{
	const struct numbered_stack *end = d->n.stacks.v + d->n.stacks.cnt;
	struct dhat_point pt = {};
	struct json *j = &d->j;
	u64 one;

	for (const struct numbered_stack *i = s; i < end && numbered__equal(&d->n, i, s); i++)
		point__add(&pt, &j->p->samples.v[i->row]);
	one = pt.sum.alloc_count ? 1 : 0;
	str__add(&j->buf, "{");
	json__u64(j, "tb", pt.sum.alloc_bytes);
	json__u64(j, "tbk", pt.sum.alloc_count);
	json__u64(j, "tl", whole_us(pt.lives_ns));
	json__u64(j, "mb", most_bytes(&pt.sum));
	json__u64(j, "mbk", MAX(MAX(pt.sum.peak_count, pt.sum.live_count), one));
	json__u64(j, "gb", pt.sum.peak_bytes);
	json__u64(j, "gbk", pt.sum.peak_count);
	json__u64(j, "eb", pt.sum.live_bytes);
	json__u64(j, "ebk", pt.sum.live_count);
	add_ids(j, numbered__ids(&d->n, s), s->cnt);
	str__add(&j->buf, "}");
}

static int by_row(const void *left, const void *right)
{
	const struct numbered_stack *const *a = left, *const *b = right;

	return (*a)->row < (*b)->row ? -1 : (*a)->row > (*b)->row;
}

/* The first one of each stack, in the order of the profile's rows. */
static int first_ones(const struct numbered *n, const struct numbered_stack ***list, size_t *cnt)
{
	*cnt = 0;
	*list = malloc((n->stacks.cnt + 1) * sizeof(**list));
	if (!*list)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	for (size_t i = 0; i < n->stacks.cnt; i++) {
		if (!i || !numbered__equal(n, &n->stacks.v[i - 1], &n->stacks.v[i]))
			(*list)[(*cnt)++] = &n->stacks.v[i];
	}
	qsort(*list, *cnt, sizeof(**list), by_row);
	return 0;
}

static int write_points(struct dhat *d)
{
	const struct numbered_stack **list;
	struct json *j = &d->j;
	size_t cnt;
	int err = first_ones(&d->n, &list, &cnt);

	str__add(&j->buf, ",\n\"pps\": [");
	for (size_t i = 0; i < cnt && !err; i++) {
		str__add(&j->buf, i ? ",\n" : "\n");
		add_point(d, list[i]);
		err = flush_buf(j);
	}
	free(list);
	str__add(&j->buf, "]");
	return err;
}

static int write_frames(struct dhat *d)
{
	struct json *j = &d->j;
	int err = 0;

	str__add(&j->buf, ",\n\"ftbl\": [\"[root]\"");
	for (size_t i = 0; i < d->n.frames.cnt && !err; i++) {
		add_more(j, d->n.frames.v[i].text);
		err = flush_buf(j);
	}
	str__add(&j->buf, "]}\n");
	return err ? err : flush_buf(j);
}

static int dhat_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	unsigned threads = opts->by == ALLOCSNOOP_BY_THREAD ? NUMBERED_THREADS : 0;
	struct dhat d = { .j = { .out = out, .p = p } };
	int err = writer__needs_live(p, "dhat");

	if (err)
		return err;
	err = numbered__init(&d.n, p, NUMBERED_PROCESSES | threads);
	if (!err)
		err = write_head(&d);
	if (!err)
		err = write_points(&d);
	if (!err)
		err = write_frames(&d);
	numbered__fini(&d.n);
	str__free(&d.j.buf);
	str__free(&d.j.clean);
	return err ? err : writer__done(out);
}

const struct writer writer_dhat = {
	.name = "dhat",
	.help = "for valgrind's dh_view.html: totals, lifetimes, peak and end of each stack",
	.extension = "dhat.json",
	.write = dhat_write,
};
