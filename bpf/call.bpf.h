/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One allocation call: is it one (impossible sizes aren't, an allocator's own calls aren't), is it
 * kept, which stack has it; then sums move. Cheap questions first: what isn't kept must not cost
 * more than the draw.
 */
#ifndef ALLOCSNOOP_CALL_BPF_H
#define ALLOCSNOOP_CALL_BPF_H

struct call {
	__u64 cookie;
	__u64 size;
	__u64 old; /* block that realloc takes over, 0 none */
	__u64 sp;  /* at the entry: the return address lies there */
};

#define CALL_TAKEN 0
/* Larger than any object (PTRDIFF_MAX), an overflowing product, or an impossible alignment. */
#define CALL_FAILED   1
#define CALL_FILTERED 2

/*
 * glibc, musl, jemalloc and the rest refuse sizes above PTRDIFF_MAX and products that overflow. A
 * function of its own because the arguments' copy is large, and the stack is needed by the walk.
 */
static __noinline int call__size(struct call *c, const struct pt_regs *ctx)
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
	c->size = size;
	if (size >> 63)
		return CALL_FAILED;
	/* posix_memalign(3): a power of two and a multiple of sizeof(void *). */
	if (c->cookie & AS_SITE_POSIX && (!align || align & (align - 1) || align & 7))
		return CALL_FAILED;
	if (c->old && !size) /* a free */
		return CALL_FILTERED;
	return size < as_min_size || size > as_max_size ? CALL_FILTERED : CALL_TAKEN;
}

/*
 * Has the thread's previous hit jumped on to here? The same entry stack pointer and return address
 * alone could be a loop: it must also be a different function that is known to jump here, with the
 * same block and size (some round the size up).
 */
static __always_inline bool call__came_from(const struct call *c, const struct as_thread *prev,
					    __u64 ra)
{
	__u64 jump = AS_JUMP(prev->site, AS_COOKIE_SITE(c->cookie));

	if (!prev->site || prev->sp != c->sp || prev->ra != ra || prev->old != c->old)
		return false;
	if (c->size < prev->size || c->size - prev->size > AS_ROUND_MAX)
		return false;
	return bpf_map_lookup_elem(&jumps, &jump) != NULL;
}

static __always_inline bool call__was_jumped_to(const struct call *c, struct task_struct *task,
						__u64 ra)
{
	struct as_thread *prev = bpf_task_storage_get(&threads, task, NULL, 0);

	if (!prev || !call__came_from(c, prev, ra))
		return false;
	prev->site = 0; /* it has arrived: the next call like this one is another */
	return true;
}

/* Where the call returns to, also while another tool's return probe waits there. */
static __always_inline __u64 call__return(const struct call *c, struct task_struct *task)
{
	__u64 ra = 0;

	bpf_probe_read_user(&ra, sizeof(ra), (void *)c->sp);
	return ra && ra == trampoline__addr(task) ? trampoline__caller(c->sp) : ra;
}

/* The same where the stack isn't walked. */
static __noinline int call__is_jump(struct call *c)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return call__was_jumped_to(c, task, call__return(c, task));
}

/* More such places than `jumpers` holds: then every call looks. */
__u64 jumpers_full;

/* One place in one process from which a function that jumps on was called. Never 0. */
static __always_inline __u64 jumper__key(__u64 proc, __u64 ra)
{
	return hash__mix(proc, ra) | 1;
}

/*
 * This function may jump on: what it was called with is remembered for the thread, and that it was
 * called from there for all (so that calls from elsewhere needn't look). True when it was itself
 * jumped to.
 */
static __noinline int call__note_jumper(struct call *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_thread *prev =
		bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 ra, key;
	__u32 one = 1;
	int jumped;

	if (!prev) {
		loss__count(AS_LOSS_NO_THREAD_STATE);
		return 0;
	}
	ra = call__return(c, task);
	jumped = call__came_from(c, prev, ra);
	prev->site = AS_COOKIE_SITE(c->cookie);
	prev->sp = c->sp;
	prev->ra = ra;
	prev->size = c->size;
	prev->old = c->old;
	key = jumper__key(proc__id(task), ra);
	if (!jumpers_full && !bpf_map_lookup_elem(&jumpers, &key)) {
		if (bpf_map_update_elem(&jumpers, &key, &one, BPF_ANY))
			jumpers_full = 1;
		__sync_fetch_and_add(&table_epoch, 1); /* memos of this place said "no jumps" */
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

/* SplitMix64 (Steele, Lea, Flood 2014) over the CPU's count of hits: uniform, and each number is
 * used once. */
static __always_inline __u32 draw__next(__u64 hit)
{
	__u64 z =
		as_seed + (hit + ((__u64)bpf_get_smp_processor_id() << 48)) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z >> 32;
}

static __always_inline bool call__is_kept(const struct call *c, __u64 hit)
{
	__u32 class;
	__u64 *limit;

	if (as_same_thr)
		return draw__next(hit) < as_same_thr;
	class = as_size_class(c->size);
	limit = bpf_map_lookup_elem(&thr, &class);
	return limit && draw__next(hit) < *limit;
}

static __always_inline struct as_tally_key call__key(const struct call *c, __u64 stack, __u64 proc)
{
	return (struct as_tally_key){
		.stack = stack,
		.proc = proc,
		.site = AS_COOKIE_SITE(c->cookie),
		.size_class = as_size_class(c->size),
	};
}

static __noinline int call__sum(const struct call *c, __u64 stack, __u64 proc)
{
	struct as_tally_key key = call__key(c, stack, proc);
	struct as_tally one = { .cnt = 1, .bytes = c->size };

	return tally__add(&key, &one);
}

/* Walks the stack, tells user space of a new one, and sums. False: an inner call, nothing to count.
 */
static __noinline bool call__walk(struct call *c, struct as_slot *s, __u32 slot,
				  const struct pt_regs *ctx)
{
	struct walk *w = &s->walk;
	struct as_tally one = { .cnt = 1, .bytes = c->size };
	struct as_tally_key sum_key;
	__u64 key;

	memo__begin(s, ctx->ip, c->sp, ctx->bp);
	walk__begin(w, s, ctx->ip, c->sp, ctx->bp, ctx->bx);
	if (w->depth == 2 && call__is_inner(w))
		return false;
	key = jumper__key(s->proc, w->ip);
	s->now.may_be_jumped_to = jumpers_full || bpf_map_lookup_elem(&jumpers, &key);
	if (s->now.may_be_jumped_to && call__was_jumped_to(c, bpf_get_current_task_btf(), w->ip))
		return false;
	walk__rest(w, slot);
	if (!w->depth) /* not even the probed function: no other site's stack may look the same */
		w->hash = hash__mix(s->proc, ctx->ip);
	w->hash = hash__mix(w->hash, w->end);
	w->hash += !w->hash; /* 0 says "lost" */
	sum_key = call__key(c, w->hash, s->proc);
	/* Ends that another moment may not have, and stacks that aren't known yet, are walked
	 * again. */
	if (stack__announce(s, w) && w->end != AS_END_BUSY && w->end != AS_END_READ_FAULT &&
	    s->now.generation)
		memo__keep(s, &sum_key, c->size);
	else
		tally__add(&sum_key, &one);
	return true;
}

static __always_inline bool call__count(struct call *c, struct as_slot *s, __u32 slot,
					const struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_memo *m;

	slot__enter(s, task);
	m = memo__find(s, ctx->ip, c->sp, ctx->bp);
	if (!m)
		return call__walk(c, s, slot, ctx);
	if (m->may_be_jumped_to && call__was_jumped_to(c, task, s->window.word[0]))
		return false;
	memo__add(m, c->size);
	return true;
}

static __always_inline void call__take(struct call *c, const struct pt_regs *ctx)
{
	struct as_slot *s;
	__u32 slot;

	s = slot__claim(&slot);
	if (!s) {
		if (!call__is_jump(c))
			call__sum(c, 0, proc__id(bpf_get_current_task_btf()));
		return;
	}
	if (call__count(c, s, slot, ctx))
		taken__count(slot);
	slot__release(s);
}

static __always_inline void call__enter(const struct pt_regs *ctx, __u64 cookie)
{
	struct call c = { .cookie = cookie, .sp = ctx->sp + AS_COOKIE_SP_DELTA(cookie) };
	int verdict;

	if (!counting || (as_all && bpf_get_current_pid_tgid() >> 32 == as_self_tgid))
		return;
	verdict = call__size(&c, ctx);
	/* What is filtered is noted, too: it may jump on with a size that isn't. */
	if (cookie & AS_SITE_JUMPS && call__note_jumper(&c))
		return;
	if (verdict != CALL_TAKEN) {
		if (verdict == CALL_FAILED && !call__is_jump(&c))
			counters__failed();
		return;
	}
	if (!as_sampling || call__is_kept(&c, counters__call()))
		call__take(&c, ctx);
}

#endif
