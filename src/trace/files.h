/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every executable file that a target maps: opened at first sight and kept open (so that names
 * survive deletion and exit), searched for allocators, given its unwind table; and the numbered
 * sites of all of them.
 */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"
#include "target/site.h"
#include "trace/links.h"
#include "trace/tables.h"

struct kernel;

struct traced_file {
	u64 hash; /* the kernel's, see struct as_file_key */
	int fd;
	char *path;	  /* as we see it; " (deleted)" cut off */
	char fd_path[32]; /* /proc/self/fd/N: names the inode itself to the kernel */
	bool has_interp;  /* dynamic executable: its allocator comes with its libraries */
	bool is_elf;
	bool is_32bit;
	bool told;	      /* "no allocator symbols" was said */
	struct table *table;  /* what its frames unwind by; of files.tables, NULL none */
	struct as_file known; /* what the kernel was told of it */
	struct site_file sites;
	VEC(struct probe_place) places; /* what is probed; empty: no allocator here */
	u32 first_site;			/* number of sites.sites.v[0] */
};

struct traced_site {
	struct traced_file *file; /* NULL: growth, no place in a file */
	const struct site *site;
};

struct files {
	struct map by_hash;
	VEC(struct traced_file *) all;
	size_t studied_cnt;	       /* of all */
	VEC(struct traced_site) sites; /* number n is [n - 1] */
	struct tables tables;
	u64 file_32bit_cnt;	  /* 32-bit programs and libraries that processes have mapped */
	u64 ranges_cut_cnt;	  /* allocator text that was too scattered to be known whole */
	u64 gone_cnt;		  /* mapped, but gone before it could be opened */
	struct probe_set *probes; /* the user's; NULL: none */
	u32 site_cnt;		  /* probed */
	bool live;
	bool probed; /* allocators are looked for, to be probed */
};

/* Of the kernel's options: with live functions that free are probed, too, and returns. */
int files__init(struct files *f, struct kernel *k, u64 table_bytes_max);
void files__fini(struct files *f);

/* The file of a mapping, opened when it's new: files__study() will make it known. *file is NULL
 * when it's gone or out of memory. 0 or -ENOMEM. */
int files__see(struct files *f, struct kernel *k, const struct as_map_event *ev,
	       struct traced_file **file);

/*
 * Searches all new files for allocators and gives them their unwind tables, with as many threads as
 * there are CPUs. They are f->all.v[*first_new] to the last. The first error of any, -errno.
 */
int files__study(struct files *f, struct kernel *k, size_t *first_new);

/* By the kernel's hash; NULL unknown. */
struct traced_file *files__find(const struct files *f, u64 hash);

/* --live: may throw, so no return probe, and not all of its returns are known. */
bool site__is_unfollowed(const struct site *s);

const struct traced_site *files__site(const struct files *f, u32 number);

#endif
