/* SPDX-License-Identifier: BSD-2-Clause */
/* See the header. */
#include <errno.h>
#include <stdlib.h>

#include "target/disasm.h"
#include "target/text.h"
#include "target/walk.h"

bool walk__resolve(const struct text *t, const struct branch *raw, struct walk_branch *b)
{
	const struct text_slot *slot = NULL;

	*b = (struct walk_branch){ .kind = raw->kind };
	if (raw->through_slot)
		slot = text__slot(t, raw->target);
	else if (!text__vaddr_to_off(t, raw->target, &b->off))
		return false;
	else if (!text__stub(t, b->off, &slot))
		return true;
	b->off = 0;
	if (!slot)
		return false;
	b->import = slot->row;
	b->off = slot->target;
	b->own = slot->own;
	return b->import || b->off;
}

int walk__branches(struct walk *w, u64 start, u64 end, walk_fn fn, void *arg)
{
	size_t size = MIN(end - start, w->budget);
	u64 vaddr = text__vaddr(w->t, start);
	u8 *code = malloc(size + 1);
	int ret = 0;

	if (!code)
		return -ENOMEM;
	size = text__read(w->t, start, code, size);
	w->budget -= size;
	for (size_t i = 0; i < size && !ret;) {
		size_t len = disasm__len(w->d, code + i, size - i, vaddr + i);
		struct walk_branch b;
		struct branch raw;

		if (len && disasm__branch(code + i, len, vaddr + i, &raw) &&
		    walk__resolve(w->t, &raw, &b))
			ret = fn(arg, &b);
		i += len ? len : 1;
	}
	free(code);
	return ret;
}
