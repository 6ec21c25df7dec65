/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns into a daemon: its first process ends with 9 at once; the daemon, in a session of its own,
 * prints "daemon" after a byte has come from standard input. */
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

int main(void)
{
	char c;

	if (fork())
		_exit(9);
	setsid();
	if (fork())
		_exit(0);
	if (read(0, &c, 1) != 1)
		return 1;
	puts("daemon");
	return 0;
}
