/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes profiles: each distinct raw frame is named once, each stack's frame list is shared by its
 * rows. */
#include "making.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "proc/cgroup.h"
#include "proc/task.h"
#include "trace/govern.h"
#include "trace/over.h"

/* Of one file that was let go. */
struct kept_names {
	struct map at; /* offset -> name */
	struct arena arena;
};

int names__init(struct names *n)
{
	memset(n, 0, sizeof(*n));
	return resolver__new(&n->resolver);
}

static void kept__free(struct kept_names *k)
{
	map__free(&k->at);
	arena__free(&k->arena);
	free(k);
}

void names__fini(struct names *n)
{
	u64 hash, val;

	for (size_t i = 0; map__next(&n->kept, &i, &hash, &val);)
		kept__free((void *)(uintptr_t)val);
	resolver__free(n->resolver);
	map__free(&n->files);
	map__free(&n->kept);
	memset(n, 0, sizeof(*n));
}

/* The resolver's handle of a traced file, opened when it's first asked for. */
static int names__file(struct names *n, const struct traced_file *f, struct symbol_file **out)
{
	u64 val;
	int fd, err;

	if (map__get(&n->files, f->hash, &val)) {
		*out = (void *)(uintptr_t)val;
		return 0;
	}
	fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	err = resolver__add_file(n->resolver, fd, f->path, out);
	return err ? err : map__put(&n->files, f->hash, (uintptr_t)*out);
}

static struct kept_names *names__kept(const struct names *n, u64 hash)
{
	u64 val;

	return map__get(&n->kept, hash, &val) ? (void *)(uintptr_t)val : NULL;
}

/* The names kept of a file, made when it's the first time; NULL out of memory. */
static struct kept_names *names__keeping(struct names *n, u64 hash)
{
	struct kept_names *k = names__kept(n, hash);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (k && map__put(&n->kept, hash, (uintptr_t)k)) {
		free(k);
		return NULL;
	}
	return k;
}

static void name__keep(struct names *n, struct kept_names *k, struct symbol_file *symbols, u64 raw)
{
	u64 off = raw & ~AS_FRAME_EXACT;
	struct symbol_name name;
	const char *kept;

	if (resolver__name(n->resolver, symbols, off, off == raw, &name))
		return;
	kept = arena__intern(&k->arena, name.function);
	if (kept)
		map__put(&k->at, raw, (uintptr_t)kept);
}

/* A file may come and go many times a day: what was named stays so. */
void names__keep(void *arg, const struct traced_file *f, const u64 *offs, size_t cnt)
{
	struct names *n = arg;
	struct kept_names *k = cnt ? names__keeping(n, f->hash) : NULL;
	struct symbol_file *symbols;
	u64 val;

	/* Without memory for it a frame is called by its place in the file. */
	for (size_t i = 0; i < cnt && k; i++) {
		if (map__get(&k->at, offs[i], &val))
			continue;
		if (names__file(n, f, &symbols))
			break;
		name__keep(n, k, symbols, offs[i]);
	}
	if (!map__get(&n->files, f->hash, &val))
		return;
	resolver__close_file(n->resolver, (void *)(uintptr_t)val);
	map__del(&n->files, f->hash);
}

const char *names__kept_name(const struct names *n, u64 hash, u64 off)
{
	const struct kept_names *k = names__kept(n, hash);
	u64 val;

	return k && map__get(&k->at, off, &val) ? (const char *)(uintptr_t)val : NULL;
}

void names__forget(void *arg, u64 hash)
{
	struct names *n = arg;
	struct kept_names *k = names__kept(n, hash);

	if (!k)
		return;
	kept__free(k);
	map__del(&n->kept, hash);
}

/* A place in a file that was let go, and mapped again perhaps: by the name that was kept, else
 * without. */
static const char *name__kept(struct making *m, const struct traced_file *file,
			      const struct as_frame *raw, u64 off)
{
	const char *slash = strrchr(file->path, '/');
	const char *name = names__kept_name(m->names, raw->file, raw->off);
	struct str s = {};

	if (name)
		return name;
	slash = slash && slash[1] ? slash + 1 : file->path;
	str__add_utf8(&s, slash, strlen(slash), true);
	str__addf(&s, "+0x%" PRIx64, off);
	if (!s.oom)
		name = arena__intern(&m->p->arena, s.s);
	str__free(&s);
	return name;
}

static int file__name(struct making *m, const struct traced_file *file, const struct as_frame *raw,
		      const char **function)
{
	u64 off = raw->off & ~AS_FRAME_EXACT;
	struct symbol_file *symbols;
	struct symbol_name name;
	int err;

	if (file->fd < 0) {
		*function = name__kept(m, file, raw, off);
		return *function ? 0 : -ENOMEM;
	}
	err = names__file(m->names, file, &symbols);
	if (!err)
		err = resolver__name(m->names->resolver, symbols, off, off == raw->off, &name);
	if (!err)
		*function = name.function;
	return err;
}

static int frame__name(struct making *m, const struct as_frame *raw, struct allocsnoop_frame *f)
{
	struct traced_file *file = raw->file ? files__find(&m->s->files, raw->file) : NULL;
	const char *function;
	int err;

	f->function = "[unknown]";
	f->module = "";
	f->offset = raw->off & ~AS_FRAME_EXACT;
	if (!file)
		return 0;
	err = file__name(m, file, raw, &function);
	if (err)
		return err;
	f->function = arena__intern(&m->p->arena, function);
	f->module = arena__intern(&m->p->arena, file->path);
	return f->function && f->module ? 0 : -ENOMEM;
}

static int making__frame(struct making *m, const struct as_frame *raw,
			 const struct allocsnoop_frame **out)
{
	u64 key = map__mix(raw->file, raw->off), val;
	struct allocsnoop_frame *f;
	int err;

	if (map__get(&m->frames, key, &val)) {
		*out = (void *)(uintptr_t)val;
		return 0;
	}
	f = arena__alloc(&m->p->arena, sizeof(*f));
	if (!f)
		return -ENOMEM;
	err = frame__name(m, raw, f);
	*out = f;
	return err ? err : map__put(&m->frames, key, (uintptr_t)f);
}

/* Frame 0 is called what the program called: aliases share an address, and the symbol table may
 * prefer another. */
static int making__allocator_frame(struct making *m, const struct traced_site *site,
				   const char *allocator, const struct allocsnoop_frame **out)
{
	struct allocsnoop_frame *f = arena__alloc(&m->p->arena, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->function = allocator;
	f->module = site && site->file ? arena__intern(&m->p->arena, site->file->path) : "";
	f->offset = site ? site->site->probe_off : 0;
	*out = f;
	return f->module ? 0 : -ENOMEM;
}

static int making__name_stack(struct making *m, const struct recorded_stack *raw,
			      const struct traced_site *site, const char *allocator,
			      enum allocsnoop_end lost, struct stack_frames *sf)
{
	int err;

	sf->cnt = raw ? MAX(raw->frame_cnt, 1u) : 1;
	sf->end = raw ? (enum allocsnoop_end)raw->end : lost;
	sf->v = arena__alloc(&m->p->arena, sf->cnt * sizeof(*sf->v));
	if (!sf->v)
		return -ENOMEM;
	err = making__allocator_frame(m, site, allocator, &sf->v[0]);
	for (size_t i = 1; i < sf->cnt && !err; i++)
		err = making__frame(m, &raw->frames[i], &sf->v[i]);
	return err;
}

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
	sampler__add(sampler, row->key.size_class, row->cnt, row->bytes, &e);
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
	err = making__stack(m, row, site, out.allocator, &sf);
	if (err)
		return err;
	out.stack_id = row->key.stack == STACK_AGED ? 0 : row->key.stack;
	out.end = sf.end;
	out.truncated = sf.end != ALLOCSNOOP_COMPLETE;
	out.frames = sf.v;
	out.frame_cnt = sf.cnt;
	sample__sizes(m->s, row->key.size_class, &out);
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

		sampler__add(&s->sampler, row->key.size_class, row->cnt, row->bytes, &e);
		cnt_var += e.cnt_var;
		bytes_var += e.bytes_var;
	}
	info->alloc_count_se = sqrt(cnt_var);
	info->alloc_bytes_se = sqrt(bytes_var);
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
	return 0;
}

int names__profile(struct names *n, struct session *s, struct allocsnoop_profile **profile)
{
	struct making m = { .names = n, .s = s, .p = profile__new() };
	int err = -ENOMEM;

	pthread_mutex_lock(&s->lock);
	if (m.p)
		err = making__run(&m);
	pthread_mutex_unlock(&s->lock);
	map__free(&m.frames);
	map__free(&m.stacks);
	vec__free(&m.named);
	map__free(&m.images);
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
