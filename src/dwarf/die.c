/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of the tree: abbreviations, forms, and what a value refers to (DWARF 5, 7.5; GNU's forms
 * for split units and supplementary files as in GCC's and binutils' documentation).
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dwarf/dwarf.h"

#define NAME_HOPS   16 /* from an entry to the one with its name; real ones need 3 */
#define STRING_MAX  65536u
#define STRING_PART 256u

struct attr_spec {
	int8_t slot; /* enum dwarf_attr, -1 of no interest */
	u16 form;
	s64 implicit;
};

struct abbrev {
	u64 code;
	u32 tag;
	bool has_children;
	u32 first; /* of specs */
	u32 cnt;
};

struct abbrevs {
	VEC(struct abbrev) v; /* [code - 1] where codes are as compilers give them */
	struct map by_code;   /* of the others: code -> index */
	VEC(struct attr_spec) specs;
};

/* ---- abbreviations ---- */

static int8_t slot_of(u64 attr)
{
	switch (attr) {
	case DW_AT_name:
		return ATTR_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return ATTR_LINKAGE_NAME;
	case DW_AT_low_pc:
		return ATTR_LOW_PC;
	case DW_AT_high_pc:
		return ATTR_HIGH_PC;
	case DW_AT_ranges:
		return ATTR_RANGES;
	case DW_AT_abstract_origin:
		return ATTR_ORIGIN;
	case DW_AT_specification:
		return ATTR_SPECIFICATION;
	case DW_AT_call_file:
		return ATTR_CALL_FILE;
	case DW_AT_call_line:
		return ATTR_CALL_LINE;
	case DW_AT_stmt_list:
		return ATTR_STMT_LIST;
	case DW_AT_comp_dir:
		return ATTR_COMP_DIR;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return ATTR_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return ATTR_DWO_ID;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return ATTR_ADDR_BASE;
	case DW_AT_str_offsets_base:
		return ATTR_STR_BASE;
	case DW_AT_rnglists_base:
		return ATTR_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base:
		return ATTR_GNU_RANGES_BASE;
	default:
		return -1;
	}
}

/* Attributes of the abbreviation at the cursor, up to the pair of zeros. */
static int abbrevs__read_specs(struct abbrevs *a, struct cursor *c, struct abbrev *abbrev)
{
	while (!c->bad) {
		u64 name = cursor__uleb(c), form = cursor__uleb(c);
		struct attr_spec spec = { .slot = slot_of(name), .form = (u16)form };

		if (form == DW_FORM_implicit_const)
			spec.implicit = cursor__sleb(c);
		if (!name && !form)
			break;
		if (form > UINT16_MAX || abbrev->cnt == UINT16_MAX)
			return -EINVAL;
		if (vec__push(&a->specs, spec))
			return -ENOMEM;
		abbrev->cnt++;
	}
	return c->bad ? -EINVAL : 0;
}

static int abbrevs__read(struct abbrevs *a, struct cursor *c)
{
	int err = 0;

	while (!err) {
		struct abbrev abbrev = { .code = cursor__uleb(c), .first = (u32)a->specs.cnt };

		/* The table may end with the section, without the 0. */
		if (c->bad || !abbrev.code)
			break;
		abbrev.tag = (u32)cursor__uleb(c);
		abbrev.has_children = cursor__u8(c);
		err = abbrevs__read_specs(a, c, &abbrev);
		if (!err && abbrev.code != a->v.cnt + 1)
			err = map__put(&a->by_code, abbrev.code, a->v.cnt);
		if (!err)
			err = vec__push(&a->v, abbrev);
	}
	return err;
}

void abbrevs__free(struct abbrevs *a)
{
	vec__free(&a->v);
	vec__free(&a->specs);
	map__free(&a->by_code);
	free(a);
}

static const struct abbrev *abbrevs__find(const struct abbrevs *a, u64 code)
{
	u64 at = code - 1;

	if (at < a->v.cnt && a->v.v[at].code == code)
		return &a->v.v[at];
	return map__get(&a->by_code, code, &at) ? &a->v.v[at] : NULL;
}

static int file__make_abbrevs(struct dwarf_file *f, u64 off, struct abbrevs **out)
{
	struct abbrevs *a;
	struct cursor c;
	const u8 *data;
	u64 size;
	int err = dwarf_file__section(f, DWARF_ABBREV, &data, &size);

	if (err)
		return err;
	if (off >= size)
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	c = (struct cursor){ .p = data + off, .end = data + size };
	err = abbrevs__read(a, &c);
	if (!err)
		err = budget__steps(f->budget, (u64)(c.p - data) - off);
	if (!err)
		err = budget__bytes(f->budget, a->specs.cap * sizeof(*a->specs.v) +
						       a->v.cap * sizeof(*a->v.v));
	if (!err)
		err = map__put(&f->abbrevs, off, (uintptr_t)a);
	if (err) {
		abbrevs__free(a);
		return err;
	}
	*out = a;
	return 0;
}

int dwarf_unit__read_abbrevs(struct dwarf_unit *u)
{
	u64 val;

	if (u->abbrevs)
		return 0;
	if (map__get(&u->file->abbrevs, u->abbrev_off, &val)) {
		u->abbrevs = (void *)(uintptr_t)val;
		return 0;
	}
	return file__make_abbrevs(u->file, u->abbrev_off, &u->abbrevs);
}

/* ---- values ---- */

static u64 read_offset(const struct dwarf_unit *u, struct cursor *c)
{
	return u->is64 ? cursor__u64(c) : cursor__u32(c);
}

static u64 read_u24(struct cursor *c)
{
	const u8 *p = cursor__take(c, 3);

	return p ? p[0] | p[1] << 8 | p[2] << 16 : 0;
}

static void skip_string(struct cursor *c, struct dwarf_value *v)
{
	const u8 *end = memchr(c->p, '\0', cursor__left(c));

	v->p = c->p;
	v->n = end ? (u64)(end - c->p) : 0;
	cursor__take(c, end ? v->n + 1 : UINT64_MAX);
}

static void skip_block(struct cursor *c, u64 len, struct dwarf_value *v)
{
	v->n = len;
	v->p = cursor__take(c, len);
}

/* Numbers of a fixed size; false: another form. */
static bool read_fixed(const struct dwarf_unit *u, struct cursor *c, u16 form, u64 *n)
{
	switch (form) {
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		*n = cursor__u8(c);
		return true;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		*n = cursor__u16(c);
		return true;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		*n = read_u24(c);
		return true;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		*n = cursor__u32(c);
		return true;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		*n = cursor__u64(c);
		return true;
	case DW_FORM_ref_addr:
		*n = u->version < 3 ? cursor__u64(c) : read_offset(u, c);
		return true;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		*n = read_offset(u, c);
		return true;
	default:
		return false;
	}
}

int dwarf_value__read(const struct dwarf_unit *u, struct cursor *c, u16 form, s64 implicit,
		      struct dwarf_value *v)
{
	if (form == DW_FORM_indirect) {
		u64 n = cursor__uleb(c);

		form = (u16)MIN(n, UINT16_MAX);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			return -EINVAL;
	}
	*v = (struct dwarf_value){ .form = form };
	if (read_fixed(u, c, form, &v->n))
		return c->bad ? -EINVAL : 0;
	switch (form) {
	case DW_FORM_sdata:
		v->n = (u64)cursor__sleb(c);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		v->n = cursor__uleb(c);
		break;
	case DW_FORM_string:
		skip_string(c, v);
		break;
	case DW_FORM_block1:
		skip_block(c, cursor__u8(c), v);
		break;
	case DW_FORM_block2:
		skip_block(c, cursor__u16(c), v);
		break;
	case DW_FORM_block4:
		skip_block(c, cursor__u32(c), v);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		skip_block(c, cursor__uleb(c), v);
		break;
	case DW_FORM_data16:
		skip_block(c, 16, v);
		break;
	case DW_FORM_flag_present:
		v->n = 1;
		break;
	case DW_FORM_implicit_const:
		v->n = (u64)implicit;
		break;
	default:
		return -EINVAL;
	}
	return c->bad ? -EINVAL : 0;
}

static bool tag__has_interest(u32 tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit ||
	       tag == DW_TAG_partial_unit;
}

int dwarf_die__read(struct dwarf_unit *u, struct cursor *c, struct dwarf_die *die)
{
	u64 code = cursor__uleb(c);
	const struct abbrev *abbrev;
	struct dwarf_value skipped;
	bool keep;
	int err;

	die->tag = 0;
	die->has_children = false;
	if (!code || c->bad)
		return c->bad ? -EINVAL : 0;
	abbrev = abbrevs__find(u->abbrevs, code);
	if (!abbrev)
		return -EINVAL;
	die->tag = abbrev->tag;
	die->has_children = abbrev->has_children;
	keep = tag__has_interest(abbrev->tag);
	if (keep)
		memset(die->v, 0, sizeof(die->v));
	err = budget__steps(u->file->budget, abbrev->cnt + 1);
	for (u32 i = 0; i < abbrev->cnt && !err; i++) {
		const struct attr_spec *spec = &u->abbrevs->specs.v[abbrev->first + i];
		struct dwarf_value *v = keep && spec->slot >= 0 ? &die->v[spec->slot] : &skipped;

		err = dwarf_value__read(u, c, spec->form, spec->implicit, v);
	}
	return err;
}

/* ---- strings ---- */

static int file__string(struct dwarf_file *f, enum dwarf_section sec, u64 off, struct arena *arena,
			const char **s)
{
	for (u64 part = STRING_PART; part <= STRING_MAX; part *= STRING_MAX / STRING_PART) {
		CLEANUP(free__p) u8 *own = NULL;
		const u8 *data;
		u64 got;
		int err = dwarf_file__part(f, sec, off, part, &data, &got, &own);

		if (err)
			return err;
		/* The longest one is cut: a name of 64 KiB says enough. */
		if (got == part && part < STRING_MAX && !memchr(data, '\0', got))
			continue;
		*s = arena__strndup(arena, (const char *)data, strnlen((const char *)data, got));
		return *s ? 0 : -ENOMEM;
	}
	return -EINVAL;
}

/* Offset number `index` in a section of offsets. */
static int indexed_offset(struct dwarf_unit *u, enum dwarf_section sec, u64 base, u64 index,
			  u64 *off)
{
	u64 size, width = u->is64 ? 8 : 4, pos;
	const u8 *data;
	int err = dwarf_file__section(u->file, sec, &data, &size);

	if (err)
		return err;
	if (__builtin_mul_overflow(index, width, &pos) || __builtin_add_overflow(pos, base, &pos) ||
	    pos > size || width > size - pos)
		return -EINVAL;
	*off = 0;
	memcpy(off, data + pos, width);
	return 0;
}

int dwarf_value__string(struct dwarf_unit *u, const struct dwarf_value *v, struct arena *arena,
			const char **s)
{
	u64 off = v->n;
	int err;

	*s = NULL;
	switch (v->form) {
	case 0:
		return 0;
	case DW_FORM_string:
		*s = arena__strndup(arena, (const char *)v->p, MIN(v->n, STRING_MAX));
		return *s ? 0 : -ENOMEM;
	case DW_FORM_strp:
		return file__string(u->file, DWARF_STR, off, arena, s);
	case DW_FORM_line_strp:
		return file__string(u->file, DWARF_LINE_STR, off, arena, s);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		err = indexed_offset(u, DWARF_STR_OFFSETS, u->str_base, off, &off);
		return err ? err : file__string(u->file, DWARF_STR, off, arena, s);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return u->file->alt ? file__string(u->file->alt, DWARF_STR, off, arena, s)
				    : -EINVAL;
	default:
		return -EINVAL;
	}
}

/* ---- references ---- */

int dwarf_value__ref(struct dwarf_unit *u, const struct dwarf_value *v, struct dwarf_unit **unit,
		     u64 *off)
{
	struct dwarf_file *f = u->file;

	*off = v->n;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (v->n >= u->size)
			return -EINVAL;
		*off += u->off;
		*unit = u;
		return 0;
	case DW_FORM_ref_addr:
		break;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		f = u->file->alt;
		break;
	default:
		return -EINVAL;
	}
	*unit = f ? dwarf_file__unit_at(f, *off) : NULL;
	return *unit ? 0 : -EINVAL;
}

int dwarf_unit__die_at(struct dwarf_unit *u, u64 info_off, struct dwarf_die *die)
{
	int err = dwarf_unit__load(u);
	u64 pos = info_off - u->off;
	struct cursor c;

	if (err)
		return err;
	if (info_off < u->off || pos < u->header_size || pos >= u->size)
		return -EINVAL;
	c = (struct cursor){ .p = u->data + pos, .end = u->data + u->size };
	return dwarf_die__read(u, &c, die);
}

/* An entry may refer to itself, by a detour perhaps: so few hops that it needn't be noticed. */
int dwarf_unit__function_name(struct dwarf_unit *u, u64 info_off, struct arena *arena,
			      const char **s)
{
	const char *name = NULL;
	int err = 0;

	for (u32 i = 0; i < NAME_HOPS && !err; i++) {
		struct dwarf_die die = {};
		const struct dwarf_value *next;

		err = dwarf_unit__die_at(u, info_off, &die);
		if (err || !tag__has_interest(die.tag))
			break;
		err = dwarf_value__string(u, &die.v[ATTR_LINKAGE_NAME], arena, s);
		if (!err && *s)
			return 0;
		if (!err && !name)
			err = dwarf_value__string(u, &die.v[ATTR_NAME], arena, &name);
		next = &die.v[die.v[ATTR_ORIGIN].form ? ATTR_ORIGIN : ATTR_SPECIFICATION];
		if (err || !next->form)
			break;
		err = dwarf_value__ref(u, next, &u, &info_off);
	}
	*s = name;
	return name && err != -ENOMEM ? 0 : err;
}
