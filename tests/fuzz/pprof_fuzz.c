/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: any bytes as a saved profile are read or refused with one line, without a bad
 * access; what was read can be written, and from then on it comes back as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "pprof/pprof.h"
#include "report/writer.h"

#define REQUIRE(cond)            \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

/* As in report/writer.c, without all the other writers. */
int writer__done(FILE *out)
{
	return fflush(out) ? -EIO : 0;
}

struct saved {
	char *data;
	size_t size;
};

static struct allocsnoop_profile *read_profile(const void *data, size_t size)
{
	struct allocsnoop_profile *p = NULL;
	FILE *in = fmemopen((void *)data, size, "r");
	int err;

	REQUIRE(in);
	err__clear();
	err = pprof__read(in, &p);
	fclose(in);
	REQUIRE(err ? !p && *err__msg() && !strchr(err__msg(), '\n') : p != NULL);
	return p;
}

static struct saved save(struct allocsnoop_profile *p)
{
	struct saved s = {};
	FILE *out = open_memstream(&s.data, &s.size);

	REQUIRE(out && !writer_pprof.write(p, &(struct allocsnoop_report_opts){}, out));
	fclose(out);
	profile__free(p);
	return s;
}

static void check_frames(const struct allocsnoop_profile *p)
{
	for (size_t i = 0; i < p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &p->samples.v[i];

		REQUIRE(s->comm && s->allocator && s->end < ALLOCSNOOP_END_MAX);
		for (size_t f = 0; f < s->frame_cnt; f++)
			REQUIRE(*s->frames[f]->function && s->frames[f]->module);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct allocsnoop_profile *p = size ? read_profile(data, size) : NULL;
	struct saved first, second;

	if (!p)
		return 0;
	check_frames(p);
	first = save(p);
	p = read_profile(first.data, first.size);
	REQUIRE(p);
	second = save(p);
	REQUIRE(first.size == second.size && !memcmp(first.data, second.data, first.size));
	free(first.data);
	free(second.data);
	return 0;
}
