/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the completions of a shell: mkcomp bash|zsh|fish. All three are read off the tables of the
 * command line, so a new option, word or format is completed without a line here. What isn't there
 * yet is left out. Links src/cli/table.c and the library, which knows the presets of --probe.
 */
#include <allocsnoop.h>
#include <string.h>

#include "mkcomp.h"

enum value value_of(const struct opt_row *row)
{
	static const struct {
		const char *arg;
		enum value value;
	} args[] = {
		{ "FILE", VALUE_FILE }, { "FMT", VALUE_FORMAT },  { "USER", VALUE_USER },
		{ "GLOB", VALUE_COMM }, { "PATH", VALUE_CGROUP },
	};

	if (!row->arg)
		return VALUE_NONE;
	if (row->kind == OPT_CHOICE)
		return VALUE_CHOICE;
	if (row->kind == OPT_CHOICES)
		return VALUE_CHOICES;
	if (row->kind == OPT_PIDS)
		return VALUE_PIDS;
	if (row->kind == OPT_PROBE)
		return VALUE_PROBE;
	if (row->kind == OPT_PERCENT)
		return VALUE_PERCENT;
	for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
		if (!strcmp(row->arg, args[i].arg))
			return args[i].value;
	}
	return VALUE_TEXT;
}

bool is_offered(const struct opt_row *row)
{
	return row->kind != OPT_HEADING && row->kind != OPT_LATER;
}

/* verb 0: of tracing itself. Experts know what they want to type. */
bool belongs_to(const struct opt_row *row, int verb)
{
	u32 verbs = row->verbs ? row->verbs : VERB_RECORD;

	return is_offered(row) && !row->expert && verbs & (u32)(verb ? verb : VERB_RECORD);
}

/* ---- lists of words ---- */

void put_choices(const struct choice *choices)
{
	const char *before = "";

	for (; choices->name; choices++) {
		if (choices->later)
			continue;
		printf("%s%s", before, choices->name);
		before = " ";
	}
}

/* `doctor` has two of its own. */
void put_formats(int verb)
{
	const char *before = "";

	if (verb == VERB_DOCTOR) {
		fputs("text json", stdout);
		return;
	}
	for (const struct format_row *f = format_rows; f->name; f++) {
		if (f->later)
			continue;
		printf("%s%s", before, f->name);
		before = " ";
	}
}

void put_presets(const char *before_each)
{
	for (size_t i = 0; allocsnoop__preset_name(i); i++)
		printf("%s%s%s", i ? " " : "", before_each, allocsnoop__preset_name(i));
}

void put_verbs(void)
{
	const char *before = "";

	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb == VERB_LATER)
			continue;
		printf("%s%s", before, v->name);
		before = " ";
	}
}

bool takes_files(const struct verb_row *v)
{
	return strstr(v->args, "FILE") || strstr(v->args, "OLD");
}

bool takes_command(const struct verb_row *v)
{
	return strstr(v->args, "COMMAND");
}

/* Those that a COMMAND may follow, behind `--`. */
void put_command_verbs(void)
{
	const char *before = "";

	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb == VERB_LATER || !takes_command(v))
			continue;
		printf("%s%s", before, v->name);
		before = " ";
	}
}

/* Words in single quotes; `special` gets a backslash. */
void put_quoted(const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, stdout);
		else if (strchr(special, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*put)(void);
	} shells[] = { { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish } };

	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(shells); i++) {
		if (strcmp(argv[1], shells[i].name))
			continue;
		shells[i].put();
		return fflush(stdout) || ferror(stdout) ? 1 : 0;
	}
	fputs("usage: mkcomp bash|zsh|fish\n", stderr);
	return 2;
}
