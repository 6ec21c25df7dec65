/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The table of live blocks: buckets of seven, in an array, without locks. A kernel hash map does
 * the same in four times the time (85 ns to put in, 85 to take out), and every malloc and free of a
 * traced program does both. What finds its bucket full goes to a hash map beside.
 */
#ifndef ALLOCSNOOP_BLOCKS_BPF_H
#define ALLOCSNOOP_BLOCKS_BPF_H

/*
 * Within one process image no two addresses have the same tag (hash__mix is one-to-one), but for
 * the four that end up at 2 and 3; across images two do with a chance of 2^-64 a pair.
 */
static __always_inline __u64 block__tag(__u64 space, __u64 addr)
{
	__u64 tag = hash__mix(space, addr);

	return tag > AS_TAG_BUSY ? tag : tag + 2;
}

/* Layers may use one address at the same time: to each its own space. */
static __always_inline __u64 space__of_layer(__u64 space, __u64 cookie)
{
	return as_layers ? as_of_layer(space, AS_COOKIE_LAYER(cookie)) : space;
}

static __always_inline struct as_bucket *bucket__of(__u64 tag)
{
	__u32 at = tag & as_bucket_mask;

	return bpf_map_lookup_elem(&buckets, &at);
}

static __always_inline long blocks__spill(struct as_bucket *bucket, __u64 tag,
					  const struct as_block *b)
{
	struct as_block copy = *b; /* verifiers before 6.2 take no argument of a global function */
	long err = bpf_map_update_elem(&spilled, &tag, &copy, BPF_NOEXIST);

	if (!err)
		__sync_fetch_and_add(&bucket->spilled, 1);
	return err;
}

/*
 * 0, -EEXIST when the tag is there already, or another -errno when there is no room. (Global, like
 * the next one, for the verifier: checked once, not once a call.)
 */
__noinline int blocks__put(__u64 tag, const struct as_block *b)
{
	struct as_bucket *bucket = bucket__of(tag);

	if (!bucket || !b)
		return -ENOMEM;
	for (int i = 0; i < AS_BUCKET_WAYS; i++) {
		if (bucket->tag[i] == tag)
			return -EEXIST;
	}
	if (bucket->spilled && bpf_map_lookup_elem(&spilled, &tag))
		return -EEXIST;
	for (int i = 0; i < AS_BUCKET_WAYS; i++) {
		if (bucket->tag[i] ||
		    __sync_val_compare_and_swap(&bucket->tag[i], AS_TAG_FREE, AS_TAG_BUSY))
			continue;
		bucket->block[i] = *b;
		barrier(); /* x86 keeps stores in order */
		*(volatile __u64 *)&bucket->tag[i] = tag;
		return 0;
	}
	return blocks__spill(bucket, tag, b);
}

static __always_inline bool blocks__take_spilled(struct as_bucket *bucket, __u64 tag,
						 struct as_block *to)
{
	struct as_block *b = bpf_map_lookup_elem(&spilled, &tag);

	if (!b)
		return false;
	*to = *b;
	if (bpf_map_delete_elem(&spilled, &tag))
		return false;
	__sync_fetch_and_add(&bucket->spilled, -1);
	return true;
}

/* Takes a block out, to *to, which must have been written before. False when it isn't there. */
__noinline int blocks__take(__u64 tag, struct as_block *to)
{
	struct as_bucket *bucket = bucket__of(tag);

	if (!bucket || !to)
		return false;
	for (int i = 0; i < AS_BUCKET_WAYS; i++) {
		if (bucket->tag[i] != tag)
			continue;
		*to = bucket->block[i];
		return __sync_val_compare_and_swap(&bucket->tag[i], tag, AS_TAG_FREE) == tag;
	}
	return bucket->spilled && blocks__take_spilled(bucket, tag, to);
}

#endif
