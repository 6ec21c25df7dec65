/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash against `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:16
 * SIPHASH` of the bytes 0, 1, 2 and on. */
#include <string.h>

#include "base/siphash.h"
#include "check.h"

static const struct {
	size_t size;
	const char *hex;
} known[] = {
	{ 0, "a3817f04ba25a8e66df67214c7550293" },  { 1, "da87c1d86b99af44347659119b22fc45" },
	{ 8, "3b62a9ba6258f5610f83e264f31497b4" },  { 15, "5493e99933b0a8117e08ec0f97cfc3d9" },
	{ 63, "5150d1772f50834a503e069a973fbd7c" },
};

int main(void)
{
	u8 bytes[64], out[16];
	u64 key[2];

	for (u8 i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	memcpy(key, bytes, sizeof(key));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char hex[33];
		u64 words[2];

		siphash(bytes, known[i].size, key, words);
		memcpy(out, words, sizeof(out));
		for (u32 b = 0; b < sizeof(out); b++)
			snprintf(&hex[2 * b], 3, "%02x", out[b]);
		CHECK_STR(hex, known[i].hex);
	}
	return check__done();
}
