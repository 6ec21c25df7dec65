/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows for spreadsheets and data frames, as RFC 4180 has them: a header, then one record for each
 * row. Names are chosen by the traced programs, and spreadsheets execute cells; so text always
 * stands in quotes and never begins as a formula does, and what isn't in quotes is a number.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "report/writer.h"

#define END_OF_RECORD "\r\n"

struct csv {
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	u32 what;	    /* WITH_*: which columns there are */
	struct str line;    /* the record being made */
	struct str clean;   /* a name without what would harm */
	struct arena arena; /* names of frames, ready for the list of a stack */
	struct map frames;  /* frame -> its name there */
};

/* Columns that there are only when they say something. */
enum with {
	WITH_ALL = 0,
	WITH_ERRORS = 1, /* the numbers are estimates */
	WITH_LIVE = 2,
	WITH_THREADS = 4,
	WITH_BASE = 8, /* a difference */
};

/* ---- text ---- */

static bool begins_formula(char c)
{
	return c == '=' || c == '+' || c == '-' || c == '@';
}

/*
 * An apostrophe keeps spreadsheets from taking the cell for a formula. They may part cells by
 * semicolons, too, whatever the quotes say: what follows one begins a cell.
 */
static void add_guarded(struct str *to, const char *text, bool in_list)
{
	bool begins = true;

	for (const char *c = text; *c; c++) {
		if (begins && begins_formula(*c))
			str__add(to, "'");
		begins = *c == ';' && !in_list;
		if (*c == '"')
			str__add(to, "\"\"");
		else
			str__addn(to, in_list && *c == ';' ? ":" : c, 1);
	}
}

/* The text without control characters: a record is a line. */
static const char *clean_text(struct csv *c, const char *text)
{
	str__clear(&c->clean);
	str__add_utf8(&c->clean, text, strlen(text), true);
	c->line.oom |= c->clean.oom;
	return c->clean.oom ? "" : c->clean.s;
}

static void add_text(struct csv *c, const char *text)
{
	if (!text || !*text)
		return;
	str__add(&c->line, "\"");
	add_guarded(&c->line, clean_text(c, text), false);
	str__add(&c->line, "\"");
}

static void add_frame_name(struct csv *c, const struct allocsnoop_frame *f)
{
	struct str name = { 0 };
	const char *kept;
	u64 old;

	if (map__get(&c->frames, (uintptr_t)f, &old)) {
		str__add(&c->line, (const char *)(uintptr_t)old);
		return;
	}
	add_guarded(&name, clean_text(c, *f->function ? f->function : "[unknown]"), true);
	kept = name.oom ? NULL : arena__intern(&c->arena, name.s);
	str__free(&name);
	if (!kept || map__put(&c->frames, (uintptr_t)f, (uintptr_t)kept))
		c->line.oom = true;
	else
		str__add(&c->line, kept);
}

/* ---- cells ---- */

static void cell_comm(struct csv *c, const struct allocsnoop_sample *s)
{
	add_text(c, s->comm);
}

static void cell_thread(struct csv *c, const struct allocsnoop_sample *s)
{
	add_text(c, s->thread);
}

static void cell_allocator(struct csv *c, const struct allocsnoop_sample *s)
{
	add_text(c, s->allocator);
}

static void cell_type(struct csv *c, const struct allocsnoop_sample *s)
{
	add_text(c, s->type);
}

static void cell_end(struct csv *c, const struct allocsnoop_sample *s)
{
	add_text(c, allocsnoop__end_name(s->end));
}

/* The one who is to blame for the row; a row by file has the file for its only frame. */
static const struct allocsnoop_frame *row__caller(const struct csv *c,
						  const struct allocsnoop_sample *s)
{
	if (c->opts->by == ALLOCSNOOP_BY_FILE)
		return s->frame_cnt ? s->frames[0] : NULL;
	return sample__caller(s);
}

static void cell_function(struct csv *c, const struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame *f = row__caller(c, s);

	if (f && c->opts->by != ALLOCSNOOP_BY_FILE)
		add_text(c, f->function);
}

static void cell_module(struct csv *c, const struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame *f = row__caller(c, s);

	add_text(c, f ? f->module : NULL);
}

static void cell_file(struct csv *c, const struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame *f = row__caller(c, s);

	add_text(c, f ? f->file : NULL);
}

static void cell_line(struct csv *c, const struct allocsnoop_sample *s)
{
	const struct allocsnoop_frame *f = row__caller(c, s);

	if (f && f->file && f->line)
		str__addf(&c->line, "%u", f->line);
}

/* Root first, as in folded stacks. */
static void cell_stack(struct csv *c, const struct allocsnoop_sample *s)
{
	if (!s->frame_cnt || c->opts->by == ALLOCSNOOP_BY_FILE)
		return;
	str__add(&c->line, "\"");
	for (size_t i = s->frame_cnt; i > 0; i--) {
		add_frame_name(c, s->frames[i - 1]);
		str__add(&c->line, i > 1 ? ";" : "");
	}
	str__add(&c->line, "\"");
}

/* ---- columns ---- */

enum cell {
	CELL_TEXT, /* by its own function */
	CELL_ID,   /* u32; nothing when 0 */
	CELL_U32,
	CELL_U64,
	CELL_S64,
	CELL_FLAG,   /* bool: 1 or 0 */
	CELL_MEAN,   /* double, in whole numbers */
	CELL_ERROR,  /* the square root of a variance */
	CELL_CHANGE, /* u64, less another one */
};

#define TEXT(fn)	CELL_TEXT, .add = fn
#define AT(kind, field) kind, .at = offsetof(struct allocsnoop_sample, field)
#define CHANGE(field) \
	AT(CELL_CHANGE, field), .base = offsetof(struct allocsnoop_sample, base_##field)

/* clang-format off */
static const struct column {
	const char *name; /* as in JSON, where it is there */
	u32 with;
	enum cell cell;
	size_t at;	  /* in the row */
	size_t base;
	void (*add)(struct csv *c, const struct allocsnoop_sample *s);
} columns[] = {
	{ "pid", WITH_ALL, AT(CELL_ID, pid) },
	{ "pids", WITH_ALL, AT(CELL_U32, pid_cnt) },
	{ "comm", WITH_ALL, TEXT(cell_comm) },
	{ "tid", WITH_THREADS, AT(CELL_ID, tid) },
	{ "thread", WITH_THREADS, TEXT(cell_thread) },
	{ "allocator", WITH_ALL, TEXT(cell_allocator) },
	{ "type", WITH_ALL, TEXT(cell_type) },
	{ "function", WITH_ALL, TEXT(cell_function) },
	{ "module", WITH_ALL, TEXT(cell_module) },
	{ "file", WITH_ALL, TEXT(cell_file) },
	{ "line", WITH_ALL, TEXT(cell_line) },
	{ "size_low", WITH_ALL, AT(CELL_U64, size_low) },
	{ "size_high", WITH_ALL, AT(CELL_U64, size_high) },
	{ "end", WITH_ALL, TEXT(cell_end) },
	{ "alloc_count", WITH_ALL, AT(CELL_U64, alloc_count) },
	{ "alloc_bytes", WITH_ALL, AT(CELL_U64, alloc_bytes) },
	{ "alloc_count_se", WITH_ERRORS, AT(CELL_ERROR, alloc_count_var) },
	{ "alloc_bytes_se", WITH_ERRORS, AT(CELL_ERROR, alloc_bytes_var) },
	{ "sampled_count", WITH_ALL, AT(CELL_U64, sampled_count) },
	{ "at_least", WITH_ERRORS, AT(CELL_FLAG, at_least) },
	{ "base_alloc_count", WITH_BASE, AT(CELL_U64, base_alloc_count) },
	{ "base_alloc_bytes", WITH_BASE, AT(CELL_U64, base_alloc_bytes) },
	{ "change_alloc_count", WITH_BASE, CHANGE(alloc_count) },
	{ "change_alloc_bytes", WITH_BASE, CHANGE(alloc_bytes) },
	{ "live_count", WITH_LIVE, AT(CELL_U64, live_count) },
	{ "live_bytes", WITH_LIVE, AT(CELL_U64, live_bytes) },
	{ "live_count_se", WITH_LIVE | WITH_ERRORS, AT(CELL_ERROR, live_count_var) },
	{ "live_bytes_se", WITH_LIVE | WITH_ERRORS, AT(CELL_ERROR, live_bytes_var) },
	{ "base_live_count", WITH_LIVE | WITH_BASE, AT(CELL_U64, base_live_count) },
	{ "base_live_bytes", WITH_LIVE | WITH_BASE, AT(CELL_U64, base_live_bytes) },
	{ "change_live_count", WITH_LIVE | WITH_BASE, CHANGE(live_count) },
	{ "change_live_bytes", WITH_LIVE | WITH_BASE, CHANGE(live_bytes) },
	{ "freed_count", WITH_LIVE, AT(CELL_U64, freed_count) },
	{ "freed_bytes", WITH_LIVE, AT(CELL_U64, freed_bytes) },
	{ "exit_count", WITH_LIVE, AT(CELL_U64, exit_count) },
	{ "exit_bytes", WITH_LIVE, AT(CELL_U64, exit_bytes) },
	{ "untracked_count", WITH_LIVE, AT(CELL_U64, untracked_count) },
	{ "untracked_bytes", WITH_LIVE, AT(CELL_U64, untracked_bytes) },
	{ "temporary_count", WITH_LIVE, AT(CELL_U64, temporary_count) },
	{ "old_count", WITH_LIVE, AT(CELL_U64, old_count) },
	{ "old_bytes", WITH_LIVE, AT(CELL_U64, old_bytes) },
	{ "peak_count", WITH_LIVE, AT(CELL_U64, peak_count) },
	{ "peak_bytes", WITH_LIVE, AT(CELL_U64, peak_bytes) },
	{ "grown_count", WITH_LIVE, AT(CELL_S64, grown_count) },
	{ "grown_bytes", WITH_LIVE, AT(CELL_S64, grown_bytes) },
	{ "freed_mean_ns", WITH_LIVE, AT(CELL_MEAN, freed_mean_ns) },
	{ "live_mean_ns", WITH_LIVE, AT(CELL_MEAN, live_mean_ns) },
	{ "collected", WITH_LIVE, AT(CELL_FLAG, collected) },
	{ "stack", WITH_ALL, TEXT(cell_stack) },
};
/* clang-format on */

static void add_change(struct str *s, u64 now, u64 before)
{
	if (now >= before)
		str__addf(s, "%" PRIu64, now - before);
	else
		str__addf(s, "-%" PRIu64, before - now);
}

static void add_cell(struct csv *c, const struct column *col, const struct allocsnoop_sample *s)
{
	const void *at = (const char *)s + col->at, *base = (const char *)s + col->base;
	struct str *line = &c->line;

	switch (col->cell) {
	case CELL_TEXT:
		col->add(c, s);
		break;
	case CELL_ID:
		if (*(const u32 *)at)
			str__add_u64(line, *(const u32 *)at);
		break;
	case CELL_U32:
		str__add_u64(line, *(const u32 *)at);
		break;
	case CELL_U64:
		str__add_u64(line, *(const u64 *)at);
		break;
	case CELL_S64:
		str__addf(line, "%" PRId64, *(const s64 *)at);
		break;
	case CELL_FLAG:
		str__add(line, *(const bool *)at ? "1" : "0");
		break;
	case CELL_MEAN:
		if (isfinite(*(const double *)at))
			str__addf(line, "%.0f", *(const double *)at);
		break;
	case CELL_ERROR:
		if (isfinite(*(const double *)at) && *(const double *)at >= 0)
			str__addf(line, "%.15g", sqrt(*(const double *)at));
		break;
	case CELL_CHANGE:
		add_change(line, *(const u64 *)at, *(const u64 *)base);
		break;
	}
}

static u32 columns_with(const struct allocsnoop_profile *p)
{
	u32 with = WITH_ALL;

	if (!p->info.exact)
		with |= WITH_ERRORS;
	if (!strcmp(p->info.mode, "live"))
		with |= WITH_LIVE;
	if (p->info.diff)
		with |= WITH_BASE;
	for (size_t i = 0; i < p->samples.cnt; i++) {
		if (p->samples.v[i].thread || p->samples.v[i].tid)
			return with | WITH_THREADS;
	}
	return with;
}

/* s NULL: the header. */
static int write_record(struct csv *c, const struct allocsnoop_sample *s)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (columns[i].with & ~c->what)
			continue;
		str__add(&c->line, comma);
		if (s)
			add_cell(c, &columns[i], s);
		else
			str__add(&c->line, columns[i].name);
		comma = ",";
	}
	str__add(&c->line, END_OF_RECORD);
	if (c->line.oom)
		return err__fail(-ENOMEM, "cannot write the report: out of memory");
	fwrite(c->line.s, 1, c->line.len, c->out);
	str__clear(&c->line);
	/* Tell of a full disk or a closed pipe now, not after the last row. */
	return ferror(c->out) ? writer__done(c->out) : 0;
}

static int write_records(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct csv c = { .opts = opts, .out = out, .what = columns_with(p) };
	int err = write_record(&c, NULL);

	for (size_t i = 0; !err && i < p->samples.cnt; i++)
		err = write_record(&c, &p->samples.v[i]);
	str__free(&c.line);
	str__free(&c.clean);
	map__free(&c.frames);
	arena__free(&c.arena);
	return err ? err : writer__done(out);
}

static int csv_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out)
{
	return writer__in_c_locale(write_records, p, opts, out);
}

const struct writer writer_csv = {
	.name = "csv",
	.help = "one record for each row, for spreadsheets",
	.extension = "csv",
	.write = csv_write,
};
