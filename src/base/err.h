/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last error of this thread: one line that says what failed and why, and one that says what
 * to do about it. The function that meets the error words it; callers pass the number on.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* Words the error (printf style, no newline), forgets an older hint and returns `err` (-errno). */
int err__fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The remedy for the error just worded; printed as `hint: ...`. */
void err__hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Never NULL; "" when there is none. Valid until this thread's next err__fail/err__hint. */
const char *err__msg(void);
const char *err__hint_msg(void);
void err__clear(void);

#endif
