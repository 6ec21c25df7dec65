/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The only place that knows register names: x86-64, System V ABI. */
#ifndef ALLOCSNOOP_REGS_BPF_H
#define ALLOCSNOOP_REGS_BPF_H

#define REGS_WORD     8
#define REGS_RED_ZONE 128 /* bytes below the stack pointer that are a function's, too */

/* Integer arguments by number, 1..6, and 7 for Go's first; 0 is 0. Copied first: picking a context
 * field by number would make a variable context offset, which the verifier refuses. */
struct regs_args {
	__u64 v[8];
};

static __always_inline struct regs_args regs__args(const struct pt_regs *ctx)
{
	return (struct regs_args){ { 0, ctx->di, ctx->si, ctx->dx, ctx->cx, ctx->r8, ctx->r9,
				     ctx->ax } };
}

/* Arguments of a system call, as they still are when it has ended. */
static __always_inline struct regs_args regs__syscall_args(const struct pt_regs *user)
{
	return (struct regs_args){ { 0, user->di, user->si, user->dx, user->r10, user->r8,
				     user->r9 } };
}

/* The number of the system call that is running; -1: it was an exception that entered the kernel.
 */
static __always_inline long regs__syscall(const struct pt_regs *user)
{
	return user->orig_ax;
}

/* asm/unistd_64.h: calls that give memory back, or all of it. */
#define REGS_NR_MUNMAP	   11
#define REGS_NR_MADVISE	   28
#define REGS_NR_EXECVE	   59
#define REGS_NR_EXIT	   60
#define REGS_NR_EXIT_GROUP 231
#define REGS_NR_EXECVEAT   322

/* Would `jbe` branch here? (Carry or zero.) */
static __always_inline bool regs__below_or_equal(const struct pt_regs *ctx)
{
	return ctx->flags & 0x41;
}

/* Where the registers of the interrupted code lie, from the stack pointer at the restorer: struct
 * ucontext's mcontext begins at 40, in the order r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip
 * (asm/sigcontext.h). */
#define REGS_SIGFRAME_BP 120
#define REGS_SIGFRAME_BX 128
#define REGS_SIGFRAME_SP 160
#define REGS_SIGFRAME_IP 168

#endif
