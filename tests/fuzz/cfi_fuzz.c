/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: any bytes as a CFI section become a table without a bad access, and whatever
 * table comes out keeps its promises. The first byte chooses the format and the address, the rest
 * is the section.
 */
#include <stdlib.h>

#include "../unit/cfi_bytes.h"

#define REQUIRE(cond)            \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#define FAR_SIZE (4ull << 20)

static struct unwind_rules rules;

/* Rows ascend, neighbours differ, rules exist. */
static void check_rows(const struct unwind_table *t)
{
	for (size_t i = 0; i < t->rows.cnt; i++) {
		REQUIRE(!i || t->rows.v[i].off > t->rows.v[i - 1].off);
		REQUIRE(!i || t->rows.v[i].rule != t->rows.v[i - 1].rule);
		REQUIRE(t->rows.v[i].rule < unwind_rules__cnt(&rules));
	}
}

static void check_pages(const struct unwind_table *t)
{
	union as_page *pages;
	u32 page_cnt, chunk_cnt, first[AS_INDEX_PAGES];

	REQUIRE(!unwind_table__pack(t, &pages, &page_cnt, &chunk_cnt, first));
	for (size_t i = 0; i < t->rows.cnt; i++) {
		u64 off = t->rows.v[i].off;

		REQUIRE(unwind_pages__find(pages, chunk_cnt, first, off) == t->rows.v[i].rule);
		REQUIRE(unwind_pages__find(pages, chunk_cnt, first, off - 1) ==
			unwind_table__find(t, off - 1));
	}
	free(pages);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct unwind_text text = bytes__text();
	struct unwind_table t;

	if (!size)
		return 0;
	/* The table of rules fills up for good; start over, or nothing new would be seen. */
	if (rules.cnt > AS_RULE_MAX / 2)
		unwind_rules__fini(&rules);
	if (!rules.cnt)
		REQUIRE(!unwind_rules__init(&rules));
	text.entry_off = TEXT_OFF + 0x80;
	/* Real sections name addresses below their own: 0 minus some. */
	text.segs[text.seg_cnt++] = (struct unwind_seg){ 0 - FAR_SIZE, 0x10000, FAR_SIZE - 4096 };
	REQUIRE(!bytes__compile(data + 1, size - 1, data[0] & 2 ? CFI_VADDR : 0, data[0] & 1, &text,
				&rules, &t));
	check_rows(&t);
	check_pages(&t);
	unwind_table__fini(&t);
	return 0;
}
