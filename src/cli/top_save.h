/* SPDX-License-Identifier: BSD-2-Clause */
/* Saving what `top` shows. */
#ifndef CLI_TOP_SAVE_H
#define CLI_TOP_SAVE_H

#include <allocsnoop.h>

#include "cli/options.h"

/*
 * Writes the profile to `path` as -o does, whole or not at all, in the format of its extension.
 * *format: which that was. 0, -EEXIST: it is there, and `replace` wasn't said; or -errno, worded.
 */
int top_save__write(const struct cli_opts *o, const struct allocsnoop_profile *profile,
		    const char *path, enum allocsnoop_value value, bool replace,
		    const char **format);

#endif
