/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the symbols of a file to its probe places. Nearly every file has no allocator: then only
 * the symbol tables are read. The order of the rest: one site per function, wrappers out, probe
 * place, and what the functions do to each other.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/symtab.h"
#include "target/calls.h"
#include "target/disasm.h"
#include "target/nest.h"
#include "target/place.h"
#include "target/site.h"
#include "target/text.h"
#include "target/walk.h"
#include "target/wrap.h"

#define NAME_CNT_MAX 4096	/* allocator symbols of one file */
#define WALK_BYTES   (4u << 20) /* code that is disassembled for one file */
#define SKIPPED_MAX  256	/* lines */

struct found { /* one symbol with a row */
	const struct catalog_row *row;
	u64 off;
	u64 size;
	u32 rank; /* of names that share an address the first one is taken */
};

struct reader {
	struct site_file *f;
	struct probe_set *probes;
	VEC(const struct probe *) mine; /* probes of this file */
	VEC(struct found) found;	/* by offset, best name first */
	walk_names names;
	struct text text;
	struct disasm disasm;
	struct calls calls;
	struct walk walk;
};

static int skip(struct site_file *f, const char *symbol, const char *why, const char *what)
{
	char *line;

	if (f->skipped.cnt >= SKIPPED_MAX)
		return 0;
	if (asprintf(&line, "%s: %s%s", symbol, why, what) < 0)
		return -ENOMEM;
	if (!vec__push(&f->skipped, line))
		return 0;
	free(line);
	return -ENOMEM;
}

/* ---- symbols ---- */

static int find_mine(struct reader *r, const char *path)
{
	int err = 0;

	for (size_t i = 0; r->probes && i < r->probes->v.cnt && !err; i++)
		if (probe__matches(r->probes->v.v[i], path))
			err = vec__push(&r->mine, r->probes->v.v[i]);
	return err;
}

/* The user's rows come first. */
static struct found find_row(const struct reader *r, const char *name)
{
	struct found found = {};

	for (size_t i = 0; i < r->mine.cnt && !found.row; i++) {
		const struct probe *p = r->mine.v[i];

		if (!p->by_offset && p->symbol[0] == name[0] && !strcmp(p->symbol, name))
			found = (struct found){ .row = &p->row, .rank = (u32)i };
	}
	if (found.row || (r->probes && r->probes->only))
		return found;
	found.row = catalog__find(name);
	found.rank = found.row ? PROBE_MAX + (u32)(found.row - catalog) : 0;
	return found;
}

static int on_symbol(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind, bool dynamic)
{
	struct reader *r = arg;
	struct found found = find_row(r, name);

	found.off = off;
	found.size = size;
	(void)bind;
	(void)dynamic;
	r->f->has_symbols = true;
	if (!found.row || r->found.cnt >= NAME_CNT_MAX)
		return 0;
	if (type == STT_GNU_IFUNC)
		return skip(r->f, name, "its code is chosen when the program starts (ifunc)", "");
	return vec__push(&r->found, found);
}

/* Functions named by where they lie. */
static int find_offsets(struct reader *r)
{
	int err = 0;

	for (size_t i = 0; i < r->mine.cnt && !err; i++) {
		const struct probe *p = r->mine.v[i];
		struct found found = { .row = &p->row, .off = p->off, .rank = (u32)i };

		if (p->by_offset)
			err = vec__push(&r->found, found);
	}
	return err;
}

/* The catalog's order is the order of preference among names of one address. */
static int by_off_and_row(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* All names are kept aside; then one per address, the largest size wins. */
static int fold_aliases(struct reader *r)
{
	struct found *v = r->found.v;
	size_t n = 0;

	qsort(v, r->found.cnt, sizeof(*v), by_off_and_row);
	for (size_t i = 0; i < r->found.cnt; i++) {
		struct walk_name name = { v[i].row, v[i].off };

		if (vec__push(&r->names, name))
			return -ENOMEM;
		if (n && v[n - 1].off == v[i].off)
			v[n - 1].size = MAX(v[n - 1].size, v[i].size);
		else
			v[n++] = v[i];
	}
	r->found.cnt = n;
	return 0;
}

/* Rows of the plain C and C++ names say little about whose they are; any other row says more. */
static const char *family_of(const struct reader *r)
{
	const struct catalog_row *best = NULL;

	for (size_t i = 0; i < r->names.cnt; i++) {
		const struct catalog_row *row = r->names.v[i].row;
		bool plain = row->allocator == catalog[0].allocator || row->cxx_new;

		if (!plain && !row->layer)
			return row->allocator;
		if (!best || (best->layer && !row->layer) ||
		    (best->layer == row->layer && row < best))
			best = row;
	}
	return best ? best->allocator : NULL;
}

/* ---- what is left out ---- */

static bool has_own_malloc(const struct reader *r)
{
	for (size_t i = 0; i < r->found.cnt; i++)
		if (!r->found.v[i].row->cxx_new && r->found.v[i].row->role != ROLE_FREE &&
		    !r->found.v[i].row->layer)
			return true;
	return false;
}

/*
 * C++ operators that end in another file's allocator, where their calls are seen. With an
 * allocator of its own in the file both are probed, and the inner hit counts as nested.
 */
static int drop_wrappers(struct reader *r)
{
	bool own = has_own_malloc(r);
	size_t n = 0;

	for (size_t i = 0; i < r->found.cnt; i++) {
		const struct found *s = &r->found.v[i];
		const struct catalog_row *import = NULL;

		if (s->row->cxx_new && !own)
			import = wrap__import(&r->walk, &r->names, s->row, s->off, s->size);
		if (!import)
			r->found.v[n++] = *s;
		else if (skip(r->f, s->row->symbol, "counted where it ends: ", import->symbol))
			return -ENOMEM;
	}
	r->found.cnt = n;
	return 0;
}

/*
 * Second names with code of their own that only other allocator functions enter (musl's realloc
 * jumps to __libc_realloc): one trap per call is enough.
 */
static int drop_inner(struct reader *r)
{
	size_t n = 0, cnt = r->found.cnt, off_cnt = 0;
	u64 *offs = calloc(cnt + 1, sizeof(*offs));
	int err = 0;

	if (!offs)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		if (!r->found.v[i].row->layer)
			offs[off_cnt++] = r->found.v[i].off;
	for (size_t i = 0; i < cnt; i++) {
		struct found s = r->found.v[i];
		bool inner = !s.row->layer && !strncmp(s.row->symbol, "__", 2) &&
			     nest__only_from(&r->text, &r->calls, s.off, offs, off_cnt);

		if (!inner)
			r->found.v[n++] = s;
		else if (!err)
			err = skip(r->f, s.row->symbol, "only entered from functions above", "");
	}
	r->found.cnt = n;
	free(offs);
	return err;
}

/* ---- sites ---- */

bool site__is_named(const struct site *s, const char *symbol)
{
	for (size_t i = 0; i < s->aliases.cnt; i++)
		if (!strcmp(s->aliases.v[i], symbol))
			return true;
	return !strcmp(s->symbol, symbol);
}

static void site__fini(struct site *s)
{
	free(s->symbol);
	vec__free(&s->aliases);
	vec__free(&s->exits);
}

static int by_probe(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->probe_off < y->probe_off ? -1 : x->probe_off > y->probe_off;
}

static int name_site(struct site *s, const struct reader *r)
{
	s->symbol = strdup(s->row->symbol);
	if (!s->symbol)
		return -ENOMEM;
	for (size_t i = 0; i < r->names.cnt; i++) {
		const struct walk_name *name = &r->names.v[i];

		if (name->off != s->func_off)
			continue;
		s->throws |= name->row->throws || (name->row->layer && r->text.may_throw);
		if (site__is_named(s, name->row->symbol))
			continue;
		if (vec__push(&s->aliases, name->row->symbol))
			return -ENOMEM;
	}
	return 0;
}

static int find_exits(struct site *s, struct reader *r)
{
	return s->throws ? exits__find(&s->exits, &r->walk, s->func_off, s->func_size) : 0;
}

static int add_sites(struct reader *r)
{
	for (size_t i = 0; i < r->found.cnt; i++) {
		const struct found *found = &r->found.v[i];
		struct site s = { .row = found->row, .func_off = found->off };

		s.func_size = found->size;
		probe__count_site(found->row);
		if (found->row->size_arg != CATALOG_ARG_GO)
			place__choose(&s, &r->text, &r->calls, &r->disasm);
		else if (!place__go(&s, &r->text, &r->disasm)) {
			if (skip(r->f, found->row->symbol, "not as Go 1.17 or later begins it", ""))
				return -ENOMEM;
			continue;
		}
		if (name_site(&s, r) || find_exits(&s, r) || vec__push(&r->f->sites, s)) {
			site__fini(&s);
			return -ENOMEM;
		}
	}
	if (r->f->sites.cnt)
		qsort(r->f->sites.v, r->f->sites.cnt, sizeof(struct site), by_probe);
	return 0;
}

static int scan_calls(struct reader *r)
{
	u64 *entries = calloc(r->found.cnt + 1, sizeof(*entries));
	int err;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < r->found.cnt; i++)
		entries[i] = r->found.v[i].off;
	err = calls__scan(&r->calls, &r->text, entries, r->found.cnt);
	free(entries);
	return err;
}

/* Offsets that a probe names may lie anywhere. */
static int drop_no_code(struct reader *r)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < r->found.cnt; i++) {
		struct found s = r->found.v[i];

		if (text__seg(&r->text, s.off))
			r->found.v[n++] = s;
		else if (!err)
			err = skip(r->f, s.row->symbol, "no code lies there", "");
	}
	r->found.cnt = n;
	return err;
}

static int read_code(struct reader *r, const struct elf_image *img)
{
	int err = text__open(&r->text, img, r->probes);

	if (!err)
		err = drop_no_code(r);
	if (!err)
		err = text__read_funcs(&r->text);
	if (!err)
		err = disasm__open(&r->disasm);
	if (err)
		return err;
	r->walk = (struct walk){ &r->text, &r->disasm, WALK_BYTES };
	err = drop_wrappers(r);
	if (err || !r->found.cnt)
		return err;
	err = scan_calls(r);
	if (!err)
		err = drop_inner(r);
	if (!err)
		err = add_sites(r);
	if (!err)
		err = nest__jumps(r->f, &r->walk, &r->names);
	if (!err)
		err = nest__ranges(r->f, &r->walk, &r->calls);
	if (r->f->sites.cnt)
		r->f->allocator = family_of(r);
	return err;
}

int site_file__read(struct site_file *f, const struct elf_image *img, const char *path,
		    struct probe_set *probes)
{
	struct reader r = { .f = f, .probes = probes };
	int err;

	*f = (struct site_file){};
	if (img->ehdr.e_machine != EM_X86_64)
		return -ENOEXEC;
	err = find_mine(&r, path);
	if (!err)
		err = elf_symtab__each(img, on_symbol, &r);
	if (!err)
		err = find_offsets(&r);
	if (!err)
		err = probe_set__note(probes, path, img);
	if (!err && r.found.cnt) {
		err = fold_aliases(&r);
		if (!err)
			err = read_code(&r, img);
	}
	vec__free(&r.mine);
	vec__free(&r.found);
	vec__free(&r.names);
	text__close(&r.text);
	calls__free(&r.calls);
	disasm__close(&r.disasm);
	if (err)
		site_file__free(f);
	return err;
}

void site_file__free(struct site_file *f)
{
	for (size_t i = 0; i < f->sites.cnt; i++)
		site__fini(&f->sites.v[i]);
	for (size_t i = 0; i < f->skipped.cnt; i++)
		free(f->skipped.v[i]);
	vec__free(&f->sites);
	vec__free(&f->jumps);
	vec__free(&f->ranges);
	vec__free(&f->skipped);
	f->allocator = NULL;
	f->has_symbols = false;
}
