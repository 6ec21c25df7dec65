// SPDX-License-Identifier: BSD-2-Clause
//
// Leaves functions in every way that is no return: by exceptions (caught above, below, thrown
// again, handed to another thread), by longjmp and by pthread_exit; and by operator new without
// memory. Prints `expect FUNCTION RETURNS`, and `wrong WHAT` with status 1 when control went
// astray.
#include <csetjmp>
#include <exception>
#include <new>
#include <pthread.h>

#include "gate.h"

#define PROBED extern "C" __attribute__((noinline, noclone))

enum { ROUNDS = 50, DEPTH = 5, THREADS = 4, HUGE_ROUNDS = 3 };

static thread_local volatile int depth_left;
static jmp_buf back;

static void wrong(const char *what)
{
	gate__say("wrong %s\n", what);
	_exit(1);
}

// Returns only to its own kind.
PROBED int leaver(int value)
{
	if (!depth_left)
		throw value;
	depth_left = depth_left - 1;
	return leaver(value) + 1;
}

// A tail call: both functions' records have one return address.
extern "C" int tailer(int value);
asm(".globl tailer\n.type tailer, @function\ntailer: jmp leaver\n.size tailer, . - tailer");

PROBED int plain(int value)
{
	depth_left = 0;
	return value + 1;
}

// The exception is over before it returns.
PROBED int keeper(int value)
{
	try {
		leaver(value);
	} catch (int caught) {
		return plain(caught);
	}
	return 0;
}

PROBED int again(int value)
{
	try {
		leaver(value);
	} catch (int) {
		plain(0);
		throw;
	}
	return 0;
}

PROBED int jumper(int)
{
	longjmp(back, 1);
}

PROBED int quitter(int value)
{
	pthread_exit(reinterpret_cast<void *>(static_cast<long>(value)));
}

static void catches(int (*fn)(int), int value, int depth, const char *what)
{
	depth_left = depth;
	try {
		fn(value);
	} catch (int caught) {
		if (caught != value)
			wrong(what);
		return;
	}
	wrong(what);
}

static void round_of(int value) // six returns of plain
{
	catches(leaver, value, 0, "leaver");
	if (plain(value) != value + 1)
		wrong("plain");
	catches(leaver, value, DEPTH, "leaver, deep");
	catches(tailer, value, DEPTH, "tailer");
	plain(value);
	if (keeper(value) != value + 1)
		wrong("keeper");
	plain(value);
	catches(again, value, DEPTH, "again");
	if (plain(value) != value + 1)
		wrong("plain at the end");
}

struct leaves_trace {
	volatile int *cnt;
	~leaves_trace()
	{
		*cnt = *cnt + 1;
	}
};

static volatile int destroyed[THREADS];

static void *thread_main(void *arg)
{
	long me = reinterpret_cast<long>(arg);
	leaves_trace trace = { &destroyed[me] };

	for (int i = 0; i < ROUNDS; i++)
		round_of(i);
	quitter(static_cast<int>(me));
	return nullptr;
}

static void without_memory()
{
	int caught = 0;

	for (int i = 0; i < HUGE_ROUNDS; i++) {
		try {
			*static_cast<volatile char *>(::operator new(size_t(1) << 62)) = 1;
		} catch (std::bad_alloc &) {
			caught++;
		}
	}
	if (caught != HUGE_ROUNDS)
		wrong("operator new");
}

static void kept_for_later()
{
	std::exception_ptr kept;

	try {
		leaver(7);
	} catch (int) {
		kept = std::current_exception();
	}
	try {
		std::rethrow_exception(kept);
	} catch (int caught) {
		if (caught != 7)
			wrong("rethrow_exception");
	}
}

int main()
{
	pthread_t threads[THREADS];
	void *value;

	gate__start();
	for (int i = 0; i < ROUNDS; i++)
		round_of(i);
	for (int i = 0; i < ROUNDS; i++) {
		if (!setjmp(back))
			jumper(0);
		plain(0);
	}
	kept_for_later();
	without_memory();
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], nullptr, thread_main, reinterpret_cast<void *>(i)))
			wrong("pthread_create");
	for (long i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &value);
		if (reinterpret_cast<long>(value) != i || destroyed[i] != 1)
			wrong("quitter");
	}
	gate__say("expect plain %d\n", ROUNDS * 6 + ROUNDS);
	gate__end();
	return 0;
}
