/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader over untrusted bytes. The one idea: errors stick. A read past the end gives 0 and sets
 * `bad`, so callers decode a whole record and ask once.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <string.h>

#include "base/types.h"

struct cursor {
	const u8 *p;
	const u8 *end;
	bool bad; /* something was read or skipped past the end */
};

static inline size_t cursor__left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->p);
}

/* The next `size` bytes; NULL (and bad) when there aren't so many. */
static inline const u8 *cursor__take(struct cursor *c, u64 size)
{
	const u8 *p = c->p;

	if (c->bad || size > cursor__left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += size;
	return p;
}

#define CURSOR_READ(type)                                        \
	static inline type cursor__##type(struct cursor *c)      \
	{                                                        \
		const u8 *p = cursor__take(c, sizeof(type));     \
		type val = 0;                                    \
                                                                 \
		if (p)                                           \
			memcpy(&val, p, sizeof(val));            \
		return val; /* the host is little-endian, too */ \
	}
CURSOR_READ(u8)
CURSOR_READ(u16)
CURSOR_READ(u32)
CURSOR_READ(u64)
#undef CURSOR_READ

/* Bits beyond the 64th are dropped. */
static inline u64 cursor__uleb(struct cursor *c)
{
	u64 val = 0;
	u32 shift = 0;
	u8 byte;

	do {
		byte = cursor__u8(c);
		if (shift < 64)
			val |= (u64)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	return val;
}

static inline s64 cursor__sleb(struct cursor *c)
{
	u64 val = 0;
	u32 shift = 0;
	u8 byte;

	do {
		byte = cursor__u8(c);
		if (shift < 64)
			val |= (u64)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		val |= ~0ull << shift;
	return (s64)val;
}

#endif
