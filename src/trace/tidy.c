/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides when images are folded and stacks aged out, and keeps the kernel's side in step. */
#include "trace/tidy.h"

#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "trace/fold.h"
#include "trace/over.h"
#include "trace/session.h"
#include "trace/sweep.h"

#define ENDED_KEPT  20000 /* process images that are over and still known by their pids */
#define FOLD_SHARE  4	  /* so many more make folding worth it: it looks at every row */
#define LOOKS	    64	  /* at images whose end the kernel may have failed to tell of */
#define SPARE_SHARE 4	  /* of the memory's limit is free after ageing */
#define PAUSE_MAX   32	  /* where nothing was old enough: looks until the next try, at most */

/* What the kernel was told of, it has to tell of again. */
static void tidy__forget(void *arg, u64 id)
{
	struct session *s = arg;

	bpf_map__delete_elem(s->kernel.skel->maps.seen, &id, sizeof(id), 0);
}

/* --live: the kernel's rows name stacks, too. 0 or -ENOMEM. */
static int tidy__pinned(const struct session *s, struct map *pinned)
{
	u32 cnt = s->live ? kernel__live_row_cnt(&s->kernel) : 0;
	int err = 0;

	map__clear(pinned);
	for (u32 i = AS_CLASS_CNT; i < cnt && !err; i++) {
		u64 id = record__whole(&s->record, kernel__live_key(&s->kernel, i)->stack);

		err = map__put(pinned, id, 1);
	}
	return err;
}

/*
 * A stack can be hit while it's being given up. So first the kernel forgets it, and all walks that
 * ended at it; whatever the drain after that brings was either counted before, or told of again.
 */
static int tidy__age(struct session *s, struct map *pinned, u64 bytes)
{
	int err = tidy__pinned(s, pinned);

	if (err)
		return err;
	record__choose(&s->record, bytes, pinned, tidy__forget, s);
	kernel__new_tables(&s->kernel);
	err = session__take_rows(s);
	if (!err)
		err = tidy__pinned(s, pinned);
	if (!err)
		record__age(&s->record, pinned);
	return err;
}

static bool session__is_large(const struct session *s)
{
	return record__bytes(&s->record) > s->max_memory;
}

/* What is in use can't be given up: then the next try comes later. */
static void tidy__shrink(struct session *s)
{
	u64 most = s->max_memory, aim = most - most / SPARE_SHARE;
	struct map pinned = {};

	record__fold(&s->record, 0);
	if (s->threads && session__is_large(s))
		record__fold_threads(&s->record);
	if (session__is_large(s))
		tidy__age(s, &pinned, record__bytes(&s->record) - aim);
	map__free(&pinned);
	s->shrink_pause = session__is_large(s) ? MIN(s->shrink_pause * 2 + 1, PAUSE_MAX) : 0;
	s->shrink_in = s->shrink_pause;
}

static bool tidy__may_shrink(struct session *s)
{
	if (!session__is_large(s))
		return false;
	if (!s->shrink_in)
		return true;
	s->shrink_in--;
	return false;
}

void session__tidy(struct session *s)
{
	struct record *r = &s->record;
	bool shrink = tidy__may_shrink(s);

	over__look(s, LOOKS);
	if (s->live)
		session__sweep(s);
	if (record__retired_cnt(r) <= ENDED_KEPT + ENDED_KEPT / FOLD_SHARE && !shrink)
		return;
	if (session__take_rows(s))
		return;
	record__fold(r, ENDED_KEPT);
	if (shrink)
		tidy__shrink(s);
}
