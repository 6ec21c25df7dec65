/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Walks that needn't be done again (see struct as_memo). Where a loop allocates, this is the whole
 * cost of a stack: one read of stack memory and a comparison.
 */
#ifndef ALLOCSNOOP_MEMO_BPF_H
#define ALLOCSNOOP_MEMO_BPF_H

/* Notes that the walk depends on the word at addr. */
static __always_inline void memo__note(struct as_memo *m, __u64 addr, __u64 value)
{
	__u64 at = (addr - m->sp) >> 3;
	__u32 n = m->checks;

	if (addr < m->sp || addr & 7 || at >= AS_WINDOW_WORDS - 1 || n >= AS_MEMO_CHECKS) {
		m->generation = 0; /* reads elsewhere, or too much: not to be kept */
		return;
	}
	m->value[n] = value;
	m->at[n] = at;
	m->checks = n + 1;
	if (m->words <= at)
		m->words = at + 1;
}

static __always_inline struct as_memo *memo__way(struct as_slot *s, __u64 ip, __u64 sp, __u32 way)
{
	__u64 at = ((ip ^ sp * 0x9e3779b97f4a7c15ull) >> 40 ^ ip) * AS_MEMO_WAYS + way;

	barrier_var(at); /* the masking comes last, see rows.bpf.h */
	return &s->memos[at & (AS_MEMO_SETS * AS_MEMO_WAYS - 1)];
}

/* Are the words that the walk read still what they were? */
static __always_inline bool memo__holds(const struct as_memo *m, const struct as_window *win)
{
	for (__u32 i = 0; i < AS_MEMO_CHECKS; i++) {
		if (i >= m->checks)
			return true;
		if (win->word[m->at[i] & (AS_WINDOW_WORDS - 1)] != m->value[i])
			return false;
	}
	return true;
}

/* The memo that says what a walk would find; NULL where a walk is needed. */
static __always_inline struct as_memo *memo__find(struct as_slot *s, __u64 ip, __u64 sp, __u64 bp)
{
	for (__u32 way = 0; way < AS_MEMO_WAYS; way++) {
		struct as_memo *m = memo__way(s, ip, sp, way);

		if (m->generation != s->generation || m->ip != ip || m->sp != sp ||
		    (m->uses_bp && m->bp != bp))
			continue;
		if (s->window.words < m->words && !window__fill(&s->window, sp, m->words))
			continue;
		if (memo__holds(m, &s->window))
			return m;
	}
	return NULL;
}

/* Begins a new memo. */
static __always_inline void memo__begin(struct as_slot *s, __u64 ip, __u64 sp, __u64 bp)
{
	s->now.generation = s->generation;
	s->now.ip = ip;
	s->now.sp = sp;
	s->now.bp = bp;
	s->now.uses_bp = 0;
	s->now.checks = 0;
	s->now.words = 0;
}

/* Moves a memo's sums to the tally. A function of its own: what it has on the stack isn't there
 * during a walk. */
static __noinline int memo__flush(struct as_memo *m)
{
	struct as_tally_key key = m->key;
	struct as_tally sum = m->sum;

	if (!sum.cnt)
		return 0;
	m->sum.cnt = 0;
	m->sum.bytes = 0;
	return tally__add(&key, &sum);
}

/* Adds one call to a memo's sums. */
static __always_inline void memo__add(struct as_memo *m, __u64 size)
{
	__u32 class = size__key(size);

	if (m->key.size_class != class) {
		memo__flush(m);
		m->key.size_class = class;
	}
	m->sum.cnt++;
	m->sum.bytes += size;
}

/* --live: the row of a memo's key, for one call of this size. */
static __always_inline __u32 memo__row(struct as_memo *m, __u64 size)
{
	__u32 class = size__key(size);

	if (m->key.size_class != class) {
		m->key.size_class = class;
		m->row = row__of(&m->key);
	}
	return m->row;
}

/* Only the checks in use: most walks have few. */
static __always_inline void memo__copy_checks(struct as_memo *to, const struct as_memo *from)
{
	to->checks = from->checks;
	to->words = from->words;
	for (__u32 i = 0; i < AS_MEMO_CHECKS; i++) {
		if (i >= from->checks)
			return;
		to->value[i] = from->value[i];
		to->at[i] = from->at[i];
	}
}

/* Keeps the finished walk's memo, in place of one of its set. */
static __always_inline struct as_memo *memo__keep(struct as_slot *s)
{
	const struct as_memo *now = &s->now;
	struct as_memo *m = memo__way(s, now->ip, now->sp, s->next++ & (AS_MEMO_WAYS - 1));

	memo__flush(m);
	m->generation = now->generation;
	m->ip = now->ip;
	m->sp = now->sp;
	m->bp = now->bp;
	m->uses_bp = now->uses_bp;
	m->may_be_jumped_to = now->may_be_jumped_to;
	m->key = now->key;
	m->row = 0;
	memo__copy_checks(m, now);
	return m;
}

#endif
