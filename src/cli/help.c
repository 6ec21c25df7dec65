/* SPDX-License-Identifier: BSD-2-Clause */
/* --help and --help-all, read off the tables. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#define INDENT	 "                           "
#define TEXT_MAX (80 - (int)sizeof(INDENT)) /* columns beside it */

#define FORMATS_MAX 32

/* Those that are there, or those that aren't yet. at: columns used in the line. */
static void choices__print(const struct choice *choices, bool later, int at, const char *newline,
			   FILE *out)
{
	const char *before = ":";

	for (const struct choice *c = choices; c->name; c++) {
		char word[48];

		if (c->later != later)
			continue;
		snprintf(word, sizeof(word), "%s%s", c->name, c == choices ? " (default)" : "");
		fputs(before, out);
		at += strlen(", ") + strlen(word);
		if (at >= TEXT_MAX) {
			fputs(newline, out);
			at = strlen(word);
		} else {
			fputc(' ', out);
		}
		fputs(word, out);
		before = ",";
	}
}

static bool any_later(const struct choice *choices)
{
	while (choices->name && !choices->later)
		choices++;
	return choices->name;
}

/* The names of the formats as if they were choices; the end of `names` is zero. */
static void formats__list(struct choice names[FORMATS_MAX])
{
	size_t cnt = 0;

	for (const struct format_row *f = format_rows; f->name && cnt < FORMATS_MAX - 1; f++)
		names[cnt++] = (struct choice){ .name = f->name, .later = f->later };
}

void help__describe(const struct opt_row *row, const char *newline, FILE *out)
{
	struct choice formats[FORMATS_MAX] = {};
	const struct choice *choices = row->formats ? formats : row->choices;
	int at = fprintf(out, "%s%s", row->help, row->kind == OPT_LATER ? " (not yet)" : "");

	if (!choices)
		return;
	formats__list(formats);
	choices__print(choices, false, at, newline, out);
	if (!any_later(choices))
		return;
	fputs(newline, out);
	at = fprintf(out, "(not yet");
	choices__print(choices, true, at, newline, out);
	fputc(')', out);
}

static void help__option(const struct opt_row *row)
{
	char left[40];

	if (row->kind == OPT_HEADING) {
		printf("\n%s:\n", row->help);
		return;
	}
	snprintf(left, sizeof(left), row->letter ? "-%c, --%s%s%s" : "%c   --%s%s%s",
		 row->letter ? row->letter : ' ', row->name, row->arg ? " " : "",
		 row->arg ? row->arg : "");
	printf("  %-24s%s", left, strlen(left) > 24 ? "\n" INDENT : " "); /* as wide as INDENT */
	help__describe(row, "\n" INDENT, stdout);
	putchar('\n');
}

static void help__verbs(void)
{
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		char left[40];

		snprintf(left, sizeof(left), "%s %s", v->name, v->args);
		printf("       allocsnoop %-29s %s%s\n", left, v->help,
		       v->verb == VERB_LATER ? " (not yet)" : "");
	}
}

void help__print(bool all)
{
	printf("Who allocates memory, what and how much, on a live Linux machine.\n"
	       "\n"
	       "usage: allocsnoop [OPTIONS]                     every process on the machine\n"
	       "       allocsnoop [OPTIONS] -p PID[,PID...]     these processes\n"
	       "       allocsnoop [OPTIONS] -- COMMAND [ARG...] trace COMMAND and its children\n");
	help__verbs();
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (all || !opt_rows[i].expert)
			help__option(&opt_rows[i]);
	}
	printf("\nSizes take K M G (1024), durations ms s m h; a bare number means bytes, "
	       "seconds.\n"
	       "With no target --max-overhead is 5 (with --live: none): what would cost more "
	       "is\n"
	       "estimated from short windows, and the report says so. `none` counts all.\n"
	       "Ctrl-C or SIGTERM ends with the report, SIGUSR1 gives one now and goes on.\n"
	       "Exit status: 0 done, 1 failed, 2 usage; with COMMAND its own (128+N by signal).\n");
}
