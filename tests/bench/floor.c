/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * floor OBJECT.bpf.o PROGRAM FILE OFFSET PID: puts a program on FILE at OFFSET for one process, the
 * way allocsnoop -p does it (a perf uprobe), and keeps it there until a signal comes.
 */
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_program *program;
	struct bpf_object *object;
	struct bpf_link *link;

	if (argc != 6)
		return 2;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return 1;
	program = bpf_object__find_program_by_name(object, argv[2]);
	if (!program)
		return 1;
	link = bpf_program__attach_uprobe(program, false, atoi(argv[5]), argv[3],
					  strtoul(argv[4], NULL, 0));
	if (!link)
		return 1;
	pause();
	bpf_link__destroy(link);
	bpf_object__close(object);
	return 0;
}
