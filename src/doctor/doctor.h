/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What works on this machine, with these rights: one row a feature. Each is tried, not concluded
 * from a version; what can't be told is said to be unknown.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdio.h>

#include "base/types.h"
#include "base/vec.h"
#include "trace/features.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_SLOWER,	/* works, at a cost */
	DOCTOR_LIMITED, /* works in part */
	DOCTOR_MISSING,
	DOCTOR_UNKNOWN, /* can't be told with these rights */
};

enum doctor_need {
	DOCTOR_MAIN,   /* no tracing without it */
	DOCTOR_OPTION, /* an option needs it */
	DOCTOR_NICE,   /* cheaper or better with it */
};

struct doctor_row {
	const char *name;
	const char *option; /* DOCTOR_OPTION: which one; else NULL */
	enum doctor_need need;
	enum doctor_state state;
	char text[400];	  /* what it means */
	char remedy[400]; /* "" when there is nothing to do */
};

/* A child with known allocations, traced as any other process. */
struct doctor_trial {
	struct feature opened;	/* our programs and tables */
	struct feature counted; /* the probes and hooks */
	u64 wanted_cnt, wanted_bytes;
	u64 cnt, bytes;
	u64 wanted_freed, freed; /* --live */
	u64 losses;
	u32 site_cnt;	 /* probe places, all of the child's allocator */
	bool whole;	 /* all its stacks lead to the first frame */
	u32 fd_cnt;	 /* descriptors that programs and tables take */
	u64 table_bytes; /* kernel memory that they take */
	u64 syscall_ns;	 /* what tracing adds to every system call of the machine */
};

struct doctor {
	VEC(struct doctor_row) rows;
	bool oom;
	bool root; /* else nothing of the kernel can be tried */
	struct features features;
	struct doctor_trial plain, live;
};

/* Adds a row. `remedy` may be "". The text is printf's. */
void doctor__add(struct doctor *d, const struct doctor_row *row, const char *remedy,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

void doctor__add_unknown(struct doctor *d, const struct doctor_row *row);

void doctor__system(struct doctor *d); /* system.c: rights, limits, surroundings */
void doctor__kernel(struct doctor *d); /* kernel.c: what was tried */
void doctor_trial__run(struct doctor_trial *t, bool live);

/* write.c. 0, or the stream's error. */
int doctor__text(const struct doctor *d, FILE *out);
int doctor__json(const struct doctor *d, FILE *out);

/* Can the main job run? */
bool doctor__able(const struct doctor *d);

/* Examines this machine and writes what was found; format: text, json. 0, -EPERM or -ENOTSUP (the
 * main job can't run, with the words in base/err.h), -EINVAL, -ENOMEM, or the stream's error. */
int doctor__examine(const char *format, FILE *out);

#endif
