/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk that comes to a file of which user space has made nothing yet: its registers and its stack
 * are sent, as often as there is room, and give user space the frames, the end and the id that the
 * kernel would have found with the file's rows.
 */
#include "walks.h"

#include "trace/unwinder.h"

#define LIB_TEXT 0x7f1000000000ull
#define ROUNDS	 4000
#define WORDS	 300 /* of random stack above SP */

/* Of a copy of the made-up stack. */
#define ONE_SIZE (STACK_HIGH - (SP + 0x20 - REGS_RED_ZONE))

static struct stage_file lib;
static struct as_file app_known, lib_known;

static const struct as_copy_event *copy__find(u64 id, u64 *size)
{
	for (u32 i = 0; i < host.ring_cnt; i++) {
		const struct as_copy_event *c = host.ring[i].data;

		*size = host.ring[i].size;
		if (c->type == AS_EVENT_COPY && c->id == id)
			return c;
	}
	return NULL;
}

static u32 copies__sent(void)
{
	return stage__events(AS_EVENT_COPY);
}

/* The program's file is new; what is called has the rule of its rows. */
static void scene__init_new(void)
{
	scene__init();
	stage_file__forget(&stage.app);
	stage__set_word(SP + 0x18, app__ip(0x125));
}

/* ---- what is sent, and when ---- */

static void made__test(void)
{
	const struct as_stack_event *ev;
	const struct as_copy_event *c;
	struct stage_sum sum;
	u64 size, first;

	scene__init_new();
	hit(SP + 0x18, 77);
	sum = stage__take_sums();
	first = sum.key.stack;
	ev = stage__find_stack(first);
	CHECK(ev && ev->end == AS_END_NO_TABLE && ev->frame_cnt == 2);
	c = copy__find(first, &size);
	CHECK(c);
	if (!c || !ev)
		return;
	CHECK_EQ(c->tgid, 100);
	CHECK_EQ(c->proc, ev->proc);
	CHECK_EQ(c->ip, app__ip(0x125));
	CHECK_EQ(c->sp, SP + 0x20);
	CHECK_EQ(c->bp, 77);
	CHECK_EQ(c->exact, 0);
	CHECK_EQ(c->map_start, APP_TEXT);
	CHECK_EQ(c->map_end, APP_TEXT + TEXT_SIZE);
	CHECK_EQ(c->map_bias, stage.app.bias);
	CHECK_EQ(c->map_file, stage.app.hash);
	CHECK_EQ(c->start, SP + 0x20 - REGS_RED_ZONE);
	CHECK_EQ(c->size, STACK_HIGH - c->start); /* not beyond the mapping */
	CHECK_EQ(size, offsetof(struct as_copy_event, bytes) + c->size);
	CHECK(!memcmp(c->bytes, stage__word(c->start), c->size));
	CHECK_EQ(copies_sent, c->size);
	/* The same again is another stack until it's known to be the same: nothing is remembered.
	 */
	hit(SP + 0x18, 77);
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 1);
	CHECK(sum.key.stack != first && copy__find(sum.key.stack, &size));
	CHECK_EQ(copies__sent(), 2);
	CHECK_EQ(copies_sent, 2 * c->size);
	CHECK_EQ(host__losses(), 0);
}

/* A file that user space has looked at gives no table later, and of one that it couldn't open none
 * will come: the frame pointer has to do, and the walk is remembered. */
static void known__test(void)
{
	static const u32 flags[] = { AS_FILE_READY, AS_FILE_READY | AS_FILE_ALLOCATOR,
				     AS_FILE_GONE };

	for (u32 i = 0; i < ARRAY_SIZE(flags); i++) {
		struct as_file known = { .flags = flags[i] };

		scene__init_new();
		stage_file__set(&stage.app, &known);
		stage__set_word(SP + 0x48, app__ip(0x200));
		for (u32 n = 0; n < 5; n++)
			hit(SP + 0x18, SP + 0x40);
		CHECK_EQ(copies__sent(), 0);
		CHECK_EQ(stage__events(AS_EVENT_STACK), 1);
		CHECK_EQ(stage__take_sums().cnt, 5);
	}
	scene__init_new(); /* code without a file has no rows either */
	host__add_vma(LIB_TEXT, LIB_TEXT + 0x1000, 0, VM_EXEC, NULL);
	EXPECT(SP + 0x40, 0, AS_END_NO_TABLE);
	stage__set_word(SP + 0x18, LIB_TEXT + 0x20);
	CHECK_EQ(walk(SP + 0x18, 0)->end, AS_END_ANONYMOUS);
	CHECK_EQ(copies__sent(), 0);
}

#define HIGH_LOW 0x7ffc00000000ull

static const struct as_copy_event *copy_at(u64 sp)
{
	u64 size;

	hit(sp, 0);
	return copy__find(stage__take_sums().key.stack, &size);
}

static void size__test(void)
{
	const struct as_copy_event *c;
	u8 *high;

	scene__init_new();
	high = (u8 *)host__add_memory(HIGH_LOW, 5 * AS_COPY_MAX); /* another mapping follows */
	host__add_vma(HIGH_LOW, HIGH_LOW + 4 * AS_COPY_MAX, 0, 0, NULL);
	for (u64 i = 0; i < 4 * AS_COPY_MAX; i += 8)
		*(u64 *)(void *)(high + i) = app__ip(0x125 + i % 0x800);
	c = copy_at(HIGH_LOW + 0x2080 - 8);
	CHECK(c && c->start == HIGH_LOW + 0x2000 && c->size == AS_COPY_MAX &&
	      !memcmp(c->bytes, high + 0x2000, AS_COPY_MAX));
	c = copy_at(HIGH_LOW + 0x2008); /* the most with pieces of pages at both ends */
	CHECK(c && c->start == HIGH_LOW + 0x2010 - REGS_RED_ZONE &&
	      c->size > AS_COPY_MAX - AS_PAGE &&
	      !memcmp(c->bytes, high + (c->start - HIGH_LOW), c->size));
	c = copy_at(HIGH_LOW + 0x10); /* nothing from below the mapping */
	CHECK(c && c->start == HIGH_LOW + 0x18 && c->size > AS_COPY_MAX - AS_PAGE);
	c = copy_at(HIGH_LOW + 4 * AS_COPY_MAX - 0x1010);
	CHECK(c && c->size == 0x1008 + REGS_RED_ZONE);
	stage.mm.start_stack = HIGH_LOW + 0x2800; /* the environment isn't wanted */
	c = copy_at(HIGH_LOW + 0x2000);
	CHECK(c && c->start + c->size == HIGH_LOW + 0x2800 + COPY_BEYOND);
	stage.mm.start_stack = HIGH_LOW + 4 * AS_COPY_MAX - 8;
	c = copy_at(HIGH_LOW + 4 * AS_COPY_MAX - 0x1010);
	CHECK(c && c->size == 0x1008 + REGS_RED_ZONE);
	stage.mm.start_stack = HIGH_LOW + 5 * AS_COPY_MAX; /* a thread's stack lies below */
	c = copy_at(HIGH_LOW + 4 * AS_COPY_MAX - 0x1010);
	CHECK(c && c->size == 0x1008 + REGS_RED_ZONE);
	stage.mm.start_stack = HIGH_LOW + 0x1000; /* this stack began elsewhere */
	host.fault_start = HIGH_LOW + 0x5800;	  /* as much as can be read */
	host.fault_end = HIGH_LOW + 0x5900;
	c = copy_at(HIGH_LOW + 0x2078);
	CHECK(c && c->start == HIGH_LOW + 0x2000 && c->size == 0x3000);
	c = copy_at(HIGH_LOW + 0x5200); /* nothing */
	CHECK(!c);
	host.fault_start = host.fault_end = 0;
	/* The stack's mapping can't be looked up (the return address isn't aligned: it was read
	 * without). */
	stage__forget();
	*(u64 *)(void *)(high + 0x2000) = app__ip(0x125) << 8;
	*(u64 *)(void *)(high + 0x2008) = app__ip(0x125) >> 56;
	host.busy_at = host.vma_calls + 3;
	c = copy_at(HIGH_LOW + 0x2001);
	CHECK(c && c->sp == HIGH_LOW + 0x2009 && c->start == HIGH_LOW + 0x2008 &&
	      c->size > AS_COPY_MAX - AS_PAGE);
	CHECK_EQ(host__losses(), 0);
}

/* No more waits in the ring than may; what isn't sent is counted and walked as well as it can be.
 */
static void limited__test(void)
{
	const struct as_stack_event *ev;
	struct stage_sum sum;
	u64 size;

	scene__init_new();
	as_copies_max = AS_COPY_MAX + ONE_SIZE;
	stage__set_word(SP + 0x40, 0);
	stage__set_word(SP + 0x48, app__ip(0x200));
	for (u32 i = 0; i < 6; i++)
		hit(SP + 0x18, SP + 0x40);
	CHECK_EQ(copies__sent(), 2);
	CHECK_EQ(copies_sent, 2 * ONE_SIZE);
	CHECK_EQ(host__loss(AS_LOSS_STACK_COPY_LIMITED), 4);
	CHECK_EQ(stage__take_sums().cnt, 6);
	hit(SP + 0x18, SP + 0x40);
	sum = stage__take_sums();
	ev = stage__find_stack(sum.key.stack);
	CHECK(ev && ev->frame_cnt == 3 && ev->end == AS_END_NO_TABLE);
	CHECK(!copy__find(sum.key.stack, &size));
	copies_done += ONE_SIZE; /* user space has taken one */
	hit(SP + 0x18, SP + 0x40);
	hit(SP + 0x18, SP + 0x40);
	CHECK_EQ(copies__sent(), 3);
	CHECK_EQ(host__loss(AS_LOSS_STACK_COPY_LIMITED), 6);
}

/* A copied hit has a row of its own until the sums are taken: a quarter of the table stays free of
 * them. */
static void rows__test(void)
{
	u64 *rows;

	scene__init_new();
	as_tally_half = 64;
	rows = host_map__elem(host_map__of(&fill), 0);
	*rows = 95;
	stage__set_word(SP + 0x40, 0);
	stage__set_word(SP + 0x48, app__ip(0x200));
	for (u32 i = 0; i < 6; i++)
		hit(SP + 0x18, SP + 0x40);
	CHECK_EQ(copies__sent(), 1);
	CHECK_EQ(host__loss(AS_LOSS_STACK_COPY_LIMITED), 5);
	CHECK_EQ(stage__take_sums().cnt, 6);
	*rows = 0; /* flipped */
	hit(SP + 0x18, SP + 0x40);
	CHECK_EQ(copies__sent(), 2);
}

/* --live: copies leave half of the rows to stacks that are known when they are counted. */
static void live_rows__test(void)
{
	scene__init_new();
	as_live = 1;
	host_map__of(&live_rows)->max = host_map__of(&live_row_at)->max = 2 * AS_CLASS_CNT + 16;
	as_live_row_max = 2 * AS_CLASS_CNT + 16;
	for (u32 i = 0; i < 20; i++)
		hit(SP + 0x18, 0);
	CHECK_EQ(copies__sent(), 8);
	CHECK_EQ(live_row_cnt, AS_CLASS_CNT + 9); /* all others have one */
	CHECK_EQ(host__loss(AS_LOSS_STACK_COPY_LIMITED), 12);
	CHECK_EQ(host__loss(AS_LOSS_ROWS_FULL), 0);
}

/* No room in the ring, for the copy or for both: what wasn't sent doesn't wait. */
static void ring_full__test(void)
{
	struct stage_sum sum;

	scene__init_new();
	hit(SP + 0x18, 0);
	host.ring_size = host.ring_used + 0x1000;
	hit(SP + 0x18, 0);
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 2);
	CHECK_EQ(stage__events(AS_EVENT_STACK), 2);
	CHECK_EQ(copies__sent(), 1);
	CHECK_EQ(host__loss(AS_LOSS_STACK_COPY_LIMITED), 1);
	CHECK_EQ(host__losses(), 1);
	host.ring_full = true;
	hit(SP + 0x18, 0);
	CHECK_EQ(host__loss(AS_LOSS_STACK_RING_FULL), 1);
	CHECK_EQ(host__losses(), 2);
	CHECK_EQ(copies_sent, ONE_SIZE);
}

/* ---- finished by user space ---- */

static bool world__mapping(void *arg, u64 addr, struct as_mapping *m)
{
	(void)arg;
	for (u32 i = 0; i < host.vma_cnt; i++) {
		struct vm_area_struct *v = &host.vma[i];

		if (addr < v->vm_start || addr >= v->vm_end || !(v->vm_flags & VM_EXEC))
			continue;
		*m = (struct as_mapping){};
		mapping__fill(NULL, v, m);
		m->flags |= AS_FILE_READY;
		if (m->file == stage.app.hash)
			m->table = app_known.table, m->chunk_cnt = app_known.chunk_cnt;
		if (m->file == lib.hash)
			m->table = lib_known.table, m->chunk_cnt = lib_known.chunk_cnt;
		return true;
	}
	return false;
}

static bool world__text(void *arg, u64 file, u64 off, void *to, u32 size)
{
	(void)arg;
	if (file != stage.app.hash || off + size > TEXT_SIZE)
		return false;
	memcpy(to, stage.text + off, size);
	return true;
}

static struct as_file file__known(struct stage_file *f)
{
	return *(struct as_file *)host_map__lookup(host_map__of(&files), &f->hash);
}

/* The kernel's tables, as user space has them. */
static void tables__take(struct tables *t, struct stage_file *f)
{
	struct host_map *m = host_map__of(&f->table);
	struct table *table = calloc(1, sizeof(*table));

	table->pages = calloc(m->max, sizeof(*table->pages));
	table->page_cnt = m->max;
	for (u32 i = 0; i < m->max; i++)
		memcpy(&table->pages[i], host_map__lookup(m, &i), sizeof(*table->pages));
	if (vec__push(&t->placed, table))
		abort();
}

static void tables__free(struct tables *t)
{
	for (size_t i = 0; i < t->placed.cnt; i++) {
		free(t->placed.v[i]->pages);
		free(t->placed.v[i]);
	}
	vec__free(&t->placed);
	free(t->mapped);
}

static u64 seed = 7;

static u64 draw(u64 below)
{
	return host__random(&seed) % below;
}

/* Frames of a few words, some of more than a copy has below its stack pointer; rbx may be saved
 * anywhere in them. */
static struct as_rule random__rule(void)
{
	static const u8 fps[] = { AS_FP_SAME, AS_FP_SAME, AS_FP_CFA, AS_FP_UNDEF };
	s32 words = draw(8) ? 1 + (s32)draw(5) : 40;
	struct as_rule r = { .cfa_kind = AS_CFA_RSP,
			     .cfa_off = 8 * words,
			     .fp_kind = fps[draw(ARRAY_SIZE(fps))],
			     .fp_off = -8 * (s32)(1 + draw(2)) };

	if (words > 1 && !draw(3))
		r.bx_off = -8 * (s32)(2 + draw(words - 1));
	else if (!draw(8))
		r.bx_off = AS_BX_LOST;
	return r;
}

/* A program and a library with the same functions: every kind of rule, mostly those that go on. */
static void scene__init_random(struct tables *t)
{
	scene__init();
	stage_file__map(&lib, 30, LIB_TEXT, TEXT_SIZE, 0);
	for (u32 i = 0; i < FN_MAX - 11; i++)
		fn(random__rule());
	fn((struct as_rule){
		.cfa_kind = AS_CFA_RBP, .cfa_off = 16, .fp_kind = AS_FP_CFA, .fp_off = -16 });
	fn((struct as_rule){ .cfa_kind = AS_CFA_DEREF_RSP, .cfa_off = 16, .aux = 8 });
	fn((struct as_rule){ .cfa_kind = AS_CFA_RBX, .cfa_off = 16 });
	fn((struct as_rule){ .cfa_kind = AS_CFA_SIGFRAME });
	fn_of(AS_RULE_UNSUPPORTED);
	fn_of(AS_RULE_GAP);
	fn_end();
	table__set();
	stage_file__set_table(&lib, 1, rows, fn_cnt + 1);
	app_known = file__known(&stage.app);
	lib_known = file__known(&lib);
	t->mapped = calloc(AS_RULE_MAX, sizeof(*t->mapped));
	memcpy(t->mapped, stage.rules, sizeof(stage.rules));
	tables__take(t, &stage.app);
	tables__take(t, &lib);
}

static u64 random__word(void)
{
	u64 kind = draw(100), off = FN_FIRST + draw(fn_cnt) * FN_SIZE + draw(FN_SIZE);

	if (kind < 45)
		return APP_TEXT + off;
	if (kind < 90)
		return LIB_TEXT + off;
	return kind < 98 ? SP + 0x100 + 8 * draw(WORDS) : draw(3);
}

static void unwinder__begin(struct unwinder *u, const struct as_stack_event *partial)
{
	u->slot.ev.frame_cnt = partial->frame_cnt;
	memcpy(u->slot.ev.frames, partial->frames, partial->frame_cnt * sizeof(partial->frames[0]));
}

static u32 more, ends[AS_END_NO_PROGRESS + 1];

/* What a hit has with the rows there must be what is made of its copy without. */
static void finish__one(struct unwinder *u, const struct unwinder_world *world, u64 bp)
{
	const struct as_stack_event *want, *partial;
	const struct as_copy_event *c;
	u64 id, size;

	hit_bx = random__word();
	want = walk(SP + 0x100, bp);
	stage_file__forget(draw(2) ? &stage.app : &lib);
	hit(SP + 0x100, bp);
	id = stage__take_sums().key.stack;
	partial = stage__find_stack(id);
	c = copy__find(id, &size);
	CHECK(partial);
	/* There is none where it doesn't come through that file, or has no stack left to read. */
	if (c && partial) {
		unwinder__begin(u, partial);
		CHECK(unwinder__finish(u, world, c));
		CHECK_EQ(u->slot.ev.id, want->id);
		CHECK_EQ(u->slot.ev.end, want->end);
		CHECK_EQ(u->slot.ev.frame_cnt, want->frame_cnt);
		CHECK(!memcmp(u->slot.ev.frames, want->frames,
			      want->frame_cnt * sizeof(want->frames[0])));
		more += want->frame_cnt > partial->frame_cnt;
		ends[MIN(want->end, (u32)AS_END_NO_PROGRESS)]++;
	}
	stage_file__set(&stage.app, &app_known);
	stage_file__set(&lib, &lib_known);
}

static void finish__test(void)
{
	struct tables t = {};
	struct unwinder_world world = {
		.tables = &t, .max_depth = 512, .mapping = world__mapping, .text = world__text
	};
	struct unwinder *u = calloc(1, sizeof(*u));

	scene__init_random(&t);
	for (u32 i = 0; i < ROUNDS && check_failures < 5; i++) {
		for (u32 w = 0; w < WORDS; w++)
			stage__set_word(SP + 0x100 + w * 8, random__word());
		stage__set_word(SP + 0x100, (draw(2) ? APP_TEXT : LIB_TEXT) + FN_FIRST +
						    draw(fn_cnt * FN_SIZE));
		finish__one(u, &world, random__word());
		host_map__clear(host_map__of(&seen));
		host_ring__consume();
		copies_sent = 0;
	}
	printf("%u stacks, %u got more frames; ends:", ROUNDS, more);
	for (u32 i = 0; i <= AS_END_NO_PROGRESS; i++)
		printf(" %u", ends[i]);
	printf("\n");
	CHECK(more > ROUNDS / 2); /* the test reaches what it is for */
	CHECK(ends[AS_END_COMPLETE] > 100 && ends[AS_END_GAP] > 10 &&
	      ends[AS_END_UNSUPPORTED] > 10);
	tables__free(&t);
	free(u);
}

/* The program's rows come after the hit. */
static void scene__finish_init(struct tables *t)
{
	table__set();
	app_known = file__known(&stage.app);
	t->mapped = calloc(AS_RULE_MAX, sizeof(*t->mapped));
	memcpy(t->mapped, stage.rules, sizeof(stage.rules));
	tables__take(t, &stage.app);
}

/* Hits at SP, without rows; the copy. */
static const struct as_copy_event *copied(struct unwinder *u)
{
	const struct as_stack_event *partial;
	const struct as_copy_event *c;
	u64 id, size;

	stage_file__forget(&stage.app);
	hit(SP, 0);
	id = stage__take_sums().key.stack;
	partial = stage__find_stack(id);
	c = copy__find(id, &size);
	CHECK(partial && c);
	if (partial && c)
		unwinder__begin(u, partial);
	return partial ? c : NULL;
}

/* A stack that goes on above what was copied: what it has, and why it ends. */
static void short__test(void)
{
	struct tables t = {};
	struct unwinder_world world = {
		.tables = &t, .max_depth = 512, .mapping = world__mapping, .text = world__text
	};
	struct unwinder *u = calloc(1, sizeof(*u));
	const struct as_copy_event *c;
	u64 a, end;

	scene__init();
	a = fn_rsp(0x800);
	end = fn_end();
	scene__finish_init(&t);
	for (u32 i = 0; i < 4; i++)
		stage__set_word(SP + i * 0x800, a);
	stage__set_word(SP + 4 * 0x800, end);
	host.fault_start = SP + 0x2000;
	host.fault_end = host.fault_start + 1;
	c = copied(u);
	CHECK(c && c->start + c->size == SP + 0x2000);
	CHECK(unwinder__finish(u, &world, c));
	CHECK_EQ(u->slot.ev.frame_cnt, 5);
	CHECK_EQ(u->slot.ev.end, AS_END_READ_FAULT);
	world.max_depth = 3; /* the depth limit is the kernel's */
	u->slot.ev.frame_cnt = 2;
	CHECK(unwinder__finish(u, &world, c));
	CHECK_EQ(u->slot.ev.frame_cnt, 3);
	CHECK_EQ(u->slot.ev.end, AS_END_TRUNCATED);
	host.vma_cnt = 0; /* nobody knows what was mapped there */
	CHECK(!unwinder__finish(u, &world, c));
	tables__free(&t);
	free(u);
}

/* Return addresses that return probes have replaced: the kernel puts them back into the copy. */
static void returns__test(void)
{
	struct tables t = {};
	const struct unwinder_world world = {
		.tables = &t, .max_depth = 512, .mapping = world__mapping, .text = world__text
	};
	struct unwinder *u = calloc(1, sizeof(*u));
	const struct as_stack_event *want;
	u64 fns[6];

	scene__init();
	for (u32 i = 0; i < 5; i++)
		fns[i] = fn_rsp(16);
	fns[5] = fn_end();
	scene__finish_init(&t);
	for (u32 i = 0; i < 6; i++)
		stage__set_word(SP + i * 16, fns[i]);
	want = walk(SP, 0);
	CHECK_EQ(want->frame_cnt, 7);
	stage__probe_return(SP + 80); /* outermost first */
	stage__probe_return(SP + 48);
	stage__set_word(SP + 32, fns[4]);
	stage__probe_return(SP + 32); /* left by longjmp(3), and another frame since */
	stage__set_word(SP + 32, fns[2]);
	stage__probe_return(SP + 16);
	stage__probe_return(SP + 16); /* of one that has jumped to another one */
	stage__probe_return(SP);
	CHECK(unwinder__finish(u, &world, copied(u)));
	CHECK_EQ(u->slot.ev.id, want->id);
	CHECK_EQ(u->slot.ev.frame_cnt, want->frame_cnt);
	CHECK(!memcmp(u->slot.ev.frames, want->frames, want->frame_cnt * sizeof(want->frames[0])));
	stage__set_word(SP + 64, TRAMPOLINE); /* whose was it? */
	CHECK(unwinder__finish(u, &world, copied(u)));
	CHECK_EQ(u->slot.ev.end, AS_END_UNSUPPORTED);
	CHECK_EQ(u->slot.ev.frame_cnt, 5);
	stage_file__set(&stage.app, &app_known);
	CHECK_EQ(walk(SP, 0)->id, u->slot.ev.id); /* as in the kernel */
	tables__free(&t);
	free(u);
}

int main(void)
{
	made__test();
	known__test();
	size__test();
	limited__test();
	rows__test();
	live_rows__test();
	ring_full__test();
	finish__test();
	short__test();
	returns__test();
	host__reset();
	return check__done();
}
