/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats ID: has the kernel measure the run time of BPF programs until a signal comes, then prints
 * that of the program ID, in nanoseconds, and how often it ran meanwhile. The program is held:
 * whoever has loaded it may end before.
 *
 * The measuring is switched on by a descriptor (bpf(2), BPF_ENABLE_STATS), not by sysctl
 * kernel.bpf_stats_enabled: that way the setting is what it was before, however we end.
 */
#include <bpf/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void wake(int sig)
{
	(void)sig;
}

static int measured(int fd, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	*info = (struct bpf_prog_info){};
	return bpf_obj_get_info_by_fd(fd, info, &size);
}

int main(int argc, char **argv)
{
	struct bpf_prog_info before, after;
	sigset_t ends, usual;
	int fd;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, &usual);
	signal(SIGINT, wake);
	fd = argc == 2 ? bpf_prog_get_fd_by_id((__u32)atoi(argv[1])) : -1;
	if (fd < 0 || measured(fd, &before) || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0) {
		perror("stats");
		return 1;
	}
	puts("on");
	fflush(stdout);
	sigsuspend(&usual);
	if (measured(fd, &after))
		return 1;
	printf("%llu %llu\n", after.run_time_ns - before.run_time_ns,
	       after.run_cnt - before.run_cnt);
	return 0;
}
