/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion of bash. It needs nothing of the bash-completion package, but uses what it has for
 * COMMAND's own words. */
#include "mkcomp.h"

static const char bash_head[] =
	"# bash completion for allocsnoop, made from its table of options.\n"
	"# shellcheck shell=bash disable=SC2207\n"
	"\n"
	"_allocsnoop_words() { # LIST\n"
	"\tCOMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
	"}\n"
	"\n"
	"# The last word of a list that commas part; another may follow.\n"
	"_allocsnoop_list() { # LIST\n"
	"\tlocal before=\n"
	"\t[[ $cur != *,* ]] || before=${cur%,*},\n"
	"\tcompopt -o nospace 2>/dev/null\n"
	"\tCOMPREPLY=($(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\"))\n"
	"}\n"
	"\n"
	"_allocsnoop_lines() { # candidates that may have blanks, on standard input\n"
	"\tlocal line\n"
	"\twhile IFS= read -r line; do\n"
	"\t\t[[ $line != \"$cur\"* ]] || COMPREPLY+=(\"$(printf %q \"$line\")\")\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_allocsnoop_files() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"}\n"
	"\n"
	"_allocsnoop_pids() {\n"
	"\t_allocsnoop_list \"$(cd /proc && echo [0-9]*)\"\n"
	"}\n"
	"\n"
	"_allocsnoop_comms() {\n"
	"\t_allocsnoop_lines < <(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)\n"
	"}\n"
	"\n"
	"_allocsnoop_users() {\n"
	"\tCOMPREPLY=($(compgen -u -- \"$cur\"))\n"
	"}\n"
	"\n"
	"# Cgroups are paths from the root of their file system on.\n"
	"_allocsnoop_cgroups() {\n"
	"\tlocal root=/sys/fs/cgroup\n"
	"\t[[ -e $root/cgroup.procs ]] || root=$root/unified\n"
	"\tcompopt -o nospace 2>/dev/null\n"
	"\t_allocsnoop_lines < <(compgen -S / -d -- \"$root/${cur#/}\" | sed \"s|^$root||\")\n"
	"}\n"
	"\n"
	"# A colon parts words.\n"
	"_allocsnoop_presets() { # NAMES\n"
	"\tif [[ ${COMP_WORDS[COMP_CWORD]} == : || ${COMP_WORDS[COMP_CWORD - 1]} == : ]]; then\n"
	"\t\t_allocsnoop_words \"$1\"\n"
	"\telse\n"
	"\t\tcompopt -o nospace 2>/dev/null\n"
	"\t\t_allocsnoop_words preset:\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# COMMAND and its words, from COMP_WORDS[$1] on.\n"
	"_allocsnoop_command() {\n"
	"\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD == $1)); then\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\t_allocsnoop_files\n"
	"\tfi\n"
	"}\n"
	"\n";

static const char bash_main[] = "_allocsnoop() {\n"
				"\tlocal cur=${COMP_WORDS[COMP_CWORD]} verb= opt= word i=1\n"
				"\tCOMPREPLY=()\n"
				"\twhile ((i < COMP_CWORD)); do\n"
				"\t\tword=${COMP_WORDS[i++]}\n"
				"\t\tif [[ $word == -- ]] && _allocsnoop_runs; then\n"
				"\t\t\t_allocsnoop_command \"$i\"\n"
				"\t\t\treturn\n"
				"\t\telif _allocsnoop_takes \"$word\"; then\n"
				"\t\t\t[[ ${COMP_WORDS[i]} != '=' ]] || ((i++))\n"
				"\t\t\t((i < COMP_CWORD)) || opt=$word\n"
				"\t\t\t((i++))\n"
				"\t\t\twhile [[ ${COMP_WORDS[i]} == : ]]; do\n"
				"\t\t\t\t((i + 1 < COMP_CWORD)) || opt=$word\n"
				"\t\t\t\t((i += 2))\n"
				"\t\t\tdone\n"
				"\t\telif [[ $word != -* && -z $verb ]]; then\n"
				"\t\t\tverb=$word\n"
				"\t\tfi\n"
				"\tdone\n"
				"\t[[ $cur != [=:] ]] || cur=\n"
				"\tif [[ -n $opt ]]; then\n"
				"\t\t_allocsnoop_value \"$opt\"\n"
				"\telse\n"
				"\t\t_allocsnoop_word\n"
				"\tfi\n"
				"}\n"
				"\n"
				"complete -F _allocsnoop allocsnoop\n";

static void bash_pattern(const struct opt_row *row)
{
	if (row->letter)
		printf("-%c | ", row->letter);
	printf("--%s", row->name);
}

static void bash_value(const struct opt_row *row)
{
	switch (value_of(row)) {
	case VALUE_CHOICE:
		fputs("_allocsnoop_words '", stdout);
		put_choices(row->choices);
		putchar('\'');
		break;
	case VALUE_CHOICES:
		fputs("_allocsnoop_list '", stdout);
		put_choices(row->choices);
		putchar('\'');
		break;
	case VALUE_FILE:
		fputs("_allocsnoop_files", stdout);
		break;
	case VALUE_FORMAT:
		fputs("if [[ $verb == doctor ]]; then _allocsnoop_words '", stdout);
		put_formats(VERB_DOCTOR);
		fputs("'; else _allocsnoop_words '", stdout);
		put_formats(VERB_RECORD);
		fputs("'; fi", stdout);
		break;
	case VALUE_PIDS:
		fputs("_allocsnoop_pids", stdout);
		break;
	case VALUE_USER:
		fputs("_allocsnoop_users", stdout);
		break;
	case VALUE_COMM:
		fputs("_allocsnoop_comms", stdout);
		break;
	case VALUE_CGROUP:
		fputs("_allocsnoop_cgroups", stdout);
		break;
	case VALUE_PROBE:
		fputs("_allocsnoop_presets '", stdout);
		put_presets("");
		putchar('\'');
		break;
	case VALUE_PERCENT:
		fputs("_allocsnoop_words none", stdout);
		break;
	case VALUE_TEXT:
	case VALUE_NONE:
		break; /* not asked for */
	}
}

static void bash_options(int verb)
{
	const char *before = "";

	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (!belongs_to(&opt_rows[i], verb))
			continue;
		printf("%s--%s", before, opt_rows[i].name);
		before = " ";
		if (opt_rows[i].letter)
			printf(" -%c", opt_rows[i].letter);
	}
}

/* Options when a dash is there, words when not. */
static void bash_verb(const struct verb_row *v)
{
	printf("\t%s)\n\t\tif [[ $cur == -* ]]; then\n\t\t\t_allocsnoop_words '",
	       v ? v->name : "''");
	bash_options(v ? (int)v->verb : 0);
	fputs(v ? "'\n" : " --'\n", stdout);
	if (!v) {
		fputs("\t\telse\n\t\t\t_allocsnoop_words '", stdout);
		put_verbs();
		puts("'");
	} else if (takes_files(v)) {
		puts("\t\telse\n\t\t\t_allocsnoop_files");
	}
	puts("\t\tfi ;;");
}

void put_bash(void)
{
	const char *before = "\t";

	fputs(bash_head, stdout);
	puts("# Does the word take a value?\n_allocsnoop_takes() {\n\tcase $1 in");
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (!is_offered(&opt_rows[i]) || !opt_rows[i].arg)
			continue;
		fputs(before, stdout);
		bash_pattern(&opt_rows[i]);
		before = " | \\\n\t\t";
	}
	puts(") return 0 ;;\n\tesac\n\treturn 1\n}\n");
	fputs("# Is what follows `--` a COMMAND?\n_allocsnoop_runs() {\n\t[[ -z $verb || ' ",
	      stdout);
	put_command_verbs();
	puts(" ' == *\" $verb \"* ]]\n}\n");
	puts("_allocsnoop_value() { # OPTION\n\tcase $1 in");
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (!is_offered(&opt_rows[i]) || value_of(&opt_rows[i]) <= VALUE_TEXT)
			continue;
		putchar('\t');
		bash_pattern(&opt_rows[i]);
		fputs(") ", stdout);
		bash_value(&opt_rows[i]);
		puts(" ;;");
	}
	puts("\tesac\n}\n\n_allocsnoop_word() {\n\tcase $verb in");
	bash_verb(NULL);
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb != VERB_LATER)
			bash_verb(v);
	}
	puts("\tesac\n}\n");
	fputs(bash_main, stdout);
}
