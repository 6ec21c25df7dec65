/* SPDX-License-Identifier: BSD-2-Clause */
/* One report format: a function from a finished profile (grouped and sorted unless it wants it
 * whole) to a stream. */
#ifndef REPORT_WRITER_H
#define REPORT_WRITER_H

#include <stdio.h>

#include "profile/profile.h"

typedef int (*writer_fn)(const struct allocsnoop_profile *p,
			 const struct allocsnoop_report_opts *opts, FILE *out);

struct writer {
	const char *name;
	const char *help;
	const char *extension; /* of -o files, without the dot: "folded", "json", "txt" */
	bool whole;	       /* gets every row as it was recorded, neither grouped nor sorted */
	bool merges; /* by stack, process or thread: likewise, and sums and sorts itself */
	/* 0 or -errno (the caller checks ferror too). Doesn't filter, sort or symbolize. */
	int (*write)(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out);
};

extern const struct writer writer_text;
extern const struct writer writer_folded;
extern const struct writer writer_json;
extern const struct writer writer_speedscope;
extern const struct writer writer_svg;
extern const struct writer writer_csv;
extern const struct writer writer_jeprof;

extern const struct writer *const writers[];	     /* NULL-terminated */
const struct writer *writer__find(const char *name); /* NULL: unknown */

/* For writers: flushes and words what went wrong with the stream. 0 or -errno. */
int writer__done(FILE *out);

/* For writers that print real numbers: a program that embeds the library may have set a locale
 * with a decimal comma. What write() returns, or -errno. */
int writer__in_c_locale(writer_fn write, const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out);

#endif
