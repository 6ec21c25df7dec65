/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function symbols of a file. Tables are walked in pieces, so that a file with a sparse 1 GiB
 * table doesn't cost 1 GiB; what is kept is sorted by file offset, one name per address. Symbols
 * may nest (assembler labels with a size): each one knows the nearest earlier symbol that ends
 * after it, so a look-up that lands behind an inner symbol steps out instead of giving up.
 * A stripped Go program still has its function table, which stands in for .symtab.
 */
#include "elf/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

#define SYM_MAX	       (16u << 20) /* symbols of one table that are looked at */
#define CHUNK_SYMS     4096
#define NAME_LEN_MAX   65535u
#define NAME_BYTES_MAX (1ull << 30) /* of one table: three of them fit in a u32 */
#define UNSIZED_MAX    65536u
#define NEST_MAX       64
#define EXEC_LOAD_MAX  16

/* An executable PT_LOAD. */
struct exec_range {
	u64 vaddr;
	u64 size; /* p_filesz */
	u64 off;
};

struct exec_map {
	struct exec_range ranges[EXEC_LOAD_MAX];
	u32 cnt;
};

/* One symbol on its way from the table to the callback. */
struct symbol {
	const char *name;
	u32 len;
	u64 off;
	u64 size;  /* st_size, not past the segment's end in the file */
	u64 limit; /* file offset where its section (or segment) ends */
	u8 type;
	u8 bind;
	bool dynamic;
};

typedef int (*symbol_fn)(void *arg, const struct symbol *sym);

struct walk {
	const struct elf_image *img; /* the file that holds the table */
	const struct exec_map *map;  /* of the file that is executed */
	u8 *strs;
	size_t strs_size;
	u64 name_bytes;	    /* read so far */
	u64 name_bytes_max; /* hostile names overlap each other: one table of 16 MiB, 2^40 bytes */
	bool dynamic;
	symbol_fn fn;
	void *arg;
	bool stopped; /* by the callback */
};

static void exec_map__init(struct exec_map *map, const struct elf_image *img)
{
	map->cnt = 0;
	for (u32 i = 0; i < img->ehdr.e_phnum && map->cnt < EXEC_LOAD_MAX; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz ||
		    ph->p_offset > img->size || ph->p_filesz > img->size - ph->p_offset)
			continue;
		map->ranges[map->cnt++] = (struct exec_range){ .vaddr = ph->p_vaddr,
							       .size = ph->p_filesz,
							       .off = ph->p_offset };
	}
}

static const struct exec_range *exec_map__find(const struct exec_map *map, u64 vaddr)
{
	for (u32 i = 0; i < map->cnt; i++)
		if (vaddr - map->ranges[i].vaddr < map->ranges[i].size)
			return &map->ranges[i];
	return NULL;
}

/* NULL when it can't be told (no section table, extended numbers): then the segment decides. */
static const Elf64_Shdr *section_of(const struct elf_image *img, const Elf64_Sym *s)
{
	if (s->st_shndx >= SHN_LORESERVE || s->st_shndx >= img->shdr_cnt)
		return NULL;
	return &img->shdrs[s->st_shndx];
}

static bool is_function(const struct elf_image *img, const Elf64_Sym *s)
{
	const Elf64_Shdr *sh = section_of(img, s);
	u8 type = ELF64_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || s->st_shndx == SHN_COMMON)
		return false;
	if (sh && !(sh->sh_flags & SHF_EXECINSTR))
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && s->st_size);
}

/*
 * .symtab spells versions as "memcpy@@GLIBC_2.14"; the name ends before them. The length of the
 * name itself.
 */
static size_t cut_version(const char *name, size_t len)
{
	const char *at = memchr(name, '@', len);
	size_t pos;

	if (!at || at == name)
		return len;
	pos = (size_t)(at - name) + 1;
	if (pos < len && name[pos] == '@')
		pos++;
	if (pos == len)
		return len;
	for (; pos < len; pos++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+",
			    name[pos]))
			return len;
	return (size_t)(at - name);
}

/* Sets the name: 1, or 0 for a symbol without one; -EINVAL when names are absurdly long. */
static int take_name(struct walk *w, const Elf64_Sym *s, struct symbol *sym)
{
	char *name = (char *)w->strs + s->st_name;
	size_t len;

	if (s->st_name >= w->strs_size)
		return 0;
	/* strs ends in a NUL that isn't counted in strs_size. */
	len = strnlen(name, MIN(w->strs_size - s->st_name, NAME_LEN_MAX));
	w->name_bytes += len + 1;
	if (w->name_bytes > w->name_bytes_max)
		return err__fail(-EINVAL, "damaged ELF file: symbol names overlap");
	if (!w->dynamic) {
		size_t cut = cut_version(name, len);

		/* Names that share this tail lose the same version. */
		if (cut < len)
			name[cut] = '\0';
		len = cut;
	}
	sym->name = name;
	sym->len = (u32)len;
	return len > 0;
}

static int walk_symbol(struct walk *w, const Elf64_Sym *s)
{
	const struct exec_range *range;
	const Elf64_Shdr *sh;
	struct symbol sym;
	u64 pos;
	int ret;

	if (!is_function(w->img, s))
		return 0;
	range = exec_map__find(w->map, s->st_value);
	if (!range)
		return 0;
	ret = take_name(w, s, &sym);
	if (ret <= 0)
		return ret;
	pos = s->st_value - range->vaddr;
	sym.off = range->off + pos;
	sym.size = MIN(s->st_size, range->size - pos);
	sym.limit = range->off + range->size;
	sh = section_of(w->img, s);
	if (sh && s->st_value - sh->sh_addr < sh->sh_size) {
		u64 rest = sh->sh_size - (s->st_value - sh->sh_addr);

		sym.limit = sym.off + MIN(rest, range->size - pos);
	}
	sym.type = ELF64_ST_TYPE(s->st_info);
	sym.bind = ELF64_ST_BIND(s->st_info);
	sym.dynamic = w->dynamic;
	ret = w->fn(w->arg, &sym);
	w->stopped = ret;
	return ret;
}

static int walk_chunk(struct walk *w, u64 off, u64 cnt)
{
	CLEANUP(free__p) u8 *data = NULL;
	int ret;

	ret = elf_image__read(w->img, off, cnt * sizeof(Elf64_Sym), &data);
	for (u64 i = 0; i < cnt && !ret; i++) {
		Elf64_Sym s;

		memcpy(&s, data + i * sizeof(s), sizeof(s));
		ret = walk_symbol(w, &s);
	}
	return ret;
}

static int walk_go_func(void *arg, const struct go_func *f)
{
	struct walk *w = arg;
	const struct exec_range *range = exec_map__find(w->map, f->vaddr);
	struct symbol sym = {
		.name = f->name, .len = (u32)f->name_len, .type = STT_FUNC, .bind = STB_LOCAL
	};
	int ret;

	if (!range)
		return 0;
	sym.off = range->off + (f->vaddr - range->vaddr);
	sym.limit = range->off + range->size;
	sym.size = MIN(f->size, sym.limit - sym.off);
	ret = w->fn(w->arg, &sym);
	w->stopped = ret;
	return ret;
}

static int walk_go(struct walk *w)
{
	struct gopclntab table;
	int ret = gopclntab__open(&table, w->img);

	if (ret || !table.section)
		return ret;
	ret = gopclntab__each(&table, walk_go_func, w);
	w->strs = table.section; /* the names live there */
	return ret;
}

static const Elf64_Shdr *section_of_type(const struct elf_image *img, u32 type)
{
	for (u32 i = 0; i < img->shdr_cnt; i++)
		if (img->shdrs[i].sh_type == type)
			return &img->shdrs[i];
	return NULL;
}

static int walk_table(struct walk *w, u32 type)
{
	const Elf64_Shdr *sh = section_of_type(w->img, type);
	u64 cnt;
	int ret;

	if (!sh)
		return type == SHT_SYMTAB ? walk_go(w) : 0;
	if (sh->sh_entsize != sizeof(Elf64_Sym) || sh->sh_link >= w->img->shdr_cnt ||
	    w->img->shdrs[sh->sh_link].sh_type != SHT_STRTAB)
		return err__fail(-EINVAL, "damaged ELF file: bad symbol table");
	ret = elf_image__read_section(w->img, &w->img->shdrs[sh->sh_link], &w->strs, &w->strs_size);
	cnt = MIN(sh->sh_size / sizeof(Elf64_Sym), SYM_MAX);
	w->name_bytes_max = MIN(4 * (u64)w->strs_size + 64 * cnt, NAME_BYTES_MAX);
	for (u64 i = 0; i < cnt && !ret; i += CHUNK_SYMS)
		ret = walk_chunk(w, sh->sh_offset + i * sizeof(Elf64_Sym),
				 MIN(cnt - i, CHUNK_SYMS));
	return ret;
}

/*
 * Walks one table. A damaged one doesn't hide the others: its error goes to *damage and 0 is
 * returned, unless the callback stopped or memory ran out. Names live until strs is freed.
 */
static int walk__run(struct walk *w, const struct elf_image *img, bool dynamic, int *damage)
{
	int ret;

	w->img = img;
	w->dynamic = dynamic;
	ret = walk_table(w, dynamic ? SHT_DYNSYM : SHT_SYMTAB);
	if (!ret || w->stopped || ret == -ENOMEM)
		return ret;
	*damage = ret;
	return 0;
}

struct each {
	elf_symtab_fn fn;
	void *arg;
	bool any;
};

static int each_symbol(void *arg, const struct symbol *sym)
{
	struct each *e = arg;

	e->any = true;
	return e->fn(e->arg, sym->name, sym->off, sym->size, sym->type, sym->bind, sym->dynamic);
}

int elf_symtab__each(const struct elf_image *img, elf_symtab_fn fn, void *arg)
{
	struct each each = { .fn = fn, .arg = arg };
	struct exec_map map;
	int damage = 0;
	int ret = 0;

	exec_map__init(&map, img);
	for (int i = 0; i < 2 && !ret; i++) {
		struct walk w = { .map = &map, .fn = each_symbol, .arg = &each };

		ret = walk__run(&w, img, i == 1, &damage);
		free(w.strs);
	}
	return !ret && !each.any ? damage : ret;
}

struct candidate {
	u64 off;
	u64 size;
	u64 limit;
	const char *name;
	u32 len;
	u8 rank; /* of the binding: 0 is best */
	u8 underscores;
	u8 bind;
	bool dynamic;
};

struct collect {
	VEC(struct candidate) list;
};

static u8 bind_rank(u8 bind)
{
	if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
		return 0;
	return bind == STB_WEAK ? 1 : bind == STB_LOCAL ? 2 : 3;
}

static int collect_symbol(void *arg, const struct symbol *sym)
{
	struct collect *c = arg;
	struct candidate cand = { .off = sym->off,
				  .size = sym->size,
				  .limit = sym->limit,
				  .name = sym->name,
				  .len = sym->len,
				  .rank = bind_rank(sym->bind),
				  .bind = sym->bind,
				  .dynamic = sym->dynamic };

	while (cand.underscores < cand.len && cand.underscores < 255 &&
	       cand.name[cand.underscores] == '_')
		cand.underscores++;
	if (vec__push(&c->list, cand))
		return err__fail(-ENOMEM, "out of memory");
	return 0;
}

#define ORDER(a, b)                                \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

static bool is_private(const struct candidate *c)
{
	return c->rank > bind_rank(STB_WEAK);
}

/*
 * By offset; at one offset the best name first. Underscores come before the binding: what programs
 * call is often a weak alias (strdup) of a global name that only the library uses (__strdup).
 */
static int compare(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	ORDER(a->off, b->off);
	ORDER(!a->size, !b->size);
	ORDER(is_private(a), is_private(b));
	ORDER(a->underscores, b->underscores);
	ORDER(a->rank, b->rank);
	ORDER(a->len, b->len);
	ORDER(a->dynamic, b->dynamic);
	return memcmp(a->name, b->name, a->len);
}

/* Keeps the best name of each address; the number left. */
static size_t fold_aliases(struct candidate *c, size_t cnt)
{
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++)
		if (!kept || c[i].off != c[kept - 1].off)
			c[kept++] = c[i];
	return kept;
}

static u64 end_of(const struct elf_sym *s)
{
	return s->off + s->size;
}

/*
 * Links symbol i to the one around it. A symbol without a size gets the way to `limit`, but not
 * past the end of the one around it.
 */
static void nest(struct elf_symtab *t, u32 i, u64 limit)
{
	struct elf_sym *s = &t->syms[i];
	u32 j = i ? i - 1 : ELF_SYM_NONE;

	while (j != ELF_SYM_NONE && end_of(&t->syms[j]) <= s->off)
		j = t->syms[j].outer;
	if (!s->size) {
		limit = MIN(limit, s->off + UNSIZED_MAX);
		if (j != ELF_SYM_NONE)
			limit = MIN(limit, end_of(&t->syms[j]));
		s->size = limit - s->off;
	}
	while (j != ELF_SYM_NONE && end_of(&t->syms[j]) <= end_of(s))
		j = t->syms[j].outer;
	s->outer = j;
}

/* Copies what was kept into t, names packed one after the other. */
static int build(struct elf_symtab *t, const struct candidate *c, size_t cnt)
{
	size_t bytes = 0, pos = 0;

	for (size_t i = 0; i < cnt; i++)
		bytes += c[i].len + 1u; /* at most NAME_BYTES_MAX for each table: fits in u32 */
	t->syms = malloc(cnt * sizeof(*t->syms));
	t->names = malloc(bytes);
	if (!t->syms || !t->names)
		return err__fail(-ENOMEM, "out of memory");
	t->sym_cnt = cnt;
	t->names_size = bytes;
	for (size_t i = 0; i < cnt; i++) {
		u64 limit = i + 1 < cnt ? MIN(c[i].limit, c[i + 1].off) : c[i].limit;

		t->syms[i] = (struct elf_sym){ .off = c[i].off,
					       .size = c[i].size,
					       .name = (u32)pos,
					       .bind = c[i].bind,
					       .dynamic = c[i].dynamic };
		nest(t, (u32)i, limit);
		memcpy(t->names + pos, c[i].name, c[i].len);
		t->names[pos + c[i].len] = '\0';
		pos += c[i].len + 1u;
	}
	return 0;
}

int elf_symtab__read_with_debug(struct elf_symtab *t, const struct elf_image *img,
				const struct elf_image *debug)
{
	struct collect c = { 0 };
	struct exec_map map;
	struct walk w[3];
	int damage = 0;
	int err;

	*t = (struct elf_symtab){ 0 };
	exec_map__init(&map, img);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		w[i] = (struct walk){ .map = &map, .fn = collect_symbol, .arg = &c };
	err = walk__run(&w[0], img, false, &damage);
	if (!err)
		err = walk__run(&w[1], img, true, &damage);
	if (!err && debug)
		err = walk__run(&w[2], debug, false, &damage);
	if (!err && !c.list.cnt)
		err = damage;
	if (!err && c.list.cnt) {
		qsort(c.list.v, c.list.cnt, sizeof(*c.list.v), compare);
		err = build(t, c.list.v, fold_aliases(c.list.v, c.list.cnt));
	}
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		free(w[i].strs);
	vec__free(&c.list);
	if (err)
		elf_symtab__free(t);
	return err;
}

int elf_symtab__read(struct elf_symtab *t, const struct elf_image *img)
{
	return elf_symtab__read_with_debug(t, img, NULL);
}

void elf_symtab__free(struct elf_symtab *t)
{
	free(t->syms);
	free(t->names);
	*t = (struct elf_symtab){ 0 };
}

const struct elf_sym *elf_symtab__find(const struct elf_symtab *t, u64 off)
{
	const struct elf_sym *base = t->syms;
	size_t cnt = t->sym_cnt;

	if (!cnt || off < base->off)
		return NULL;
	/* The last symbol that starts at or before off; no branch to mispredict. */
	while (cnt > 1) {
		size_t half = cnt / 2;

		base = base[half].off <= off ? base + half : base;
		cnt -= half;
	}
	for (int i = 0; i < NEST_MAX; i++) {
		if (off - base->off < base->size)
			return base;
		if (base->outer == ELF_SYM_NONE)
			return NULL;
		base = &t->syms[base->outer];
	}
	return NULL;
}
