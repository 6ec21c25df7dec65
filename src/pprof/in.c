/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields, memory and names of a profile that is being read; see in.h. */
#include "pprof/in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

/* ---- memory ---- */

#define SCRATCH_SIZE 65536u

struct in_chunk {
	struct in_chunk *next;
	_Alignas(16) u8 mem[];
};

int in__no_memory(void)
{
	return err__fail(-ENOMEM, "out of memory");
}

int in__take(struct in *in, size_t size)
{
	in->taken += size;
	if (in->taken + in->p->arena.used <= IN_MEMORY_MAX)
		return 0;
	return err__fail(-EFBIG, "it would take more than %llu GiB of memory", IN_MEMORY_MAX >> 30);
}

static void *scratch__alloc(void *arg, size_t size)
{
	struct in_scratch *s = arg;
	struct in_chunk *c;

	size = (size + 15) & ~(size_t)15;
	if (size <= SCRATCH_SIZE - s->used) {
		s->used += size;
		return s->mem + s->used - size;
	}
	c = malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	c->next = s->chunks;
	s->chunks = c;
	return c->mem;
}

static void scratch__free(void *arg __attribute__((unused)), void *mem __attribute__((unused)))
{
}

static void scratch__clear(struct in_scratch *s)
{
	struct in_chunk *next;

	for (; s->chunks; s->chunks = next) {
		next = s->chunks->next;
		free(s->chunks);
	}
	s->used = 0;
}

void *in__unpack(struct in *in, const ProtobufCMessageDescriptor *type, const struct wire_field *f,
		 int *err)
{
	void *m;

	if (f->type != WIRE_BYTES || f->size > IN_MESSAGE_MAX) {
		*err = err__fail(-EINVAL, "damaged: field %u at byte %zu is no message of its size",
				 f->number, (size_t)(f->data ? f->data - in->data : 0));
		return NULL;
	}
	scratch__clear(&in->scratch);
	m = protobuf_c_message_unpack(type, &in->scratch.alloc, f->size, f->data);
	if (!m)
		*err = err__fail(-EINVAL, "damaged: the message at byte %zu",
				 (size_t)(f->data - in->data));
	return m;
}

/* ---- fields ---- */

int in__each(struct in *in, u32 number, in_field_fn fn)
{
	const u8 *at = in->data;
	struct wire_field f;
	size_t nr = 0;
	int more, err = 0;

	while (!err && (more = wire__next(&at, in->end, &f)) != 0) {
		if (more < 0) {
			err__fail(-EINVAL, "not a pprof profile, or cut short: byte %zu of %zu",
				  (size_t)(at - in->data), (size_t)(in->end - in->data));
			if (at == in->data) /* other reports are not for reading again */
				err__hint("profiles are saved by -f pprof, or -o FILE.pb.gz");
			return -EINVAL;
		}
		if (f.number == number)
			err = fn(in, &f, ++nr);
	}
	return err;
}

/* ---- names ---- */

int in__string(struct in *in, s64 id, const char **out)
{
	struct in_string *s;
	int err;

	if (id < 0 || (u64)id >= in->strings.cnt)
		return err__fail(-EINVAL, "damaged: string %lld of %zu", (long long)id,
				 in->strings.cnt);
	s = &in->strings.v[id];
	if (!s->clean) {
		str__clear(&in->clean);
		str__add_utf8(&in->clean, (const char *)s->data, s->size, true);
		err = in__take(in, 0);
		if (err)
			return err;
		s->clean = in->clean.oom ? NULL : arena__intern(&in->p->arena, in->clean.s);
		if (!s->clean)
			return in__no_memory();
	}
	*out = s->clean;
	return 0;
}

bool ids__find(const struct in *in, const struct map *ids, u64 id, u64 *at)
{
	return map__get(ids, map__mix(id, in->secret), at);
}

void in__init(struct in *in)
{
	/* Without it, a file made for the purpose is slow to read. */
	if (getrandom(&in->secret, sizeof(in->secret), GRND_NONBLOCK) < 0)
		in->secret = 0;
	in->scratch.alloc = (ProtobufCAllocator){ .alloc = scratch__alloc,
						  .free = scratch__free,
						  .allocator_data = &in->scratch };
	in->scratch.mem = malloc(SCRATCH_SIZE);
	in->scratch.used = in->scratch.mem ? 0 : SCRATCH_SIZE;
}

void in__fini(struct in *in)
{
	scratch__clear(&in->scratch);
	free(in->scratch.mem);
	str__free(&in->clean);
	vec__free(&in->strings);
	vec__free(&in->functions);
	vec__free(&in->mappings);
	vec__free(&in->locations);
	vec__free(&in->stacks);
	vec__free(&in->list);
	map__free(&in->function_ids);
	map__free(&in->mapping_ids);
	map__free(&in->location_ids);
	map__free(&in->stacks_by_hash);
	map__free(&in->allocators);
	map__free(&in->processes);
}
