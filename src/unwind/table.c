/* SPDX-License-Identifier: BSD-2-Clause */
/* A file's unwind table: from the ELF image to sorted rows, and the look-up in them. */
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "unwind/build.h"
#include "unwind/section.h"

typedef int (*section_fn)(const struct elf_image *img, struct cfi_section *sec);

static int parse_section(struct cfi *cfi, const struct elf_image *img, section_fn get)
{
	struct cfi_section sec;
	int err = get(img, &sec);

	if (!err && sec.data)
		err = cfi__parse(cfi, &sec);
	free((void *)sec.data);
	return err;
}

static int compile(struct unwind_table *t, struct cfi *cfi, const struct elf_image *img)
{
	struct unwind_text text;
	int err = unwind_text__init(&text, img);

	if (!err)
		err = parse_section(cfi, img, unwind_section__eh_frame);
	if (!err && !cfi->fdes.cnt)
		err = parse_section(cfi, img, unwind_section__debug_frame);
	if (!err && cfi->fdes.cnt)
		err = unwind_text__add_restorers(&text, img, cfi);
	return err ? err : unwind_table__build(t, cfi, &text);
}

int unwind_table__compile(struct unwind_table *t, const struct elf_image *img,
			  struct unwind_rules *rules)
{
	const struct unwind_arch *arch = unwind_arch__for(img->ehdr.e_machine);
	struct cfi *cfi;
	int err;

	*t = (struct unwind_table){};
	if (!arch)
		return err__fail(-ENOTSUP, "no unwinding for machine %u", img->ehdr.e_machine);
	cfi = malloc(sizeof(*cfi));
	if (!cfi)
		return err__fail(-ENOMEM, "no memory for an unwind table");
	cfi__init(cfi, arch, rules);
	err = compile(t, cfi, img);
	cfi__fini(cfi);
	free(cfi);
	if (err == -E2BIG)
		return err__fail(err, "too many unwind rows");
	if (err == -ENOMEM)
		return err__fail(err, "no memory for an unwind table");
	return err;
}

void unwind_table__fini(struct unwind_table *t)
{
	vec__free(&t->rows);
}

u16 unwind_table__find(const struct unwind_table *t, u64 off)
{
	size_t lo = 0, hi = t->rows.cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->rows.v[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? t->rows.v[lo - 1].rule : AS_RULE_GAP;
}
