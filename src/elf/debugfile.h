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

/*
 * A file that img's debugging information names (a split unit's): only a regular one, of root or of
 * the owner of img's file. Nothing but the name vouches for it yet. 0 or -ENOENT.
 */
int elf_debugfile__open_named(const struct elf_image *img, const char *path, int *fd);

/*
 * The supplementary file that dwz(1) made of parts that several files had (.gnu_debugaltlink), by
 * its build id: below debug_root, or where the name leads to from img's file. 0 or -ENOENT.
 */
int elf_debugfile__open_alt(const struct elf_image *img, const char *debug_root, int *fd);

#endif
