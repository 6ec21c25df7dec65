/* SPDX-License-Identifier: BSD-2-Clause */
/* Guards that close short-lived things when they go out of scope. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void fd__closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void free__p(void *p)
{
	free(*(void **)p);
}

static inline void file__closep(FILE **f)
{
	if (*f)
		fclose(*f);
}

#endif
