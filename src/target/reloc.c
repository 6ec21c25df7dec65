/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Relocations that matter for allocator calls: pointers to functions of the catalog, by name, and
 * pointers to code of the file itself. Read through PT_DYNAMIC because files without section
 * headers still run.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "target/probe.h"
#include "target/reloc.h"
#include "target/text.h"

#define DYN_MAX	 4096	      /* entries of the dynamic section */
#define RELA_MAX (32u << 20)  /* relocations */
#define CHUNK	 1024	      /* relocations read at once */
#define STR_MAX	 (256u << 20) /* bytes of string table */
#define SYM_MAX	 (8u << 20)   /* symbols */

struct named { /* a pointer to be filled by symbol */
	u64 vaddr;
	u32 sym;
};

struct reloc {
	struct text *t;
	u64 dyn[DT_JMPREL + 1]; /* values by tag; 0 missing */
	const struct probe_set *probes;
	VEC(struct named) named;
};

static void read_dyn(struct reloc *r, const Elf64_Phdr *ph)
{
	size_t cnt = MIN(ph->p_filesz / sizeof(Elf64_Dyn), (u64)DYN_MAX);
	Elf64_Dyn *dyn;
	u8 *data;

	if (!cnt || elf_image__read(r->t->img, ph->p_offset, cnt * sizeof(*dyn), &data))
		return;
	dyn = (Elf64_Dyn *)data;
	for (size_t i = 0; i < cnt && dyn[i].d_tag != DT_NULL; i++)
		if (dyn[i].d_tag > 0 && dyn[i].d_tag <= DT_JMPREL)
			r->dyn[dyn[i].d_tag] = dyn[i].d_un.d_val;
	free(data);
}

static int add_rela(struct reloc *r, const Elf64_Rela *rela)
{
	struct named named = { rela->r_offset, (u32)ELF64_R_SYM(rela->r_info) };
	struct text_slot slot = { .vaddr = rela->r_offset };

	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64:
		return named.sym && !rela->r_addend ? vec__push(&r->named, named) : 0;
	case R_X86_64_RELATIVE:
	case R_X86_64_IRELATIVE:
		if (!text__vaddr_to_off(r->t, (u64)rela->r_addend, &slot.target))
			return 0;
		/* An IRELATIVE pointer gets what the resolver returns: not known here. */
		if (ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE &&
		    vec__push(&r->t->slots, slot))
			return -ENOMEM;
		return vec__push(&r->t->stored, slot.target);
	default:
		return 0;
	}
}

static int read_rela(struct reloc *r, u64 vaddr, u64 bytes)
{
	u64 cnt = MIN(bytes / sizeof(Elf64_Rela), (u64)RELA_MAX), off;
	Elf64_Rela rela[CHUNK];

	if (!vaddr || !elf_image__vaddr_to_off(r->t->img, vaddr, &off))
		return 0;
	while (cnt) {
		size_t want = MIN(cnt, (u64)CHUNK);
		ssize_t n = pread(r->t->img->fd, rela, want * sizeof(*rela), (off_t)off);
		size_t got = n > 0 ? (size_t)n / sizeof(*rela) : 0;

		for (size_t i = 0; i < got; i++)
			if (add_rela(r, &rela[i]))
				return -ENOMEM;
		if (got < want)
			return 0;
		cnt -= got;
		off += got * sizeof(*rela);
	}
	return 0;
}

/* NUL-terminated by elf_image__read(). */
static char *read_strings(const struct reloc *r)
{
	u64 off, size = r->dyn[DT_STRSZ];
	u8 *data;

	if (!size || size > STR_MAX ||
	    !elf_image__vaddr_to_off(r->t->img, r->dyn[DT_STRTAB], &off) ||
	    elf_image__read(r->t->img, off, size, &data))
		return NULL;
	return (char *)data;
}

/* The symbol table's length is nowhere in the dynamic section: read as far as is referred to. */
static Elf64_Sym *read_syms(const struct reloc *r, u32 *cnt)
{
	u64 off;
	u8 *data;

	*cnt = 0;
	for (size_t i = 0; i < r->named.cnt; i++)
		if (r->named.v[i].sym < SYM_MAX)
			*cnt = MAX(*cnt, r->named.v[i].sym + 1);
	if (!*cnt || !elf_image__vaddr_to_off(r->t->img, r->dyn[DT_SYMTAB], &off) ||
	    elf_image__read(r->t->img, off, *cnt * sizeof(Elf64_Sym), &data))
		return NULL;
	return (Elf64_Sym *)data;
}

static int resolve(struct reloc *r, const char *strings)
{
	u32 cnt;
	Elf64_Sym *syms = read_syms(r, &cnt);
	int err = 0;

	for (size_t i = 0; syms && i < r->named.cnt && !err; i++) {
		struct text_slot slot = { .vaddr = r->named.v[i].vaddr };
		u32 sym = r->named.v[i].sym;

		if (sym >= cnt || syms[sym].st_name >= r->dyn[DT_STRSZ])
			continue;
		slot.row = probe_set__find(r->probes, strings + syms[sym].st_name);
		if (syms[sym].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(syms[sym].st_info) == STT_FUNC)
			text__vaddr_to_off(r->t, syms[sym].st_value, &slot.own);
		if (slot.row || slot.own)
			err = vec__push(&r->t->slots, slot);
	}
	free(syms);
	return err;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct text_slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Names that a file which throws, or lets pass what others throw, imports. */
static bool names_exceptions(const char *strings, size_t size)
{
	static const char *const words[] = {
		"__gxx_personality", "_Unwind_Resume", "__cxa_throw",
		"libstdc++",	     "libc++",	       "rust_eh_personality"
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (memmem(strings, size, words[i], strlen(words[i])))
			return true;
	return false;
}

int reloc__read(struct text *t, const struct probe_set *probes)
{
	struct reloc r = { .t = t, .probes = probes };
	char *strings;
	int err;

	for (u32 i = 0; i < t->img->ehdr.e_phnum; i++)
		if (t->img->phdrs[i].p_type == PT_DYNAMIC)
			read_dyn(&r, &t->img->phdrs[i]);
	err = read_rela(&r, r.dyn[DT_RELA], r.dyn[DT_RELASZ]);
	if (!err)
		err = read_rela(&r, r.dyn[DT_JMPREL], r.dyn[DT_PLTRELSZ]);
	strings = read_strings(&r);
	t->may_throw = !strings || names_exceptions(strings, r.dyn[DT_STRSZ]);
	if (strings && !err)
		err = resolve(&r, strings);
	if (strings && r.dyn[DT_SONAME] && r.dyn[DT_SONAME] < r.dyn[DT_STRSZ])
		strncpy(t->soname, strings + r.dyn[DT_SONAME], sizeof(t->soname) - 1);
	if (t->slots.cnt)
		qsort(t->slots.v, t->slots.cnt, sizeof(*t->slots.v), by_vaddr);
	free(strings);
	vec__free(&r.named);
	return err;
}
