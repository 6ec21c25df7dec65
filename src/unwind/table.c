/* SPDX-License-Identifier: BSD-2-Clause */
/* A file's unwind table: from the ELF image to sorted rows, and the look-up in them. */
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "unwind/build.h"
#include "unwind/go.h"

/* The signal returns that no FDE describes. */
static int add_restorers(struct cfi *cfi, const struct unwind_input *in)
{
	const struct as_rule rule = { .cfa_kind = AS_CFA_SIGFRAME };
	int err = 0;

	for (size_t i = 0; i < cfi->fdes.cnt; i++)
		if (cfi->fdes.v[i].signal)
			return 0; /* this C library describes them itself */
	for (u32 i = 0; !err && i < in->restorer_cnt && cfi->fdes.cnt; i++)
		err = cfi__add(cfi, in->restorers[i], in->restorers[i] + in->arch->restorer_size,
			       &rule);
	return err;
}

static int make(struct unwind_table *t, struct cfi *cfi, const struct unwind_input *in)
{
	int err = 0;

	if (in->eh_frame.data)
		err = cfi__parse(cfi, &in->eh_frame);
	if (!err)
		err = unwind_go__add(cfi, &in->go);
	if (!err && !cfi->fdes.cnt && in->debug_frame.data)
		err = cfi__parse(cfi, &in->debug_frame);
	if (!err)
		err = add_restorers(cfi, in);
	return err ? err : unwind_table__build(t, cfi, &in->text);
}

int unwind_table__make(struct unwind_table *t, const struct unwind_input *in,
		       struct unwind_rules *rules)
{
	struct cfi *cfi = malloc(sizeof(*cfi));
	int err;

	*t = (struct unwind_table){};
	if (!cfi)
		return err__fail(-ENOMEM, "no memory for an unwind table");
	cfi__init(cfi, in->arch, rules);
	err = make(t, cfi, in);
	cfi__fini(cfi);
	free(cfi);
	if (err == -E2BIG)
		return err__fail(err, "too many unwind rows");
	if (err == -ENOMEM)
		return err__fail(err, "no memory for an unwind table");
	return err;
}

int unwind_table__compile(struct unwind_table *t, const struct elf_image *img,
			  struct unwind_rules *rules)
{
	struct unwind_input in;
	int err = unwind_input__read(&in, img);

	*t = (struct unwind_table){};
	if (!err)
		err = unwind_table__make(t, &in, rules);
	unwind_input__fini(&in);
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
