/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places where walking up a stack without frame pointers goes wrong, one allocation in each. Every
 * place has a size of its own, and says before the work which functions are on its stack, leaf
 * first: `stack SIZE END FUNCTION...`. NAME*N is N frames of one name; `libc` and `ld.so` stand for
 * a frame of these files, whose inner functions have names only where debug symbols are installed;
 * what is above main is left out. Built without frame pointers and bound lazily, with edge_lib.c as
 * the library it is linked with, and again as the one that it loads (argv[1]). LATE_FIFO is a gate
 * between loading it and calling it.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../gate.h"

#define NI	__attribute__((noinline, noclone))
#define FENCE() __asm__ volatile("" ::: "memory")
#define STACK	65536
#define ROOM	900000
#define DEPTH	300

void lazy_call(void);
void lazy_choice(void);
void fault_first(void);
void last_call(void);

static void *volatile sink;

/* ---- a handler on its own stack: entered from a system call, and from a function's first byte
 * ---- */

NI void handler_leaf(size_t size)
{
	sink = malloc(size);
	FENCE();
}

static size_t handler_size = 50101;

NI void on_signal(int number)
{
	(void)number;
	handler_leaf(handler_size);
	FENCE();
}

NI void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)number;
	(void)info;
	handler_leaf(50102);
	at->uc_mcontext.gregs[REG_RIP] += 2; /* over the ud2 */
}

/* The system call is in this function, so that no frame of libc is below the handler's. */
NI void signal_self(int number)
{
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(getpid()), "S"(syscall(SYS_gettid)), "d"(number)
			 : "rcx", "r11", "memory");
}

/* A saved pc that is looked up one byte too low belongs to before_fault. */
__asm__(".text\n"
	".type before_fault, @function\n"
	"before_fault: .cfi_startproc\n"
	".cfi_def_cfa_offset 4096\n"
	"nop\n"
	".cfi_endproc\n"
	".size before_fault, . - before_fault\n"
	".globl fault_first\n"
	".type fault_first, @function\n"
	"fault_first: .cfi_startproc\n"
	"ud2\n"
	"ret\n"
	".cfi_endproc\n"
	".size fault_first, . - fault_first\n");

NI void in_signal(void)
{
	signal_self(SIGUSR1);
	FENCE();
}

/* A handler on the ordinary stack, and in it a signal that is handled on the other one. */
NI void on_outer(int number)
{
	(void)number;
	handler_size = 50111;
	signal_self(SIGUSR1);
	FENCE();
}

NI void in_nested(void)
{
	signal_self(SIGUSR2);
	FENCE();
}

NI void in_fault(void)
{
	fault_first();
	FENCE();
}

NI void signals(void)
{
	static char room[STACK];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction signal = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct sigaction outer = { .sa_handler = on_outer };
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_ONSTACK | SA_SIGINFO };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &signal, NULL);
	sigaction(SIGUSR2, &outer, NULL);
	sigaction(SIGILL, &fault, NULL);
	in_signal();
	in_fault();
	in_nested();
}

/* ---- frames of odd kinds ---- */

NI void big_frame(void)
{
	volatile char room[ROOM];

	room[5] = 1;
	sink = malloc(50103);
	room[6] = room[5];
}

/* An aligned frame of a size that is known only when it runs: its CFA is an expression (DRAP). */
typedef float wide __attribute__((vector_size(32)));

NI __attribute__((target("avx2"))) void aligned_frame(size_t room_size, char *out)
{
	_Alignas(32) wide lanes[4];
	char *room = alloca(room_size);

	room[0] = 1;
	for (int i = 0; i < 4; i++)
		lanes[i] = (wide){ (float)i };
	__asm__ volatile("" ::"r"(lanes), "r"(room) : "memory");
	sink = malloc(50104);
	*out = (char)lanes[(int)room[0]][0];
}

NI void recursion(int depth)
{
	if (depth > 1)
		recursion(depth - 1);
	else
		sink = malloc(50105);
	FENCE();
}

/* ---- calls that are the last instruction: the return address belongs to the next function ---- */

static jmp_buf back;

NI __attribute__((noreturn)) void leaves(void)
{
	sink = malloc(50106);
	longjmp(back, 1);
}

NI __attribute__((noreturn)) void calls_leaves(void)
{
	leaves();
}

/* It goes on in after_last, whose unwind rules are wrong for a return address in last_call. */
__asm__(".text\n"
	".globl last_call\n"
	".type last_call, @function\n"
	"last_call: .cfi_startproc\n"
	"sub $24, %rsp\n"
	".cfi_adjust_cfa_offset 24\n"
	"mov $50107, %edi\n"
	"call malloc@PLT\n"
	".cfi_endproc\n"
	".size last_call, . - last_call\n"
	".type after_last, @function\n"
	"after_last: .cfi_startproc\n"
	"add $24, %rsp\n"
	"ret\n"
	".cfi_endproc\n"
	".size after_last, . - after_last\n");

/* ---- stacks that don't begin in main, or are somebody else's ---- */

NI void thread_leaf(void)
{
	sink = malloc(50108);
	FENCE();
}

NI void *thread_main(void *nothing)
{
	thread_leaf();
	FENCE();
	return nothing;
}

NI void vfork_leaf(void)
{
	sink = malloc(50109);
	FENCE();
}

NI void in_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		vfork_leaf();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static ucontext_t outside, inside;

NI void co_leaf(void)
{
	sink = malloc(50110);
	FENCE();
}

NI void co_main(void)
{
	co_leaf();
	swapcontext(&inside, &outside);
}

NI void coroutine(void)
{
	static char room[STACK];

	getcontext(&inside);
	inside.uc_stack.ss_sp = room;
	inside.uc_stack.ss_size = sizeof(room);
	inside.uc_link = &outside;
	makecontext(&inside, co_main, 0);
	swapcontext(&outside, &inside);
}

/* ---- libraries ---- */

NI void in_library(void)
{
	lazy_call();
	FENCE();
	lazy_choice();
	FENCE();
}

NI void in_late(void (*late_call)(void))
{
	late_call();
	FENCE();
}

NI int load(const char *path)
{
	void *lib = dlopen(path, RTLD_LAZY);
	void *symbol = lib ? dlsym(lib, "late_call") : NULL;

	if (!symbol)
		return 0;
	gate__pass("LATE_FIFO", "loaded\n");
	in_late((void (*)(void))symbol);
	return 1;
}

static void say(void)
{
	gate__say("stack 50101 complete malloc handler_leaf on_signal libc signal_self in_signal "
		  "signals main\n");
	gate__say("stack 50102 complete malloc handler_leaf on_fault libc fault_first in_fault "
		  "signals main\n");
	gate__say("stack 50103 complete malloc big_frame main\n");
	if (__builtin_cpu_supports("avx2"))
		gate__say("stack 50104 complete malloc aligned_frame main\n");
	gate__say("stack 50105 complete malloc recursion*%d main\n", DEPTH);
	gate__say("stack 50106 complete malloc leaves calls_leaves main\n");
	gate__say("stack 50107 complete malloc last_call main\n");
	gate__say("stack 50108 complete malloc thread_leaf thread_main libc*2\n");
	gate__say("stack 50109 complete malloc vfork_leaf in_vfork main\n");
	gate__say("stack 50110 cut malloc co_leaf co_main\n");
	gate__say("stack 50111 complete malloc handler_leaf on_signal libc signal_self on_outer "
		  "libc signal_self in_nested signals main\n");
	gate__say("stack 50201 complete malloc lazy_leaf lazy_call in_library main\n");
	gate__say("stack 50202 complete malloc lazy_choice ld.so*2 in_library main\n");
	gate__say("stack 50203 complete malloc lazy_chosen in_library main\n");
	gate__say("stack 50301 complete malloc late_leaf late_call in_late load main\n");
}

int main(int argc, char **argv)
{
	char out;
	pthread_t thread;

	if (argc != 2)
		return 2;
	say();
	gate__start();
	signals();
	big_frame();
	if (__builtin_cpu_supports("avx2"))
		aligned_frame(100, &out);
	recursion(DEPTH);
	if (!setjmp(back))
		calls_leaves();
	last_call();
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 3;
	pthread_join(thread, NULL);
	in_vfork();
	coroutine();
	in_library();
	if (!load(argv[1]))
		return 4;
	gate__end();
	return 0;
}
