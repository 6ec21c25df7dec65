/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns patterns into the automaton of struct as_globs: shift-and (Baeza-Yates, Gonnet 1992). */
#include "trace/globs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/types.h"

#define NAME_MAX_BYTES (AS_COMM_SIZE - 1)
#define STATES	       64 /* in a word */

struct glob {
	u64 star;
	u64 mask[256];
	u32 cnt; /* elements */
};

/* Behind the bracket expression that s begins with; NULL: it isn't one. */
static const char *bracket__end(const char *s)
{
	const char *e = s + 1, *class;

	e += *e == '!' || *e == '^';
	e += *e == ']';
	for (; *e && *e != ']'; e++) {
		if (e[0] != '[' || (e[1] != ':' && e[1] != '.' && e[1] != '='))
			continue;
		class = strchr(e + 2, e[1]);
		if (class && class[1] == ']')
			e = class + 1;
	}
	return *e ? e + 1 : NULL;
}

/* One element that isn't a star. Behind it. */
static const char *glob__element(struct glob *g, const char *s)
{
	const char *end = *s == '[' ? bracket__end(s) : NULL;
	u64 bit = 1ull << g->cnt++;
	char one[2] = "", set[256];

	if (end && (size_t)(end - s) < sizeof(set)) {
		memcpy(set, s, end - s);
		set[end - s] = '\0';
		for (u32 c = 1; c < 256; c++) {
			one[0] = (char)c;
			g->mask[c] |= fnmatch(set, one, 0) ? 0 : bit;
		}
		return end;
	}
	for (u32 c = 1; *s == '?' && c < 256; c++)
		g->mask[c] |= bit;
	if (*s == '?')
		return s + 1;
	s += *s == '\\' && s[1];
	g->mask[(u8)*s] |= bit;
	return s + 1;
}

/* One pattern, to a comma or the end; what can match no name at all is an error. */
static const char *glob__read(struct glob *g, const char *s)
{
	memset(g, 0, sizeof(*g));
	while (*s && *s != ',' && g->cnt <= NAME_MAX_BYTES) {
		if (*s == '*') {
			g->star |= 1ull << g->cnt;
			s++;
		} else {
			s = glob__element(g, s);
		}
	}
	return s;
}

/* Puts a pattern into the first word with room for its states. */
static bool globs__add(struct as_globs *g, u32 used[AS_GLOB_WORDS], const struct glob *one)
{
	u32 w = 0;

	while (w < AS_GLOB_WORDS && used[w] + one->cnt + 1 > STATES)
		w++;
	if (w == AS_GLOB_WORDS)
		return false;
	g->start[w] |= 1ull << used[w];
	g->star[w] |= one->star << used[w];
	g->accept[w] |= 1ull << (used[w] + one->cnt);
	for (u32 c = 0; c < 256; c++)
		g->mask[c][w] |= one->mask[c] << used[w];
	used[w] += one->cnt + 1;
	return true;
}

int globs__read(const char *text, struct as_globs *g)
{
	u32 used[AS_GLOB_WORDS] = {};
	const char *s = text;
	struct glob one;

	memset(g, 0, sizeof(*g));
	for (;; s++) {
		s = glob__read(&one, s);
		if (one.cnt > NAME_MAX_BYTES) {
			err__fail(-EINVAL, "name '%s': longer than any process name", text);
			err__hint("the kernel keeps the first %d bytes: end the pattern with *",
				  NAME_MAX_BYTES);
			return -EINVAL;
		}
		if (!one.cnt && !one.star)
			return err__fail(-EINVAL, "name '%s': an empty pattern", text);
		if (!globs__add(g, used, &one))
			return err__fail(-EINVAL, "name '%s': too many patterns", text);
		if (!*s)
			return 0;
	}
}
