/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile that is being read. Nothing of it is trusted: each number that names something is
 * looked up, each name is cleaned, and all that is kept counts against a bound.
 */
#ifndef PPROF_IN_H
#define PPROF_IN_H

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "pprof/pprof.h"
#include "pprof/wire.h"

#define IN_SIZE_MAX    (1ull << 30) /* bytes of a profile, inflated */
#define IN_MEMORY_MAX  (4ull << 30) /* that a profile takes in memory, with its text */
#define IN_MESSAGE_MAX (1u << 20)   /* bytes of one sample, location and so on */
#define IN_STRING_MAX  (16u << 20)
#define IN_FRAMES_MAX  65536u /* of one stack: we record a thousand, and what is inlined there */

struct in_string {
	const u8 *data;
	size_t size;
	const char *clean; /* NULL: nobody asked yet */
};

struct in_function {
	const char *name, *system_name, *file; /* "" none */
};

struct in_mapping {
	u64 start, limit, offset;
	const char *file, *build_id; /* "" none */
};

struct in_location {
	struct allocsnoop_frame *frames; /* leaf first; all but the last are inlined */
	u32 frame_cnt;
};

/* A list of frames that rows share. */
struct in_stack {
	const struct allocsnoop_frame **frames;
	size_t frame_cnt;
	u64 id;
	size_t next; /* stack + 1 of the same hash, 0 for none */
};

/* One message's memory: given back all at once when the next one is unpacked. */
struct in_scratch {
	ProtobufCAllocator alloc;
	u8 *mem;
	size_t used;
	struct in_chunk *chunks; /* what mem has no room for */
};

struct in {
	struct allocsnoop_profile *p;
	const u8 *data, *end;
	size_t taken; /* bytes that count against IN_MEMORY_MAX, beside the arena's */
	struct in_scratch scratch;
	struct str clean;

	VEC(struct in_string) strings;
	VEC(struct in_function) functions;
	VEC(struct in_mapping) mappings;
	VEC(struct in_location) locations;
	struct map function_ids, mapping_ids,
		location_ids; /* number in the file, see ids__find() */
	u64 secret;	      /* a file can't be made so that its numbers meet in the maps */

	size_t type_cnt;
	int columns[COLUMN_CNT]; /* index of the value; -1: it has none */
	bool ours;		 /* allocsnoop has written it, and nothing was left out since */
	bool period_of_bytes;	 /* of others': their period is one of them */
	double period;		 /* mean bytes between samples; 1 exact, 0 unknown */

	VEC(struct in_stack) stacks;
	struct map stacks_by_hash;		   /* -> index + 1 */
	VEC(const struct allocsnoop_frame *) list; /* frames of the sample */
	struct map allocators;			   /* name -> frame 0 made for it */
	struct map processes;			   /* mix(pid, comm) -> index, of others' */
};

/* What labels say; "" and 0: nothing. */
struct in_labels {
	const char *comm, *thread, *allocator, *type, *cgroup, *container;
	u32 pid, tid;
	u64 bytes;
	struct {
		u64 low, high;
	} sizes;
};

typedef int (*in_field_fn)(struct in *in, const struct wire_field *f, size_t nr);

/* Calls fn for each field of this number (and of any type) at the top, nr counts from 1. 0, what fn
 * returned first, or -EINVAL. */
int in__each(struct in *in, u32 number, in_field_fn fn);

/* What is there besides can be kept, too: 0, or -EFBIG, worded. */
int in__take(struct in *in, size_t size);

int in__no_memory(void); /* -ENOMEM, worded */

/* A message inside; it lives until the next one is unpacked. NULL: worded, *err is set. */
void *in__unpack(struct in *in, const ProtobufCMessageDescriptor *type, const struct wire_field *f,
		 int *err);

/* A cleaned string; 0, -EINVAL (no such string) or -ENOMEM, worded. */
int in__string(struct in *in, s64 id, const char **out);

/* The index that a number in the file stands for; false: it isn't there. */
bool ids__find(const struct in *in, const struct map *ids, u64 id, u64 *at);

void in__init(struct in *in);
void in__fini(struct in *in);

/* in_table.c: strings, functions, mappings and locations. */
int in__read_tables(struct in *in);

/* in_head.c: what values mean, and the recording as a whole. */
int in__read_head(struct in *in);

/* in_sample.c */
int in__read_samples(struct in *in);

/*
 * foreign.c: what the values of others mean. The column of a type of values, COLUMN_CNT: none of
 * ours.
 */
enum pprof_column foreign__column(const char *type);

/* Makes in->list begin with the allocator's function, called `allocator` ("" unknown), and says
 * what it is called. 0 or -ENOMEM. */
int foreign__lead(struct in *in, const char *allocator, const char **name);
u64 foreign__stack_id(const struct in *in);

/* The numbers that the file doesn't tell, from those that it does. 0 or -errno, worded. */
int foreign__finish_sample(struct in *in, const struct in_labels *l, struct allocsnoop_sample *s);

/* After all samples. 0 or -ENOMEM. */
int foreign__finish(struct in *in);

#endif
