/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012): with a secret key nobody can
 * prepare two inputs of one hash, nor one input for a given hash. For bytes that hostile programs
 * chose.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include "base/types.h"

void siphash(const void *data, size_t size, const u64 key[2], u64 out[2]);

#endif
