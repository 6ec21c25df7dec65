/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and hashes what a table is made from. */
#include "unwind/input.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/siphash.h"
#include "unwind/section.h"

int unwind_input__read(struct unwind_input *in, const struct elf_image *img)
{
	int err;

	*in = (struct unwind_input){ .arch = unwind_arch__for(img->ehdr.e_machine) };
	if (!in->arch)
		return err__fail(-ENOTSUP, "no unwinding for machine %u", img->ehdr.e_machine);
	err = unwind_text__init(&in->text, img);
	if (!err)
		err = unwind_section__eh_frame(img, &in->eh_frame);
	if (!err)
		err = unwind_section__debug_frame(img, &in->debug_frame);
	if (!err)
		err = gopclntab__open(&in->go, img);
	if (!err && (in->eh_frame.data || in->debug_frame.data))
		err = unwind_text__restorers(&in->text, img, in->arch, in->restorers,
					     &in->restorer_cnt);
	return err;
}

void unwind_input__fini(struct unwind_input *in)
{
	free((void *)in->eh_frame.data);
	free((void *)in->debug_frame.data);
	gopclntab__close(&in->go);
	*in = (struct unwind_input){};
}

static u64 section_flags(const struct cfi_section *sec)
{
	return (sec->data ? 1 : 0) | (sec->eh ? 2 : 0) | (sec->ends ? 4 : 0);
}

/* One hash after the other, each the key of the next; the first one's words say how long all are.
 */
void unwind_input__id(const struct unwind_input *in, const u64 key[2], u64 id[2])
{
	const struct cfi_section *eh = &in->eh_frame, *debug = &in->debug_frame;
	const u64 words[] = {
		(uintptr_t)in->arch, in->text.seg_cnt,	in->text.entry_off,
		in->restorer_cnt,    eh->size,		eh->vaddr,
		eh->hdr_base,	     section_flags(eh), debug->size,
		debug->vaddr,	     debug->hdr_base,	section_flags(debug),
		in->go.size,	     in->go.text,
	};

	siphash(words, sizeof(words), key, id);
	siphash(in->text.segs, in->text.seg_cnt * sizeof(in->text.segs[0]), id, id);
	siphash(in->restorers, in->restorer_cnt * sizeof(in->restorers[0]), id, id);
	siphash(eh->data, eh->size, id, id);
	siphash(debug->data, debug->size, id, id);
	siphash(in->go.data, in->go.size, id, id);
}
