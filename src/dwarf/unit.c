/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units: their headers, which addresses are whose, and the split half of a skeleton. Of a unit that
 * no address leads to, only the header and the root entry are read.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dwarf/dwarf.h"

#define HEADER_MAX 40u
#define ROOT_PART  4096u /* where a root entry ends, normally */
#define LOOK_BACK  256	 /* ranges that may lie in another one */

/* ---- headers ---- */

static void parse_v5(struct dwarf_unit *u, struct cursor *c, u8 *addr_size)
{
	u->type = cursor__u8(c);
	*addr_size = cursor__u8(c);
	u->abbrev_off = u->is64 ? cursor__u64(c) : cursor__u32(c);
	switch (u->type) {
	case DW_UT_skeleton:
	case DW_UT_split_compile:
		u->dwo_id = cursor__u64(c);
		break;
	case DW_UT_type:
	case DW_UT_split_type:
		cursor__take(c, 8 + (u->is64 ? 8 : 4));
		break;
	default:
		break;
	}
}

/* u->off is known; *known: it's of a kind that can be read. -EINVAL: nor can what follows it. */
static int parse_header(struct dwarf_unit *u, const u8 *data, u64 size, bool *known)
{
	struct cursor c = { .p = data, .end = data + size };
	u8 addr_size = 0;
	u64 len = cursor__u32(&c);

	if (len == UINT32_MAX) {
		u->is64 = true;
		len = cursor__u64(&c);
	} else if (len >= 0xfffffff0) {
		return -EINVAL;
	}
	if (c.bad || __builtin_add_overflow(len, (u64)(c.p - data), &u->size))
		return -EINVAL;
	u->version = cursor__u16(&c);
	if (u->version == 5) {
		parse_v5(u, &c, &addr_size);
	} else {
		u->type = DW_UT_compile;
		u->abbrev_off = u->is64 ? cursor__u64(&c) : cursor__u32(&c);
		addr_size = cursor__u8(&c);
	}
	u->header_size = (u32)(c.p - data);
	*known = !c.bad && u->version >= 2 && u->version <= 5 && addr_size == 8 &&
		 u->header_size < u->size;
	return 0;
}

static int file__add_unit(struct dwarf_file *f, const struct dwarf_unit *made)
{
	struct dwarf_unit *u = malloc(sizeof(*u));

	if (!u || vec__push(&f->units, u)) {
		free(u);
		return -ENOMEM;
	}
	*u = *made;
	u->file = f;
	u->skeleton = u;
	return budget__bytes(f->budget, sizeof(*u) + sizeof(u));
}

int dwarf_file__read_units(struct dwarf_file *f)
{
	u64 all = f->sections[DWARF_INFO].data ? f->sections[DWARF_INFO].size : UINT64_MAX;
	int err = f->units.cnt ? -EINVAL : 0;
	struct dwarf_unit u;

	for (u64 off = 0; !err && off < all; off += u.size) {
		CLEANUP(free__p) u8 *own = NULL;
		bool known = false;
		const u8 *data;
		u64 got;

		u = (struct dwarf_unit){ .off = off };
		err = dwarf_file__part(f, DWARF_INFO, off, HEADER_MAX, &data, &got, &own);
		if (err == -EINVAL)
			return f->units.cnt ? 0 : err; /* behind the last one */
		if (!err)
			err = parse_header(&u, data, got, &known);
		if (!err)
			err = budget__steps(f->budget, 50);
		if (!err && known)
			err = file__add_unit(f, &u);
		if (!err && u.size > UINT64_MAX - off)
			err = -EINVAL;
	}
	/* Units before damage are as good as any. */
	return err == -EINVAL && f->units.cnt ? 0 : err;
}

/* ---- roots ---- */

/* 0: the attribute isn't there. */
static u64 number_of(const struct dwarf_die *die, enum dwarf_attr attr)
{
	return die->v[attr].form ? die->v[attr].n : 0;
}

static int unit__take_root(struct dwarf_unit *u, const u8 *data, u64 size)
{
	struct cursor c = { .p = data + u->header_size, .end = data + size };
	struct dwarf_die *root = &u->root;
	int err;

	if (size <= u->header_size)
		return -EINVAL;
	err = dwarf_unit__read_abbrevs(u);
	if (!err)
		err = dwarf_die__read(u, &c, root);
	if (!err && root->tag != DW_TAG_compile_unit && root->tag != DW_TAG_skeleton_unit &&
	    root->tag != DW_TAG_partial_unit)
		err = -EINVAL;
	if (err) {
		*root = (struct dwarf_die){};
		return err;
	}
	if (u->skeleton != u)
		return 0; /* the bases of a split unit are known already */
	u->addr_base = number_of(root, ATTR_ADDR_BASE);
	u->str_base = number_of(root, ATTR_STR_BASE);
	u->rnglists_base = number_of(root, ATTR_RNGLISTS_BASE);
	u->gnu_ranges_base = number_of(root, ATTR_GNU_RANGES_BASE);
	if (root->v[ATTR_DWO_ID].form)
		u->dwo_id = root->v[ATTR_DWO_ID].n;
	return 0;
}

int dwarf_unit__load(struct dwarf_unit *u)
{
	u64 got;
	int err;

	if (u->data)
		return u->root.tag ? 0 : -EINVAL;
	err = dwarf_file__part(u->file, DWARF_INFO, u->off, u->size, &u->data, &got, &u->own_data);
	if (!err && u->own_data)
		err = budget__bytes(u->file->budget, got);
	if (err) {
		free(u->own_data);
		u->own_data = NULL;
		u->data = NULL;
		return err;
	}
	u->size = MIN(u->size, got);
	return unit__take_root(u, u->data, u->size);
}

/* The root entry alone, where the unit is large. Its strings point nowhere afterwards. */
static int unit__peek(struct dwarf_unit *u)
{
	CLEANUP(free__p) u8 *own = NULL;
	const u8 *data;
	u64 got;
	int err;

	err = dwarf_file__part(u->file, DWARF_INFO, u->off, MIN(u->size, ROOT_PART), &data, &got,
			       &own);
	if (!err && !own)
		return dwarf_unit__load(u);
	if (!err)
		err = unit__take_root(u, data, got);
	return err == -EINVAL ? dwarf_unit__load(u) : err;
}

/* ---- whose addresses ---- */

struct indexing {
	struct dwarf_file *f;
	u32 unit;
	u32 cnt;	   /* ranges of the unit */
	bool by_functions; /* where the root doesn't tell */
};

static int indexing__range(void *arg, u64 low, u64 high)
{
	struct indexing *x = arg;
	struct unit_range r = { .low = low, .high = high, .unit = x->unit };

	if (vec__push(&x->f->ranges, r))
		return -ENOMEM;
	x->cnt++;
	return budget__bytes(x->f->budget, sizeof(r));
}

/* What can't be read of one unit says nothing about the next. */
static int index_unit(struct indexing *x, struct dwarf_unit *u)
{
	int err;

	x->cnt = 0;
	if (u->type == DW_UT_type || u->type == DW_UT_split_type || u->type == DW_UT_partial)
		return 0;
	err = unit__peek(u);
	if (err || u->root.tag == DW_TAG_partial_unit)
		return err == -EINVAL ? 0 : err;
	err = dwarf_die__each_range(u, &u->root, indexing__range, x);
	if (!err && !x->cnt && u->root.has_children &&
	    (x->by_functions || u->root.v[ATTR_LOW_PC].form)) {
		err = dwarf_unit__load(u);
		if (!err)
			err = dwarf_unit__each_function_range(u, indexing__range, x);
	}
	return err == -EINVAL ? 0 : err;
}

static int range__compare(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high > y->high ? -1 : x->high < y->high; /* inner ones last */
}

static int index_units(struct indexing *x)
{
	int err = 0;

	for (size_t i = 0; i < x->f->units.cnt && !err; i++) {
		x->unit = (u32)i;
		err = index_unit(x, x->f->units.v[i]);
	}
	return err;
}

int dwarf_file__index(struct dwarf_file *f)
{
	struct indexing x = { .f = f };
	u64 most = 0;
	int err = index_units(&x);

	/* To walk through units costs far more than their roots, and of many (LTO's) no function
	 * has an address: only where no root tells anything. */
	x.by_functions = true;
	if (!err && !f->ranges.cnt)
		err = index_units(&x);
	if (f->ranges.cnt)
		qsort(f->ranges.v, f->ranges.cnt, sizeof(*f->ranges.v), range__compare);
	for (size_t i = 0; i < f->ranges.cnt; i++) {
		most = MAX(most, f->ranges.v[i].high);
		f->ranges.v[i].most = most;
	}
	return err;
}

struct dwarf_unit *dwarf_file__unit_at_pc(const struct dwarf_file *f, u64 pc)
{
	size_t low = 0, high = f->ranges.cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->ranges.v[mid].low <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	for (u32 i = 0; i < LOOK_BACK && low && f->ranges.v[low - 1].most > pc; i++, low--) {
		if (pc < f->ranges.v[low - 1].high)
			return f->units.v[f->ranges.v[low - 1].unit];
	}
	return NULL;
}

struct dwarf_unit *dwarf_file__unit_at(const struct dwarf_file *f, u64 off)
{
	size_t low = 0, high = f->units.cnt;
	struct dwarf_unit *u;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->units.v[mid]->off <= off)
			low = mid + 1;
		else
			high = mid;
	}
	u = low ? f->units.v[low - 1] : NULL;
	return u && off - u->off < u->size ? u : NULL;
}

/* ---- split units ---- */

/* Where a unit's parts are in a package (.dwp) of several units. */
struct parts {
	u32 info;
	u32 abbrev;
	u32 str_offsets;
	u32 rnglists;
};

static void parts__take(struct parts *p, u16 version, u32 column, u32 off)
{
	if (column == DW_SECT_INFO)
		p->info = off;
	else if (column == DW_SECT_ABBREV)
		p->abbrev = off;
	else if (column == DW_SECT_STR_OFFSETS)
		p->str_offsets = off;
	else if (column == DW_SECT_RNGLISTS && version == 5)
		p->rnglists = off;
}

static u32 u32_at(const u8 *data, u64 size, u64 pos)
{
	u32 val = 0;

	if (pos <= size && sizeof(val) <= size - pos)
		memcpy(&val, data + pos, sizeof(val));
	return val;
}

/* The row of an id in a package's index: DWARF 5, 7.3.5.3; version 2 is GNU's, with the same hash
 * table. 0: not there. */
static u32 package__find_row(const u8 *data, u64 size, u32 slots, u64 id)
{
	u64 mask = slots - 1, at = id & mask, step = (id >> 32 & mask) | 1;
	u64 rows = 16 + (u64)slots * 8;

	for (u32 i = 0; i < slots; i++, at = (at + step) & mask) {
		u32 row = u32_at(data, size, rows + at * 4);
		u64 pos = 16 + at * 8, found;

		if (!row || pos + 8 > size)
			return 0;
		memcpy(&found, data + pos, sizeof(found));
		if (found == id)
			return row;
	}
	return 0;
}

static int package__find(struct dwarf_file *dwo, u64 id, struct parts *p)
{
	u32 columns, units, slots, row;
	const u8 *data;
	u64 size, table;
	u16 version;
	int err = dwarf_file__section(dwo, DWARF_CU_INDEX, &data, &size);

	if (err)
		return err;
	version = (u16)u32_at(data, size, 0);
	columns = u32_at(data, size, 4);
	units = u32_at(data, size, 8);
	slots = u32_at(data, size, 12);
	if ((version != 2 && version != 5) || columns > 16 || !slots || slots & (slots - 1) ||
	    slots > size / 12)
		return -EINVAL;
	err = budget__steps(dwo->budget, 100);
	row = package__find_row(data, size, slots, id);
	if (err || !row || row > units)
		return err ? err : -EINVAL;
	table = 16 + (u64)slots * 12;
	for (u32 i = 0; i < columns; i++)
		parts__take(p, version, u32_at(data, size, table + 4 * (u64)i),
			    u32_at(data, size, table + 4 * ((u64)row * columns + i)));
	return 0;
}

static void unit__set_bases(struct dwarf_unit *u, const struct parts *p)
{
	u32 header = u->is64 ? 16 : 8;

	u->abbrev_off += p->abbrev;
	u->str_base = (u64)p->str_offsets + (u->version == 5 ? header : 0);
	u->rnglists_base = (u64)p->rnglists + (u->is64 ? 20 : 12);
}

/* DWARF 4: the id is an attribute. */
static bool unit__is_split_of(struct dwarf_unit *u, const struct dwarf_unit *skeleton)
{
	struct dwarf_die die;
	struct cursor c;

	if (u->version == 5)
		return u->dwo_id == skeleton->dwo_id;
	if (dwarf_unit__read_abbrevs(u))
		return false;
	if (!u->file->sections[DWARF_INFO].data || u->off + u->size < u->off ||
	    u->off + u->size > u->file->sections[DWARF_INFO].size)
		return false;
	c.p = u->file->sections[DWARF_INFO].data + u->off;
	c = (struct cursor){ .p = c.p + u->header_size, .end = c.p + u->size };
	return !dwarf_die__read(u, &c, &die) && die.tag == DW_TAG_compile_unit &&
	       die.v[ATTR_DWO_ID].form && die.v[ATTR_DWO_ID].n == skeleton->dwo_id;
}

static int join(struct dwarf_unit *skeleton, struct dwarf_unit *u, const struct parts *p)
{
	int err;

	if (u->skeleton != u)
		return -EINVAL; /* somebody else's: a hostile pair */
	unit__set_bases(u, p);
	u->abbrevs = NULL;
	u->skeleton = skeleton;
	err = dwarf_unit__load(u);
	if (!err)
		skeleton->split = u;
	return err;
}

int dwarf_unit__join(struct dwarf_unit *skeleton, struct dwarf_file *dwo)
{
	struct parts p = {};
	int err;

	if (!skeleton->dwo_id)
		return -EINVAL;
	if (dwarf_file__has(dwo, DWARF_CU_INDEX)) {
		struct dwarf_unit *u;

		err = package__find(dwo, skeleton->dwo_id, &p);
		if (err)
			return err;
		u = dwarf_file__unit_at(dwo, p.info);
		return u ? join(skeleton, u, &p) : -EINVAL;
	}
	for (size_t i = 0; i < dwo->units.cnt; i++) {
		if (unit__is_split_of(dwo->units.v[i], skeleton))
			return join(skeleton, dwo->units.v[i], &p);
	}
	return -EINVAL;
}
