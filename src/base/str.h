/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing string, and the cleaning of names that belong to traced programs (hostile bytes).
 * Running out of memory sets `oom` once and makes later calls do nothing.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/types.h"

struct str {
	char *s; /* NUL-terminated; NULL while empty */
	size_t len;
	size_t cap;
	bool oom;
};

void str__add(struct str *s, const char *text);
void str__addn(struct str *s, const char *text, size_t n);
void str__addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str__add_u64(struct str *s, u64 number); /* as "%" PRIu64, many times faster */
void str__add_hex(struct str *s, u64 number); /* as "%" PRIx64, likewise */
void str__clear(struct str *s);		      /* keeps the memory */
void str__free(struct str *s);

/*
 * Appends `text` as valid UTF-8: each maximal ill-formed sequence becomes U+FFFD (Unicode 15, 3.9,
 * "maximal subpart"). With `printable`, C0/C1 control characters, DEL, and characters that end
 * lines or change the direction of text become U+FFFD too, so that nothing hostile reaches a
 * terminal.
 */
void str__add_utf8(struct str *s, const char *text, size_t n, bool printable);

#endif
