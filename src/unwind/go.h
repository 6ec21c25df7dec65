/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows of Go functions, from the table that the Go runtime unwinds by: Go programs have no
 * .eh_frame, and stripped ones no .debug_frame.
 */
#ifndef UNWIND_GO_H
#define UNWIND_GO_H

#include "elf/gopclntab.h"
#include "unwind/cfi.h"

/* Adds an FDE for each Go function; none where there is no table. 0, -ENOMEM or -E2BIG. */
int unwind_go__add(struct cfi *cfi, const struct gopclntab *table);

#endif
