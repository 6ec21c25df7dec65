/* SPDX-License-Identifier: BSD-2-Clause */
/* What the completions of the shells (comp_bash.c, comp_zsh.c, comp_fish.c) share: what may stand
 * where, and lists of words (mkcomp.c). */
#ifndef TESTS_TOOLS_MKCOMP_H
#define TESTS_TOOLS_MKCOMP_H

#include <stdio.h>

#include "cli/options.h"

/* What stands behind an option. */
enum value {
	VALUE_NONE, /* it takes none */
	VALUE_TEXT, /* nothing to complete: numbers, patterns */
	VALUE_CHOICE,
	VALUE_CHOICES,
	VALUE_FILE,
	VALUE_FORMAT,
	VALUE_PIDS,
	VALUE_USER,
	VALUE_COMM,
	VALUE_CGROUP,
	VALUE_PROBE,
	VALUE_PERCENT,
};

enum value value_of(const struct opt_row *row);

/* Is the option there in this version? */
bool is_offered(const struct opt_row *row);

/* Does it belong to the command, and to those who need no --help-all? verb 0: of tracing itself. */
bool belongs_to(const struct opt_row *row, int verb);
bool takes_files(const struct verb_row *v);
bool takes_command(const struct verb_row *v);

/* Lists of what is there, with blanks between. */
void put_choices(const struct choice *choices);
void put_formats(int verb);
void put_presets(const char *before_each);
void put_verbs(void);
void put_command_verbs(void);

/* Words in single quotes; `special` gets a backslash, a quote becomes `quote`. */
void put_quoted(const char *text, const char *special, const char *quote);

void put_bash(void);
void put_zsh(void);
void put_fish(void);

#endif
