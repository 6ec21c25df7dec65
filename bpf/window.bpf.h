/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The stack, read in large pieces. */
#ifndef ALLOCSNOOP_WINDOW_BPF_H
#define ALLOCSNOOP_WINDOW_BPF_H

/* One read for up to 8 * words bytes from addr. False when they can't all be read. */
static __always_inline bool window__fill(struct as_window *win, __u64 addr, __u64 words)
{
	__u64 size = (words < AS_WINDOW_WORDS ? words : AS_WINDOW_WORDS - 1) * 8;

	/* The verifier must see the bound in the very register. */
#ifdef __bpf__
	asm volatile("%0 &= %1" : "+r"(size) : "i"(AS_WINDOW_WORDS * 8 - 1));
#endif
	win->words = 0;
	if (bpf_probe_read_user(win->word, size, (void *)addr))
		return false;
	win->start = addr;
	win->words = size / 8;
	return true;
}

#define WINDOW_STEP 64 /* words: most walks of ten frames need one read, few read much in vain */

/* The word at addr, with what lies above it read along where the stack's mapping goes on. */
static __always_inline bool window__word(struct as_slot *s, __u64 addr, __u64 *to)
{
	struct as_window *win = &s->window;
	struct as_mapping *stack;
	__u64 at = (addr - win->start) >> 3;

	if (addr & 7)
		return !bpf_probe_read_user(to, sizeof(*to), (void *)addr);
	if (addr < win->start || at >= win->words) {
		__u64 words = 1;

		if (!mapping__find(s, addr, &stack) && (stack->end - addr) / 8 > 1)
			words = (stack->end - addr) / 8;
		if (!window__fill(win, addr, words < WINDOW_STEP ? words : WINDOW_STEP))
			return !bpf_probe_read_user(to, sizeof(*to), (void *)addr);
		at = 0;
	}
	*to = win->word[at & (AS_WINDOW_WORDS - 1)];
	return true;
}

#endif
