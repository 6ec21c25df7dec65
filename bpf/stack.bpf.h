/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Slots to walk in, and telling user space once about each stack and each process image. */
#ifndef ALLOCSNOOP_STACK_BPF_H
#define ALLOCSNOOP_STACK_BPF_H

static __always_inline struct as_slot *slot__claim(__u32 *at)
{
	__u32 first = bpf_get_smp_processor_id() * AS_SLOTS_PER_CPU;
	struct as_slot *s;

	for (__u32 i = 0; i < AS_SLOT_TRIES; i++) {
		*at = (first + i) & as_slot_mask;
		s = bpf_map_lookup_elem(&slots, at);
		if (s && !s->busy && !__sync_val_compare_and_swap(&s->busy, 0, 1))
			return s;
	}
	loss__count(AS_LOSS_NO_SLOT);
	return NULL;
}

/* x86 keeps stores in order, so a plain one gives the slot back; only its holder writes `busy`
 * then. */
static __always_inline void slot__release(struct as_slot *s)
{
	barrier();
	*(volatile __u64 *)&s->busy = 0;
}

static __always_inline int slot__flush(__u32 at)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &at);

	if (!s)
		return 0;
	if (__sync_val_compare_and_swap(&s->busy, 0, 1))
		return 1;
	for (__u32 i = 0; i < AS_MEMO_SETS * AS_MEMO_WAYS; i++)
		memo__flush(&s->memos[i]);
	slot__release(s);
	return 0;
}

/* User space drains every few milliseconds by itself; it's woken early only when much is waiting.
 */
static __always_inline __u64 ring__flags(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > as_ring_quarter ? BPF_RB_FORCE_WAKEUP
									     : BPF_RB_NO_WAKEUP;
}

/* Sends the stack when it is new; it counts as seen only after its record is in the ring. False:
 * not sent. */
static __always_inline bool stack__announce(struct as_slot *s, struct walk *w)
{
	__u64 id = w->hash;
	__u32 one = 1, cnt = w->depth;
	long err;

	if (bpf_map_lookup_elem(&seen, &id))
		return true;
	if (cnt > AS_DEPTH_MAX)
		cnt = AS_DEPTH_MAX;
	s->ev.type = AS_EVENT_STACK;
	s->ev.frame_cnt = cnt;
	s->ev.id = id;
	s->ev.proc = s->proc;
	s->ev.end = w->end;
	err = bpf_ringbuf_output(&ring, &s->ev,
				 offsetof(struct as_stack_event, frames) +
					 cnt * sizeof(struct as_frame),
				 ring__flags());
	if (err) {
		loss__count(AS_LOSS_STACK_RING_FULL);
		return false;
	}
	bpf_map_update_elem(&seen, &id, &one, BPF_ANY);
	return true;
}

#endif
