/* SPDX-License-Identifier: BSD-2-Clause */
/* The outermost layer of a protobuf message: fields one after the other, where they stand. Messages
 * inside are left to protobuf-c, one at a time, so a file of any size takes little memory. */
#ifndef PPROF_WIRE_H
#define PPROF_WIRE_H

#include <errno.h>

#include "base/types.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	u32 number;
	u32 type; /* enum wire_type */
	u64 val;  /* of a varint */
	const u8 *data;
	size_t size; /* of bytes */
};

/* Ten bytes at most; what doesn't fit 64 bits is cut off, as every reader does. */
static inline bool wire__varint(const u8 **at, const u8 *end, u64 *val)
{
	u64 v = 0;

	for (u32 shift = 0; shift < 70 && *at < end; shift += 7) {
		u8 byte = *(*at)++;

		if (shift < 64)
			v |= (u64)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*val = v;
			return true;
		}
	}
	return false;
}

/* Fills data and size. */
static inline bool wire__body(const u8 **at, const u8 *end, struct wire_field *f)
{
	u64 size;

	switch (f->type) {
	case WIRE_VARINT:
		return wire__varint(at, end, &f->val);
	case WIRE_FIXED64:
		size = 8;
		break;
	case WIRE_FIXED32:
		size = 4;
		break;
	case WIRE_BYTES:
		if (wire__varint(at, end, &size))
			break;
		return false;
	default: /* groups went out of use before there was pprof */
		return false;
	}
	if (size > (u64)(end - *at))
		return false;
	f->data = *at;
	f->size = size;
	*at += size;
	return true;
}

/* 1: f is the next field; 0: there is none; -EINVAL: it's broken at *at. */
static inline int wire__next(const u8 **at, const u8 *end, struct wire_field *f)
{
	const u8 *from = *at;
	u64 tag;

	if (from == end)
		return 0;
	*f = (struct wire_field){};
	if (!wire__varint(&from, end, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return -EINVAL;
	f->number = (u32)(tag >> 3);
	f->type = tag & 7;
	if (!wire__body(&from, end, f))
		return -EINVAL;
	*at = from;
	return 1;
}

#endif
