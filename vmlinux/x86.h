/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Registers of an x86-64 probe hit (struct pt_regs, arch/x86/include/asm/ptrace.h; a fixed layout).
 */
#ifndef VMLINUX_X86_H
#define VMLINUX_X86_H

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#endif
