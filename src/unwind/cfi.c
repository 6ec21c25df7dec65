/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of a CFI section. Two passes: the first collects the CIEs (each is run once, however
 * many FDEs share it), the second runs the FDEs. Only records met on the straight walk through the
 * section count, so overlapping records can't multiply the work.
 */
#include "unwind/cfi.h"

#include <dwarf.h>
#include <errno.h>

#include "unwind/cfa.h"

struct record {
	u64 pos;    /* of its length field */
	u64 id_pos; /* of its id field */
	u64 id;	    /* 0-extended */
	bool is_cie;
	struct cursor body; /* after the id */
};

struct parser {
	struct cfi *cfi;
	const struct cfi_section *sec;
	VEC(struct cfa_cie) cies; /* sorted by pos, since the walk is */
	size_t last;		  /* index of the CIE used last */
};

void cfi__init(struct cfi *cfi, const struct unwind_arch *arch, struct unwind_rules *rules)
{
	*cfi = (struct cfi){ .arch = arch, .rules = rules };
}

void cfi__fini(struct cfi *cfi)
{
	vec__free(&cfi->fdes);
	vec__free(&cfi->rows);
}

u16 cfi__rule_id(struct cfi *cfi, const struct as_rule *rule)
{
	u32 slot = unwind_rule__hash(rule) % CFI_CACHE_SIZE;

	if (cfi->cache[slot].used && unwind_rule__eq(&cfi->cache[slot].rule, rule))
		return cfi->cache[slot].id;
	cfi->cache[slot].rule = *rule;
	cfi->cache[slot].id = unwind_rules__id(cfi->rules, rule);
	cfi->cache[slot].used = true;
	return cfi->cache[slot].id;
}

static u64 format_size(u8 enc)
{
	switch (enc & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	default:
		return 8;
	}
}

/* The bare number, without what it is relative to. */
static u64 number(struct cursor *c, u8 enc)
{
	switch (enc & 0x0f) {
	case DW_EH_PE_uleb128:
		return cursor__uleb(c);
	case DW_EH_PE_sleb128:
		return (u64)cursor__sleb(c);
	case DW_EH_PE_udata2:
		return cursor__u16(c);
	case DW_EH_PE_sdata2:
		return (u64)(s64)(int16_t)cursor__u16(c);
	case DW_EH_PE_udata4:
		return cursor__u32(c);
	case DW_EH_PE_sdata4:
		return (u64)(s64)(s32)cursor__u32(c);
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case 0x08: /* signed, native size */
	case DW_EH_PE_sdata8:
		return cursor__u64(c);
	default:
		c->bad = true;
		return 0;
	}
}

u64 cfi__pointer(struct cursor *c, u8 enc, const struct cfi_section *sec)
{
	u64 here = sec->vaddr + (u64)(c->p - sec->data);
	u64 val = number(c, enc);

	switch (enc & 0xf0) {
	case DW_EH_PE_absptr:
		return val;
	case DW_EH_PE_pcrel:
		return here + val;
	case DW_EH_PE_datarel:
		return sec->hdr_base + val;
	default:
		c->bad = true; /* indirect ones would need relocated memory */
		return 0;
	}
}

/* A personality pointer is only skipped: it may be of any kind. */
static void skip_pointer(struct cursor *c, u8 enc, const struct cfi_section *sec)
{
	u64 here = sec->vaddr + (u64)(c->p - sec->data);

	if (enc == DW_EH_PE_omit)
		return;
	if ((enc & 0x70) == DW_EH_PE_aligned)
		cursor__take(c, ((0 - here) & 7) + 8);
	else if ((enc & 0x07) == DW_EH_PE_uleb128)
		cursor__uleb(c);
	else
		cursor__take(c, format_size(enc));
}

/* Reads the record at *pos and moves *pos behind it. False at the end or where the walk is lost. */
static bool next_record(const struct cfi_section *sec, u64 *pos, struct record *rec)
{
	struct cursor c = { sec->data + *pos, sec->data + sec->size, false };
	u64 size = cursor__u32(&c);
	bool wide = size == 0xffffffff;
	u64 id_none = sec->eh ? 0 : wide ? ~0ull : 0xffffffff;

	rec->pos = *pos;
	if (wide)
		size = cursor__u64(&c);
	rec->id_pos = (u64)(c.p - sec->data);
	rec->body = (struct cursor){ c.p, c.p, true };
	if (!cursor__take(&c, size) || (!size && sec->ends))
		return false;
	*pos = (u64)(c.p - sec->data);
	rec->body = (struct cursor){ sec->data + rec->id_pos, c.p, false };
	/* In .eh_frame the id has four bytes even where the length has eight. */
	rec->id = wide && !sec->eh ? cursor__u64(&rec->body) : cursor__u32(&rec->body);
	rec->is_cie = rec->id == id_none;
	return true; /* a zero terminator has a bad body and is stepped over */
}

/* The letters after 'z'; each may have a value in the augmentation data. */
static bool read_letters(struct cfa_cie *cie, const char *letters, struct cursor *data,
			 const struct cfi_section *sec)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'L':
			cursor__u8(data);
			break;
		case 'P':
			skip_pointer(data, cursor__u8(data), sec);
			break;
		case 'R':
			cie->encoding = cursor__u8(data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with key B */
		case 'G': /* arm64: memory tagging */
			break;
		default:
			return false;
		}
	}
	return !data->bad;
}

static bool read_augmentation(struct cfa_cie *cie, const char *letters, struct cursor *c,
			      const struct cfi_section *sec)
{
	struct cursor data;
	const u8 *start;
	u64 size;

	if (!strcmp(letters, "eh"))
		return true;
	if (letters[0] != 'z') { /* letters without data: "S" in .debug_frame */
		data = (struct cursor){ c->p, c->p, false };
		return read_letters(cie, letters, &data, sec);
	}
	cie->has_size = true;
	size = cursor__uleb(c);
	start = cursor__take(c, size);
	if (!start)
		return false;
	data = (struct cursor){ start, start + size, false };
	return read_letters(cie, letters + 1, &data, sec);
}

static const char *take_string(struct cursor *c)
{
	const u8 *nul = cursor__left(c) ? memchr(c->p, 0, cursor__left(c)) : NULL;

	return nul ? (const char *)cursor__take(c, (u64)(nul - c->p) + 1) : NULL;
}

static void read_cie(struct parser *p, struct record *rec, struct cfa_cie *cie)
{
	struct cursor *c = &rec->body;
	u8 version = cursor__u8(c);
	const char *letters = take_string(c);
	u64 ra_reg;

	*cie = (struct cfa_cie){ .pos = rec->pos };
	if (!letters || (version != 1 && version != 3 && version != 4))
		return;
	if (!strcmp(letters, "eh"))
		cursor__u64(c); /* GCC 2's exception table pointer */
	if (version == 4 && (cursor__u8(c) != 8 || cursor__u8(c) != 0))
		return; /* address size, segment selector size */
	cie->code_align = cursor__uleb(c);
	cie->data_align = cursor__sleb(c);
	ra_reg = version == 1 ? cursor__u8(c) : cursor__uleb(c);
	if (!read_augmentation(cie, letters, c, p->sec) || c->bad)
		return;
	cie->readable = true;
	cie->runnable =
		ra_reg == p->cfi->arch->ra_reg && cfa__run_cie(cie, *c, p->sec, p->cfi->arch);
}

static int collect_cies(struct parser *p)
{
	struct record rec;
	u64 pos = 0;

	while (next_record(p->sec, &pos, &rec)) {
		struct cfa_cie cie;
		int err;

		if (!rec.is_cie || rec.body.bad)
			continue;
		if (p->cies.cnt >= CFI_CIE_MAX)
			return -E2BIG;
		read_cie(p, &rec, &cie);
		err = vec__push(&p->cies, cie);
		if (err)
			return err;
	}
	return 0;
}

static const struct cfa_cie *find_cie(struct parser *p, u64 pos)
{
	size_t lo = 0, hi = p->cies.cnt;

	if (p->last < hi && p->cies.v[p->last].pos == pos)
		return &p->cies.v[p->last];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->cies.v[mid].pos < pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == p->cies.cnt || p->cies.v[lo].pos != pos)
		return NULL;
	p->last = lo;
	return &p->cies.v[lo];
}

int cfi__push_fde(struct cfi *cfi, struct cfi_fde fde)
{
	if (cfi->fdes.cnt >= CFI_FDE_MAX)
		return -E2BIG;
	fde.order = (u32)cfi->fdes.cnt;
	fde.row_cnt = (u32)(cfi->rows.cnt - fde.row);
	return vec__push(&cfi->fdes, fde);
}

int cfi__add(struct cfi *cfi, u64 start, u64 end, const struct as_rule *rule)
{
	struct cfi_row row = { .rule = cfi__rule_id(cfi, rule) };
	struct cfi_fde fde = { .start = start, .end = end, .row = (u32)cfi->rows.cnt };
	int err;

	fde.signal = rule->cfa_kind == AS_CFA_SIGFRAME;
	if (cfi->rows.cnt >= CFI_ROW_MAX)
		return -E2BIG;
	err = vec__push(&cfi->rows, row);
	return err ? err : cfi__push_fde(cfi, fde);
}

/* A range whose instructions can't be run: say so instead of guessing. */
static int add_unsupported(struct cfi *cfi, u64 start, u64 end)
{
	const struct as_rule rule = { .cfa_kind = AS_CFA_UNSUPPORTED };

	cfi->bad_cnt++;
	return cfi__add(cfi, start, end, &rule);
}

static int run_fde(struct cfi *cfi, const struct cfa_cie *cie, struct cursor insns, u64 start,
		   u64 end, const struct cfi_section *sec)
{
	struct cfi_fde fde = { .start = start, .end = end, .row = (u32)cfi->rows.cnt };
	int err;

	if (!cie->runnable || insns.bad)
		return add_unsupported(cfi, start, end);
	err = cfa__run_fde(cfi, cie, insns, start, end, sec, &fde.signal);
	if (err == -EINVAL) {
		cfi->rows.cnt = fde.row;
		return add_unsupported(cfi, start, end);
	}
	return err ? err : cfi__push_fde(cfi, fde);
}

static int add_fde(struct parser *p, struct record *rec)
{
	u64 cie_pos = p->sec->eh ? rec->id_pos - rec->id : rec->id;
	const struct cfa_cie *cie = find_cie(p, cie_pos);
	struct cursor *c = &rec->body;
	u64 start, size, end;

	if (!cie || !cie->readable) {
		p->cfi->bad_cnt++;
		return 0;
	}
	start = cfi__pointer(c, cie->encoding, p->sec);
	size = number(c, cie->encoding);
	if (c->bad || __builtin_add_overflow(start, size, &end)) {
		p->cfi->bad_cnt++;
		return 0;
	}
	if (!size)
		return 0;
	if (cie->has_size)
		cursor__take(c, cursor__uleb(c));
	return run_fde(p->cfi, cie, *c, start, end, p->sec);
}

static int add_fdes(struct parser *p)
{
	struct record rec;
	u64 pos = 0;
	int err = 0;

	while (!err && next_record(p->sec, &pos, &rec))
		if (!rec.is_cie && !rec.body.bad)
			err = add_fde(p, &rec);
	return err;
}

int cfi__parse(struct cfi *cfi, const struct cfi_section *sec)
{
	struct parser p = { .cfi = cfi, .sec = sec };
	int err = collect_cies(&p);

	if (!err)
		err = add_fdes(&p);
	vec__free(&p.cies);
	return err;
}
