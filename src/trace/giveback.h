/* SPDX-License-Identifier: BSD-2-Clause */
/* --live: gives rows and heaps of images that are over back to the kernel. */
#ifndef TRACE_GIVEBACK_H
#define TRACE_GIVEBACK_H

struct session;

/* Does so when the kernel has few left; cheap to ask, a few times a second (and no more often: see
 * giveback.c). With the lock held. */
void session__give_back(struct session *s);

#endif
