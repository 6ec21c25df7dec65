/* SPDX-License-Identifier: BSD-2-Clause */
/* The dynamic section as the loader reads it (PT_DYNAMIC, not section headers). */
#ifndef TARGET_RELOC_H
#define TARGET_RELOC_H

struct text;

/* Fills slots, stored and soname; what is damaged is left out. 0 or -ENOMEM. */
int reloc__read(struct text *t);

#endif
