/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Sums by stack, process, site and size class, in whichever of the two tallies is active. */
#ifndef ALLOCSNOOP_TALLY_BPF_H
#define ALLOCSNOOP_TALLY_BPF_H

static __always_inline void tally__bump(struct as_tally *t, __u64 bytes)
{
	__sync_fetch_and_add(&t->cnt, 1);
	__sync_fetch_and_add(&t->bytes, bytes);
}

/* Asks user space to flip, once, when half of the rows are in use. */
static __always_inline void tally__inserted(void)
{
	__u32 zero = 0, type = AS_EVENT_FULL;
	__u64 *rows = bpf_map_lookup_elem(&fill, &zero);

	if (rows && __sync_fetch_and_add(rows, 1) == as_tally_half)
		bpf_ringbuf_output(&ring, &type, sizeof(type), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void tally__add(const struct as_tally_key *key, __u64 bytes)
{
	struct as_tally first = { .cnt = 1, .bytes = bytes }, *t;
	__u32 zero = 0;
	void *active;
	long err;

	active = bpf_map_lookup_elem(&tally, &zero);
	if (!active)
		return;
	t = bpf_map_lookup_elem(active, key);
	if (t) {
		tally__bump(t, bytes);
		return;
	}
	err = bpf_map_update_elem(active, key, &first, BPF_NOEXIST);
	if (!err) {
		tally__inserted();
		return;
	}
	/* Another thread was first. */
	t = err == -EEXIST ? bpf_map_lookup_elem(active, key) : NULL;
	if (t)
		tally__bump(t, bytes);
	else
		loss__count(AS_LOSS_TALLY_FULL);
}

#endif
