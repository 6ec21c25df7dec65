/* SPDX-License-Identifier: BSD-2-Clause */
/* Words on standard error; each line is written at once, so that threads don't mix theirs. */
#include "cli/say.h"

#include <allocsnoop.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"

static void say(const char *prefix, const char *text)
{
	struct str line = {};

	str__add(&line, prefix);
	str__add_utf8(&line, text, strlen(text), true);
	str__add(&line, "\n");
	/* Nobody is left to tell when standard error itself fails. */
	if (line.s && write(STDERR_FILENO, line.s, line.len) < 0)
		(void)0;
	str__free(&line);
}

void say__line(const char *text)
{
	say("allocsnoop: ", text);
}

void say__hint(const char *hint)
{
	if (*hint)
		say("hint: ", hint);
}

void say__error(const char *what, const char *hint)
{
	say__line(what);
	say__hint(hint);
}

void say__failure(void)
{
	say__error(err__msg(), err__hint_msg());
}

void say__library(void)
{
	say__error(allocsnoop__error(), allocsnoop__hint());
}
