/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes profiles: each stack is named once, its frame list is shared by its rows. */
#include "making.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "proc/cgroup.h"
#include "proc/task.h"
#include "trace/govern.h"
#include "trace/over.h"

static int making__stack(struct making *m, const struct recorded_row *row,
			 const struct traced_site *site, const char *allocator,
			 struct stack_frames *out)
{
	const struct recorded_stack *raw;
	bool aged;
	u64 key = row->key.stack, val;
	int err;

	/* Rows are many: those of a stack that was named already need no other look-up. */
	if (key && map__get(&m->stacks, key, &val)) {
		*out = m->named.v[val];
		return 0;
	}
	raw = record__find_stack(&m->s->record, key);
	aged = !raw && key == STACK_AGED;
	if (!raw && !aged && key)
		m->unknown_stacks += row->cnt;
	key = raw ? key : map__mix(row->key.site, aged);
	if (!raw && map__get(&m->stacks, key, &val)) {
		*out = m->named.v[val];
		return 0;
	}
	err = making__name_stack(m, raw, site, allocator, aged ? ALLOCSNOOP_AGED : ALLOCSNOOP_LOST,
				 out);
	if (!err)
		err = vec__push(&m->named, *out);
	return err ? err : map__put(&m->stacks, key, m->named.cnt - 1);
}

/* A live row that needs no estimate holds a power of two of sizes, other rows hold a class. */
static void sample__sizes(const struct session *s, u32 class, struct allocsnoop_sample *out)
{
	u32 end = s->live && s->sampler.exact ? as_octave_end(class) : class + 1;

	out->size_low = as_class_low(class);
	out->size_high = as_class_low(end) - 1;
}

static void sample__estimate(struct making *m, const struct recorded_row *row,
			     struct allocsnoop_sample *out)
{
	const struct sampler *sampler = &m->s->sampler;
	const struct duty *duty = m->s->record.duty;
	struct estimate e = {};
	u64 in_windows = 0;

	if (duty)
		out->at_least = duty__row(duty, row->windows, &e, &in_windows);
	out->sampled_count = row->cnt + in_windows;
	if (sampler->exact && !in_windows) {
		out->alloc_count = row->cnt;
		out->alloc_bytes = row->bytes;
		return;
	}
	sampler__add(sampler, as_key_class(&row->key), row->cnt, row->bytes, &e);
	out->alloc_count = estimate__round(e.cnt, &m->left[ROUND_ALLOC_CNT]);
	out->alloc_bytes = estimate__round(e.bytes, &m->left[ROUND_ALLOC_BYTES]);
	out->alloc_count_var = e.cnt_var;
	out->alloc_bytes_var = e.bytes_var;
}

/* Adds the sample to its process's sum. */
static int making__add_total(struct making *m, u64 proc, const struct allocsnoop_sample *s)
{
	struct allocsnoop_sample *sum;
	u64 val;

	if (map__get(&m->totals, proc, &val)) {
		sample__add((void *)(uintptr_t)val, s);
		return 0;
	}
	sum = arena__alloc(&m->p->arena, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	sample__add(sum, s);
	return map__put(&m->totals, proc, (uintptr_t)sum);
}

/* What is probed there, demangled once. NULL: out of memory. */
static const char *making__allocator(struct making *m, const struct traced_site *site)
{
	const char *name;
	u64 val;

	if (!site)
		return "[unknown]";
	if (map__get(&m->allocators, (uintptr_t)site->site, &val))
		return (const char *)(uintptr_t)val;
	name = symbol__demangle(&m->p->arena, site->site->symbol);
	if (name && map__put(&m->allocators, (uintptr_t)site->site, (uintptr_t)name))
		return NULL;
	return name;
}

/* By what it said at its end; else it still has its name, unless it's another's by now. */
static const char *thread__name(const struct making *m, const struct recorded_proc *proc, u32 tid,
				char comm[16])
{
	const char *known = record__thread_name(&m->s->record, proc->proc, tid);

	if (known)
		return known;
	if (!proc->over && record__newest(&m->s->record, proc->pid) == proc &&
	    proc_task__thread_comm((pid_t)proc->pid, (pid_t)tid, comm))
		return comm;
	return tid == proc->pid ? proc->comm : "";
}

/* Where threads are told apart: which one has the row. 0 or -ENOMEM. */
static int making__thread(struct making *m, const struct as_tally_key *key,
			  const struct recorded_proc *proc, struct allocsnoop_sample *out)
{
	u64 id, val;
	char comm[16];

	out->tid = as_key_tid(key);
	if (!out->tid || !proc)
		return 0;
	id = map__mix(key->proc, out->tid);
	if (map__get(&m->threads, id, &val)) {
		out->thread = (const char *)(uintptr_t)val;
		return 0;
	}
	out->thread = arena__intern(&m->p->arena, thread__name(m, proc, out->tid, comm));
	return out->thread ? map__put(&m->threads, id, (uintptr_t)out->thread) : -ENOMEM;
}

int making__row(struct making *m, const struct recorded_row *row, size_t at)
{
	const struct recorded_proc *proc = record__find_proc(&m->s->record, row->key.proc);
	const struct traced_site *site = files__site(&m->s->files, row->key.site);
	struct allocsnoop_sample out = { .pid_cnt = MAX(row->images, 1u) };
	struct stack_frames sf;
	int err;

	out.pid = proc ? proc->pid : 0;
	out.comm = proc ? proc->comm : "[unknown]";
	out.allocator = making__allocator(m, site);
	out.collected = site && site->site->row->ends & ENDS_COLLECTED;
	if (!out.allocator)
		return -ENOMEM;
	err = making__thread(m, &row->key, proc, &out);
	if (!err)
		err = making__stack(m, row, site, out.allocator, &sf);
	if (err)
		return err;
	out.stack_id = row->key.stack == STACK_AGED ? 0 : row->key.stack;
	out.end = sf.end;
	out.truncated = sf.end != ALLOCSNOOP_COMPLETE;
	out.frames = sf.v;
	out.frame_cnt = sf.cnt;
	sample__sizes(m->s, as_key_class(&row->key), &out);
	sample__estimate(m, row, &out);
	if (m->s->live)
		err = sample__live(m, at, proc, &out);
	if (!err)
		err = making__add_total(m, row->key.proc, &out);
	return err ? err : profile__add_sample(m->p, &out);
}

static void process__total(const struct making *m, const struct recorded_proc *proc,
			   struct allocsnoop_process *out)
{
	const struct allocsnoop_sample *sum;
	u64 val;

	if (!map__get(&m->totals, proc->proc, &val))
		return;
	sum = (const void *)(uintptr_t)val;
	out->alloc_count = sum->alloc_count;
	out->alloc_bytes = sum->alloc_bytes;
	out->alloc_count_se = sqrt(sum->alloc_count_var);
	out->alloc_bytes_se = sqrt(sum->alloc_bytes_var);
	out->sampled_count = sum->sampled_count;
}

/* What a process was on its way to another program, without a row, isn't listed. */
static bool proc__is_passing(const struct making *m, const struct recorded_proc *proc)
{
	const struct recorded_proc *newest = record__newest(&m->s->record, proc->pid);
	u64 val;

	return !map__get(&m->totals, proc->proc, &val) && newest && newest != proc &&
	       newest->start_boottime == proc->start_boottime;
}

static int making__processes(struct making *m)
{
	char container[CGROUP_NAME_MAX];
	u64 key, val;
	int err = 0;

	for (size_t i = 0; !err && map__next(&m->s->record.procs, &i, &key, &val);) {
		const struct recorded_proc *proc = (void *)(uintptr_t)val;

		if (proc__is_passing(m, proc))
			continue;
		struct traced_file *exe = files__find(&m->s->files, proc->exe_file);
		struct allocsnoop_process out = {
			.pid = proc->pid,
			.comm = proc->comm,
			.exe = exe ? exe->path : "",
			.exited = proc__exited(m->s, proc),
			.cgroup = proc->cgroup,
			.container = container,
			.count = MAX(proc->count, 1u),
		};

		cgroup__container(proc->cgroup, container);
		process__total(m, proc, &out);
		if (m->s->live)
			process__live(m, proc, &out);
		if (m->s->record.duty)
			out.at_least = duty__names_at_least(m->s->record.duty, proc->comm);
		err = profile__add_process(m->p, &out);
	}
	return err;
}

static int making__losses(struct making *m)
{
	u64 losses[LOSS_CNT];
	int err = 0;

	session__losses(m->s, losses);
	losses[LOSS_STACK_UNKNOWN] += m->unknown_stacks;
	losses[LOSS_LINES_CUT] += m->names->lines.cut_cnt;
	for (size_t i = 0; i < LOSS_CNT && !err; i++)
		err = profile__add_loss(m->p, loss_texts[i].name, loss_texts[i].text, losses[i]);
	return err;
}

/* The name of a process that may have ended meanwhile: then what the recording says, of its newest
 * image. (Its id may be another's by now.) */
static const char *making__comm(struct making *m, pid_t pid, struct proc_task *t)
{
	const struct recorded_proc *newest = NULL;
	u64 key, val;

	for (size_t i = 0; map__next(&m->s->record.procs, &i, &key, &val);) {
		const struct recorded_proc *proc = (void *)(uintptr_t)val;

		if (proc->pid == (u32)pid && (!newest || proc->exec_id > newest->exec_id))
			newest = proc;
	}
	if (newest)
		return newest->comm;
	return proc_task__read(pid, t) ? NULL : t->comm;
}

static void add_filter(struct str *text, const struct session *s)
{
	if (s->filter.comm)
		str__addf(text, "%s named %s", s->argv ? ", processes" : "", s->filter.comm);
	if (s->filter.cgroup)
		str__addf(text, " in cgroup %s", s->filter.cgroup);
}

/* "sqlite3 :memory:", "process 12 (redis-server)", "every process" */
static const char *making__target(struct making *m)
{
	struct session *s = m->s;
	struct proc_task t;
	struct str text = {};
	const char *comm, *out;

	for (char **a = s->argv; a && *a; a++)
		str__addf(&text, "%s%s", a == s->argv ? "" : " ", *a);
	for (size_t i = 0; i < s->pids.cnt; i++) {
		str__addf(&text, "%s%d",
			  i		     ? ", "
			  : s->pids.cnt == 1 ? "process "
					     : "processes ",
			  (int)s->pids.v[i]);
		comm = making__comm(m, s->pids.v[i], &t);
		if (comm)
			str__addf(&text, " (%s)", comm);
	}
	if (s->every)
		str__add(&text, "every process");
	if (s->follow)
		str__addf(&text, " and %s children", s->pids.cnt == 1 ? "its" : "their");
	add_filter(&text, s);
	out = text.oom ? NULL : arena__intern(&m->p->arena, text.s);
	str__free(&text);
	return out ? out : "";
}

static void making__info(struct making *m, double sampling_value)
{
	struct allocsnoop_info *info = &m->p->info;
	struct kernel_counts c;

	kernel__counts(&m->s->kernel, &c);
	info->mode = m->s->live ? "live" : "alloc";
	info->older_ns = m->s->older_ns;
	info->old_ns = m->s->old_ns;
	info->target = making__target(m);
	info->exact = m->s->sampler.exact;
	info->sampling = info->exact	      ? ALLOCSNOOP_ALL
			 : m->s->sample_bytes ? ALLOCSNOOP_BYTES
					      : ALLOCSNOOP_RATE;
	info->sampling_value = info->exact ? 1 : sampling_value;
	info->duration_ns = session__elapsed_ns(m->s);
	info->events = c.calls;
	info->failed_count = c.failed;
	info->trace = m->s->trace;
	info->started_ns = m->s->started_ns;
}

/* The budget's part of the numbers. Rows come and go together, so their variances don't add up to
 * that of the total; where some calls were drawn in exact time, that part does. */
static void making__budget(struct making *m)
{
	struct allocsnoop_info *info = &m->p->info;
	const struct session *s = m->s;
	double cnt_var = 0, bytes_var = 0;
	struct governor_info gov;

	if (!s->governor)
		return;
	governor__info(s->governor, &gov);
	info->exact &= gov.exact;
	info->budget_pct = gov.budget_pct;
	info->cost_pct = gov.cost_pct;
	info->coverage = gov.coverage;
	info->windows = gov.windows;
	info->window_ns = gov.window_ns;
	info->at_least = gov.at_least;
	if (gov.exact)
		return;
	duty__total(s->record.duty, &cnt_var, &bytes_var);
	for (size_t i = 0; i < s->record.rows.cnt && !s->sampler.exact; i++) {
		const struct recorded_row *row = &s->record.rows.v[i];
		struct estimate e = {};

		sampler__add(&s->sampler, as_key_class(&row->key), row->cnt, row->bytes, &e);
		cnt_var += e.cnt_var;
		bytes_var += e.bytes_var;
	}
	info->alloc_count_se = sqrt(cnt_var);
	info->alloc_bytes_se = sqrt(bytes_var);
}

/* Every second one goes when there are too many: what was longest ago becomes coarsest. */
static void points__thin(struct points *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->v.cnt; i += 2)
		p->v.v[kept++] = p->v.v[i];
	p->v.cnt = kept;
}

int points__add(struct points *p, const struct allocsnoop_point *now)
{
	/* A recording that was stopped stands still. */
	if (p->v.cnt && p->v.v[p->v.cnt - 1].time_ns == now->time_ns)
		p->v.cnt--;
	if (p->v.cnt == POINTS_MAX)
		points__thin(p);
	return vec__push(&p->v, *now);
}

/* The profile joins the recording's course, and gets it. 0 or -ENOMEM. */
static int making__points(struct making *m)
{
	const struct allocsnoop_info *info = &m->p->info;
	struct points *points = &m->names->points;
	struct allocsnoop_point now = {
		.time_ns = info->duration_ns,
		.alloc_count = info->alloc_count,
		.alloc_bytes = info->alloc_bytes,
		.live_count = info->live_count,
		.live_bytes = info->live_bytes,
	};
	int err = points__add(points, &now);

	for (size_t i = 0; i < points->v.cnt && !err; i++)
		err = vec__push(&m->p->points, points->v.v[i]);
	return err;
}

static int making__run(struct making *m)
{
	int err = 0;

	for (size_t i = 0; i < m->s->record.rows.cnt && !err; i++)
		err = making__row(m, &m->s->record.rows.v[i], i);
	if (!err && m->s->live)
		err = making__live_rows(m);
	if (!err)
		err = making__processes(m);
	if (!err)
		err = making__losses(m);
	if (err)
		return err;
	making__info(m, m->s->sample_bytes ? (double)m->s->sample_bytes : m->s->sample_rate);
	profile__finish(m->p);
	making__budget(m);
	return making__points(m);
}

int names__profile(struct names *n, struct session *s, struct allocsnoop_profile **profile)
{
	struct making m = { .names = n, .s = s, .p = profile__new() };
	int err = m.p ? 0 : -ENOMEM;

	if (!err && n->lines.on)
		err = names__find_all_lines(n, s);
	pthread_mutex_lock(&s->lock);
	if (!err)
		err = making__run(&m);
	pthread_mutex_unlock(&s->lock);
	map__free(&m.frames);
	map__free(&m.stacks);
	vec__free(&m.named);
	map__free(&m.images);
	map__free(&m.threads);
	map__free(&m.totals);
	map__free(&m.allocators);
	live__fini(&m.live);
	if (err) {
		profile__free(m.p);
		return err__fail(err, "cannot make the profile: %s", strerror(-err));
	}
	*profile = m.p;
	return 0;
}
