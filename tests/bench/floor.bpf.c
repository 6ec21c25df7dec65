/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A probe that does nothing: what is left is the price of the trap, below which no tracer gets. */
int floor_call(void *ctx) __attribute__((section("uprobe"), used));

int floor_call(void *ctx)
{
	(void)ctx;
	return 0;
}

char license_words[] __attribute__((section("license"), used)) = "Dual BSD/GPL";
