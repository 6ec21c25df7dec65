/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of `allocsnoop list` for one file. */
#ifndef TARGET_LIST_H
#define TARGET_LIST_H

#include <stdio.h>

struct site_file;

/*
 * A heading with the path, one line per site in aligned columns (allocator, function, file offset,
 * instruction, arguments, why there), what it jumps on to, then what was left out. 0, or the
 * stream's error.
 */
int site_file__write(const struct site_file *f, const char *path, FILE *out);

#endif
