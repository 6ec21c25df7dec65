// SPDX-License-Identifier: BSD-2-Clause
//
// Operator new down all its ways: powers of 16 up to 1 MiB, freed and kept.
// Prints `expect new COUNT`: calls of the forms that may throw.
#include <new>

#include "gate.h"

enum { SIZES = 6, ROUNDS = 2 };

static void *volatile kept;
static int calls;

static void round_of(size_t size, bool keep)
{
	const std::align_val_t align{ 256 };
	void *plain = ::operator new(size), *array = ::operator new[](size + 1);
	void *aligned = ::operator new(size, align), *wide = ::operator new[](size * 2, align);

	calls += 4;
	kept = plain;
	if (keep)
		return;
	::operator delete(plain);
	::operator delete[](array);
	::operator delete(aligned, align);
	::operator delete[](wide, align);
}

int main()
{
	gate__start();
	for (int i = 0; i < ROUNDS; i++)
		for (int bits = 0; bits < SIZES; bits++)
			round_of(size_t(1) << 4 * bits, i == 0);
	gate__say("expect new %d\n", calls);
	gate__end();
	return 0;
}
