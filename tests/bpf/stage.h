/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process to trace: its files with their unwind rows, its mappings, a stack, and hits of its
 * probes; then what user space would read of them.
 */
#ifndef TESTS_BPF_STAGE_H
#define TESTS_BPF_STAGE_H

#include "host.h"

#include "base/types.h"
#include "unwind/table.h"

#define STACK_LOW   0x7ffd00000000ull
#define STACK_SIZE  0x8000ull
#define STACK_HIGH  (STACK_LOW + STACK_SIZE)
#define ALLOC_TEXT  0x7f0000001000ull /* where the allocator's file is mapped */
#define APP_TEXT    0x555500000000ull /* where the program's is */
#define TEXT_SIZE   0x10000ull
#define ALLOC_PGOFF 1ull /* pages: the mapping isn't the start of the file */

struct stage_file {
	struct super_block sb;
	struct inode inode;
	struct file file;
	struct table_inner table;
	u64 hash;
	u64 start;
	u64 bias;
};

#define TRAMPOLINE \
	0x7fffffffe000ull /* the kernel's page to which return probes let functions return */
#define RETURNS_MAX 70

struct stage {
	struct task_struct parent;
	struct task_struct task;
	struct mm_struct mm;
	struct xol_area xol;
	struct uprobe_task utask;
	struct return_instance returns[RETURNS_MAX];
	u32 return_cnt;
	struct stage_file alloc;
	struct stage_file app;
	u64 *stack; /* words from STACK_LOW */
	u8 *text;   /* of the program */
	struct as_rule rules[64];
	u32 rule_cnt;
};

static struct stage stage;

static inline u64 *stage__word(u64 addr)
{
	return &stage.stack[(addr - STACK_LOW) / 8];
}

static inline void stage__set_word(u64 addr, u64 value)
{
	*stage__word(addr) = value;
}

/* What the kernel does when a function with a return probe is entered (prepare_uretprobe). */
static inline void stage__probe_return(u64 at)
{
	struct return_instance *newest = stage.utask.return_instances;
	struct return_instance *ri = &stage.returns[stage.return_cnt++];

	stage.task.utask = &stage.utask;
	if (!stage.mm.uprobes_state.xol_area) {
		stage.xol.vaddr = TRAMPOLINE;
		stage.mm.uprobes_state.xol_area = &stage.xol;
		stage.mm.lock_seq += 2; /* the page was mapped */
	}
	*ri = (struct return_instance){ .stack = at,
					.orig_ret_vaddr = *stage__word(at),
					.next = newest };
	if (ri->orig_ret_vaddr == TRAMPOLINE)
		ri->orig_ret_vaddr = newest->orig_ret_vaddr;
	stage.utask.return_instances = ri;
	stage__set_word(at, TRAMPOLINE);
}

/* The function has returned. */
static inline void stage__returned(void)
{
	stage.utask.return_instances = stage.utask.return_instances->next;
	stage.return_cnt--;
}

static inline u64 stage_file__hash(struct stage_file *f)
{
	struct as_file_key key;

	file__key(&f->file, &key);
	return file__hash(&key);
}

static inline void stage_file__set(struct stage_file *f, const struct as_file *to)
{
	host_map__update(host_map__of(&files), &f->hash, to, BPF_ANY);
	table_epoch++;
}

/* User space hasn't looked at it yet. */
static inline void stage_file__forget(struct stage_file *f)
{
	host_map__remove(host_map__of(&files), &f->hash);
	table_epoch++;
}

/* User space has looked at it, and found no rows. */
static inline void stage_file__map(struct stage_file *f, u64 ino, u64 start, u64 size, u64 pgoff)
{
	static const struct as_file ready = { .flags = AS_FILE_READY };

	*f = (struct stage_file){ .start = start, .bias = (pgoff << 12) - start };
	f->sb.s_dev = 0xfe00000;
	f->inode =
		(struct inode){ .i_ino = ino, .i_sb = &f->sb, .mtime_sec = 1700000000 + (s64)ino };
	f->file.f_inode = &f->inode;
	f->hash = stage_file__hash(f);
	host__add_vma(start, start + size, pgoff, VM_EXEC, &f->file);
	stage_file__set(f, &ready);
}

/* Gives a file rows; they are laid out by the code that does so for real files. */
static inline void stage_file__set_table(struct stage_file *f, u32 slot,
					 const struct unwind_row *rows, u32 cnt)
{
	struct unwind_table t = {};
	struct as_file known = { .flags = AS_FILE_READY, .table = slot + 1 };
	u32 first[AS_INDEX_PAGES];
	void *inner = &f->table;
	union as_page *pages_made;
	struct host_map *m;
	u32 page_cnt;

	for (u32 i = 0; i < cnt; i++) {
		if (vec__push(&t.rows, rows[i]))
			abort();
	}
	if (unwind_table__pack(&t, &pages_made, &page_cnt, &known.chunk_cnt, first))
		abort();
	m = host_map__add(inner, "table", BPF_MAP_TYPE_ARRAY, sizeof(u32), sizeof(*pages_made),
			  page_cnt);
	for (u32 i = 0; i < page_cnt; i++)
		host_map__update(m, &i, &pages_made[i], BPF_ANY);
	free(pages_made);
	unwind_table__fini(&t);
	host_map__update(host_map__of(&tables), &slot, &inner, BPF_ANY);
	stage_file__set(f, &known);
}

static inline u16 stage__rule(struct as_rule rule)
{
	u32 n = stage.rule_cnt++;

	host_map__update(host_map__of(&rules), &n, &rule, BPF_ANY);
	stage.rules[n] = rule;
	return n;
}

static inline u64 app__ip(u64 off)
{
	return APP_TEXT + off;
}

/* A process with an allocator and a program, both without rows, and an empty stack. */
static inline void stage__init(void)
{
	static const struct as_rule fixed[] = { { .cfa_kind = AS_CFA_GAP },
						{ .cfa_kind = AS_CFA_END },
						{ .cfa_kind = AS_CFA_UNSUPPORTED } };

	host__reset();
	stage = (struct stage){
		.task = { .pid = 101, .tgid = 100, .start_boottime = 5000, .self_exec_id = 1 },
		.mm = { .lock_seq = 2 }
	};
	stage.parent = (struct task_struct){ .pid = 1, .tgid = 1, .group_leader = &stage.parent };
	stage.task.real_parent = &stage.parent;
	stage.task.group_leader = &stage.task;
	stage.task.mm = &stage.mm;
	strcpy(stage.task.comm, "program");
	host.task = &stage.task;
	stage.stack = (u64 *)host__add_memory(STACK_LOW, STACK_SIZE);
	host__add_vma(STACK_LOW, STACK_HIGH, 0x7fffffff0, 0, NULL);
	stage.text = (u8 *)host__add_memory(APP_TEXT, TEXT_SIZE);
	memset(stage.text, 0xe8, TEXT_SIZE); /* any address follows a call */
	stage_file__map(&stage.alloc, 10, ALLOC_TEXT, TEXT_SIZE, ALLOC_PGOFF);
	stage_file__map(&stage.app, 20, APP_TEXT, TEXT_SIZE, 0);
	for (u32 i = 0; i < ARRAY_SIZE(fixed); i++)
		stage__rule(fixed[i]);
}

/* ---- cookies ---- */

#define COOKIE(site)	    ((u64)(site) << 32)
#define COOKIE_SIZE_ARG(n)  ((u64)(n))
#define COOKIE_COUNT_ARG(n) ((u64)(n) << 3)
#define COOKIE_OLD_ARG(n)   ((u64)(n) << 6)
#define COOKIE_ALIGN_ARG(n) ((u64)(n) << 9)

/* One call of a site: its registers as at the function's entry. */
static inline void stage__call(u64 cookie, const struct pt_regs *regs)
{
	struct pt_regs copy = *regs;

	host.cookie = cookie;
	allocsnoop_call(&copy);
}

/* ---- what user space reads ---- */

static inline int stage__flush_slot(u64 slot)
{
	struct bpf_raw_tracepoint_args *ctx = calloc(1, sizeof(*ctx) + sizeof(u64));
	int busy;

	ctx->args[0] = slot;
	busy = allocsnoop_flush(ctx);
	free(ctx);
	return busy;
}

static inline void stage__flush(void)
{
	for (u32 i = 0; i < host_map__of(&slots)->max; i++)
		stage__flush_slot(i);
}

struct stage_sum {
	u64 cnt;
	u64 bytes;
	u32 rows;
	struct as_tally_key key; /* of the last row */
};

static inline void host_map__sum(struct host_map *m, struct stage_sum *sum)
{
	u32 at = 0;

	for (struct host_node *n = host_map__next(m, &at, NULL); n; n = host_map__next(m, &at, n)) {
		const struct as_tally *t = n->value;

		sum->cnt += t->cnt;
		sum->bytes += t->bytes;
		sum->rows++;
		memcpy(&sum->key, n->key, sizeof(sum->key));
	}
}

/* All that was counted since the last time. */
static inline struct stage_sum stage__take_sums(void)
{
	struct stage_sum sum = {};

	stage__flush();
	host_map__sum(host_map__of(&tally_a), &sum);
	host_map__clear(host_map__of(&tally_a));
	return sum;
}

static inline const struct as_stack_event *stage__find_stack(u64 id)
{
	for (u32 i = host.ring_cnt; i-- > 0;) {
		const struct as_stack_event *ev = host.ring[i].data;

		if (ev->type == AS_EVENT_STACK && ev->id == id)
			return ev;
	}
	return NULL;
}

static inline u32 stage__events(u32 type)
{
	u32 cnt = 0;

	for (u32 i = 0; i < host.ring_cnt; i++)
		cnt += *(u32 *)host.ring[i].data == type;
	return cnt;
}

/* As if no slot had ever been used: nothing is remembered. */
static inline void stage__forget(void)
{
	host_map__clear(host_map__of(&slots));
	host_map__clear(host_map__of(&rule_cache));
}

static inline u64 counted__failed(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < host_map__of(&counters)->max; i++)
		sum += ((struct as_counters *)host_map__lookup(host_map__of(&counters), &i))
			       ->failed;
	return sum;
}

static inline u64 counted__taken(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < host_map__of(&taken)->max; i++)
		sum += ((struct as_taken *)host_map__lookup(host_map__of(&taken), &i))->cnt;
	return sum;
}

#endif
