/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of process names, as the kernel side matches them. */
#ifndef TRACE_GLOBS_H
#define TRACE_GLOBS_H

#include "abi.h"

/* Patterns as of glob(7), parted by commas; a backslash makes the next character plain. Bytes, not
 * characters. Worded: -EINVAL. */
int globs__read(const char *text, struct as_globs *g);

#endif
