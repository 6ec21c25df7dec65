/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel side's search for a row finds what the user side's two do, for the real libc and for
 * tables of many pages. */
#include "stage.h"

#include <fcntl.h>
#include <unistd.h>

#include "elf/image.h"
#include "../unit/check.h"

struct table {
	struct unwind_table rows;
	union as_page *packed;
	u32 page_cnt;
	u32 chunk_cnt;
	u32 first[AS_INDEX_PAGES];
	struct table_inner inner;
	struct as_mapping m;
};

static void table__upload(struct table *t, u32 slot)
{
	struct host_map *map;
	void *inner = &t->inner;

	if (unwind_table__pack(&t->rows, &t->packed, &t->page_cnt, &t->chunk_cnt, t->first))
		abort();
	map = host_map__add(inner, "table", BPF_MAP_TYPE_ARRAY, sizeof(u32), sizeof(*t->packed),
			    t->page_cnt);
	for (u32 i = 0; i < t->page_cnt; i++)
		host_map__update(map, &i, &t->packed[i], BPF_ANY);
	host_map__update(host_map__of(&tables), &slot, &inner, BPF_ANY);
	t->m = (struct as_mapping){ .table = slot + 1, .chunk_cnt = t->chunk_cnt };
}

static void table__fini(struct table *t)
{
	free(t->packed);
	unwind_table__fini(&t->rows);
}

/* Through the search and twice through the cache: filled, and used. */
static void compare(struct table *t, u64 off)
{
	u32 ours = rows__search(&t->m, off);

	if (ours == unwind_pages__find(t->packed, t->chunk_cnt, t->first, off) &&
	    ours == unwind_table__find(&t->rows, off) && rows__rule(&t->m, off) == ours &&
	    rows__rule(&t->m, off) == ours)
		return;
	check_failures++;
	fprintf(stderr, "offset %#llx: rule %u, not %u\n", (long long)off, ours,
		unwind_table__find(&t->rows, off));
}

/* All places where something changes, and what is right beside them. */
static void compare__borders(struct table *t)
{
	for (size_t i = 0; i < t->rows.rows.cnt && check_failures < 10; i++) {
		u64 off = t->rows.rows.v[i].off;

		for (u64 at = off - MIN(off, 1); at <= off + 1; at++)
			compare(t, at);
	}
	for (u32 i = 0; i < t->chunk_cnt; i++) {
		u32 pages_cnt = t->page_cnt - t->chunk_cnt;
		u64 base = t->packed[pages_cnt + i].chunk.base;

		compare(t, base);
		compare(t, base + 0xfffd);
		compare(t, base + 0xfffe);
		compare(t, base + 0xffff);
		compare(t, base + 0x10000);
	}
	compare(t, 0);
}

static void libc__test(void)
{
	static const char path[] = "/lib/x86_64-linux-gnu/libc.so.6";
	struct unwind_rules rules_made;
	struct elf_image img;
	struct table t = {};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u64 last;

	if (fd < 0 || elf_image__open(&img, fd)) {
		printf("no %s: only made tables\n", path);
		return;
	}
	if (unwind_rules__init(&rules_made) || unwind_table__compile(&t.rows, &img, &rules_made))
		abort();
	table__upload(&t, 0);
	CHECK(t.rows.rows.cnt > 10000);
	compare__borders(&t);
	last = t.rows.rows.v[t.rows.rows.cnt - 1].off;
	for (u64 off = 0; off < last + 0x20000 && check_failures < 10; off += 7)
		compare(&t, off);
	printf("%zu rows, %u chunks\n", t.rows.rows.cnt, t.chunk_cnt);
	table__fini(&t);
	unwind_rules__fini(&rules_made);
	elf_image__close(&img);
	close(fd);
}

/* cnt rows `step` bytes apart: with 64 KiB between them, as many chunks. The last one is a gap, as
 * in all files. */
static void made__test(u32 cnt, u32 step, u32 chunks)
{
	struct table t = {};

	host__reset();
	for (u32 i = 0; i < cnt; i++) {
		struct unwind_row row = { .off = 0x1000 + i * step,
					  .rule = i == cnt - 1 ? AS_RULE_GAP : 3 + i % 500 };

		if (vec__push(&t.rows.rows, row))
			abort();
	}
	table__upload(&t, 5);
	CHECK_EQ(t.chunk_cnt, chunks);
	compare__borders(&t);
	table__fini(&t);
}

/* The cache is shared by all files. */
static void two__test(void)
{
	struct table t[2] = {};

	host__reset();
	for (u32 slot = 0; slot < 2; slot++) {
		for (u32 i = 0; i < 100; i++) {
			struct unwind_row row = { .off = i * 10, .rule = 3 + i * 2 + slot };

			if (vec__push(&t[slot].rows.rows, row))
				abort();
		}
		table__upload(&t[slot], slot);
	}
	for (u64 off = 0; off < 1000; off++) {
		compare(&t[off % 2], off);
		compare(&t[!(off % 2)], off);
		compare(&t[off % 2], off);
	}
	table__fini(&t[0]);
	table__fini(&t[1]);
}

/* A table that isn't there, or is shorter than it was said to be. */
static void missing__test(void)
{
	struct as_mapping m = { .table = 9, .chunk_cnt = 5 };
	struct table t = {};
	struct unwind_row row = { .off = 100, .rule = 3 };

	host__reset();
	CHECK_EQ(rows__search(&m, 100), AS_RULE_GAP);
	if (vec__push(&t.rows.rows, row))
		abort();
	table__upload(&t, 0);
	m.table = 1;
	m.chunk_cnt = 3000;
	for (u64 off = 0; off < 1 << 20; off += 999)
		CHECK_EQ(rows__search(&m, off), AS_RULE_GAP);
	table__fini(&t);
}

int main(void)
{
	host__reset();
	libc__test();
	made__test(1, 1, 1);
	made__test(AS_CHUNK_ROWS, 1, 1);
	made__test(AS_CHUNK_ROWS + 1, 1, 2);
	made__test(3 * AS_CHUNK_ROWS, 63, 3);
	made__test(AS_CHUNK_ROWS, 0xffff, AS_CHUNK_ROWS);
	made__test(AS_CHUNK_ROWS + 1, 0xffff, AS_CHUNK_ROWS + 1);
	made__test(2 * AS_CHUNK_ROWS + 7, 0xffff, 2 * AS_CHUNK_ROWS + 7);
	made__test(AS_INDEX_PAGES * AS_CHUNK_ROWS, 0xffff, AS_INDEX_PAGES * AS_CHUNK_ROWS);
	two__test();
	missing__test();
	host__reset();
	return check__done();
}
