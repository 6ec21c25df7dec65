/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables in the kernel: compiled once per content, copied into maps by mmap. Files whose
 * unwinding input is the same to the byte (containers' copies of libc) share one table.
 */
#ifndef TRACE_TABLES_H
#define TRACE_TABLES_H

#include <pthread.h>

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"
#include "unwind/rule.h"

struct kernel;
struct elf_image;

/* What one or more files unwind by. */
struct table {
	u64 id[2]; /* unwind_input__id() */
	bool compiled;
	union as_page *pages; /* our own until the kernel has them, then its memory; NULL: no room
				 there */
	u32 page_cnt;	      /* 0: no rows */
	u32 chunk_cnt;
	u32 slot;	/* + 1, in the kernel's `tables`; 0: not there */
	bool too_large; /* for what was left of the limit */
	u32 user_cnt;	/* files that unwind by it; 0: it's kept for the next one */
	u64 idle_since; /* orders those without users */
};

struct tables {
	struct unwind_rules rules;
	u64 key[2]; /* of the ids: secret, so that no file can be made to have another's */
	pthread_mutex_t lock; /* of the following three, and of each table until it's compiled */
	pthread_cond_t compiled;
	struct map by_id; /* id[0] -> struct table * */
	VEC(struct table *) all;
	VEC(struct table *) placed; /* by slot; NULL free */
	VEC(u32) free_slots;
	VEC(u32) stale_slots; /* free, but the kernel may still remember rules found there */
	u64 idle_cnt;	      /* tables without users */
	u64 idle_bytes;	      /* of them, in the kernel */
	u64 idle_clock;
	struct as_rule *mapped; /* the kernel's copy */
	u32 uploaded;		/* rules copied so far */
	u64 bytes;		/* of row memory in the kernel; a shared table counts once */
	u64 bytes_max;
	u64 over_cnt; /* files left without a table: the limit was reached */
};

int tables__init(struct tables *t, struct kernel *k, u64 bytes_max);
void tables__fini(struct tables *t);

/*
 * The table of a file, compiled now unless another file has the same (or another thread is
 * compiling it). *table is borrowed, and NULL when the file can't be unwound: no error. By any
 * thread, in parallel.
 */
void tables__compile(struct tables *t, const struct elf_image *img, struct table **table);

/*
 * Gives the table to the kernel if it hasn't it yet; fills f->table, and chunk_cnt. No rows or no
 * room: f->table stays 0, which is no error. By one thread only. 0 or -errno.
 */
int tables__place(struct tables *t, struct kernel *k, struct table *table, struct as_file *f);

/* A file doesn't unwind by it any more. It's kept for a while, for the file may come again. */
void tables__release(struct tables *t, struct kernel *k, struct table *table);

#endif
