/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON object, one line for each process and stack. It is written as it is read, so memory
 * grows with the number of different frames only (each is rendered once), not with the stacks.
 * jansson does what is hard to get right: the escapes of strings, and numbers with a point in every
 * locale. Its integers are signed, so the 64-bit unsigned ones are printed here.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "report/writer.h"

struct json {
	FILE *out;
	const struct allocsnoop_profile *p;
	struct str buf;	    /* the row being made */
	struct str clean;   /* a name as valid UTF-8 */
	struct arena arena; /* rendered frames */
	struct map frames;  /* frame -> its text */
};

/*
 * jansson escapes what JSON asks for. DEL and the C1 controls (U+0080..9f, two bytes c2 80..9f) may
 * stand in JSON, but a terminal obeys them.
 */
static int add_chunk(const char *text, size_t size, void *arg)
{
	struct str *s = arg;
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		u8 c = (u8)text[i], next = i + 1 < size ? (u8)text[i + 1] : 0;
		bool c1 = c == 0xc2 && next >= 0x80 && next <= 0x9f;

		if (c != 0x7f && !c1)
			continue;
		str__addn(s, text + from, i - from);
		str__addf(s, "\\u%04x", c1 ? next : c);
		i += c1;
		from = i + 1;
	}
	str__addn(s, text + from, size - from);
	return s->oom ? -1 : 0;
}

/* Takes over the value. */
static void add_value(struct json *j, json_t *value)
{
	const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15);

	if (!value || json_dump_callback(value, add_chunk, &j->buf, flags))
		j->buf.oom = true;
	json_decref(value);
}

static void add_string(struct json *j, const char *text)
{
	str__clear(&j->clean);
	str__add_utf8(&j->clean, text, strlen(text), false);
	if (j->clean.oom)
		j->buf.oom = true;
	else
		add_value(j, json_stringn_nocheck(j->clean.s, j->clean.len));
}

/* `"key":`, with a comma before it unless it is the object's first. Keys are ours: plain ASCII. */
static void add_key(struct json *j, const char *key)
{
	char before = j->buf.len ? j->buf.s[j->buf.len - 1] : '\0';

	str__addf(&j->buf, "%s\"%s\": ", before && before != '{' ? ", " : "", key);
}

static void add_str(struct json *j, const char *key, const char *text)
{
	add_key(j, key);
	add_string(j, text);
}

static void add_u64(struct json *j, const char *key, u64 val)
{
	add_key(j, key);
	str__addf(&j->buf, "%" PRIu64, val);
}

static void add_bool(struct json *j, const char *key, bool val)
{
	add_key(j, key);
	str__add(&j->buf, val ? "true" : "false");
}

/* JSON has neither infinity nor NaN. */
static void add_real(struct json *j, const char *key, double val)
{
	add_key(j, key);
	add_value(j, isfinite(val) ? json_real(val) : json_null());
}

/* Whole numbers without ".0": 524288, 1, but 0.01. */
static void add_number(struct json *j, const char *key, double val)
{
	if (val >= 0 && val < 0x1p53 && val == floor(val))
		add_u64(j, key, (u64)val);
	else
		add_real(j, key, val);
}

static int flush_buf(struct json *j)
{
	if (j->buf.oom)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	fwrite(j->buf.s, 1, j->buf.len, j->out);
	str__clear(&j->buf);
	/* Tell of a full disk or a closed pipe now, not after the last row. */
	return ferror(j->out) ? writer__done(j->out) : 0;
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

	add_key(j, "sampling");
	str__add(&j->buf, "{");
	add_str(j, "kind", kind < ARRAY_SIZE(kinds) ? kinds[kind] : "unknown");
	add_number(j, "value", info->sampling_value);
	str__add(&j->buf, "}");
}

static void add_totals(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;
	u64 sampled_cnt = 0;

	for (size_t i = 0; i < j->p->samples.cnt; i++)
		sampled_cnt = sum__add(sampled_cnt, j->p->samples.v[i].sampled_count);
	str__add(&j->buf, ",\n\"totals\": {");
	add_u64(j, "alloc_count", info->alloc_count);
	add_u64(j, "alloc_bytes", info->alloc_bytes);
	add_real(j, "alloc_count_se", info->alloc_count_se);
	add_real(j, "alloc_bytes_se", info->alloc_bytes_se);
	add_u64(j, "live_count", info->live_count);
	add_u64(j, "live_bytes", info->live_bytes);
	add_u64(j, "failed_count", info->failed_count);
	add_u64(j, "sampled_count", sampled_cnt);
	str__add(&j->buf, "}");
}

static void add_losses(struct json *j)
{
	str__add(&j->buf, ",\n\"losses\": {");
	for (size_t i = 0; i < j->p->losses.cnt; i++) {
		str__add(&j->buf, i ? ", " : "");
		add_string(j, j->p->losses.v[i].name);
		str__addf(&j->buf, ": %" PRIu64, j->p->losses.v[i].count);
	}
	str__add(&j->buf, "}");
}

static int write_head(struct json *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	str__add(&j->buf, "{");
	add_u64(j, "allocsnoop", 1);
	add_str(j, "mode", info->mode);
	add_bool(j, "exact", info->exact);
	add_sampling(j);
	add_u64(j, "duration_ns", info->duration_ns);
	add_u64(j, "events", info->events);
	add_totals(j);
	add_losses(j);
	return flush_buf(j);
}

static int write_processes(struct json *j)
{
	int err = 0;

	str__add(&j->buf, ",\n\"processes\": [");
	for (size_t i = 0; !err && i < j->p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &j->p->processes.v[i];

		str__add(&j->buf, i ? ",\n{" : "\n{");
		add_u64(j, "pid", proc->pid);
		add_str(j, "comm", proc->comm);
		add_str(j, "exe", proc->exe);
		add_bool(j, "exited", proc->exited);
		str__add(&j->buf, "}");
		err = flush_buf(j);
	}
	str__add(&j->buf, "]");
	return err;
}

static void add_frame(struct json *j, const struct allocsnoop_frame *f)
{
	str__add(&j->buf, "{");
	add_str(j, "function", f->function);
	add_str(j, "module", f->module);
	add_u64(j, "offset", f->offset);
	if (f->file) {
		add_str(j, "file", f->file);
	} else {
		add_key(j, "file");
		str__add(&j->buf, "null");
	}
	add_u64(j, "line", f->line);
	add_bool(j, "inlined", f->inlined);
	str__add(&j->buf, "}");
}

/* Stacks share their frame objects: the text of each is made once. */
static void add_frame_once(struct json *j, const struct allocsnoop_frame *f)
{
	size_t start = j->buf.len;
	const char *text;
	u64 old;

	if (map__get(&j->frames, (uintptr_t)f, &old)) {
		str__add(&j->buf, (const char *)(uintptr_t)old);
		return;
	}
	add_frame(j, f);
	if (j->buf.oom)
		return;
	text = arena__strndup(&j->arena, j->buf.s + start, j->buf.len - start);
	if (!text || map__put(&j->frames, (uintptr_t)f, (uintptr_t)text))
		j->buf.oom = true;
}

static void add_stack(struct json *j, const struct allocsnoop_sample *s)
{
	add_u64(j, "pid", s->pid);
	add_str(j, "comm", s->comm);
	add_str(j, "allocator", s->allocator);
	add_u64(j, "alloc_count", s->alloc_count);
	add_u64(j, "alloc_bytes", s->alloc_bytes);
	add_u64(j, "live_count", s->live_count);
	add_u64(j, "live_bytes", s->live_bytes);
	add_bool(j, "truncated", s->truncated);
	add_str(j, "end", allocsnoop__end_name(s->end));
	add_str(j, "type", s->type ? s->type : "");
	add_key(j, "frames");
	str__add(&j->buf, "[");
	for (size_t i = 0; i < s->frame_cnt && !j->buf.oom; i++) {
		str__add(&j->buf, i ? ", " : "");
		add_frame_once(j, s->frames[i]);
	}
	str__add(&j->buf, "]");
	add_u64(j, "size_low", s->size_low);
	add_u64(j, "size_high", s->size_high);
	if (s->pid_cnt > 1)
		add_u64(j, "pids", s->pid_cnt);
	add_u64(j, "sampled_count", s->sampled_count);
	if (j->p->info.exact)
		return;
	add_real(j, "alloc_count_se", sqrt(s->alloc_count_var));
	add_real(j, "alloc_bytes_se", sqrt(s->alloc_bytes_var));
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

static int write_tail(struct json *j, enum allocsnoop_by by)
{
	static const char *const names[] = {
		[ALLOCSNOOP_BY_STACK] = "stack", [ALLOCSNOOP_BY_FUNCTION] = "function",
		[ALLOCSNOOP_BY_FILE] = "file",	 [ALLOCSNOOP_BY_PROCESS] = "process",
		[ALLOCSNOOP_BY_SIZE] = "size",
	};

	str__add(&j->buf, ",\n");
	str__add(&j->buf, "\"by\": ");
	add_string(j, (size_t)by < ARRAY_SIZE(names) ? names[by] : "unknown");
	add_str(j, "target", j->p->info.target);
	str__add(&j->buf, "}\n");
	return flush_buf(j);
}

static int json_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	struct json j = { .out = out, .p = p };
	int err = write_head(&j);

	if (!err)
		err = write_processes(&j);
	if (!err)
		err = write_stacks(&j);
	if (!err)
		err = write_tail(&j, opts->by);
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
