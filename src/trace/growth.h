/* SPDX-License-Identifier: BSD-2-Clause */
/* -e mmap, brk and fault: which programs, where they hook, and what their numbers are called. */
#ifndef TRACE_GROWTH_H
#define TRACE_GROWTH_H

#include "trace/files.h"
#include "trace/kernel.h"

/* Has the programs loaded that k->trace asks for, and sets their knobs. */
void growth__choose(struct kernel *k);

/* 0 or -errno, with words. */
int growth__attach(struct kernel *k);

/* "mmap", "brk": the site of an AS_GROWTH_* number, which has no file. NULL: no such number. */
const struct traced_site *growth__site(u32 number);

#endif
