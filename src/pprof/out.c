/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See out.h. Addresses are made up: a profile of a whole machine has the same file at many
 * addresses and the same address in many files, so each file has a range of its own, wide enough
 * for any offset, in which a place's address is the file offset above the range's start.
 */
#include "pprof/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define RANGE_BITS  40	      /* a file has at most so many bytes that have addresses */
#define MODULES_MAX 0xffffffu /* ranges of 64 bits of addresses, without the lowest */
#define PAGE_SIZE   0x1000ull

void out__emit(struct out *o, const Pb__Profile *piece)
{
	size_t size;

	if (o->err)
		return;
	size = pb__profile__get_packed_size(piece);
	if (size > o->buf_size) {
		u8 *buf = realloc(o->buf, size * 2);

		if (!buf) {
			o->err = -ENOMEM;
			return;
		}
		o->buf = buf;
		o->buf_size = size * 2;
	}
	pb__profile__pack(piece, o->buf);
	o->err = gz_out__write(&o->gz, o->buf, size);
}

static void out__put(struct out *o, struct map *m, u64 key, u64 val)
{
	if (map__put(m, key, val))
		o->err = -ENOMEM;
}

/* ---- strings ---- */

s64 out__text(struct out *o, const char *text)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	const char *known;
	u64 id;

	str__clear(&o->clean);
	str__add_utf8(&o->clean, text ? text : "", text ? strlen(text) : 0, true);
	known = o->clean.oom ? NULL : arena__intern(&o->arena, o->clean.s);
	if (!known) {
		o->err = -ENOMEM;
		return 0;
	}
	if (map__get(&o->texts, (uintptr_t)known, &id))
		return (s64)id;
	id = o->string_cnt++;
	out__put(o, &o->texts, (uintptr_t)known, id);
	piece.n_string_table = 1;
	piece.string_table = (char **)&known;
	out__emit(o, &piece);
	return (s64)id;
}

s64 out__string(struct out *o, const char *text)
{
	u64 id;

	if (!text || !*text)
		return 0;
	if (map__get(&o->pointers, (uintptr_t)text, &id))
		return (s64)id;
	id = (u64)out__text(o, text);
	out__put(o, &o->pointers, (uintptr_t)text, id);
	return (s64)id;
}

/* ---- functions ---- */

/*
 * pprof shortens C++ names unless system_name says that a symbol was demangled already; where the
 * symbol isn't known it must not equal such a name.
 */
static s64 system_name(struct out *o, const struct allocsnoop_frame *f)
{
	if (f->mangled)
		return out__string(o, f->mangled);
	return strpbrk(f->function, "(<: ") ? 0 : out__string(o, f->function);
}

static u64 out__function(struct out *o, const struct allocsnoop_frame *f)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Function fn = PB__FUNCTION__INIT, *list = &fn;
	u64 key;

	fn.name = out__string(o, f->function);
	fn.system_name = system_name(o, f);
	fn.filename = out__string(o, f->file);
	key = map__mix(map__mix((u64)fn.name, (u64)fn.system_name), (u64)fn.filename);
	if (map__get(&o->functions, key, &fn.id))
		return fn.id;
	fn.id = ++o->function_cnt;
	out__put(o, &o->functions, key, fn.id);
	piece.n_function = 1;
	piece.function = &list;
	out__emit(o, &piece);
	return fn.id;
}

/* ---- mappings ---- */

/* Is the name only the place, "libc.so.6+0x97360"? */
static bool is_place(const struct allocsnoop_frame *f)
{
	const char *slash = strrchr(f->module, '/');
	const char *base = slash ? slash + 1 : f->module;
	size_t len = strlen(base);

	return !strcmp(f->function, "[unknown]") ||
	       (!strncmp(f->function, base, len) && !strncmp(f->function + len, "+0x", 3));
}

/* 0: it has none, or there is no more room for one. */
static u32 out__module(struct out *o, const struct allocsnoop_frame *f)
{
	struct out_module m = {};
	u64 key, id;

	if (!*f->module)
		return 0;
	m.path = out__string(o, f->module);
	m.build_id = out__string(o, f->build_id);
	key = map__mix((u64)m.path, (u64)m.build_id);
	if (map__get(&o->by_name, key, &id))
		return (u32)id;
	if (o->modules.cnt >= MODULES_MAX)
		return 0;
	if (vec__push(&o->modules, m))
		o->err = -ENOMEM;
	out__put(o, &o->by_name, key, o->modules.cnt);
	return (u32)o->modules.cnt;
}

static void module__note(struct out_module *m, const struct allocsnoop_frame *f)
{
	m->end = MAX(m->end, f->offset + 1);
	m->functions |= !is_place(f);
	m->files |= f->file != NULL;
	m->lines |= f->line != 0;
	m->inlines |= f->inlined;
}

static void out__mapping(struct out *o, size_t i)
{
	const struct out_module *m = &o->modules.v[i];
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Mapping map = PB__MAPPING__INIT, *list = &map;

	map.id = i + 1;
	map.memory_start = map.id << RANGE_BITS;
	map.memory_limit =
		map.memory_start + (MAX(m->end, 1u) + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
	map.filename = m->path;
	map.build_id = m->build_id;
	map.has_functions = m->functions;
	map.has_filenames = m->files;
	map.has_line_numbers = m->lines;
	map.has_inline_frames = m->inlines;
	piece.n_mapping = 1;
	piece.mapping = &list;
	out__emit(o, &piece);
}

void out__mappings(struct out *o, const char *main_path)
{
	s64 path = out__text(o, main_path);
	size_t first = 0;

	for (size_t i = 0; i < o->modules.cnt && path; i++) {
		if (o->modules.v[i].path == path)
			first = i;
	}
	for (size_t i = 0; i < o->modules.cnt; i++)
		out__mapping(o, (i + first) % o->modules.cnt);
}

/* ---- locations ---- */

static struct out_frame frame__describe(struct out *o, const struct allocsnoop_frame *f)
{
	struct out_frame frame = { .function = out__function(o, f), .module = out__module(o, f) };

	frame.apart =
		frame.module ? f->offset >= 1ull << RANGE_BITS : *f->module || f->build_id != NULL;
	if (frame.module && !frame.apart && !o->err)
		module__note(&o->modules.v[frame.module - 1], f);
	frame.hash = map__mix(map__mix(frame.function, f->line),
			      map__mix(f->offset, (u64)frame.module << 1 | f->inlined));
	if (frame.apart)
		frame.hash = map__mix(frame.hash, map__mix((u64)out__string(o, f->module),
							   (u64)out__string(o, f->build_id)));
	return frame;
}

/* Frames are shared by many stacks: what is known of one holds until the next new one. */
static struct out_frame *out__frame(struct out *o, const struct allocsnoop_frame *f)
{
	struct out_frame frame;
	u64 at;

	if (map__get(&o->by_frame, (uintptr_t)f, &at))
		return &o->frames.v[at];
	frame = frame__describe(o, f);
	if (vec__push(&o->frames, frame)) {
		o->err = -ENOMEM;
		return &o->none;
	}
	out__put(o, &o->by_frame, (uintptr_t)f, o->frames.cnt - 1);
	return &o->frames.v[o->frames.cnt - 1];
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_place(const struct allocsnoop_frame *a, const struct allocsnoop_frame *b)
{
	return a->offset == b->offset && same_text(a->module, b->module) &&
	       same_text(a->build_id, b->build_id);
}

/* Inlined functions and the one whose code they are in are one place. */
static size_t place__frame_cnt(const struct allocsnoop_frame *const *frames, size_t cnt)
{
	size_t n = 1;

	while (n < cnt && frames[n - 1]->inlined && same_place(frames[n - 1], frames[n]))
		n++;
	return n;
}

static void location__add_lines(struct out *o, Pb__Location *loc,
				const struct allocsnoop_frame *const *frames, size_t cnt)
{
	o->lines.cnt = o->line_list.cnt = 0;
	for (size_t i = 0; i < cnt && !o->err; i++) {
		Pb__Line line = PB__LINE__INIT;

		line.function_id = out__frame(o, frames[i])->function;
		line.line = frames[i]->line;
		if (vec__push(&o->lines, line) || vec__push(&o->line_list, NULL))
			o->err = -ENOMEM;
	}
	for (size_t i = 0; i < o->lines.cnt && !o->err; i++)
		o->line_list.v[i] = &o->lines.v[i];
	loc->n_line = o->line_list.cnt;
	loc->line = o->line_list.v;
}

/* A caller's offset is its return address: what is looked up is the call before it. */
static void location__place(struct out *o, Pb__Location *loc, Pb__Place *place,
			    const struct allocsnoop_frame *f, bool returns)
{
	struct out_frame frame = *out__frame(o, f);

	place->returns = returns;
	loc->address = f->offset - returns;
	if (frame.apart) {
		place->apart = true;
		place->module = out__string(o, f->module);
		place->build_id = out__string(o, f->build_id);
		place->offset = f->offset;
		loc->address = 0;
	} else if (frame.module) {
		loc->mapping_id = frame.module;
		loc->address += loc->mapping_id << RANGE_BITS;
	}
}

static u64 location__new(struct out *o, const struct allocsnoop_frame *const *frames, size_t cnt,
			 bool returns)
{
	Pb__Profile piece = PB__PROFILE__INIT;
	Pb__Location loc = PB__LOCATION__INIT, *list = &loc;
	Pb__Place place = PB__PLACE__INIT;

	loc.id = ++o->location_cnt;
	location__add_lines(o, &loc, frames, cnt);
	place.inlined = frames[cnt - 1]->inlined;
	location__place(o, &loc, &place, frames[cnt - 1], returns);
	if (place.returns || place.inlined || place.apart)
		loc.place = &place;
	piece.n_location = 1;
	piece.location = &list;
	out__emit(o, &piece);
	return loc.id;
}

static u64 out__location(struct out *o, const struct allocsnoop_frame *const *frames, size_t cnt,
			 bool leaf)
{
	bool returns = !leaf && frames[0]->offset;
	u64 key = returns, id;

	for (size_t i = 0; i < cnt; i++)
		key = map__mix(key, out__frame(o, frames[i])->hash);
	if (map__get(&o->locations, key, &id))
		return id;
	id = location__new(o, frames, cnt, returns);
	out__put(o, &o->locations, key, id);
	return id;
}

static u64 out__location_alone(struct out *o, const struct allocsnoop_frame *const *frame,
			       bool leaf)
{
	u64 id = out__frame(o, *frame)->alone[leaf];

	if (id)
		return id;
	id = out__location(o, frame, 1, leaf);
	out__frame(o, *frame)->alone[leaf] = id;
	return id;
}

void out__stack(struct out *o, const struct allocsnoop_frame *const *frames, size_t cnt)
{
	o->stack.cnt = 0;
	for (size_t i = 0; i < cnt && !o->err;) {
		size_t n = place__frame_cnt(frames + i, cnt - i);

		u64 id = n == 1 ? out__location_alone(o, frames + i, i == 0)
				: out__location(o, frames + i, n, i == 0);

		if (vec__push(&o->stack, id))
			o->err = -ENOMEM;
		i += n;
	}
}

/* ---- the whole ---- */

void out__open(struct out *o, FILE *stream)
{
	*o = (struct out){};
	o->err = gz_out__open(&o->gz, stream);
	out__text(o, "");
}

int out__finish(struct out *o)
{
	if (!o->err)
		o->err = gz_out__finish(&o->gz);
	if (o->err == -ENOMEM)
		return err__fail(o->err, "cannot write the profile: out of memory");
	return o->err;
}

void out__close(struct out *o)
{
	gz_out__close(&o->gz);
	map__free(&o->pointers);
	map__free(&o->texts);
	map__free(&o->functions);
	map__free(&o->by_name);
	map__free(&o->by_frame);
	map__free(&o->locations);
	vec__free(&o->modules);
	vec__free(&o->frames);
	vec__free(&o->lines);
	vec__free(&o->line_list);
	vec__free(&o->stack);
	str__free(&o->clean);
	arena__free(&o->arena);
	free(o->buf);
}
