/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Finds the unwind rule of a place in a file: a binary search over the bases of the file's chunks,
 * then one over the rows of a chunk. Both are branchless (the step is masked, not branched on): a
 * branch per step would make the verifier walk 2^10 paths. barrier_var() keeps clang from joining
 * the steps by OR, after which verifiers before 6.10 know no bounds (adjust_scalar_min_max_vals);
 * so the mask stays, too.
 */
#ifndef ALLOCSNOOP_ROWS_BPF_H
#define ALLOCSNOOP_ROWS_BPF_H

/* All ones when a <= b, else 0; both below 2^63. */
#define ROWS_MASK_LE(a, b) ((__u64)(((__s64)(a) - (__s64)(b)-1) >> 63))

/* Index of the last base that is <= off; bases are sorted and padded with ~0. */
static __always_inline __u32 rows__chunk(const union as_page *index, __u64 off)
{
	__u64 pos = 0;

	for (__u32 step = AS_CHUNK_ROWS / 2; step; step >>= 1) {
		__u64 base;

		barrier_var(pos);
		base = index->base[(pos + step) & (AS_CHUNK_ROWS - 1)];
		pos += step & ROWS_MASK_LE(base, off);
	}
	return pos;
}

/* Rule of the last row that is <= delta. */
static __always_inline __u32 rows__row(const struct as_chunk *chunk, __u64 delta)
{
	__u64 pos = 0;

	for (__u32 step = AS_CHUNK_ROWS / 2; step; step >>= 1) {
		__u64 at;

		barrier_var(pos);
		at = chunk->rows[(pos + step) & (AS_CHUNK_ROWS - 1)].pc_delta;
		pos += step & ROWS_MASK_LE(at, delta);
	}
	return chunk->rows[pos & (AS_CHUNK_ROWS - 1)].rule;
}

/* Rule number for a file offset; AS_RULE_GAP when nothing covers it. m->table must not be 0. */
static __always_inline __u32 rows__search(const struct as_mapping *m, __u64 off)
{
	__u32 slot = m->table - 1, page = 0,
	      pages = (m->chunk_cnt + AS_CHUNK_ROWS - 1) / AS_CHUNK_ROWS;
	union as_page *index, *chunk;
	void *table;
	__u32 at;

	table = bpf_map_lookup_elem(&tables, &slot);
	if (!table)
		return AS_RULE_GAP;
	for (__u32 next = 1; next < AS_INDEX_PAGES && next < pages; next++) {
		__u32 key = next; /* a counter whose address is taken is one that the verifier can't
				     follow */

		index = bpf_map_lookup_elem(table, &key);
		if (index && index->base[0] <= off)
			page = next;
	}
	index = bpf_map_lookup_elem(table, &page);
	if (!index || off < index->base[0])
		return AS_RULE_GAP;
	at = pages + page * AS_CHUNK_ROWS + rows__chunk(index, off);
	chunk = bpf_map_lookup_elem(table, &at);
	if (!chunk || off - chunk->chunk.base > 0xfffe)
		return AS_RULE_GAP;
	return rows__row(&chunk->chunk, off - chunk->chunk.base);
}

/* The same through the rule cache. */
static __always_inline __u32 rows__rule(const struct as_mapping *m, __u64 off)
{
	__u64 key = (__u64)m->table << 32 | (off & 0xffffffff);
	__u32 at = (key * 0x9e3779b97f4a7c15ull) >> 50, rule;
	__u64 *cached = bpf_map_lookup_elem(&rule_cache, &at);

	_Static_assert(AS_RULE_CACHE == 1 << 14, "the shift above leaves 14 bits");
	if (!cached)
		return AS_RULE_GAP;
	if (*cached >> 16 == key)
		return *cached & 0xffff;
	rule = rows__search(m, off);
	*cached = key << 16 | rule;
	return rule;
}

#endif
