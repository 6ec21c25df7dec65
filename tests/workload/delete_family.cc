// SPDX-License-Identifier: BSD-2-Clause
//
// Every operator delete and free, under whichever allocator is preloaded: in some of them operator
// delete ends in free, in others it does not. Of ten blocks each seven are given back. Prints
// `expect SITE COUNT BYTES`, `live SITE COUNT BYTES`, and of what failed `failed COUNT`.
#include <cstdlib>
#include <malloc.h>
#include <new>

#include "gate.h"

#define SITE static __attribute__((noinline, noclone)) void

constexpr int made = 10, dropped = 7;
constexpr auto wide = std::align_val_t(64);

static void *volatile keep[made];

static void say(const char *site, unsigned long size)
{
	gate__say("expect %s %d %lu\nlive %s %d %lu\n", site, made, made * size, site,
		  made - dropped, (made - dropped) * size);
}

// MAKE and DROP are expressions; `size` and `p` are theirs to use. (Sizes of aligned ones are
// multiples of the alignment: libstdc++ rounds them up to that before it asks the allocator.)
#define FAMILY(name, bytes, make, drop)             \
	SITE name()                                 \
	{                                           \
		const size_t size = bytes;          \
                                                    \
		for (int i = 0; i < made; i++)      \
			keep[i] = make;             \
		for (int i = 0; i < dropped; i++) { \
			void *p = keep[i];          \
			drop;                       \
		}                                   \
		say(#name, size);                   \
	}

FAMILY(d_plain, 71, ::operator new(size), ::operator delete(p))
FAMILY(d_sized, 73, ::operator new(size), ::operator delete(p, size))
FAMILY(d_nothrow, 79, ::operator new(size, std::nothrow), ::operator delete(p, std::nothrow))
FAMILY(d_aligned, 128, ::operator new(size, wide), ::operator delete(p, wide))
FAMILY(d_sized_aligned, 192, ::operator new(size, wide), ::operator delete(p, size, wide))
FAMILY(d_aligned_nothrow, 256, ::operator new(size, wide, std::nothrow),
       ::operator delete(p, wide, std::nothrow))
FAMILY(d_array, 101, ::operator new[](size), ::operator delete[](p))
FAMILY(d_array_sized, 103, ::operator new[](size), ::operator delete[](p, size))
FAMILY(d_array_nothrow, 107, ::operator new[](size, std::nothrow),
       ::operator delete[](p, std::nothrow))
FAMILY(d_array_aligned, 320, ::operator new[](size, wide), ::operator delete[](p, wide))
FAMILY(d_array_sized_aligned, 384, ::operator new[](size, wide), ::operator delete[](p, size, wide))
FAMILY(d_array_aligned_nothrow, 448, ::operator new[](size, wide, std::nothrow),
       ::operator delete[](p, wide, std::nothrow))
FAMILY(d_malloc, 131, malloc(size), free(p))
FAMILY(d_calloc, 3 * 137, calloc(3, 137), free(p))
FAMILY(d_aligned_alloc, 192, aligned_alloc(64, size), free(p))
FAMILY(d_memalign, 139, memalign(32, size), free(p))
FAMILY(d_realloc_zero, 149, malloc(size), keep[i] = realloc(p, 0))

int main()
{
	gate__start();
	d_plain();
	d_sized();
	d_nothrow();
	d_aligned();
	d_sized_aligned();
	d_aligned_nothrow();
	d_array();
	d_array_sized();
	d_array_nothrow();
	d_array_aligned();
	d_array_sized_aligned();
	d_array_aligned_nothrow();
	d_malloc();
	d_calloc();
	d_aligned_alloc();
	d_memalign();
	d_realloc_zero();
	gate__end();
	_exit(0);
}
