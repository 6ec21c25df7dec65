/* SPDX-License-Identifier: BSD-2-Clause */
/* gzip over stdio streams: written piece by piece, read whole within bounds. */
#ifndef PPROF_GZ_H
#define PPROF_GZ_H

#include <stdio.h>
#include <zlib.h>

#include "base/types.h"

#define GZ_CHUNK 65536

struct gz_out {
	z_stream z;
	FILE *out;
	u8 buf[GZ_CHUNK];
};

/* Starts a gzip member; out isn't closed. 0 or -ENOMEM. */
int gz_out__open(struct gz_out *g, FILE *out);

/* 0, or the stream's error, worded. */
int gz_out__write(struct gz_out *g, const void *data, size_t size);

/* Writes what is still held back and the checksum. 0, or the stream's error, worded. */
int gz_out__finish(struct gz_out *g);

/* Gives back memory, whether it was finished or not. */
void gz_out__close(struct gz_out *g);

/*
 * All of the stream, inflated where it is gzip's (several members are one text); *data is to be
 * given to free(). -EFBIG: more than max bytes; -EINVAL: damaged or cut short; -ENOMEM, or the
 * stream's error. All are worded.
 */
int gz__read(FILE *in, size_t max, u8 **data, size_t *size);

#endif
