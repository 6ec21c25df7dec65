/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of what isn't a frame of the program, for formats that know nothing but names; and of
 * values. */
#ifndef REPORT_ROW_H
#define REPORT_ROW_H

#include "base/str.h"
#include "profile/profile.h"

/*
 * Appended as they are: whoever writes them cleans them as the names of functions. They stand at
 * the root of a stack: its process ("nginx", "nginx-12"), its thread where threads are told apart
 * ("worker-13"), then how its walk ended ("[truncated]"; nothing where it's complete). For a row
 * without frames there is what the row stands for: sizes, a type, or the allocator.
 */
void row__process(struct str *s, const struct allocsnoop_sample *row, enum allocsnoop_by by);
void row__thread(struct str *s, const struct allocsnoop_sample *row, enum allocsnoop_by by);
void row__end(struct str *s, const struct allocsnoop_sample *row);
void row__frameless(struct str *s, const struct allocsnoop_sample *row, enum allocsnoop_by by);

/* What a value counts: "allocated bytes", "live blocks"; and whether that's bytes. */
const char *value__name(enum allocsnoop_value value);
bool value__in_bytes(enum allocsnoop_value value);

#endif
