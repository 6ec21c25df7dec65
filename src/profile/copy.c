/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies between profiles; see copy.h. Strings are interned, so equal ones are one in the copy. */
#include "profile/copy.h"

#include <errno.h>

/* NULL stays NULL; false: out of memory. */
static bool intern(struct arena *a, const char **s)
{
	const char *from = *s;

	if (!from)
		return true;
	*s = arena__intern(a, from);
	return *s;
}

struct allocsnoop_frame *frame__copy(struct arena *a, const struct allocsnoop_frame *f)
{
	struct allocsnoop_frame *copy = arena__alloc(a, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *f;
	if (!intern(a, &copy->function) || !intern(a, &copy->module) || !intern(a, &copy->file) ||
	    !intern(a, &copy->mangled) || !intern(a, &copy->build_id))
		return NULL;
	return copy;
}

int info__copy(struct arena *a, struct allocsnoop_info *to, const struct allocsnoop_info *from)
{
	*to = *from;
	to->mode = from->mode ? from->mode : "";
	to->target = from->target ? from->target : "";
	if (!intern(a, &to->mode) || !intern(a, &to->target) || !intern(a, &to->base_target))
		return -ENOMEM;
	return 0;
}

int profile__copy_processes(struct allocsnoop_profile *to, const struct allocsnoop_profile *from)
{
	int err = 0;

	for (size_t i = 0; !err && i < from->processes.cnt; i++)
		err = profile__add_process(to, &from->processes.v[i]);
	return err;
}

int profile__copy_losses(struct allocsnoop_profile *to, const struct allocsnoop_profile *from)
{
	int err = 0;

	for (size_t i = 0; !err && i < from->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &from->losses.v[i];

		err = profile__add_loss(to, l->name, l->text, l->count);
	}
	return err;
}

int profile__copy_points(struct allocsnoop_profile *to, const struct allocsnoop_profile *from)
{
	int err = 0;

	for (size_t i = 0; !err && i < from->points.cnt; i++)
		err = vec__push(&to->points, from->points.v[i]);
	return err;
}

int profile__copy_rest(struct allocsnoop_profile *to, const struct allocsnoop_profile *from)
{
	int err = info__copy(&to->arena, &to->info, &from->info);

	if (!err)
		err = profile__copy_points(to, from);
	if (!err)
		err = profile__copy_processes(to, from);
	return err ? err : profile__copy_losses(to, from);
}
