/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last error of each thread, in words. The words often quote names that belong to traced
 * programs, so control characters are replaced here, once, and no caller has to remember it.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_msg[1024];
static _Thread_local char last_hint[512];

/* C0, DEL and the UTF-8 form of C1 (c2 80 .. c2 9f) become '?'. */
static void defang(char *text)
{
	unsigned char *p = (unsigned char *)text;

	for (; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
			p[0] = p[1] = '?';
	}
}

int err__fail(int err, const char *fmt, ...)
{
	/* The arguments may be err__msg() itself: a caller that adds what it knows. */
	char text[sizeof(last_msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	defang(text);
	snprintf(last_msg, sizeof(last_msg), "%s", text);
	last_hint[0] = '\0';
	return err;
}

void err__hint(const char *fmt, ...)
{
	char text[sizeof(last_hint)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	defang(text);
	snprintf(last_hint, sizeof(last_hint), "%s", text);
}

const char *err__msg(void)
{
	return last_msg;
}

const char *err__hint_msg(void)
{
	return last_hint;
}

void err__clear(void)
{
	last_msg[0] = '\0';
	last_hint[0] = '\0';
}
