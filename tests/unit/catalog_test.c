/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocator table: found by name, no name twice, and what can be said about each row. */
#include <stdlib.h>

#include "check.h"
#include "target/catalog.h"

static void every_row_is_found(void)
{
	for (size_t i = 0; i < catalog_cnt; i++) {
		const struct catalog_row *row = catalog__find(catalog[i].symbol);

		CHECK(row == &catalog[i]); /* also: no name twice */
		CHECK(strlen(catalog[i].symbol) < 64);
	}
}

static void rows_make_sense(void)
{
	for (size_t i = 0; i < catalog_cnt; i++) {
		const struct catalog_row *row = &catalog[i];
		u8 args[] = { row->size_arg, row->count_arg, row->ptr_arg, row->align_arg,
			      row->out_arg };

		CHECK((row->role == ROLE_FREE) == !row->size_arg);
		CHECK((row->role == ROLE_ALLOC) == !row->ptr_arg);
		CHECK(!row->cxx_new == (strncmp(row->symbol, "_Z", 2) != 0));
		for (size_t a = 0; a < ARRAY_SIZE(args); a++) {
			CHECK(args[a] <= 6 || (!a && args[a] == CATALOG_ARG_GO &&
					       !strncmp(row->symbol, "runtime.mallocgc", 16)));
			for (size_t b = a + 1; b < ARRAY_SIZE(args); b++)
				CHECK(!args[a] || args[a] != args[b]);
		}
	}
}

static void false_friends(void)
{
	static const char *const names[] = {
		"",
		"f",
		"fre",
		"mallo",
		"malloc_stats",
		"malloc2",
		"xmalloc",
		"Malloc",
		"_malloc",
		"strdup",
		"nallocx",
		"GC_malloc_many",
		"je_nallocx",
		"mi_strdup",
		"_Znw",
		"_ZnwmPv",
		"mallocx_",
		"malloc@V1",
		"free_list",
		"_ZdlPv_",
		"malloc_usable_size",
		"tcmalloc_size_returning_operator_new_aligned_hot_cold_nothrow_and_then_some",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK(!catalog__find(names[i]));
}

static void check_row(const char *name, u8 role, u8 size, u8 count, u8 ptr, u8 align, u8 out)
{
	const struct catalog_row *row = catalog__find(name);

	CHECK(row != NULL);
	if (!row)
		return;
	CHECK_EQ(row->role, role);
	CHECK_EQ(row->size_arg, size);
	CHECK_EQ(row->count_arg, count);
	CHECK_EQ(row->ptr_arg, ptr);
	CHECK_EQ(row->align_arg, align);
	CHECK_EQ(row->out_arg, out);
}

/* One of each shape, from the functions' manuals and headers. */
static void argument_positions(void)
{
	check_row("malloc", ROLE_ALLOC, 1, 0, 0, 0, 0);
	check_row("calloc", ROLE_ALLOC, 2, 1, 0, 0, 0);
	check_row("realloc", ROLE_REALLOC, 2, 0, 1, 0, 0);
	check_row("reallocarray", ROLE_REALLOC, 3, 2, 1, 0, 0);
	check_row("aligned_alloc", ROLE_ALLOC, 2, 0, 0, 1, 0);
	check_row("posix_memalign", ROLE_ALLOC, 3, 0, 0, 2, 1);
	check_row("__posix_memalign", ROLE_ALLOC, 3, 0, 0, 2, 1);
	check_row("__libc_memalign", ROLE_ALLOC, 2, 0, 0, 1, 0);
	check_row("free_aligned_sized", ROLE_FREE, 0, 0, 1, 0, 0);
	check_row("_rjem_rallocx", ROLE_REALLOC, 2, 0, 1, 0, 0);
	check_row("je_xallocx", ROLE_REALLOC, 2, 0, 1, 0, 0);
	check_row("tc_new_aligned", ROLE_ALLOC, 1, 0, 0, 2, 0);
	check_row("TCMallocInternalAlignedAlloc", ROLE_ALLOC, 2, 0, 0, 1, 0);
	check_row("mi_malloc_aligned", ROLE_ALLOC, 1, 0, 0, 2, 0);
	check_row("mi_aligned_alloc", ROLE_ALLOC, 2, 0, 0, 1, 0);
	check_row("mi_heap_malloc", ROLE_ALLOC, 2, 0, 0, 0, 0);
	check_row("mi_heap_recalloc_aligned_at", ROLE_REALLOC, 4, 3, 2, 5, 0);
	check_row("sn_rust_alloc", ROLE_ALLOC, 2, 0, 0, 1, 0);
	check_row("sn_rust_realloc", ROLE_REALLOC, 4, 0, 1, 2, 0);
	check_row("rpaligned_realloc", ROLE_REALLOC, 3, 0, 1, 2, 0);
	check_row("rpaligned_calloc", ROLE_ALLOC, 3, 2, 0, 1, 0);
	check_row("GC_calloc_explicitly_typed", ROLE_ALLOC, 2, 1, 0, 0, 0);
	check_row("runtime.mallocgc", ROLE_ALLOC, CATALOG_ARG_GO, 0, 0, 0, 0);
	check_row("_ZnamSt11align_val_tRKSt9nothrow_t", ROLE_ALLOC, 1, 0, 0, 2, 0);
}

/* Whose blocks end unseen: nobody calls GC_free() for them, and Go has no free. */
static void collected(void)
{
	static const struct {
		const char *symbol;
		bool collected;
	} rows[] = {
		{ "GC_malloc", true },
		{ "GC_malloc_atomic", true },
		{ "GC_realloc", true },
		{ "GC_debug_malloc", true },
		{ "GC_malloc_uncollectable", false },
		{ "GC_malloc_atomic_uncollectable", false },
		{ "GC_debug_malloc_uncollectable", false },
		{ "GC_free", false },
		{ "runtime.mallocgc", true },
		{ "runtime.mallocgcTinySC2", true },
		{ "runtime.mallocgcSmallScanNoHeaderSC26", true },
		{ "malloc", false },
		{ "_Znwm", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct catalog_row *row = catalog__find(rows[i].symbol);

		CHECK(row && !(row->ends & ENDS_COLLECTED) == !rows[i].collected);
	}
}

/* What becomes of the old block, other than with realloc. */
static void old_blocks(void)
{
	static const struct {
		const char *symbol;
		u8 ends;
	} rows[] = {
		{ "xallocx", ENDS_IN_PLACE },
		{ "je_xallocx", ENDS_IN_PLACE },
		{ "_rjem_xallocx", ENDS_IN_PLACE },
		{ "rallocx", 0 },
		{ "reallocf", ENDS_OLD_ALWAYS },
		{ "mi_reallocf", ENDS_OLD_ALWAYS },
		{ "mi_heap_reallocf", ENDS_OLD_ALWAYS },
		{ "realloc", 0 },
		{ "mi_realloc", 0 },
		{ "mi_expand", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct catalog_row *row = catalog__find(rows[i].symbol);

		CHECK(row && row->role == ROLE_REALLOC && row->ends == rows[i].ends);
	}
}

/* Only the C++ functions that don't promise otherwise in their names leave by an exception. */
static void who_throws(void)
{
	size_t cnt = 0;

	for (size_t i = 0; i < catalog_cnt; i++) {
		const struct catalog_row *row = &catalog[i];

		cnt += row->throws;
		CHECK(!row->throws || row->role != ROLE_FREE);
		CHECK(!row->throws || !strstr(row->symbol, "othrow"));
		CHECK(!row->throws || strstr(row->symbol, "new") || strstr(row->symbol, "New") ||
		      row->cxx_new);
		if (row->cxx_new && row->role != ROLE_FREE)
			CHECK(row->throws == !strstr(row->symbol, "nothrow"));
	}
	CHECK_EQ(cnt, 2 * 4 + 2 * 2 + 2 * 2 + 3 * 4 + 7); /* _Zn, tc_, TCMalloc, sized, mi_ */
	CHECK(!catalog__find("tc_malloc_skip_new_handler")->throws);
	CHECK(catalog__find("mi_new_reallocn")->throws);
	CHECK(catalog__find("tc_newarray_aligned")->throws);
	CHECK(catalog__find("TCMallocInternalNewAligned")->throws);
	CHECK(catalog__find("size_returning_operator_new_aligned_hot_cold")->throws);
}

/* What c++filt reads in the C++ names must agree with the row. */
static void mangled_names(void)
{
	char cmd[256], line[256];

	for (size_t i = 0; i < catalog_cnt; i++) {
		const struct catalog_row *row = &catalog[i];
		const char *want = row->role == ROLE_FREE ? "operator delete" : "operator new";
		FILE *p;

		if (!row->cxx_new)
			continue;
		snprintf(cmd, sizeof(cmd), "c++filt %s", row->symbol);
		p = popen(cmd, "r");
		if (!p || !fgets(line, sizeof(line), p))
			line[0] = '\0';
		if (p)
			pclose(p);
		CHECK(!strncmp(line, want, strlen(want)));
		if (row->role == ROLE_FREE)
			CHECK(strstr(line, "(void*") != NULL);
		else
			CHECK(strstr(line, "(unsigned long") != NULL);
		if (row->role == ROLE_ALLOC)
			CHECK_EQ(row->align_arg,
				 strstr(line, "(unsigned long, std::align_val_t") ? 2 : 0);
	}
}

int main(void)
{
	every_row_is_found();
	rows_make_sense();
	false_friends();
	argument_positions();
	collected();
	old_blocks();
	who_throws();
	mangled_names();
	return check__done();
}
