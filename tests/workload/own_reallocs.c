/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What jemalloc and mimalloc have beside realloc: blocks that are resized where they are, and
 * blocks that are freed although the call fails. Of whichever of the two is preloaded.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

#define ENDLESS ((size_t)1 << 62)

static void need(int ok)
{
	if (!ok)
		abort();
}

NI void resized_in_place(size_t (*xallocx)(void *, size_t, size_t, int))
{
	char *p = malloc(1000), *q = malloc(1000);

	need(xallocx(p, 900, 0, 0) >= 900);
	need(xallocx(q, 90000, 0, 0) < 90000); /* another size needs another place */
	q[0] = p[0];
	gate__say("live resized_in_place 2 1900\n");
}

NI void freed_by_failing(void *(*reallocf)(void *, size_t))
{
	need(!reallocf(malloc(300), ENDLESS));
	need(!reallocf(malloc(300), SIZE_MAX));
	need(reallocf(malloc(300), 310) != NULL);
	gate__say("live freed_by_failing 1 310\n");
}

NI void expanded(void *(*expand)(void *, size_t))
{
	char *p = malloc(400), *q = malloc(400);

	need(expand(p, 380) == p);
	need(!expand(q, 90000));
	q[0] = p[0];
	gate__say("live expanded 2 780\n");
}

int main(void)
{
	void *xallocx = dlsym(RTLD_DEFAULT, "xallocx");
	void *reallocf = dlsym(RTLD_DEFAULT, "mi_reallocf");
	void *expand = dlsym(RTLD_DEFAULT, "mi_expand");

	gate__start();
	if (xallocx)
		resized_in_place((size_t(*)(void *, size_t, size_t, int))xallocx);
	if (reallocf)
		freed_by_failing((void *(*)(void *, size_t))reallocf);
	if (expand)
		expanded((void *(*)(void *, size_t))expand);
	gate__end();
	return 0;
}
