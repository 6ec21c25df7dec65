/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format a report has: by its name, or by that of the file; and what goes together with it.
 */
#include <allocsnoop.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cli/options.h"

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* massif.out, massif.out.1234 */
static bool has_stem(const char *path, const char *stem)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = stem ? strlen(stem) : 0;

	return stem && !strncmp(name, stem, len) && (!name[len] || name[len] == '.');
}

static const struct format_row *format__of_stem(const char *path)
{
	for (const struct format_row *f = format_rows; f->name; f++) {
		if (has_stem(path, f->stem))
			return f;
	}
	return NULL;
}

/* The longer end that the file's name has; 0: neither. */
static size_t extension__fits(const struct format_row *f, const char *output)
{
	size_t len = ends_with(output, f->extension) ? strlen(f->extension) : 0;

	if (f->other && ends_with(output, f->other) && strlen(f->other) > len)
		len = strlen(f->other);
	return len;
}

/* By the longest extension (".dhat.json" is not ".json"), else by the stem. NULL: none. */
const struct format_row *format__of_output(const char *output)
{
	const struct format_row *best = NULL;
	size_t best_len = 0;

	for (const struct format_row *f = format_rows; f->name; f++) {
		size_t len = extension__fits(f, output);

		if (len <= best_len)
			continue;
		best = f;
		best_len = len;
	}
	return best ? best : format__of_stem(output);
}

static const struct format_row *format__of_name(const char *name)
{
	for (const struct format_row *f = format_rows; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static int format__unknown(const char *name)
{
	struct choice names[32] = {};
	size_t cnt = 0;

	for (const struct format_row *f = format_rows; f->name && cnt < ARRAY_SIZE(names) - 1; f++)
		names[cnt++] = (struct choice){ f->name, 0, f->later };
	err__fail(-EINVAL, "--format '%s': unknown", name);
	suggest__choice(names, name);
	return -EINVAL;
}

/* A tree is of stacks. */
static int tree__check(const struct cli_opts *o)
{
	if (!o->tree)
		return 0;
	if (strcmp(o->format->name, "text"))
		return err__fail(-EINVAL, "--tree: means nothing to --format %s", o->format->name);
	if (o->by == ALLOCSNOOP_BY_FILE || o->by == ALLOCSNOOP_BY_SIZE ||
	    o->by == ALLOCSNOOP_BY_TYPE) {
		err__fail(-EINVAL, "--tree: not together with --by file, size or type");
		err__hint("--by function begins with the allocators, --by process with processes");
		return -EINVAL;
	}
	return 0;
}

/* Options that mean nothing to the format. */
static int format__check(const struct cli_opts *o)
{
	const struct format_row *f = o->format;
	/* Threads are told apart when they are recorded. */
	bool recorded = f->threads && o->verb == VERB_RECORD && o->by == ALLOCSNOOP_BY_THREAD;
	const char *option = o->top && !f->has_rows	       ? "top"
			     : o->by && f->whole && !recorded  ? "by"
			     : o->value_given && f->all_values ? "value"
							       : NULL;

	if (option)
		return err__fail(-EINVAL, "--%s: means nothing to --format %s", option, f->name);
	if (o->value_given && f->values && !(f->values >> o->value & 1))
		return err__fail(-EINVAL,
				 "--value: --format %s is about alloc-bytes, alloc-count, "
				 "live-bytes or live-count",
				 f->name);
	if (o->no_inlines && !o->lines && !f->lines)
		return err__fail(-EINVAL, "--no-inlines: needs --lines with --format %s", f->name);
	return tree__check(o);
}

int format__choose(struct cli_opts *o)
{
	o->format = o->format_name ? format__of_name(o->format_name)
		    : o->output	   ? format__of_output(o->output)
				   : NULL;
	if (!o->format && o->format_name)
		return format__unknown(o->format_name);
	if (!o->format)
		o->format = o->verb == VERB_MERGE ? format__of_name("pprof") : format_rows;
	if (o->format->later)
		return err__fail(-EINVAL, "--format %s: not yet in this version", o->format->name);
	return format__check(o);
}

int format__check_recording(const struct cli_opts *o)
{
	const struct format_row *f = o->format;
	const char *without = o->sample_bytes || o->sample_rate < 1  ? "sampling"
			      : o->older_ns			     ? "--older"
			      : o->events & ~ALLOCSNOOP_TRACE_MALLOC ? "--event mmap and brk"
								     : NULL;

	if (f->live && !o->live) {
		err__fail(-EINVAL, "--format %s: needs --live", f->name);
		err__hint("add -l: it tells what became of blocks");
		return -EINVAL;
	}
	if (f->exact && without)
		return err__fail(-EINVAL, "--format %s: not together with %s", f->name, without);
	return 0;
}
