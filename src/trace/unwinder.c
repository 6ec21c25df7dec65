/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for what the kernel gives to the walk's text, and runs it. */
#include "trace/unwinder.h"

#include <errno.h>
#include <string.h>

/* Whose walk it is: the text's helpers have no argument to say so. */
static _Thread_local struct unwinder *here;

/* ---- helpers and maps ---- */

#undef __noinline
#define __noinline     static __attribute__((noinline))
#define barrier_var(v) asm volatile("" : "+r"(v))
#define as_max_depth   (here->world->max_depth)

/* Only their addresses are used. */
static char slots, tables, rules, rule_cache;

/* An element of a map, or a table of `tables`, which is a map itself. */
static void *bpf_map_lookup_elem(const void *map, const u32 *key)
{
	static _Thread_local u64 not_cached;
	const struct tables *t = here->world->tables;
	const struct table *table = map;

	if (map == &slots)
		return &here->slot;
	if (map == &rules)
		return *key < AS_RULE_MAX ? &t->mapped[*key] : NULL;
	if (map == &tables)
		return *key < t->placed.cnt ? t->placed.v[*key] : NULL;
	if (map != &rule_cache)
		return *key < table->page_cnt ? &table->pages[*key] : NULL;
	not_cached = 0;
	return &not_cached;
}

static bool copy__holds(const struct as_copy_event *c, u64 addr, u64 size)
{
	return addr >= c->start && addr - c->start <= c->size &&
	       size <= c->size - (addr - c->start);
}

/* Stack as it was, and text, which doesn't change: nothing else of the process is what it was. */
static long bpf_probe_read_user(void *to, u32 size, const void *from)
{
	const struct as_copy_event *c = here->copy;
	u64 addr = (uintptr_t)from;
	struct as_mapping m;

	if (copy__holds(c, addr, size)) {
		memcpy(to, c->bytes + (addr - c->start), size);
		return 0;
	}
	if (here->world->mapping(here->world->arg, addr, &m) && m.file && size <= m.end - addr &&
	    here->world->text(here->world->arg, m.file, addr + m.bias, to, size))
		return 0;
	return -EFAULT;
}

static long mapping__find(struct as_slot *s, u64 addr, struct as_mapping **out)
{
	const struct as_copy_event *c = here->copy;

	*out = &s->asked;
	if (here->world->mapping(here->world->arg, addr, &s->asked))
		return 0;
	s->asked = (struct as_mapping){ .start = c->start, .end = c->start + c->size };
	return copy__holds(c, addr, 1) ? 0 : -ENOENT;
}

/* A finished walk isn't done again. */
static void memo__note(struct as_memo *m, u64 addr, u64 value)
{
	(void)m;
	(void)addr;
	(void)value;
}

static void loss__count(u32 which)
{
	(void)which;
}

/* The kernel has put the return addresses that it knows into the copy. */
static u64 trampoline__caller(u64 at)
{
	(void)at;
	return 0;
}

struct pt_regs { /* of a hit: these walks are past that */
	u64 di, si, dx, cx, r8, r9, r10, ax, orig_ax, flags;
};

#include "regs.bpf.h"
#include "window.bpf.h"
#include "rows.bpf.h"
#include "unwind.bpf.h"

/* ---- the walk ---- */

bool unwinder__finish(struct unwinder *u, const struct unwinder_world *world,
		      const struct as_copy_event *c)
{
	struct as_slot *s = &u->slot;
	struct walk *w = &s->walk;
	struct as_mapping *m;

	here = u;
	u->world = world;
	u->copy = c;
	s->proc = c->proc;
	s->trampoline = c->trampoline;
	s->window.words = 0;
	if (mapping__find(s, c->ip - !c->exact, &m))
		return false;
	*w = (struct walk){ .ip = c->ip,
			    .sp = c->sp,
			    .bp = c->bp,
			    .bx = c->bx,
			    .bx_at = c->bx_at,
			    .hash = c->hash,
			    .depth = s->ev.frame_cnt,
			    .end = WALK_NOT_DONE,
			    .exact = c->exact,
			    .copy = COPY_REFUSED, /* another isn't to be had */
			    .m = *m };
	for (u32 i = 0; i < AS_DEPTH_MAX && w->end == WALK_NOT_DONE; i++)
		walk__step(0);
	s->ev.frame_cnt = w->depth;
	s->ev.end = w->end;
	s->ev.id = walk__id(w);
	return true;
}
