/* SPDX-License-Identifier: BSD-2-Clause */
/* gzip over stdio streams. What is read is nobody's friend: a few bytes can inflate to gigabytes,
 * so memory is asked for as it is filled and never above the caller's bound. */
#include "pprof/gz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/writer.h"

#define GZIP_BITS (15 + 16) /* the largest window, and gzip's header and trailer */

/* Level 1 takes a fifth of the time of level 6 and a quarter more room. */
#define LEVEL 1

int gz_out__open(struct gz_out *g, FILE *out)
{
	g->z = (z_stream){};
	g->out = out;
	if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_BITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return err__fail(-ENOMEM, "cannot write the profile: out of memory");
	return 0;
}

static int gz_out__run(struct gz_out *g, int flush)
{
	do {
		size_t size;

		g->z.next_out = g->buf;
		g->z.avail_out = sizeof(g->buf);
		deflate(&g->z, flush); /* can't fail: its state is sound and there is room */
		size = sizeof(g->buf) - g->z.avail_out;
		if (size && fwrite(g->buf, 1, size, g->out) != size)
			return writer__done(g->out);
	} while (!g->z.avail_out);
	return 0;
}

int gz_out__write(struct gz_out *g, const void *data, size_t size)
{
	const u8 *at = data;
	int err = 0;

	while (size && !err) {
		g->z.next_in = (u8 *)at;
		g->z.avail_in = MIN(size, (size_t)GZ_CHUNK);
		at += g->z.avail_in;
		size -= g->z.avail_in;
		err = gz_out__run(g, Z_NO_FLUSH);
	}
	return err;
}

int gz_out__finish(struct gz_out *g)
{
	g->z.next_in = NULL;
	g->z.avail_in = 0;
	return gz_out__run(g, Z_FINISH);
}

void gz_out__close(struct gz_out *g)
{
	deflateEnd(&g->z);
}

/* ---- reading ---- */

struct text {
	u8 *data;
	size_t size, cap, max;
};

/* Room for at least one more byte. */
static int text__grow(struct text *t)
{
	size_t cap = t->cap ? t->cap * 2 : 4 * GZ_CHUNK;
	u8 *data;

	if (t->size < t->cap)
		return 0;
	if (t->size >= t->max)
		return err__fail(-EFBIG, "more than %zu MiB of profile, which is refused",
				 t->max >> 20);
	cap = MIN(cap, t->max);
	data = realloc(t->data, cap);
	if (!data)
		return err__fail(-ENOMEM, "out of memory");
	t->data = data;
	t->cap = cap;
	return 0;
}

static int text__add(struct text *t, const u8 *data, size_t size)
{
	while (size) {
		size_t part;
		int err = text__grow(t);

		if (err)
			return err;
		part = MIN(size, t->cap - t->size);
		memcpy(t->data + t->size, data, part);
		t->size += part;
		data += part;
		size -= part;
	}
	return 0;
}

/* Inflates what z holds; *ended: at the end of a member. */
static int text__inflate(struct text *t, z_stream *z, bool *ended)
{
	/* With its input used up it may hold back what the text had no room for. */
	do {
		int ret, err = text__grow(t);

		if (err)
			return err;
		if (*ended)
			inflateReset(z);
		z->next_out = t->data + t->size;
		z->avail_out = MIN(t->cap - t->size, (size_t)1 << 30);
		ret = inflate(z, Z_NO_FLUSH);
		t->size = (size_t)(z->next_out - t->data);
		*ended = ret == Z_STREAM_END;
		if (ret == Z_MEM_ERROR)
			return err__fail(-ENOMEM, "out of memory");
		if (ret != Z_OK && ret != Z_STREAM_END && ret != Z_BUF_ERROR)
			return err__fail(-EINVAL, "damaged: gzip: %s", z->msg ? z->msg : "broken");
	} while (z->avail_in || (!z->avail_out && !*ended));
	return 0;
}

static int read_failed(FILE *in)
{
	int err;

	if (!ferror(in))
		return 0;
	err = errno ? -errno : -EIO;
	return err__fail(err, "cannot read it: %s", strerror(-err));
}

static int text__read_gzip(struct text *t, FILE *in, u8 *chunk, size_t size)
{
	z_stream z = {};
	bool ended = false;
	int err = 0;

	if (inflateInit2(&z, GZIP_BITS) != Z_OK)
		return err__fail(-ENOMEM, "out of memory");
	while (size && !err) {
		z.next_in = chunk;
		z.avail_in = (uInt)size;
		err = text__inflate(t, &z, &ended);
		if (!err)
			size = fread(chunk, 1, GZ_CHUNK, in);
	}
	inflateEnd(&z);
	if (!err)
		err = read_failed(in);
	if (!err && !ended)
		err = err__fail(-EINVAL, "cut short: its gzip data ends too early");
	return err;
}

static int text__read(struct text *t, FILE *in, u8 *chunk)
{
	size_t size;
	int err = 0;

	errno = 0;
	size = fread(chunk, 1, GZ_CHUNK, in);
	if (size >= 2 && chunk[0] == 0x1f && chunk[1] == 0x8b)
		return text__read_gzip(t, in, chunk, size);
	while (size && !err) {
		err = text__add(t, chunk, size);
		if (!err)
			size = fread(chunk, 1, GZ_CHUNK, in);
	}
	return err ? err : read_failed(in);
}

int gz__read(FILE *in, size_t max, u8 **data, size_t *size)
{
	struct text t = { .max = max };
	u8 *chunk = malloc(GZ_CHUNK);
	int err = chunk ? text__read(&t, in, chunk) : err__fail(-ENOMEM, "out of memory");

	free(chunk);
	if (err) {
		free(t.data);
		return err;
	}
	*data = t.data;
	*size = t.size;
	return 0;
}
