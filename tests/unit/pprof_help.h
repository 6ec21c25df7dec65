/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of pprof's writer and reader: profiles to bytes and back, and messages made by
 * hand. */
#ifndef TESTS_UNIT_PPROF_HELP_H
#define TESTS_UNIT_PPROF_HELP_H

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "check.h"
#include "pprof/pprof.h"
#include "report/writer.h"

struct bytes {
	char *data;
	size_t size;
};

static inline struct bytes report_bytes(const struct allocsnoop_profile *p, const char *format)
{
	const struct writer *w = writer__find(format);
	struct allocsnoop_report_opts opts = { .format = format };
	struct bytes b = {};
	FILE *out = open_memstream(&b.data, &b.size);

	CHECK_EQ(w->write(p, &opts, out), 0);
	fclose(out);
	return b;
}

/* NULL: it was refused; the words are err__msg(). */
static inline struct allocsnoop_profile *read_bytes(const void *data, size_t size)
{
	struct allocsnoop_profile *p = NULL;
	FILE *in = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "r");
	int err = pprof__read(in, &p);

	fclose(in);
	CHECK(!err == !!p);
	CHECK(err <= 0);
	if (err) {
		const char *msg = err__msg();

		CHECK(*msg && !strchr(msg, '\n') && strlen(msg) < 600);
	}
	return err ? NULL : p;
}

static inline struct allocsnoop_profile *there_and_back(const struct allocsnoop_profile *p)
{
	struct bytes b = report_bytes(p, "pprof");
	struct allocsnoop_profile *back = read_bytes(b.data, b.size);

	if (!back) {
		fprintf(stderr, "refused: %s\n", err__msg());
		abort();
	}
	free(b.data);
	return back;
}

/* ---- a profile of messages ---- */

/* Strings are numbers in text: { "", "space", "bytes" }. */
struct made {
	Pb__Profile m;
	char *strings[64];
	Pb__ValueType types[8];
	Pb__ValueType *type_list[8];
	Pb__Function functions[16];
	Pb__Function *function_list[16];
	Pb__Mapping mappings[8];
	Pb__Mapping *mapping_list[8];
	Pb__Location locations[16];
	Pb__Location *location_list[16];
	Pb__Line lines[32];
	Pb__Line *line_list[32];
	size_t line_cnt;
	Pb__Sample samples[16];
	Pb__Sample *sample_list[16];
	Pb__Label labels[32];
	Pb__Label *label_list[32];
	size_t label_cnt;
	Pb__ValueType period_type;
	int64_t values[16][8];
	uint64_t ids[16][8];
};

static inline int64_t made__string(struct made *m, const char *text)
{
	for (size_t i = 0; i < m->m.n_string_table; i++) {
		if (!strcmp(m->strings[i], text))
			return (int64_t)i;
	}
	m->strings[m->m.n_string_table] = (char *)text;
	return (int64_t)m->m.n_string_table++;
}

static inline void made__type(struct made *m, const char *type, const char *unit)
{
	Pb__ValueType *t = &m->types[m->m.n_sample_type];

	pb__value_type__init(t);
	t->type = made__string(m, type);
	t->unit = made__string(m, unit);
	m->type_list[m->m.n_sample_type++] = t;
}

static inline void made__init(struct made *m)
{
	memset(m, 0, sizeof(*m));
	pb__profile__init(&m->m);
	m->m.string_table = m->strings;
	m->m.sample_type = m->type_list;
	m->m.function = m->function_list;
	m->m.mapping = m->mapping_list;
	m->m.location = m->location_list;
	m->m.sample = m->sample_list;
	made__string(m, "");
}

static inline Pb__Mapping *made__mapping(struct made *m, const char *file, uint64_t start,
					 uint64_t limit, uint64_t offset)
{
	Pb__Mapping *map = &m->mappings[m->m.n_mapping];

	pb__mapping__init(map);
	m->mapping_list[m->m.n_mapping++] = map;
	map->id = m->m.n_mapping;
	map->filename = made__string(m, file);
	map->memory_start = start;
	map->memory_limit = limit;
	map->file_offset = offset;
	return map;
}

/* With a name a location has a line; another call with the location's id adds an outer one. */
static inline Pb__Location *made__location(struct made *m, uint64_t id, uint64_t mapping,
					   uint64_t address, const char *name, int64_t line)
{
	Pb__Location *loc = m->m.n_location ? m->location_list[m->m.n_location - 1] : NULL;
	Pb__Function *fn;

	if (!loc || loc->id != id) {
		loc = &m->locations[m->m.n_location];
		pb__location__init(loc);
		m->location_list[m->m.n_location++] = loc;
		loc->id = id;
		loc->mapping_id = mapping;
		loc->address = address;
		loc->line = &m->line_list[m->line_cnt];
	}
	if (!name)
		return loc;
	fn = &m->functions[m->m.n_function];
	pb__function__init(fn);
	m->function_list[m->m.n_function++] = fn;
	fn->id = m->m.n_function;
	fn->name = made__string(m, name);
	pb__line__init(&m->lines[m->line_cnt]);
	m->lines[m->line_cnt].function_id = fn->id;
	m->lines[m->line_cnt].line = line;
	m->line_list[m->line_cnt] = &m->lines[m->line_cnt];
	m->line_cnt++;
	loc->n_line++;
	return loc;
}

static inline Pb__Sample *made__sample(struct made *m, const int64_t *values, const uint64_t *ids)
{
	size_t at = m->m.n_sample;
	Pb__Sample *s = &m->samples[at];

	pb__sample__init(s);
	m->sample_list[m->m.n_sample++] = s;
	s->value = m->values[at];
	s->location_id = m->ids[at];
	s->label = &m->label_list[m->label_cnt];
	for (; s->n_value < m->m.n_sample_type; s->n_value++)
		s->value[s->n_value] = values[s->n_value];
	for (; ids[s->n_location_id]; s->n_location_id++)
		s->location_id[s->n_location_id] = ids[s->n_location_id];
	return s;
}

/* Of the newest sample. */
static inline Pb__Label *made__label(struct made *m, const char *key, const char *text, int64_t num)
{
	Pb__Label *l = &m->labels[m->label_cnt];

	pb__label__init(l);
	l->key = made__string(m, key);
	l->str = text ? made__string(m, text) : 0;
	l->num = num;
	m->label_list[m->label_cnt++] = l;
	m->sample_list[m->m.n_sample - 1]->n_label++;
	return l;
}

#define VALUES(...) ((const int64_t[]){ __VA_ARGS__ })
#define IDS(...)    ((const uint64_t[]){ __VA_ARGS__, 0 })

static inline struct bytes made__pack(const struct made *m)
{
	struct bytes b = { .size = pb__profile__get_packed_size(&m->m) };

	b.data = malloc(b.size + 1);
	pb__profile__pack(&m->m, (uint8_t *)b.data);
	return b;
}

static inline struct allocsnoop_profile *made__read(const struct made *m)
{
	struct bytes b = made__pack(m);
	struct allocsnoop_profile *p = read_bytes(b.data, b.size);

	free(b.data);
	return p;
}

#endif
