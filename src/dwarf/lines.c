/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A unit's line table: the program of DWARF 2 to 5 (DWARF 5, 6.2) is run once, and its rows are
 * kept by sequence, as addresses only grow within one.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "dwarf/dwarf.h"

#define PATH_LEN_MAX 4096u
#define FORMATS_MAX  16u
#define LOOK_BACK    64 /* sequences that may lie in another one */

struct line_row {
	u64 addr;
	u32 file;
	u32 line;
};

/* Rows [first, first + cnt) are of the addresses [low, high). */
struct line_sequence {
	u64 low;
	u64 high;
	u32 first;
	u32 cnt;
};

struct line_file {
	struct dwarf_value name;
	u64 dir;
};

struct dwarf_lines {
	u16 version;
	VEC(struct line_row) rows;
	VEC(struct line_sequence) sequences;
	VEC(struct dwarf_value) dirs;
	VEC(struct line_file) files;
};

/* What the program is run with. */
struct program {
	struct dwarf_unit as; /* forms in its header: version and width are its own */
	struct dwarf_unit *u;
	struct dwarf_lines *l;
	struct cursor c;
	u8 min_size; /* of an instruction */
	int8_t line_base;
	u8 line_range;
	u8 opcode_base;
	const u8 *operand_cnts; /* of opcode n: [n - 1] */

	struct line_row at; /* the state that matters */
	size_t first;	    /* row of the sequence */
	bool damaged;	    /* it went back */
};

/* ---- the header ---- */

struct entry_format {
	u64 what[FORMATS_MAX];
	u16 form[FORMATS_MAX];
	u8 cnt;
};

static int read_format(struct cursor *c, struct entry_format *f)
{
	f->cnt = cursor__u8(c);
	if (f->cnt > FORMATS_MAX)
		return -EINVAL;
	for (u8 i = 0; i < f->cnt; i++) {
		u64 form;

		f->what[i] = cursor__uleb(c);
		form = cursor__uleb(c);
		f->form[i] = (u16)MIN(form, UINT16_MAX);
	}
	return c->bad ? -EINVAL : 0;
}

static int read_entry(struct program *p, const struct entry_format *f, struct line_file *file)
{
	struct dwarf_value v;
	int err = budget__steps(p->u->file->budget, f->cnt);

	*file = (struct line_file){};
	for (u8 i = 0; i < f->cnt && !err; i++) {
		err = dwarf_value__read(&p->as, &p->c, f->form[i], 0, &v);
		if (err)
			break;
		if (f->what[i] == DW_LNCT_path)
			file->name = v;
		else if (f->what[i] == DW_LNCT_directory_index)
			file->dir = v.n;
	}
	return err;
}

/* A count of entries; each has a byte at least. */
static int read_count(struct program *p, const struct entry_format *f, u64 *cnt)
{
	*cnt = cursor__uleb(&p->c);
	if (p->c.bad || (*cnt && !f->cnt) || *cnt > cursor__left(&p->c))
		return -EINVAL;
	return 0;
}

static int read_tables_v5(struct program *p)
{
	struct entry_format f;
	struct line_file file;
	u64 cnt;
	int err = read_format(&p->c, &f);

	if (!err)
		err = read_count(p, &f, &cnt);
	for (u64 i = 0; !err && i < cnt; i++) {
		err = read_entry(p, &f, &file);
		if (!err)
			err = vec__push(&p->l->dirs, file.name);
	}
	if (!err)
		err = read_format(&p->c, &f);
	if (!err)
		err = read_count(p, &f, &cnt);
	for (u64 i = 0; !err && i < cnt; i++) {
		err = read_entry(p, &f, &file);
		if (!err)
			err = vec__push(&p->l->files, file);
	}
	return err;
}

/* The string at the cursor; false: the empty one that ends a table. */
static bool read_string(struct program *p, struct dwarf_value *v)
{
	return !dwarf_value__read(&p->as, &p->c, DW_FORM_string, 0, v) && v->n;
}

/* The name was read already. */
static int add_file(struct program *p, const struct dwarf_value *name)
{
	struct line_file file = { .name = *name };

	file.dir = cursor__uleb(&p->c);
	cursor__uleb(&p->c); /* time, size */
	cursor__uleb(&p->c);
	return vec__push(&p->l->files, file);
}

static int read_tables(struct program *p)
{
	struct dwarf_value v;
	int err = 0;

	while (!err && read_string(p, &v))
		err = vec__push(&p->l->dirs, v);
	while (!err && read_string(p, &v))
		err = add_file(p, &v);
	return p->c.bad ? -EINVAL : err;
}

/* Leaves the cursor at the program, with its end. */
static int read_header(struct program *p)
{
	struct cursor *c = &p->c;
	u64 len = cursor__u32(c), header;
	const u8 *begin;
	int err;

	p->as.is64 = len == UINT32_MAX;
	if (p->as.is64)
		len = cursor__u64(c);
	if (c->bad || len > cursor__left(c))
		return -EINVAL;
	c->end = c->p + len;
	p->l->version = p->as.version = cursor__u16(c);
	if (p->as.version < 2 || p->as.version > 5)
		return -EINVAL;
	if (p->as.version == 5 && (cursor__u8(c) != 8 || cursor__u8(c)))
		return -EINVAL; /* sizes of addresses and of segment selectors */
	header = p->as.is64 ? cursor__u64(c) : cursor__u32(c);
	if (c->bad || header > cursor__left(c))
		return -EINVAL;
	begin = c->p + header;
	p->min_size = cursor__u8(c);
	if (p->as.version >= 4)
		cursor__u8(c); /* operations in an instruction: 1, but on VLIW machines */
	cursor__u8(c);
	p->line_base = (int8_t)cursor__u8(c);
	p->line_range = cursor__u8(c);
	p->opcode_base = cursor__u8(c);
	p->operand_cnts = cursor__take(c, p->opcode_base ? p->opcode_base - 1 : 0);
	if (c->bad || !p->line_range || !p->opcode_base)
		return -EINVAL;
	err = p->as.version == 5 ? read_tables_v5(p) : read_tables(p);
	c->p = begin;
	return err;
}

/* ---- the program ---- */

static int program__emit(struct program *p)
{
	struct dwarf_lines *l = p->l;
	struct line_row *last = l->rows.cnt > p->first ? &l->rows.v[l->rows.cnt - 1] : NULL;

	if (last && p->at.addr < last->addr)
		p->damaged = true;
	if (last && last->addr == p->at.addr) {
		*last = p->at; /* no instruction was of the one before */
		return 0;
	}
	if (last && last->file == p->at.file && last->line == p->at.line)
		return 0;
	if (l->rows.cnt == UINT32_MAX || budget__bytes(p->u->file->budget, sizeof(p->at)))
		return -E2BIG;
	return vec__push(&l->rows, p->at);
}

static void program__reset(struct program *p)
{
	p->at = (struct line_row){ .file = 1, .line = 1 };
	p->first = p->l->rows.cnt;
	p->damaged = false;
}

static int program__end_sequence(struct program *p)
{
	struct dwarf_lines *l = p->l;
	struct line_sequence s = { .high = p->at.addr, .first = (u32)p->first };
	int err = 0;

	s.cnt = (u32)(l->rows.cnt - p->first);
	s.low = s.cnt ? l->rows.v[p->first].addr : 0;
	/* Those of functions that the linker threw away begin at 0, or at the highest addresses. */
	if (p->damaged || !s.low || s.high <= s.low)
		l->rows.cnt = p->first;
	else
		err = vec__push(&l->sequences, s);
	program__reset(p);
	return err;
}

static int program__extended(struct program *p)
{
	u64 len = cursor__uleb(&p->c);
	struct cursor all = p->c, c;
	struct dwarf_value v;
	u8 opcode;
	int err = 0;

	if (!cursor__take(&p->c, len) || !len)
		return p->c.bad ? -EINVAL : 0;
	c = (struct cursor){ .p = all.p, .end = p->c.p };
	opcode = cursor__u8(&c);
	switch (opcode) {
	case DW_LNE_end_sequence:
		return program__end_sequence(p);
	case DW_LNE_set_address:
		p->at.addr = len == 9 ? cursor__u64(&c) : 0;
		return 0;
	case DW_LNE_define_file:
		all = p->c;
		p->c = c;
		if (read_string(p, &v))
			err = add_file(p, &v);
		p->c = all;
		return err;
	default:
		return 0;
	}
}

static void program__special(struct program *p, u8 opcode)
{
	u8 n = opcode - p->opcode_base;

	p->at.addr += (u64)(n / p->line_range) * p->min_size;
	p->at.line += (u32)(p->line_base + n % p->line_range);
}

static int program__standard(struct program *p, u8 opcode)
{
	u64 n;

	switch (opcode) {
	case DW_LNS_copy:
		return program__emit(p);
	case DW_LNS_advance_pc:
		p->at.addr += cursor__uleb(&p->c) * p->min_size;
		break;
	case DW_LNS_advance_line:
		p->at.line += (u32)cursor__sleb(&p->c);
		break;
	case DW_LNS_set_file:
		n = cursor__uleb(&p->c);
		p->at.file = (u32)MIN(n, UINT32_MAX);
		break;
	case DW_LNS_const_add_pc:
		p->at.addr += (u64)((255 - p->opcode_base) / p->line_range) * p->min_size;
		break;
	case DW_LNS_fixed_advance_pc:
		p->at.addr += cursor__u16(&p->c);
		break;
	default:
		for (u8 i = 0; i < p->operand_cnts[opcode - 1] && !p->c.bad; i++)
			cursor__uleb(&p->c);
	}
	return 0;
}

static int program__run(struct program *p)
{
	int err = 0;

	program__reset(p);
	while (!err && cursor__left(&p->c)) {
		u8 opcode = cursor__u8(&p->c);

		err = budget__steps(p->u->file->budget, 1);
		if (err)
			break;
		if (opcode >= p->opcode_base) {
			program__special(p, opcode);
			err = program__emit(p);
		} else if (opcode) {
			err = program__standard(p, opcode);
		} else {
			err = program__extended(p);
		}
	}
	/* What isn't ended isn't of any addresses. */
	p->l->rows.cnt = MIN(p->l->rows.cnt, p->first);
	return err == -EINVAL ? 0 : err;
}

/* ---- the table ---- */

static int sequence__compare(const void *a, const void *b)
{
	const struct line_sequence *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high > y->high ? -1 : x->high < y->high;
}

static int lines__read(struct dwarf_unit *u, struct dwarf_lines *l)
{
	const struct dwarf_value *at = &u->root.v[ATTR_STMT_LIST];
	struct program p = { .u = u, .l = l };
	const u8 *data;
	u64 size;
	int err;

	if (!at->form)
		return -EINVAL;
	err = dwarf_file__section(u->file, DWARF_LINE, &data, &size);
	if (!err && at->n >= size)
		err = -EINVAL;
	if (err)
		return err;
	p.c = (struct cursor){ .p = data + at->n, .end = data + size };
	err = read_header(&p);
	if (!err)
		err = program__run(&p);
	if (!err)
		err = budget__bytes(u->file->budget, l->files.cap * sizeof(*l->files.v));
	if (!err && l->sequences.cnt)
		qsort(l->sequences.v, l->sequences.cnt, sizeof(*l->sequences.v), sequence__compare);
	return err;
}

void dwarf_lines__free(struct dwarf_lines *l)
{
	if (!l)
		return;
	vec__free(&l->rows);
	vec__free(&l->sequences);
	vec__free(&l->dirs);
	vec__free(&l->files);
	free(l);
}

int dwarf_unit__read_lines(struct dwarf_unit *u)
{
	struct dwarf_lines *l;
	int err;

	if (u->lines || u->lines_err)
		return u->lines_err;
	err = dwarf_unit__load(u);
	l = err ? NULL : calloc(1, sizeof(*l));
	if (!err)
		err = l ? lines__read(u, l) : -ENOMEM;
	if (err) {
		dwarf_lines__free(l);
		u->lines_err = err;
		return err;
	}
	u->lines = l;
	return 0;
}

static const struct line_sequence *lines__sequence(const struct dwarf_lines *l, u64 pc)
{
	size_t low = 0, high = l->sequences.cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->sequences.v[mid].low <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	for (u32 i = 0; i < LOOK_BACK && low; i++, low--) {
		if (pc < l->sequences.v[low - 1].high)
			return &l->sequences.v[low - 1];
	}
	return NULL;
}

bool dwarf_unit__line(const struct dwarf_unit *u, u64 pc, u64 *file, u32 *line)
{
	const struct line_sequence *s = lines__sequence(u->lines, pc);
	const struct line_row *rows;
	size_t low = 0, high;

	if (!s)
		return false;
	rows = u->lines->rows.v + s->first;
	high = s->cnt;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows[mid].addr <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*file = rows[low - 1].file;
	*line = rows[low - 1].line;
	return true;
}

/* ---- paths ---- */

/* Puts a part before what is there, unless that is absolute already. */
static int path__below(struct dwarf_unit *u, const struct dwarf_value *v, struct arena *scratch,
		       const char **path)
{
	const char *dir;
	size_t dir_len, len = strlen(*path);
	char *joined;
	int err;

	if (**path == '/')
		return 0;
	err = dwarf_value__string(u, v, scratch, &dir);
	if (err || !dir || !*dir)
		return err;
	dir_len = strlen(dir);
	if (dir_len + 1 + len > PATH_LEN_MAX)
		return -EINVAL;
	joined = arena__alloc(scratch, dir_len + len + 2);
	if (!joined)
		return -ENOMEM;
	memcpy(joined, dir, dir_len);
	joined[dir_len] = '/';
	memcpy(joined + dir_len + (dir[dir_len - 1] != '/'), *path, len + 1);
	*path = joined;
	return 0;
}

static int path__make(struct dwarf_unit *u, u64 number, struct arena *scratch, const char **path)
{
	const struct dwarf_lines *l = u->lines;
	bool v5 = l->version == 5;
	const struct line_file *f;
	int err;

	*path = NULL;
	number -= !v5; /* files are counted from 1, and directories, too: 0 is the unit's */
	if (number >= l->files.cnt)
		return 0;
	f = &l->files.v[number];
	err = dwarf_value__string(u, &f->name, scratch, path);
	if (err || !*path)
		return err;
	if (v5 || f->dir) {
		u64 dir = f->dir - !v5;

		if (dir < l->dirs.cnt)
			err = path__below(u, &l->dirs.v[dir], scratch, path);
	}
	return err ? err : path__below(u, &u->root.v[ATTR_COMP_DIR], scratch, path);
}

int dwarf_unit__path(struct dwarf_unit *u, u64 number, struct arena *arena, const char **path)
{
	struct arena scratch = {};
	struct str clean = {};
	const char *raw;
	int err = path__make(u, number, &scratch, &raw);

	*path = NULL;
	if (!err && raw && *raw) {
		str__add_utf8(&clean, raw, strlen(raw), true);
		*path = clean.oom ? NULL : arena__intern(arena, clean.s);
		err = *path ? 0 : -ENOMEM;
	}
	str__free(&clean);
	arena__free(&scratch);
	return err;
}
