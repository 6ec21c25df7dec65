/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What a walk works in: layouts only, no maps, as user space compiles the walk's text, too (see
 * src/trace/unwinder.c).
 */
#ifndef ALLOCSNOOP_SLOT_BPF_H
#define ALLOCSNOOP_SLOT_BPF_H

/* A 64-bit mix of two words (the finalizer of MurmurHash3, x64): each step is one-to-one in h. */
static __always_inline __u64 hash__mix(__u64 h, __u64 v)
{
	h ^= v;
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	h ^= h >> 33;
	return h;
}

/* One executable mapping, as cached for a walk. */
struct as_mapping {
	__u64 start;
	__u64 end;
	__u64 bias;  /* file offset - address */
	__u64 file;  /* hash; 0: no file */
	__u32 table; /* as_file.table */
	__u32 chunk_cnt;
	__u32 flags;	  /* AS_FILE_*; AS_MAPPING_EXEC */
	__u32 stale_uses; /* since it was last looked up */
	__u64 generation; /* of the slot, when it was looked up */
};

#define AS_MAPPING_EXEC (1u << 31)
#define AS_MAPPING_CNT	8

/*
 * A copy of a piece of the stack. Reading user memory costs 60 ns however little is read, so one
 * read serves several frames.
 */
#define AS_WINDOW_WORDS 512

struct as_window {
	__u64 start; /* address of word[0], a multiple of 8 */
	__u64 words; /* filled */
	__u64 word[AS_WINDOW_WORDS];
};

/*
 * A walk to do again for nothing: everything it depended on. The frames follow from the registers,
 * the mappings and the stack words that were read; where all of them are the same, so is the stack.
 * Its sums wait here, without atomics, until another memo or size class needs the place or user
 * space asks for them (memo__flush).
 */
#define AS_MEMO_CHECKS 144
#define AS_MEMO_SETS   32
#define AS_MEMO_WAYS   2

struct as_memo {
	__u64 generation; /* of the slot's mappings; 0: empty */
	__u64 ip;
	__u64 sp;
	__u64 bp;
	struct as_tally_key key; /* what the sums are of */
	struct as_tally sum;
	__u32 uses_bp; /* the walk depended on the register (code without frame pointers uses it for
			  anything) */
	__u32 checks;
	__u32 words;		/* of stack that the checks span */
	__u32 may_be_jumped_to; /* a function that may jump on was called from the same place */
	__u32 row;		/* --live: of the key, in `live_rows` */
	__u32 pad;
	__u64 value[AS_MEMO_CHECKS];
	__u16 at[AS_MEMO_CHECKS]; /* word, counted from sp */
};

#define WALK_NOT_DONE	0xffff
#define WALK_WANTS_COPY 0xfffe /* the newest frame's file isn't known yet: see copy.bpf.h */

/* What became of that copy. */
#define COPY_NONE    0 /* wasn't wanted */
#define COPY_MADE    1
#define COPY_REFUSED 2

#define WALK_BX_LIVE 0 /* still in the register */
#define WALK_BX_LOST 1

/* Where a walk has come to. In the slot, as programs have only 512 bytes of stack for all their
 * functions. */
struct walk {
	__u64 ip; /* of the newest frame */
	__u64 sp; /* its CFA side: stack pointer inside that frame, at ip */
	__u64 bp;
	__u64 bx;    /* the register's */
	__u64 bx_at; /* where a callee has saved this frame's rbx, or WALK_BX_* */
	__u64 hash;
	__u32 depth;  /* frames stored */
	__u32 end;    /* AS_END_*, or WALK_NOT_DONE */
	__u32 exact;  /* ip is the next instruction to run, not a return address (frame 0,
			 interrupted code) */
	__u32 own_bp; /* bp is still the register's, not one restored from the stack */
	__u32 copy;   /* COPY_* */
	__u32 pad;
	struct as_mapping m; /* of ip */
};

/*
 * What one walk works in. Uprobe programs are preemptible, so "per CPU" is not "mine": a slot is
 * claimed by compare-and-swap and held until the program ends.
 */
struct as_slot {
	__u64 busy;
	__u64 task;	  /* whose stack was walked last: address, */
	__u64 born;	  /* start, */
	__u64 exec_id;	  /* and image */
	__u64 proc;	  /* whose mappings are cached; already announced to user space */
	__u64 seq;	  /* mm_lock_seq at which they were looked up */
	__u64 generation; /* counts changes of the two above; from 1 */
	__u64 range_key;  /* of the look-up in progress */
	__u64 trampoline; /* of this generation, see trampoline__addr */
	__u64 next;	  /* entry to replace */
	struct as_mapping maps[AS_MAPPING_CNT];
	struct as_mapping asked; /* the one just looked up */
	struct as_window window;
	struct walk walk;
	struct as_memo now; /* being made */
	struct as_memo memos[AS_MEMO_SETS * AS_MEMO_WAYS];
	struct as_stack_event ev;
};

/*
 * Executable mappings as they were made, for moments when they can't be looked up: by process image
 * and 2 MiB of address space, a few in each.
 */
#define AS_CHUNK_SHIFT	 21
#define AS_CHUNK_MAPS	 4
#define AS_CHUNKS_OF_ONE 64 /* of a larger mapping only the first 128 MiB */

struct as_address_chunk {
	struct as_mapping m[AS_CHUNK_MAPS];
	__u64 next;
};

#define AS_RULE_CACHE 16384 /* entries of `rule_cache` */

static __always_inline __u64 chunk__key(__u64 proc, __u64 chunk)
{
	return hash__mix(proc, chunk);
}

/* The mapping that holds addr; NULL: none of those noted does. */
static __always_inline const struct as_mapping *chunk__find(const struct as_address_chunk *chunk,
							    __u64 addr)
{
	for (__u32 i = 1; i <= AS_CHUNK_MAPS; i++) { /* newest first: the others may be gone */
		const struct as_mapping *known = &chunk->m[(chunk->next - i) & (AS_CHUNK_MAPS - 1)];

		if (addr >= known->start && addr < known->end)
			return known;
	}
	return NULL;
}

#endif
