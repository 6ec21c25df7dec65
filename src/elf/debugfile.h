/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The separate debug file of a stripped file, where distributions put it: by build id, or by the
 * name and checksum in .gnu_debuglink. It is trusted only after it was checked: the path may lead
 * to anything, and the file system is shared with whoever is being traced.
 */
#ifndef ELF_DEBUGFILE_H
#define ELF_DEBUGFILE_H

#include "base/types.h"

struct elf_image;

#define ELF_DEBUG_ROOT "/usr/lib/debug"

/*
 * Looks below debug_root (normally ELF_DEBUG_ROOT) and beside the file. path is where img's file is
 * found in our mount namespace; NULL or a wrong one only loses the debuglink places. 0 with an open
 * *fd that the caller closes, or -ENOENT when there is none that fits: normal, not an error to
 * show.
 */
int elf_debugfile__open(const struct elf_image *img, const char *path, const char *debug_root,
			int *fd);

#endif
