/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The global rule table: open addressing over rule numbers, half full at most. Callers keep a
 * small cache of their own, so the lock is taken once for each distinct rule of a file, roughly.
 */
#include "unwind/rule.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

#define SLOT_CNT (2u * AS_RULE_MAX)

static const struct as_rule fixed[] = {
	[AS_RULE_GAP] = { .cfa_kind = AS_CFA_GAP },
	[AS_RULE_END] = { .cfa_kind = AS_CFA_END },
	[AS_RULE_UNSUPPORTED] = { .cfa_kind = AS_CFA_UNSUPPORTED },
};

int unwind_rules__init(struct unwind_rules *t)
{
	*t = (struct unwind_rules){};
	pthread_mutex_init(&t->lock, NULL);
	t->rules = calloc(AS_RULE_MAX, sizeof(*t->rules));
	t->slots = calloc(SLOT_CNT, sizeof(*t->slots));
	if (!t->rules || !t->slots) {
		unwind_rules__fini(t);
		return err__fail(-ENOMEM, "no memory for the unwind rules");
	}
	for (u32 i = 0; i < ARRAY_SIZE(fixed); i++)
		t->rules[i] = fixed[i];
	t->cnt = ARRAY_SIZE(fixed);
	return 0;
}

void unwind_rules__fini(struct unwind_rules *t)
{
	free(t->rules);
	free(t->slots);
	t->rules = NULL;
	t->slots = NULL;
	t->cnt = 0;
	pthread_mutex_destroy(&t->lock);
}

static u16 find_or_add(struct unwind_rules *t, const struct as_rule *rule)
{
	u32 slot = unwind_rule__hash(rule) % SLOT_CNT;

	for (; t->slots[slot]; slot = (slot + 1) % SLOT_CNT)
		if (unwind_rule__eq(&t->rules[t->slots[slot]], rule))
			return t->slots[slot];
	if (t->cnt == AS_RULE_MAX)
		return AS_RULE_UNSUPPORTED;
	t->rules[t->cnt] = *rule;
	t->slots[slot] = (u16)t->cnt;
	return (u16)t->cnt++;
}

u16 unwind_rules__id(struct unwind_rules *t, const struct as_rule *rule)
{
	u16 id;

	for (u16 i = 0; i < ARRAY_SIZE(fixed); i++)
		if (fixed[i].cfa_kind == rule->cfa_kind)
			return i;
	pthread_mutex_lock(&t->lock);
	id = find_or_add(t, rule);
	pthread_mutex_unlock(&t->lock);
	return id;
}

u32 unwind_rules__cnt(struct unwind_rules *t)
{
	u32 cnt;

	pthread_mutex_lock(&t->lock);
	cnt = t->cnt;
	pthread_mutex_unlock(&t->lock);
	return cnt;
}
