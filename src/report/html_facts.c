/* SPDX-License-Identifier: BSD-2-Clause */
/* What the page says besides stacks: the recording and how sure its numbers are, losses, processes,
 * sizes, lifetimes and the course. Small whatever the profile: long lists are summed at their ends.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

#define PROCESSES_MAX 500
#define TEXT_MAX      256 /* bytes of a path that are shown */
#define POINTS_MAX    1000
#define OCTAVES	      65 /* 0, 1, 2..3, 4..7 and so on */

/* ---- the recording ---- */

/* Exact in a browser, too, whose numbers are good for 53 bits only. */
static void add_big(struct json *j, const char *key, u64 val)
{
	json__key(j, key);
	str__addf(&j->buf, "\"%" PRIu64 "\"", val);
}

static void add_budget(struct json *j, const struct allocsnoop_info *info)
{
	if (!(info->budget_pct > 0))
		return;
	json__real(j, "budget_pct", info->budget_pct);
	json__real(j, "cost_pct", info->cost_pct);
	json__real(j, "coverage", info->coverage);
	json__u64(j, "windows", info->windows);
	json__real(j, "window_ns", info->window_ns);
}

static void add_live(struct json *j, const struct allocsnoop_info *info)
{
	if (!j->live)
		return;
	add_big(j, "freed_bytes", info->freed_bytes);
	add_big(j, "freed_count", info->freed_count);
	add_big(j, "exit_bytes", info->exit_bytes);
	add_big(j, "exit_count", info->exit_count);
	add_big(j, "untracked_bytes", info->untracked_bytes);
	add_big(j, "untracked_count", info->untracked_count);
	add_big(j, "unknown_frees", info->unknown_frees);
	json__u64(j, "older_ns", info->older_ns);
	json__real(j, "live_bytes_se", info->live_bytes_se);
	json__real(j, "live_count_se", info->live_count_se);
}

static void add_sampling(struct json *j, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;
	u64 sampled_cnt = 0;

	for (size_t i = 0; i < p->samples.cnt; i++)
		sampled_cnt = sum__add(sampled_cnt, p->samples.v[i].sampled_count);
	json__bool(j, "exact", info->exact);
	json__u64(j, "sampling", info->sampling);
	json__real(j, "sampling_value", info->sampling_value);
	add_big(j, "sampled_count", sampled_cnt);
	json__real(j, "alloc_bytes_se", info->alloc_bytes_se);
	json__real(j, "alloc_count_se", info->alloc_count_se);
	json__bool(j, "at_least", info->at_least);
	add_budget(j, info);
}

static void add_part(struct json *j, const struct allocsnoop_info *info)
{
	struct str text = {};

	info__say_part(&text, info);
	j->buf.oom |= text.oom;
	if (text.len)
		json__str(j, "part", text.s);
	str__free(&text);
}

static void add_info(struct html *h, const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = &p->info;
	struct json *j = &h->j;

	str__add(&j->buf, "{");
	json__str(j, "version", ALLOCSNOOP_VERSION);
	str__add(&j->buf, ",\n\"info\":{");
	json__str(j, "mode", info->mode);
	json__str(j, "target", info->target);
	if (info->diff && info->base_target)
		json__str(j, "base_target", info->base_target);
	json__bool(j, "diff", info->diff);
	json__bool(j, "grown", info->grown);
	json__u64(j, "trace", info->trace);
	json__u64(j, "started_ns", info->started_ns);
	json__u64(j, "duration_ns", info->duration_ns);
	add_big(j, "events", info->events);
	add_big(j, "failed_count", info->failed_count);
	add_sampling(j, p);
	add_live(j, info);
	add_part(j, info);
	str__add(&j->buf, "}");
}

static int add_losses(struct html *h, const struct allocsnoop_profile *p)
{
	int err = 0;

	html__array(h, "losses");
	for (size_t i = 0; !err && i < p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &p->losses.v[i];

		str__add(&h->j.buf, i ? ",[" : "[");
		json__string(&h->j, l->name);
		str__add(&h->j.buf, ",");
		json__string(&h->j, l->text ? l->text : "");
		str__addf(&h->j.buf, ",\"%" PRIu64 "\"]", l->count);
		err = html__flush(h);
	}
	str__add(&h->j.buf, "]");
	return err;
}

static void add_kinds(struct html *h, const struct allocsnoop_report_opts *opts)
{
	const char *comma = "";

	html__array(h, "kinds");
	for (size_t k = 0; k < HTML_KINDS; k++) {
		if (!h->shown[k])
			continue;
		str__addf(&h->j.buf, "%s\"%s\"", comma, html_kinds[k].name);
		comma = ",";
	}
	str__add(&h->j.buf, "],\n\"totals\":{");
	for (size_t k = 0; k < HTML_KINDS; k++) {
		if (h->shown[k])
			add_big(&h->j, html_kinds[k].name, h->totals[k]);
	}
	str__addf(&h->j.buf, "},\n\"value\":\"%s\"",
		  html_kinds[(size_t)opts->value < HTML_VALUES ? opts->value : 0].name);
}

/* ---- sizes and lifetimes ---- */

/* The power of two that all sizes of a row are in; OCTAVES where there are several. */
static size_t octave(const struct allocsnoop_sample *s)
{
	size_t low = s->size_low ? 64 - __builtin_clzll(s->size_low) : 0;
	size_t high = s->size_high ? 64 - __builtin_clzll(s->size_high) : 0;

	return low == high ? low : OCTAVES;
}

/* [octave, a number for each kind]; of those that have any. */
static int add_sizes(struct html *h, const struct allocsnoop_profile *p)
{
	u64(*sums)[HTML_KINDS] = calloc(OCTAVES + 1, sizeof(*sums));
	const char *comma = "";

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < p->samples.cnt; i++) {
		u64 *to = sums[octave(&p->samples.v[i])];

		for (size_t k = 0; k < HTML_KINDS; k++)
			to[k] = sum__add(to[k], html_kinds[k].value(&p->samples.v[i]));
	}
	html__array(h, "sizes");
	for (size_t i = 0; i <= OCTAVES; i++) {
		if (html__share(sums[i], h->totals) == 0)
			continue;
		str__addf(&h->j.buf, "%s[%zu", comma, i);
		for (size_t k = 0; k < HTML_KINDS; k++) {
			if (h->shown[k])
				html__number(h, ",", sums[i][k]);
		}
		str__add(&h->j.buf, "]");
		comma = ",";
	}
	str__add(&h->j.buf, "]");
	free(sums);
	return html__flush(h);
}

/* [power of two of nanoseconds, freed blocks, live blocks] */
static void add_lifetimes(struct html *h, const struct allocsnoop_profile *p)
{
	struct allocsnoop_lifetimes all = {};
	const char *comma = "";

	for (size_t i = 0; i < p->samples.cnt; i++) {
		if (p->samples.v[i].lifetimes)
			lifetimes__add(&all, p->samples.v[i].lifetimes);
	}
	html__array(h, "lifetimes");
	for (size_t i = 0; i < ALLOCSNOOP_LIFE_CLASSES; i++) {
		if (!all.freed[i] && !all.live[i])
			continue;
		str__addf(&h->j.buf, "%s[%zu,%" PRIu64 ",%" PRIu64 "]", comma, i, all.freed[i],
			  all.live[i]);
		comma = ",";
	}
	str__add(&h->j.buf, "]");
}

/* [nanoseconds, allocated bytes and blocks, live bytes and blocks]; of many, some and the last */
static int add_points(struct html *h, const struct allocsnoop_profile *p)
{
	size_t step = p->points.cnt / POINTS_MAX + 1;
	const char *comma = "";

	html__array(h, "points");
	for (size_t i = (p->points.cnt + step - 1) % step; i < p->points.cnt; i += step) {
		const struct allocsnoop_point *o = &p->points.v[i];

		str__addf(&h->j.buf,
			  "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", comma,
			  o->time_ns, o->alloc_bytes, o->alloc_count, o->live_bytes, o->live_count);
		comma = ",";
	}
	str__add(&h->j.buf, "]");
	return html__flush(h);
}

/* ---- processes ---- */

struct process_sums {
	u64 alloc_bytes, live_bytes, alloc_count;
};

struct ranked_process {
	const struct allocsnoop_process *proc;
	double share;
};

static double part(u64 of, u64 whole)
{
	return whole ? (double)of / (double)whole : 0;
}

static int cmp_processes(const void *x, const void *y)
{
	const struct ranked_process *a = x, *b = y;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return (a->proc > b->proc) - (a->proc < b->proc);
}

static struct ranked_process *processes__rank(const struct allocsnoop_profile *p)
{
	struct ranked_process *list = calloc(p->processes.cnt + 1, sizeof(*list));
	struct process_sums all = {};

	for (size_t i = 0; i < p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &p->processes.v[i];

		all.alloc_bytes = sum__add(all.alloc_bytes, proc->alloc_bytes);
		all.alloc_count = sum__add(all.alloc_count, proc->alloc_count);
		all.live_bytes = sum__add(all.live_bytes, proc->live_bytes);
	}
	for (size_t i = 0; list && i < p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &p->processes.v[i];

		list[i].proc = proc;
		list[i].share = fmax(fmax(part(proc->alloc_bytes, all.alloc_bytes),
					  part(proc->alloc_count, all.alloc_count)),
				     part(proc->live_bytes, all.live_bytes));
	}
	if (list)
		qsort(list, p->processes.cnt, sizeof(*list), cmp_processes);
	return list;
}

static void add_text(struct json *j, const char *key, const char *text)
{
	char cut[TEXT_MAX + 1];
	size_t len = strnlen(text, TEXT_MAX);

	/* A character that is cut in half becomes a sign for that. */
	memcpy(cut, text, len);
	cut[len] = '\0';
	json__str(j, key, cut);
}

static void add_process(struct html *h, const struct allocsnoop_process *proc)
{
	struct json *j = &h->j;

	json__u64(j, "pid", proc->pid);
	add_text(j, "comm", proc->comm);
	add_text(j, "exe", proc->exe);
	json__bool(j, "exited", proc->exited);
	json__u64(j, "count", MAX(proc->count, 1u));
	if (*proc->container)
		add_text(j, "container", proc->container);
	if (proc->at_least)
		json__bool(j, "at_least", true);
	json__u64(j, "alloc_bytes", proc->alloc_bytes);
	json__u64(j, "alloc_count", proc->alloc_count);
	if (!h->stacks->info.exact) {
		json__real(j, "alloc_bytes_se", proc->alloc_bytes_se);
		json__u64(j, "sampled", proc->sampled_count);
	}
	if (!j->live)
		return;
	json__u64(j, "live_bytes", proc->live_bytes);
	json__u64(j, "live_count", proc->live_count);
	json__u64(j, "peak_bytes", proc->peak_bytes);
	json__u64(j, "peak_ns", proc->peak_ns);
	json__u64(j, "rss_anon", proc->rss_anon);
}

/* Those beyond the table: processes, allocated bytes, allocations, live bytes. */
static void add_more_processes(struct html *h, const struct ranked_process *list, size_t cnt)
{
	struct process_sums all = {};
	u64 processes = 0;

	for (size_t i = 0; i < cnt; i++) {
		processes = sum__add(processes, MAX(list[i].proc->count, 1u));
		all.alloc_bytes = sum__add(all.alloc_bytes, list[i].proc->alloc_bytes);
		all.alloc_count = sum__add(all.alloc_count, list[i].proc->alloc_count);
		all.live_bytes = sum__add(all.live_bytes, list[i].proc->live_bytes);
	}
	html__array(h, "more_processes");
	str__addf(&h->j.buf, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", processes,
		  all.alloc_bytes, all.alloc_count, all.live_bytes);
}

static int add_processes(struct html *h, const struct allocsnoop_profile *p)
{
	struct ranked_process *list = processes__rank(p);
	size_t cnt = MIN(p->processes.cnt, (size_t)PROCESSES_MAX);
	int err = 0;

	if (!list)
		return -ENOMEM;
	html__array(h, "processes");
	for (size_t i = 0; !err && i < cnt; i++) {
		str__add(&h->j.buf, i ? ",\n{" : "{");
		add_process(h, list[i].proc);
		str__add(&h->j.buf, "}");
		err = html__flush(h);
	}
	str__add(&h->j.buf, "]");
	add_more_processes(h, list + cnt, p->processes.cnt - cnt);
	free(list);
	return err;
}

int html__add_facts(struct html *h, const struct allocsnoop_profile *p,
		    const struct allocsnoop_report_opts *opts)
{
	int err;

	add_info(h, p);
	err = add_losses(h, p);
	add_kinds(h, opts);
	if (!err)
		err = add_sizes(h, p);
	add_lifetimes(h, p);
	if (!err)
		err = add_points(h, p);
	if (!err)
		err = add_processes(h, p);
	return err;
}
