/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the table of live blocks while programs put in and take out. */
#include "trace/blocks.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "allocsnoop.skel.h"
#include "base/cleanup.h"

#define SPILL_BATCH 8192

static void bucket__each(struct as_bucket *bucket, block_fn fn, void *arg)
{
	for (u32 i = 0; i < AS_BUCKET_WAYS; i++) {
		u64 tag = __atomic_load_n(&bucket->tag[i], __ATOMIC_ACQUIRE);
		struct block_place at = { .tag = tag, .way = &bucket->tag[i] };
		struct as_block b;

		if (tag <= AS_TAG_BUSY)
			continue;
		b = bucket->block[i];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&bucket->tag[i], __ATOMIC_ACQUIRE) == tag)
			fn(arg, &b, &at);
	}
}

static int spilled__each(struct kernel *k, block_fn fn, void *arg)
{
	CLEANUP(free__p) struct as_block *blocks = calloc(SPILL_BATCH, sizeof(*blocks));
	CLEANUP(free__p) u64 *tags = calloc(SPILL_BATCH, sizeof(*tags));
	u32 max = bpf_map__max_entries(k->skel->maps.spilled), batch = 0, cnt;
	int fd = bpf_map__fd(k->skel->maps.spilled), end = 0;

	if (!blocks || !tags)
		return -ENOMEM;
	/* Each call but the last reads at least one block, so the map's room bounds the calls. */
	for (u32 i = 0; i <= max && !end; i++) {
		cnt = SPILL_BATCH;
		end = bpf_map_lookup_batch(fd, i ? &batch : NULL, &batch, tags, blocks, &cnt, NULL);
		if (end && errno != ENOENT)
			return -errno;
		for (u32 j = 0; j < cnt; j++) {
			struct block_place at = { .tag = tags[j] };

			fn(arg, &blocks[j], &at);
		}
	}
	return 0;
}

int blocks__each(struct kernel *k, block_fn fn, void *arg)
{
	for (u32 i = 0; i < k->bucket_cnt; i++)
		bucket__each(&k->buckets[i], fn, arg);
	return spilled__each(k, fn, arg);
}

bool blocks__remove(struct kernel *k, const struct block_place *at)
{
	__u64 tag = at->tag;

	if (at->way)
		return __atomic_compare_exchange_n(at->way, &tag, AS_TAG_FREE, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	if (bpf_map__delete_elem(k->skel->maps.spilled, &tag, sizeof(tag), 0))
		return false;
	__atomic_sub_fetch(&k->buckets[tag & (k->bucket_cnt - 1)].spilled, 1, __ATOMIC_SEQ_CST);
	return true;
}
