/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where functions return, against the processor: a program is single-stepped through every call of
 * every operator new that may throw, and the instruction that takes the call's return address off
 * the stack must be one of those found. Also functions whose returns can't be known.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "site_help.h"

#define LIB	 "/usr/lib/x86_64-linux-gnu/"
#define WORK	 "build/tests/workload/"
#define STEP_MAX 2000000 /* of one call: a first one may set up a heap */

struct stepped {
	struct opened o;
	u64 base; /* virtual address of file offset 0 */
	u64 called;
	u64 thrown;
	pid_t pid;
};

static struct user_regs_struct regs_of(pid_t pid)
{
	struct user_regs_struct regs = {};

	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	return regs;
}

static void poke_byte(pid_t pid, u64 addr, u8 byte)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)addr, NULL);

	CHECK_EQ(ptrace(PTRACE_POKETEXT, pid, (void *)addr, (void *)((word & ~0xffl) | byte)), 0);
}

static u8 file_byte(const struct stepped *s, u64 off)
{
	u8 byte = 0;

	CHECK_EQ(pread(s->o.img.fd, &byte, 1, (off_t)off), 1);
	return byte;
}

/* Of every operator new that may throw: int3 at the entry, or what belongs there. */
static void set_entries(const struct stepped *s, bool traps)
{
	for (size_t i = 0; i < s->o.f.sites.cnt; i++) {
		const struct site *site = &s->o.f.sites.v[i];

		if (site->throws)
			poke_byte(s->pid, s->base + site->func_off,
				  traps ? 0xcc : file_byte(s, site->func_off));
	}
}

static const struct site *site_at(const struct stepped *s, u64 vaddr)
{
	for (size_t i = 0; i < s->o.f.sites.cnt; i++)
		if (s->o.f.sites.v[i].func_off == vaddr - s->base)
			return &s->o.f.sites.v[i];
	return NULL;
}

static bool is_exit(const struct site *site, u64 off)
{
	for (size_t i = 0; i < site->exits.cnt; i++)
		if (site->exits.v[i] == off)
			return true;
	return false;
}

/* From the entry until the stack pointer is above the return address. */
static void step_call(struct stepped *s)
{
	struct user_regs_struct at = regs_of(s->pid), before = at;
	const struct site *site = site_at(s, at.rip - 1);
	u64 slot = at.rsp, back;
	int status;

	CHECK(site != NULL);
	if (!site)
		return;
	back = (u64)ptrace(PTRACE_PEEKDATA, s->pid, (void *)slot, NULL);
	at.rip--;
	CHECK_EQ(ptrace(PTRACE_SETREGS, s->pid, NULL, &at), 0);
	set_entries(s, false);
	for (int i = 0; i < STEP_MAX && at.rsp <= slot; i++) {
		before = at;
		CHECK_EQ(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL), 0);
		CHECK_EQ(waitpid(s->pid, &status, 0), s->pid);
		if (!WIFSTOPPED(status))
			break;
		at = regs_of(s->pid);
	}
	set_entries(s, true);
	s->called++;
	if (at.rip != back) { /* the unwinder went to a handler */
		s->thrown++;
		return;
	}
	CHECK_EQ(before.rsp, slot);
	CHECK(is_exit(site, before.rip - s->base));
}

static u64 base_of(pid_t pid, const char *path)
{
	char *line = ask("awk -v f=%s '$6 == f && $3 == \"00000000\" { print $1; exit }' "
			 "/proc/%d/maps",
			 path, pid);
	u64 base = strtoull(line, NULL, 16);

	free(line);
	return base;
}

/* Runs to the address once. */
static void run_to(pid_t pid, u64 at)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
	struct user_regs_struct regs;
	int status;

	poke_byte(pid, at, 0xcc);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(ptrace(PTRACE_POKETEXT, pid, (void *)at, (void *)word), 0);
	regs = regs_of(pid);
	CHECK_EQ(regs.rip, at + 1);
	regs.rip = at;
	CHECK_EQ(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
}

/* The program stands at the start of its main(), with all its libraries mapped. */
static void start(struct stepped *s, const char *program, const char *preload)
{
	char *main_at = ask("nm %s | awk '$3 == \"main\" { print $1 }'", program);
	char *path = realpath(program, NULL);
	int status;

	s->pid = fork();
	if (!s->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		dup2(open("/dev/null", O_WRONLY), 1);
		execl(path, path, NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(s->pid, &status, 0), s->pid);
	run_to(s->pid, (preload ? base_of(s->pid, path) : 0) + strtoull(main_at, NULL, 16));
	s->base = base_of(s->pid, s->o.path);
	CHECK(s->base != 0);
	free(main_at);
	free(path);
}

/* How many calls there are, and how many of them throw, is known from the workload's source. */
static void against_the_processor(const char *file, const char *program, const char *preload,
				  u64 calls, u64 thrown)
{
	struct stepped s = {};
	char *real = realpath(file, NULL);
	int status;

	CHECK(real && !opened__open(&s.o, real));
	start(&s, program, preload);
	set_entries(&s, true);
	for (;;) {
		CHECK_EQ(ptrace(PTRACE_CONT, s.pid, NULL, NULL), 0);
		CHECK_EQ(waitpid(s.pid, &status, 0), s.pid);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
		step_call(&s);
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	if (WIFSTOPPED(status)) {
		kill(s.pid, SIGKILL);
		waitpid(s.pid, &status, 0);
	}
	CHECK_EQ(s.called, calls);
	CHECK_EQ(s.thrown, thrown);
	opened__close(&s.o);
	free(real);
}

/* A jump to who knows where, one out of the file, and bytes that are no code. */
static void unknown_exits(void)
{
	static const char *const code[] = { "jmp *%rax", "jmp *8(%rdi)", "jmp elsewhere@PLT",
					    "je 1f; ret; 1: .byte 0x06; ret" };
	struct opened o;

	for (size_t i = 0; i < ARRAY_SIZE(code); i++) {
		free(ask("cd " DIR_MADE " && printf '%%s\\n' '.globl _Znwm, malloc' "
			 "'.type _Znwm, @function' '.type malloc, @function' '_Znwm: test %%rdi, "
			 "%%rdi' "
			 "'je 2f' '%s' '2: ret' '.size _Znwm, . - _Znwm' 'malloc: ret' '.size "
			 "malloc, 1' "
			 "> unknown.s && gcc -shared -nostdlib -o unknown.so unknown.s 2>&1",
			 code[i]));
		CHECK_EQ(opened__open(&o, DIR_MADE "/unknown.so"), 0);
		CHECK(site_of(&o, "_Znwm") && site_of(&o, "_Znwm")->throws);
		CHECK_EQ(site_of(&o, "_Znwm")->exits.cnt, 0);
		CHECK_EQ(site_of(&o, "malloc")->exits.cnt, 0);
		opened__close(&o);
	}
}

int main(void)
{
	static const char *const libs[] = { LIB "libjemalloc.so.2", LIB "libtcmalloc_minimal.so.4",
					    LIB "libmimalloc.so.2" };
	cpu_set_t here = {};
	static const char made[] = DIR_MADE "/new_sizes-static";

	CPU_SET(sched_getcpu(), &here); /* a step is a switch to and fro: faster on one processor */
	sched_setaffinity(0, sizeof(here), &here);
	mkdir(DIR_MADE, 0755);
	for (size_t i = 0; i < ARRAY_SIZE(libs); i++)
		against_the_processor(libs[i], WORK "new_sizes", libs[i], 48, 0);
	against_the_processor(libs[0], WORK "throws", libs[0], 3, 3);
	against_the_processor(libs[1], WORK "throws", libs[1], 3, 3);
	free(ask("g++ -O2 -static -no-pie -o %s tests/workload/new_sizes.cc 2>&1", made));
	against_the_processor(made, made, NULL, 48, 0);
	unknown_exits();
	return check__done();
}
