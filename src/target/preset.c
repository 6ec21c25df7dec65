/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Well-known allocators above malloc, one row a function.
 *
 * What is no row, and why:
 *   pfree, ngx_pfree             most blocks end with their pool, so those of a row couldn't be
 * told live from freed: rows of pools are not followed apr_pstrdup, pstrdup ...     their size is
 * not an argument; they call a row _PyObject_GC_New             the size is in the type; it calls
 * PyObject_Malloc PyMem_Raw*                   malloc by another name, and where PyObject_Malloc
 * gets large blocks
 */
#include "target/probe.h"

#define ALLOC(size)	   ROLE_ALLOC, size, 0, 0, 0, 0, false, false, 0, 0
#define POOL(size)	   ROLE_ALLOC, size, 0, 0, 0, 0, false, false, 0, ENDS_COLLECTED
#define POOL_REALLOC(p, s) ROLE_REALLOC, s, 0, p, 0, 0, false, false, 0, ENDS_COLLECTED
#define CALLOC(n, s)	   ROLE_ALLOC, s, n, 0, 0, 0, false, false, 0, 0
#define REALLOC(p, s)	   ROLE_REALLOC, s, 0, p, 0, 0, false, false, 0, 0
#define FREE(p)		   ROLE_FREE, 0, 0, p, 0, 0, false, false, 0, 0

#define POSTGRES "PostgreSQL"
#define NGINX	 "nginx"
#define APR	 "APR"
#define CPYTHON	 "CPython"

/* clang-format off */
static const struct catalog_row postgres[] = {
	{ "palloc", POSTGRES, POOL(1) },
	{ "palloc0", POSTGRES, POOL(1) },
	{ "palloc_extended", POSTGRES, POOL(1) },
	{ "palloc_aligned", POSTGRES, POOL(1) },
	{ "MemoryContextAlloc", POSTGRES, POOL(2) },
	{ "MemoryContextAllocZero", POSTGRES, POOL(2) },
	{ "MemoryContextAllocZeroAligned", POSTGRES, POOL(2) },
	{ "MemoryContextAllocExtended", POSTGRES, POOL(2) },
	{ "MemoryContextAllocHuge", POSTGRES, POOL(2) },
	{ "MemoryContextAllocAligned", POSTGRES, POOL(2) },
	{ "repalloc", POSTGRES, POOL_REALLOC(1, 2) },
	{ "repalloc_extended", POSTGRES, POOL_REALLOC(1, 2) },
	{ "repalloc_huge", POSTGRES, POOL_REALLOC(1, 2) },
	{ "repalloc0", POSTGRES, POOL_REALLOC(1, 3) },
};

static const struct catalog_row nginx[] = {
	{ "ngx_palloc", NGINX, POOL(2) },
	{ "ngx_pnalloc", NGINX, POOL(2) },
	{ "ngx_pcalloc", NGINX, POOL(2) },
	{ "ngx_pmemalign", NGINX, POOL(2) },
	{ "ngx_alloc", NGINX, POOL(1) },
	{ "ngx_calloc", NGINX, POOL(1) },
	{ "ngx_slab_alloc", NGINX, POOL(2) },
	{ "ngx_slab_calloc", NGINX, POOL(2) },
	{ "ngx_slab_alloc_locked", NGINX, POOL(2) },
	{ "ngx_slab_calloc_locked", NGINX, POOL(2) },
};

static const struct catalog_row apr[] = {
	{ "apr_palloc", APR, POOL(2) },
	{ "apr_palloc_debug", APR, POOL(2) },
	{ "apr_pcalloc", APR, POOL(2) },
	{ "apr_pcalloc_debug", APR, POOL(2) },
	{ "apr_pmemdup", APR, POOL(3) },
	{ "apr_bucket_alloc", APR, POOL(1) },
};

static const struct catalog_row cpython[] = {
	{ "PyObject_Malloc", CPYTHON, ALLOC(1) },
	{ "PyObject_Calloc", CPYTHON, CALLOC(1, 2) },
	{ "PyObject_Realloc", CPYTHON, REALLOC(1, 2) },
	{ "PyObject_Free", CPYTHON, FREE(1) },
	{ "PyMem_Malloc", CPYTHON, ALLOC(1) },
	{ "PyMem_Calloc", CPYTHON, CALLOC(1, 2) },
	{ "PyMem_Realloc", CPYTHON, REALLOC(1, 2) },
	{ "PyMem_Free", CPYTHON, FREE(1) },
};

const struct probe_preset probe_presets[] = {
	{ "postgres", POSTGRES, "PostgreSQL's memory contexts", postgres, ARRAY_SIZE(postgres), NULL, 0, NULL },
	{ "nginx", NGINX, "nginx' pools and slabs", nginx, ARRAY_SIZE(nginx), NULL, 0, NULL },
	{ "apr", APR, "pools of the Apache Portable Runtime", apr, ARRAY_SIZE(apr), NULL, 0, NULL },
	{ "cpython", CPYTHON, "CPython's object allocator", cpython, ARRAY_SIZE(cpython),
	  "PyObject_Malloc", 64,
	  "most calls are inlined in this interpreter, and can't be seen: run it with "
	  "PYTHONMALLOC=malloc and without --probe" },
	{},
};
/* clang-format on */
