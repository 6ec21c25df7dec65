/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and source lines of frames: each distinct raw frame is named once; names of files that were
 * let go are kept. */
#include "making.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

typedef VEC(struct as_frame) frame_vec;

#define LOOKS_MAX 3 /* at what has come, for source lines */

/* Of one file that was let go. */
struct kept_names {
	struct map at; /* offset -> struct kept_name * */
	struct arena arena;
	const char *build_id; /* NULL none */
};

struct kept_name {
	const char *function;
	const char *mangled; /* NULL: the same */
};

/* What is one place in a file: functions that were inlined there, innermost first, and that which
 * they were inlined into. */
struct frame_list {
	u32 cnt;
	struct allocsnoop_frame v[];
};

int names__init(struct names *n)
{
	memset(n, 0, sizeof(*n));
	return resolver__new(&n->resolver);
}

static void kept__free(struct kept_names *k)
{
	map__free(&k->at);
	arena__free(&k->arena);
	free(k);
}

void names__fini(struct names *n)
{
	u64 hash, val;

	for (size_t i = 0; map__next(&n->kept, &i, &hash, &val);)
		kept__free((void *)(uintptr_t)val);
	resolver__free(n->resolver);
	lines__fini(&n->lines);
	vec__free(&n->points.v);
	map__free(&n->files);
	map__free(&n->kept);
	memset(n, 0, sizeof(*n));
}

/* The resolver's handle of a traced file, opened when it's first asked for. */
static int names__file(struct names *n, const struct traced_file *f, struct symbol_file **out)
{
	u64 val;
	int fd, err;

	if (map__get(&n->files, f->hash, &val)) {
		*out = (void *)(uintptr_t)val;
		return 0;
	}
	fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	err = resolver__add_file(n->resolver, fd, f->path, out);
	return err ? err : map__put(&n->files, f->hash, (uintptr_t)*out);
}

static struct kept_names *names__kept(const struct names *n, u64 hash)
{
	u64 val;

	return map__get(&n->kept, hash, &val) ? (void *)(uintptr_t)val : NULL;
}

/* The names kept of a file, made when it's the first time; NULL out of memory. */
static struct kept_names *names__keeping(struct names *n, u64 hash)
{
	struct kept_names *k = names__kept(n, hash);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (k && map__put(&n->kept, hash, (uintptr_t)k)) {
		free(k);
		return NULL;
	}
	return k;
}

/* As it is in the symbol table, cleaned: symbol tables have no rules. *out NULL: that is the
 * function's name. 0 or -ENOMEM. */
static int mangled__intern(struct arena *a, const struct symbol_name *name, const char **out)
{
	struct str clean = {};

	*out = NULL;
	if (!name->raw || !strcmp(name->raw, name->function))
		return 0;
	str__add_utf8(&clean, name->raw, strlen(name->raw), true);
	if (!clean.oom && strcmp(clean.s, name->function))
		*out = arena__intern(a, clean.s);
	str__free(&clean);
	return clean.oom ? -ENOMEM : 0;
}

/* A place of a file that is there. */
static int names__place(struct names *n, struct symbol_file *symbols, u64 raw,
			struct symbol_name *name)
{
	u64 off = raw & ~AS_FRAME_EXACT;

	return resolver__name(n->resolver, symbols, off, off == raw, name);
}

static void name__keep(struct names *n, struct kept_names *k, struct symbol_file *symbols, u64 raw)
{
	struct kept_name *kept = arena__alloc(&k->arena, sizeof(*kept));
	struct symbol_name name;

	if (!kept || names__place(n, symbols, raw, &name))
		return;
	kept->function = arena__intern(&k->arena, name.function);
	if (!kept->function || mangled__intern(&k->arena, &name, &kept->mangled))
		return;
	map__put(&k->at, raw, (uintptr_t)kept);
}

/* Source lines of those places that have none yet. 0 or -ENOMEM. */
static int names__find_lines(struct names *n, const struct traced_file *f, const u64 *places,
			     size_t cnt)
{
	VEC(struct line_wanted) wanted = {};
	struct symbol_file *symbols;
	struct symbol_name name;
	int err = names__file(n, f, &symbols);

	for (size_t i = 0; i < cnt && !err; i++) {
		struct line_wanted w = {
			.place = places[i],
			.off = places[i] & ~AS_FRAME_EXACT,
		};

		if (lines__at(&n->lines, f->hash, w.place))
			continue;
		err = names__place(n, symbols, w.place, &name);
		/* No call has left the address of a function's first byte. */
		w.is_return_address = w.off == w.place && !(name.raw && name.start == w.off);
		if (!err)
			err = vec__push(&wanted, w);
	}
	if (!err && wanted.cnt)
		err = lines__find(&n->lines, f->hash, f->fd, f->path, wanted.v, wanted.cnt);
	vec__free(&wanted);
	return err == -ENOMEM ? err : 0;
}

/* A file may come and go many times a day: what was named stays so. */
void names__keep(void *arg, const struct traced_file *f, const u64 *offs, size_t cnt)
{
	struct names *n = arg;
	struct kept_names *k = cnt ? names__keeping(n, f->hash) : NULL;
	struct symbol_file *symbols;
	u64 val;

	/* Without memory for it a frame is called by its place in the file. */
	for (size_t i = 0; i < cnt && k; i++) {
		if (map__get(&k->at, offs[i], &val))
			continue;
		if (names__file(n, f, &symbols))
			break;
		name__keep(n, k, symbols, offs[i]);
		if (!k->build_id)
			k->build_id = arena__intern(&k->arena, resolver__build_id(symbols));
	}
	if (n->lines.on && f->fd >= 0)
		names__find_lines(n, f, offs, cnt);
	if (!map__get(&n->files, f->hash, &val))
		return;
	resolver__close_file(n->resolver, (void *)(uintptr_t)val);
	map__del(&n->files, f->hash);
}

static const struct kept_name *kept__name(const struct kept_names *k, u64 off)
{
	u64 val;

	return k && map__get(&k->at, off, &val) ? (const void *)(uintptr_t)val : NULL;
}

const char *names__kept_name(const struct names *n, u64 hash, u64 off)
{
	const struct kept_name *name = kept__name(names__kept(n, hash), off);

	return name ? name->function : NULL;
}

void names__forget(void *arg, u64 hash)
{
	struct names *n = arg;
	struct kept_names *k = names__kept(n, hash);

	lines__forget(&n->lines, hash);
	if (!k)
		return;
	kept__free(k);
	map__del(&n->kept, hash);
}

/* "libc.so.6+0x97360"; NULL: out of memory. */
static const char *place__name(struct making *m, const struct traced_file *file, u64 off)
{
	const char *slash = strrchr(file->path, '/');
	const char *name = NULL;
	struct str s = {};

	slash = slash && slash[1] ? slash + 1 : file->path;
	str__add_utf8(&s, slash, strlen(slash), true);
	str__addf(&s, "+0x%" PRIx64, off);
	if (!s.oom)
		name = arena__intern(&m->p->arena, s.s);
	str__free(&s);
	return name;
}

/* A copy in the profile. *out NULL: there is none. 0 or -ENOMEM. */
static int making__intern(struct making *m, const char *text, const char **out)
{
	*out = arena__intern(&m->p->arena, text);
	return text && !*out ? -ENOMEM : 0;
}

/* A place in a file that was let go, and mapped again perhaps: by the name that was kept, else
 * without. */
static int frame__name_kept(struct making *m, const struct traced_file *file, u64 raw,
			    struct allocsnoop_frame *f)
{
	const struct kept_names *k = names__kept(m->names, file->hash);
	const struct kept_name *name = kept__name(k, raw);
	int err;

	err = making__intern(m, k ? k->build_id : NULL, &f->build_id);
	if (!err && name)
		err = making__intern(m, name->mangled, &f->mangled);
	if (err)
		return err;
	f->function = name ? arena__intern(&m->p->arena, name->function)
			   : place__name(m, file, f->offset);
	return f->function ? 0 : -ENOMEM;
}

static int frame__name_open(struct making *m, const struct traced_file *file, u64 raw,
			    struct allocsnoop_frame *f)
{
	struct symbol_file *symbols;
	struct symbol_name name;
	int err = names__file(m->names, file, &symbols);

	if (!err)
		err = names__place(m->names, symbols, raw, &name);
	if (!err)
		err = making__intern(m, name.function, &f->function);
	if (!err)
		err = mangled__intern(&m->p->arena, &name, &f->mangled);
	return err ? err : making__intern(m, resolver__build_id(symbols), &f->build_id);
}

static int frame__name(struct making *m, const struct traced_file *file, u64 raw,
		       struct allocsnoop_frame *f)
{
	int err;

	f->function = "[unknown]";
	f->module = "";
	f->offset = raw & ~AS_FRAME_EXACT;
	if (!file)
		return 0;
	err = making__intern(m, file->path, &f->module);
	if (err)
		return err;
	return file->fd < 0 ? frame__name_kept(m, file, raw, f) : frame__name_open(m, file, raw, f);
}

/* What the place's source says of one frame. */
static int frame__set_source(struct making *m, const struct source_frame *src,
			     struct allocsnoop_frame *f)
{
	int err = making__intern(m, src->file, &f->file);

	f->line = src->line;
	if (!src->function || err)
		return err;
	f->inlined = true;
	err = making__intern(m, src->mangled, &f->mangled);
	return err ? err : making__intern(m, src->function, &f->function);
}

static int making__frames(struct making *m, const struct as_frame *raw,
			  const struct frame_list **out)
{
	struct traced_file *file = raw->file ? files__find(&m->s->files, raw->file) : NULL;
	const struct line_frames *lines;
	u64 key = map__mix(raw->file, raw->off), val;
	struct frame_list *list;
	u32 cnt, last;
	int err;

	if (map__get(&m->frames, key, &val)) {
		*out = (void *)(uintptr_t)val;
		return 0;
	}
	lines = file ? lines__at(&m->names->lines, file->hash, raw->off) : NULL;
	cnt = lines && lines->cnt ? lines->cnt : 1;
	last = cnt - 1;
	list = arena__alloc(&m->p->arena, sizeof(*list) + cnt * sizeof(list->v[0]));
	if (!list)
		return -ENOMEM;
	list->cnt = cnt;
	err = frame__name(m, file, raw->off, &list->v[last]);
	for (u32 i = 0; i < cnt && !err && lines && lines->cnt; i++) {
		if (i < last)
			list->v[i] = list->v[last];
		err = frame__set_source(m, &lines->v[i], &list->v[i]);
	}
	*out = list;
	return err ? err : map__put(&m->frames, key, (uintptr_t)list);
}

/* NULL in *out: it has none, or was let go before it was named. */
static int making__build_id(struct making *m, const struct traced_file *file, const char **out)
{
	const struct kept_names *k = names__kept(m->names, file->hash);
	struct symbol_file *symbols;
	struct symbol_name name;
	int err;

	if (file->fd < 0)
		return making__intern(m, k ? k->build_id : NULL, out);
	err = names__file(m->names, file, &symbols);
	/* Only a file that was asked for a name is read. */
	if (!err && !resolver__build_id(symbols))
		err = names__place(m->names, symbols, AS_FRAME_EXACT, &name);
	return err ? err : making__intern(m, resolver__build_id(symbols), out);
}

/* Frame 0 is called what the program called: aliases share an address, and the symbol table may
 * prefer another. */
static int making__allocator_frame(struct making *m, const struct traced_site *site,
				   const char *allocator, const struct allocsnoop_frame **out)
{
	struct allocsnoop_frame *f = arena__alloc(&m->p->arena, sizeof(*f));
	struct symbol_name name = { .function = allocator };
	int err;

	if (!f)
		return -ENOMEM;
	f->function = allocator;
	f->module = site && site->file ? arena__intern(&m->p->arena, site->file->path) : "";
	f->offset = site ? site->site->probe_off : 0;
	*out = f;
	if (!f->module)
		return -ENOMEM;
	if (!site || !site->file)
		return 0;
	name.raw = site->site->symbol;
	err = mangled__intern(&m->p->arena, &name, &f->mangled);
	return err ? err : making__build_id(m, site->file, &f->build_id);
}

/* The frames that follow that of the allocator. */
static int making__name_callers(struct making *m, const struct recorded_stack *raw,
				struct stack_frames *sf)
{
	VEC(const struct frame_list *) lists = {};
	const struct frame_list *list;
	const struct allocsnoop_frame *allocator = sf->v[0];
	int err = 0;

	for (u32 i = 1; i < raw->frame_cnt && !err; i++) {
		err = making__frames(m, &raw->frames[i], &list);
		if (!err)
			err = vec__push(&lists, list);
		if (!err)
			sf->cnt += list->cnt;
	}
	sf->v = err ? NULL : arena__alloc(&m->p->arena, sf->cnt * sizeof(*sf->v));
	if (!err && !sf->v)
		err = -ENOMEM;
	if (!err)
		*sf->v = allocator;
	for (size_t i = 0, to = 1; i < lists.cnt && !err; i++) {
		for (u32 k = 0; k < lists.v[i]->cnt; k++)
			sf->v[to++] = &lists.v[i]->v[k];
	}
	vec__free(&lists);
	return err;
}

int making__name_stack(struct making *m, const struct recorded_stack *raw,
		       const struct traced_site *site, const char *allocator,
		       enum allocsnoop_end lost, struct stack_frames *sf)
{
	int err;

	sf->cnt = 1;
	sf->end = raw ? (enum allocsnoop_end)raw->end : lost;
	sf->v = arena__alloc(&m->p->arena, sizeof(*sf->v));
	if (!sf->v)
		return -ENOMEM;
	err = making__allocator_frame(m, site, allocator, &sf->v[0]);
	return err || !raw ? err : making__name_callers(m, raw, sf);
}

/* ---- source lines ---- */

static int frame__compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct as_frame));
}

/* Places that nobody has looked up, sorted by file. Called with the session's lock held. */
static int lines__collect(const struct names *n, const struct session *s, frame_vec *places)
{
	struct map seen = {};
	int err = 0;
	u64 id, val;

	for (size_t i = 0; !err && map__next(&s->record.stacks, &i, &id, &val);) {
		const struct recorded_stack *stack = (void *)(uintptr_t)val;

		for (u32 k = 1; k < stack->frame_cnt && !err; k++) {
			const struct as_frame *f = &stack->frames[k];
			u64 key = map__mix(f->file, f->off);

			if (!f->file || map__get(&seen, key, &val) ||
			    lines__at(&n->lines, f->file, f->off))
				continue;
			err = map__put(&seen, key, 1);
			if (!err)
				err = vec__push(places, *f);
		}
	}
	map__free(&seen);
	if (places->cnt)
		qsort(places->v, places->cnt, sizeof(*places->v), frame__compare);
	return err;
}

/* The places of one file. */
static int names__find_file_lines(struct names *n, struct session *s, const struct as_frame *v,
				  size_t cnt)
{
	VEC(u64) places = {};
	const struct traced_file *f;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	f = files__find(&s->files, v->file);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < cnt && !err; i++)
		err = vec__push(&places, v[i].off);
	if (!err && f && f->fd >= 0)
		err = names__find_lines(n, f, places.v, places.cnt);
	vec__free(&places);
	return err;
}

/* *more: stacks have come meanwhile. */
static int names__find_new_lines(struct names *n, struct session *s, bool *more)
{
	frame_vec places = {};
	size_t end, stacks;
	int err;

	pthread_mutex_lock(&s->lock);
	stacks = s->record.stacks.cnt;
	err = lines__collect(n, s, &places);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < places.cnt && !err; i = end) {
		for (end = i + 1; end < places.cnt && places.v[end].file == places.v[i].file;)
			end++;
		err = names__find_file_lines(n, s, &places.v[i], end - i);
		session__keep_up(s);
	}
	pthread_mutex_lock(&s->lock);
	*more = s->record.stacks.cnt != stacks;
	pthread_mutex_unlock(&s->lock);
	vec__free(&places);
	return err;
}

/* Stacks that come meanwhile have their turn; those that come during the last look wait for the
 * next profile. */
int names__find_all_lines(struct names *n, struct session *s)
{
	bool more = true;
	int err = 0;

	for (u32 i = 0; i < LOOKS_MAX && !err && more; i++)
		err = names__find_new_lines(n, s, &more);
	return err;
}
