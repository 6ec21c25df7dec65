/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every executable file that a target maps: kept open while somebody maps it, searched for
 * allocators, given its unwind table; and the numbered sites of all of them. Of a file that was
 * let go (see release.h) its path and its sites stay, for as long as something recorded names them.
 * Unless it says otherwise a function here is called with the session's lock held.
 */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"
#include "target/site.h"
#include "trace/links.h"
#include "trace/opener.h"
#include "trace/tables.h"

struct kernel;

struct traced_file {
	u64 hash;	  /* the kernel's, see struct as_file_key */
	u64 number;	  /* of the opener */
	u64 size;	  /* bytes */
	int fd;		  /* -1: let go */
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
	struct links links;		/* probes in every process */
	u64 unmapped_ns;		/* seen to be mapped by nobody since then; 0: it is */
	bool pins; /* its file system could be unmounted, its space given back */
};

struct traced_site {
	struct traced_file *file; /* NULL: growth, no place in a file */
	const struct site *site;
};

struct site_numbers {
	u32 first;
	u32 cnt;
};

struct files {
	struct map by_hash;
	VEC(struct traced_file *) all;
	VEC(struct traced_site) sites; /* number n is [n - 1]; file NULL: free */
	VEC(struct site_numbers) free_numbers;
	struct tables tables;
	u64 file_32bit_cnt;	  /* 32-bit programs and libraries that processes have mapped */
	u64 ranges_cut_cnt;	  /* allocator text that was too scattered to be known whole */
	u64 jumps_lost_cnt;	  /* the kernel's table of jumps was full */
	struct probe_set *probes; /* the user's; NULL: none */
	u32 site_cnt;		  /* probed */
	bool live;
	bool probed; /* allocators are looked for, to be probed */
};

/* Of the kernel's options: with live functions that free are probed, too, and returns. */
int files__init(struct files *f, struct kernel *k, u64 table_bytes_max);
void files__fini(struct files *f);

/* A file of its own, which files__register() makes known to all; NULL: out of memory, and the
 * opened one is closed. Without the lock. */
struct traced_file *files__make(const struct opened_file *opened);

/*
 * Searches files for allocators, with as many threads as there are CPUs; with tables, makes their
 * unwind tables, too. By any thread, without the lock: nobody else may know the files yet.
 */
void files__read(struct files *f, struct traced_file **v, size_t cnt, bool tables);

/* The unwind table of a file that was read without. Likewise. */
void files__compile(struct files *f, struct traced_file *file);

/* Numbers the file's sites and tells the kernel what is known so far. 0 or -errno. */
int files__register(struct files *f, struct kernel *k, struct traced_file *file);

/* Gives the table to the kernel: walks needn't hope for more. */
int files__finish(struct files *f, struct kernel *k, struct traced_file *file);

/* The file is about to be let go: it has no places any more, nor anything else in the kernel that
 * goes by its hash and would be that of the same file, should it come again. Its links aren't among
 * that. */
void files__leave(struct files *f, struct kernel *k, struct traced_file *file);

/* After that, gives back all that only an open file needs, in the kernel, too. */
void files__let_go(struct files *f, struct kernel *k, struct traced_file *file);

/* Drops what remains of files that were let go, where `used` says that nothing names them. */
void files__drop(struct files *f, bool (*used)(void *arg, const struct traced_file *file),
		 void *arg);

/* By the kernel's hash; NULL unknown. */
struct traced_file *files__find(const struct files *f, u64 hash);

/* --live: may throw, so no return probe, and not all of its returns are known. */
bool site__is_unfollowed(const struct site *s);

const struct traced_site *files__site(const struct files *f, u32 number);

#endif
