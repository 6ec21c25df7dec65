/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A walk that comes to a file which user space hasn't looked at yet finds no rows there, but soon
 * there may be some. So its registers and the stack above them go to user space, which finishes the
 * walk by the same text. Where that is not to be (too many copies are waiting already), the walk
 * goes on here as well as it can.
 */
#ifndef ALLOCSNOOP_COPY_BPF_H
#define ALLOCSNOOP_COPY_BPF_H

/* Bytes of copies put into the ring and, by user space, taken out. */
__u64 copies_sent;
__u64 copies_done;

/*
 * Each hit whose stack is finished later has a row of its own, with --live for good, else until the
 * sums are taken: there must be room left for stacks that are known.
 */
static __always_inline bool copy__has_row(void)
{
	__u32 zero = 0;
	__u64 *rows;

	if (as_live)
		return live_row_cnt < as_live_row_max / 2;
	rows = bpf_map_lookup_elem(&fill, &zero);
	return rows && *rows < as_tally_half + as_tally_half / 2;
}

static __always_inline bool copy__reserve(void)
{
	if (!copy__has_row())
		return false;
	if (__sync_fetch_and_add(&copies_sent, AS_COPY_MAX) + AS_COPY_MAX - copies_done <=
	    as_copies_max)
		return true;
	__sync_fetch_and_add(&copies_sent, -(__u64)AS_COPY_MAX);
	return false;
}

/* From the copy's start up to `end`, page by page, as a read that meets a page which isn't there
 * gives nothing. A function of its own for the verifier, as the loop is. */
__noinline int copy__read(__u32 slot, __u64 end)
{
	struct as_copy_event *c = bpf_map_lookup_elem(&copies, &slot);
	__u64 at, size = 0, piece;

	if (!c)
		return 0;
	at = c->start;
	for (__u32 i = 0; i <= AS_COPY_MAX / AS_PAGE; i++, at += piece, size += piece) {
		if (at >= end)
			break;
		piece = AS_PAGE - (at & (AS_PAGE - 1));
		if (piece > end - at)
			piece = end - at;
		barrier_var(piece); /* the verifier doesn't conclude these, and clang does */
		barrier_var(size);
		if (piece > AS_PAGE || size > AS_COPY_MAX - AS_PAGE ||
		    bpf_probe_read_user(c->bytes + size, piece, (void *)at))
			break;
	}
	c->size = size;
	return 0;
}

#define COPY_BEYOND 64 /* bytes, for walks that look above the first frame */

/* The stack at sp: from what is left below it up to where it began, as far as there is room. */
static __always_inline void copy__stack(struct as_copy_event *c, struct as_slot *s, __u32 slot,
					__u64 sp)
{
	__u64 began = bpf_get_current_task_btf()->mm->start_stack, end = ~0ull;
	struct as_mapping *stack;

	c->start = sp & -8ull;
	if (!mapping__find(s, sp, &stack)) {
		if (c->start >= stack->start + REGS_RED_ZONE)
			c->start -= REGS_RED_ZONE;
		end = stack->end;
	}
	/* Above that are the program's arguments and environment. */
	if (began > sp && began + COPY_BEYOND < end)
		end = began + COPY_BEYOND;
	copy__read(slot, end);
}

/* Puts return addresses that other tools' return probes have replaced back into the copy. */
__noinline int copy__mend(__u32 slot)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct as_copy_event *c = bpf_map_lookup_elem(&copies, &slot);
	struct uprobe_task *utask = bpf_get_current_task_btf()->utask;
	struct return_instance *ri;
	__u64 at, *word;

	if (!s || !c || !s->trampoline || !utask)
		return 0;
	ri = utask->return_instances;
	for (__u32 i = 0; i < TRAMPOLINE_DEPTH && ri; i++, ri = ri->next) {
		at = ri->stack - c->start;
		barrier_var(at);
		if (at & 7 || at > AS_COPY_MAX - REGS_WORD)
			continue;
		word = (__u64 *)(c->bytes + at);
		if (*word == s->trampoline) /* else it's of a frame that is no more */
			*word = ri->orig_ret_vaddr;
	}
	return 0;
}

/* The frame's rbx: read now where it was saved, as that may lie below what is copied. */
static __always_inline void copy__bx(struct as_copy_event *c, struct as_slot *s, struct walk *w)
{
	c->bx = w->bx;
	c->bx_at = w->bx_at;
	if (w->bx_at > WALK_BX_LOST)
		c->bx_at = window__word(s, w->bx_at, &c->bx) ? WALK_BX_LIVE : WALK_BX_LOST;
}

/* The walk wants a copy: makes it and ends the walk, or lets it go on without. */
__noinline int copy__take(__u32 slot)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct as_copy_event *c = bpf_map_lookup_elem(&copies, &slot);
	struct walk *w;

	if (!s || !c)
		return 0;
	w = &s->walk;
	w->end = WALK_NOT_DONE;
	w->copy = COPY_REFUSED;
	s->now.generation = 0; /* the next walk may find more */
	if (!copy__reserve()) {
		loss__count(AS_LOSS_STACK_COPY_LIMITED);
		return 0;
	}
	copy__stack(c, s, slot, w->sp);
	__sync_fetch_and_add(&copies_sent, c->size - AS_COPY_MAX);
	if (!c->size)
		return 0;
	c->type = AS_EVENT_COPY;
	c->tgid = space__owner(bpf_get_current_task_btf())->tgid;
	c->proc = s->proc;
	c->taken_ns = bpf_ktime_get_ns();
	c->ip = w->ip;
	c->sp = w->sp;
	c->bp = w->bp;
	copy__bx(c, s, w);
	c->exact = w->exact;
	c->hash = w->hash;
	c->map_start = w->m.start;
	c->map_end = w->m.end;
	c->map_bias = w->m.bias;
	c->map_file = w->m.file;
	c->trampoline = s->trampoline;
	copy__mend(slot);
	w->end = AS_END_NO_TABLE;
	w->copy = COPY_MADE;
	return 0;
}

/* Sends the copy after its stack, whose id is of this one hit only: a slot is held by one at a
 * time. */
__noinline int copy__send(__u32 slot)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct as_copy_event *c = bpf_map_lookup_elem(&copies, &slot);
	__u64 size;

	if (!s || !c)
		return 0;
	s->walk.hash = hash__mix(hash__mix(s->walk.hash, c->taken_ns), slot) | 1;
	c->id = s->walk.hash;
	size = c->size;
	if (size > AS_COPY_MAX)
		size = AS_COPY_MAX;
	if (stack__announce(s, &s->walk)) {
		if (!bpf_ringbuf_output(&ring, c, offsetof(struct as_copy_event, bytes) + size,
					ring__flags()))
			return 1;
		loss__count(AS_LOSS_STACK_COPY_LIMITED);
	}
	__sync_fetch_and_add(&copies_sent, -size);
	return 0;
}

static __always_inline void walk__rest(struct walk *w, __u32 slot)
{
	for (__u32 i = 0; i < AS_DEPTH_MAX;
	     i++) { /* bounded loops: 5.3; one verifier pass per iteration */
		if (w->end == WALK_WANTS_COPY)
			copy__take(slot);
		if (w->end != WALK_NOT_DONE)
			break;
		walk__step(slot);
	}
}

#endif
