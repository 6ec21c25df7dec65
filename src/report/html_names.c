/* SPDX-License-Identifier: BSD-2-Clause */
/* Names are most of a page: each string and each frame is in it once, and known by a number. */
#include <errno.h>
#include <string.h>

#include "report/html.h"

#define FRAME_COST 16 /* bytes in the page, about */

/* ---- strings ---- */

/* Bytes of a name that are kept, whole characters. */
static size_t kept_len(const char *s)
{
	size_t len = strnlen(s, HTML_NAME_MAX + 1);

	if (len <= HTML_NAME_MAX)
		return len;
	for (len = HTML_NAME_MAX; len && ((u8)s[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

/* The one copy of the name as it is shown. NULL: out of memory. */
static const char *shown_name(struct html_names *n, const char *s)
{
	size_t len = kept_len(s);
	char cut[HTML_NAME_MAX + 4];

	if (!s[len])
		return arena__intern(&n->arena, s);
	memcpy(cut, s, len);
	strcpy(cut + len, "\xe2\x80\xa6"); /* ... as one character */
	return arena__intern(&n->arena, cut);
}

/* What it takes in JSON, with the escapes of both JSON and HTML. */
static size_t string_cost(const char *s)
{
	size_t cost = 3;

	for (; *s; s++)
		cost += (u8)*s < 0x20 || *s == '<' || *s == '>' || *s == 0x7f ? 6
			: *s == '"' || *s == '\\'			      ? 2
									      : 1;
	return cost;
}

int html_names__string(struct html_names *n, const char *s, u32 *id)
{
	struct html_string string = { .text = shown_name(n, s) };
	u64 old;
	int err;

	if (!string.text)
		return -ENOMEM;
	if (map__get(&n->string_ids, (uintptr_t)string.text, &old)) {
		*id = old;
		return 0;
	}
	*id = n->strings.cnt;
	err = vec__push(&n->strings, string);
	return err ? err : map__put(&n->string_ids, (uintptr_t)string.text, *id);
}

/* ---- frames ---- */

static bool frame__equal(const struct html_frame *a, const struct html_frame *b)
{
	return a->function == b->function && a->module == b->module && a->file == b->file &&
	       a->line == b->line && a->flags == b->flags;
}

static int frame__intern(struct html_names *n, struct html_frame f, u32 *id)
{
	u64 hash = map__mix(map__mix((u64)f.function << 32 | f.module, f.file),
			    (u64)f.line << 32 | f.flags);
	u64 last = 0;
	int err;

	map__get(&n->frame_ids, hash, &last);
	for (size_t i = last; i; i = n->frames.v[i - 1].next) {
		*id = i - 1;
		if (frame__equal(&n->frames.v[i - 1], &f))
			return 0;
	}
	f.next = last;
	*id = n->frames.cnt;
	err = vec__push(&n->frames, f);
	return err ? err : map__put(&n->frame_ids, hash, n->frames.cnt);
}

/* Stacks share their frame objects: most are looked at once. */
int html_names__frame(struct html_names *n, const struct allocsnoop_frame *f, u32 *id)
{
	struct html_frame frame = { .line = f->line, .flags = f->inlined ? HTML_INLINED : 0 };
	u64 old;
	int err;

	if (map__get(&n->known, (uintptr_t)f, &old)) {
		*id = old;
		return 0;
	}
	err = html_names__string(n, f->function, &frame.function);
	if (!err)
		err = html_names__string(n, f->module, &frame.module);
	if (!err && f->file)
		err = html_names__string(n, f->file, &frame.file);
	if (!err)
		err = frame__intern(n, frame, id);
	return err ? err : map__put(&n->known, (uintptr_t)f, *id);
}

int html_names__label(struct html_names *n, const char *text, u32 flags, u32 *id)
{
	struct html_frame frame = { .flags = flags };
	int err = html_names__string(n, text, &frame.function);

	return err ? err : frame__intern(n, frame, id);
}

/* ---- what is used ---- */

static size_t cost_of(const struct html_names *n, u32 string)
{
	const struct html_string *s = &n->strings.v[string];

	return string && !s->out ? string_cost(s->text) : 0;
}

size_t html_names__frame_cost(const struct html_names *n, u32 id)
{
	const struct html_frame *f = &n->frames.v[id];

	if (f->out)
		return 0;
	return FRAME_COST + cost_of(n, f->function) + cost_of(n, f->module) + cost_of(n, f->file);
}

int html_names__use_string(struct html_names *n, u32 id)
{
	if (!id || n->strings.v[id].out)
		return 0;
	n->cost += cost_of(n, id);
	n->strings.v[id].out = n->used_strings.cnt;
	return vec__push(&n->used_strings, id);
}

int html_names__use_frame(struct html_names *n, u32 id)
{
	struct html_frame *f = &n->frames.v[id];
	int err;

	if (f->out)
		return 0;
	err = html_names__use_string(n, f->function);
	if (!err)
		err = html_names__use_string(n, f->module);
	if (!err)
		err = html_names__use_string(n, f->file);
	if (!err)
		err = vec__push(&n->used_frames, id);
	n->cost += FRAME_COST;
	f->out = n->used_frames.cnt;
	return err;
}

int html_names__init(struct html_names *n)
{
	u32 empty;
	int err;

	*n = (struct html_names){};
	err = html_names__string(n, "", &empty);
	return err ? err : vec__push(&n->used_strings, empty);
}

void html_names__fini(struct html_names *n)
{
	vec__free(&n->strings);
	vec__free(&n->frames);
	vec__free(&n->used_strings);
	vec__free(&n->used_frames);
	map__free(&n->string_ids);
	map__free(&n->frame_ids);
	map__free(&n->known);
	arena__free(&n->arena);
}
