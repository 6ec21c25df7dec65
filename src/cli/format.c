/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format a file's name stands for, and what a recording must have for it. */
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

const struct format_row *format__of_output(const char *output)
{
	const struct format_row *best = NULL;

	for (const struct format_row *f = format_rows; f->name; f++) {
		if (ends_with(output, f->extension) &&
		    (!best || strlen(f->extension) > strlen(best->extension)))
			best = f;
	}
	return best ? best : format__of_stem(output);
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
