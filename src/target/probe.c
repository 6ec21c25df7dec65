/* SPDX-License-Identifier: BSD-2-Clause */
/* From the user's texts to rows, and what became of them. */
#include "target/probe.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "elf/image.h"
#include "elf/symtab.h"

#define PRESET "preset:"

/* ---- the set ---- */

static void probe__free(struct probe *p)
{
	if (!p)
		return;
	free(p->object);
	free(p->path);
	free(p->symbol);
	free(p);
}

/* Functions of one object (or preset) are one layer. */
static int probe_set__layer(struct probe_set *set, const char *name, u8 *layer)
{
	for (size_t i = 0; i < set->layers.cnt; i++) {
		if (strcmp(set->layers.v[i], name))
			continue;
		*layer = (u8)(i + 1);
		return 0;
	}
	if (set->layers.cnt == PROBE_LAYER_MAX) {
		err__fail(-EINVAL, "probe '%s': at most %d objects and presets at once", name,
			  PROBE_LAYER_MAX);
		err__hint("trace the others with another allocsnoop");
		return -EINVAL;
	}
	if (vec__push(&set->layers, name))
		return err__fail(-ENOMEM, "out of memory");
	*layer = (u8)set->layers.cnt;
	return 0;
}

/* Takes p over. */
static int probe_set__take(struct probe_set *set, struct probe *p, const char *layer)
{
	const struct probe *old;
	int err = 0;

	for (size_t i = 0; i < set->v.cnt && !err; i++) {
		old = set->v.v[i];
		if (!strcmp(old->object, p->object) && !strcmp(old->symbol, p->symbol))
			err = err__fail(-EINVAL, "probe '%s:%s': named twice", p->object,
					p->symbol);
	}
	if (!err && set->v.cnt == PROBE_MAX)
		err = err__fail(-EINVAL, "more than %d functions to probe", PROBE_MAX);
	if (!err)
		err = probe_set__layer(set, layer, &p->row.layer);
	p->spec = (u32)set->specs.cnt - 1;
	if (!err && vec__push(&set->v, p))
		err = err__fail(-ENOMEM, "out of memory");
	if (err)
		probe__free(p);
	return err;
}

static int preset__unknown(const char *spec)
{
	char names[128] = "";

	for (const struct probe_preset *ps = probe_presets; ps->name; ps++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 names[0] ? ", " : "", ps->name);
	err__fail(-EINVAL, "probe '%s': no such preset", spec);
	err__hint("presets are %s", names);
	return -EINVAL;
}

static int preset__add(struct probe_set *set, const char *spec)
{
	const struct probe_preset *ps = probe_presets;
	int err = 0;

	while (ps->name && strcmp(ps->name, spec + strlen(PRESET)))
		ps++;
	if (!ps->name)
		return preset__unknown(spec);
	for (size_t i = 0; i < ps->row_cnt && !err; i++) {
		struct probe *p = calloc(1, sizeof(*p));

		if (!p)
			return err__fail(-ENOMEM, "out of memory");
		p->row = ps->rows[i];
		p->object = strdup(PROBE_ANY_FILE);
		p->symbol = strdup(ps->rows[i].symbol);
		if (!p->object || !p->symbol) {
			probe__free(p);
			return err__fail(-ENOMEM, "out of memory");
		}
		p->row.symbol = p->symbol;
		err = probe_set__take(set, p, set->specs.v[set->specs.cnt - 1]);
	}
	return err;
}

static int own__add(struct probe_set *set, const char *spec)
{
	struct probe *p = calloc(1, sizeof(*p));
	int err = p ? probe__parse(p, spec) : err__fail(-ENOMEM, "out of memory");

	if (err) {
		probe__free(p);
		return err;
	}
	p->row.allocator = p->object;
	return probe_set__take(set, p, p->object);
}

int probe_set__add(struct probe_set *set, const char *spec)
{
	char *copy;

	if (strnlen(spec, PROBE_SPEC_MAX) == PROBE_SPEC_MAX)
		return err__fail(-EINVAL, "probe '%.40s...': too long", spec);
	copy = strdup(spec);
	if (!copy || vec__push(&set->specs, copy)) {
		free(copy);
		return err__fail(-ENOMEM, "out of memory");
	}
	return strncmp(copy, PRESET, strlen(PRESET)) ? own__add(set, copy) : preset__add(set, copy);
}

/* A layer's blocks can be followed when something frees them: one by one, or, where all is made by
 * one reallocating function (Lua's way), that. */
static bool layer__frees(const struct probe_set *set, u8 layer)
{
	bool only_reallocs = true;

	for (size_t i = 0; i < set->v.cnt; i++) {
		const struct catalog_row *row = &set->v.v[i]->row;

		if (row->layer == layer && row->role == ROLE_FREE)
			return true;
		only_reallocs &= row->layer != layer || row->role == ROLE_REALLOC;
	}
	return only_reallocs;
}

void probe_set__finish(struct probe_set *set)
{
	for (size_t i = 0; i < set->v.cnt; i++)
		if (!layer__frees(set, set->v.v[i]->row.layer))
			set->v.v[i]->row.ends |= ENDS_COLLECTED;
}

void probe_set__free(struct probe_set *set)
{
	for (size_t i = 0; i < set->v.cnt; i++)
		probe__free(set->v.v[i]);
	for (size_t i = 0; i < set->specs.cnt; i++)
		free(set->specs.v[i]);
	vec__free(&set->v);
	vec__free(&set->specs);
	vec__free(&set->layers);
}

/* ---- files ---- */

/* `libfoo` is libfoo.so.1, too, and `libfoo.so.1` is libfoo.so.1.2.3. */
static bool is_short_for(const char *object, const char *name)
{
	size_t len = strlen(object);

	if (strncmp(object, name, len))
		return false;
	return !strncmp(name + len, ".so", 3) || (strstr(object, ".so") && name[len] == '.');
}

bool probe__matches(const struct probe *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strchr(p->object, '/'))
		return !strcmp(p->object, path) || (p->path && !strcmp(p->path, path));
	return !strcmp(p->object, name) || !fnmatch(p->object, name, 0) ||
	       is_short_for(p->object, name);
}

const struct catalog_row *probe_set__find(const struct probe_set *set, const char *symbol)
{
	for (size_t i = 0; set && i < set->v.cnt; i++) {
		const struct probe *p = set->v.v[i];

		if (!p->by_offset && !strcmp(p->symbol, symbol))
			return &p->row;
	}
	return set && set->only ? NULL : catalog__find(symbol);
}

/* ---- what became of them ---- */

#define NEAR_DISTANCE 3

/* How many letters must change, be added or dropped. Long names are nobody's typing error. */
static u32 distance(const char *a, const char *b)
{
	u8 row[PROBE_NEAR_MAX];
	size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = (u8)j;
	for (size_t i = 1; a[i - 1]; i++) {
		u8 corner = row[0];

		row[0] = (u8)i;
		for (size_t j = 1; j <= n; j++) {
			u8 above = row[j], best = MIN(row[j - 1], above) + 1;

			row[j] = MIN(best, (u8)(corner + (a[i - 1] != b[j - 1])));
			corner = above;
		}
	}
	return row[n];
}

struct noting {
	struct probe_set *set;
	u64 here;			/* bit i: probe i's object is this file */
	u64 found;			/* ... and this is one of its functions */
	u8 near[64];			/* distance of the nearest name */
	char names[64][PROBE_NEAR_MAX]; /* that name */
};

static void note_near(struct noting *n, size_t i, const char *name)
{
	const char *symbol = n->set->v.v[i]->symbol;
	size_t a = strlen(symbol), b = strnlen(name, PROBE_NEAR_MAX);
	u32 d;

	if (a < 4 || a >= PROBE_NEAR_MAX || b >= PROBE_NEAR_MAX || a > b + NEAR_DISTANCE ||
	    b > a + NEAR_DISTANCE)
		return;
	d = distance(symbol, name);
	if (d >= n->near[i])
		return;
	n->near[i] = (u8)d;
	memcpy(n->names[i], name, b + 1);
}

static int note_symbol(void *arg, const char *name, u64 off, u64 size, u8 type, u8 bind,
		       bool dynamic)
{
	struct noting *n = arg;

	(void)off;
	(void)size;
	(void)type;
	(void)bind;
	(void)dynamic;
	for (size_t i = 0; i < 64 && i < n->set->v.cnt; i++) {
		if (!(n->here >> i & 1) || n->found >> i & 1)
			continue;
		if (!strcmp(n->set->v.v[i]->symbol, name))
			n->found |= 1ull << i;
		else
			note_near(n, i, name);
	}
	return 0;
}

static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;

/* Only of objects that are named: any file may lack a function of any file's. */
static int note_misses(struct probe_set *set, u64 here, const struct elf_image *img)
{
	struct noting *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->set = set;
	n->here = here;
	memset(n->near, NEAR_DISTANCE + 1, sizeof(n->near));
	err = elf_symtab__each(img, note_symbol, n);
	pthread_mutex_lock(&note_lock);
	for (size_t i = 0; i < 64 && i < set->v.cnt && !err; i++)
		if (!(n->found >> i & 1) && n->names[i][0])
			memcpy(set->v.v[i]->near, n->names[i], PROBE_NEAR_MAX);
	pthread_mutex_unlock(&note_lock);
	free(n);
	return err;
}

const char *probe__advice(const struct catalog_row *row, u64 func_size)
{
	for (const struct probe_preset *ps = probe_presets; row->layer && ps->name; ps++)
		if (ps->thin && row->allocator == ps->allocator && !strcmp(row->symbol, ps->thin))
			return func_size > ps->thin_size ? ps->advice : NULL;
	return NULL;
}

void probe__count_site(const struct catalog_row *row)
{
	if (row->layer)
		__atomic_fetch_add(&((struct probe *)row)->site_cnt, 1, __ATOMIC_RELAXED);
}

int probe_set__note(struct probe_set *set, const char *path, const struct elf_image *img)
{
	u64 here = 0;

	for (size_t i = 0; set && i < set->v.cnt; i++) {
		struct probe *p = set->v.v[i];

		if (!strpbrk(p->object, "*?[") && probe__matches(p, path)) {
			__atomic_fetch_add(&p->file_cnt, 1, __ATOMIC_RELAXED);
			here |= i < 64 && !p->by_offset ? 1ull << i : 0;
		}
	}
	return here ? note_misses(set, here, img) : 0;
}

const char *probe_set__missed(const struct probe_set *set, size_t *at, char *why, size_t why_size)
{
	for (; *at < set->specs.cnt; ++*at) {
		const struct probe *last = NULL;
		u32 sites = 0;

		for (size_t i = 0; i < set->v.cnt; i++) {
			if (set->v.v[i]->spec != *at)
				continue;
			last = set->v.v[i];
			sites += last->site_cnt;
		}
		if (!last || sites)
			continue;
		if (!last->file_cnt && strpbrk(last->object, "*?["))
			snprintf(why, why_size, "no mapped file has such a function");
		else if (!last->file_cnt)
			snprintf(why, why_size, "no file '%s' was mapped", last->object);
		else if (last->near[0])
			snprintf(why, why_size, "no such function in '%s'; it has '%s'",
				 last->object, last->near);
		else
			snprintf(why, why_size, "no such function in '%s'", last->object);
		return set->specs.v[(*at)++];
	}
	return NULL;
}
