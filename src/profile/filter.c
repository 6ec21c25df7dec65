/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the reader wants to see of a profile: rows by the functions in them, without functions that
 * say nothing, without lines. The one idea: rows share lists of frames and lists share frames, so
 * each frame meets the regular expressions once, and each list is judged and shortened once.
 *
 * Totals must not lie: where rows are left out, all that is a sum over rows is summed again, also
 * of processes, and what the whole had stays beside it.
 */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "profile/copy.h"

struct pattern {
	regex_t re;
	bool given;
};

struct known_frame {
	const struct allocsnoop_frame *shown; /* NULL: left out */
	bool focused;
	bool ignored;
};

struct known_list {
	size_t from_cnt;
	const struct allocsnoop_frame *const *frames;
	size_t frame_cnt;
	bool out; /* rows with it don't stay */
};

struct filter {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	struct allocsnoop_profile *to;
	struct pattern focus, ignore, hide;
	struct arena scratch;
	struct map frames; /* frame -> struct known_frame * */
	struct map lists;  /* list of frames -> struct known_list * */
	struct map processes;
};

/* ---- regular expressions ---- */

static int pattern__init(struct pattern *pattern, const char *regex)
{
	char why[256];
	int err;

	if (!regex)
		return 0;
	err = regcomp(&pattern->re, regex, REG_EXTENDED | REG_NOSUB);
	pattern->given = !err;
	if (!err)
		return 0;
	regerror(err, &pattern->re, why, sizeof(why));
	return err__fail(err == REG_ESPACE ? -ENOMEM : -EINVAL, "'%s': %s", regex, why);
}

static void pattern__fini(struct pattern *pattern)
{
	if (pattern->given)
		regfree(&pattern->re);
}

int allocsnoop__check_regex(const char *regex)
{
	struct pattern pattern = {};
	int err = pattern__init(&pattern, regex);

	pattern__fini(&pattern);
	return err;
}

/* 1, 0, or -ENOMEM. */
static int pattern__matches(const struct pattern *pattern, const struct allocsnoop_frame *f)
{
	const char *const texts[] = { f->function, f->module };

	for (size_t i = 0; pattern->given && i < ARRAY_SIZE(texts); i++) {
		int err = regexec(&pattern->re, texts[i], 0, NULL, 0);

		if (!err)
			return 1;
		if (err != REG_NOMATCH)
			return -ENOMEM;
	}
	return 0;
}

static int match(const struct pattern *pattern, const struct allocsnoop_frame *f, bool *matches)
{
	int got = pattern__matches(pattern, f);

	*matches = got > 0;
	return MIN(got, 0);
}

/* ---- frames ---- */

/* NULL: out of memory. */
static const struct allocsnoop_frame *without_line(struct filter *f,
						   const struct allocsnoop_frame *frame)
{
	struct allocsnoop_frame *bare;

	if (f->opts->lines || (!frame->file && !frame->line))
		return frame;
	bare = arena__alloc(&f->to->arena, sizeof(*bare));
	if (!bare)
		return NULL;
	*bare = *frame;
	bare->file = NULL;
	bare->line = 0;
	return bare;
}

static int frame__judge(struct filter *f, const struct allocsnoop_frame *frame,
			struct known_frame *k)
{
	bool hidden = false;
	int err;

	if (frame->inlined && (!f->opts->lines || f->opts->no_inlines))
		return 0;
	err = match(&f->focus, frame, &k->focused);
	if (!err)
		err = match(&f->ignore, frame, &k->ignored);
	if (!err)
		err = match(&f->hide, frame, &hidden);
	if (err || hidden)
		return err;
	k->shown = without_line(f, frame);
	return k->shown ? 0 : -ENOMEM;
}

/* NULL: out of memory. */
static const struct known_frame *frame__know(struct filter *f, const struct allocsnoop_frame *frame)
{
	struct known_frame *k;
	u64 old;

	if (map__get(&f->frames, (uintptr_t)frame, &old))
		return (const void *)(uintptr_t)old;
	k = arena__alloc(&f->scratch, sizeof(*k));
	if (!k || frame__judge(f, frame, k) || map__put(&f->frames, (uintptr_t)frame, (uintptr_t)k))
		return NULL;
	return k;
}

/* ---- lists ---- */

static int list__shorten(struct filter *f, const struct allocsnoop_sample *s, struct known_list *l)
{
	const struct allocsnoop_frame **shown =
		arena__alloc(&f->to->arena, (l->frame_cnt + !l->frame_cnt) * sizeof(*shown));
	size_t cnt = 0;

	if (!shown)
		return -ENOMEM;
	for (size_t i = 0; i < s->frame_cnt; i++) {
		const struct known_frame *k = frame__know(f, s->frames[i]);

		if (!k)
			return -ENOMEM;
		if (k->shown)
			shown[cnt++] = k->shown;
	}
	l->frames = shown;
	return 0;
}

static int list__judge(struct filter *f, const struct allocsnoop_sample *s, struct known_list *l)
{
	bool focused = !f->focus.given, same = true;

	l->from_cnt = s->frame_cnt;
	for (size_t i = 0; i < s->frame_cnt; i++) {
		const struct known_frame *k = frame__know(f, s->frames[i]);

		if (!k)
			return -ENOMEM;
		focused |= k->focused;
		l->out |= k->ignored;
		l->frame_cnt += k->shown != NULL;
		same &= k->shown == s->frames[i];
	}
	l->out |= !focused;
	l->frames = s->frames;
	return same || l->out ? 0 : list__shorten(f, s, l);
}

/* NULL: out of memory. */
static const struct known_list *list__know(struct filter *f, const struct allocsnoop_sample *s)
{
	struct known_list *l;
	u64 old;

	if (map__get(&f->lists, (uintptr_t)s->frames, &old)) {
		l = (void *)(uintptr_t)old;
		if (l->from_cnt == s->frame_cnt)
			return l;
	}
	l = arena__alloc(&f->scratch, sizeof(*l));
	if (!l || list__judge(f, s, l) || map__put(&f->lists, (uintptr_t)s->frames, (uintptr_t)l))
		return NULL;
	return l;
}

/* ---- rows ---- */

static int filter__rows(struct filter *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->p->samples.cnt; i++) {
		struct allocsnoop_sample row = f->p->samples.v[i];
		const struct known_list *l = list__know(f, &row);

		if (!l)
			return -ENOMEM;
		if (l->out)
			continue;
		row.frames = l->frames;
		row.frame_cnt = l->frame_cnt;
		err = profile__add_sample(f->to, &row);
	}
	return err;
}

/* ---- totals of the rows that stay ---- */

/* Rows of windows (max_overhead) vary together: their variances don't add up to that of the total.
 * The rows that stay are taken to be as much more uncertain together as all are. */
static double together(double se, double all_var)
{
	return all_var > 0 ? se / sqrt(all_var) : 1;
}

static void filter__totals(struct filter *f)
{
	const struct allocsnoop_info *all = &f->p->info;
	struct allocsnoop_info *info = &f->to->info;
	struct allocsnoop_sample sum;

	profile__finish(f->to);
	info->filtered = true;
	if (!all->filtered) { /* else it is a part of a part */
		info->all_alloc_count = all->alloc_count;
		info->all_alloc_bytes = all->alloc_bytes;
		info->all_live_count = all->live_count;
		info->all_live_bytes = all->live_bytes;
	}
	if (all->exact || !(all->budget_pct > 0))
		return;
	profile__sum(f->p, &sum);
	info->alloc_count_se *= together(all->alloc_count_se, sum.alloc_count_var);
	info->alloc_bytes_se *= together(all->alloc_bytes_se, sum.alloc_bytes_var);
}

static u64 process__key(u32 pid, const char *comm)
{
	u64 h = pid;

	for (; *comm; comm++)
		h = (h ^ (u8)*comm) * 0x100000001b3ULL; /* FNV-1a */
	return map__mix(h, pid);
}

/* Whose row it is: of images with one id and name the first; NULL: out of memory. */
static struct allocsnoop_process *filter__process(struct filter *f,
						  const struct allocsnoop_sample *s)
{
	struct allocsnoop_process unlisted = { .pid = s->pid, .comm = s->comm, .exe = "" };
	u64 key = process__key(s->pid, s->comm), i;

	if (map__get(&f->processes, key, &i))
		return &f->to->processes.v[i];
	/* A sum of several, as sums of profiles have them. */
	unlisted.count = MAX(s->pid_cnt, 1u);
	if (profile__add_process(f->to, &unlisted) ||
	    map__put(&f->processes, key, f->to->processes.cnt - 1))
		return NULL;
	return &f->to->processes.v[f->to->processes.cnt - 1];
}

/* ---- processes of several profiles ---- */

static void process__fold(struct allocsnoop_process *to, const struct allocsnoop_process *proc)
{
	if (strcmp(to->exe, proc->exe))
		to->exe = "";
	if (strcmp(to->cgroup, proc->cgroup))
		to->cgroup = "";
	if (strcmp(to->container, proc->container))
		to->container = "";
	to->exited &= proc->exited;
	to->rss_anon = sum__add(to->rss_anon, proc->rss_anon);
	to->unknown_frees = sum__add(to->unknown_frees, proc->unknown_frees);
	to->count = sum__add(MAX(to->count, 1u), MAX(proc->count, 1u));
}

/* How often the list has each, and which of them have rows of their own. */
static int filter__count(const struct filter *f, struct map *times, struct map *own)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->to->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &f->to->processes.v[i];
		u64 key = process__key(proc->pid, proc->comm), cnt = 0;

		map__get(times, key, &cnt);
		err = map__put(times, key, cnt + 1);
	}
	for (size_t i = 0; !err && i < f->p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &f->p->samples.v[i];

		err = map__put(own, process__key(s->pid, s->comm), 0);
	}
	return err;
}

static int filter__fold_counted(struct filter *f, const struct map *times, const struct map *own,
				struct map *sums)
{
	size_t cnt = 0;

	for (size_t i = 0; i < f->to->processes.cnt; i++) {
		struct allocsnoop_process proc = f->to->processes.v[i];
		u64 key = process__key(proc.pid, proc.comm), sum = process__key(0, proc.comm), at;

		map__get(times, key, &at);
		if (!proc.pid || (at > 1 && !map__get(own, key, &at))) {
			if (map__get(sums, sum, &at)) {
				process__fold(&f->to->processes.v[at], &proc);
				continue;
			}
			if (map__put(sums, sum, cnt))
				return -ENOMEM;
			proc.pid = 0;
		}
		f->to->processes.v[cnt++] = proc;
	}
	f->to->processes.cnt = cnt;
	return 0;
}

/* A sum of profiles has one row for processes that several of them know, so it can't be told which
 * of those the rows that stay are of: in the list they become one, too. */
static int filter__fold_processes(struct filter *f)
{
	struct map times = {}, own = {}, sums = {};
	int err = 0;

	if (f->to->info.profile_cnt > 1)
		err = filter__count(f, &times, &own);
	if (!err && f->to->info.profile_cnt > 1)
		err = filter__fold_counted(f, &times, &own, &sums);
	map__free(&times);
	map__free(&own);
	map__free(&sums);
	return err;
}

static int filter__forget_sums(struct filter *f)
{
	int err = 0;

	for (size_t i = f->to->processes.cnt; !err && i-- > 0;) {
		struct allocsnoop_process *proc = &f->to->processes.v[i];

		proc->alloc_count = proc->alloc_bytes = proc->sampled_count = 0;
		proc->alloc_count_se = proc->alloc_bytes_se = 0;
		proc->live_count = proc->live_bytes = 0;
		proc->peak_count = proc->peak_bytes = 0;
		err = map__put(&f->processes, process__key(proc->pid, proc->comm), i);
	}
	return err;
}

static void process__add(struct allocsnoop_process *proc, const struct allocsnoop_sample *s)
{
	proc->alloc_count = sum__add(proc->alloc_count, s->alloc_count);
	proc->alloc_bytes = sum__add(proc->alloc_bytes, s->alloc_bytes);
	proc->sampled_count = sum__add(proc->sampled_count, s->sampled_count);
	proc->alloc_count_se = hypot(proc->alloc_count_se, sqrt(s->alloc_count_var));
	proc->alloc_bytes_se = hypot(proc->alloc_bytes_se, sqrt(s->alloc_bytes_var));
	proc->live_count = sum__add(proc->live_count, s->live_count);
	proc->live_bytes = sum__add(proc->live_bytes, s->live_bytes);
	proc->peak_count = sum__add(proc->peak_count, s->peak_count);
	proc->peak_bytes = sum__add(proc->peak_bytes, s->peak_bytes);
	proc->at_least |= s->at_least;
}

static int filter__processes(struct filter *f)
{
	int err = filter__fold_processes(f);

	if (!err)
		err = filter__forget_sums(f);
	for (size_t i = 0; !err && i < f->to->samples.cnt; i++) {
		struct allocsnoop_process *proc = filter__process(f, &f->to->samples.v[i]);

		if (!proc)
			return -ENOMEM;
		process__add(proc, &f->to->samples.v[i]);
	}
	return err;
}

/* ---- the whole ---- */

static int filter__run(struct filter *f)
{
	int err = info__copy(&f->to->arena, &f->to->info, &f->p->info);

	if (!err)
		err = profile__copy_processes(f->to, f->p);
	if (!err)
		err = profile__copy_losses(f->to, f->p);
	if (!err)
		err = filter__rows(f);
	if (err)
		return err;
	if (!f->focus.given && !f->ignore.given)
		return profile__copy_points(f->to, f->p);
	filter__totals(f);
	if (!f->to->info.diff)
		return filter__processes(f);
	f->to->processes.cnt = 0; /* rows of a difference have no ids to tell whose they are */
	return 0;
}

static int filter__init(struct filter *f)
{
	int err = pattern__init(&f->focus, f->opts->focus);

	if (!err)
		err = pattern__init(&f->ignore, f->opts->ignore);
	if (!err)
		err = pattern__init(&f->hide, f->opts->hide);
	if (err)
		return err;
	f->to = profile__new();
	err = f->to ? filter__run(f) : -ENOMEM;
	return err ? err__fail(err, "out of memory for the report") : 0;
}

/* Would any frame be left out or lose its line? */
static bool is_changed(const struct allocsnoop_profile *p,
		       const struct allocsnoop_report_opts *opts)
{
	if (opts->focus || opts->ignore || opts->hide)
		return true;
	for (size_t i = 0; i < p->samples.cnt && (!opts->lines || opts->no_inlines); i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		for (size_t k = 0; k < s->frame_cnt; k++) {
			const struct allocsnoop_frame *f = s->frames[k];

			if (f->inlined || (!opts->lines && (f->file || f->line)))
				return true;
		}
	}
	return false;
}

int profile__filter(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		    struct allocsnoop_profile **view)
{
	struct filter f = { .p = p, .opts = opts };
	int err;

	*view = NULL;
	if (!is_changed(p, opts))
		return 0;
	err = filter__init(&f);
	pattern__fini(&f.focus);
	pattern__fini(&f.ignore);
	pattern__fini(&f.hide);
	map__free(&f.frames);
	map__free(&f.lists);
	map__free(&f.processes);
	arena__free(&f.scratch);
	if (err)
		profile__free(f.to);
	else
		*view = f.to;
	return err;
}
