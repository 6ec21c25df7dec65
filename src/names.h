/* SPDX-License-Identifier: BSD-2-Clause */
/* From a recording to a profile: rows get their estimates, raw frames their names. Part of lib.c's
 * glue. */
#ifndef NAMES_H
#define NAMES_H

#include "lines.h"
#include "profile/profile.h"
#include "symbol/resolve.h"
#include "trace/session.h"

/* One for each profile so far, or fewer: see allocsnoop_profile__point(). */
#define POINTS_MAX 4096
struct points {
	VEC(struct allocsnoop_point) v;
};

/* The next one; at the time of the last one it replaces that. 0 or -ENOMEM. */
int points__add(struct points *p, const struct allocsnoop_point *now);

struct names {
	struct resolver *resolver;
	struct map files; /* file hash -> struct symbol_file * */
	struct map kept;  /* file hash -> struct kept_names *, of files that were let go */
	struct lines lines;
	struct points points;
};

int names__init(struct names *n);
void names__fini(struct names *n);

/* Names these places (struct as_frame's off) while the file is there: a session_keep_fn. */
void names__keep(void *arg, const struct traced_file *f, const u64 *offs, size_t cnt);

/* NULL: none was kept. off: as above. */
const char *names__kept_name(const struct names *n, u64 hash, u64 off);

/* Nothing names the file any more: a session_forget_fn. */
void names__forget(void *arg, u64 hash);

/* A profile of all that the session has recorded. 0 or -errno. */
int names__profile(struct names *n, struct session *s, struct allocsnoop_profile **profile);

#endif
