/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What keeps a record bounded: images that are over are folded into one of their name, and stacks
 * that weren't hit for longest are aged out. Sums stay what they are.
 */
#ifndef TRACE_FOLD_H
#define TRACE_FOLD_H

#include "trace/record.h"

/* ---- tables of rows that begin with their key, and a map of where each is ---- */

typedef void (*keyed_merge_fn)(void *to, const void *from);

/* Makes rows one that have the same key by now; returns how many are left. Needs no memory. */
size_t keyed__compact(void *rows, size_t size, size_t cnt, struct map *at, keyed_merge_fn merge);

/* Adds what another image has. */
void past_row__fold(void *to, const void *from);

/* Joins rows whose stacks were finished after they came to those of the whole stacks. */
void record__join_finished(struct record *r);

/* ---- images ---- */

/* The image is over. */
void record__over(struct record *r, struct recorded_proc *p, u32 how);

/* ... and all its sums are in the record by the end of the next drain: it may be folded then. */
void record__retire(struct record *r, struct recorded_proc *p);

/* Images that may be folded, now or after the next drain. */
size_t record__retired_cnt(const struct record *r);

/* Has a whole drain passed since the image was over? Asked between drains. */
bool record__is_settled(const struct record *r, const struct recorded_proc *p);

/* Folds the oldest ones but the newest `keep`. Between drains only. */
void record__fold(struct record *r, size_t keep);

/* Tells no threads apart from now on that were seen until now. Between drains only. */
void record__fold_threads(struct record *r);

/* ---- stacks ---- */

void record__forget_stack(struct record *r, u64 id);

/* About what the record takes. */
u64 record__bytes(const struct record *r);

/*
 * Chooses stacks to age out, until about `bytes` would be free: those that weren't hit for longest,
 * none of those in `pinned` (NULL: none are). Calls fn for each; the kernel must then tell of them
 * again when they are hit.
 */
void record__choose(struct record *r, u64 bytes, const struct map *pinned,
		    void (*fn)(void *arg, u64 id), void *arg);

/* After another drain: ages out those of the chosen that weren't hit, nor pinned, meanwhile. */
void record__age(struct record *r, const struct map *pinned);

#endif
