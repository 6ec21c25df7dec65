/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One allocation call: is it one (impossible sizes aren't, an allocator's own calls aren't), is it
 * kept, which stack has it; then sums move. Cheap questions first: what isn't kept must not cost
 * more than the draw.
 */
#ifndef ALLOCSNOOP_CALL_BPF_H
#define ALLOCSNOOP_CALL_BPF_H

#define SECCOMP_MODE_FILTER 2

#define CALL_TAKEN 0
/* Larger than any object (PTRDIFF_MAX), an overflowing product, or an impossible alignment. */
#define CALL_FAILED   1
#define CALL_FILTERED 2

/* One integer argument, 1..7. */
static __noinline __u64 call__arg(const struct pt_regs *ctx, __u32 n)
{
	struct regs_args args = regs__args(ctx);

	return args.v[n & 7];
}

/* Of a site where no argument says the size. */
static __always_inline __u64 call__fixed_size(const struct call *c)
{
	__u32 site = AS_COOKIE_SITE(c->cookie);
	__u64 *size = bpf_map_lookup_elem(&fixed_sizes, &site);

	return size ? *size : 0;
}

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

	if (as_layers && c->cookie & AS_SITE_FIXED)
		size = call__fixed_size(c);
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
static __always_inline bool call__is_inner(const struct call *c, struct as_slot *s)
{
	const struct walk *w = &s->walk;
	const __u64 *key = &w->m.file;
	__u64 off = w->ip - 1 + w->m.bias;
	struct as_ranges *r;

	if (!(w->m.flags & AS_FILE_ALLOCATOR))
		return false;
	if (as_layers) {
		s->range_key = as_of_layer(w->m.file, AS_COOKIE_LAYER(c->cookie));
		key = &s->range_key;
	}
	r = bpf_map_lookup_elem(&ranges, key);
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
		.size_class = size__key(c->size),
	};
}

/* Counts the call: in the sums now, or with --live when it returns, so its row is looked up. */
static __always_inline void call__add(struct call *c, const struct as_tally_key *key,
				      struct as_memo *m)
{
	struct as_tally one = { .cnt = 1, .bytes = c->size };

	if (as_live && m)
		c->row = memo__row(m, c->size);
	else if (as_live)
		c->row = row__of(key);
	else if (m)
		memo__add(m, c->size);
	else
		tally__add(key, &one);
}

/* Counts a call whose stack is lost. */
static __noinline int call__sum(struct call *c, __u64 stack, __u64 proc)
{
	struct as_tally_key key = call__key(c, stack, proc);

	call__add(c, &key, NULL);
	return 0;
}

/* The walk is done: tells user space of a new stack, and sums. */
static __always_inline void call__settle(struct call *c, struct as_slot *s, struct walk *w,
					 __u32 slot)
{
	struct as_memo *m = NULL;
	bool announced = false;

	w->hash = walk__id(w);
	if (w->copy == COPY_MADE)
		copy__send(slot);
	else
		announced = stack__announce(s, w);
	s->now.key = call__key(c, w->hash, s->proc);
	/* Ends that another moment may not have, and stacks that aren't known yet, are walked
	 * again. */
	if (announced && w->end != AS_END_BUSY && w->end != AS_END_READ_FAULT && s->now.generation)
		m = memo__keep(s);
	if (m && as_live)
		m->row = row__of(&s->now.key);
	call__add(c, &s->now.key, m);
}

/* Walks the stack, tells user space of a new one, and sums. False: an inner call, nothing to count.
 * (Global: the verifier checks it once.) */
__noinline int call__walk(struct call *c, __u32 slot)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct walk *w;
	__u64 key;

	if (!c || !s)
		return false;
	w = &s->walk;
	memo__begin(s, c->ip, c->sp, c->bp);
	walk__begin(w, s, c->ip, c->sp, c->bp, c->bx);
	if (w->depth == 2 && call__is_inner(c, s))
		return false;
	key = jumper__key(s->proc, w->ip);
	s->now.may_be_jumped_to = jumpers_full || bpf_map_lookup_elem(&jumpers, &key);
	if (s->now.may_be_jumped_to && call__was_jumped_to(c, bpf_get_current_task_btf(), w->ip))
		return false;
	walk__rest(w, slot);
	if (!w->depth) /* not even the probed function: no other site's stack may look the same */
		w->hash = hash__mix(s->proc, c->ip);
	call__settle(c, s, w, slot);
	return true;
}

static __always_inline bool call__count(struct call *c, struct as_slot *s, __u32 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_memo *m;

	slot__enter(s, task);
	m = memo__find(s, c->ip, c->sp, c->bp);
	if (!m)
		return call__walk(c, slot);
	if (m->may_be_jumped_to && call__was_jumped_to(c, task, s->window.word[0]))
		return false;
	call__add(c, &m->key, m);
	return true;
}

/* False: an inner call. */
static __always_inline bool call__take(struct call *c)
{
	struct as_slot *s;
	__u32 slot;
	bool counted;

	s = slot__claim(&slot);
	if (!s) {
		if (call__is_jump(c))
			return false;
		c->space = space__id(bpf_get_current_task_btf());
		call__sum(c, 0, c->space);
		c->space = space__of_layer(c->space, c->cookie);
		return true;
	}
	counted = call__count(c, s, slot);
	c->space = space__of_layer(s->proc, c->cookie);
	if (counted && !as_live)
		taken__count(slot);
	slot__release(s);
	return counted;
}

/* Can the return be seen, without harm to the program? */
static __always_inline bool call__may_return(const struct call *c, struct task_struct *task)
{
	struct uprobe_task *utask = task->utask;

	if (c->cookie & AS_SITE_UNFOLLOWED)
		return false;
	if (c->cookie & AS_SITE_EXITS)
		return true;
	if (as_seccomp_unsafe && task->seccomp.mode == SECCOMP_MODE_FILTER)
		return false;
	/* Mostly no call is in progress. */
	return !utask || !utask->return_instances || !trampoline__endangers(c->sp);
}

/*
 * The same questions for a call that isn't to be counted: was it jumped to, or does the allocator
 * call itself? For the rare ones, as it costs a look at the mappings.
 */
__noinline int call__is_nested(struct call *c)
{
	struct as_slot *s;
	bool inner;
	__u32 slot;

	if (!c)
		return false;
	if (call__is_jump(c))
		return true;
	s = slot__claim(&slot);
	if (!s)
		return false;
	slot__enter(s, bpf_get_current_task_btf());
	memo__begin(s, c->ip, c->sp, c->bp);
	walk__begin(&s->walk, s, c->ip, c->sp, c->bp, c->bx);
	inner = s->walk.depth == 2 && call__is_inner(c, s);
	slot__release(s);
	return inner;
}

/* Calls that exceptions have left. */
static __noinline int call__bury(const struct call *c, struct as_thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	/* What has jumped on to here isn't over. */
	bool is_jump = t->site && t->sp == c->sp && call__came_from(c, t, call__return(c, task));

	open__bury(t, task, open__key(c->sp, c->cookie), is_jump);
	return 0;
}

/* Nobody gets a block. */
static __always_inline void call__fail(struct call *c)
{
	if (!call__is_nested(c))
		counters__failed();
}

/* Nobody sees how this call ends: what it makes is not followed, nor the block it was given. */
static __noinline int call__lose(const struct call *c, struct as_thread *t)
{
	struct as_block old = {};

	if (c->row != AS_ROW_NONE)
		row__untracked(c->row, c->size);
	if (!c->old || !blocks__take(block__tag(c->space, c->old), &old))
		return 0;
	if (t)
		t->freed = c->old; /* the function may call one that frees */
	if (!c->size)
		block__died(&old, c->old, 0);
	else if (old.row != AS_ROW_NONE)
		row__lost(&old);
	return 0;
}

/* --live: true when the call's return is to be probed. */
static __noinline int call__follow(struct call *c, const struct pt_regs *ctx, int verdict)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_thread *t = thread__of(task);
	__u32 out = AS_COOKIE_OUT(c->cookie);

	if (t) {
		t->newest = t->freed = 0;
		if (t->has_exits)
			call__bury(c, t);
	} else {
		loss__count(AS_LOSS_NO_THREAD_STATE);
	}
	if (verdict == CALL_FAILED && !(c->old && c->cookie & AS_SITE_FREES_OLD)) {
		call__fail(c);
		return false;
	}
	c->row = AS_ROW_NONE;
	if (verdict == CALL_TAKEN && (!as_sampling || call__is_kept(c, counters__call()))) {
		if (!call__take(c))
			return false;
	} else if (!c->old || (as_live_exact && call__is_nested(c))) {
		return false; /* where only some calls are kept, the outer one has taken the block
			       */
	} else {
		c->space = space__of_layer(space__id(task), c->cookie);
	}
	if (!t || !call__may_return(c, task)) {
		call__lose(c, t);
		return false;
	}
	return open__begin(t, c, out ? call__arg(ctx, out) : 0) && !(c->cookie & AS_SITE_EXITS);
}

/* A probe was hit. With --live: true when the call's return is to be probed. may_live: false where
 * that can't be, a constant. */
static __always_inline bool call__begin(const struct pt_regs *ctx, __u64 cookie, bool may_live)
{
	struct call c = {
		.cookie = cookie,
		.sp = ctx->sp + AS_COOKIE_SP_DELTA(cookie),
		.ip = ctx->ip,
		.bp = ctx->bp,
		.bx = ctx->bx,
	};
	int verdict, meant = FILTER_IN;

	if (!counting || (as_all && bpf_get_current_pid_tgid() >> 32 == as_self_tgid))
		return false;
	if (as_filter)
		meant = filter__ask();
	if (meant == FILTER_OUT)
		return false;
	if (cookie & AS_SITE_STACK_CHECK && regs__below_or_equal(ctx))
		return false;
	verdict = call__size(&c, ctx);
	if (meant == FILTER_ENDS)
		verdict = CALL_FILTERED;
	/* What is filtered is noted, too: it may jump on with a size that isn't. */
	if (cookie & AS_SITE_JUMPS && call__note_jumper(&c))
		return false;
	if (may_live && as_live)
		return call__follow(&c, ctx, verdict);
	if (verdict == CALL_FAILED)
		call__fail(&c);
	else if (verdict == CALL_TAKEN && (!as_sampling || call__is_kept(&c, counters__call())))
		call__take(&c);
	return false;
}

static __always_inline bool call__enter(const struct pt_regs *ctx, __u64 cookie)
{
	return call__begin(ctx, cookie, true);
}

/* Never with --live. */
static __always_inline void call__enter_alloc(const struct pt_regs *ctx, __u64 cookie)
{
	call__begin(ctx, cookie, false);
}

/* A free was hit. */
static __always_inline void call__free(const struct pt_regs *ctx, __u64 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 space;

	if (!counting || (as_all && (__u32)task->tgid == as_self_tgid))
		return;
	if (as_filter && filter__ask() == FILTER_OUT)
		return;
	space = space__id(task);
	if (!live__freed(task, space, cookie, call__arg(ctx, AS_COOKIE_OLD(cookie))))
		proc__announce(space); /* it may never have allocated */
}

#endif
