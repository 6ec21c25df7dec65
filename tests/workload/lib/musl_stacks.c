/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * musl's edges: a signal return that only its code bytes show, and a thread start. musl itself may
 * be built without unwind rows, so the interrupted function makes the system call by itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NI	__attribute__((noinline, noclone))
#define FENCE() __asm__ volatile("" ::: "memory")

static void *volatile sink;

NI void leaf(size_t size)
{
	sink = malloc(size);
	FENCE();
}

NI void on_signal(int number)
{
	(void)number;
	leaf(70001);
	FENCE();
}

NI void signal_self(void)
{
	long result = SYS_kill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(getpid()), "S"(SIGUSR1)
			 : "rcx", "r11", "memory");
}

NI void *thread_main(void *nothing)
{
	leaf(70002);
	FENCE();
	return nothing;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	sigaction(SIGUSR1, &action, NULL);
	signal_self();
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 2;
	pthread_join(thread, NULL);
	return 0;
}
