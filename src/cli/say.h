/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words on standard error: `allocsnoop: what: why`, then `hint: what to do`. They often quote names
 * that belong to traced programs, so control characters never get through.
 */
#ifndef CLI_SAY_H
#define CLI_SAY_H

void say__line(const char *text);		     /* allocsnoop: text */
void say__error(const char *what, const char *hint); /* and hint: hint, unless it is "" */
void say__hint(const char *hint);
void say__failure(void); /* the words of base/err.h */
void say__library(void); /* the library's words for its last failure */

#endif
