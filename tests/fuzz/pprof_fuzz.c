/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: any bytes as a saved profile are read or refused with one line, without a bad
 * access; what was read can be written, and from then on it comes back as it is. Its views keep its
 * sums: what a filter keeps and what it leaves out are all, nothing has changed between it and
 * itself, and twice it is the double.
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

static u64 chosen(const struct allocsnoop_profile *p, struct allocsnoop_report_opts opts)
{
	struct allocsnoop_profile *view = NULL;
	u64 bytes;

	REQUIRE(!profile__filter(p, &opts, &view) && view);
	bytes = view->info.alloc_bytes;
	profile__free(view);
	return bytes;
}

static void check_filter(const struct allocsnoop_profile *p)
{
	const struct allocsnoop_report_opts with = { .focus = "[af]", .lines = true };
	const struct allocsnoop_report_opts without = { .ignore = "[af]", .lines = true };
	const struct allocsnoop_report_opts hidden = { .hide = "[af]" };

	REQUIRE(sum__add(chosen(p, with), chosen(p, without)) == p->info.alloc_bytes);
	REQUIRE(chosen(p, hidden) == p->info.alloc_bytes);
}

static void check_groups(const struct allocsnoop_profile *p, bool changed)
{
	for (int by = 0; by <= ALLOCSNOOP_BY_TYPE; by++) {
		struct allocsnoop_profile *g = profile__group(p, by);
		struct allocsnoop_sample all;

		REQUIRE(g);
		profile__sort(g, ALLOCSNOOP_ALLOC_BYTES);
		profile__sum(g, &all);
		REQUIRE(all.alloc_bytes == p->info.alloc_bytes);
		for (size_t i = 0; !changed && i < g->samples.cnt; i++)
			REQUIRE(!sample__change(&g->samples.v[i], ALLOCSNOOP_ALLOC_BYTES) &&
				!sample__change(&g->samples.v[i], ALLOCSNOOP_LIVE_COUNT));
		profile__free(g);
	}
}

/* With itself: no change; twice: the double. */
static void check_pair(const struct allocsnoop_profile *p)
{
	const struct allocsnoop_profile *twice[] = { p, p };
	struct allocsnoop_profile *diff = NULL, *sum = NULL;
	int diff_err = allocsnoop_profile__diff(p, p, &diff);
	int sum_err = allocsnoop_profile__merge(twice, 2, &sum);

	REQUIRE(p->info.diff ? diff_err == -EINVAL && sum_err == -EINVAL : !diff_err && !sum_err);
	if (p->info.diff)
		return;
	check_groups(diff, false);
	check_groups(sum, true);
	REQUIRE(sum->info.alloc_bytes == sum__add(p->info.alloc_bytes, p->info.alloc_bytes));
	REQUIRE(sum->info.live_count == sum__add(p->info.live_count, p->info.live_count));
	profile__free(diff);
	profile__free(sum);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct allocsnoop_profile *p = size ? read_profile(data, size) : NULL;
	struct saved first, second;

	if (!p)
		return 0;
	check_frames(p);
	check_filter(p);
	check_groups(p, true);
	check_pair(p);
	first = save(p);
	p = read_profile(first.data, first.size);
	REQUIRE(p);
	second = save(p);
	REQUIRE(first.size == second.size && !memcmp(first.data, second.data, first.size));
	free(first.data);
	free(second.data);
	return 0;
}
