/* SPDX-License-Identifier: BSD-2-Clause */
/* See the header. Columns are as wide as the file needs: texts are made first, then measured. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "target/list.h"
#include "target/site.h"

enum { COL_ALLOCATOR, COL_FUNCTION, COL_OFFSET, COL_INSN, COL_ARGS, COL_WHY, COL_CNT };

static const char *const headings[COL_CNT] = { "ALLOCATOR",   "FUNCTION",  "OFFSET",
					       "INSTRUCTION", "ARGUMENTS", "WHY" };

struct line {
	struct str col[COL_CNT];
};

static void add_arg(struct str *s, const char *name, u8 arg)
{
	if (arg == CATALOG_ARG_GO)
		str__addf(s, "%s=rax", name);
	else if (arg)
		str__addf(s, "%s%s=arg%u", s->len ? " " : "", name, arg);
}

/* The standard names are everybody's: those of an allocator library are the library's. */
static const char *family(const struct site_file *f, const struct catalog_row *row)
{
	return !row->layer && (row->cxx_new || row->allocator == catalog[0].allocator)
		       ? f->allocator
		       : row->allocator;
}

static void line__init(struct line *l, const struct site_file *f, const struct site *site)
{
	const struct catalog_row *row = site->row;

	*l = (struct line){};
	str__add_utf8(&l->col[COL_ALLOCATOR], family(f, row), strlen(family(f, row)), true);
	str__add_utf8(&l->col[COL_FUNCTION], site->symbol, strlen(site->symbol), true);
	str__addf(&l->col[COL_OFFSET], "0x%" PRIx64, site->probe_off);
	str__add(&l->col[COL_INSN], site->insn[0] ? site->insn : "-");
	add_arg(&l->col[COL_ARGS], "size", row->size_arg);
	if (row->layer && probe__of(row)->fixed_size)
		str__addf(&l->col[COL_ARGS], "size=%" PRIu64, probe__of(row)->fixed_size);
	add_arg(&l->col[COL_ARGS], "count", row->count_arg);
	add_arg(&l->col[COL_ARGS], "ptr", row->ptr_arg);
	add_arg(&l->col[COL_ARGS], "align", row->align_arg);
	add_arg(&l->col[COL_ARGS], "out", row->out_arg);
	str__add(&l->col[COL_WHY], site->why);
	if (site->probe_off != site->func_off)
		str__addf(&l->col[COL_WHY], " at +%" PRIu64, site->probe_off - site->func_off);
}

static bool line__oom(const struct line *l)
{
	for (int c = 0; c < COL_CNT; c++)
		if (l->col[c].oom)
			return true;
	return false;
}

static const char *jump_name(const struct site_file *f, const struct site_jump *j)
{
	return j->to >= 0 ? f->sites.v[j->to].symbol : j->import;
}

/* An import that the file defines too is listed once. */
static bool is_repeated(const struct site_file *f, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (f->jumps.v[k].from == f->jumps.v[i].from &&
		    !strcmp(jump_name(f, &f->jumps.v[k]), jump_name(f, &f->jumps.v[i])))
			return true;
	return false;
}

static void write_jumps(const struct site_file *f, u32 site, FILE *out)
{
	const char *sep = "; jumps on to ";

	for (size_t i = 0; i < f->jumps.cnt; i++) {
		if (f->jumps.v[i].from != site || is_repeated(f, i))
			continue;
		fprintf(out, "%s%s", sep, jump_name(f, &f->jumps.v[i]));
		sep = ", ";
	}
}

static void write_table(const struct site_file *f, const struct line *lines, FILE *out)
{
	int width[COL_CNT];

	for (int c = 0; c < COL_CNT; c++) {
		width[c] = (int)strlen(headings[c]);
		for (size_t i = 0; i < f->sites.cnt; i++)
			width[c] = MAX(width[c], (int)lines[i].col[c].len);
	}
	for (int c = 0; c < COL_WHY; c++)
		fprintf(out, "%s%-*s", c ? "  " : "    ", width[c], headings[c]);
	fprintf(out, "  %s\n", headings[COL_WHY]);
	for (size_t i = 0; i < f->sites.cnt; i++) {
		for (int c = 0; c < COL_WHY; c++)
			fprintf(out, "%s%-*s", c ? "  " : "    ", width[c],
				lines[i].col[c].s ? lines[i].col[c].s : "");
		fprintf(out, "  %s", lines[i].col[COL_WHY].s);
		write_jumps(f, (u32)i, out);
		fputc('\n', out);
	}
}

static void write_heading(const struct site_file *f, const char *path, FILE *out)
{
	struct str name = {};
	u64 bytes = 0;

	str__add_utf8(&name, path, strlen(path), true);
	for (size_t i = 0; i < f->ranges.cnt; i++)
		bytes += f->ranges.v[i].end - f->ranges.v[i].start;
	fprintf(out, "%s", name.s ? name.s : "");
	if (f->sites.cnt)
		fprintf(out,
			": %s, %zu function%s; calls from %" PRIu64
			" bytes of its own code are nested",
			f->allocator, f->sites.cnt, f->sites.cnt == 1 ? "" : "s", bytes);
	else
		fprintf(out, ": %s", f->has_symbols ? "no allocator to probe" : "no symbols");
	fputc('\n', out);
	str__free(&name);
}

int site_file__write(const struct site_file *f, const char *path, FILE *out)
{
	struct line *lines = calloc(f->sites.cnt + 1, sizeof(*lines));
	bool oom = !lines;

	for (size_t i = 0; i < f->sites.cnt && !oom; i++) {
		line__init(&lines[i], f, &f->sites.v[i]);
		oom = line__oom(&lines[i]);
	}
	if (!oom) {
		write_heading(f, path, out);
		if (f->sites.cnt)
			write_table(f, lines, out);
		for (size_t i = 0; i < f->skipped.cnt; i++)
			fprintf(out, "    not probed: %s\n", f->skipped.v[i]);
	}
	for (size_t i = 0; lines && i < f->sites.cnt; i++)
		for (int c = 0; c < COL_CNT; c++)
			str__free(&lines[i].col[c]);
	free(lines);
	if (oom)
		return -ENOMEM;
	return ferror(out) ? -EIO : 0;
}
