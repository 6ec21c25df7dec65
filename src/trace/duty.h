/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates from windows (--max-overhead). Time is cut into slots; each has one window at a random
 * place, in which all is counted. A window of a slot that is w times as long stands for w of its
 * kind. But a traced program is slower, so time is a bad measure of what a window has seen: that is
 * the program's progress, its CPU time c less l, what the probes took. Without them it would have
 * come c / (c - l) times as far, and so would its hits. So a row's number is
 *
 *	N = P * sum(w h) / sum(w c),  h = hits * c / (c - l)
 *
 * with the hits of the row in a window, c and l of the row's group (the processes of one name), and
 * P the group's progress over all the time: the combined ratio estimator (Cochran, Sampling
 * Techniques, 6.11). Its variance comes from what the windows differ by: the sum of
 * w (w - 1) (h - R c)^2, with R = sum(w h) / sum(w c).
 *
 * Pure: no clock, no kernel.
 */
#ifndef TRACE_DUTY_H
#define TRACE_DUTY_H

#include <stdbool.h>

#include "abi.h"
#include "base/map.h"
#include "base/types.h"
#include "base/vec.h"
#include "trace/sampler.h"

/* Weighted sums over the windows, for a row or a whole group. */
struct duty_sums {
	double cnt, bytes;	     /* w h */
	double cnt_raw, bytes_raw;   /* w hits */
	double cnt_lost, bytes_lost; /* w hits l / c */
	double cnt_off, bytes_off;   /* w h l / (c - l): how h moves with the cost of a hit */
	double cnt_cnt, bytes_bytes; /* w (w - 1) h h */
	double cnt_c, bytes_c;	     /* w (w - 1) h c */
	double cnt_var, bytes_var;   /* w * the variance of h, where only some calls were kept */
};

/* Names that are told apart; all others are one group. */
#define DUTY_GROUPS_MAX 4096

struct duty_row {
	u32 at;			/* the recording's row, until the window is settled */
	bool joined;		/* nothing but a place in duty.touched */
	u32 group;		/* in duty.groups, once settled */
	u64 seen;		/* samples behind it */
	u64 now_cnt, now_bytes; /* of the window that isn't settled yet */
	struct duty_sums sums;
};

struct duty_group {
	struct as_group_key key;
	double cpu, lost;	  /* ns, over all the time that isn't counted exactly */
	double now_cpu, now_lost; /* of the window that isn't settled yet */
	struct estimate now;
	double seen;	 /* progress in windows, unweighted */
	double seen_cpu; /* CPU time in windows, unweighted */
	double w_cpu;	 /* w c */
	double c_c;	 /* w (w - 1) c c */
	u32 windows;	 /* in which it did anything */
	struct duty_sums sums;
};

struct duty {
	VEC(struct duty_group) groups;
	struct map group_at;		/* hash of the name -> index */
	VEC(struct duty_row *) touched; /* rows of the window that isn't settled yet */
	u64 windows;
	double open_ns; /* of all windows */
	double slot_ns; /* of all settled slots */
	double all_ns;	/* of time that isn't counted exactly */
	double error;	/* of what a hit costs, relative */
	bool staging;	/* what is drained belongs to a window */
};

/* What a row's hits in a window are: of which group, and, where only some were kept, an estimate.
 * Adds to *e. */
typedef u32 (*duty_row_fn)(void *arg, u32 row, u64 cnt, u64 bytes, struct estimate *e);

void duty__fini(struct duty *d);

/* Index of a group, made when it's new; -ENOMEM. */
int duty__group(struct duty *d, const struct as_group_key *key);

/* Hits of the recording's row number `at`, in a window. *row is what windows say of it, NULL:
 * nothing yet. 0 or -ENOMEM. */
int duty__stage(struct duty *d, struct duty_row **row, u32 at, u64 cnt, u64 bytes);

/* Two rows become one, *to; who joins rows numbers them anew (at). */
void duty_row__join(struct duty_row **to, struct duty_row *from);

/* The window is over, and its slot. (now_* of the groups are set.) */
void duty__settle(struct duty *d, double slot_ns, double open_ns, duty_row_fn fn, void *arg);

/* Adds what the windows say of a row. True: it is a lower bound, as too much was lost to know how
 * far the group has come. */
bool duty__row(const struct duty *d, const struct duty_row *row, struct estimate *e, u64 *seen);

/* Variances of the sum over all rows: rows of a group come and go together. True: as above, for any
 * group. */
bool duty__total(const struct duty *d, double *cnt_var, double *bytes_var);

/* Are those of the processes of this name? */
bool duty__names_at_least(const struct duty *d, const char *comm);

/* Is the group's number a lower bound? */
bool duty__is_at_least(const struct duty_group *g);

#endif
