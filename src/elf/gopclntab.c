/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads Go's function table. See the header. */
#include "elf/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"

#define HEADER_SIZE    72 /* of the longest format */
#define NAME_LEN_MAX   65535u
#define DEPTH_ROWS_MAX 65536u /* of one function */
#define RELA_CHUNK     4096u

/* What has changed over time. Offsets into a function's record are in bytes. */
struct gopclntab_format {
	u32 magic;
	bool absolute; /* entries are addresses of 8 bytes, else distances of 4 */
	u8 first_word; /* of the header that is the names' offset; words begin at byte 8 */
	u8 flags;      /* funcFlag_TOPFRAME and so on; 0: it has none */
};

static const struct gopclntab_format formats[] = {
	{ 0xfffffffa, true, 2, 41 },  /* Go 1.16 (no flags, a 0 there) and 1.17 */
	{ 0xfffffff0, false, 3, 37 }, /* 1.18 */
	{ 0xfffffff1, false, 3, 41 }, /* 1.20 */
};

#define FLAG_TOPFRAME 1
#define FLAG_SPWRITE  2

static u64 word_at(const u8 *data, u32 index)
{
	u64 val;

	memcpy(&val, data + 8 + 8 * (size_t)index, sizeof(val));
	return val;
}

static const struct gopclntab_format *format_of(const u8 *data)
{
	u32 magic;

	memcpy(&magic, data, sizeof(magic));
	/* Two zeros, instructions of 1 byte, pointers of 8. */
	if (memcmp(data + 4, "\0\0\1\10", 4))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].magic == magic)
			return &formats[i];
	return NULL;
}

/* ---- where the text begins ---- */

static bool is_code(const struct elf_image *img, u64 vaddr)
{
	for (u32 i = 0; i < img->ehdr.e_phnum; i++) {
		const Elf64_Phdr *ph = &img->phdrs[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X &&
		    vaddr - ph->p_vaddr < ph->p_filesz)
			return true;
	}
	return false;
}

/* The value that the loader stores at the address; 0 when it stores none. 0 or -ENOMEM. */
static int find_relocated(const struct elf_image *img, const Elf64_Shdr *sh, u64 vaddr, u64 *val)
{
	u64 cnt = sh->sh_size / sizeof(Elf64_Rela);

	for (u64 i = 0; i < cnt && !*val; i += RELA_CHUNK) {
		CLEANUP(free__p) u8 *data = NULL;
		u64 n = MIN(cnt - i, RELA_CHUNK);
		int err = elf_image__read(img, sh->sh_offset + i * sizeof(Elf64_Rela),
					  n * sizeof(Elf64_Rela), &data);

		if (err)
			return err == -ENOMEM ? err : 0;
		for (u64 k = 0; k < n && !*val; k++) {
			Elf64_Rela rela;

			memcpy(&rela, data + k * sizeof(rela), sizeof(rela));
			if (rela.r_offset == vaddr &&
			    ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				*val = (u64)rela.r_addend;
		}
	}
	return 0;
}

/*
 * The header has it since 1.18; in position-independent programs the loader fills it in, and since
 * 1.26 it is 0: then the text section tells, which begins with Go's code where no C is linked in.
 */
static int find_text(struct gopclntab *t, const struct elf_image *img, u64 table_vaddr)
{
	const Elf64_Shdr *text = elf_image__section(img, ".text");
	int err = 0;

	t->text = word_at(t->data, 2);
	for (u32 i = 0; i < img->shdr_cnt && !err && !t->text; i++)
		if (img->shdrs[i].sh_type == SHT_RELA)
			err = find_relocated(img, &img->shdrs[i], table_vaddr + 8 + 8 * 2,
					     &t->text);
	if (!err && !is_code(img, t->text) && text)
		t->text = text->sh_addr;
	return err;
}

/* ---- the table ---- */

static u32 entry_size(const struct gopclntab *t)
{
	return t->format->absolute ? 8 : 4;
}

/* A number of entry_size() bytes. */
static bool read_entry(const struct gopclntab *t, u64 pos, u64 *val)
{
	if (pos > t->size || entry_size(t) > t->size - pos)
		return false;
	*val = 0;
	memcpy(val, t->data + pos, entry_size(t));
	return true;
}

static bool read_u32(const struct gopclntab *t, u64 pos, u32 *val)
{
	if (pos > t->size || sizeof(*val) > t->size - pos)
		return false;
	memcpy(val, t->data + pos, sizeof(*val));
	return true;
}

static bool read_header(struct gopclntab *t)
{
	u32 first;

	if (t->size < HEADER_SIZE)
		return false;
	t->format = format_of(t->data);
	if (!t->format)
		return false;
	first = t->format->first_word; /* names, units, files, depths, functions */
	t->func_cnt = word_at(t->data, 0);
	t->names = word_at(t->data, first);
	t->units = word_at(t->data, first + 1);
	t->files = word_at(t->data, first + 2);
	t->depths = word_at(t->data, first + 3);
	t->funcs = word_at(t->data, first + 4);
	/* Pairs (entry, record), and one entry more for the end of the last function. */
	return t->names < t->size && t->depths < t->size && t->funcs < t->size &&
	       t->func_cnt < (t->size - t->funcs) / (2 * entry_size(t));
}

/*
 * A section of its own; but C's linker puts a position-independent program's table in with other
 * read-only data.
 */
static const Elf64_Shdr *find_section(const struct elf_image *img)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	const Elf64_Shdr *sh;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		sh = elf_image__section(img, names[i]);
		if (sh)
			return sh;
	}
	return elf_image__section(img, ".go.buildinfo") ? elf_image__section(img, ".data.rel.ro")
							: NULL;
}

/* Tables begin at multiples of 32. The first that can be one is taken. */
static bool find_table(struct gopclntab *t, const Elf64_Shdr *sh, size_t section_size)
{
	for (u64 pos = -sh->sh_addr % 32; pos < section_size; pos += 32) {
		t->data = t->section + pos;
		t->size = section_size - pos;
		if (read_header(t))
			return true;
	}
	return false;
}

int gopclntab__open(struct gopclntab *t, const struct elf_image *img)
{
	const Elf64_Shdr *sh = find_section(img);
	size_t size;
	int err;

	*t = (struct gopclntab){};
	if (!sh)
		return 0;
	err = elf_image__read_section(img, sh, &t->section, &size);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!find_table(t, sh, size)) {
		gopclntab__close(t);
		return 0;
	}
	if (!t->format->absolute)
		err = find_text(t, img, sh->sh_addr + (u64)(t->data - t->section));
	if (err)
		gopclntab__close(t);
	return err;
}

void gopclntab__close(struct gopclntab *t)
{
	free(t->section);
	*t = (struct gopclntab){};
}

/* ---- stack depths ---- */

static bool read_varint(const struct gopclntab *t, u64 *pos, u32 *val)
{
	*val = 0;
	for (u32 shift = 0; shift < 35; shift += 7) {
		u8 byte;

		if (*pos >= t->size)
			return false;
		byte = t->data[(*pos)++];
		*val |= (u32)((u64)(byte & 0x7f) << shift);
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Pairs of differences: of the value (zigzag, from -1) and of the address (runtime.step). */
bool gopclntab__next_depth(const struct gopclntab *t, struct go_depth *d)
{
	u32 value, size;

	if (!d->func->depths)
		return false;
	if (!d->pos) {
		d->pos = d->func->depths;
		d->depth = -1;
	}
	if (!read_varint(t, &d->pos, &value) || (!value && d->end) ||
	    !read_varint(t, &d->pos, &size) || !size)
		return false;
	d->depth = (s32)((u32)d->depth + (value & 1 ? ~(value >> 1) : value >> 1));
	d->start = d->end;
	d->end += size;
	return true;
}

/* ---- functions ---- */

/* What all functions together may still read: tables that overlap would take for ever. */
struct each {
	const struct gopclntab *t;
	u64 left;
};

static bool read_name(struct each *e, u64 record, struct go_func *f)
{
	const struct gopclntab *t = e->t;
	u32 off;

	if (!read_u32(t, record + entry_size(t), &off) || off >= t->size - t->names)
		return false;
	f->name = (const char *)t->data + t->names + off;
	f->name_len = strnlen(f->name, MIN(t->size - t->names - off, NAME_LEN_MAX));
	e->left -= MIN(e->left, f->name_len + 1);
	return f->name_len && !f->name[f->name_len];
}

/* Depths end with the function, before padding. */
static void trim_size(struct each *e, struct go_func *f)
{
	struct go_depth d = { .func = f };
	u32 rows = 0;

	while (rows < DEPTH_ROWS_MAX && gopclntab__next_depth(e->t, &d))
		rows++;
	e->left -= MIN(e->left, (u64)2 * rows);
	if (d.end)
		f->size = MIN(f->size, d.end);
	else
		f->depths = 0;
}

static bool read_func(struct each *e, u64 i, struct go_func *f)
{
	const struct gopclntab *t = e->t;
	u32 size = entry_size(t), flags = 0, off;
	u64 pos = t->funcs + i * 2 * size, start, record, end;

	*f = (struct go_func){};
	if (!read_entry(t, pos, &start) || !read_entry(t, pos + size, &record) ||
	    !read_entry(t, pos + 2 * (u64)size, &end) || end <= start ||
	    record >= t->size - t->funcs)
		return false;
	record += t->funcs;
	f->vaddr = start + (t->format->absolute ? 0 : t->text);
	f->size = end - start;
	/* name, arguments, deferreturn, stack depths: 4 bytes each. */
	if (!read_name(e, record, f) || !read_u32(t, record + size + 12, &off))
		return false;
	if (off && off < t->size - t->depths)
		f->depths = t->depths + off;
	trim_size(e, f);
	if (read_u32(t, record + t->format->flags, &flags)) {
		f->outermost = flags & FLAG_TOPFRAME;
		f->switches_stack = flags & FLAG_SPWRITE;
	}
	return true;
}

int gopclntab__each(const struct gopclntab *t, go_func_fn fn, void *arg)
{
	struct each e = { .t = t, .left = 8 * (u64)t->size };
	struct go_func f;
	int ret = 0;

	for (u64 i = 0; i < t->func_cnt && e.left && !ret; i++)
		if (read_func(&e, i, &f))
			ret = fn(arg, &f);
	return ret;
}

/* ---- lines ---- */

/* The number of the function that begins last before the address, or at it. */
static bool find_func(const struct gopclntab *t, u64 vaddr, u64 *found)
{
	u64 low = 0, high = t->func_cnt, base = t->format->absolute ? 0 : t->text, start;

	while (low < high) {
		u64 mid = low + (high - low) / 2;

		if (!read_entry(t, t->funcs + mid * 2 * entry_size(t), &start))
			return false;
		if (base + start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	*found = low - 1;
	return low;
}

/* What a table of the function (that of files, of lines) says about the place. Such a table has the
 * form of that of stack depths. */
static bool value_at(const struct gopclntab *t, u64 field, u64 place, u32 *val)
{
	struct go_func f = {};
	struct go_depth d = { .func = &f };
	u32 off;

	if (!read_u32(t, field, &off) || !off || off >= t->size - t->depths)
		return false;
	f.depths = t->depths + off;
	for (u32 i = 0; i < DEPTH_ROWS_MAX && gopclntab__next_depth(t, &d); i++) {
		if (place < d.end) {
			*val = (u32)d.depth;
			return d.depth >= 0;
		}
	}
	return false;
}

bool gopclntab__line(const struct gopclntab *t, u64 vaddr, const char **file, size_t *file_len,
		     u32 *line)
{
	struct each e = { .t = t, .left = 8 * (u64)t->size };
	u32 number, first, off;
	struct go_func f;
	u64 record, i;

	if (!find_func(t, vaddr, &i) || !read_func(&e, i, &f) || vaddr - f.vaddr >= f.size)
		return false;
	/* read_func() has looked at it */
	read_entry(t, t->funcs + i * 2 * entry_size(t) + entry_size(t), &record);
	record += t->funcs + entry_size(t);
	if (!value_at(t, record + 16, vaddr - f.vaddr, &number) ||
	    !value_at(t, record + 20, vaddr - f.vaddr, line) || !read_u32(t, record + 28, &first) ||
	    t->units > t->size || t->files > t->size ||
	    !read_u32(t, t->units + 4 * ((u64)first + number), &off) || off >= t->size - t->files)
		return false;
	*file = (const char *)t->data + t->files + off;
	*file_len = strnlen(*file, MIN(t->size - t->files - off, NAME_LEN_MAX));
	return *file_len;
}
