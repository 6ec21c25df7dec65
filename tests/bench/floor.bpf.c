/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs to compare with. Some do nothing: what is left is the price of the traps, below which
 * no tracer gets. One takes the stack as most tracers do, by the kernel's helper.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

SEC("uprobe")
int floor_call(void *ctx)
{
	(void)ctx;
	return 0;
}

/* The same for a session link: 0 asks for the return, too. */
SEC("uprobe")
int floor_session(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uprobe")
int stackid_call(void *ctx)
{
	bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	return 0;
}

char license_words[] SEC("license") = "Dual BSD/GPL";
