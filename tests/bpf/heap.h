/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation calls of the process on the stage, from entry to return, and frees; and the sums that
 * user space would read. */
#ifndef TESTS_BPF_HEAP_H
#define TESTS_BPF_HEAP_H

#include "stage.h"

#define SP (STACK_HIGH - 0x400)
#define RA app__ip(0x100)

#define LAYER_1 (1ull << AS_COOKIE_LAYER_SHIFT)

enum {
	MALLOC = 1,
	REALLOC,
	POSIX,
	XALLOCX,
	REALLOCF,
	COLLECTED,
	GC_REALLOC,
	NEW,
	NEW_REALLOC,
	FREE,
	POOL, /* of layer 1, as the next ones */
	POOL_NEW,
	POOL_FREE,
	SITE_END
};

static const u64 cookies[SITE_END] = {
	[MALLOC] = COOKIE(MALLOC) | COOKIE_SIZE_ARG(1),
	[REALLOC] = COOKIE(REALLOC) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2),
	[POSIX] = COOKIE(POSIX) | COOKIE_ALIGN_ARG(2) | COOKIE_SIZE_ARG(3) | AS_SITE_POSIX |
		  1ull << 26,
	[XALLOCX] = COOKIE(XALLOCX) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_RESIZES,
	[REALLOCF] = COOKIE(REALLOCF) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_FREES_OLD,
	[COLLECTED] = COOKIE(COLLECTED) | COOKIE_SIZE_ARG(1) | AS_SITE_UNFOLLOWED,
	[GC_REALLOC] =
		COOKIE(GC_REALLOC) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_UNFOLLOWED,
	[NEW] = COOKIE(NEW) | COOKIE_SIZE_ARG(1) | AS_SITE_EXITS,
	[NEW_REALLOC] =
		COOKIE(NEW_REALLOC) | COOKIE_OLD_ARG(1) | COOKIE_SIZE_ARG(2) | AS_SITE_EXITS,
	[FREE] = COOKIE(FREE) | COOKIE_OLD_ARG(1),
	[POOL] = COOKIE(POOL) | COOKIE_SIZE_ARG(1) | LAYER_1,
	[POOL_NEW] = COOKIE(POOL_NEW) | COOKIE_SIZE_ARG(1) | AS_SITE_EXITS | LAYER_1,
	[POOL_FREE] = COOKIE(POOL_FREE) | COOKIE_OLD_ARG(1) | LAYER_1,
};

static inline void scene__init(u32 buckets_cnt)
{
	stage__init();
	stage__set_word(SP, RA);
	as_live = as_live_exact = 1;
	as_live_row_max = host_map__of(&live_rows)->max = 1024;
	host_map__of(&live_row_at)->max = host_map__of(&free_rows)->max = 1024;
	host_map__of(&free_heaps)->max = 16;
	as_heap_max = host_map__of(&heaps)->max = host_map__of(&heap_at)->max = 16;
	host_map__of(&buckets)->max = buckets_cnt;
	host_map__of(&spilled)->max = buckets_cnt;
	as_bucket_mask = buckets_cnt - 1;
	host.now = 1000;
}

/* The entry of a call; true when its return is probed. */
static inline bool enter_at(u32 site, u64 sp, u64 a, u64 b, u64 c)
{
	struct pt_regs regs = {
		.ip = ALLOC_TEXT + site * 0x100, .sp = sp, .di = a, .si = b, .dx = c
	};

	host.cookie = cookies[site];
	host.is_return = false;
	return !allocsnoop_session(&regs);
}

/* The return of a call of this site. */
static inline void leave_of(u32 site, u64 sp, u64 result)
{
	struct pt_regs regs = { .ip = RA, .sp = sp + 8, .ax = result };

	host.cookie = cookies[site];
	host.is_return = true;
	allocsnoop_session(&regs);
}

static inline void leave_at(u64 sp, u64 result)
{
	leave_of(MALLOC, sp, result);
}

static inline bool call(u32 site, u64 a, u64 b, u64 result)
{
	bool probed = enter_at(site, SP, a, b, 0);

	if (probed)
		leave_at(SP, result);
	return probed;
}

/* The instruction by which a function that may throw returns. */
static inline void exit_at(u64 sp, u64 result)
{
	struct pt_regs regs = { .ip = ALLOC_TEXT + NEW * 0x100 + 0x40, .sp = sp, .ax = result };

	allocsnoop_exitm(&regs);
}

static inline void free_by(u32 site, u64 addr)
{
	struct pt_regs regs = { .ip = ALLOC_TEXT + site * 0x100, .sp = SP, .di = addr };

	host.cookie = cookies[site];
	allocsnoop_freem(&regs);
}

static inline void free_of(u64 addr)
{
	free_by(FREE, addr);
}

/* ---- what user space reads ---- */

struct sums {
	u64 alloc_cnt, alloc_bytes, live_cnt, live_bytes, freed_cnt, freed_bytes, untracked_cnt,
		temporary_cnt, peak_cnt, peak_bytes;
};

static inline struct as_live_row *row__at(u32 i)
{
	return host_map__lookup(host_map__of(&live_rows), &i);
}

static inline struct as_heap *heap__at(u32 i)
{
	return host_map__lookup(host_map__of(&heaps), &i);
}

/* Over the rows of a site (0: all). */
static inline struct sums sums__of(u32 site)
{
	struct sums s = {};

	for (u32 i = 0; i < live_row_cnt; i++) {
		const struct as_live_row *r = row__at(i);
		const struct as_heap *h = heap__at(r->heap);
		bool unchanged = r->peak_of != h->peak_bytes;
		u64 cnt = r->alloc_cnt - r->freed_cnt - r->untracked_cnt;
		u64 bytes = r->alloc_bytes - r->freed_bytes - r->untracked_bytes;

		if (site && r->key.site != site)
			continue;
		s.alloc_cnt += r->alloc_cnt;
		s.alloc_bytes += r->alloc_bytes;
		s.freed_cnt += r->freed_cnt;
		s.freed_bytes += r->freed_bytes;
		s.untracked_cnt += r->untracked_cnt;
		s.temporary_cnt += r->temporary_cnt;
		s.live_cnt += cnt;
		s.live_bytes += bytes;
		s.peak_cnt += unchanged ? cnt : r->peak_cnt;
		s.peak_bytes += unchanged ? bytes : r->peak_bytes;
	}
	return s;
}

static inline u64 unknown_frees(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < heap_cnt; i++)
		sum += heap__at(i)->unknown_frees;
	return sum;
}

#endif
