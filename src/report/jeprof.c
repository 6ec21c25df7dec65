/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jemalloc's heap profile (heap_v2), with its symbols before it, for jeprof: names are ours and
 * stay right when files are gone. jeprof knows stacks as lists of addresses and one process, so the
 * one idea: modules get places in an address space of our own, in the order in which they are met;
 * an address there is a module and an offset in its file, and MAPPED_LIBRARIES tells which, for a
 * reader who prefers files to our names. What has no place in a file gets an address above all.
 *
 * The rate is 0. With any other jeprof scales what it reads, though it is scaled already: with 1
 * each stack by 1/(1 - exp(-mean size)), which is wrong for small blocks and divides by 0 for empty
 * ones.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "report/row.h"
#include "report/writer.h"

#define FIRST_PLACE 0x100000000000ULL /* of the first module; jeprof likes long addresses */
#define PLACE_ALIGN 0x100000ULL
#define OFFSET_MAX  (1ULL << 40)      /* larger ones are no offsets in a file */
#define FIRST_MADE  0x7f0000000000ULL /* of names without a place */
#define MADE_STEP   16
#define PLACE_MAX   (FIRST_MADE - OFFSET_MAX - PLACE_ALIGN)

struct module {
	const char *path;
	u64 size; /* above the greatest offset that is in use */
	u64 start;
};

struct symbol {
	u64 addr;
	const char *text; /* interned: caller--inlined--... */
};

struct stack {
	const struct allocsnoop_sample *row;
	size_t first; /* of its addresses in jeprof.addrs, leaf first */
	size_t cnt;
};

struct jeprof {
	const struct allocsnoop_profile *p;
	const struct allocsnoop_report_opts *opts;
	FILE *out;
	bool live;
	struct arena arena;
	VEC(struct module) modules;
	struct map by_path; /* interned path -> module */
	VEC(struct symbol) symbols;
	struct map by_addr; /* address in a module -> symbol */
	struct map by_text; /* interned text -> symbol without a place */
	struct map known;   /* mix of a frame and what is inlined into it -> symbol */
	VEC(u64) addrs;
	VEC(struct stack) stacks;
	struct str text;  /* of the symbol at hand */
	struct str clean; /* one name of it */
	struct str buf;	  /* lines */
};

/* ---- places ---- */

static bool has_place(const struct allocsnoop_frame *f)
{
	return *f->module && f->offset && f->offset < OFFSET_MAX;
}

static int add_place(struct jeprof *j, const struct allocsnoop_frame *f)
{
	const char *path = arena__intern(&j->arena, f->module);
	u64 at;
	int err;

	if (!path)
		return -ENOMEM;
	if (!map__get(&j->by_path, (uintptr_t)path, &at)) {
		at = j->modules.cnt;
		err = vec__push(&j->modules, ((struct module){ .path = path }));
		if (!err)
			err = map__put(&j->by_path, (uintptr_t)path, at);
		if (err)
			return err;
	}
	j->modules.v[at].size = MAX(j->modules.v[at].size, f->offset + 1);
	return 0;
}

/* Where modules are: side by side, as large as the offsets in use need. */
static int make_places(struct jeprof *j)
{
	struct map seen = { 0 };
	u64 start = FIRST_PLACE, val;
	int err = 0;

	for (size_t i = 0; !err && i < j->p->samples.cnt; i++) {
		const struct allocsnoop_sample *s = &j->p->samples.v[i];

		for (size_t n = 0; !err && n < s->frame_cnt; n++) {
			const struct allocsnoop_frame *f = s->frames[n];

			if (!has_place(f) || map__get(&seen, (uintptr_t)f, &val))
				continue;
			err = add_place(j, f);
			if (!err)
				err = map__put(&seen, (uintptr_t)f, 1);
		}
	}
	map__free(&seen);
	for (size_t i = 0; i < j->modules.cnt; i++) {
		j->modules.v[i].start = start;
		start = MIN(start + j->modules.v[i].size + 2 * PLACE_ALIGN, PLACE_MAX) &
			~(PLACE_ALIGN - 1);
	}
	return err;
}

/* 0: none. */
static u64 place_of(const struct jeprof *j, const struct allocsnoop_frame *f)
{
	const struct module *m;
	u64 at;

	if (!has_place(f))
		return 0;
	if (!map__get(&j->by_path, (uintptr_t)arena__intern((struct arena *)&j->arena, f->module),
		      &at))
		return 0;
	m = &j->modules.v[at];
	return m->start < PLACE_MAX ? m->start + f->offset : 0;
}

/* ---- symbols ---- */

/* "--" parts the names of inlined functions, and `operator--` is one of them. */
static void add_name(struct jeprof *j, const char *name)
{
	struct str *text = &j->text;
	bool blank = true;

	str__clear(&j->clean);
	str__add_utf8(&j->clean, name, strlen(name), true);
	text->oom |= j->clean.oom;
	for (const char *c = j->clean.oom ? "" : j->clean.s; *c; c++) {
		if (blank && *c == ' ')
			continue; /* taken for a part of what parts it from the address */
		blank = false;
		str__addn(text, c, 1);
		if (*c == '-' && c[1] == '-')
			str__add(text, " ");
	}
	if (blank)
		str__add(text, "[unknown]");
}

static void add_inlined(struct jeprof *j, const char *name)
{
	if (j->text.len && j->text.s[j->text.len - 1] == '-')
		str__add(&j->text, " ");
	str__add(&j->text, "--");
	add_name(j, name);
}

static int symbol__new(struct jeprof *j, u64 addr, const char *text, u64 *symbol)
{
	*symbol = j->symbols.cnt;
	return vec__push(&j->symbols, ((struct symbol){ addr, text }));
}

/* The symbol of a name without a place, or whose place is another's. */
static int symbol__make(struct jeprof *j, const char *text, u64 *symbol)
{
	int err;

	if (map__get(&j->by_text, (uintptr_t)text, symbol))
		return 0;
	err = symbol__new(j, FIRST_MADE + j->by_text.cnt * MADE_STEP, text, symbol);
	return err ? err : map__put(&j->by_text, (uintptr_t)text, *symbol);
}

/* Of j->text, which is taken. place: where it would like to be, or 0. */
static int symbol__of(struct jeprof *j, u64 place, u64 *symbol)
{
	const char *text = j->text.oom ? NULL : arena__intern(&j->arena, j->text.s);
	int err;

	str__clear(&j->text);
	if (!text)
		return -ENOMEM;
	if (!place)
		return symbol__make(j, text, symbol);
	if (map__get(&j->by_addr, place, symbol)) {
		if (j->symbols.v[*symbol].text == text)
			return 0;
		return symbol__make(j, text, symbol); /* a file that was replaced */
	}
	err = symbol__new(j, place, text, symbol);
	return err ? err : map__put(&j->by_addr, place, *symbol);
}

/* frames: what is inlined into the last one, innermost first, and that one. */
static int symbol__of_frames(struct jeprof *j, const struct allocsnoop_frame *const *frames,
			     size_t cnt, u64 *symbol)
{
	u64 key = (uintptr_t)frames[0];
	int err;

	for (size_t i = 1; i < cnt; i++)
		key = map__mix(key, (uintptr_t)frames[i]);
	if (map__get(&j->known, key, symbol))
		return 0;
	add_name(j, frames[cnt - 1]->function);
	for (size_t i = cnt - 1; i > 0; i--)
		add_inlined(j, frames[i - 1]->function);
	err = symbol__of(j, place_of(j, frames[cnt - 1]), symbol);
	return err ? err : map__put(&j->known, key, *symbol);
}

/* ---- stacks ---- */

/* jeprof takes one from each address but the first: return addresses lie behind their calls. */
static int push_symbol(struct jeprof *j, const struct stack *stack, u64 symbol)
{
	bool leaf = j->addrs.cnt == stack->first;

	return vec__push(&j->addrs, j->symbols.v[symbol].addr + !leaf);
}

static int push_frames(struct jeprof *j, const struct stack *stack)
{
	const struct allocsnoop_sample *s = stack->row;
	int err = 0;

	for (size_t i = 0, next; !err && i < s->frame_cnt; i = next) {
		u64 symbol;

		for (next = i + 1; next < s->frame_cnt && s->frames[next - 1]->inlined;)
			next++;
		err = symbol__of_frames(j, s->frames + i, next - i, &symbol);
		if (!err)
			err = push_symbol(j, stack, symbol);
	}
	return err;
}

/* A made-up frame, unless its name is empty. */
static int push_label(struct jeprof *j, const struct stack *stack, struct str *label)
{
	u64 symbol;
	int err = label->oom ? -ENOMEM : 0;

	if (!err && label->len) {
		add_name(j, label->s);
		err = symbol__of(j, 0, &symbol);
		if (!err)
			err = push_symbol(j, stack, symbol);
	}
	str__clear(label);
	return err;
}

static int add_row(struct jeprof *j, const struct allocsnoop_sample *s)
{
	struct stack stack = { .row = s, .first = j->addrs.cnt };
	struct str label = { 0 };
	int err;

	if (!s->alloc_count && !s->alloc_bytes && !s->live_count && !s->live_bytes)
		return 0;
	err = push_frames(j, &stack);
	if (!s->frame_cnt)
		row__frameless(&label, s, j->opts->by);
	if (!err)
		err = push_label(j, &stack, &label);
	row__end(&label, s);
	if (!err)
		err = push_label(j, &stack, &label);
	row__thread(&label, s, j->opts->by);
	if (!err)
		err = push_label(j, &stack, &label);
	row__process(&label, s, j->opts->by);
	if (!err && !label.len && j->addrs.cnt == stack.first)
		str__add(&label, "[unknown]"); /* an empty stack is none */
	if (!err)
		err = push_label(j, &stack, &label);
	str__free(&label);
	stack.cnt = j->addrs.cnt - stack.first;
	return err ? err : vec__push(&j->stacks, stack);
}

/* ---- lines ---- */

static int flush_buf(struct jeprof *j)
{
	if (j->buf.oom)
		return -ENOMEM;
	fwrite(j->buf.s, 1, j->buf.len, j->out);
	str__clear(&j->buf);
	/* Tell of a full disk or a closed pipe now, not after the last row. */
	return ferror(j->out) ? writer__done(j->out) : 0;
}

/* jeprof puts paths into a shell's command line, and quotes only some of them rightly. */
static bool is_harmless(const char *path)
{
	if (*path != '/')
		return false;
	while (isalnum((u8)*path) || (*path && strchr("/._+,=@:~-", *path)))
		path++;
	return !*path;
}

static int write_symbols(struct jeprof *j)
{
	const struct allocsnoop_process *proc = j->p->processes.v;
	int err = 0;

	str__add(&j->buf, "--- symbol\n");
	if (j->p->processes.cnt == 1 && is_harmless(proc->exe))
		str__addf(&j->buf, "binary=%s\n", proc->exe);
	for (size_t i = 0; !err && i < j->symbols.cnt; i++) {
		str__addf(&j->buf, "0x%016" PRIx64 " ", j->symbols.v[i].addr);
		str__add(&j->buf, j->symbols.v[i].text);
		str__add(&j->buf, "\n");
		err = flush_buf(j);
	}
	str__add(&j->buf, "---\n--- heap\n");
	return err;
}

/* jeprof shows them on standard error. */
static int write_warnings(struct jeprof *j)
{
	const struct allocsnoop_info *info = &j->p->info;

	if (!j->live)
		str__add(&j->buf, "%warn only allocations were recorded, so nothing is in use: "
				  "--alloc_space or --alloc_objects shows them\n");
	if (info->diff)
		str__add(&j->buf, "%warn of two profiles that were compared, this is the later\n");
	if (info->at_least)
		str__add(&j->buf, "%warn numbers are lower bounds\n");
	else if (!info->exact)
		str__add(&j->buf, "%warn numbers are estimates, already scaled\n");
	for (size_t i = 0; i < j->p->losses.cnt; i++) {
		const struct allocsnoop_loss *l = &j->p->losses.v[i];

		str__addf(&j->buf, "%%warn lost: %" PRIu64 " ", l->count);
		str__add_utf8(&j->buf, l->name, strlen(l->name), true);
		str__add(&j->buf, ": ");
		str__add_utf8(&j->buf, l->text, strlen(l->text), true);
		str__add(&j->buf, "\n");
	}
	return flush_buf(j);
}

/* thread 0: of all. */
static void add_numbers(struct jeprof *j, u32 thread, const struct allocsnoop_sample *s)
{
	if (thread)
		str__addf(&j->buf, "  t%u:", thread);
	else
		str__add(&j->buf, "  t*:");
	str__addf(&j->buf, " %" PRIu64 ": %" PRIu64, j->live ? s->live_count : 0,
		  j->live ? s->live_bytes : 0);
	str__addf(&j->buf, " [%" PRIu64 ": %" PRIu64 "]\n", s->alloc_count, s->alloc_bytes);
}

static int write_stack(struct jeprof *j, const struct stack *stack)
{
	str__add(&j->buf, "@");
	for (size_t i = 0; i < stack->cnt; i++) {
		str__addn(&j->buf, " 0x", 3);
		str__add_hex(&j->buf, j->addrs.v[stack->first + i]);
	}
	str__add(&j->buf, "\n");
	add_numbers(j, 0, stack->row);
	/* Of other rows only some would have one: those that are of one thread alone. */
	if (j->opts->by == ALLOCSNOOP_BY_THREAD && stack->row->tid)
		add_numbers(j, stack->row->tid, stack->row);
	return flush_buf(j);
}

static int write_heap(struct jeprof *j)
{
	struct allocsnoop_sample all;
	int err = 0;

	profile__sum(j->p, &all);
	str__add(&j->buf, "heap_v2/0\n");
	add_numbers(j, 0, &all);
	for (size_t i = 0; !err && i < j->stacks.cnt; i++)
		err = write_stack(j, &j->stacks.v[i]);
	return err;
}

/* In the form of /proc/PID/maps. */
static int write_modules(struct jeprof *j)
{
	str__add(&j->buf, "\nMAPPED_LIBRARIES:\n");
	for (size_t i = 0; i < j->modules.cnt; i++) {
		const struct module *m = &j->modules.v[i];
		u64 end = (m->start + m->size + PLACE_ALIGN) & ~(PLACE_ALIGN - 1);

		if (m->start >= PLACE_MAX || !is_harmless(m->path))
			continue;
		str__addf(&j->buf, "%" PRIx64 "-%" PRIx64 " r-xp 00000000 00:00 0 %s\n", m->start,
			  end, m->path);
	}
	return flush_buf(j);
}

static int write_all(struct jeprof *j)
{
	int err = make_places(j);

	for (size_t i = 0; !err && i < j->p->samples.cnt; i++)
		err = add_row(j, &j->p->samples.v[i]);
	if (!err)
		err = write_symbols(j);
	if (!err)
		err = write_warnings(j);
	if (!err)
		err = write_heap(j);
	return err ? err : write_modules(j);
}

static int jeprof_write(const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct jeprof j = { .p = p, .opts = opts, .out = out };
	int err;

	j.live = !strcmp(p->info.mode, "live");
	err = write_all(&j);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	vec__free(&j.modules);
	vec__free(&j.symbols);
	vec__free(&j.addrs);
	vec__free(&j.stacks);
	map__free(&j.by_path);
	map__free(&j.by_addr);
	map__free(&j.by_text);
	map__free(&j.known);
	str__free(&j.text);
	str__free(&j.clean);
	str__free(&j.buf);
	arena__free(&j.arena);
	return err ? err : writer__done(out);
}

const struct writer writer_jeprof = {
	.name = "jeprof",
	.help = "jemalloc's heap profile with its symbols, for jeprof",
	.extension = "heap",
	.write = jeprof_write,
};
