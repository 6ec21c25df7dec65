/* SPDX-License-Identifier: BSD-2-Clause */
/* The public header, implemented: each function is a thin door to a room. */
#include <allocsnoop.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "doctor/doctor.h"
#include "elf/image.h"
#include "names.h"
#include "pprof/pprof.h"
#include "proc/launch.h"
#include "proc/maps.h"
#include "proc/task.h"
#include "report/writer.h"
#include "target/list.h"
#include "target/probe.h"
#include "target/site.h"
#include "trace/globs.h"
#include "trace/session.h"

struct allocsnoop {
	struct session session;
	struct names names;
};

const char *allocsnoop__version(void)
{
	return ALLOCSNOOP_VERSION;
}

const char *allocsnoop__error(void)
{
	return err__msg();
}

const char *allocsnoop__hint(void)
{
	return err__hint_msg();
}

/* ---- sessions ---- */

/* A caller built against an older header has a smaller struct: what it doesn't know is 0. */
static int opts__widen(const void *from, size_t from_size, void *to, size_t to_size)
{
	memset(to, 0, to_size);
	if (from && from_size > to_size)
		return err__fail(-EINVAL,
				 "options are of a newer version of the library than this one");
	if (from)
		memcpy(to, from, from_size);
	return 0;
}

int allocsnoop__open(const struct allocsnoop_opts *given, struct allocsnoop **out)
{
	struct allocsnoop_opts opts;
	struct allocsnoop *a;
	int err = opts__widen(given, given ? given->sz : 0, &opts, sizeof(opts));

	if (err)
		return err;
	a = calloc(1, sizeof(*a));
	if (!a)
		return err__fail(-ENOMEM, "out of memory");
	err = session__open(&a->session, &opts);
	if (err) {
		free(a);
		return err;
	}
	err = names__init(&a->names);
	if (err) {
		allocsnoop__free(a);
		return err__fail(err, "out of memory");
	}
	a->names.lines.on = opts.lines;
	a->session.keep = names__keep;
	a->session.forget = names__forget;
	a->session.keep_arg = &a->names;
	*out = a;
	return 0;
}

int allocsnoop__start(struct allocsnoop *a)
{
	return session__start(&a->session);
}

int allocsnoop__poll(struct allocsnoop *a, int timeout_ms)
{
	return session__poll(&a->session, timeout_ms);
}

int allocsnoop__profile(struct allocsnoop *a, struct allocsnoop_profile **profile)
{
	int err = session__drain(&a->session);

	return err ? err : names__profile(&a->names, &a->session, profile);
}

int allocsnoop__stop(struct allocsnoop *a)
{
	return session__stop(&a->session);
}

void allocsnoop__free(struct allocsnoop *a)
{
	if (!a)
		return;
	session__close(&a->session);
	names__fini(&a->names);
	free(a);
}

int allocsnoop__exit_status(struct allocsnoop *a, int *wait_status)
{
	return a->session.launch ? launch__exit_status(a->session.launch, wait_status) : -ECHILD;
}

int allocsnoop__stats(struct allocsnoop *a, struct allocsnoop_stats *stats, size_t sz)
{
	struct allocsnoop_stats all = {};
	u64 losses[LOSS_CNT];
	struct kernel_counts c;

	kernel__counts(&a->session.kernel, &c);
	session__losses(&a->session, losses);
	all.elapsed_ns = session__elapsed_ns(&a->session);
	all.events = c.calls;
	all.samples = c.kept;
	for (size_t i = 0; i < LOSS_CNT; i++)
		all.losses += losses[i];
	all.processes = session__process_cnt(&a->session);
	all.sites = a->session.files.site_cnt;
	memset(stats, 0, sz);
	memcpy(stats, &all, MIN(sz, sizeof(all)));
	return 0;
}

/* ---- probes ---- */

int allocsnoop__check_probe(const char *spec)
{
	struct probe_set set = {};
	int err = probe_set__add(&set, spec);

	probe_set__free(&set);
	return err;
}

int allocsnoop__check_comm(const char *comm)
{
	struct as_globs globs;

	return globs__read(comm, &globs);
}

const char *allocsnoop__preset_name(size_t i)
{
	for (size_t n = 0; probe_presets[n].name; n++) {
		if (n == i)
			return probe_presets[n].name;
	}
	return NULL;
}

const char *allocsnoop__preset_help(size_t i)
{
	return allocsnoop__preset_name(i) ? probe_presets[i].help : NULL;
}

/* ---- profiles ---- */

const struct allocsnoop_info *allocsnoop_profile__info(const struct allocsnoop_profile *p)
{
	return &p->info;
}

size_t allocsnoop_profile__sample_cnt(const struct allocsnoop_profile *p)
{
	return p->samples.cnt;
}

const struct allocsnoop_sample *allocsnoop_profile__sample(const struct allocsnoop_profile *p,
							   size_t i)
{
	return i < p->samples.cnt ? &p->samples.v[i] : NULL;
}

size_t allocsnoop_profile__process_cnt(const struct allocsnoop_profile *p)
{
	return p->processes.cnt;
}

const struct allocsnoop_process *allocsnoop_profile__process(const struct allocsnoop_profile *p,
							     size_t i)
{
	return i < p->processes.cnt ? &p->processes.v[i] : NULL;
}

size_t allocsnoop_profile__loss_cnt(const struct allocsnoop_profile *p)
{
	return p->losses.cnt;
}

const struct allocsnoop_loss *allocsnoop_profile__loss(const struct allocsnoop_profile *p, size_t i)
{
	return i < p->losses.cnt ? &p->losses.v[i] : NULL;
}

size_t allocsnoop_profile__point_cnt(const struct allocsnoop_profile *p)
{
	return p->points.cnt;
}

const struct allocsnoop_point *allocsnoop_profile__point(const struct allocsnoop_profile *p,
							 size_t i)
{
	return i < p->points.cnt ? &p->points.v[i] : NULL;
}

void allocsnoop_profile__free(struct allocsnoop_profile *p)
{
	profile__free(p);
}

int allocsnoop_profile__read(FILE *in, struct allocsnoop_profile **profile)
{
	err__clear();
	return pprof__read(in, profile);
}

/* Does the writer do itself what grouping would? */
static bool report__takes_whole(const struct writer *w, enum allocsnoop_by by)
{
	bool stacks = by == ALLOCSNOOP_BY_STACK || by == ALLOCSNOOP_BY_PROCESS ||
		      by == ALLOCSNOOP_BY_THREAD;

	return w->whole || (w->merges && stacks);
}

/* What the writer gets: the profile, chosen from, and unless it wants all rows grouped and sorted.
 */
struct report_view {
	struct allocsnoop_profile *filtered; /* NULL: nothing was left out */
	struct allocsnoop_profile *grouped;  /* NULL: not grouped */
	const struct allocsnoop_profile *rows;
};

static void report_view__free(struct report_view *v)
{
	profile__free(v->grouped);
	profile__free(v->filtered); /* last: the other borrows of it */
}

static int report_view__make(struct report_view *v, const struct allocsnoop_profile *p,
			     const struct writer *w, const struct allocsnoop_report_opts *opts)
{
	/* A tree from the allocators on needs whole stacks, too. */
	enum allocsnoop_by by =
		opts->tree && opts->by == ALLOCSNOOP_BY_FUNCTION ? ALLOCSNOOP_BY_STACK : opts->by;
	int err = profile__filter(p, opts, &v->filtered);

	if (err)
		return err;
	v->rows = v->filtered ? v->filtered : p;
	if (report__takes_whole(w, by))
		return 0;
	v->grouped = profile__group(v->rows, by);
	if (!v->grouped)
		return err__fail(-ENOMEM, "out of memory for the report");
	profile__sort(v->grouped, opts->value);
	v->rows = v->grouped;
	return 0;
}

/* A tree is of stacks, and text. */
static int tree__check(const struct writer *w, const struct allocsnoop_report_opts *opts)
{
	if (!opts->tree)
		return 0;
	if (w != &writer_text)
		return err__fail(-EINVAL, "format '%s': has no tree", w->name);
	switch (opts->by) {
	case ALLOCSNOOP_BY_STACK:
	case ALLOCSNOOP_BY_FUNCTION:
	case ALLOCSNOOP_BY_PROCESS:
	case ALLOCSNOOP_BY_THREAD:
		return 0;
	default:
		return err__fail(-EINVAL, "a tree is by stack, function, process or thread");
	}
}

static int report__check(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts)
{
	switch (opts->value) {
	case ALLOCSNOOP_ALLOC_BYTES:
	case ALLOCSNOOP_ALLOC_COUNT:
	case ALLOCSNOOP_LIVE_BYTES:
	case ALLOCSNOOP_LIVE_COUNT:
		return 0;
	default:
		return !p->info.diff ? 0
				     : err__fail(-EINVAL, "a difference has allocated and live "
							  "blocks and bytes only");
	}
}

/* Keeps the writer's words if it has any. */
static int report__write(const struct report_view *v, const struct writer *w,
			 const struct allocsnoop_report_opts *opts, FILE *out)
{
	int err;

	err__clear();
	errno = 0;
	err = w->write(v->rows, opts, out);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	if (!err || *err__msg())
		return err;
	return err__fail(err, "cannot write the report: %s", strerror(-err));
}

int allocsnoop_profile__write(const struct allocsnoop_profile *p,
			      const struct allocsnoop_report_opts *given, FILE *out)
{
	struct allocsnoop_report_opts opts;
	struct report_view view = {};
	const struct writer *w;
	int err = opts__widen(given, given ? given->sz : 0, &opts, sizeof(opts));

	if (err)
		return err;
	err = writer__check(opts.format ? opts.format : "text", &w);
	if (!err)
		err = tree__check(w, &opts);
	if (!err)
		err = report__check(p, &opts);
	if (!err)
		err = report_view__make(&view, p, w, &opts);
	if (!err)
		err = report__write(&view, w, &opts, out);
	report_view__free(&view);
	return err;
}

int allocsnoop__check_format(const char *name)
{
	const struct writer *w;

	return writer__check(name, &w);
}

const char *allocsnoop__format_name(size_t i)
{
	for (size_t n = 0; writers[n]; n++) {
		if (n == i)
			return writers[n]->name;
	}
	return NULL;
}

const char *allocsnoop__format_help(size_t i)
{
	return allocsnoop__format_name(i) ? writers[i]->help : NULL;
}

const struct allocsnoop_frame *allocsnoop_sample__caller(const struct allocsnoop_sample *s)
{
	return sample__caller(s);
}

/* ---- discovery ---- */

struct listing {
	FILE *out;
	const struct allocsnoop_list_opts *opts;
	struct probe_set probes;
	struct map seen; /* mix(dev, inode) of files already listed */
	size_t found;
};

static void listing__say(const struct listing *l, const char *path)
{
	char line[4400];

	if (!l->opts->log)
		return;
	snprintf(line, sizeof(line), "no %s in '%s'",
		 l->probes.only ? "function of --probe" : "allocator symbols", path);
	l->opts->log(l->opts->log_arg, ALLOCSNOOP_WARN, line);
}

/* Lists what an open file has. quiet: files without allocators are the normal case. */
static int listing__file(struct listing *l, int fd, const char *path, bool quiet)
{
	struct elf_image img;
	struct site_file sites = {};
	int err = elf_image__open(&img, fd);

	if (!err) {
		err = site_file__read(&sites, &img, path, &l->probes);
		if (!err && sites.sites.cnt) {
			l->found++;
			err = site_file__write(&sites, path, l->out);
		} else if (!err && !quiet) {
			listing__say(l, path);
		}
		site_file__free(&sites);
		elf_image__close(&img);
	}
	if (err && !quiet)
		return err__fail(err, "cannot read '%s' as a 64-bit ELF file: %s", path,
				 strerror(-err));
	return 0;
}

static int listing__mapping(void *arg, const struct proc_map *m)
{
	struct listing *l = arg;
	u64 val;

	if (!m->exec || !m->inode || !m->path[0] || map__get(&l->seen, m->inode, &val))
		return 0;
	if (map__put(&l->seen, m->inode, 1))
		return -ENOMEM;
	/* The path as the process sees it: good for reading; tracing goes by the mapped inode. */
	CLEANUP(fd__closep) int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? 0 : listing__file(l, fd, m->path, true);
}

static int listing__process(void *arg, pid_t pid)
{
	int err = proc_maps__each(pid, listing__mapping, arg);

	return err == -ENOMEM ? err : 0; /* it may have ended */
}

static int listing__run(struct listing *l)
{
	const struct allocsnoop_list_opts *o = l->opts;
	int err;

	if (o->path) {
		CLEANUP(fd__closep) int fd = open(o->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			return err__fail(-errno, "cannot open '%s': %s", o->path, strerror(errno));
		return listing__file(l, fd, o->path, false);
	}
	if (!o->pid)
		return proc_tasks__each(listing__process, l);
	err = proc_maps__each(o->pid, listing__mapping, l);
	return err ? err__fail(err, "cannot read the mappings of process %d: %s", (int)o->pid,
			       strerror(-err))
		   : 0;
}

static int listing__take_probes(struct listing *l)
{
	int err = 0;

	for (size_t i = 0; i < l->opts->probe_cnt && !err; i++)
		err = probe_set__add(&l->probes, l->opts->probes[i]);
	probe_set__finish(&l->probes);
	l->probes.only = l->opts->probe_cnt && !l->opts->malloc_too;
	return err;
}

static void listing__tell_missed(const struct listing *l)
{
	const char *spec;
	char why[512], line[PROBE_SPEC_MAX + 600];

	for (size_t at = 0; (spec = probe_set__missed(&l->probes, &at, why, sizeof(why)));) {
		snprintf(line, sizeof(line), "probe '%s': %s", spec, why);
		if (l->opts->log)
			l->opts->log(l->opts->log_arg, ALLOCSNOOP_WARN, line);
	}
}

int allocsnoop__list(const struct allocsnoop_list_opts *given, FILE *out)
{
	struct allocsnoop_list_opts opts;
	struct listing l = { .out = out, .opts = &opts };
	int err = opts__widen(given, given ? given->sz : 0, &opts, sizeof(opts));

	if (!err)
		err = listing__take_probes(&l);
	if (!err)
		err = listing__run(&l);
	if (!err)
		listing__tell_missed(&l);
	map__free(&l.seen);
	if (!err && !l.found)
		err = err__fail(-ENOENT, "nothing to probe: no %s in %s",
				l.probes.only ? "function of --probe" : "allocator symbols",
				opts.path ? opts.path : "any mapped file");
	probe_set__free(&l.probes);
	return err;
}

int allocsnoop__doctor(const struct allocsnoop_doctor_opts *given, FILE *out)
{
	struct allocsnoop_doctor_opts opts;
	int err = opts__widen(given, given ? given->sz : 0, &opts, sizeof(opts));

	return err ? err : doctor__examine(opts.format, out);
}
