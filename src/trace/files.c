/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, searches and registers mapped files. */
#include "trace/files.h"

#include <allocsnoop.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ahead.h"
#include "elf/image.h"
#include "trace/growth.h"
#include "trace/kernel.h"

int files__init(struct files *f, struct kernel *k, u64 table_bytes_max)
{
	memset(f, 0, sizeof(*f));
	f->live = k->live;
	f->probed = k->trace & ALLOCSNOOP_TRACE_MALLOC;
	return tables__init(&f->tables, k, table_bytes_max);
}

static void file__free(struct traced_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	links__close(&file->links);
	site_file__free(&file->sites);
	vec__free(&file->places);
	free(file->path);
	free(file);
}

void files__fini(struct files *f)
{
	for (size_t i = 0; i < f->all.cnt; i++)
		file__free(f->all.v[i]);
	vec__free(&f->all);
	vec__free(&f->sites);
	vec__free(&f->free_numbers);
	map__free(&f->by_hash);
	tables__fini(&f->tables);
}

struct traced_file *files__find(const struct files *f, u64 hash)
{
	u64 val;

	return map__get(&f->by_hash, hash, &val) ? (void *)(uintptr_t)val : NULL;
}

const struct traced_site *files__site(const struct files *f, u32 number)
{
	if (number >= AS_GROWTH_MMAP)
		return growth__site(number);
	return number && number <= f->sites.cnt && f->sites.v[number - 1].file
		       ? &f->sites.v[number - 1]
		       : NULL;
}

static bool image__has_interp(const struct elf_image *img)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++) {
		if (img->phdrs[i].p_type == PT_INTERP)
			return true;
	}
	return false;
}

bool site__is_unfollowed(const struct site *s)
{
	return s->throws && !s->exits.cnt;
}

static u64 site__cookie(const struct site *s, u32 number, bool jumps)
{
	const struct catalog_row *r = s->row;
	u64 cookie = (u64)number << 32;

	cookie |= (u64)r->layer << AS_COOKIE_LAYER_SHIFT;
	cookie |= r->size_arg | (u64)r->count_arg << 3 | (u64)r->align_arg << 9 |
		  (u64)(s->sp_delta / 8) << 12;
	if (r->role != ROLE_ALLOC)
		cookie |= (u64)r->ptr_arg << 6;
	cookie |= (u64)r->out_arg << 26;
	if (r->out_arg && r->align_arg)
		cookie |= AS_SITE_POSIX;
	if (r->layer && probe__of(r)->fixed_size)
		cookie |= AS_SITE_FIXED;
	if (s->exits.cnt)
		cookie |= AS_SITE_EXITS;
	if (s->stack_check)
		cookie |= AS_SITE_STACK_CHECK;
	if (r->ends & ENDS_COLLECTED || site__is_unfollowed(s))
		cookie |= AS_SITE_UNFOLLOWED;
	if (r->ends & ENDS_IN_PLACE)
		cookie |= AS_SITE_RESIZES;
	if (r->ends & ENDS_OLD_ALWAYS)
		cookie |= AS_SITE_FREES_OLD;
	return jumps ? cookie | AS_SITE_JUMPS : cookie;
}

static bool site__jumps(const struct site_file *sf, size_t at)
{
	for (size_t i = 0; i < sf->jumps.cnt; i++) {
		if (sf->jumps.v[i].from == at)
			return true;
	}
	return false;
}

/*
 * A return probe exchanges what the stack pointer points to, so it must be placed where that is the
 * return address.
 */
static struct probe_place site__place(const struct site *s, u64 cookie, bool live)
{
	struct probe_place place = { .off = s->probe_off, .cookie = cookie };

	if (s->row->role == ROLE_FREE) {
		place.kind = PROBE_FREE;
	} else if (live && !(cookie & (AS_SITE_UNFOLLOWED | AS_SITE_EXITS))) {
		place.kind = PROBE_ENTRY_RETURN;
		if (s->sp_delta) {
			place.off = s->func_off;
			place.cookie &= ~AS_COOKIE_SP_DELTA_BITS;
		}
	}
	return place;
}

static int by_offset(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Sites share exits. Each is probed once. */
static int file__add_exits(struct traced_file *file)
{
	exit_offs offs = {};
	int err = 0;

	for (size_t i = 0; i < file->sites.sites.cnt; i++) {
		const struct site *s = &file->sites.sites.v[i];

		for (size_t n = 0; n < s->exits.cnt && !err; n++)
			err = vec__push(&offs, s->exits.v[n]);
	}
	if (offs.cnt)
		qsort(offs.v, offs.cnt, sizeof(*offs.v), by_offset);
	for (size_t i = 0; i < offs.cnt && !err; i++) {
		struct probe_place place = { .off = offs.v[i], .kind = PROBE_EXIT };

		if (!i || offs.v[i] != offs.v[i - 1])
			err = vec__push(&file->places, place);
	}
	vec__free(&offs);
	return err;
}

/* Numbers in a row: those of a file that was dropped, where there are as many, else new ones. */
static int files__take_numbers(struct files *f, u32 cnt, u32 *first)
{
	struct traced_site none = {};
	int err = 0;

	for (size_t i = 0; i < f->free_numbers.cnt; i++) {
		struct site_numbers *free = &f->free_numbers.v[i];

		if (free->cnt < cnt)
			continue;
		*first = free->first;
		free->first += cnt;
		free->cnt -= cnt;
		if (!free->cnt)
			*free = f->free_numbers.v[--f->free_numbers.cnt];
		return 0;
	}
	*first = f->sites.cnt + 1;
	for (u32 i = 0; i < cnt && !err; i++)
		err = vec__push(&f->sites, none);
	return err;
}

/* Numbers the file's sites and lists the places to probe: frees and returns aren't needed to count
 * allocations. */
static int file__number_sites(struct files *f, struct kernel *k, struct traced_file *file)
{
	const struct site_file *sf = &file->sites;
	int err = files__take_numbers(f, sf->sites.cnt, &file->first_site);

	if (!err && f->live) /* first: no call begins whose end goes unseen */
		err = file__add_exits(file);
	for (size_t i = 0; i < sf->sites.cnt && !err; i++) {
		const struct site *s = &sf->sites.v[i];
		u32 number = file->first_site + i;
		struct probe_place place;

		f->sites.v[number - 1] = (struct traced_site){ .file = file, .site = s };
		if (s->row->role == ROLE_FREE && !f->live)
			continue;
		if (s->row->layer && probe__of(s->row)->fixed_size)
			err = kernel__set_fixed(k, number, probe__of(s->row)->fixed_size);
		if (err)
			continue;
		place = site__place(s, site__cookie(s, number, site__jumps(sf, i)), f->live);
		err = vec__push(&file->places, place);
		f->site_cnt++;
	}
	return err;
}

static void files__add_jump(struct files *f, struct kernel *k, u32 from, u32 to)
{
	f->jumps_lost_cnt += kernel__add_jump(k, from, to) != 0;
}

/* Through its PLT a function jumps to whichever file's function of that name the process has bound.
 */
static void files__link_import(struct files *f, struct kernel *k, u32 from, const char *symbol)
{
	u8 layer = f->sites.v[from - 1].site->row->layer;

	for (size_t i = 0; i < f->sites.cnt; i++) {
		const struct traced_site *to = &f->sites.v[i];

		if (to->file && to->file->fd >= 0 && to->site->row->layer == layer &&
		    site__is_named(to->site, symbol))
			files__add_jump(f, k, from, i + 1);
	}
}

static void files__link_jumps(struct files *f, struct kernel *k, const struct traced_file *file,
			      bool imports_only)
{
	const struct site_file *sf = &file->sites;

	for (size_t i = 0; i < sf->jumps.cnt; i++) {
		const struct site_jump *j = &sf->jumps.v[i];
		u32 from = file->first_site + j->from;

		if (j->to < 0 || j->import[0])
			files__link_import(f, k, from, j->import);
		if (j->to >= 0 && !imports_only)
			files__add_jump(f, k, from, file->first_site + j->to);
	}
}

/* The ranges of one layer, from the at-th on; *at is the next layer's first one then. */
static int file__set_layer(struct files *f, struct kernel *k, const struct traced_file *file,
			   size_t *at, struct as_ranges *r)
{
	const struct site_range *range = &file->sites.ranges.v[*at];
	u8 layer = range->layer;
	size_t cnt = 0;

	r->cnt = 0;
	for (; *at < file->sites.ranges.cnt && range->layer == layer; ++*at, range++, cnt++) {
		if (r->cnt == AS_RANGE_MAX)
			continue;
		r->r[r->cnt].start = range->start;
		r->r[r->cnt++].end = range->end;
	}
	f->ranges_cut_cnt += cnt > AS_RANGE_MAX;
	return kernel__set_ranges(k, as_of_layer(file->hash, layer), r);
}

static int file__set_ranges(struct files *f, struct kernel *k, const struct traced_file *file)
{
	struct as_ranges *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	for (size_t at = 0; at < file->sites.ranges.cnt && !err;)
		err = file__set_layer(f, k, file, &at, r);
	free(r);
	return err;
}

static bool file__is_32bit(const struct traced_file *file)
{
	u8 ident[EI_NIDENT];

	return pread(file->fd, ident, sizeof(ident), 0) == sizeof(ident) &&
	       !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
}

/* A damaged file has no sites and no table, and is no error. */
static void file__read(struct files *f, struct traced_file *file, bool table)
{
	struct elf_image img;

	if (elf_image__open(&img, file->fd)) {
		file->is_32bit = file__is_32bit(file);
		return;
	}
	file->is_elf = true;
	file->has_interp = image__has_interp(&img);
	if (f->probed && site_file__read(&file->sites, &img, file->path, f->probes))
		site_file__free(&file->sites);
	if (table)
		tables__compile(&f->tables, &img, &file->table);
	elf_image__close(&img);
}

struct reading {
	struct files *f;
	struct traced_file **v;
	bool tables;
};

static void reading__one(void *arg, size_t i)
{
	struct reading *r = arg;

	file__read(r->f, r->v[i], r->tables);
}

void files__read(struct files *f, struct traced_file **v, size_t cnt, bool tables)
{
	struct reading r = { .f = f, .v = v, .tables = tables };
	struct ahead ahead;

	ahead__start(&ahead, cnt, reading__one, &r);
	for (size_t i = 0; i < cnt; i++)
		ahead__wait(&ahead, i);
	ahead__end(&ahead);
}

void files__compile(struct files *f, struct traced_file *file)
{
	struct elf_image img;

	if (elf_image__open(&img, file->fd))
		return;
	tables__compile(&f->tables, &img, &file->table);
	elf_image__close(&img);
}

/* ---- known to all ---- */

/* Could somebody want to unmount the file's system, or wait for the space of a deleted file? Not of
 * the one that we live on. */
static bool file__pins(const struct stat *st)
{
	struct stat root;

	return stat("/", &root) || st->st_dev != root.st_dev || !st->st_nlink;
}

struct traced_file *files__make(const struct opened_file *opened)
{
	struct traced_file *file = calloc(1, sizeof(*file));
	struct stat st = {};

	if (!file || fstat(opened->fd, &st)) {
		free(file);
		close(opened->fd);
		free(opened->path);
		return NULL;
	}
	file->hash = opened->hash;
	file->number = opened->number;
	file->fd = opened->fd;
	file->path = opened->path;
	file->size = st.st_size;
	file->pins = file__pins(&st);
	snprintf(file->fd_path, sizeof(file->fd_path), "/proc/self/fd/%d", file->fd);
	return file;
}

static int files__add_allocator(struct files *f, struct kernel *k, struct traced_file *file)
{
	int err = file__number_sites(f, k, file);

	if (!err)
		err = file__set_ranges(f, k, file);
	files__link_jumps(f, k, file, false);
	for (size_t i = 0; i < f->all.cnt; i++) {
		if (f->all.v[i]->fd >= 0 && f->all.v[i] != file)
			files__link_jumps(f, k, f->all.v[i], true);
	}
	return err;
}

int files__register(struct files *f, struct kernel *k, struct traced_file *file)
{
	int err = vec__push(&f->all, file);

	if (err) {
		file__free(file);
		return err;
	}
	err = map__put(&f->by_hash, file->hash, (uintptr_t)file);
	f->file_32bit_cnt += file->is_32bit;
	if (file->sites.sites.cnt) {
		file->known.flags = AS_FILE_ALLOCATOR;
		if (!err)
			err = files__add_allocator(f, k, file);
		if (!err)
			err = kernel__set_file(k, file->hash, &file->known);
		kernel__new_tables(k);
	}
	return err;
}

int files__finish(struct files *f, struct kernel *k, struct traced_file *file)
{
	int err;

	file->known.flags |= AS_FILE_READY;
	tables__place(&f->tables, k, file->table, &file->known);
	err = kernel__set_file(k, file->hash, &file->known);
	kernel__new_tables(k);
	return err;
}

/* ---- let go ---- */

void files__leave(struct files *f, struct kernel *k, struct traced_file *file)
{
	for (size_t i = 0; i < file->places.cnt; i++)
		f->site_cnt -= file->places.v[i].kind != PROBE_EXIT;
	vec__free(&file->places);
	vec__free(&file->sites.ranges);
	vec__free(&file->sites.jumps);
	if (file->sites.sites.cnt)
		kernel__forget_ranges(k, file->hash);
}

void files__let_go(struct files *f, struct kernel *k, struct traced_file *file)
{
	close(file->fd);
	file->fd = -1;
	if (file->sites.sites.cnt)
		kernel__forget_sites(k, file->first_site, file->sites.sites.cnt);
	tables__release(&f->tables, k, file->table);
	file->table = NULL;
	memset(&file->known, 0, sizeof(file->known));
}

static void files__free_numbers(struct files *f, const struct traced_file *file)
{
	struct site_numbers free = { .first = file->first_site, .cnt = file->sites.sites.cnt };
	struct traced_site none = {};

	if (!free.cnt || !free.first)
		return;
	for (u32 i = 0; i < free.cnt; i++)
		f->sites.v[free.first - 1 + i] = none;
	vec__push(&f->free_numbers, free); /* without memory they aren't used again */
}

void files__drop(struct files *f, bool (*used)(void *arg, const struct traced_file *file),
		 void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->all.cnt; i++) {
		struct traced_file *file = f->all.v[i];

		if (file->fd >= 0 || used(arg, file)) {
			f->all.v[kept++] = file;
			continue;
		}
		if (files__find(f, file->hash) == file)
			map__del(&f->by_hash, file->hash);
		files__free_numbers(f, file);
		file__free(file);
	}
	f->all.cnt = kept;
}
