/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remedies for a wrong command line: a near miss gets the right spelling, and a habit brought from
 * another tool gets the command that does it here.
 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

/* Longer words are no misspelt options. */
#define WORD_MAX 31

static u32 min3(u32 a, u32 b, u32 c)
{
	return MIN(a, MIN(b, c));
}

/* Optimal string alignment: row r[i] holds the costs of turning a's first i letters into b's. */
u32 suggest__distance(const char *a, const char *b)
{
	u32 r[WORD_MAX + 1][WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= b_len; j++)
		r[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		r[i][0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			u32 change = r[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			r[i][j] = min3(r[i - 1][j] + 1, r[i][j - 1] + 1, change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				r[i][j] = MIN(r[i][j], r[i - 2][j - 2] + 1);
		}
	}
	return r[a_len][b_len];
}

/* The best candidate so far. A third of the letters may be wrong. */
struct guess {
	const char *word;
	const char *best;
	u32 distance;
};

static void guess__try(struct guess *g, const char *candidate)
{
	u32 d = suggest__distance(g->word, candidate);
	size_t len = MAX(strlen(g->word), strlen(candidate));

	if (d >= g->distance || d * 3 > MAX(len, 3))
		return;
	g->distance = d;
	g->best = candidate;
}

static void hint_words(const char *before, char *const *words)
{
	struct str line = {};

	str__add(&line, before);
	for (size_t i = 0; words[i] && line.len < 200; i++)
		str__addf(&line, " %s", words[i]);
	if (line.s)
		err__hint("%s", line.s);
	str__free(&line);
}

/* All names that start like `word`: "--li" could be two. */
static bool hint_ambiguous(const char *word)
{
	struct str names = {};
	size_t cnt = 0;

	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (!opt_rows[i].name || strncmp(opt_rows[i].name, word, strlen(word)))
			continue;
		str__addf(&names, "%s--%s", cnt++ ? ", " : "", opt_rows[i].name);
	}
	if (cnt > 1 && names.s)
		err__hint("could be %s", names.s);
	str__free(&names);
	return cnt > 1;
}

static void suggest__long(const char *arg)
{
	char word[WORD_MAX + 1];
	struct guess g = { .word = word, .distance = UINT32_MAX };

	if (snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg, "="), arg) >= (int)sizeof(word))
		word[0] = '\0';
	if (*word && hint_ambiguous(word))
		return;
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (opt_rows[i].name)
			guess__try(&g, opt_rows[i].name);
	}
	if (g.best)
		err__hint("did you mean --%s?", g.best);
	else
		err__hint("allocsnoop --help shows the options");
}

void suggest__option(char **argv, int at)
{
	const char *arg = argv[at];

	if (!strncmp(arg, "--", 2)) {
		suggest__long(arg + 2);
		return;
	}
	/* Other tools start the command with -c. */
	if (!strcmp(arg, "-c") && argv[at + 1])
		hint_words("allocsnoop --", argv + at + 1);
	else if (!strncmp(arg, "-c", 2))
		err__hint("allocsnoop -- %s", arg[2] ? arg + 2 : "COMMAND");
	else
		err__hint("allocsnoop --help shows the options");
}

static bool all_digits(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* `-p $(pgrep x)` without -d, spreads the ids over several words. */
static bool hint_pids(char **words, const struct cli_opts *o)
{
	struct str line = {};

	if (!all_digits(words[0]))
		return false;
	for (size_t i = 0; i < o->pids.cnt && line.len < 100; i++)
		str__addf(&line, "%d,", o->pids.v[i]);
	for (size_t i = 0; words[i] && all_digits(words[i]) && line.len < 200; i++)
		str__addf(&line, "%s%s", i ? "," : "", words[i]);
	if (line.s)
		err__hint("allocsnoop -p %s", line.s);
	str__free(&line);
	return true;
}

void suggest__word(char **words, const struct cli_opts *o)
{
	struct guess g = { .word = words[0], .distance = UINT32_MAX };

	if (hint_pids(words, o))
		return;
	for (const struct verb_row *v = verb_rows; v->name; v++)
		guess__try(&g, v->name);
	if (!strcmp(words[0], "help") || !strcmp(words[0], "version"))
		err__hint("allocsnoop --%s", words[0]);
	else if (g.best && g.distance)
		err__hint("did you mean 'allocsnoop %s', or 'allocsnoop -- %s'?", g.best, words[0]);
	else
		hint_words("allocsnoop --", words);
}

void suggest__choice(const struct choice *choices, const char *word)
{
	struct guess g = { .word = word, .distance = UINT32_MAX };
	struct str names = {};

	for (const struct choice *c = choices; c->name; c++) {
		if (c->later)
			continue;
		guess__try(&g, c->name);
		str__addf(&names, "%s%s", names.len ? ", " : "", c->name);
	}
	if (g.best)
		err__hint("did you mean '%s'?", g.best);
	else if (names.s)
		err__hint("one of: %s", names.s);
	str__free(&names);
}
