/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * floor OBJECT.bpf.o PROGRAM FILE OFFSET PID [OFFSET-OF-FREE]: puts a program on FILE at OFFSET for
 * one process, the way allocsnoop -p does it (a perf uprobe), and keeps it there until a signal
 * comes. With a second offset: what --live needs at least, a session link whose returns are all
 * probed at the first place (a perf uprobe and a return probe where the kernel has no sessions) and
 * an entry probe at the second.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_SESSION_ATTACH 57 /* BPF_TRACE_UPROBE_SESSION */

/* The part of union bpf_attr for uprobe_multi links. */
struct uprobe_multi_attr {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 cnt, multi_flags, pid, pad;
};

static bool entry(struct bpf_program *program, const char *file, int pid, const char *off,
		  bool on_return)
{
	return !bpf_program__attach_uprobe(program, on_return, pid, file, strtoul(off, NULL, 0));
}

static bool session(struct bpf_program *program, const char *file, int pid, const char *off)
{
	__u64 place = strtoul(off, NULL, 0);
	struct uprobe_multi_attr attr = {
		.prog_fd = bpf_program__fd(program),
		.attach_type = UPROBE_SESSION_ATTACH,
		.path = (unsigned long)file,
		.offsets = (unsigned long)&place,
		.cnt = 1,
		.pid = pid,
	};

	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct uprobe_multi_attr, pad)) <
	       0;
}

/* Everything stays attached until the process ends. */
int main(int argc, char **argv)
{
	struct bpf_program *call, *both;
	struct bpf_object *object;
	int pid;

	if (argc < 6)
		return 2;
	pid = atoi(argv[5]);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		return 1;
	call = bpf_object__find_program_by_name(object, argv[2]);
	both = bpf_object__find_program_by_name(object, "floor_session");
	if (!call || !both)
		return 1;
	bpf_program__set_autoload(both, argc == 7);
	bpf_program__set_expected_attach_type(both, UPROBE_SESSION_ATTACH);
	if (bpf_object__load(object))
		return 1;
	if (argc == 6 && entry(call, argv[3], pid, argv[4], false))
		return 1;
	if (argc == 7 && session(both, argv[3], pid, argv[4]) &&
	    (entry(call, argv[3], pid, argv[4], false) || entry(call, argv[3], pid, argv[4], true)))
		return 1;
	if (argc == 7 && entry(call, argv[3], pid, argv[6], false))
		return 1;
	pause();
	return 0;
}
