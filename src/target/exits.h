/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every instruction at which a call of a function returns. Probes there see what a return probe
 * sees, without a changed return address on the stack, which no exception may pass.
 */
#ifndef TARGET_EXITS_H
#define TARGET_EXITS_H

#include "base/types.h"
#include "base/vec.h"

struct walk;

typedef VEC(u64) exit_offs; /* file offsets, each once */

/*
 * Of the function at `off`, `size` bytes long (0 unknown), and of all that it jumps on to, whose
 * returns other callers meet, too: who asks whether a return is this call's compares the stack
 * pointer with the call's. Leaves `exits` empty where not all can be known: an indirect jump, one
 * to another file, bytes that are no code. 0 or -ENOMEM.
 */
int exits__find(exit_offs *exits, struct walk *w, u64 off, u64 size);

#endif
