/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash map against a plain array that does the same, with many deletions; and VEC(). */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "check.h"

#define KEYS 4096

/* Keys of a kind that bad hashing puts into one slot: pages, small numbers, high bits. */
static u64 key_of(unsigned int i)
{
	return i % 3 == 0 ? (u64)i << 12 : i % 3 == 1 ? i : (u64)i << 52;
}

static void against_array(void)
{
	static u64 want[KEYS];
	static bool there[KEYS];
	struct map m = { 0 };
	size_t cnt = 0;
	u64 val;

	srand(7);
	CHECK(!map__get(&m, 0, &val));
	CHECK(!map__del(&m, 0));
	for (int round = 0; round < 400000; round++) {
		unsigned int i = (unsigned int)rand() % KEYS;
		u64 key = key_of(i);

		/* The balance changes, so the map fills and empties again. */
		if (rand() % 100 < (round / 50000 % 2 ? 20 : 80)) {
			cnt += !there[i];
			there[i] = true;
			want[i] = (u64)rand();
			CHECK_EQ(map__put(&m, key, want[i]), 0);
		} else {
			CHECK_EQ(map__del(&m, key), there[i]);
			cnt -= there[i];
			there[i] = false;
		}
		i = (unsigned int)rand() % KEYS;
		CHECK_EQ(map__get(&m, key_of(i), &val), there[i]);
		CHECK(!there[i] || val == want[i]);
		CHECK_EQ(m.cnt, cnt);
	}
	map__free(&m);
	CHECK_EQ(m.cap, 0);
}

static void iterating(void)
{
	struct map m = { 0 };
	u64 key, val, sum = 0, seen = 0;

	for (size_t i = 0; map__next(&m, &i, &key, &val);)
		seen++;
	CHECK_EQ(seen, 0);
	for (u64 k = 0; k < 1000; k++)
		CHECK_EQ(map__put(&m, k, 3 * k), 0);
	for (size_t i = 0; map__next(&m, &i, &key, &val);) {
		CHECK_EQ(val, 3 * key);
		sum += key;
		seen++;
	}
	CHECK_EQ(seen, 1000);
	CHECK_EQ(sum, 999 * 1000 / 2);
	map__free(&m);
}

/* Each input bit changes about half of the result's bits. */
static void mixing(void)
{
	unsigned int flips = 0;

	for (int bit = 0; bit < 64; bit++) {
		u64 d = map__mix(1ull << bit, 5) ^ map__mix(0, 5);

		CHECK(__builtin_popcountll(d) > 12 && __builtin_popcountll(d) < 52);
		flips += (unsigned int)__builtin_popcountll(d);
	}
	CHECK(flips > 64 * 28 && flips < 64 * 36);
	CHECK(map__mix(1, 2) != map__mix(2, 1));
}

static void vectors(void)
{
	VEC(struct {
		u64 a;
		char b;
	})
	v = { 0 };
	size_t cap = (size_t)PTRDIFF_MAX / 2 + 1;
	void *none = NULL;

	for (u64 i = 0; i < 10000; i++)
		CHECK_EQ(vec__push(&v, ((typeof(*v.v)){ i, 'x' })), 0);
	CHECK_EQ(v.cnt, 10000);
	CHECK_EQ(v.v[9999].a, 9999);
	vec__free(&v);
	CHECK(!v.v && !v.cnt);
	CHECK_EQ(vec__grow(&none, cap, &cap, 16), -ENOMEM);
}

int main(void)
{
	against_array();
	iterating();
	mixing();
	vectors();
	return check__done();
}
