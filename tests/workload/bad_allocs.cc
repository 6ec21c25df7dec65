// SPDX-License-Identifier: BSD-2-Clause
//
// Operator new without memory (with an argument: for sizes that no object has), over and over, on
// several threads: exceptions are caught frames above, and between them blocks are made, kept and
// freed. Prints `caught COUNT`, and `expect`, `freed` and `live` FUNCTION COUNT BYTES.
#include <initializer_list>
#include <new>
#include <pthread.h>
#include <sys/resource.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

enum { THREADS = 4, ROUNDS = 40, DEPTHS = 7, SIZE = 24 };

typedef void *maker(size_t size);

static volatile size_t bad_size = size_t(1) << 42; // more than the limit
static void *volatile sink[THREADS + 1];
static int caught_cnt, made_cnt;

// The barriers keep calls from being tail calls.
NI static void *x_new(size_t size)
{
	void *p = ::operator new(size);

	asm volatile("" ::: "memory");
	return p;
}

NI static void *x_array(size_t size)
{
	void *p = ::operator new[](size);

	asm volatile("" ::: "memory");
	return p;
}

NI static void *x_aligned(size_t size)
{
	void *p = ::operator new(size, std::align_val_t(64));

	asm volatile("" ::: "memory");
	return p;
}

NI static void *deeper(int depth, maker *make, size_t size)
{
	void *p = depth ? deeper(depth - 1, make, size) : make(size);

	asm volatile("" ::: "memory");
	return p;
}

static void fails(int depth, maker *make, size_t size)
{
	try {
		deeper(depth, make, size);
	} catch (const std::bad_alloc &) {
		__atomic_fetch_add(&caught_cnt, 1, __ATOMIC_RELAXED);
	}
}

NI static void one_round(int depth, void *volatile *kept)
{
	const std::align_val_t align{ 64 };

	for (maker *make : { x_new, x_array, x_aligned })
		fails(depth, make, bad_size);
	*kept = deeper(depth, x_new, SIZE);
	*kept = x_new(SIZE);
	::operator delete(*kept);
	*kept = x_array(SIZE);
	::operator delete[](*kept);
	*kept = x_aligned(2 * SIZE + 16);
	::operator delete(*kept, align);
	__atomic_fetch_add(&made_cnt, 1, __ATOMIC_RELAXED);
}

static void *run(void *arg)
{
	void *volatile *kept = static_cast<void *volatile *>(arg);

	for (int i = 0; i < ROUNDS; i++)
		one_round(i % DEPTHS, kept);
	return nullptr;
}

int main(int argc, char **)
{
	struct rlimit limit = { size_t(16) << 30, size_t(16) << 30 };
	pthread_t threads[THREADS];

	if (argc > 1)
		bad_size = ~size_t(0) - 100;
	gate__start();
	if (setrlimit(RLIMIT_AS, &limit))
		return 2;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], nullptr, run, const_cast<void **>(&sink[i])))
			return 3;
	run(const_cast<void **>(&sink[THREADS]));
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	gate__say("caught %d\n", caught_cnt);
	gate__say("expect x_new %d %d\n", 2 * made_cnt, 2 * made_cnt * SIZE);
	gate__say("expect x_array %d %d\n", made_cnt, made_cnt * SIZE);
	gate__say("expect x_aligned %d %d\n", made_cnt, made_cnt * 64);
	gate__say("live x_new %d %d\n", made_cnt, made_cnt * SIZE);
	gate__say("live x_array 0 0\nlive x_aligned 0 0\n");
	gate__say("freed x_new %d %d\n", made_cnt, made_cnt * SIZE);
	gate__say("freed x_array %d %d\n", made_cnt, made_cnt * SIZE);
	gate__say("freed x_aligned %d %d\n", made_cnt, made_cnt * 64);
	gate__end();
	return 0;
}
