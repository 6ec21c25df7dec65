/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines: finds the files that have them, and asks src/dwarf. See the header. */
#include "symbol/line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "elf/debugfile.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "symbol/resolve.h"

/* For one file, all that belongs to it included: some 2 s. 15 MB of .debug_info need a hundredth.
 */
#define STEPS_MAX 200000000ull
#define BYTES_MIN (64ull << 20)
#define BYTES_MAX (1ull << 30)
#define DWO_MAX	  65536u /* files of split units */

struct line_file {
	struct elf_image img; /* of the file itself; owns its descriptor */
	char *path;
	struct dwarf_budget budget;
	struct dwarf_file *dwarf; /* NULL: has none */
	struct dwarf_file *alt;
	struct dwarf_file *package; /* .dwp; NULL none */
	bool package_tried;
	VEC(struct dwarf_file *) dwos;
	struct gopclntab go; /* where there is no DWARF */
};

/* Only want of memory is an error; all else is a file without lines. */
static int only_memory(int err)
{
	return err == -ENOMEM ? err : 0;
}

/* ---- open ---- */

static int file__open_alt(struct line_file *f, const char *debug_root)
{
	int fd, err;

	if (elf_debugfile__open_alt(&f->dwarf->img, debug_root, &fd))
		return 0;
	err = dwarf_file__open(&f->alt, fd, false, &f->budget);
	if (!err)
		err = dwarf_file__read_units(f->alt);
	f->dwarf->alt = f->alt;
	return only_memory(err);
}

/* In the file itself, else in its debug file. */
static int file__open_dwarf(struct line_file *f, const char *debug_root)
{
	int fd = fcntl(f->img.fd, F_DUPFD_CLOEXEC, 3), err;

	err = fd < 0 ? -errno : dwarf_file__open(&f->dwarf, fd, false, &f->budget);
	if (err && err != -ENOMEM && !elf_debugfile__open(&f->img, f->path, debug_root, &fd))
		err = dwarf_file__open(&f->dwarf, fd, false, &f->budget);
	if (!err)
		err = dwarf_file__read_units(f->dwarf);
	if (!err)
		err = dwarf_file__index(f->dwarf);
	if (!err)
		err = file__open_alt(f, debug_root);
	return only_memory(err);
}

int line_file__open(struct line_file **out, int fd, const char *path, const char *debug_root,
		    u64 share)
{
	struct line_file *f = calloc(1, sizeof(*f));
	int err = -ENOMEM, own;

	if (!f)
		return -ENOMEM;
	f->img.fd = -1;
	f->budget = (struct dwarf_budget){
		.steps = STEPS_MAX / share,
		.bytes = BYTES_MIN,
		.bytes_more = BYTES_MAX - BYTES_MIN,
	};
	f->path = strdup(path);
	own = f->path ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (!f->path)
		goto fail;
	err = own < 0 ? -errno : elf_image__open(&f->img, own);
	if (err) {
		if (own >= 0)
			close(own);
		f->img.fd = -1;
	}
	if (!err)
		err = file__open_dwarf(f, debug_root);
	if (!err && !(f->dwarf && f->dwarf->ranges.cnt))
		err = gopclntab__open(&f->go, &f->img);
	if (err == -ENOMEM)
		goto fail;
	*out = f;
	return 0;
fail:
	line_file__close(f);
	return err;
}

void line_file__close(struct line_file *f)
{
	int fd;

	if (!f)
		return;
	for (size_t i = 0; i < f->dwos.cnt; i++)
		dwarf_file__close(f->dwos.v[i]);
	vec__free(&f->dwos);
	dwarf_file__close(f->package);
	dwarf_file__close(f->dwarf);
	dwarf_file__close(f->alt);
	gopclntab__close(&f->go);
	fd = f->img.fd;
	elf_image__close(&f->img);
	if (fd >= 0)
		close(fd);
	free(f->path);
	free(f);
}

bool line_file__gave_up(const struct line_file *f)
{
	return f->budget.spent;
}

/* ---- split units ---- */

static int file__open_dwo(struct line_file *f, const char *path, struct dwarf_file **dwo)
{
	int fd, err;

	if (elf_debugfile__open_named(&f->img, path, &fd))
		return -ENOENT;
	err = dwarf_file__open(dwo, fd, true, &f->budget);
	if (!err)
		err = dwarf_file__read_units(*dwo);
	return err;
}

/* The package of all split units, beside the program. */
static int file__open_package(struct line_file *f)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s.dwp", f->path);

	f->package_tried = true;
	if (len < 0 || (size_t)len >= sizeof(path))
		return 0;
	return only_memory(file__open_dwo(f, path, &f->package));
}

/* Where the compiler has put the file. */
static int file__dwo_path(struct dwarf_unit *u, char path[PATH_MAX])
{
	struct arena scratch = {};
	const char *dir, *name;
	int len = -1;
	int err = dwarf_value__string(u, &u->root.v[ATTR_DWO_NAME], &scratch, &name);

	if (!err)
		err = dwarf_value__string(u, &u->root.v[ATTR_COMP_DIR], &scratch, &dir);
	if (!err && name)
		len = snprintf(path, PATH_MAX, "%s%s%s", *name == '/' || !dir ? "" : dir,
			       *name == '/' || !dir ? "" : "/", name);
	arena__free(&scratch);
	if (err)
		return err;
	return len > 0 && len < PATH_MAX && path[0] == '/' ? 0 : -EINVAL;
}

static int file__find_split(struct line_file *f, struct dwarf_unit *u)
{
	struct dwarf_file *dwo = NULL;
	char path[PATH_MAX];
	int err = 0;

	u->split_tried = true;
	if (!f->package_tried)
		err = file__open_package(f);
	if (!err && f->package && !dwarf_unit__join(u, f->package))
		return 0;
	if (!err)
		err = f->dwos.cnt < DWO_MAX ? file__dwo_path(u, path) : -E2BIG;
	if (!err)
		err = file__open_dwo(f, path, &dwo);
	if (!err)
		err = dwarf_unit__join(u, dwo);
	if (!err)
		err = vec__push(&f->dwos, dwo);
	if (err) {
		u->split = NULL;
		dwarf_file__close(dwo);
	}
	return only_memory(err);
}

/* The unit with the functions: the skeleton has none, or (clang) only what is inlined. */
static int file__functions_of(struct line_file *f, struct dwarf_unit *u, struct dwarf_unit **out)
{
	int err = dwarf_unit__load(u);

	*out = u;
	if (!err && u->dwo_id && u->root.v[ATTR_DWO_NAME].form && !u->split_tried)
		err = file__find_split(f, u);
	if (!err && u->split && !dwarf_unit__read_functions(u->split))
		*out = u->split;
	return err ? err : dwarf_unit__read_functions(*out);
}

/* ---- look-up ---- */

static int frame__set_name(struct source_frame *to, struct dwarf_unit *u, u64 die,
			   struct arena *arena)
{
	struct arena scratch = {};
	const char *raw = NULL;
	int err = dwarf_unit__function_name(u, die, &scratch, &raw);

	to->function = "[inlined]";
	if (!err && raw && *raw) {
		to->function = arena__intern(arena, symbol__demangle(&scratch, raw));
		if (!to->function)
			err = -ENOMEM;
		else if (strcmp(to->function, raw)) {
			/* Cleaned, too: symbol tables have no rules. */
			struct str clean = {};

			str__add_utf8(&clean, raw, strlen(raw), true);
			to->mangled = clean.oom ? NULL : arena__intern(arena, clean.s);
			err = to->mangled ? 0 : -ENOMEM;
			str__free(&clean);
		}
	}
	arena__free(&scratch);
	return only_memory(err);
}

/* A numbered file of the unit's lines. */
static int frame__set_line(struct source_frame *to, struct dwarf_unit *lines, u64 file, u32 line,
			   struct arena *arena)
{
	to->line = line;
	return only_memory(dwarf_unit__path(lines, file, arena, &to->file));
}

/* Each frame's line is where it calls the one before; the innermost's is that of the address. */
static int file__make_frames(struct dwarf_unit *u, struct dwarf_unit *lines, u64 pc,
			     struct arena *arena, const struct source_frame **frames, u32 *cnt)
{
	const struct dwarf_function *chain[DWARF_CHAIN_MAX];
	u32 n = u->functions ? dwarf_unit__chain(u, pc, chain) : 0;
	struct source_frame *v = arena__alloc(arena, MAX(n, 1u) * sizeof(*v));
	u64 file;
	u32 line;
	int err = 0;

	if (!v)
		return -ENOMEM;
	if (lines->lines && dwarf_unit__line(lines, pc, &file, &line))
		err = frame__set_line(&v[0], lines, file, line, arena);
	for (u32 i = 0; i + 1 < n && !err; i++) {
		err = frame__set_name(&v[i], u, chain[i]->die, arena);
		if (!err && lines->lines)
			err = frame__set_line(&v[i + 1], lines, chain[i]->call_file,
					      chain[i]->call_line, arena);
	}
	*frames = v;
	*cnt = n > 1 || v[0].file ? MAX(n, 1u) : 0;
	return err;
}

static int file__find_go(struct line_file *f, u64 pc, struct arena *arena,
			 const struct source_frame **frames, u32 *cnt)
{
	struct source_frame *v;
	struct str clean = {};
	const char *path;
	size_t len;
	u32 line;

	if (!f->go.section || !gopclntab__line(&f->go, pc, &path, &len, &line))
		return 0;
	v = arena__alloc(arena, sizeof(*v));
	str__add_utf8(&clean, path, len, true);
	if (v && !clean.oom) {
		v->line = line;
		v->file = arena__intern(arena, clean.s);
	}
	str__free(&clean);
	if (!v || !v->file)
		return -ENOMEM;
	*frames = v;
	*cnt = 1;
	return 0;
}

int line_file__find(struct line_file *f, u64 offset, bool is_return_address, struct arena *arena,
		    const struct source_frame **frames, u32 *cnt)
{
	struct dwarf_unit *u, *functions;
	u64 pc;
	int err;

	*cnt = 0;
	if (f->img.fd < 0 ||
	    !elf_image__off_to_vaddr(&f->img, offset - (is_return_address && offset), &pc))
		return 0;
	u = f->dwarf ? dwarf_file__unit_at_pc(f->dwarf, pc) : NULL;
	if (!u)
		return file__find_go(f, pc, arena, frames, cnt);
	err = file__functions_of(f, u, &functions);
	if (err != -ENOMEM)
		err = only_memory(dwarf_unit__read_lines(u));
	return err ? err : file__make_frames(functions, u, pc, arena, frames, cnt);
}
