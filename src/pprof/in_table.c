/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings, functions, mappings and locations of a profile that is being read: in this order,
 * wherever they stand in the file, so that each finds what it names. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "pprof/in.h"

/* A number in the file means the element at index `at`. */
static int ids__put(const struct in *in, struct map *ids, u64 id, size_t at, const char *what)
{
	u64 old;

	if (!id || ids__find(in, ids, id, &old))
		return err__fail(-EINVAL, "damaged: %s %" PRIu64 " %s", what, id,
				 id ? "is there twice" : "must not be");
	return map__put(ids, map__mix(id, in->secret), at) ? in__no_memory() : 0;
}

static int add_string(struct in *in, const struct wire_field *f, size_t nr __attribute__((unused)))
{
	struct in_string s = { .data = f->data, .size = f->size };
	int err;

	if (f->type != WIRE_BYTES || f->size > IN_STRING_MAX)
		return err__fail(-EINVAL, "damaged: string %zu is none, or has more than %u MiB",
				 in->strings.cnt, IN_STRING_MAX >> 20);
	err = in__take(in, 2 * sizeof(s));
	if (err)
		return err;
	return vec__push(&in->strings, s) ? in__no_memory() : 0;
}

static int add_function(struct in *in, const struct wire_field *f,
			size_t nr __attribute__((unused)))
{
	struct in_function fn;
	const Pb__Function *m;
	int err = 0;

	m = in__unpack(in, &pb__function__descriptor, f, &err);
	if (!m)
		return err;
	err = in__take(in, 2 * sizeof(fn) + 4 * sizeof(struct map_slot));
	if (!err)
		err = ids__put(in, &in->function_ids, m->id, in->functions.cnt, "function");
	if (!err)
		err = in__string(in, m->name, &fn.name);
	if (!err)
		err = in__string(in, m->system_name, &fn.system_name);
	if (!err)
		err = in__string(in, m->filename, &fn.file);
	if (err)
		return err;
	return vec__push(&in->functions, fn) ? in__no_memory() : 0;
}

static int add_mapping(struct in *in, const struct wire_field *f, size_t nr __attribute__((unused)))
{
	struct in_mapping map;
	const Pb__Mapping *m;
	int err = 0;

	m = in__unpack(in, &pb__mapping__descriptor, f, &err);
	if (!m)
		return err;
	map = (struct in_mapping){ .start = m->memory_start,
				   .limit = m->memory_limit,
				   .offset = m->file_offset };
	err = in__take(in, 2 * sizeof(map) + 4 * sizeof(struct map_slot));
	if (!err)
		err = ids__put(in, &in->mapping_ids, m->id, in->mappings.cnt, "mapping");
	if (!err)
		err = in__string(in, m->filename, &map.file);
	if (!err)
		err = in__string(in, m->build_id, &map.build_id);
	if (err)
		return err;
	return vec__push(&in->mappings, map) ? in__no_memory() : 0;
}

/* ---- locations ---- */

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Where it is: what the last of its frames has, and so have the others. */
static int place__read(struct in *in, const Pb__Location *m, struct allocsnoop_frame *f)
{
	const struct in_mapping *map;
	const char *build_id = "";
	u64 at;
	int err = 0;

	f->module = "";
	f->offset = m->address;
	if (m->mapping_id) {
		if (!ids__find(in, &in->mapping_ids, m->mapping_id, &at))
			return err__fail(-EINVAL,
					 "damaged: location %" PRIu64 " names mapping %" PRIu64
					 ", which isn't there",
					 m->id, m->mapping_id);
		map = &in->mappings.v[at];
		f->module = map->file;
		build_id = map->build_id;
		if (*map->file && m->address >= map->start)
			f->offset = m->address - map->start + map->offset;
	}
	if (m->place && m->place->apart) {
		err = in__string(in, m->place->module, &f->module);
		if (!err)
			err = in__string(in, m->place->build_id, &build_id);
		f->offset = m->place->offset;
	} else if (m->place && m->place->returns) {
		f->offset++;
	}
	f->build_id = text_or_null(build_id);
	return err;
}

/* "libc.so.6+0x97360", or the address alone: no symbol covers it. */
static int frame__name_place(struct in *in, struct allocsnoop_frame *f)
{
	const char *slash = strrchr(f->module, '/');
	const char *base = slash && slash[1] ? slash + 1 : f->module;
	struct str s = {};

	if (*base)
		str__addf(&s, "%s+", base);
	str__addf(&s, "0x%" PRIx64, f->offset);
	f->function = s.oom ? NULL : arena__intern(&in->p->arena, s.s);
	str__free(&s);
	return f->function ? 0 : in__no_memory();
}

static int line__read(struct in *in, const Pb__Location *m, const Pb__Line *line,
		      struct allocsnoop_frame *f)
{
	const struct in_function *fn;
	u64 at;

	if (!ids__find(in, &in->function_ids, line->function_id, &at))
		return err__fail(-EINVAL,
				 "damaged: location %" PRIu64 " names function %" PRIu64
				 ", which isn't there",
				 m->id, line->function_id);
	fn = &in->functions.v[at];
	f->function = *fn->name ? fn->name : fn->system_name;
	if (*fn->name && *fn->system_name && strcmp(fn->name, fn->system_name))
		f->mangled = fn->system_name;
	f->file = text_or_null(fn->file);
	f->line = line->line > 0 && line->line <= UINT32_MAX ? (u32)line->line : 0;
	return *f->function ? 0 : frame__name_place(in, f);
}

static int location__fill(struct in *in, const Pb__Location *m, struct in_location *loc)
{
	struct allocsnoop_frame place = {};
	int err = place__read(in, m, &place);

	for (u32 i = 0; i < loc->frame_cnt && !err; i++) {
		struct allocsnoop_frame *f = &loc->frames[i];

		*f = place;
		if (m->n_line)
			err = line__read(in, m, m->line[i], f);
		else
			err = frame__name_place(in, f);
		f->inlined = i + 1 < loc->frame_cnt || (m->place && m->place->inlined);
	}
	return err;
}

static int add_location(struct in *in, const struct wire_field *f,
			size_t nr __attribute__((unused)))
{
	struct in_location loc;
	const Pb__Location *m;
	int err = 0;

	m = in__unpack(in, &pb__location__descriptor, f, &err);
	if (!m)
		return err;
	loc.frame_cnt = (u32)MAX(m->n_line, 1u);
	err = in__take(in, 2 * sizeof(loc) + 4 * sizeof(struct map_slot));
	if (!err)
		err = ids__put(in, &in->location_ids, m->id, in->locations.cnt, "location");
	if (err)
		return err;
	loc.frames = arena__alloc(&in->p->arena, loc.frame_cnt * sizeof(*loc.frames));
	if (!loc.frames)
		return in__no_memory();
	err = location__fill(in, m, &loc);
	if (err)
		return err;
	return vec__push(&in->locations, loc) ? in__no_memory() : 0;
}

int in__read_tables(struct in *in)
{
	const char *none;
	int err = in__each(in, PPROF_STRING, add_string);

	if (!err && !in->strings.cnt)
		err = err__fail(-EINVAL, "not a pprof profile: it has no strings");
	if (!err)
		err = in__string(in, 0, &none);
	if (!err && *none)
		err = err__fail(-EINVAL, "not a pprof profile: its first string isn't empty");
	if (!err)
		err = in__each(in, PPROF_FUNCTION, add_function);
	if (!err)
		err = in__each(in, PPROF_MAPPING, add_mapping);
	return err ? err : in__each(in, PPROF_LOCATION, add_location);
}
