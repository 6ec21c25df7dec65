/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads argv[1] (lib/late.c, built without frame pointers) and allocates through its deep chain of
 * functions at once, argv[2] times; then, when told to, argv[3] times more from the same place.
 */
#include <dlfcn.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

NI static void run_all(void (*late_run)(unsigned long), const char *const *times)
{
	for (int i = 0; i < 2; i++) {
		late_run(strtoul(times[i], NULL, 10));
		if (!i)
			gate__pass("HOLD_FIFO", "called\n");
	}
}

int main(int argc, char **argv)
{
	void *lib;

	if (argc != 4)
		return 2;
	gate__start();
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib)
		return 3;
	run_all((void (*)(unsigned long))dlsym(lib, "late_run"), (const char *const *)argv + 2);
	return 0;
}
