/* SPDX-License-Identifier: BSD-2-Clause */
/* From a recording to a profile: rows get their estimates, raw frames their names. Part of lib.c's
 * glue. */
#ifndef NAMES_H
#define NAMES_H

#include "profile/profile.h"
#include "symbol/resolve.h"
#include "trace/session.h"

struct names {
	struct resolver *resolver;
	struct map files; /* file hash -> struct symbol_file * */
	struct map kept;  /* mix(file hash, offset) -> name, of files that were let go */
};

int names__init(struct names *n);
void names__fini(struct names *n);

/* Names these places (struct as_frame's off) while the file is there: a session_keep_fn. */
void names__keep(void *arg, const struct traced_file *f, const u64 *offs, size_t cnt);

/* A profile of all that the session has recorded. 0 or -errno. */
int names__profile(struct names *n, struct session *s, struct allocsnoop_profile **profile);

#endif
