/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening what a traced program names: it may be anything. */
#ifndef BASE_REGULAR_H
#define BASE_REGULAR_H

/* A descriptor to read a regular file by; of anything else -EINVAL, and it isn't opened even for a
 * moment: that can rewind a tape, arm a watchdog or wake whoever waits at a FIFO. Or -errno. */
int regular__open(const char *path);

#endif
