/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints as whom it runs: to be made setuid, and to be run as another user. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	const char *vars[] = { "HOME", "USER", "LOGNAME", "SHELL" };

	printf("ruid=%d euid=%d rgid=%d groups=%d", (int)getuid(), (int)geteuid(), (int)getgid(),
	       getgroups(0, NULL));
	for (int i = 0; i < 4; i++)
		printf(" %s=%s", vars[i], getenv(vars[i]) ? getenv(vars[i]) : "");
	putchar('\n');
	return 0;
}
