/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules that all unwind tables share. A whole machine needs a few thousand distinct ones, so a
 * row holds a 16-bit number instead of a rule. Numbers only ever grow and a rule never changes:
 * whoever uploads them needs to copy only what came since the last time.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include <pthread.h>

#include "abi.h"
#include "base/types.h"

struct unwind_rules {
	pthread_mutex_t lock;  /* files are compiled in parallel */
	struct as_rule *rules; /* AS_RULE_MAX of them, never moves */
	u32 cnt;	       /* see unwind_rules__cnt() */
	u16 *slots;	       /* hash table: rule number, 0 free */
};

/* The fixed rules are there from the start. 0 or -ENOMEM. */
int unwind_rules__init(struct unwind_rules *t);
void unwind_rules__fini(struct unwind_rules *t);

/* The rule's number, a new one when it was never seen; AS_RULE_UNSUPPORTED when the table is full.
 */
u16 unwind_rules__id(struct unwind_rules *t, const struct as_rule *rule);

/* Rules below this count may be read without the lock: t->rules[0..cnt). */
u32 unwind_rules__cnt(struct unwind_rules *t);

/* Equal rules have equal hashes; for caches in front of the table, too. */
static inline u32 unwind_rule__hash(const struct as_rule *r)
{
	u64 h = (u64)(u32)r->cfa_off << 32 | (u32)r->fp_off;

	h ^= (u64)r->cfa_kind << 56 ^ (u64)r->fp_kind << 24 ^ (u64)r->aux << 40 ^
	     (u64)(u32)r->bx_off << 12;
	h *= 0x9e3779b97f4a7c15ull;
	return (u32)(h >> 32);
}

static inline bool unwind_rule__eq(const struct as_rule *a, const struct as_rule *b)
{
	return a->cfa_kind == b->cfa_kind && a->fp_kind == b->fp_kind && a->aux == b->aux &&
	       a->cfa_off == b->cfa_off && a->fp_off == b->fp_off && a->bx_off == b->bx_off;
}

#endif
