/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes (K M G T, 1024), durations (ns us ms s m h) and rates (0.01, 1/100, 1%): read and written.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/types.h"

/* All: 0 or -EINVAL / -ERANGE, nothing worded; the whole text must be used; locale-independent. */
int units__parse_size(const char *text, u64 *bytes); /* "512K", "1.5M", "4096" */
int units__parse_duration(const char *text,
			  u64 *ns); /* "10s", "1.5m", "200ms"; a bare number is seconds */
int units__parse_rate(const char *text, double *rate); /* (0, 1]: "0.01", "1/100", "1%" */
int units__parse_u64(const char *text, u64 *val);      /* decimal digits only */

/* "1.5 MiB", "640 B"; "12.3 s", "450 us". The buffer is returned; 32 bytes always suffice. */
const char *units__format_bytes(u64 bytes, char buf[32]);
const char *units__format_ns(u64 ns, char buf[32]);

#endif
