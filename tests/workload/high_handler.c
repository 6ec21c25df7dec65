/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An allocator of its own whose calls are interrupted by a signal, whose handler has a stack at
 * higher addresses and allocates there. Prints `outer COUNT` and `inner COUNT`: blocks of x_outer
 * and x_inner.
 */
#include <pthread.h>
#include <signal.h>

#include "gate.h"

#define NI     __attribute__((noinline, noclone))
#define ROUNDS 50
#define SIZE   32

static char heap[1 << 20];
static char thread_stack[1 << 20] __attribute__((aligned(4096))); /* below the main thread's */
static size_t used;
static volatile int interrupted, inner_cnt;
static void *volatile sink;

NI void *je_malloc(size_t size)
{
	void *p = heap + used;

	used += size;
	if (!interrupted) {
		interrupted = 1;
		raise(SIGUSR1);
		interrupted = 0;
	}
	return p;
}

NI static void x_inner(void)
{
	sink = je_malloc(SIZE);
	inner_cnt++;
}

NI static void x_outer(void)
{
	sink = je_malloc(SIZE);
	__asm__ volatile("" ::: "memory");
}

static void on_signal(int sig)
{
	(void)sig;
	x_inner();
}

static void *run(void *arg)
{
	stack_t high = { .ss_sp = arg, .ss_size = 1 << 16 };

	if (sigaltstack(&high, NULL))
		_exit(2);
	for (int i = 0; i < ROUNDS; i++)
		x_outer();
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	char high[1 << 16];
	pthread_attr_t attr;
	pthread_t thread;

	gate__start();
	sigaction(SIGUSR1, &action, NULL);
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, thread_stack, sizeof(thread_stack)) ||
	    pthread_create(&thread, &attr, run, high))
		return 3;
	pthread_join(thread, NULL);
	gate__say("outer %d\ninner %d\n", ROUNDS, inner_cnt);
	gate__end();
	return 0;
}
