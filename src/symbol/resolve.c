/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for (file, offset). A file waits with its descriptor until its first name is asked for;
 * then its symbols are read once and the descriptor is closed. Most files of a machine never reach
 * a report, so most are never read; but only so many may wait, and then the oldest are read early.
 */
#include "symbol/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/debugfile.h"
#include "elf/image.h"
#include "elf/symtab.h"

#define WAITING_MAX 256

struct symbol_file {
	int fd;		  /* -1 once the index has been read */
	const char *path; /* as mapped, without " (deleted)" */
	const char *build_id;
	struct elf_symtab symtab;
	const char **functions; /* demangled names by symbol index, made when asked for */
	struct map unnamed;	/* offset -> "basename+0x..." */
	struct arena arena;	/* of all strings */
};

struct resolver {
	VEC(struct symbol_file *) files;
	size_t oldest; /* files before this one have been read */
	size_t waiting_cnt;
};

int resolver__new(struct resolver **r)
{
	*r = calloc(1, sizeof(**r));
	return *r ? 0 : err__fail(-ENOMEM, "out of memory");
}

static void file__free(struct symbol_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	elf_symtab__free(&file->symtab);
	free(file->functions);
	map__free(&file->unnamed);
	arena__free(&file->arena);
	free(file);
}

void resolver__free(struct resolver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->files.cnt; i++)
		file__free(r->files.v[i]);
	vec__free(&r->files);
	free(r);
}

/* A file that carries its own .symtab needs no other. */
static bool is_stripped(const struct elf_image *img)
{
	for (u32 i = 0; i < img->shdr_cnt; i++)
		if (img->shdrs[i].sh_type == SHT_SYMTAB)
			return false;
	return true;
}

static int read_symbols(struct symbol_file *file, const struct elf_image *img)
{
	CLEANUP(fd__closep) int fd = -1;
	struct elf_image debug;
	int err;

	if (!is_stripped(img) || elf_debugfile__open(img, file->path, ELF_DEBUG_ROOT, &fd) ||
	    elf_image__open(&debug, fd))
		return elf_symtab__read(&file->symtab, img);
	err = elf_symtab__read_with_debug(&file->symtab, img, &debug);
	elf_image__close(&debug);
	return err;
}

static int read_build_id(struct symbol_file *file, const struct elf_image *img)
{
	char hex[2 * sizeof(img->build_id) + 1];

	for (u32 i = 0; i < img->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", img->build_id[i]);
	if (!img->build_id_size)
		return 0;
	file->build_id = arena__strdup(&file->arena, hex);
	return file->build_id ? 0 : -ENOMEM;
}

/* A file that isn't ELF or is damaged has no names, which is normal. 0 or -ENOMEM. */
static int file__read(struct resolver *r, struct symbol_file *file)
{
	struct elf_image img;
	int err;

	if (file->fd < 0)
		return 0;
	err = elf_image__open(&img, file->fd);
	if (!err) {
		err = read_build_id(file, &img);
		if (!err)
			err = read_symbols(file, &img);
		elf_image__close(&img);
	}
	if (!err && file->symtab.sym_cnt) {
		file->functions = calloc(file->symtab.sym_cnt, sizeof(*file->functions));
		if (!file->functions)
			err = err__fail(-ENOMEM, "out of memory");
	}
	if (err == -ENOMEM) {
		elf_symtab__free(&file->symtab);
		return err;
	}
	close(file->fd);
	file->fd = -1;
	r->waiting_cnt--;
	return 0;
}

static int read_oldest(struct resolver *r)
{
	for (; r->waiting_cnt > WAITING_MAX && r->oldest < r->files.cnt; r->oldest++) {
		int err = file__read(r, r->files.v[r->oldest]);

		if (err)
			return err;
	}
	return 0;
}

/* The kernel marks paths of deleted files; the name itself is still the old one. */
static size_t path_len(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), mark_len = strlen(mark);

	if (len > mark_len && !strcmp(path + len - mark_len, mark))
		return len - mark_len;
	return len;
}

int resolver__add_file(struct resolver *r, int fd, const char *path, struct symbol_file **file)
{
	struct symbol_file *f = calloc(1, sizeof(*f));

	if (f) {
		f->fd = fd;
		f->path = arena__strndup(&f->arena, path, path_len(path));
	}
	if (!f || !f->path || vec__push(&r->files, f)) {
		if (f)
			file__free(f);
		else
			close(fd);
		return err__fail(-ENOMEM, "out of memory");
	}
	r->waiting_cnt++;
	*file = f;
	return read_oldest(r);
}

void resolver__close_file(struct resolver *r, struct symbol_file *file)
{
	size_t i = 0;

	while (r->files.v[i] != file)
		i++;
	r->files.cnt--;
	memmove(&r->files.v[i], &r->files.v[i + 1], (r->files.cnt - i) * sizeof(r->files.v[0]));
	r->oldest -= i < r->oldest;
	r->waiting_cnt -= file->fd >= 0;
	file__free(file);
}

const char *resolver__build_id(const struct symbol_file *file)
{
	return file->build_id;
}

size_t resolver__file_cnt(const struct resolver *r)
{
	return r->files.cnt;
}

/* "libc.so.6+0x97360", the same string for the same place. */
static const char *unnamed(struct symbol_file *file, u64 offset)
{
	const char *slash = strrchr(file->path, '/');
	const char *base = slash && slash[1] ? slash + 1 : file->path;
	const char *text = NULL;
	struct str s = { 0 };
	u64 known;

	if (map__get(&file->unnamed, offset, &known))
		return (const char *)(uintptr_t)known;
	str__add_utf8(&s, base, strlen(base), true);
	str__addf(&s, "+0x%" PRIx64, offset);
	if (!s.oom)
		text = arena__strndup(&file->arena, s.s, s.len);
	str__free(&s);
	if (!text || map__put(&file->unnamed, offset, (uintptr_t)text))
		return NULL;
	return text;
}

static const char *function_name(struct symbol_file *file, const struct elf_sym *sym)
{
	const char **slot = &file->functions[sym - file->symtab.syms];

	if (!*slot)
		*slot = symbol__demangle(&file->arena, elf_symtab__name(&file->symtab, sym));
	return *slot;
}

/*
 * Nothing calls from where no function is; a return address to a function's first byte was made up:
 * the kernel's to
 * __restore_rt below a signal handler, makecontext(3)'s to __start_context.
 */
static const struct elf_sym *made_up_caller(const struct symbol_file *file, u64 offset)
{
	const struct elf_sym *sym = elf_symtab__find(&file->symtab, offset);

	return sym && sym->off == offset ? sym : NULL;
}

int resolver__name(struct resolver *r, struct symbol_file *file, u64 offset, bool is_return_address,
		   struct symbol_name *name)
{
	struct symbol_name found = { 0 };
	const struct elf_sym *sym;
	int err;

	err = file__read(r, file);
	if (err)
		return err;
	sym = elf_symtab__find(&file->symtab, offset - (is_return_address && offset));
	if (!sym && is_return_address)
		sym = made_up_caller(file, offset);
	if (sym) {
		found.function = function_name(file, sym);
		found.raw = elf_symtab__name(&file->symtab, sym);
		found.start = sym->off;
	} else {
		found.function = unnamed(file, offset);
	}
	if (!found.function)
		return err__fail(-ENOMEM, "out of memory");
	*name = found;
	return 0;
}
