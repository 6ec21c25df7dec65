/* SPDX-License-Identifier: BSD-2-Clause */
/* What names a process image and a file, and what is done when a process maps something executable.
 */
#include "stage.h"
#include "../unit/check.h"

#define SIG_ALL		 (SIG_BIT(SIGWINCH) | SIG_BIT(SIGURG) | SIG_BIT(SIGCHLD))
#define STAGE_START_CODE (APP_TEXT + 0x40)

/* ---- processes ---- */

static void proc_id__test(void)
{
	struct task_struct t, thread, leader;
	u64 id;

	stage__init();
	t = leader = stage.task;
	t.group_leader = leader.group_leader = &leader;
	id = proc__id(&t);
	CHECK(id & 1);
	CHECK_EQ(proc__id(&leader), id);
	thread = t;
	thread.pid = 4711;
	thread.start_boottime += 1000; /* of the thread, not of the process */
	CHECK_EQ(proc__id(&thread), id);
	leader.start_boottime++; /* the PID was used again */
	CHECK(proc__id(&t) != id);
	leader.start_boottime--;
	t.self_exec_id++; /* exec */
	CHECK(proc__id(&t) != id);
	t.self_exec_id--;
	t.tgid++;
	CHECK(proc__id(&t) != id);
	t.tgid--;
	CHECK_EQ(proc__id(&t), id);
}

static int u64__cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u32 same__cnt(u64 *v, u32 cnt)
{
	u32 same = 0;

	qsort(v, cnt, sizeof(v[0]), u64__cmp);
	for (u32 i = 1; i < cnt; i++)
		same += v[i] == v[i - 1];
	return same;
}

/* PIDs in a row, started and executed in a row: no two ids alike. */
static void proc_ids__test(void)
{
	enum { N = 32 };
	static u64 ids[N * N * N];
	struct task_struct t;
	u32 cnt = 0;

	stage__init();
	t = stage.task;
	t.group_leader = &t;
	for (u32 i = 0; i < N * N * N; i++) {
		t.tgid = 1000 + i % N;
		t.start_boottime = 1000000 + i / N % N;
		t.self_exec_id = i / N / N;
		ids[cnt++] = proc__id(&t);
	}
	CHECK_EQ(same__cnt(ids, cnt), 0);
}

static void hit_bp(u64 bp)
{
	struct pt_regs regs = {
		.ip = ALLOC_TEXT + 0x100, .sp = STACK_HIGH - 64, .bp = bp, .di = 64
	};

	stage__call(COOKIE(1) | COOKIE_SIZE_ARG(1), &regs);
}

static void hit(void)
{
	hit_bp(0);
}

static const struct as_proc_event *last_proc(void)
{
	for (u32 i = host.ring_cnt; i-- > 0;) {
		const struct as_proc_event *ev = host.ring[i].data;

		if (ev->type == AS_EVENT_PROC)
			return ev;
	}
	return NULL;
}

static void announce__test(void)
{
	const struct as_proc_event *ev;
	struct task_struct thread;

	stage__init();
	stage.mm.exe_file = &stage.app.file;
	strcpy(stage.task.comm, "leader");
	thread = stage.task;
	thread.pid++;
	thread.start_boottime++;
	strcpy(thread.comm, "worker");
	host.task = &thread;
	hit();
	hit();
	host.task = &stage.task;
	hit();
	CHECK_EQ(stage__events(AS_EVENT_PROC), 1);
	ev = last_proc();
	CHECK_STR(ev->comm, "leader");
	CHECK_EQ(ev->tgid, 100);
	CHECK_EQ(ev->proc, proc__id(&stage.task));
	CHECK_EQ(ev->start_boottime, 5000);
	CHECK_EQ(ev->exec_id, 1);
	CHECK_EQ(ev->exe_file, stage.app.hash);
	/* The same task has become another program. */
	stage.task.self_exec_id++;
	stage.mm.exe_file = NULL;
	strcpy(stage.task.comm, "fifteen-letters");
	hit();
	CHECK_EQ(stage__events(AS_EVENT_PROC), 2);
	ev = last_proc();
	CHECK_EQ(ev->exec_id, 2);
	CHECK_EQ(ev->exe_file, 0);
	CHECK(!memcmp(ev->comm, "fifteen-letters", 16));
	/* Two processes in turn, on one CPU: each is told once. */
	for (u32 i = 0; i < 10; i++) {
		host.task = i % 2 ? &stage.task : &thread;
		thread.tgid = 900;
		thread.group_leader = &thread;
		hit();
	}
	CHECK_EQ(stage__events(AS_EVENT_PROC), 3);
	CHECK_EQ(stage__take_sums().cnt, 14);
	/* A process without an address space is looked at by iterators only, but must do no harm.
	 */
	stage.task.mm = NULL;
	stage.task.self_exec_id++;
	proc__announce(proc__id(&stage.task));
	CHECK_EQ(last_proc()->exe_file, 0);
}

/* ---- files ---- */

static void file__test(void)
{
	struct stage_file *f = &stage.app;
	u64 hash;

	stage__init();
	hash = f->hash;
	CHECK(hash & 1);
	CHECK(stage.alloc.hash != hash);
#define DIFFERS(change, undo)                        \
	do {                                         \
		change;                              \
		CHECK(stage_file__hash(f) != hash);  \
		undo;                                \
		CHECK_EQ(stage_file__hash(f), hash); \
	} while (0)
	DIFFERS(f->inode.i_ino++, f->inode.i_ino--);
	DIFFERS(f->sb.s_dev++, f->sb.s_dev--);
	DIFFERS(f->inode.i_generation++, f->inode.i_generation--);
	DIFFERS(f->inode.mtime_sec++, f->inode.mtime_sec--);
#undef DIFFERS
	/* Each kernel's own place for the time, whatever lies in the others'. */
	f->inode.mtime_old = f->inode.mtime_hidden = f->inode.mtime_sec;
	host.mtime = MTIME_OLD;
	CHECK_EQ(stage_file__hash(f), hash);
	f->inode.mtime_hidden = f->inode.mtime_sec = 1;
	CHECK_EQ(stage_file__hash(f), hash);
	host.mtime = MTIME_HIDDEN;
	CHECK(stage_file__hash(f) != hash);
	f->inode.mtime_hidden = f->inode.mtime_old;
	f->inode.mtime_old = 2;
	CHECK_EQ(stage_file__hash(f), hash);
}

/* Files made in the same second, numbered in a row, on devices numbered in a row: as in containers'
 * mounts. */
static void file_hashes__test(void)
{
	enum { N = 64 };
	static u64 hashes[N * N];
	u32 cnt = 0;

	for (u32 i = 0; i < N * N; i++) {
		struct as_file_key key = { .ino = 100 + i % N,
					   .dev = 40 + i / N,
					   .mtime_sec = 1700000000 };

		hashes[cnt++] = file__hash(&key);
	}
	CHECK_EQ(same__cnt(hashes, cnt), 0);
}

/* ---- signals ---- */

static void signal__test(void)
{
	static const struct {
		u64 blocked;
		u32 sig;
	} rows[] = {
		{ 0, SIGWINCH },
		{ SIG_BIT(SIGWINCH), SIGURG },
		{ SIG_BIT(SIGURG), SIGWINCH },
		{ SIG_BIT(SIGWINCH) | SIG_BIT(SIGURG), SIGCHLD },
		{ SIG_BIT(SIGWINCH) | SIG_BIT(SIGCHLD), SIGURG },
		{ ~SIG_ALL, SIGWINCH },
		{ ~SIG_BIT(SIGCHLD), SIGCHLD },
		{ SIG_ALL, 0 },
		{ ~0ull, 0 },
	};

	stage__init();
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		stage.task.blocked.sig[0] = rows[i].blocked;
		CHECK_EQ(stop__signal(&stage.task), rows[i].sig);
	}
}

/* ---- new mappings ---- */

/* User space has looked at no file yet. */
static void scene__init(void)
{
	stage__init();
	stage_file__forget(&stage.alloc);
	stage_file__forget(&stage.app);
}

static void watch(u32 flags)
{
	u32 tgid = stage.task.tgid;

	host_map__update(host_map__of(&procs), &tgid, &flags, BPF_ANY);
}

static void set_ready(struct stage_file *f)
{
	struct as_file ready = { .flags = AS_FILE_READY };

	stage_file__set(f, &ready);
}

static u32 files_flags(struct stage_file *f)
{
	return ((struct as_file *)host_map__lookup(host_map__of(&files), &f->hash))->flags;
}

static bool stop_noted(void)
{
	u32 tid = stage.task.pid;

	return host_map__lookup(host_map__of(&stops), &tid);
}

static struct vm_area_struct *vma_of(struct stage_file *f)
{
	for (u32 i = 0; i < host.vma_cnt; i++) {
		if (host.vma[i].vm_file == &f->file)
			return &host.vma[i];
	}
	return NULL;
}

/* How a mapping can come to be known: the hook in the kernel, or mmap's return. */
static void by_hook(void)
{
	allocsnoop_map(NULL, vma_of(&stage.app));
}

static void by_return(void)
{
	struct syscall_exit ctx = { .ret = APP_TEXT };

	allocsnoop_mmap(&ctx);
}

static void expect__map(int line, u32 signal, u32 events, u64 blocked_loss)
{
	if (host.signal == signal && stop_noted() == !!signal &&
	    stage__events(AS_EVENT_MAP) == events &&
	    host__loss(AS_LOSS_SIGNAL_BLOCKED) == blocked_loss && host__losses() == blocked_loss)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: signal %u, noted %d, %u events, %llu losses\n", __FILE__, line,
		host.signal, stop_noted(), stage__events(AS_EVENT_MAP), host__losses());
}

#define EXPECT(...) expect__map(__LINE__, __VA_ARGS__)

static void decisions__test(void (*map)(void))
{
	scene__init(); /* nobody's process */
	map();
	EXPECT(0, 0, 0);
	as_all = 1;
	map();
	EXPECT(0, 1, 0);
	as_self_tgid = stage.task.tgid;
	map();
	EXPECT(0, 1, 0);

	scene__init();
	watch(AS_PROC_TARGET);
	map();
	EXPECT(0, 1, 0);

	scene__init();
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	map();
	EXPECT(SIGWINCH, 0, 0);

	scene__init(); /* it can't be stopped: at least told */
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	stage.task.blocked.sig[0] = SIG_ALL;
	map();
	EXPECT(0, 1, 1);

	scene__init();
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	host.signal_err = -EBUSY;
	map();
	EXPECT(0, 1, 1);

	scene__init();
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	host_map__of(&stops)->fail = -E2BIG;
	map();
	EXPECT(0, 1, 1);

	scene__init(); /* known files are nothing new */
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	set_ready(&stage.app);
	map();
	EXPECT(0, 0, 0);

	scene__init(); /* one that was gone has another try */
	watch(AS_PROC_TARGET);
	stage_file__set(&stage.app, &(struct as_file){ .flags = AS_FILE_GONE });
	map();
	EXPECT(0, 1, 0);
	CHECK(mapping__is_unknown(
		&(struct as_mapping){ .file = stage.app.hash, .flags = files_flags(&stage.app) }));

	scene__init(); /* neither are data */
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	vma_of(&stage.app)->vm_flags = 0;
	map();
	EXPECT(0, 0, 0);

	scene__init();
	watch(AS_PROC_TARGET);
	host.ring_full = true;
	map();
	CHECK_EQ(host__loss(AS_LOSS_FILE_RING_FULL), 1);
}

static void event__test(void (*map)(void))
{
	const struct as_map_event *ev;

	scene__init();
	watch(AS_PROC_TARGET);
	vma_of(&stage.app)->vm_pgoff = 3;
	map();
	CHECK_EQ(host.ring_cnt, 1);
	ev = host.ring[0].data;
	CHECK_EQ(host.ring[0].size, sizeof(*ev));
	CHECK_EQ(ev->type, AS_EVENT_MAP);
	CHECK_EQ(ev->tgid, 100);
	CHECK_EQ(ev->start, APP_TEXT);
	CHECK_EQ(ev->end, APP_TEXT + TEXT_SIZE);
	CHECK_EQ(ev->pgoff, 3 << 12);
	CHECK_EQ(ev->file, stage.app.hash);
	CHECK_EQ(ev->key.ino, 20);
	CHECK_EQ(ev->key.dev, 0xfe00000);
}

static void returned__test(void)
{
	static const long errs[] = { -1, -12, -4095 };
	struct syscall_exit ctx = { .ret = 0 };

	scene__init();
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	for (u32 i = 0; i < ARRAY_SIZE(errs); i++) {
		ctx.ret = errs[i];
		allocsnoop_mmap(&ctx);
	}
	CHECK_EQ(host.vma_calls, 0);
	ctx.ret = (long)STACK_LOW; /* no file */
	allocsnoop_mmap(&ctx);
	ctx.ret = 0x1000; /* unmapped again */
	allocsnoop_mmap(&ctx);
	EXPECT(0, 0, 0);
	/* It can't be looked at now: the tracer shall look. */
	host.busy = true;
	ctx.ret = APP_TEXT;
	allocsnoop_mmap(&ctx);
	EXPECT(SIGWINCH, 0, 0);
}

/* Without a tracer user space is told which process to look at. */
static void returned_busy__test(void)
{
	const struct as_map_event *ev;

	scene__init();
	watch(AS_PROC_TARGET);
	host.busy = true;
	by_return();
	CHECK_EQ(host.ring_cnt, 1);
	ev = host.ring[0].data;
	CHECK_EQ(ev->type, AS_EVENT_MAP);
	CHECK_EQ(ev->tgid, stage.task.tgid);
	CHECK_EQ(ev->file, 0);
	CHECK_EQ(host__losses(), 0);
}

/* execve(2) in the kernel: the tracepoint's arguments. */
static void execute(void)
{
	struct linux_binprm bprm = { .interp = "/bin/program" };
	__u64 ctx[] = { (__u64)&stage.task, 0, (__u64)&bprm };

	allocsnoop_exec(ctx);
}

static void executed__test(void)
{
	struct pt_regs user = { .ip = ALLOC_TEXT + 0x80 };

	scene__init();
	host.user = &user;
	stage.mm.start_code = STAGE_START_CODE;
	as_look_at_exec = 1;
	execute();
	EXPECT(0, 0, 0);
	watch(AS_PROC_TARGET);
	execute();
	EXPECT(0, 2, 0); /* the program and its interpreter */
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	execute();
	EXPECT(0, 2, 0); /* stands still at exec anyway */
	watch(AS_PROC_TARGET);
	as_look_at_exec = 0; /* the hook has told of them */
	execute();
	EXPECT(0, 2, 0);
}

/* Whoever execs or forks is told of, once, without a call; a thread is nobody new. */
static void born__test(void)
{
	struct task_struct child = {};
	__u64 ctx[] = { (__u64)&stage.task, (__u64)&child };

	scene__init();
	execute();
	allocsnoop_fork(ctx);
	CHECK_EQ(host.ring_cnt, 0);
	as_all = 1;
	strcpy(stage.task.comm, "image");
	execute();
	execute();
	CHECK_EQ(stage__events(AS_EVENT_PROC), 1);
	CHECK_STR(last_proc()->comm, "image");
	CHECK_EQ(last_proc()->proc, proc__id(&stage.task));
	child = stage.task;
	child.pid++;
	allocsnoop_fork(ctx);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 1);
	child.tgid = child.pid;
	child.group_leader = &child;
	strcpy(child.comm, "child");
	allocsnoop_fork(ctx);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 2);
	CHECK_STR(last_proc()->comm, "child");
	CHECK_EQ(last_proc()->tgid, child.tgid);
	CHECK_EQ(last_proc()->proc, proc__id(&child));
	as_self_tgid = stage.task.tgid;
	child.tgid++;
	allocsnoop_fork(ctx);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 2);

	/* Of the children of a process only COMMAND's are traced. */
	scene__init();
	child.tgid = child.pid;
	watch(AS_PROC_TARGET);
	allocsnoop_fork(ctx);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 0);
	watch(AS_PROC_TARGET | AS_PROC_STOP);
	allocsnoop_fork(ctx);
	CHECK_EQ(stage__events(AS_EVENT_PROC), 1);
}

/* Of a program that isn't known its place is told. */
static void exe__test(void)
{
	const struct as_exec_event *ev;

	scene__init();
	as_all = 1;
	stage.mm.exe_file = &stage.app.file;
	execute();
	CHECK_EQ(stage__events(AS_EVENT_EXEC), 1);
	ev = host.ring[0].data;
	CHECK_EQ(host.ring[0].size, sizeof(*ev));
	CHECK_STR(ev->path, "/bin/program");
	CHECK_EQ(ev->file, stage.app.hash);
	CHECK_EQ(ev->tgid, stage.task.tgid);
	host.ring_full = true; /* no loss: its mappings are told of, too */
	stage.task.self_exec_id++;
	execute();
	CHECK_EQ(host__loss(AS_LOSS_FILE_RING_FULL), 0);
	host.ring_full = false;
	set_ready(&stage.app);
	execute();
	CHECK_EQ(stage__events(AS_EVENT_EXEC), 1);
}

/* Our descriptors: which inode, and does anybody map it? */
static void fds__test(void)
{
	struct address_space pages = {};
	struct bpf_iter_meta meta = {};
	struct bpf_iter__task_file ctx = {
		.meta = &meta, .task = &stage.task, .fd = 7, .file = &stage.app.file
	};
	const struct as_fd_event *ev = (const void *)host.seq;

	scene__init();
	stage.app.file.f_mapping = &pages;
	allocsnoop_fds(&ctx);
	pages.i_mmap.rb_root.rb_node = (void *)&pages;
	ctx.fd = 9;
	allocsnoop_fds(&ctx);
	ctx.file = NULL; /* the end */
	allocsnoop_fds(&ctx);
	CHECK_EQ(host.seq_size, 2 * sizeof(*ev));
	CHECK_EQ(ev[0].fd, 7);
	CHECK_EQ(ev[0].file, stage.app.hash);
	CHECK_EQ(ev[0].mapped, 0);
	CHECK_EQ(ev[1].fd, 9);
	CHECK_EQ(ev[1].mapped, 1);
}

static void iterator__test(void)
{
	struct bpf_iter_meta meta = {};
	struct bpf_iter__task_vma ctx = { .meta = &meta, .task = &stage.task };
	const struct as_map_event *ev = (const void *)host.seq;

	scene__init();
	for (u32 i = 0; i < host.vma_cnt; i++) {
		ctx.vma = &host.vma[i];
		allocsnoop_maps(&ctx);
	}
	ctx.vma = NULL; /* the end of a task */
	allocsnoop_maps(&ctx);
	ctx.task = NULL;
	allocsnoop_maps(&ctx);
	CHECK_EQ(host.seq_size, 2 * sizeof(*ev));
	CHECK_EQ(ev[0].file, stage.alloc.hash);
	CHECK_EQ(ev[0].pgoff, ALLOC_PGOFF << 12);
	CHECK_EQ(ev[1].file, stage.app.hash);
	CHECK_EQ(ev[1].tgid, 100);
}

/* What was noted when a mapping was made serves while the address space is locked, in any slot. */
static void noted__test(void)
{
	const struct as_stack_event *ev;
	struct stage_sum sum;

	stage__init();
	watch(AS_PROC_TARGET);
	by_hook();
	allocsnoop_map(NULL, vma_of(&stage.alloc));
	stage__set_word(STACK_HIGH - 64, app__ip(0x100));
	host.busy = true;
	for (u32 cpu = 0; cpu < 4; cpu++) {
		host.cpu = cpu;
		hit();
	}
	sum = stage__take_sums();
	CHECK_EQ(sum.cnt, 4);
	CHECK_EQ(sum.rows, 1);
	ev = stage__find_stack(sum.key.stack);
	CHECK(ev && ev->frame_cnt == 2 && ev->frames[1].file == stage.app.hash &&
	      ev->frames[1].off == 0x100);
	/* The stack's own mapping isn't noted: a frame pointer can't be followed now, but can be
	 * later. */
	stage__set_word(STACK_HIGH - 24, app__ip(0x200));
	hit_bp(STACK_HIGH - 32);
	ev = stage__find_stack(stage__take_sums().key.stack);
	CHECK(ev && ev->frame_cnt == 2 && ev->end == AS_END_BUSY);
	host.busy = false;
	hit_bp(STACK_HIGH - 32);
	ev = stage__find_stack(stage__take_sums().key.stack);
	CHECK(ev && ev->frame_cnt == 3 && ev->end == AS_END_NO_TABLE);
	host.busy = true;
	/* Another image has nothing there. */
	stage.task.self_exec_id++;
	hit();
	ev = stage__find_stack(stage__take_sums().key.stack);
	CHECK(ev && ev->frame_cnt == 0 && ev->end == AS_END_BUSY);
}

int main(void)
{
	proc_id__test();
	proc_ids__test();
	announce__test();
	file__test();
	file_hashes__test();
	signal__test();
	decisions__test(by_hook);
	decisions__test(by_return);
	event__test(by_hook);
	event__test(by_return);
	returned__test();
	returned_busy__test();
	executed__test();
	born__test();
	exe__test();
	fds__test();
	iterator__test();
	noted__test();
	host__reset();
	return check__done();
}
