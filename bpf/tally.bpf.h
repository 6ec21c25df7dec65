/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Sums by stack, process, site, size class and perhaps thread, in whichever of the two tallies is
 * active. */
#ifndef ALLOCSNOOP_TALLY_BPF_H
#define ALLOCSNOOP_TALLY_BPF_H

/* The part of a sum's key that changes from call to call: the size's, and the current thread's.
 * Live rows stay in the kernel, and there would be too many by class; where no estimate asks for
 * the class, powers of two do. */
static __always_inline __u32 size__key(__u64 size)
{
	__u32 class = as_size_class(size);

	if (as_live && !as_sampling)
		class = as_octave(class);
	if (as_threads)
		class |= (__u32)bpf_get_current_pid_tgid() << AS_KEY_TID_SHIFT;
	return class;
}

static __always_inline void tally__bump(struct as_tally *t, const struct as_tally *more)
{
	__sync_fetch_and_add(&t->cnt, more->cnt);
	__sync_fetch_and_add(&t->bytes, more->bytes);
}

/* Asks user space to flip, once, when half of the rows are in use. */
static __always_inline void tally__inserted(void)
{
	__u32 zero = 0, type = AS_EVENT_FULL;
	__u64 *rows = bpf_map_lookup_elem(&fill, &zero);

	if (rows && __sync_fetch_and_add(rows, 1) == as_tally_half)
		bpf_ringbuf_output(&ring, &type, sizeof(type), BPF_RB_FORCE_WAKEUP);
}

/* A global function: seldom called, and the verifier checks it once. (Verifiers before 6.2 give no
 * argument of one to a map, hence the copies.) */
__noinline int tally__add(const struct as_tally_key *to, const struct as_tally *more)
{
	struct as_tally_key key;
	struct as_tally sum, *t;
	__u32 zero = 0;
	void *active;
	long err;

	if (!to || !more)
		return 0;
	key = *to;
	sum = *more;
	active = bpf_map_lookup_elem(&tally, &zero);
	if (!active) {
		loss__add(AS_LOSS_TALLY_FULL, sum.cnt);
		return 0;
	}
	t = bpf_map_lookup_elem(active, &key);
	if (t) {
		tally__bump(t, &sum);
		return 0;
	}
	err = bpf_map_update_elem(active, &key, &sum, BPF_NOEXIST);
	if (!err) {
		tally__inserted();
		return 0;
	}
	/* Another thread was first. */
	t = err == -EEXIST ? bpf_map_lookup_elem(active, &key) : NULL;
	if (t)
		tally__bump(t, &sum);
	else
		loss__add(AS_LOSS_TALLY_FULL, sum.cnt);
	return 0;
}

#endif
