/* SPDX-License-Identifier: BSD-2-Clause */
/* Size classes: monotone, without gaps, and as_class_low() is their inverse. */
#include "abi.h"
#include "../unit/check.h"

#define SIZE_LAST ~0ull

static __u64 class__high(__u32 class)
{
	return as_class_low(class + 1) - 1;
}

/* Number of the highest class that a 64-bit size can have. */
static __u32 class__last(void)
{
	return as_size_class(SIZE_LAST);
}

static void edges__test(void)
{
	for (__u32 class = 0; class <= class__last(); class ++) {
		CHECK_EQ(as_size_class(as_class_low(class)), class);
		CHECK_EQ(as_size_class(class__high(class)), class);
		CHECK(class__high(class) >= as_class_low(class));
		if (class < class__last())
			CHECK_EQ(as_size_class(class__high(class) + 1), class + 1);
	}
}

/* At least 4 classes an octave, here 8: a class is never wider than an eighth of its lowest size.
 */
static void width__test(void)
{
	for (__u32 class = 16; class <= class__last(); class ++) {
		__u64 low = as_class_low(class);

		CHECK(class__high(class) - low + 1 <= low / 8);
	}
}

static void small__test(void)
{
	__u32 before = 0;

	for (__u64 size = 0; size < 1 << 20; size++) {
		__u32 class = as_size_class(size);

		CHECK(class == before || class == before + 1);
		CHECK(size >= as_class_low(class) && size <= class__high(class));
		before = class;
	}
}

static void extremes__test(void)
{
	CHECK_EQ(as_size_class(0), 0);
	CHECK_EQ(as_size_class(15), 15);
	CHECK_EQ(as_size_class(16), 16);
	CHECK_EQ(as_size_class(17), 16);
	CHECK_EQ(as_size_class(18), 17);
	CHECK_EQ(as_size_class(31), 23);
	CHECK_EQ(as_size_class(32), 24);
	CHECK_EQ(as_size_class((1ull << 32) - 1), 32 * 8 - 17);
	CHECK_EQ(as_size_class(1ull << 32), 32 * 8 - 16);
	CHECK_EQ(as_size_class((1ull << 63) - 1), 63 * 8 - 17);
	CHECK_EQ(as_size_class(1ull << 63), 63 * 8 - 16);
	CHECK_EQ(as_size_class(SIZE_LAST), 64 * 8 - 17);
	CHECK(class__last() < AS_CLASS_CNT);
}

/* Octaves begin at 0 and at the powers of two, and end where the next one begins. */
static void octaves__test(void)
{
	for (__u32 class = 0; class <= class__last(); class ++) {
		__u64 size = as_class_low(class);
		__u64 low = size ? 1ull << (63 - __builtin_clzll(size)) : 0;
		__u32 octave = as_octave(class);

		CHECK_EQ(as_class_low(octave), low);
		if (size < 1ull << 63) /* above it there is no next one */
			CHECK_EQ(as_class_low(as_octave_end(octave)), low ? low * 2 : 1);
	}
}

int main(void)
{
	edges__test();
	width__test();
	small__test();
	extremes__test();
	octaves__test();
	return check__done();
}
