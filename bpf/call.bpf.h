/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One allocation call: is it one (impossible sizes aren't, an allocator's own calls aren't), is it kept, which
 * stack has it; then sums move. Cheap questions first: what isn't kept must not cost more than the draw.
 */
#ifndef ALLOCSNOOP_CALL_BPF_H
#define ALLOCSNOOP_CALL_BPF_H

struct call {
	__u64 cookie;
	__u64 size;
	__u64 old; /* block that realloc takes over, 0 none */
	__u64 sp;  /* at the entry: the return address lies there */
	__u64 ra;
};

#define CALL_TAKEN    0
#define CALL_FAILED   1 /* larger than any object (PTRDIFF_MAX), an overflowing product, an impossible alignment */
#define CALL_FILTERED 2

/* glibc, musl, jemalloc and the rest refuse sizes above PTRDIFF_MAX and products that overflow. */
static __always_inline int call__size(struct call *c, const struct pt_regs *ctx)
{
	struct regs_args args = regs__args(ctx);
	__u64 size = args.v[AS_COOKIE_SIZE(c->cookie)];
	__u64 count = args.v[AS_COOKIE_COUNT(c->cookie)];
	__u64 align = args.v[AS_COOKIE_ALIGN(c->cookie)];
	__u64 most = ~0ull;

	c->size = size;
	c->old = args.v[AS_COOKIE_OLD(c->cookie)];
	if (AS_COOKIE_COUNT(c->cookie)) {
		/* The quotient is only needed where the product can pass 64 bits. */
		barrier_var(most); /* or clang makes it a 128-bit product, which BPF lacks */
		if ((size | count) >> 32 && count && size > most / count)
			return CALL_FAILED;
		size *= count;
	}
	if (size >> 63)
		return CALL_FAILED;
	/* posix_memalign(3): a power of two and a multiple of sizeof(void *). */
	if (c->cookie & AS_SITE_POSIX && (!align || align & (align - 1) || align & 7))
		return CALL_FAILED;
	c->size = size;
	if (c->old && !size) /* a free */
		return CALL_FILTERED;
	return size < as_min_size || size > as_max_size ? CALL_FILTERED : CALL_TAKEN;
}

/*
 * Has the thread's previous hit jumped on to here? The same entry stack pointer and return address alone could
 * be a loop: it must also be a different function that is known to jump here, with the same block and size (some
 * round the size up).
 */
static __always_inline bool call__came_from(const struct call *c, const struct as_thread *prev)
{
	__u64 jump = AS_JUMP(prev->site, AS_COOKIE_SITE(c->cookie));

	if (!prev->site || prev->sp != c->sp || prev->ra != c->ra || prev->old != c->old)
		return false;
	if (c->size < prev->size || c->size - prev->size > AS_ROUND_MAX)
		return false;
	return bpf_map_lookup_elem(&jumps, &jump) != NULL;
}

/* Remembers this hit where the function may jump on, and tells whether it was itself jumped to. */
static __always_inline bool call__is_jump(struct call *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 create = c->cookie & AS_SITE_JUMPS ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0;
	struct as_thread *prev = bpf_task_storage_get(&threads, task, NULL, create);
	bool jumped = false;

	if (!prev) {
		if (create)
			loss__count(AS_LOSS_NO_THREAD_STATE);
		return false;
	}
	if (prev->site || create)
		bpf_probe_read_user(&c->ra, sizeof(c->ra), (void *)c->sp);
	if (c->cookie & AS_SITE_JUMPED)
		jumped = call__came_from(c, prev);
	prev->site = create ? AS_COOKIE_SITE(c->cookie) : 0;
	if (create) {
		prev->sp = c->sp;
		prev->ra = c->ra;
		prev->size = c->size;
		prev->old = c->old;
	}
	return jumped;
}

/* Does the return address lie in the allocator's own text? Then the allocator called itself. */
static __always_inline bool call__is_inner(const struct walk *w)
{
	__u64 off = w->ip - 1 + w->m.bias;
	struct as_ranges *r;

	if (!(w->m.flags & AS_FILE_ALLOCATOR))
		return false;
	r = bpf_map_lookup_elem(&ranges, &w->m.file);
	if (!r)
		return false;
	for (__u32 i = 0; i < AS_RANGE_MAX && i < r->cnt; i++) {
		if (off < r->r[i].start)
			return false;
		if (off < r->r[i].end)
			return true;
	}
	return false;
}

static __always_inline bool call__is_kept(const struct call *c)
{
	__u32 class = as_size_class(c->size);
	__u64 *limit;

	if (!as_sampling)
		return true;
	limit = bpf_map_lookup_elem(&thr, &class);
	return limit && bpf_get_prandom_u32() < *limit;
}

static __always_inline void call__sum(const struct call *c, __u64 stack, __u64 proc)
{
	struct as_tally_key key = {
		.stack = stack,
		.proc = proc,
		.site = AS_COOKIE_SITE(c->cookie),
		.size_class = as_size_class(c->size),
	};

	tally__add(&key, c->size);
}

/* Walks in the slot. False: an inner call, nothing to count. */
static __always_inline bool call__walk(struct call *c, struct as_slot *s, struct walk *w, const struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 proc = proc__id(task);

	if (s->proc != proc)
		proc__announce(proc);
	mapping__renew(s, task, proc);
	walk__run(w, s, ctx->ip, c->ra, c->sp, ctx->bp);
	if (w->depth == 2 && call__is_inner(w))
		return false;
	walk__rest(w);
	w->hash = hash__mix(w->hash, w->end);
	w->hash += !w->hash; /* 0 says "lost" */
	stack__announce(s, w);
	return true;
}

static __always_inline void call__take(struct call *c, const struct pt_regs *ctx, struct as_counters *n)
{
	struct walk w = { .end = WALK_NOT_DONE };
	struct as_slot *s;

	if (bpf_probe_read_user(&c->ra, sizeof(c->ra), (void *)c->sp))
		loss__count(AS_LOSS_CALLER_UNREADABLE);
	s = slot__claim(&w.slot);
	if (!s) {
		call__sum(c, 0, proc__id(bpf_get_current_task_btf()));
		__sync_fetch_and_add(&n->samples, 1);
		return;
	}
	if (call__walk(c, s, &w, ctx)) {
		call__sum(c, w.hash, s->proc);
		__sync_fetch_and_add(&n->samples, 1);
	} else {
		__sync_fetch_and_add(&n->nested, 1);
	}
	slot__release(s);
}

static __always_inline void call__enter(const struct pt_regs *ctx, __u64 cookie)
{
	struct call c = { .cookie = cookie, .sp = ctx->sp + AS_COOKIE_SP_DELTA(cookie) };
	struct as_counters *n;
	int verdict;

	if (!counting)
		return;
	if (as_all && bpf_get_current_pid_tgid() >> 32 == as_self_tgid)
		return;
	n = counters__mine();
	if (!n)
		return;
	__sync_fetch_and_add(&n->hits, 1);
	verdict = call__size(&c, ctx);
	if (verdict != CALL_FILTERED && cookie & (AS_SITE_JUMPS | AS_SITE_JUMPED) && call__is_jump(&c))
		__sync_fetch_and_add(&n->nested, 1);
	else if (verdict == CALL_FAILED)
		__sync_fetch_and_add(&n->failed, 1);
	else if (verdict == CALL_FILTERED)
		__sync_fetch_and_add(&n->filtered, 1);
	else if (call__is_kept(&c))
		call__take(&c, ctx, n);
}

#endif
