/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The live heap: blocks from the return of the call that made them to the call that frees them, and
 * the sums that follow from it. A block is put in when its call returns and taken out before the
 * call that frees it runs, so its address can't be another thread's new block in between.
 */
#ifndef ALLOCSNOOP_LIVE_BPF_H
#define ALLOCSNOOP_LIVE_BPF_H

/* Elements in use of `live_rows` and `heaps`; the first ones are everybody's who finds no other. */
__u64 live_row_cnt = AS_CLASS_CNT;
__u64 heap_cnt = 1;
__u64 rows_reused, heaps_reused; /* taken from what was given back */

/* floor(log2(ns)), at most AS_LIFE_CLASSES - 1. */
static __always_inline __u32 life__class(__u64 ns)
{
	__u32 n = 0;

	for (__u32 step = 32; step; step >>= 1) {
		if (ns >> step) {
			ns >>= step;
			n += step;
		}
	}
	return n < AS_LIFE_CLASSES ? n : AS_LIFE_CLASSES - 1;
}

/* ---- rows ---- */

/* An unused element of `heaps`: one that never was, else one that was given back; 0: none. */
static __always_inline __u32 heap__unused(void)
{
	__u64 next = heap_cnt < as_heap_max ? __sync_fetch_and_add(&heap_cnt, 1) : as_heap_max;
	__u32 at = next;

	if (next < as_heap_max)
		return at;
	if (bpf_map_pop_elem(&free_heaps, &at))
		return 0;
	__sync_fetch_and_add(&heaps_reused, 1);
	return at;
}

__noinline __u32 heap__of(__u64 proc)
{
	__u32 *known = bpf_map_lookup_elem(&heap_at, &proc), at;
	struct as_heap *h;

	if (known)
		return *known;
	at = heap__unused();
	h = at ? bpf_map_lookup_elem(&heaps, &at) : NULL;
	if (!h) {
		loss__count(AS_LOSS_HEAPS_FULL);
		return 0;
	}
	if (!bpf_map_update_elem(&heap_at, &proc, &at, BPF_NOEXIST)) {
		h->proc = proc;
		return at;
	}
	bpf_map_push_elem(&free_heaps, &at, 0); /* another thread was first */
	__sync_fetch_and_add(&heaps_reused, -1);
	known = bpf_map_lookup_elem(&heap_at, &proc);
	return known ? *known : 0;
}

/* The same for `live_rows`. */
static __always_inline __u32 row__unused(void)
{
	__u64 next = live_row_cnt < as_live_row_max ? __sync_fetch_and_add(&live_row_cnt, 1)
						    : as_live_row_max;
	__u32 at = next;

	if (next < as_live_row_max)
		return at;
	if (bpf_map_pop_elem(&free_rows, &at))
		return 0;
	__sync_fetch_and_add(&rows_reused, 1);
	return at;
}

/* The row of a key, made when it's new. That of its size class when there is no room. */
__noinline __u32 row__of(const struct as_tally_key *asked)
{
	struct as_tally_key key;
	struct as_live_row *r;
	__u32 *known, at;

	if (!asked)
		return 0;
	key = *asked; /* verifiers before 6.2 look nothing up by a global function's argument */
	known = bpf_map_lookup_elem(&live_row_at, &key);
	if (known)
		return *known;
	at = row__unused();
	r = at ? bpf_map_lookup_elem(&live_rows, &at) : NULL;
	if (!r) {
		loss__count(AS_LOSS_ROWS_FULL);
		return key.size_class & (AS_CLASS_CNT - 1);
	}
	r->heap = heap__of(key.proc);
	r->key = key;
	if (!bpf_map_update_elem(&live_row_at, &key, &at, BPF_NOEXIST))
		return at;
	__builtin_memset(&r->key, 0, sizeof(r->key)); /* another thread was first: unused */
	r->heap = 0;
	bpf_map_push_elem(&free_rows, &at, 0);
	__sync_fetch_and_add(&rows_reused, -1);
	known = bpf_map_lookup_elem(&live_row_at, &key);
	return known ? *known : key.size_class & (AS_CLASS_CNT - 1);
}

/* ---- sums ---- */

/*
 * Notes what the row had at the heap's newest peak, before it changes for the first time since. So
 * nothing needs to be copied at a peak. Of several threads one does it; another that was stopped in
 * here for a while must not put an older peak in place of it.
 */
static __always_inline void peak__note(struct as_live_row *r, const struct as_heap *h)
{
	__u64 peak = h->peak_bytes, before = r->peak_of, cnt, bytes;

	if (before == peak)
		return;
	cnt = r->alloc_cnt - r->freed_cnt - r->untracked_cnt;
	bytes = r->alloc_bytes - r->freed_bytes - r->untracked_bytes;
	if (__sync_val_compare_and_swap(&r->peak_of, before, peak) != before)
		return;
	r->peak_cnt = cnt;
	r->peak_bytes = bytes;
}

#define PEAK_TRIES 8 /* so many threads raise it at once, and each by more than the one before */

/* The heap has more bytes than ever? Not where another thread's were more meanwhile. */
static __always_inline bool heap__raise(struct as_heap *h, __u64 bytes)
{
	for (int i = 0; i < PEAK_TRIES; i++) {
		__u64 before = h->peak_bytes;

		if (bytes <= before)
			return false;
		if (__sync_val_compare_and_swap(&h->peak_bytes, before, bytes) == before)
			return true;
	}
	return false;
}

static __always_inline void heap__grow(struct as_heap *h, __u64 size, __u64 now)
{
	__u64 cnt = __sync_fetch_and_add(&h->live_cnt, 1) + 1;
	__u64 bytes = __sync_fetch_and_add(&h->live_bytes, size) + size;

	if (!heap__raise(h, bytes))
		return;
	h->peak_cnt = cnt;
	h->peak_ns = now;
}

/* A block's row, about to change, and its heap (NULL: none). */
static __always_inline struct as_live_row *row__change(const struct as_block *b, struct as_heap **h)
{
	__u32 at = b ? b->row : AS_ROW_NONE, heap;
	struct as_live_row *r = bpf_map_lookup_elem(&live_rows, &at);

	*h = NULL;
	if (!r)
		return NULL;
	heap = r->heap;
	*h = bpf_map_lookup_elem(&heaps, &heap);
	if (*h)
		peak__note(r, *h);
	return r;
}

__noinline int row__born(const struct as_block *b)
{
	struct as_heap *h;
	struct as_live_row *r = row__change(b, &h);

	if (!b || !r)
		return 0;
	__sync_fetch_and_add(&r->alloc_cnt, 1);
	__sync_fetch_and_add(&r->alloc_bytes, b->size);
	if (h)
		heap__grow(h, b->size, b->born);
	return 0;
}

/* An allocation whose end won't be known: neither live nor freed. */
__noinline int row__untracked(__u32 at, __u64 size)
{
	struct as_live_row *r = bpf_map_lookup_elem(&live_rows, &at);

	if (!r)
		return 0;
	__sync_fetch_and_add(&r->untracked_cnt, 1);
	__sync_fetch_and_add(&r->untracked_bytes, size);
	__sync_fetch_and_add(&r->alloc_cnt, 1);
	__sync_fetch_and_add(&r->alloc_bytes, size);
	return 0;
}

static __always_inline void heap__shrink(struct as_heap *h, __u64 size)
{
	__sync_fetch_and_add(&h->live_cnt, -1);
	__sync_fetch_and_add(&h->live_bytes, -size);
}

/* A live block that can't be followed any more. */
__noinline int row__lost(const struct as_block *b)
{
	struct as_heap *h;
	struct as_live_row *r = row__change(b, &h);

	if (!b || !r)
		return 0;
	__sync_fetch_and_add(&r->untracked_cnt, 1);
	__sync_fetch_and_add(&r->untracked_bytes, b->size);
	if (h)
		heap__shrink(h, b->size);
	return 0;
}

__noinline int row__died(const struct as_block *b, __u64 life, __u64 temporary)
{
	struct as_heap *h;
	struct as_live_row *r = row__change(b, &h);
	__u32 class = life__class(life);

	if (!b || !r)
		return 0;
	__sync_fetch_and_add(&r->freed_cnt, 1);
	__sync_fetch_and_add(&r->freed_bytes, b->size);
	__sync_fetch_and_add(&r->life_ns, life);
	if (class < AS_LIFE_CLASSES)
		__sync_fetch_and_add(&r->life[class], 1);
	if (temporary)
		__sync_fetch_and_add(&r->temporary_cnt, 1);
	if (h)
		heap__shrink(h, b->size);
	return 0;
}

/* ---- blocks ---- */

/* A block that left the table has ended. */
static __always_inline void block__died(const struct as_block *b, __u64 addr, __u64 temporary)
{
	__u64 now;

	if (b->row == AS_ROW_NONE)
		return;
	now = bpf_ktime_get_ns();
	row__died(b, now - b->born, temporary);
	event__died(b, addr, now);
}

/* Puts a block in. Where its address is still another's, that one's free was missed. */
__noinline int block__born(__u64 tag, __u64 addr, const struct as_block *b)
{
	struct as_block old = {};
	int err;

	if (!b)
		return 0;
	err = blocks__put(tag, b);
	if (err == -EEXIST) {
		if (blocks__take(tag, &old)) {
			block__died(&old, addr, 0);
			loss__count(AS_LOSS_MISSED_FREE);
		}
		err = blocks__put(tag, b);
	}
	if (b->row == AS_ROW_NONE)
		return 0;
	if (!err) {
		row__born(b);
		event__born(b, addr);
		return 0;
	}
	loss__count(AS_LOSS_BLOCKS_FULL);
	row__untracked(b->row, b->size);
	return 0;
}

/* Puts back what a failed realloc had taken. */
__noinline int block__put_back(__u64 tag, const struct as_block *b)
{
	if (!b || !blocks__put(tag, b) || b->row == AS_ROW_NONE)
		return 0;
	loss__count(AS_LOSS_BLOCKS_FULL); /* others took the room meanwhile */
	row__lost(b);
	return 0;
}

/* ---- calls ---- */

static __always_inline struct as_thread *thread__of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A call whose return won't be recognized: what it makes is not followed, nor what it took. */
static __noinline int open__give_up(struct as_open *o)
{
	struct as_block taken = o->taken;

	if (o->row != AS_ROW_NONE)
		row__untracked(o->row, o->size);
	if (o->flags & AS_OPEN_TOOK && taken.row != AS_ROW_NONE)
		row__lost(&taken);
	return 0;
}

/* Where a call of one layer jumps on to one of another, both have this stack pointer, a multiple of
 * 8, and each returns to its own return probe. */
static __always_inline __u64 open__key(__u64 sp, __u64 cookie)
{
	return sp + (as_layers ? AS_COOKIE_LAYER(cookie) : 0);
}

static __always_inline __u64 open__sp(__u64 key)
{
	return as_layers ? key & ~7ull : key;
}

/* A place for a call with this key: no two calls in progress have the same, so an
 * older one with it was left by a jump (longjmp, an exception). */
static __always_inline struct as_open *open__place(struct as_thread *t, __u64 sp)
{
	struct as_open *o = NULL;

	for (int i = 0; i < AS_OPEN_CNT; i++) {
		if (t->open[i].sp == sp)
			return &t->open[i];
		if (!t->open[i].sp)
			o = &t->open[i];
	}
	if (o)
		return o;
	loss__count(AS_LOSS_OPEN_CALLS);
	o = &t->open[t->next++ & (AS_OPEN_CNT - 1)];
	open__give_up(o);
	return o;
}

/* By key; or, at an exit, which may be of any layer's call, by stack pointer. */
static __always_inline struct as_open *open__find(struct as_thread *t, __u64 key, __u64 how)
{
	for (int i = 0; i < AS_OPEN_CNT; i++) {
		if ((how ? open__sp(t->open[i].sp) : t->open[i].sp) == key &&
		    (t->open[i].flags & AS_SITE_EXITS) == how)
			return &t->open[i];
	}
	return NULL;
}

/* Is a call in progress about to free this block itself (realloc)? */
static __always_inline bool open__has_taken(const struct as_thread *t, __u64 addr)
{
	for (int i = 0; i < AS_OPEN_CNT; i++) {
		if (t->open[i].sp && t->open[i].old == addr)
			return true;
	}
	return false;
}

/* The old block of a realloc whose outcome is known. */
static __always_inline void open__settle_old(const struct as_open *o, bool freed)
{
	struct as_block taken = o->taken;

	if (!(o->flags & AS_OPEN_TOOK))
		return;
	if (freed)
		block__died(&taken, o->old, 0);
	else
		block__put_back(block__tag(o->space, o->old), &taken);
}

/* The address of the new block; 0: the call failed. */
static __always_inline __u64 open__result(const struct as_open *o, __u64 returned)
{
	__u64 addr = 0;

	if (o->flags & AS_SITE_RESIZES)
		return returned >= o->size ? o->old : 0;
	if (!o->out)
		return returned;
	if ((__u32)returned || bpf_probe_read_user(&addr, sizeof(addr), (void *)o->out))
		return 0;
	return addr;
}

static __always_inline void open__done(struct as_thread *t, const struct as_open *o, __u64 returned,
				       __u32 tid)
{
	__u64 addr = open__result(o, returned);
	struct as_block b = { .size = o->size, .row = o->row, .tid = tid };
	/* realloc(p, 0) is a free, whatever it returns. */
	bool is_free = o->old && !o->size;

	open__settle_old(o, addr || is_free || o->flags & AS_SITE_FREES_OLD);
	if (!addr) {
		if (!is_free)
			counters__failed();
		return;
	}
	if (o->row == AS_ROW_NONE && !as_live_exact)
		return;
	b.born = bpf_ktime_get_ns();
	block__born(block__tag(o->space, addr), addr, &b);
	if (o->row != AS_ROW_NONE)
		t->newest = addr;
}

/*
 * A call begins: takes the old block out and notes what the return must know. False when the return
 * is of no interest. (The old block leaves now because its address may be another thread's new
 * block before this call returns.)
 */
static __noinline bool open__begin(struct as_thread *t, const struct call *c, __u64 out)
{
	struct as_block taken = {};
	bool took = c->old && blocks__take(block__tag(c->space, c->old), &taken);
	struct as_open *o;

	/* A free by realloc(p, 0) may give a block of no bytes, to be freed in turn. */
	if (c->row == AS_ROW_NONE && !took && !(as_live_exact && c->old && !c->size))
		return false;
	o = open__place(t, open__key(c->sp, c->cookie));
	o->sp = open__key(c->sp, c->cookie);
	o->size = c->size;
	o->out = out;
	o->old = c->old;
	o->flags = (__u32)c->cookie;
	o->space = c->space;
	o->row = c->row;
	t->has_exits |= c->cookie & AS_SITE_EXITS;
	if (took) {
		o->flags |= AS_OPEN_TOOK;
		o->taken = taken;
	}
	return true;
}

/* An exception has left the call: without memory, and with realloc's old block where it was. */
static __noinline int open__threw(struct as_open *o)
{
	open__settle_old(o, false);
	counters__failed();
	o->sp = 0;
	o->old = 0;
	return 0;
}

/* On the thread's stack for signal handlers? */
static __always_inline bool sp__is_alternate(const struct task_struct *task, __u64 sp)
{
	return sp - task->sas_ss_sp <= task->sas_ss_size;
}

/*
 * No return and no return probe tells of an exception. But a frame is gone once the same stack has
 * a newer call's frame at its place or above it. Not so at the very place when this call continues
 * the other (is_jump, or another layer's).
 */
static __always_inline void open__bury(struct as_thread *t, struct task_struct *task, __u64 key,
				       bool is_jump)
{
	__u64 sp = open__sp(key);
	bool alternate = sp__is_alternate(task, sp);

	for (int i = 0; i < AS_OPEN_CNT; i++) {
		struct as_open *o = &t->open[i];

		if (!(o->flags & AS_SITE_EXITS) || !o->sp || open__sp(o->sp) > sp)
			continue;
		if (o->sp == key ? is_jump : open__sp(o->sp) == sp)
			continue;
		if (sp__is_alternate(task, o->sp) == alternate)
			open__threw(o);
	}
}

/* A probed call has returned. By its entry's stack pointer (a return probe: key); `how`:
 * AS_SITE_EXITS, or 0 for a return probe. (Functions share exits: a return may be another's.) */
static __always_inline void live__returned(const struct pt_regs *ctx, __u64 key, __u64 how)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_thread *t = bpf_task_storage_get(&threads, task, NULL, 0);
	/* A call that has jumped on to another layer's returns with it. */
	int cnt = as_layers && how ? 2 : 1;

	if (!t)
		return;
	for (int i = 0; i < cnt; i++) {
		struct as_open *o = open__find(t, key, how);

		if (!o)
			return;
		if (counting)
			open__done(t, o, ctx->ax, task->pid);
		o->sp = 0;
		o->old = 0;
	}
}

/* A free of a block that isn't known: from before the start, or of a child's inheritance. */
static __always_inline bool live__unknown_free(struct task_struct *task, __u64 space, __u64 addr)
{
	struct as_thread *t = thread__of(task);
	struct as_heap *h;
	__u32 at;

	/* One function that frees may call or jump on to the next (delete, realloc). */
	if (t && (t->freed == addr || open__has_taken(t, addr)))
		return false;
	if (t)
		t->freed = addr;
	at = heap__of(space);
	h = bpf_map_lookup_elem(&heaps, &at);
	if (h)
		__sync_fetch_and_add(&h->unknown_frees, 1);
	return true;
}

/* A block is about to be freed. False: an unknown one, now counted. */
static __always_inline bool live__freed(struct task_struct *task, __u64 space, __u64 cookie,
					__u64 addr)
{
	struct as_thread *t;
	struct as_block b = {};

	if (!addr)
		return true;
	if (!blocks__take(block__tag(space__of_layer(space, cookie), addr), &b))
		return !as_live_exact || !live__unknown_free(task, space, addr);
	t = thread__of(task);
	block__died(&b, addr, t && t->newest == addr);
	if (t)
		t->freed = addr;
	return true;
}

#endif
