/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines of recorded places, found once and kept for as long as something recorded names
 * their file. One file's debugging information is open at a time, while its new places are looked
 * up: it takes many times the file's size. Part of lib.c's glue.
 */
#ifndef LINES_H
#define LINES_H

#include "base/map.h"
#include "symbol/line.h"

struct lines {
	bool on;
	struct map files; /* file hash -> struct file_lines * */
	u64 cut_cnt;	  /* files whose look-up gave up */
};

/* What is to be looked up: the place of a struct as_frame, and what of the file it stands for. */
struct line_wanted {
	u64 place;
	u64 off;
	bool is_return_address;
};

struct line_frames {
	const struct source_frame *v; /* as of line_file__find() */
	u32 cnt;
};

void lines__fini(struct lines *l);

/* Looks up those of an open file. 0 or -ENOMEM. */
int lines__find(struct lines *l, u64 hash, int fd, const char *path,
		const struct line_wanted *wanted, size_t cnt);

/* NULL: not looked up. */
const struct line_frames *lines__at(const struct lines *l, u64 hash, u64 place);

void lines__forget(struct lines *l, u64 hash);

#endif
