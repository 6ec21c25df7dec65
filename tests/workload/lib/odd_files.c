/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls through libraries whose files are not simply there: each argument is KIND:PATH, and the
 * function `odd_call` of each library allocates. Without frame pointers, so that a stack goes on
 * behind the library only by the unwind rows of the very file that is mapped.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define NI __attribute__((noinline, noclone))

#ifdef SIZE
static void *volatile sink;

void odd_call(void);

/* FRAME: libraries of one shape whose rows differ, so that those of the wrong one lead nowhere. */
NI static void odd_leaf(void)
{
	volatile char room[FRAME];

	room[0] = 1;
	sink = malloc(SIZE);
	room[1] = room[0];
}

void odd_call(void)
{
	odd_leaf();
	__asm__ volatile("" ::: "memory");
}
#else
/* The file's bytes in memory, under a name that leads nowhere else. */
static void to_memfd(char *path, size_t room)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("odd", 0);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) ||
	    sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
		exit(3);
	close(from);
	snprintf(path, room, "/proc/self/fd/%d", to);
}

NI void in_library(void (*call)(void))
{
	call();
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char path[4096];
		void (*call)(void);
		void *lib;

		snprintf(path, sizeof(path), "%s", strchr(argv[i], ':') + 1);
		if (argv[i][0] == 'm')
			to_memfd(path, sizeof(path));
		lib = dlopen(path, RTLD_NOW);
		call = lib ? (void (*)(void))dlsym(lib, "odd_call") : NULL;
		if (!call || (argv[i][0] == 'd' && unlink(path)))
			return 2;
		in_library(call);
		if (argv[i][0] == 'c') {
			printf("%p\n", (void *)call);
			dlclose(lib);
		}
	}
	return 0;
}
#endif
