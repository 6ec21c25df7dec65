/* SPDX-License-Identifier: BSD-2-Clause */
/* --live: makes room in the table of live blocks by taking out those of processes that are over. */
#ifndef TRACE_SWEEP_H
#define TRACE_SWEEP_H

#include "trace/session.h"

/* Sweeps when that is worth it; cheap to ask. The sums of rows stay: what an ended process had is
 * told from them. Without memory nothing is done: a table that fills up is a loss that is counted.
 */
void session__sweep(struct session *s);

#endif
