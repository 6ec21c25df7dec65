/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of single writers: what one writes, in memory, and beside a golden file
 * (GOLDEN_UPDATE=1 rewrites those; look at the difference before you commit it). */
#ifndef TESTS_UNIT_WRITTEN_H
#define TESTS_UNIT_WRITTEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "check.h"
#include "report/writer.h"

struct written {
	char *text;
	size_t size;
	int err;
};

/* As the library does it: grouped and sorted, unless the writer wants all rows. */
static inline struct written write_profile(const struct allocsnoop_profile *p,
					   const struct writer *w,
					   struct allocsnoop_report_opts opts)
{
	struct allocsnoop_profile *g = w->whole ? NULL : profile__group(p, opts.by);
	struct written r = {};
	FILE *out = open_memstream(&r.text, &r.size);

	if (g)
		profile__sort(g, opts.value);
	err__clear();
	r.err = w->write(g ? g : p, &opts, out);
	fclose(out);
	profile__free(g);
	return r;
}

static inline void check_golden_file(const char *name, const struct written *r)
{
	char path[256], *want = NULL;
	size_t size = 0;
	FILE *file;
	int c;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (getenv("GOLDEN_UPDATE")) {
		file = fopen(path, "w");
		fwrite(r->text, 1, r->size, file);
		fclose(file);
	}
	FILE *copy = open_memstream(&want, &size);

	file = fopen(path, "r");
	while (file && (c = fgetc(file)) != EOF)
		fputc(c, copy);
	if (file)
		fclose(file);
	fclose(copy);
	if (size != r->size || memcmp(want, r->text, size)) {
		check_failures++;
		fprintf(stderr, "%s differs; got:\n%s", path, r->text);
	}
	free(want);
}

#endif
