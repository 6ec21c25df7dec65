/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The stack walk. Frame 0 is the probed function, frame 1 its caller, read where the stack pointer
 * says; then one step a frame: by the unwind rows of the frame's file, or by the frame pointer
 * where there are none. Each frame is stored as (file, offset) and hashed at once, so that it
 * outlives the process. Every walk ends with a code that says why.
 */
#ifndef ALLOCSNOOP_UNWIND_BPF_H
#define ALLOCSNOOP_UNWIND_BPF_H

/* The frame pointer, for use. */
static __always_inline __u64 walk__bp(struct walk *w, struct as_slot *s)
{
	s->now.uses_bp |= w->own_bp;
	return w->bp;
}

/* Stores the frame at w->ip. Returns false when there is no room or no code there. */
static __always_inline bool walk__push(struct walk *w, struct as_slot *s)
{
	struct as_frame f = { .off = w->ip };
	struct as_mapping *m;
	long err;

	if (w->depth >= as_max_depth) {
		w->end = AS_END_TRUNCATED;
		return false;
	}
	if (w->ip - !w->exact < w->m.start || w->ip - !w->exact >= w->m.end) {
		err = mapping__find(s, w->ip - !w->exact, &m);
		if (err) {
			w->end = err == -EBUSY ? AS_END_BUSY : AS_END_NO_TABLE;
			return false;
		}
		w->m = *m;
	}
	if (!(w->m.flags & AS_MAPPING_EXEC)) {
		w->end = AS_END_NO_TABLE;
		return false;
	}
	f.file = w->m.file;
	if (f.file)
		f.off = w->ip + w->m.bias;
	if (w->exact && w->depth)
		f.off |= AS_FRAME_EXACT;
	s->ev.frames[w->depth & (AS_FRAME_CAP - 1)] = f;
	w->depth++;
	/* A frame without a file is only the same in the same process. */
	w->hash = hash__mix(w->hash, f.file ? f.file : s->proc);
	w->hash = hash__mix(w->hash, f.off);
	return true;
}

/* Moves to the caller whose registers are given. */
static __always_inline void walk__up(struct walk *w, struct as_slot *s, __u64 ip, __u64 sp,
				     __u64 bp)
{
	w->ip = ip;
	w->sp = sp;
	w->bp = bp;
	w->exact = 0;
	walk__push(w, s);
}

static __always_inline bool walk__read(struct walk *w, struct as_slot *s, __u64 addr, __u64 *to)
{
	if (window__word(s, addr, to)) {
		memo__note(&s->now, addr, *to);
		return true;
	}
	w->end = AS_END_READ_FAULT;
	return false;
}

/* The return address at addr, or the one that a return probe has replaced (rare: such walks aren't
 * remembered, as the stack doesn't say where they go). */
static __always_inline bool walk__return(struct walk *w, struct as_slot *s, __u64 addr, __u64 *ra)
{
	if (!walk__read(w, s, addr, ra))
		return false;
	if (*ra != s->trampoline || !*ra)
		return true;
	s->now.generation = 0;
	*ra = trampoline__caller(addr);
	if (!*ra)
		w->end = AS_END_UNSUPPORTED;
	return *ra;
}

/* The frame's rbx, for the few frames that have their CFA there. */
static __always_inline bool walk__bx(struct walk *w, struct as_slot *s, __u64 *bx)
{
	if (w->bx_at == WALK_BX_LOST) {
		w->end = AS_END_UNSUPPORTED;
		return false;
	}
	if (w->bx_at != WALK_BX_LIVE)
		return walk__read(w, s, w->bx_at, bx);
	s->now.generation = 0; /* memos don't compare this register */
	*bx = w->bx;
	return true;
}

/* Does a call end right before ra? E8 rel32, or FF /2 with its operand in 2 to 7 bytes (Intel SDM,
 * CALL). */
static __always_inline bool walk__follows_call(__u64 ra)
{
	__u8 code[8];

	if (bpf_probe_read_user(code, sizeof(code), (void *)(ra - sizeof(code))))
		return false;
	if (code[3] == 0xe8)
		return true;
	for (int len = 2; len < 8; len++) {
		if (code[8 - len] == 0xff && (code[9 - len] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/*
 * Code without rows: follow the frame pointer, but only where it can be one: aligned, above the
 * stack pointer, inside the stack's mapping, and with the address after a call beside it (code
 * without frame pointers keeps anything in rbp). A read that faults costs as much as the probe's
 * trap. `end` is how the walk ends where it can't be.
 */
static __always_inline void walk__frame_pointer(struct walk *w, struct as_slot *s, __u32 end)
{
	struct as_mapping *stack;
	__u64 at = walk__bp(w, s), bp, ra;
	long err;

	w->end = end;
	if (at < w->sp || at & 7)
		return;
	err = mapping__find(s, w->sp, &stack);
	if (err) {
		w->end = err == -EBUSY ? AS_END_BUSY : w->end;
		return;
	}
	if (at > stack->end - 2 * REGS_WORD)
		return;
	if (!walk__read(w, s, at, &bp) || !walk__return(w, s, at + REGS_WORD, &ra))
		return;
	if (!ra || !walk__follows_call(ra))
		return;
	w->end = WALK_NOT_DONE;
	w->own_bp = 0;
	w->bx_at = WALK_BX_LOST;
	walk__up(w, s, ra, at + 2 * REGS_WORD, bp);
}

/* Below a signal handler: the kernel saved the registers of the interrupted code (any stack, hence
 * no check). */
static __always_inline void walk__sigframe(struct walk *w, struct as_slot *s)
{
	__u64 ip, sp, bp;

	if (!walk__read(w, s, w->sp + REGS_SIGFRAME_BP, &bp) ||
	    !walk__read(w, s, w->sp + REGS_SIGFRAME_SP, &sp) ||
	    !walk__read(w, s, w->sp + REGS_SIGFRAME_IP, &ip))
		return;
	w->bx_at = w->sp + REGS_SIGFRAME_BX;
	w->ip = ip;
	w->sp = sp;
	w->bp = bp;
	w->own_bp = 0;
	w->exact = 1;
	walk__push(w, s);
}

/* The canonical frame address by a rule; 0 and w->end when there is none. */
static __always_inline __u64 walk__cfa(struct walk *w, struct as_slot *s, const struct as_rule *r)
{
	__u64 cfa;

	switch (r->cfa_kind) {
	case AS_CFA_RSP:
		return w->sp + r->cfa_off;
	case AS_CFA_RBP:
		return walk__bp(w, s) + r->cfa_off;
	case AS_CFA_DEREF_RBP:
	case AS_CFA_DEREF_RSP:
		cfa = (r->cfa_kind == AS_CFA_DEREF_RBP ? walk__bp(w, s) : w->sp) + r->cfa_off;
		if (!walk__read(w, s, cfa, &cfa))
			return 0;
		return cfa + r->aux;
	case AS_CFA_RBX:
		return walk__bx(w, s, &cfa) ? cfa + r->cfa_off : 0;
	case AS_CFA_PLT:
		return w->sp + 8 + ((w->ip & 15) >= r->aux ? 8 : 0);
	case AS_CFA_END:
		w->end = AS_END_COMPLETE;
		return 0;
	default:
		w->end = AS_END_UNSUPPORTED;
		return 0;
	}
}

static __always_inline void walk__by_rule(struct walk *w, struct as_slot *s,
					  const struct as_rule *r)
{
	__u64 cfa, ra, bp = w->bp;

	if (r->cfa_kind == AS_CFA_SIGFRAME) {
		walk__sigframe(w, s);
		return;
	}
	cfa = walk__cfa(w, s, r);
	if (w->end != WALK_NOT_DONE)
		return;
	if (cfa <= w->sp || cfa & 7) {
		w->end = AS_END_NO_PROGRESS;
		return;
	}
	if (!walk__return(w, s, cfa - REGS_WORD, &ra))
		return;
	if (r->fp_kind == AS_FP_CFA || r->fp_kind == AS_FP_RBP) {
		__u64 at = (r->fp_kind == AS_FP_CFA ? cfa : walk__bp(w, s)) + r->fp_off;

		if (!walk__read(w, s, at, &bp))
			return;
		w->own_bp = 0;
	}
	if (r->fp_kind == AS_FP_UNDEF) {
		bp = 0; /* no frame's: whoever needs it ends the walk */
		w->own_bp = 0;
	}
	if (r->bx_off != AS_BX_SAME)
		w->bx_at = r->bx_off == AS_BX_LOST ? WALK_BX_LOST : cfa + r->bx_off;
	if (!ra) { /* _start's caller, by convention */
		w->end = AS_END_COMPLETE;
		return;
	}
	walk__up(w, s, ra, cfa, bp);
}

/* User space may still find rows for the mapping's file. */
static __always_inline bool mapping__is_unknown(const struct as_mapping *m)
{
	return m->file && !(m->flags & (AS_FILE_READY | AS_FILE_GONE));
}

/*
 * One frame up. A function of its own for the verifier: checked once, not once a frame.
 */
__noinline int walk__step(__u32 slot)
{
	struct as_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct as_rule *r;
	struct walk *w;
	__u32 rule, end;

	if (!s)
		return 0;
	w = &s->walk;
	end = w->m.file ? AS_END_NO_TABLE : AS_END_ANONYMOUS;
	if (w->m.table) {
		rule = rows__rule(&w->m, w->ip - !w->exact + w->m.bias);
		/* Nothing can have called from a gap: a made-up return address to a function's
		 * first instruction, as makecontext(3) stores. */
		if (rule == AS_RULE_GAP && !w->exact)
			rule = rows__rule(&w->m, w->ip + w->m.bias);
		r = bpf_map_lookup_elem(&rules, &rule);
		if (!r)
			return 0;
		if (r->cfa_kind != AS_CFA_GAP) {
			walk__by_rule(w, s, r);
			return 0;
		}
		end = AS_END_GAP;
	} else if (mapping__is_unknown(&w->m) && w->copy == COPY_NONE) {
		w->end = WALK_WANTS_COPY;
		return 0;
	}
	walk__frame_pointer(w, s, end);
	return 0;
}

/* Frames 0 and 1 of a hit at ip: the probed function, and its caller, whose return address lies at
 * entry_sp. */
static __always_inline void walk__begin(struct walk *w, struct as_slot *s, __u64 ip, __u64 entry_sp,
					__u64 bp, __u64 bx)
{
	__u64 ra;

	*w = (struct walk){ .ip = ip, .bx = bx, .exact = 1, .own_bp = 1, .end = WALK_NOT_DONE };
	if (!walk__push(w, s))
		return;
	if (walk__return(w, s, entry_sp, &ra))
		walk__up(w, s, ra, entry_sp + REGS_WORD, bp);
	else
		loss__count(AS_LOSS_CALLER_UNREADABLE);
}

/* Frames 0 and 1 of code that was interrupted at ip, by what the number says. */
static __always_inline void walk__begin_at(struct walk *w, struct as_slot *s, __u32 number,
					   __u64 ip, __u64 sp, __u64 bp, __u64 bx)
{
	struct as_frame what = { .off = number };

	*w = (struct walk){ .ip = ip,
			    .sp = sp,
			    .bp = bp,
			    .bx = bx,
			    .hash = number,
			    .depth = 1,
			    .exact = 1,
			    .own_bp = 1,
			    .end = WALK_NOT_DONE };
	s->ev.frames[0] = what;
	walk__push(w, s);
}

/* What a finished walk's stack is known by. Never 0, which says "lost". */
static __always_inline __u64 walk__id(const struct walk *w)
{
	__u64 id = hash__mix(w->hash, w->end);

	return id + !id;
}

#endif
