/* SPDX-License-Identifier: BSD-2-Clause */
/* The constants and the order of steps are the paper's; words are little-endian, as ours are. */
#include "base/siphash.h"

#include <string.h>

struct sip {
	u64 v0, v1, v2, v3;
};

static inline u64 rotl(u64 x, int n)
{
	return x << n | x >> (64 - n);
}

static inline void rounds(struct sip *s, int cnt)
{
	while (cnt--) {
		s->v0 += s->v1;
		s->v1 = rotl(s->v1, 13) ^ s->v0;
		s->v0 = rotl(s->v0, 32);
		s->v2 += s->v3;
		s->v3 = rotl(s->v3, 16) ^ s->v2;
		s->v0 += s->v3;
		s->v3 = rotl(s->v3, 21) ^ s->v0;
		s->v2 += s->v1;
		s->v1 = rotl(s->v1, 17) ^ s->v2;
		s->v2 = rotl(s->v2, 32);
	}
}

static inline void take(struct sip *s, u64 word)
{
	s->v3 ^= word;
	rounds(s, 2);
	s->v0 ^= word;
}

static inline u64 mix_out(const struct sip *s)
{
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

void siphash(const void *data, size_t size, const u64 key[2], u64 out[2])
{
	struct sip s = {
		key[0] ^ 0x736f6d6570736575ull,
		key[1] ^ 0x646f72616e646f6dull ^ 0xee,
		key[0] ^ 0x6c7967656e657261ull,
		key[1] ^ 0x7465646279746573ull,
	};
	u64 word, last = (u64)size << 56;
	const u8 *p = data;

	for (size_t i = 0; i < size / 8; i++, p += 8) {
		memcpy(&word, p, 8);
		take(&s, word);
	}
	for (size_t i = 0; i < size % 8; i++)
		last |= (u64)p[i] << (8 * i);
	take(&s, last);
	s.v2 ^= 0xee;
	rounds(&s, 4);
	out[0] = mix_out(&s);
	s.v1 ^= 0xdd;
	rounds(&s, 4);
	out[1] = mix_out(&s);
}
