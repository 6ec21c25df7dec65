/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a profile that is being written: strings, functions, mappings and locations get a
 * number when they are first named and are written at once, before what names them.
 */
#ifndef PPROF_OUT_H
#define PPROF_OUT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "pprof/gz.h"
#include "pprof/pprof.h"

struct out_module {
	s64 path, build_id;		       /* strings */
	u64 end;			       /* above the greatest offset */
	bool functions, files, lines, inlines; /* some frame has */
};

/* What a frame of the profile is in the tables. */
struct out_frame {
	u64 function;
	u32 module;   /* 1...; 0: none */
	bool apart;   /* its offset or its file has no place in the address space */
	u64 hash;     /* of all that is told of it */
	u64 alone[2]; /* its location as a leaf and as a caller when nothing is inlined; 0: none yet
		       */
};

/* Errors are kept in `err`; after one nothing is written and numbers mean nothing. */
struct out {
	struct gz_out gz;
	int err;
	u8 *buf; /* a packed message */
	size_t buf_size;
	struct arena arena;   /* clean strings */
	struct map pointers;  /* string of the profile -> its number */
	struct map texts;     /* string of the arena -> its number */
	struct map functions; /* hash -> number */
	struct map by_name;   /* hash of a path and a build id -> module */
	struct map by_frame;  /* struct allocsnoop_frame * -> index of its out_frame */
	struct map locations; /* hash -> number */
	u64 string_cnt, function_cnt, location_cnt;
	VEC(struct out_module) modules;
	VEC(struct out_frame) frames;
	struct out_frame none; /* where there was no memory for one */
	VEC(Pb__Line) lines;   /* of one location */
	VEC(Pb__Line *) line_list;
	VEC(u64) stack; /* locations */
	struct str clean;
};

/* Begins the stream with the empty string. */
void out__open(struct out *o, FILE *stream);
/* 0 or the first error. */
int out__finish(struct out *o);
void out__close(struct out *o);

/* Writes a piece of the profile. */
void out__emit(struct out *o, const Pb__Profile *piece);

/* The number of a string that lives as long as `o`, or of one that doesn't; cleaned. NULL is "". */
s64 out__string(struct out *o, const char *text);
s64 out__text(struct out *o, const char *text);

/* Fills o->stack with the locations of these frames. */
void out__stack(struct out *o, const struct allocsnoop_frame *const *frames, size_t cnt);

/* Writes the mappings, the one of this file first. */
void out__mappings(struct out *o, const char *main_path);

#endif
