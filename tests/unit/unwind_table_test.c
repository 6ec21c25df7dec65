/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packing: rows and pages answer alike for every shape of table (dense, sparse, long rules, several
 * index pages), as abi.h lays them out; and the shared rule table under many threads.
 */
#include <errno.h>

#include "check.h"
#include "unwind/table.h"

struct packed {
	union as_page *pages;
	u32 page_cnt, chunk_cnt, first[AS_INDEX_PAGES];
};

static u64 rng = 0xb7e151628aed2a6bull;

static u64 draw(u64 below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

static int pack(const struct unwind_table *t, struct packed *p)
{
	*p = (struct packed){};
	return unwind_table__pack(t, &p->pages, &p->page_cnt, &p->chunk_cnt, p->first);
}

static void add(struct unwind_table *t, u32 off, u16 rule)
{
	CHECK_EQ(vec__push(&t->rows, ((struct unwind_row){ off, rule })), 0);
}

static u32 differs(const struct unwind_table *t, const struct packed *p, u64 off)
{
	return unwind_table__find(t, off) !=
	       unwind_pages__find(p->pages, p->chunk_cnt, p->first, off);
}

/* The promises of abi.h that the walker's searches stand on. */
static void check_layout(const struct packed *p)
{
	u32 index_cnt = (p->chunk_cnt + AS_CHUNK_ROWS - 1) / AS_CHUNK_ROWS, wrong = 0;

	CHECK_EQ(p->page_cnt, index_cnt + p->chunk_cnt);
	for (u32 i = 0; i < AS_INDEX_PAGES; i++)
		CHECK_EQ(p->first[i], i < index_cnt ? p->pages[i].base[0] : UINT32_MAX);
	for (u32 i = 0; i < index_cnt * AS_CHUNK_ROWS; i++) {
		u32 base = p->pages[i / AS_CHUNK_ROWS].base[i % AS_CHUNK_ROWS];
		const struct as_chunk *c;

		if (i >= p->chunk_cnt) {
			wrong += base != UINT32_MAX;
			continue;
		}
		c = &p->pages[index_cnt + i].chunk;
		wrong += c->base != base || c->rows[0].pc_delta != 0;
		for (u32 k = 1; k < AS_CHUNK_ROWS; k++)
			wrong += c->rows[k].pc_delta == 0xffff
					 ? c->rows[k].rule != AS_RULE_GAP
					 : c->rows[k].pc_delta <= c->rows[k - 1].pc_delta;
	}
	CHECK_EQ(wrong, 0);
}

static void check_table(struct unwind_table *t)
{
	struct packed p;
	u32 wrong = 0;

	CHECK_EQ(pack(t, &p), 0);
	check_layout(&p);
	for (size_t i = 0; i < t->rows.cnt; i++) {
		u64 off = t->rows.v[i].off;
		u64 end = i + 1 < t->rows.cnt ? t->rows.v[i + 1].off : off + 200000;

		wrong += differs(t, &p, off) + differs(t, &p, off - 1) + differs(t, &p, end - 1);
		wrong += differs(t, &p, off + draw(end - off));
		for (u64 at = off + 0xfffe; at < end && at < off + 0x50000; at += 0xffff)
			wrong += differs(t, &p, at) + differs(t, &p, at + 1) +
				 differs(t, &p, at + 2);
	}
	CHECK_EQ(wrong, 0);
	free(p.pages);
	unwind_table__fini(t);
}

static void test_borders(void)
{
	struct unwind_table t = {};

	add(&t, 0, 7); /* at the file's first byte */
	add(&t, 0xfffe, 8);
	add(&t, 0xffff, 9); /* the first delta that is out of reach */
	add(&t, 0x1fffd, 10);
	add(&t, 0x1fffe, 11);
	add(&t, 0x60000, 12); /* after a rule of four chunks */
	add(&t, 0x60001, AS_RULE_GAP);
	add(&t, 0xfffffff0, 13); /* a gap costs nothing */
	add(&t, 0xfffffffd, 14);
	add(&t, 0xfffffffe, AS_RULE_GAP);
	check_table(&t);
}

/* 1,023 to 1,025 rows: a chunk that is just full. */
static void test_full_chunks(void)
{
	for (u32 cnt = AS_CHUNK_ROWS - 1; cnt <= AS_CHUNK_ROWS + 1; cnt++) {
		struct unwind_table t = {};

		for (u32 i = 0; i < cnt; i++)
			add(&t, 0x1000 + i, (u16)(3 + i));
		add(&t, 0x1000 + cnt + 300000, AS_RULE_GAP);
		check_table(&t);
	}
}

static void test_random(void)
{
	for (u32 round = 0; round < 60; round++) {
		struct unwind_table t = {};
		u32 spread = 1u << draw(18);
		u32 off = (u32)draw(1u << 20);

		for (u32 i = 0; i < 2000; i++) {
			u16 rule = draw(8) ? (u16)(3 + draw(1000)) : AS_RULE_GAP;

			off += 1 + (u32)draw(spread);
			add(&t, off, rule);
		}
		add(&t, off + 1, AS_RULE_GAP);
		check_table(&t);
	}
}

/* Four index pages, and one row more than they hold. */
static void test_full_index(void)
{
	struct unwind_table t = {};
	struct packed p;
	u32 max = AS_INDEX_PAGES * AS_CHUNK_ROWS, wrong = 0;

	for (u32 i = 0; i < max; i++)
		add(&t, 0x1000 + i * 0xffff, (u16)(3 + i));
	CHECK_EQ(pack(&t, &p), 0);
	CHECK_EQ(p.chunk_cnt, max);
	check_layout(&p);
	for (u32 i = 0; i < max; i++)
		wrong += differs(&t, &p, t.rows.v[i].off) +
			 differs(&t, &p, t.rows.v[i].off + 0xfffe);
	CHECK_EQ(wrong, 0);
	free(p.pages);
	add(&t, t.rows.v[max - 1].off + 0xffff, 3);
	CHECK_EQ(pack(&t, &p), -E2BIG);
	CHECK(!p.pages);
	unwind_table__fini(&t);

	add(&t, 0, 3); /* one function of nearly 4 GiB */
	add(&t, 0xf0000000, AS_RULE_GAP);
	CHECK_EQ(pack(&t, &p), -E2BIG);
	unwind_table__fini(&t);
}

static void test_empty(void)
{
	struct unwind_table t = {};
	struct packed p;

	CHECK_EQ(pack(&t, &p), 0);
	CHECK(!p.pages);
	CHECK_EQ(p.page_cnt, 0);
	CHECK_EQ(p.first[0], UINT32_MAX);
	CHECK_EQ(differs(&t, &p, 1), 0);
}

/* ---- the rule table ---- */

#define RULE_CNT 5000

static struct as_rule rule_no(u32 i)
{
	return (struct as_rule){
		.cfa_kind = AS_CFA_RSP + i % 2,
		.fp_kind = AS_FP_CFA,
		.cfa_off = (s32)(i / 2 * 8),
		.fp_off = -16,
	};
}

static void *add_rules(void *arg)
{
	struct unwind_rules *rules = arg;
	u64 wrong = 0;

	for (u32 i = 0; i < RULE_CNT; i++) {
		struct as_rule rule = rule_no(i);

		wrong += !unwind_rule__eq(&rules->rules[unwind_rules__id(rules, &rule)], &rule);
	}
	return (void *)wrong;
}

static void test_rules_threads(void)
{
	struct unwind_rules rules;
	pthread_t threads[4];
	void *wrong;

	CHECK_EQ(unwind_rules__init(&rules), 0);
	for (u32 i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, add_rules, &rules), 0);
	for (u32 i = 0; i < 4; i++) {
		CHECK_EQ(pthread_join(threads[i], &wrong), 0);
		CHECK(!wrong);
	}
	CHECK_EQ(unwind_rules__cnt(&rules), 3 + RULE_CNT);
	unwind_rules__fini(&rules);
}

static void test_rules_full(void)
{
	const struct as_rule end = { .cfa_kind = AS_CFA_END }, gap = {};
	struct unwind_rules rules;
	struct as_rule rule = rule_no(0);

	CHECK_EQ(unwind_rules__init(&rules), 0);
	CHECK_EQ(unwind_rules__id(&rules, &end), AS_RULE_END);
	CHECK_EQ(unwind_rules__id(&rules, &gap), AS_RULE_GAP);
	for (u32 i = 0; i < AS_RULE_MAX + 10; i++) {
		u16 want = (u16)(3 + i < AS_RULE_MAX ? 3 + i : AS_RULE_UNSUPPORTED);

		rule = rule_no(i);
		CHECK_EQ(unwind_rules__id(&rules, &rule), want);
	}
	CHECK_EQ(unwind_rules__cnt(&rules), AS_RULE_MAX);
	rule = rule_no(17);
	CHECK_EQ(unwind_rules__id(&rules, &rule), 20); /* the old ones are still found */
	unwind_rules__fini(&rules);
}

int main(void)
{
	test_borders();
	test_full_chunks();
	test_random();
	test_full_index();
	test_empty();
	test_rules_threads();
	test_rules_full();
	return check__done();
}
