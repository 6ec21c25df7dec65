/* SPDX-License-Identifier: BSD-2-Clause */
/* What keeps a session bounded for as long as it runs: what is over is given up, in good order. */
#ifndef TRACE_TIDY_H
#define TRACE_TIDY_H

struct session;

/* Asked about once a second, with the lock held; mostly there is nothing to do. What fails is tried
 * again. */
void session__tidy(struct session *s);

#endif
