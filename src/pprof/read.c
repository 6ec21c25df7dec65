/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a saved profile into memory: inflated, its tables, what it says of itself, its rows;
 * for what isn't ours the rest is worked out. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "pprof/gz.h"
#include "pprof/in.h"

/* Sums that the rows give, but for the errors: those of windows don't add up. */
static void finish__ours(struct allocsnoop_profile *p)
{
	struct allocsnoop_info told = p->info;

	profile__finish(p);
	p->info.alloc_count_se = told.alloc_count_se;
	p->info.alloc_bytes_se = told.alloc_bytes_se;
	p->info.live_count_se = told.live_count_se;
	p->info.live_bytes_se = told.live_bytes_se;
}

static int in__run(struct in *in)
{
	int err = in__read_tables(in);

	if (!err)
		err = in__read_head(in);
	if (!err)
		err = in__read_samples(in);
	if (err)
		return err;
	if (!in->ours)
		return foreign__finish(in);
	finish__ours(in->p);
	return 0;
}

int pprof__read(FILE *stream, struct allocsnoop_profile **profile)
{
	struct in in = {};
	u8 *data = NULL;
	size_t size = 0;
	int err = gz__read(stream, IN_SIZE_MAX, &data, &size);

	if (err)
		return err;
	in.p = profile__new();
	in.data = data;
	in.end = data + size;
	in.taken = size;
	in__init(&in);
	if (!size)
		err = err__fail(-EINVAL, "not a pprof profile: it is empty");
	else
		err = in.p ? in__run(&in) : in__no_memory();
	in__fini(&in);
	free(data);
	if (err) {
		profile__free(in.p);
		return err;
	}
	*profile = in.p;
	return 0;
}
