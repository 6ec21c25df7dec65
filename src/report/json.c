/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON object, one line for each process and stack. It is written as it is read, so memory
 * grows with the number of different frames only (each is rendered once), not with the stacks.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "report/json.h"
#include "report/writer.h"

static int flush_buf(struct json *j)
{
	if (j->buf.oom)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	fwrite(j->buf.s, 1, j->buf.len, j->out);
	str__clear(&j->buf);
	/* Tell of a full disk or a closed pipe now, not after the last row. */
	return ferror(j->out) ? writer__done(j->out) : 0;
}

static void add_budget(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	if (info->coverage >= 0) {
		json__real(j, "coverage", info->coverage);
	} else {
		json__key(j, "coverage");
		str__add(&j->buf, "null");
	}
	json__u64(j, "windows", info->windows);
	json__real(j, "window_ns", info->window_ns);
	json__real(j, "budget_pct", info->budget_pct);
	json__real(j, "cost_pct", info->cost_pct);
}

static void add_sampling(struct json *j)
{
	static const char *const kinds[] = {
		[ALLOCSNOOP_ALL] = "all",
		[ALLOCSNOOP_RATE] = "rate",
		[ALLOCSNOOP_BYTES] = "bytes",
	};
	const struct allocsnoop_info *info = &j->p->info;
	size_t kind = info->sampling;

	json__key(j, "sampling");
	str__add(&j->buf, "{");
	json__str(j, "kind", kind < ARRAY_SIZE(kinds) ? kinds[kind] : "unknown");
	json__number(j, "value", info->sampling_value);
	if (info->budget_pct > 0)
		add_budget(j);
	str__add(&j->buf, "}");
}

static void add_totals(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;
	u64 sampled_cnt = 0;

	for (size_t i = 0; i < j->p->samples.cnt; i++)
		sampled_cnt = sum__add(sampled_cnt, j->p->samples.v[i].sampled_count);
	str__add(&j->buf, ",\n\"totals\": {");
	json__u64(j, "alloc_count", info->alloc_count);
	json__u64(j, "alloc_bytes", info->alloc_bytes);
	json__real(j, "alloc_count_se", info->alloc_count_se);
	json__real(j, "alloc_bytes_se", info->alloc_bytes_se);
	json__u64(j, "live_count", info->live_count);
	json__u64(j, "live_bytes", info->live_bytes);
	json__u64(j, "failed_count", info->failed_count);
	json__u64(j, "sampled_count", sampled_cnt);
	if (info->at_least)
		json__bool(j, "at_least", true);
	if (j->live)
		json_live__totals(j);
	if (info->diff)
		json_diff__totals(j);
	str__add(&j->buf, "}");
}

static void add_losses(struct json *j)
{
	str__add(&j->buf, ",\n\"losses\": {");
	for (size_t i = 0; i < j->p->losses.cnt; i++) {
		str__add(&j->buf, i ? ", " : "");
		json__string(j, j->p->losses.v[i].name);
		str__addf(&j->buf, ": %" PRIu64, j->p->losses.v[i].count);
	}
	str__add(&j->buf, "}");
}

static int write_head(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	str__add(&j->buf, "{");
	json__u64(j, "allocsnoop", 1);
	json__str(j, "mode", info->mode);
	json__bool(j, "exact", info->exact);
	add_sampling(j);
	json__u64(j, "duration_ns", info->duration_ns);
	json__u64(j, "events", info->events);
	if (info->started_ns)
		json__u64(j, "started_ns", info->started_ns);
	if (info->profile_cnt > 1)
		json__u64(j, "profiles", info->profile_cnt);
	if (info->diff)
		json_diff__head(j);
	add_totals(j);
	add_losses(j);
	return flush_buf(j);
}

static void add_process(struct json *j, const struct allocsnoop_process *proc)
{
	json__u64(j, "alloc_count", proc->alloc_count);
	json__u64(j, "alloc_bytes", proc->alloc_bytes);
	if (!j->p->info.exact) {
		json__real(j, "alloc_count_se", proc->alloc_count_se);
		json__real(j, "alloc_bytes_se", proc->alloc_bytes_se);
	}
	json__str(j, "cgroup", proc->cgroup);
	json__str(j, "container", proc->container);
}

static int write_processes(struct json *j)
{
	int err = 0;

	str__add(&j->buf, ",\n\"processes\": [");
	for (size_t i = 0; !err && i < j->p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &j->p->processes.v[i];

		str__add(&j->buf, i ? ",\n{" : "\n{");
		json__u64(j, "pid", proc->pid);
		json__str(j, "comm", proc->comm);
		json__str(j, "exe", proc->exe);
		json__bool(j, "exited", proc->exited);
		if (proc->count > 1 || !proc->pid)
			json__u64(j, "count", proc->count);
		if (proc->at_least)
			json__bool(j, "at_least", true);
		if (j->live)
			json_live__process(j, proc);
		add_process(j, proc);
		str__add(&j->buf, "}");
		err = flush_buf(j);
	}
	str__add(&j->buf, "]");
	return err;
}

static void add_frame(struct json *j, const struct allocsnoop_frame *f)
{
	str__add(&j->buf, "{");
	json__str(j, "function", f->function);
	json__str(j, "module", f->module);
	json__u64(j, "offset", f->offset);
	if (f->file) {
		json__str(j, "file", f->file);
	} else {
		json__key(j, "file");
		str__add(&j->buf, "null");
	}
	json__u64(j, "line", f->line);
	json__bool(j, "inlined", f->inlined);
	if (f->mangled)
		json__str(j, "mangled", f->mangled);
	if (f->build_id)
		json__str(j, "build_id", f->build_id);
	str__add(&j->buf, "}");
}

struct frame_text {
	size_t len;
	char s[];
};

/* Stacks share their frame objects: the text of each is made once. */
static void add_frame_once(struct json *j, const struct allocsnoop_frame *f)
{
	size_t start = j->buf.len;
	struct frame_text *text;
	u64 old;

	if (map__get(&j->frames, (uintptr_t)f, &old)) {
		text = (void *)(uintptr_t)old;
		str__addn(&j->buf, text->s, text->len);
		return;
	}
	add_frame(j, f);
	if (j->buf.oom)
		return;
	text = arena__alloc(&j->arena, sizeof(*text) + j->buf.len - start);
	if (!text || map__put(&j->frames, (uintptr_t)f, (uintptr_t)text)) {
		j->buf.oom = true;
		return;
	}
	text->len = j->buf.len - start;
	memcpy(text->s, j->buf.s + start, text->len);
}

/* Where threads were told apart. */
static void add_thread(struct json *j, const struct allocsnoop_sample *s)
{
	if (s->tid)
		json__u64(j, "tid", s->tid);
	if (s->thread)
		json__str(j, "thread", s->thread);
}

static void add_stack(struct json *j, const struct allocsnoop_sample *s)
{
	json__u64(j, "pid", s->pid);
	json__str(j, "comm", s->comm);
	json__str(j, "allocator", s->allocator);
	json__u64(j, "alloc_count", s->alloc_count);
	json__u64(j, "alloc_bytes", s->alloc_bytes);
	json__u64(j, "live_count", s->live_count);
	json__u64(j, "live_bytes", s->live_bytes);
	json__bool(j, "truncated", s->truncated);
	json__str(j, "end", allocsnoop__end_name(s->end));
	json__str(j, "type", s->type ? s->type : "");
	json__key(j, "frames");
	str__add(&j->buf, "[");
	for (size_t i = 0; i < s->frame_cnt && !j->buf.oom; i++) {
		str__add(&j->buf, i ? ", " : "");
		add_frame_once(j, s->frames[i]);
	}
	str__add(&j->buf, "]");
	json__u64(j, "size_low", s->size_low);
	json__u64(j, "size_high", s->size_high);
	if (s->pid_cnt > 1)
		json__u64(j, "pids", s->pid_cnt);
	json__u64(j, "sampled_count", s->sampled_count);
	if (s->at_least)
		json__bool(j, "at_least", true);
	add_thread(j, s);
	if (j->p->info.diff)
		json_diff__stack(j, s);
	if (j->live)
		json_live__stack(j, s);
	if (j->p->info.exact)
		return;
	json__real(j, "alloc_count_se", sqrt(s->alloc_count_var));
	json__real(j, "alloc_bytes_se", sqrt(s->alloc_bytes_var));
}

static int write_stacks(struct json *j)
{
	int err = 0;

	str__add(&j->buf, ",\n\"stacks\": [");
	for (size_t i = 0; !err && i < j->p->samples.cnt; i++) {
		str__add(&j->buf, i ? ",\n{" : "\n{");
		add_stack(j, &j->p->samples.v[i]);
		str__add(&j->buf, "}");
		err = flush_buf(j);
	}
	str__add(&j->buf, "]");
	return err;
}

/* Not there where it's calls of allocators only. */
static void add_traced(struct json *j)
{
	static const char *const names[] = { "malloc", "mmap", "brk", "fault" };
	u32 trace = j->p->info.trace;
	const char *between = "";

	if (!(trace & ~ALLOCSNOOP_TRACE_MALLOC))
		return;
	str__add(&j->buf, "\"traced\": [");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(trace & 1u << i))
			continue;
		str__addf(&j->buf, "%s\"%s\"", between, names[i]);
		between = ", ";
	}
	str__add(&j->buf, "],\n");
}

static void add_point(struct json *j, const struct allocsnoop_point *point)
{
	str__add(&j->buf, "{");
	json__u64(j, "time_ns", point->time_ns);
	json__u64(j, "alloc_count", point->alloc_count);
	json__u64(j, "alloc_bytes", point->alloc_bytes);
	if (j->live) {
		json__u64(j, "live_count", point->live_count);
		json__u64(j, "live_bytes", point->live_bytes);
	}
	str__add(&j->buf, "}");
}

static void add_timeline(struct json *j)
{
	if (!j->p->points.cnt)
		return;
	str__add(&j->buf, "\"timeline\": [");
	for (size_t i = 0; i < j->p->points.cnt; i++) {
		str__add(&j->buf, i ? ",\n" : "\n");
		add_point(j, &j->p->points.v[i]);
	}
	str__add(&j->buf, "],\n");
}

static void add_regex(struct json *j, const char *key, const char *regex)
{
	if (regex)
		json__str(j, key, regex);
}

/* What was chosen, and the totals of what it was chosen from. */
static void add_filter(struct json *j, const struct allocsnoop_report_opts *opts)
{
	const struct allocsnoop_info *info = &j->p->info;

	if (!opts->focus && !opts->ignore && !opts->hide && !info->filtered)
		return;
	str__add(&j->buf, "\"filter\": {");
	add_regex(j, "focus", opts->focus);
	add_regex(j, "ignore", opts->ignore);
	add_regex(j, "hide", opts->hide);
	if (info->filtered) {
		json__u64(j, "all_alloc_count", info->all_alloc_count);
		json__u64(j, "all_alloc_bytes", info->all_alloc_bytes);
		json__u64(j, "all_live_count", info->all_live_count);
		json__u64(j, "all_live_bytes", info->all_live_bytes);
	}
	str__add(&j->buf, "},\n");
}

static int write_tail(struct json *j, const struct allocsnoop_report_opts *opts)
{
	static const char *const names[] = {
		[ALLOCSNOOP_BY_STACK] = "stack", [ALLOCSNOOP_BY_FUNCTION] = "function",
		[ALLOCSNOOP_BY_FILE] = "file",	 [ALLOCSNOOP_BY_PROCESS] = "process",
		[ALLOCSNOOP_BY_SIZE] = "size",	 [ALLOCSNOOP_BY_THREAD] = "thread",
		[ALLOCSNOOP_BY_TYPE] = "type",
	};

	str__add(&j->buf, ",\n");
	add_traced(j);
	add_timeline(j);
	add_filter(j, opts);
	str__add(&j->buf, "\"by\": ");
	json__string(j, opts->by < ARRAY_SIZE(names) ? names[opts->by] : "unknown");
	json__str(j, "target", j->p->info.target);
	str__add(&j->buf, "}\n");
	return flush_buf(j);
}

static int json_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	struct json j = { .out = out, .p = p, .live = !strcmp(p->info.mode, "live") };
	int err = write_head(&j);

	if (!err)
		err = write_processes(&j);
	if (!err)
		err = write_stacks(&j);
	if (!err)
		err = write_tail(&j, opts);
	str__free(&j.buf);
	str__free(&j.clean);
	map__free(&j.frames);
	arena__free(&j.arena);
	return err ? err : writer__done(out);
}

const struct writer writer_json = {
	.name = "json",
	.help = "one object for programs: totals, losses, processes, stacks",
	.extension = "json",
	.write = json_write,
};
