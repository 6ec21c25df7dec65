/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocator functions of the world, one row each: which argument is the size, the count, the
 * old block. The order matters where several names share one address: the first row names the
 * site, so the C and C++ standards' names come before any family's own.
 *
 * What is no row, and why:
 *   strdup, asprintf, getline ...      call malloc themselves
 *   malloc_usable_size, nallocx ...    make no block
 *   mi_strdup, mi_realpath, GC_strdup  their size isn't known at entry; the calls they make count
 *   GC_malloc_many                     makes a list of blocks whose number isn't known at entry
 *   mi_reallocarr, reallocarr          take the address of the old pointer; they call reallocarray
 *   smallocx_<commit>                  jemalloc's experiment, its name changes with every commit
 *   __rust_alloc                       ends in malloc, or in a row of the crate's allocator
 */
#include <pthread.h>
#include <string.h>

#include "target/catalog.h"

#define LIBC	 "glibc/musl"
#define CXX	 "C++"
#define JEMALLOC "jemalloc"
#define GPERF	 "gperftools"
#define TCMALLOC "tcmalloc"
#define MIMALLOC "mimalloc"
#define SNMALLOC "snmalloc"
#define RPMALLOC "rpmalloc"
#define BOEHM	 "Boehm GC"
#define SCUDO	 "scudo"
#define GO	 "Go"

/*
 * The rest of a row after its name and family, by signature; numbers are argument positions. The
 * last field is `ends`, to which a row may append one of these.
 */
#define COLLECTED		   | ENDS_COLLECTED
#define IN_PLACE		   | ENDS_IN_PLACE
#define FREES_OLD		   | ENDS_OLD_ALWAYS
#define ALLOC(size)		   ROLE_ALLOC, size, 0, 0, 0, 0, false, false, 0, 0
#define CALLOC(count, size)	   ROLE_ALLOC, size, count, 0, 0, 0, false, false, 0, 0
#define ALIGNED(align, size)	   ROLE_ALLOC, size, 0, 0, align, 0, false, false, 0, 0
#define CALIGNED(count, size, al)  ROLE_ALLOC, size, count, 0, al, 0, false, false, 0, 0
#define MEMALIGN(out, align, size) ROLE_ALLOC, size, 0, 0, align, out, false, false, 0, 0
#define REALLOC(ptr, size)	   ROLE_REALLOC, size, 0, ptr, 0, 0, false, false, 0, 0
#define RECALLOC(ptr, count, size) ROLE_REALLOC, size, count, ptr, 0, 0, false, false, 0, 0
#define REALIGN(ptr, size, align)  ROLE_REALLOC, size, 0, ptr, align, 0, false, false, 0, 0
#define RECALIGN(ptr, count, size, align) \
	ROLE_REALLOC, size, count, ptr, align, 0, false, false, 0, 0
#define FREE(ptr)		 ROLE_FREE, 0, 0, ptr, 0, 0, false, false, 0, 0
#define NEW(size, align)	 ROLE_ALLOC, size, 0, 0, align, 0, true, true, 0, 0
#define NEW_NOTHROW(size, align) ROLE_ALLOC, size, 0, 0, align, 0, true, false, 0, 0
#define DELETE			 ROLE_FREE, 0, 0, 1, 0, 0, true, false, 0, 0

/* Without memory these leave by an exception. */
#define T_ALLOC(size)		     ROLE_ALLOC, size, 0, 0, 0, 0, false, true, 0, 0
#define T_CALLOC(count, size)	     ROLE_ALLOC, size, count, 0, 0, 0, false, true, 0, 0
#define T_ALIGNED(align, size)	     ROLE_ALLOC, size, 0, 0, align, 0, false, true, 0, 0
#define T_REALLOC(ptr, size)	     ROLE_REALLOC, size, 0, ptr, 0, 0, false, true, 0, 0
#define T_RECALLOC(ptr, count, size) ROLE_REALLOC, size, count, ptr, 0, 0, false, true, 0, 0

/* The C interface that most allocators offer under a prefix. */
#define C_API(p, family)                                                             \
	{ p "malloc", family, ALLOC(1) }, { p "calloc", family, CALLOC(1, 2) },      \
		{ p "realloc", family, REALLOC(1, 2) },                              \
		{ p "reallocarray", family, RECALLOC(1, 2, 3) },                     \
		{ p "aligned_alloc", family, ALIGNED(1, 2) },                        \
		{ p "memalign", family, ALIGNED(1, 2) },                             \
		{ p "posix_memalign", family, MEMALIGN(1, 2, 3) },                   \
		{ p "valloc", family, ALLOC(1) }, { p "pvalloc", family, ALLOC(1) }, \
		{ p "free", family, FREE(1) }, { p "cfree", family, FREE(1) },       \
		{ p "free_sized", family, FREE(1) },                                 \
	{                                                                            \
		p "free_aligned_sized", family, FREE(1)                              \
	}

/* jemalloc's own: flags come last. xallocx resizes in place and returns the size it reached. */
#define JEMALLOC_API(p)                                                                \
	{ p "mallocx", JEMALLOC, ALLOC(1) }, { p "rallocx", JEMALLOC, REALLOC(1, 2) }, \
		{ p "xallocx", JEMALLOC, REALLOC(1, 2) IN_PLACE },                     \
		{ p "dallocx", JEMALLOC, FREE(1) },                                    \
	{                                                                              \
		p "sdallocx", JEMALLOC, FREE(1)                                        \
	}

/* Itanium ABI 5.1.5: operator new, new[] with their nothrow and aligned forms. */
#define CXX_NEW(name)                                                                      \
	{ name, CXX, NEW(1, 0) }, { name "RKSt9nothrow_t", CXX, NEW_NOTHROW(1, 0) },       \
		{ name "St11align_val_t", CXX, NEW(1, 2) },                                \
		{ name "St11align_val_tRKSt9nothrow_t", CXX, NEW_NOTHROW(1, 2) },          \
		{ name "12__hot_cold_t", CXX, NEW(1, 0) },                                 \
		{ name "RKSt9nothrow_t12__hot_cold_t", CXX, NEW_NOTHROW(1, 0) },           \
		{ name "St11align_val_t12__hot_cold_t", CXX, NEW(1, 2) },                  \
	{                                                                                  \
		name "St11align_val_tRKSt9nothrow_t12__hot_cold_t", CXX, NEW_NOTHROW(1, 2) \
	}

#define CXX_DELETE(name)                                                                           \
	{ name, CXX, DELETE }, { name "m", CXX, DELETE }, { name "RKSt9nothrow_t", CXX, DELETE },  \
		{ name "St11align_val_t", CXX, DELETE }, { name "mSt11align_val_t", CXX, DELETE }, \
	{                                                                                          \
		name "St11align_val_tRKSt9nothrow_t", CXX, DELETE                                  \
	}

#define TC_NEW(name)                                                       \
	{ name, GPERF, T_ALLOC(1) }, { name "_nothrow", GPERF, ALLOC(1) }, \
		{ name "_aligned", GPERF, T_ALIGNED(2, 1) },               \
	{                                                                  \
		name "_aligned_nothrow", GPERF, ALIGNED(2, 1)              \
	}

#define TC_DELETE(name)                                                                 \
	{ name, GPERF, FREE(1) }, { name "_nothrow", GPERF, FREE(1) },                  \
		{ name "_sized", GPERF, FREE(1) }, { name "_aligned", GPERF, FREE(1) }, \
		{ name "_aligned_nothrow", GPERF, FREE(1) },                            \
	{                                                                               \
		name "_sized_aligned", GPERF, FREE(1)                                   \
	}

#define TCI_NEW(name)                                                           \
	{ name, TCMALLOC, T_ALLOC(1) }, { name "Nothrow", TCMALLOC, ALLOC(1) }, \
		{ name "Aligned", TCMALLOC, T_ALIGNED(2, 1) },                  \
	{                                                                       \
		name "AlignedNothrow", TCMALLOC, ALIGNED(2, 1)                  \
	}

#define TCI_DELETE(name)                                                                    \
	{ name, TCMALLOC, FREE(1) }, { name "Nothrow", TCMALLOC, FREE(1) },                 \
		{ name "Sized", TCMALLOC, FREE(1) }, { name "Aligned", TCMALLOC, FREE(1) }, \
		{ name "AlignedNothrow", TCMALLOC, FREE(1) },                               \
	{                                                                                   \
		name "SizedAligned", TCMALLOC, FREE(1)                                      \
	}

/* Both words of the result come back in registers: no hidden argument shifts the others. */
#define SIZE_RETURNING_NEW(name)                                                 \
	{ name, TCMALLOC, T_ALLOC(1) }, { name "_nothrow", TCMALLOC, ALLOC(1) }, \
		{ name "_hot_cold", TCMALLOC, T_ALLOC(1) },                      \
		{ name "_hot_cold_nothrow", TCMALLOC, ALLOC(1) },                \
		{ name "_aligned", TCMALLOC, T_ALIGNED(2, 1) },                  \
		{ name "_aligned_nothrow", TCMALLOC, ALIGNED(2, 1) },            \
		{ name "_aligned_hot_cold", TCMALLOC, T_ALIGNED(2, 1) },         \
	{                                                                        \
		name "_aligned_hot_cold_nothrow", TCMALLOC, ALIGNED(2, 1)        \
	}

/* mimalloc's functions with (n == 1) and without (n == 0) a heap as first argument. */
#define MI_API(p, n)                                                                          \
	{ p "zalloc", MIMALLOC, ALLOC(n + 1) }, { p "malloc_small", MIMALLOC, ALLOC(n + 1) }, \
		{ p "zalloc_small", MIMALLOC, ALLOC(n + 1) },                                 \
		{ p "mallocn", MIMALLOC, CALLOC(n + 1, n + 2) },                              \
		{ p "reallocn", MIMALLOC, RECALLOC(n + 1, n + 2, n + 3) },                    \
		{ p "reallocf", MIMALLOC, REALLOC(n + 1, n + 2) FREES_OLD },                  \
		{ p "rezalloc", MIMALLOC, REALLOC(n + 1, n + 2) },                            \
		{ p "recalloc", MIMALLOC, RECALLOC(n + 1, n + 2, n + 3) },                    \
		{ p "malloc_aligned", MIMALLOC, ALIGNED(n + 2, n + 1) },                      \
		{ p "malloc_aligned_at", MIMALLOC, ALIGNED(n + 2, n + 1) },                   \
		{ p "zalloc_aligned", MIMALLOC, ALIGNED(n + 2, n + 1) },                      \
		{ p "zalloc_aligned_at", MIMALLOC, ALIGNED(n + 2, n + 1) },                   \
		{ p "calloc_aligned", MIMALLOC, CALIGNED(n + 1, n + 2, n + 3) },              \
		{ p "calloc_aligned_at", MIMALLOC, CALIGNED(n + 1, n + 2, n + 3) },           \
		{ p "realloc_aligned", MIMALLOC, REALIGN(n + 1, n + 2, n + 3) },              \
		{ p "realloc_aligned_at", MIMALLOC, REALIGN(n + 1, n + 2, n + 3) },           \
		{ p "rezalloc_aligned", MIMALLOC, REALIGN(n + 1, n + 2, n + 3) },             \
		{ p "rezalloc_aligned_at", MIMALLOC, REALIGN(n + 1, n + 2, n + 3) },          \
		{ p "recalloc_aligned", MIMALLOC, RECALIGN(n + 1, n + 2, n + 3, n + 4) },     \
	{                                                                                     \
		p "recalloc_aligned_at", MIMALLOC, RECALIGN(n + 1, n + 2, n + 3, n + 4)       \
	}

/*
 * Go: every allocation goes through runtime.mallocgc(size, type, zeroed), and since 1.27 (1.26 by
 * GOEXPERIMENT) from compiled code straight to the one of its size class, up to 512 bytes; where
 * one calls the other, it counts once (cmd/compile/internal/ssa, runtime/malloc_generated.go).
 */
#define GO_ALLOC(name)                                    \
	{                                                 \
		name, GO, ALLOC(CATALOG_ARG_GO) COLLECTED \
	}
#define GO_CLASSES(p)                                                                        \
	GO_ALLOC(p "1"), GO_ALLOC(p "2"), GO_ALLOC(p "3"), GO_ALLOC(p "4"), GO_ALLOC(p "5"), \
		GO_ALLOC(p "6"), GO_ALLOC(p "7"), GO_ALLOC(p "8"), GO_ALLOC(p "9"),          \
		GO_ALLOC(p "10"), GO_ALLOC(p "11"), GO_ALLOC(p "12"), GO_ALLOC(p "13"),      \
		GO_ALLOC(p "14"), GO_ALLOC(p "15"), GO_ALLOC(p "16"), GO_ALLOC(p "17"),      \
		GO_ALLOC(p "18"), GO_ALLOC(p "19"), GO_ALLOC(p "20"), GO_ALLOC(p "21"),      \
		GO_ALLOC(p "22"), GO_ALLOC(p "23"), GO_ALLOC(p "24"), GO_ALLOC(p "25"),      \
		GO_ALLOC(p "26")

/* clang-format off */
const struct catalog_row catalog[] = {
	C_API("", LIBC),
	{ "reallocf", LIBC, REALLOC(1, 2) FREES_OLD },
	CXX_NEW("_Znwm"), CXX_NEW("_Znam"),
	CXX_DELETE("_ZdlPv"), CXX_DELETE("_ZdaPv"),
	C_API("__libc_", LIBC),
	{ "__posix_memalign", LIBC, MEMALIGN(1, 2, 3) },

	JEMALLOC_API(""),
	C_API("je_", JEMALLOC), JEMALLOC_API("je_"),
	C_API("_rjem_", JEMALLOC), JEMALLOC_API("_rjem_"),

	C_API("tc_", GPERF),
	{ "tc_malloc_skip_new_handler", GPERF, ALLOC(1) },
	TC_NEW("tc_new"), TC_NEW("tc_newarray"),
	TC_DELETE("tc_delete"), TC_DELETE("tc_deletearray"),

	{ "TCMallocInternalMalloc", TCMALLOC, ALLOC(1) },
	{ "TCMallocInternalCalloc", TCMALLOC, CALLOC(1, 2) },
	{ "TCMallocInternalRealloc", TCMALLOC, REALLOC(1, 2) },
	{ "TCMallocInternalReallocArray", TCMALLOC, RECALLOC(1, 2, 3) },
	{ "TCMallocInternalMemalign", TCMALLOC, ALIGNED(1, 2) },
	{ "TCMallocInternalAlignedAlloc", TCMALLOC, ALIGNED(1, 2) },
	{ "TCMallocInternalPosixMemalign", TCMALLOC, MEMALIGN(1, 2, 3) },
	{ "TCMallocInternalValloc", TCMALLOC, ALLOC(1) },
	{ "TCMallocInternalPvalloc", TCMALLOC, ALLOC(1) },
	{ "TCMallocInternalAllocAtLeast", TCMALLOC, ALLOC(1) },
	{ "TCMallocInternalAlignedAllocAtLeast", TCMALLOC, ALIGNED(1, 2) },
	{ "TCMallocInternalFree", TCMALLOC, FREE(1) },
	{ "TCMallocInternalFreeSized", TCMALLOC, FREE(1) },
	{ "TCMallocInternalFreeAlignedSized", TCMALLOC, FREE(1) },
	{ "TCMallocInternalCfree", TCMALLOC, FREE(1) },
	{ "TCMallocInternalSdallocx", TCMALLOC, FREE(1) },
	TCI_NEW("TCMallocInternalNew"), TCI_NEW("TCMallocInternalNewArray"),
	TCI_DELETE("TCMallocInternalDelete"), TCI_DELETE("TCMallocInternalDeleteArray"),
	SIZE_RETURNING_NEW("size_returning_operator_new"),
	SIZE_RETURNING_NEW("tcmalloc_size_returning_operator_new"),
	SIZE_RETURNING_NEW("__size_returning_new"),

	{ "mi_malloc", MIMALLOC, ALLOC(1) },
	{ "mi_calloc", MIMALLOC, CALLOC(1, 2) },
	{ "mi_realloc", MIMALLOC, REALLOC(1, 2) },
	{ "mi_expand", MIMALLOC, REALLOC(1, 2) },
	{ "mi_reallocarray", MIMALLOC, RECALLOC(1, 2, 3) },
	{ "mi_aligned_alloc", MIMALLOC, ALIGNED(1, 2) },
	{ "mi_memalign", MIMALLOC, ALIGNED(1, 2) },
	{ "mi_posix_memalign", MIMALLOC, MEMALIGN(1, 2, 3) },
	{ "mi_valloc", MIMALLOC, ALLOC(1) },
	{ "mi_pvalloc", MIMALLOC, ALLOC(1) },
	MI_API("mi_", 0),
	{ "mi_aligned_recalloc", MIMALLOC, RECALIGN(1, 2, 3, 4) },
	{ "mi_aligned_offset_recalloc", MIMALLOC, RECALIGN(1, 2, 3, 4) },
	{ "mi_heap_malloc", MIMALLOC, ALLOC(2) },
	{ "mi_heap_calloc", MIMALLOC, CALLOC(2, 3) },
	{ "mi_heap_realloc", MIMALLOC, REALLOC(2, 3) },
	MI_API("mi_heap_", 1),
	{ "mi_new", MIMALLOC, T_ALLOC(1) },
	{ "mi_new_nothrow", MIMALLOC, ALLOC(1) },
	{ "mi_new_aligned", MIMALLOC, T_ALIGNED(2, 1) },
	{ "mi_new_aligned_nothrow", MIMALLOC, ALIGNED(2, 1) },
	{ "mi_new_n", MIMALLOC, T_CALLOC(1, 2) },
	{ "mi_new_realloc", MIMALLOC, T_REALLOC(1, 2) },
	{ "mi_new_reallocn", MIMALLOC, T_RECALLOC(1, 2, 3) },
	{ "mi_heap_alloc_new", MIMALLOC, T_ALLOC(2) },
	{ "mi_heap_alloc_new_n", MIMALLOC, T_CALLOC(2, 3) },
	{ "mi_free", MIMALLOC, FREE(1) },
	{ "mi_cfree", MIMALLOC, FREE(1) },
	{ "mi_free_size", MIMALLOC, FREE(1) },
	{ "mi_free_aligned", MIMALLOC, FREE(1) },
	{ "mi_free_size_aligned", MIMALLOC, FREE(1) },

	/* The Rust crate's entries take the alignment first. */
	C_API("sn_", SNMALLOC),
	{ "sn_rust_alloc", SNMALLOC, ALIGNED(1, 2) },
	{ "sn_rust_alloc_zeroed", SNMALLOC, ALIGNED(1, 2) },
	{ "sn_rust_realloc", SNMALLOC, REALIGN(1, 4, 2) },
	{ "sn_rust_dealloc", SNMALLOC, FREE(1) },

	{ "rpmalloc", RPMALLOC, ALLOC(1) },
	{ "rpzalloc", RPMALLOC, ALLOC(1) },
	{ "rpcalloc", RPMALLOC, CALLOC(1, 2) },
	{ "rprealloc", RPMALLOC, REALLOC(1, 2) },
	{ "rpaligned_realloc", RPMALLOC, REALIGN(1, 3, 2) },
	{ "rpaligned_alloc", RPMALLOC, ALIGNED(1, 2) },
	{ "rpaligned_zalloc", RPMALLOC, ALIGNED(1, 2) },
	{ "rpaligned_calloc", RPMALLOC, CALIGNED(2, 3, 1) },
	{ "rpmemalign", RPMALLOC, ALIGNED(1, 2) },
	{ "rpposix_memalign", RPMALLOC, MEMALIGN(1, 2, 3) },
	{ "rpfree", RPMALLOC, FREE(1) },
	{ "rpmalloc_heap_alloc", RPMALLOC, ALLOC(2) },
	{ "rpmalloc_heap_calloc", RPMALLOC, CALLOC(2, 3) },
	{ "rpmalloc_heap_aligned_alloc", RPMALLOC, ALIGNED(2, 3) },
	{ "rpmalloc_heap_aligned_calloc", RPMALLOC, CALIGNED(3, 4, 2) },
	{ "rpmalloc_heap_realloc", RPMALLOC, REALLOC(2, 3) },
	{ "rpmalloc_heap_aligned_realloc", RPMALLOC, REALIGN(2, 4, 3) },
	{ "rpmalloc_heap_free", RPMALLOC, FREE(2) },

	/*
	 * The collector ends its blocks, unseen. What is uncollectable lives until GC_free(). A kind
	 * given as an argument may be either, and GC_realloc() keeps the old block's: both count as
	 * collected, since a block too few beats a leak that is none.
	 */
	{ "GC_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_atomic", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_uncollectable", BOEHM, ALLOC(1) },
	{ "GC_malloc_atomic_uncollectable", BOEHM, ALLOC(1) },
	{ "GC_malloc_stubborn", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_atomic_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_kind", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_kind_global", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_explicitly_typed", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_malloc_explicitly_typed_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_calloc_explicitly_typed", BOEHM, CALLOC(1, 2) COLLECTED },
	{ "GC_generic_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_generic_malloc_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_generic_malloc_uncollectable", BOEHM, ALLOC(1) },
	{ "GC_generic_or_special_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_gcj_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_gcj_malloc_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_finalized_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_realloc", BOEHM, REALLOC(1, 2) COLLECTED },
	{ "GC_memalign", BOEHM, ALIGNED(1, 2) COLLECTED },
	{ "GC_posix_memalign", BOEHM, MEMALIGN(1, 2, 3) COLLECTED },
	{ "GC_valloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_pvalloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_malloc_atomic", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_malloc_uncollectable", BOEHM, ALLOC(1) },
	{ "GC_debug_malloc_atomic_uncollectable", BOEHM, ALLOC(1) },
	{ "GC_debug_malloc_stubborn", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_malloc_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_malloc_atomic_ignore_off_page", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_malloc_replacement", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_generic_or_special_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_gcj_malloc", BOEHM, ALLOC(1) COLLECTED },
	{ "GC_debug_realloc", BOEHM, REALLOC(1, 2) COLLECTED },
	{ "GC_debug_realloc_replacement", BOEHM, REALLOC(1, 2) COLLECTED },
	{ "GC_free", BOEHM, FREE(1) },
	{ "GC_debug_free", BOEHM, FREE(1) },

	C_API("scudo_", SCUDO),

	GO_ALLOC("runtime.mallocgc"),
	GO_CLASSES("runtime.mallocgcTinySC"),
	GO_CLASSES("runtime.mallocgcSmallNoScanSC"),
	GO_CLASSES("runtime.mallocgcSmallScanNoHeaderSC"),
};
/* clang-format on */

const size_t catalog_cnt = ARRAY_SIZE(catalog);

/*
 * Every symbol of every file is asked for (100,000 in a large one), and nearly none is a row. A
 * hash of length, head and tail rejects most without reading the rest of the name.
 */
#define SLOT_CNT 4096 /* power of two, about 16 times the rows */
_Static_assert(ARRAY_SIZE(catalog) * 8 < SLOT_CNT, "long probe chains");

#define NAME_MIN 4 /* "free" */
#define NAME_MAX 63

static u16 slots[SLOT_CNT]; /* row + 1; 0 empty. Written once, then only read */
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

static u32 name_hash(const char *name, size_t len)
{
	u32 head, tail;

	memcpy(&head, name, 4);
	memcpy(&tail, name + len - 4, 4);
	return (((head * 0x9e3779b1u) ^ tail) * 0x85ebca6bu + (u32)len * 0x27d4eb2fu) >> 16;
}

static void slots_fill(void)
{
	for (size_t i = 0; i < catalog_cnt; i++) {
		u32 h = name_hash(catalog[i].symbol, strlen(catalog[i].symbol));

		while (slots[h % SLOT_CNT])
			h++;
		slots[h % SLOT_CNT] = (u16)(i + 1);
	}
}

const struct catalog_row *catalog__find(const char *symbol)
{
	size_t len = strnlen(symbol, NAME_MAX + 1);

	if (len < NAME_MIN || len > NAME_MAX)
		return NULL;
	pthread_once(&slots_once, slots_fill);
	for (u32 h = name_hash(symbol, len); slots[h % SLOT_CNT]; h++) {
		const struct catalog_row *row = &catalog[slots[h % SLOT_CNT] - 1];

		if (!strcmp(row->symbol, symbol))
			return row;
	}
	return NULL;
}
