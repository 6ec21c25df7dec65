/* SPDX-License-Identifier: BSD-2-Clause */
/* The dynamic section as the loader reads it (PT_DYNAMIC, not section headers). */
#ifndef TARGET_RELOC_H
#define TARGET_RELOC_H

struct probe_set;
struct text;

/* Fills slots, stored, soname and may_throw; what is damaged is left out. 0 or -ENOMEM. */
int reloc__read(struct text *t, const struct probe_set *probes);

#endif
