/* SPDX-License-Identifier: BSD-2-Clause */
/* CFI sections written byte by byte, and their way to a table without an ELF file. */
#ifndef TESTS_UNIT_CFI_BYTES_H
#define TESTS_UNIT_CFI_BYTES_H

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/build.h"

/* Low addresses, so that two-byte pointers reach. */
#define HDR_VADDR  0x800
#define CFI_VADDR  0x1000
#define TEXT_VADDR 0x4000
#define TEXT_OFF   0x2000
#define TEXT_SIZE  0x1000

struct bytes {
	u8 v[8192];
	size_t cnt;
	bool eh;
	bool wide; /* 64-bit lengths */
	u64 vaddr;
};

static inline void bytes__put(struct bytes *b, const void *data, size_t size)
{
	if (size)
		memcpy(b->v + b->cnt, data, size);
	b->cnt += size;
}

static inline void bytes__int(struct bytes *b, u64 val, size_t size)
{
	bytes__put(b, &val, size);
}

/* A number in an encoding's format. */
static inline void bytes__number(struct bytes *b, u8 enc, u64 val)
{
	bool more = true;

	switch (enc & 0x0f) {
	case DW_EH_PE_uleb128:
		for (; val >= 0x80; val >>= 7)
			bytes__int(b, val | 0x80, 1);
		bytes__int(b, val, 1);
		return;
	case DW_EH_PE_sleb128:
		for (; more; val = (u64)((s64)val >> 7)) {
			more = !((s64)val >= -64 && (s64)val < 64);
			bytes__int(b, (val & 0x7f) | (more ? 0x80 : 0), 1);
		}
		return;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		bytes__int(b, val, 2);
		return;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		bytes__int(b, val, 4);
		return;
	default:
		bytes__int(b, val, 8);
	}
}

static inline void bytes__pointer(struct bytes *b, u8 enc, u64 vaddr)
{
	if ((enc & 0x70) == DW_EH_PE_pcrel)
		vaddr -= b->vaddr + b->cnt;
	else if ((enc & 0x70) == DW_EH_PE_datarel)
		vaddr -= HDR_VADDR;
	bytes__number(b, enc, vaddr);
}

/* Starts a record; the result goes to bytes__end(). */
static inline size_t bytes__begin(struct bytes *b)
{
	bytes__int(b, b->wide ? 0xffffffff : 0, 4);
	if (b->wide)
		bytes__int(b, 0, 8);
	return b->cnt;
}

static inline void bytes__end(struct bytes *b, size_t start)
{
	u64 size = b->cnt - start;

	memcpy(b->v + start - (b->wide ? 8 : 4), &size, b->wide ? 8 : 4);
}

static inline size_t bytes__id_size(const struct bytes *b)
{
	return b->wide && !b->eh ? 8 : 4;
}

/* CFA = rsp + 8, return address at CFA - 8; data: what the augmentation string asks for. */
static inline size_t bytes__cie(struct bytes *b, u8 version, const char *letters, const void *data,
				size_t size, u8 ra_reg)
{
	static const u8 insns[] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1 };
	size_t pos = b->cnt, start = bytes__begin(b);

	bytes__int(b, b->eh ? 0 : ~0ull, bytes__id_size(b));
	bytes__int(b, version, 1);
	bytes__put(b, letters, strlen(letters) + 1);
	if (!strcmp(letters, "eh"))
		bytes__int(b, 0x1234, 8);
	if (version == 4)
		bytes__int(b, 8, 2); /* address size 8, segment selector size 0 */
	bytes__int(b, 1, 1);	     /* code alignment */
	bytes__int(b, 0x78, 1);	     /* data alignment -8 */
	bytes__int(b, ra_reg, 1);
	if (letters[0] == 'z')
		bytes__int(b, size, 1);
	bytes__put(b, data, size);
	bytes__put(b, insns, sizeof(insns));
	bytes__end(b, start);
	return pos;
}

static inline size_t bytes__fde_begin(struct bytes *b, size_t cie, u8 enc, u64 vaddr, u64 size,
				      bool has_size)
{
	size_t start = bytes__begin(b);

	bytes__int(b, b->eh ? b->cnt - cie : cie, bytes__id_size(b));
	bytes__pointer(b, enc, vaddr);
	bytes__number(b, enc, size);
	if (has_size)
		bytes__int(b, 0, 1);
	return start;
}

/* A function of one row, CFA = rsp + off (below 128). */
static inline void bytes__fde(struct bytes *b, size_t cie, u64 vaddr, u64 size, u8 off)
{
	size_t start = bytes__fde_begin(b, cie, DW_EH_PE_absptr, vaddr, size, false);

	bytes__int(b, DW_CFA_def_cfa_offset, 1);
	bytes__int(b, off, 1);
	bytes__end(b, start);
}

static inline struct unwind_text bytes__text(void)
{
	return (struct unwind_text){
		.segs = { { TEXT_VADDR, TEXT_OFF, TEXT_SIZE } },
		.seg_cnt = 1,
		.entry_off = UNWIND_NO_OFF,
	};
}

/* Section to table. 0 or -errno; the table is to be freed in any case. */
static inline int bytes__compile(const u8 *data, size_t size, u64 vaddr, bool eh,
				 const struct unwind_text *text, struct unwind_rules *rules,
				 struct unwind_table *t)
{
	struct cfi_section sec = {
		.data = data, .size = size, .vaddr = vaddr, .hdr_base = HDR_VADDR, .eh = eh
	};
	struct cfi cfi;
	int err;

	*t = (struct unwind_table){};
	cfi__init(&cfi, &unwind_arch_x86, rules);
	err = cfi__parse(&cfi, &sec);
	if (!err)
		err = unwind_table__build(t, &cfi, text);
	cfi__fini(&cfi);
	return err;
}

#endif
