/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Blocks one by one, as they come and go: for who watches in real time. */
#ifndef ALLOCSNOOP_EVENT_BPF_H
#define ALLOCSNOOP_EVENT_BPF_H

/*
 * What else goes through the ring (stacks, processes, files) makes every later number right, so a
 * quarter of it is kept for that.
 */
__noinline int event__send(const struct as_block *b, __u64 addr, __u64 now, __u64 freed)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 flags = waiting > as_ring_quarter ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	struct as_block_event ev = { .type = AS_EVENT_BLOCK, .freed = freed };

	if (!b)
		return 0;
	ev.row = b->row;
	ev.tid = bpf_get_current_pid_tgid();
	ev.addr = addr;
	ev.size = b->size;
	ev.born = b->born;
	ev.time = now;
	if (waiting > 3 * as_ring_quarter || bpf_ringbuf_output(&ring, &ev, sizeof(ev), flags))
		loss__count(AS_LOSS_EVENT_RING_FULL);
	return 0;
}

static __always_inline void event__born(const struct as_block *b, __u64 addr)
{
	if (as_events)
		event__send(b, addr, b->born, false);
}

static __always_inline void event__died(const struct as_block *b, __u64 addr, __u64 now)
{
	if (as_events)
		event__send(b, addr, now, true);
}

#endif
