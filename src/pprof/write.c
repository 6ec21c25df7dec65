/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pprof writer. Encoded messages can be put one behind the other and are one message then: each
 * row is written as it is met, so memory grows with the different names and places, not with the
 * rows.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "pprof/head.h"
#include "report/writer.h"

enum label_key {
	LABEL_BYTES,
	LABEL_PID,
	LABEL_TID,
	LABEL_COMM,
	LABEL_THREAD,
	LABEL_ALLOCATOR,
	LABEL_TYPE,
	LABEL_SIZE_CLASS,
	LABEL_CGROUP,
	LABEL_CONTAINER,
	LABEL_CNT,
};

static const char *const label_names[] = {
	[LABEL_BYTES] = "bytes",   [LABEL_PID] = "pid",
	[LABEL_TID] = "tid",	   [LABEL_COMM] = "comm",
	[LABEL_THREAD] = "thread", [LABEL_ALLOCATOR] = "allocator",
	[LABEL_TYPE] = "type",	   [LABEL_SIZE_CLASS] = "size_class",
	[LABEL_CGROUP] = "cgroup", [LABEL_CONTAINER] = "container",
};
_Static_assert(ARRAY_SIZE(label_names) == LABEL_CNT, "every label has a name");

struct writing {
	struct out o;
	const struct allocsnoop_profile *p;
	struct map processes; /* mix(pid, hash of comm) -> index */
	s64 keys[LABEL_CNT];
	s64 bytes_unit;

	/* of the row */
	Pb__Label labels[LABEL_CNT];
	Pb__Label *label_list[LABEL_CNT];
	size_t label_cnt;
	s64 values[COLUMN_CNT];
	u64 lifetimes[3 * ALLOCSNOOP_LIFE_CLASSES];
};

static u64 process__key(struct writing *w, u32 pid, const char *comm)
{
	return map__mix(pid, (u64)out__string(&w->o, comm));
}

static void writing__begin(struct writing *w)
{
	w->bytes_unit = out__text(&w->o, "bytes");
	for (size_t i = 0; i < LABEL_CNT; i++)
		w->keys[i] = out__text(&w->o, label_names[i]);
	for (size_t i = 0; i < w->p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &w->p->processes.v[i];

		if (map__put(&w->processes, process__key(w, proc->pid, proc->comm), i))
			w->o.err = -ENOMEM;
	}
}

/* ---- labels ---- */

static Pb__Label *label__next(struct writing *w, enum label_key key)
{
	Pb__Label *l = &w->labels[w->label_cnt];

	*l = (Pb__Label)PB__LABEL__INIT;
	l->key = w->keys[key];
	w->label_list[w->label_cnt++] = l;
	return l;
}

static void label__add_string(struct writing *w, enum label_key key, s64 string)
{
	if (string)
		label__next(w, key)->str = string;
}

static void label__add_number(struct writing *w, enum label_key key, u32 number)
{
	char text[16];

	if (!number)
		return;
	snprintf(text, sizeof(text), "%" PRIu32, number);
	label__next(w, key)->str = out__text(&w->o, text);
}

static void row__label_sizes(struct writing *w, const struct allocsnoop_sample *s)
{
	u64 mean = s->alloc_count ? s->alloc_bytes / s->alloc_count : s->size_low;
	char text[48];
	Pb__Label *l;

	if (mean && mean <= INT64_MAX) {
		l = label__next(w, LABEL_BYTES);
		l->num = (s64)mean;
		l->num_unit = w->bytes_unit;
	}
	snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, s->size_low, s->size_high);
	label__add_string(w, LABEL_SIZE_CLASS, out__text(&w->o, text));
}

static void row__label(struct writing *w, const struct allocsnoop_sample *s)
{
	const struct allocsnoop_process *proc;
	u64 at;

	w->label_cnt = 0;
	row__label_sizes(w, s);
	label__add_number(w, LABEL_PID, s->pid);
	label__add_number(w, LABEL_TID, s->tid);
	label__add_string(w, LABEL_COMM, out__string(&w->o, s->comm));
	label__add_string(w, LABEL_THREAD, out__string(&w->o, s->thread));
	label__add_string(w, LABEL_ALLOCATOR, out__string(&w->o, s->allocator));
	label__add_string(w, LABEL_TYPE, out__string(&w->o, s->type));
	if (!map__get(&w->processes, process__key(w, s->pid, s->comm), &at))
		return;
	proc = &w->p->processes.v[at];
	label__add_string(w, LABEL_CGROUP, out__string(&w->o, proc->cgroup));
	label__add_string(w, LABEL_CONTAINER, out__string(&w->o, proc->container));
}

/* ---- values, and what pprof has no place for ---- */

/* Of a difference what there is more (or less) than before; false: it has no room. */
static bool value__set(s64 *value, u64 val, u64 base)
{
	bool less = val < base;
	u64 by = less ? base - val : val - base;

	*value = (s64)MIN(by, (u64)INT64_MAX);
	if (less)
		*value = -*value;
	return by <= INT64_MAX;
}

static void row__values(struct writing *w, const struct allocsnoop_sample *s, Pb__Row *row)
{
	const u64 vals[COLUMN_CNT] = { s->alloc_count, s->alloc_bytes, s->live_count,
				       s->live_bytes };
	const u64 bases[COLUMN_CNT] = { s->base_alloc_count, s->base_alloc_bytes,
					s->base_live_count, s->base_live_bytes };
	bool diff = w->p->info.diff, fits = true;

	for (size_t i = 0; i < COLUMN_CNT; i++)
		fits &= value__set(&w->values[i], vals[i], diff ? bases[i] : 0);
	if (fits && !diff)
		return;
	row->alloc_count = s->alloc_count;
	row->alloc_bytes = s->alloc_bytes;
	row->live_count = s->live_count;
	row->live_bytes = s->live_bytes;
}

static void row__lifetimes(struct writing *w, const struct allocsnoop_lifetimes *l, Pb__Row *row)
{
	row->has_lifetimes = l != NULL;
	row->lifetimes = w->lifetimes;
	for (u64 i = 0; l && i < ALLOCSNOOP_LIFE_CLASSES; i++) {
		if (!l->freed[i] && !l->live[i])
			continue;
		row->lifetimes[row->n_lifetimes++] = i;
		row->lifetimes[row->n_lifetimes++] = l->freed[i];
		row->lifetimes[row->n_lifetimes++] = l->live[i];
	}
}

#define COPY_ROW(name) row.name = s->name;

static void row__write(struct writing *w, const struct allocsnoop_sample *s)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Sample sample = PB__SAMPLE__INIT, *list = &sample;
	Pb__Row row = PB__ROW__INIT;

	PPROF_ROW_NUMBERS(COPY_ROW)
	PPROF_ROW_REALS(COPY_ROW)
	row.end = s->end;
	row__values(w, s, &row);
	row__lifetimes(w, s->lifetimes, &row);
	row__label(w, s);
	out__stack(&w->o, s->frames, s->frame_cnt);
	sample.n_location_id = w->o.stack.cnt;
	sample.location_id = w->o.stack.v;
	sample.n_value = strcmp(w->p->info.mode, "live") ? COLUMN_LIVE_COUNT : COLUMN_CNT;
	sample.value = w->values;
	sample.n_label = w->label_cnt;
	sample.label = w->label_list;
	sample.row = &row;
	piece.n_sample = 1;
	piece.sample = &list;
	out__emit(&w->o, &piece);
}

/* The program that most of the bytes are of. */
static const char *main_path(const struct allocsnoop_profile *p)
{
	const struct allocsnoop_process *most = NULL;

	for (size_t i = 0; i < p->processes.cnt; i++) {
		if (!most || p->processes.v[i].alloc_bytes > most->alloc_bytes)
			most = &p->processes.v[i];
	}
	return most ? most->exe : "";
}

static int pprof_write(const struct allocsnoop_profile *p,
		       const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct writing *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return err__fail(-ENOMEM, "cannot write the profile: out of memory");
	w->p = p;
	out__open(&w->o, out);
	writing__begin(w);
	head__write(&w->o, p, opts->value);
	for (size_t i = 0; i < p->samples.cnt && !w->o.err; i++)
		row__write(w, &p->samples.v[i]);
	out__mappings(&w->o, main_path(p));
	err = out__finish(&w->o);
	out__close(&w->o);
	map__free(&w->processes);
	free(w);
	return err ? err : writer__done(out);
}

const struct writer writer_pprof = {
	.name = "pprof",
	.help = "for pprof, and to be read again: everything",
	.extension = "pb.gz",
	.whole = true,
	.write = pprof_write,
};
