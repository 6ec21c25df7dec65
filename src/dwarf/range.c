/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of an entry: a pair, or a list in .debug_ranges (to DWARF 4, 2.17.3) or .debug_rnglists
 * (DWARF 5, 2.17.3). What a linker has thrown away begins at 0, or at the highest addresses.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "dwarf/dwarf.h"

#define TOMBSTONE (UINT64_MAX - 1) /* and above */

struct ranges {
	struct dwarf_unit *u;
	struct cursor c;
	u64 base;
	bool dead; /* the base is a tombstone */
	dwarf_range_fn fn;
	void *arg;
};

static int ranges__give(struct ranges *r, u64 low, u64 high)
{
	if (!low || low >= TOMBSTONE || high <= low)
		return 0;
	return r->fn(r->arg, low, high);
}

/* An address of .debug_addr, which is in the file of the skeleton. */
static int address_at(struct dwarf_unit *u, u64 index, u64 *addr)
{
	struct dwarf_unit *skeleton = u->skeleton;
	const u8 *data;
	u64 size, pos;
	int err = dwarf_file__section(skeleton->file, DWARF_ADDR, &data, &size);

	if (err)
		return err;
	if (__builtin_mul_overflow(index, 8, &pos) ||
	    __builtin_add_overflow(pos, skeleton->addr_base, &pos) || pos > size || size - pos < 8)
		return -EINVAL;
	memcpy(addr, data + pos, 8);
	return 0;
}

static bool is_address(u16 form)
{
	switch (form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

static int value__address(struct dwarf_unit *u, const struct dwarf_value *v, u64 *addr)
{
	if (!is_address(v->form))
		return -EINVAL;
	if (v->form != DW_FORM_addr)
		return address_at(u, v->n, addr);
	*addr = v->n;
	return 0;
}

/* ---- lists ---- */

static int section_at(struct dwarf_unit *u, enum dwarf_section sec, u64 off, struct cursor *c)
{
	const u8 *data;
	u64 size;
	int err = dwarf_file__section(u->file, sec, &data, &size);

	if (err)
		return err;
	if (off >= size)
		return -EINVAL;
	*c = (struct cursor){ .p = data + off, .end = data + size };
	return 0;
}

static void ranges__set_base(struct ranges *r, u64 base)
{
	r->base = base;
	r->dead = base >= TOMBSTONE;
}

/* Pairs of distances from the base. */
static int ranges__each_pair(struct ranges *r)
{
	int err = 0;

	while (!err) {
		u64 low = cursor__u64(&r->c), high = cursor__u64(&r->c);

		if (r->c.bad)
			return -EINVAL;
		if (!low && !high)
			break;
		err = budget__steps(r->u->file->budget, 1);
		if (low == UINT64_MAX)
			ranges__set_base(r, high);
		else if (!err && !r->dead && low != high)
			err = ranges__give(r, r->base + low, r->base + high);
	}
	return err;
}

/* An operand that is an address's number. */
static int ranges__indexed(struct ranges *r, u64 *addr)
{
	u64 index = cursor__uleb(&r->c);

	return r->c.bad ? -EINVAL : address_at(r->u, index, addr);
}

/* One entry; *low == *high: it gives no range. */
static int ranges__entry(struct ranges *r, u8 kind, u64 *low, u64 *high)
{
	int err = 0;

	*low = *high = 0;
	switch (kind) {
	case DW_RLE_base_addressx:
		err = ranges__indexed(r, low);
		if (!err)
			ranges__set_base(r, *low);
		*high = *low;
		break;
	case DW_RLE_startx_endx:
		err = ranges__indexed(r, low);
		if (!err)
			err = ranges__indexed(r, high);
		break;
	case DW_RLE_startx_length:
		err = ranges__indexed(r, low);
		*high = *low + cursor__uleb(&r->c);
		break;
	case DW_RLE_offset_pair:
		*low = r->base + cursor__uleb(&r->c);
		*high = r->base + cursor__uleb(&r->c);
		if (r->dead)
			*high = *low;
		break;
	case DW_RLE_base_address:
		ranges__set_base(r, cursor__u64(&r->c));
		break;
	case DW_RLE_start_end:
		*low = cursor__u64(&r->c);
		*high = cursor__u64(&r->c);
		break;
	case DW_RLE_start_length:
		*low = cursor__u64(&r->c);
		*high = *low + cursor__uleb(&r->c);
		break;
	default:
		err = -EINVAL;
	}
	return err;
}

static int ranges__each_entry(struct ranges *r)
{
	int err = 0;

	while (!err) {
		u8 kind = cursor__u8(&r->c);
		u64 low, high;

		if (kind == DW_RLE_end_of_list)
			return r->c.bad ? -EINVAL : 0;
		err = budget__steps(r->u->file->budget, 1);
		if (!err)
			err = ranges__entry(r, kind, &low, &high);
		if (!err && r->c.bad)
			err = -EINVAL;
		if (!err)
			err = ranges__give(r, low, high);
	}
	return err;
}

/* The place of list number `index`, from the table at the base. */
static int list_at(struct dwarf_unit *u, u64 index, u64 *off)
{
	u64 width = u->is64 ? 8 : 4, pos, rel = 0;
	struct cursor c;
	const u8 *p;
	int err;

	if (__builtin_mul_overflow(index, width, &pos) ||
	    __builtin_add_overflow(pos, u->rnglists_base, &pos))
		return -EINVAL;
	err = section_at(u, DWARF_RNGLISTS, pos, &c);
	if (err)
		return err;
	p = cursor__take(&c, width);
	if (!p)
		return -EINVAL;
	memcpy(&rel, p, width);
	return __builtin_add_overflow(u->rnglists_base, rel, off) ? -EINVAL : 0;
}

static int ranges__list(struct ranges *r, const struct dwarf_value *v)
{
	struct dwarf_unit *u = r->u;
	u64 off = v->n;
	int err = 0;

	if (u->version >= 5) {
		if (v->form == DW_FORM_rnglistx)
			err = list_at(u, v->n, &off);
		if (!err)
			err = section_at(u, DWARF_RNGLISTS, off, &r->c);
		return err ? err : ranges__each_entry(r);
	}
	/* Of a split unit: in the skeleton's file, from the skeleton's base. */
	if (u->skeleton != u && __builtin_add_overflow(off, u->skeleton->gnu_ranges_base, &off))
		return -EINVAL;
	err = section_at(u->skeleton, DWARF_RANGES, off, &r->c);
	return err ? err : ranges__each_pair(r);
}

int dwarf_die__each_range(struct dwarf_unit *u, const struct dwarf_die *die, dwarf_range_fn fn,
			  void *arg)
{
	const struct dwarf_value *low_pc = &die->v[ATTR_LOW_PC], *high_pc = &die->v[ATTR_HIGH_PC];
	struct ranges r = { .u = u, .fn = fn, .arg = arg };
	u64 low, high;
	int err;

	if (die->v[ATTR_RANGES].form) {
		const struct dwarf_value *base = &u->skeleton->root.v[ATTR_LOW_PC];

		/* A unit's own low_pc is its lists' base. */
		if (base->form && value__address(u->skeleton, base, &r.base))
			return -EINVAL;
		return ranges__list(&r, &die->v[ATTR_RANGES]);
	}
	if (!low_pc->form || !high_pc->form)
		return 0;
	err = value__address(u, low_pc, &low);
	if (err)
		return err;
	if (!is_address(high_pc->form))
		high = low + high_pc->n;
	else
		err = value__address(u, high_pc, &high);
	return err ? err : ranges__give(&r, low, high);
}
