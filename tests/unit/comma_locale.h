/* SPDX-License-Identifier: BSD-2-Clause */
/* A locale whose numbers have commas, made in a directory of the test's own when the machine
 * doesn't have it. */
#ifndef TESTS_UNIT_COMMA_LOCALE_H
#define TESTS_UNIT_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool set_comma_locale(const char *dir)
{
	char command[512];

	if (setlocale(LC_ALL, "de_DE.UTF-8"))
		return true;
	snprintf(command, sizeof(command),
		 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", dir);
	if (system(command))
		return false;
	setenv("LOCPATH", dir, 1);
	return setlocale(LC_ALL, "de_DE.UTF-8");
}

#endif
