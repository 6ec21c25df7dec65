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
	int (*ready)(void);    /* NULL: always. 0 or -errno, worded: this build can't */
	bool merges; /* by stack, process or thread: likewise, and sums and sorts itself */
	/* 0 or -errno (the caller checks ferror too). Doesn't filter, sort or symbolize. */
	int (*write)(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		     FILE *out);
};

extern const struct writer writer_text;
extern const struct writer writer_folded;
extern const struct writer writer_json;
extern const struct writer writer_pprof; /* src/pprof/write.c */
extern const struct writer writer_dhat;
extern const struct writer writer_heaptrack;
extern const struct writer writer_massif;
extern const struct writer writer_html;
extern const struct writer writer_speedscope;
extern const struct writer writer_svg;
extern const struct writer writer_csv;
extern const struct writer writer_jeprof;

extern const struct writer *const writers[];		      /* NULL-terminated */
const struct writer *writer__find(const char *name);	      /* NULL: unknown */
int writer__check(const char *name, const struct writer **w); /* 0 or -errno, worded */

/* For writers: flushes and words what went wrong with the stream. 0 or -errno. */
int writer__done(FILE *out);

/* For writers of what became of blocks in one recording: 0, or -ENOTSUP with words and a hint for
 * differences, and where frees weren't followed. */
int writer__needs_live(const struct allocsnoop_profile *p, const char *format);

/* The process with the highest peak; NULL: none is known. */
const struct allocsnoop_process *writer__highest(const struct allocsnoop_profile *p);
/* For writers that print real numbers: a program that embeds the library may have set a locale
 * with a decimal comma. What write() returns, or -errno. */
int writer__in_c_locale(writer_fn write, const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out);

#endif
