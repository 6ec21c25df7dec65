/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports as text, and the ones in tests/golden/ that they must be equal to. GOLDEN_UPDATE=1
 * rewrites those: look at the difference before you commit it. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

struct report {
	char *text; /* ends with a 0 that isn't part of it */
	size_t size;
};

static inline struct report read_file(const char *path)
{
	struct report r = { 0 };
	FILE *in = fopen(path, "r"), *out = open_memstream(&r.text, &r.size);
	int c;

	while (in && (c = fgetc(in)) != EOF)
		fputc(c, out);
	if (in)
		fclose(in);
	fclose(out);
	return r;
}

static inline void write_file(const char *path, const struct report *r)
{
	FILE *out = fopen(path, "w");

	if (!out || fwrite(r->text, 1, r->size, out) != r->size || fclose(out))
		abort();
}

static inline void check_golden(const char *name, const struct report *r)
{
	struct report want;
	char path[512];

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (getenv("GOLDEN_UPDATE"))
		write_file(path, r);
	want = read_file(path);
	if (want.size != r->size || memcmp(want.text, r->text, r->size)) {
		check_failures++;
		fprintf(stderr, "%s differs; got:\n%s", path, r->text);
	}
	free(want.text);
}

#endif
