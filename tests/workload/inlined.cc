/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates through functions that the compiler makes part of their callers. `where NAME LINE`:
 * what the function does there leads to the allocation. Built with -O2 by the test.
 */
#include "gate.h"

#define INLINED __attribute__((always_inline)) inline
#define APART	__attribute__((noinline))
/* Something is done behind a call: it may not become a jump. */
#define KEEP(p) asm volatile("" : "+r"(p))

struct pool {
	int at;
	INLINED void *take(size_t size)
	{
		void *p = (at = __LINE__, malloc(size));

		KEEP(p);
		return p;
	}
};

template <class T> INLINED void *make(pool &all, int &at)
{
	void *p = (at = __LINE__, all.take(sizeof(T)));

	KEEP(p);
	return p;
}

namespace space
{
APART void *several(int n)
{
	pool all = {};
	int make_at = 0, at = 0;
	void *p = nullptr;

	for (int i = 0; i < n; i++) {
		p = (at = __LINE__, make<long[16]>(all, make_at));
		KEEP(p);
	}
	gate__say("where pool::take %d\nwhere make %d\nwhere several %d\n", all.at, make_at, at);
	return p;
}
} /* namespace space */

int main()
{
	int at = 0;
	void *p;

	gate__start();
	p = (at = __LINE__, space::several(100));
	KEEP(p);
	gate__say("where main %d\nexpect pool::take 100 12800\n", at);
	gate__end();
	return 0;
}
