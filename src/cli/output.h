/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where reports go. Standard output and things that aren't regular files (pipes, /dev/null) are
 * written in place, one report after the other. A file is replaced as a whole, by a temporary file
 * beside it that is renamed: nobody ever reads half a report under the final name.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <allocsnoop.h>

#include "cli/options.h"

struct output {
	const struct cli_opts *o;
	char *path;	   /* of the file to replace, links followed; NULL: written in place */
	char *temporary;   /* the template of its temporary file's name */
	char *buffer;	   /* of the stream; NULL: none */
	int fd;		   /* written in place */
	const char *name;  /* for messages */
	size_t report_cnt; /* reports written */
};

/*
 * Checks that reports can be written: nobody wants to hear it after an hour of recording.
 * 0, -EINVAL (usage: a binary format on a terminal) or -errno; worded.
 */
int output__open(struct output *out, const struct cli_opts *o);

/*
 * Writes one report. With `dated` a line with the time stands before it where the format allows.
 * 0 or -errno, worded; -EPIPE when the reader of standard output has gone.
 */
int output__write(struct output *out, const struct allocsnoop_profile *profile, bool dated);

/* Nobody reads standard output any more, says the error of output__write(): no failure, the end. */
bool output__pipe_gone(const struct output *out, int err);

/* Formats without a place for losses tell them on standard error: a number that misses something
 * says so. */
void output__tell_losses(const struct output *out, const struct allocsnoop_profile *profile);

void output__close(struct output *out);

#endif
