/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * malloc(64) and free at the end of a chain of distinct functions: what a walk of a stack of so
 * many frames costs. Built with frame pointers and without.
 *
 * chain ROOT FUNCTIONS STACKS CALLS: ROOT `libc` is an ordinary program, whose outermost frames are
 * main and libc's start code; with `zero` and `far` a frame is the outermost that says so by its
 * CFI and by its frame pointer: 0, which the kernel's walk still reads (and faults), or an address
 * that it knows to be no user's. With STACKS 1 all calls come from one loop at the end of the
 * chain; else each call has another stack pointer than the STACKS - 1 before it, so that nothing
 * that was remembered of a stack holds.
 */
#include <stdlib.h>
#include <string.h>

#include "../workload/gate.h"

#define NI __attribute__((noinline, noclone))

typedef void (*chain_fn)(int functions, long calls);

static chain_fn const chain[];

static inline __attribute__((always_inline)) void work(long calls)
{
	for (long i = 0; i < calls; i++) {
		void *p = malloc(64);

		__asm__ volatile("" : "+r"(p)::"memory");
		free(p);
	}
}

/* Frames of several sizes. */
#define LINK(k)                                                             \
	static NI void link_##k(int functions, long calls)                  \
	{                                                                   \
		char room[16 + k % 3 * 16];                                 \
                                                                            \
		__asm__ volatile("" ::"r"(room) : "memory");                \
		if (functions)                                              \
			chain[k - 100 + 1](functions - 1, calls);           \
		else                                                        \
			work(calls);                                        \
		__asm__ volatile("" ::"r"(room) : "memory"); /* no jumps */ \
	}
#define TEN(do, tens)                                                                         \
	do                                                                                    \
	(tens##0) do(tens##1) do(tens##2) do(tens##3) do(tens##4) do(tens##5) do(tens##6) do( \
		tens##7) do(tens##8) do(tens##9)
#define ALL(do) TEN(do, 10) TEN(do, 11) TEN(do, 12) TEN(do, 13) TEN(do, 14) TEN(do, 15)
#define NAME(k) link_##k,

ALL(LINK)
static chain_fn const chain[] = { ALL(NAME) NULL };

static struct {
	int functions, stacks;
	long calls;
} args;

static inline __attribute__((always_inline)) void root(void)
{
	long visits = args.stacks > 1 ? args.calls : 1, calls = args.calls / visits;

	for (long i = 0; i < visits; i++) {
		char room[16 + i % args.stacks * 16];

		__asm__ volatile("" ::"r"(room) : "memory");
		if (args.functions)
			chain[0](args.functions - 1, calls);
		else
			work(calls);
	}
}

static NI void outer(void)
{
	root();
}

/* Calls its argument with this frame pointer, and has no caller for an unwinder. */
void outermost(void (*fn)(void), long rbp);
__asm__(".text\n"
	".type outermost, @function\n"
	"outermost:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	push	%rbx\n"
	"	push	%rbp\n"
	"	sub	$8, %rsp\n"
	"	mov	%rsi, %rbp\n"
	"	call	*%rdi\n"
	"	add	$8, %rsp\n"
	"	pop	%rbp\n"
	"	pop	%rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size outermost, . - outermost\n");

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	args.functions = atoi(argv[2]);
	args.stacks = atoi(argv[3]);
	args.calls = atol(argv[4]);
	if (args.functions < 0 || args.functions > 60 || args.stacks < 1)
		return 2;
	gate__start();
	if (!strcmp(argv[1], "libc"))
		root();
	else
		outermost(outer, strcmp(argv[1], "far") ? 0 : -8);
	gate__end();
	return 0;
}
