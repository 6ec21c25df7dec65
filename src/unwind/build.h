/* SPDX-License-Identifier: BSD-2-Clause */
/* From FDEs in the order of the section to a table's rows, sorted and without overlap. */
#ifndef UNWIND_BUILD_H
#define UNWIND_BUILD_H

#include "unwind/cfi.h"
#include "unwind/table.h"
#include "unwind/text.h"

/* Sorts cfi->fdes and turns their addresses into file offsets on the way. 0, -ENOMEM or -E2BIG. */
int unwind_table__build(struct unwind_table *t, struct cfi *cfi, const struct unwind_text *text);

#endif
