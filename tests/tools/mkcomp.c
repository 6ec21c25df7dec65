/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the completions of a shell: mkcomp bash|zsh|fish. All three are read off the tables of the
 * command line, so a new option, word or format is completed without a line here. What isn't there
 * yet is left out. Links src/cli/table.c and the library, which knows the presets of --probe.
 */
#include <allocsnoop.h>
#include <stdio.h>
#include <string.h>

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

static enum value value_of(const struct opt_row *row)
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

static bool is_offered(const struct opt_row *row)
{
	return row->kind != OPT_HEADING && row->kind != OPT_LATER;
}

/* verb 0: of tracing itself. Experts know what they want to type. */
static bool belongs_to(const struct opt_row *row, int verb)
{
	u32 verbs = row->verbs ? row->verbs : VERB_RECORD;

	return is_offered(row) && !row->expert && verbs & (u32)(verb ? verb : VERB_RECORD);
}

/* ---- lists of words ---- */

static void put_choices(const struct choice *choices)
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
static void put_formats(int verb)
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

static void put_presets(const char *before_each)
{
	for (size_t i = 0; allocsnoop__preset_name(i); i++)
		printf("%s%s%s", i ? " " : "", before_each, allocsnoop__preset_name(i));
}

static void put_verbs(void)
{
	const char *before = "";

	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb == VERB_LATER)
			continue;
		printf("%s%s", before, v->name);
		before = " ";
	}
}

static bool takes_files(const struct verb_row *v)
{
	return strstr(v->args, "FILE") || strstr(v->args, "OLD");
}

/* Words in single quotes; `special` gets a backslash. */
static void put_quoted(const char *text, const char *special, const char *quote)
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

/* ---- bash ---- */

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
				"\t\tif [[ $word == -- && -z $verb ]]; then\n"
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

static void put_bash(void)
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

/* ---- zsh ---- */

static const char zsh_head[] = "#compdef allocsnoop\n"
			       "# zsh completion for allocsnoop, made from its table of options.\n"
			       "\n"
			       "_allocsnoop_pid() {\n"
			       "\tlocal -a pids descriptions\n"
			       "\tlocal dir comm\n"
			       "\tfor dir in /proc/<->(N); do\n"
			       "\t\tcomm=\n"
			       "\t\tread -r comm 2>/dev/null <$dir/comm\n"
			       "\t\tpids+=(${dir:t})\n"
			       "\t\tdescriptions+=(\"${dir:t}  $comm\")\n"
			       "\tdone\n"
			       "\tcompadd \"$@\" -l -d descriptions -a pids\n"
			       "}\n"
			       "\n"
			       "_allocsnoop_comms() {\n"
			       "\tlocal -aU comms\n"
			       "\tcomms=(${(f)\"$(cat /proc/<->/comm 2>/dev/null)\"})\n"
			       "\tcompadd \"$@\" -a comms\n"
			       "}\n"
			       "\n"
			       "_allocsnoop_cgroups() {\n"
			       "\tlocal root=/sys/fs/cgroup\n"
			       "\t[[ -e $root/cgroup.procs ]] || root=$root/unified\n"
			       "\t_path_files -W $root -/\n"
			       "}\n"
			       "\n";

static void zsh_value(const struct opt_row *row, int verb)
{
	printf(":%s:", row->arg);
	switch (value_of(row)) {
	case VALUE_CHOICE:
		putchar('(');
		put_choices(row->choices);
		putchar(')');
		break;
	case VALUE_CHOICES:
		fputs("_sequence compadd - ", stdout);
		put_choices(row->choices);
		break;
	case VALUE_FILE:
		fputs("_files", stdout);
		break;
	case VALUE_FORMAT:
		putchar('(');
		put_formats(verb);
		putchar(')');
		break;
	case VALUE_PIDS:
		fputs("_sequence _allocsnoop_pid", stdout);
		break;
	case VALUE_USER:
		fputs("_users", stdout);
		break;
	case VALUE_COMM:
		fputs("_allocsnoop_comms", stdout);
		break;
	case VALUE_CGROUP:
		fputs("_allocsnoop_cgroups", stdout);
		break;
	case VALUE_PROBE:
		putchar('(');
		put_presets("preset\\:");
		putchar(')');
		break;
	case VALUE_PERCENT:
		fputs("(none)", stdout);
		break;
	case VALUE_TEXT:
	case VALUE_NONE:
		putchar(' ');
		break;
	}
}

static void zsh_option(const struct opt_row *row, int verb)
{
	bool repeats = row->kind == OPT_PROBE || row->kind == OPT_PIDS;
	const char *more = repeats ? "*" : "";

	fputs("\t\t", stdout);
	if (row->letter && repeats)
		printf("'*'{-%c+,--%s=}", row->letter, row->name);
	else if (row->letter)
		printf("'(-%c --%s)'{-%c%s,--%s%s}", row->letter, row->name, row->letter,
		       row->arg ? "+" : "", row->name, row->arg ? "=" : "");
	else
		printf("'%s--%s%s'", more, row->name, row->arg ? "=" : "");
	fputs("'[", stdout);
	put_quoted(row->help, "[]:\\", "'\\''");
	putchar(']');
	if (row->arg)
		zsh_value(row, verb);
	puts("'");
}

static void zsh_options(const char *name, int verb)
{
	printf("\t%s)\n\toptions=(\n", name);
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (belongs_to(&opt_rows[i], verb))
			zsh_option(&opt_rows[i], verb);
	}
	fputs("\t) ;;\n", stdout);
}

static void put_zsh(void)
{
	fputs(zsh_head, stdout);
	puts("_allocsnoop_options() { # VERB\n\tcase $1 in");
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb != VERB_LATER)
			zsh_options(v->name, v->verb);
	}
	zsh_options("*", VERB_RECORD);
	puts("\tesac\n}\n\n_allocsnoop_verbs() {\n\tlocal -a verbs\n\tverbs=(");
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb == VERB_LATER)
			continue;
		printf("\t\t'%s:", v->name);
		put_quoted(v->help, "", "'\\''");
		puts("'");
	}
	puts("\t)\n\t_describe -t commands command verbs\n}\n");
	fputs("_allocsnoop() {\n"
	      "\tlocal curcontext=$curcontext state line verb\n"
	      "\tlocal -a options\n"
	      "\tlocal -A opt_args\n"
	      "\tlocal dashes=${words[(i)--]}\n"
	      "\tif ((dashes < CURRENT)); then\n"
	      "\t\tshift dashes words\n"
	      "\t\t((CURRENT -= dashes))\n"
	      "\t\t_normal\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\t_allocsnoop_options ''\n"
	      "\t_arguments -s -S -C -A '-*' $options '1:command:_allocsnoop_verbs' "
	      "'*::argument:->rest' "
	      "&& "
	      "return\n"
	      "\t[[ $state == rest ]] || return 1\n"
	      "\tverb=$words[1]\n"
	      "\t_allocsnoop_options \"$verb\"\n"
	      "\tcase $verb in\n",
	      stdout);
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb != VERB_LATER)
			printf("\t%s) _arguments -s -S $options%s ;;\n", v->name,
			       takes_files(v) ? " '*:file:_files'" : "");
	}
	puts("\tesac\n}\n\n_allocsnoop \"$@\"");
}

/* ---- fish ---- */

static const char fish_head[] =
	"# fish completion for allocsnoop, made from its table of options.\n"
	"\n"
	"# The word that says what to do; `record` when there is none yet, `--` where COMMAND "
	"begins.\n"
	"function __allocsnoop_verb\n"
	"\tset -l skip no\n"
	"\tfor word in (commandline -opc)[2..]\n"
	"\t\tif test $skip = yes\n"
	"\t\t\tset skip no\n"
	"\t\telse if test \"$word\" = --\n"
	"\t\t\techo command\n"
	"\t\t\treturn\n"
	"\t\telse if contains -- $word $__allocsnoop_takes\n"
	"\t\t\tset skip yes\n"
	"\t\telse if not string match -q -- '-*' $word\n"
	"\t\t\techo $word\n"
	"\t\t\treturn\n"
	"\t\tend\n"
	"\tend\n"
	"\techo record\n"
	"end\n"
	"\n"
	"function __allocsnoop_is\n"
	"\tcontains -- (__allocsnoop_verb) $argv\n"
	"end\n"
	"\n"
	"# COMMAND's own completions.\n"
	"function __allocsnoop_command\n"
	"\tset -l words (commandline -opc) (commandline -ct)\n"
	"\tset -l first (math (contains -i -- -- $words) + 1)\n"
	"\tcomplete -C (string join -- ' ' (string escape -- $words[$first..-2]) $words[-1])\n"
	"end\n"
	"\n"
	"function __allocsnoop_list # the words after the last comma\n"
	"\tset -l before (string match -r '.*,' -- (commandline -ct))\n"
	"\tfor word in $argv\n"
	"\t\techo \"$before$word\"\n"
	"\tend\n"
	"end\n"
	"\n"
	"function __allocsnoop_pids\n"
	"\t__allocsnoop_list (__fish_complete_pids)\n"
	"end\n"
	"\n"
	"function __allocsnoop_comms\n"
	"\tcat /proc/*/comm 2>/dev/null | sort -u\n"
	"end\n"
	"\n"
	"function __allocsnoop_cgroups\n"
	"\tset -l root /sys/fs/cgroup\n"
	"\ttest -e $root/cgroup.procs; or set root $root/unified\n"
	"\tset -l cur (string trim -l -c / -- (commandline -ct))\n"
	"\tstring replace -- $root '' $root/$cur*/\n"
	"end\n"
	"\n"
	"complete -c allocsnoop -f\n"
	"complete -c allocsnoop -n '__allocsnoop_is command' -a '(__allocsnoop_command)'\n";

static void fish_value(const struct opt_row *row, int verb)
{
	switch (value_of(row)) {
	case VALUE_NONE:
		return;
	case VALUE_CHOICE:
		fputs(" -x -a '", stdout);
		put_choices(row->choices);
		break;
	case VALUE_CHOICES:
		fputs(" -x -a '(__allocsnoop_list ", stdout);
		put_choices(row->choices);
		putchar(')');
		break;
	case VALUE_FILE:
		fputs(" -r -F", stdout);
		return;
	case VALUE_FORMAT:
		fputs(" -x -a '", stdout);
		put_formats(verb);
		break;
	case VALUE_PIDS:
		fputs(" -x -a '(__allocsnoop_pids)", stdout);
		break;
	case VALUE_USER:
		fputs(" -x -a '(__fish_complete_users)", stdout);
		break;
	case VALUE_COMM:
		fputs(" -x -a '(__allocsnoop_comms)", stdout);
		break;
	case VALUE_CGROUP:
		fputs(" -x -a '(__allocsnoop_cgroups)", stdout);
		break;
	case VALUE_PROBE:
		fputs(" -x -a '", stdout);
		put_presets("preset:");
		break;
	case VALUE_PERCENT:
		fputs(" -x -a 'none", stdout);
		break;
	case VALUE_TEXT:
		fputs(" -x", stdout);
		return;
	}
	putchar('\'');
}

static void fish_option(const struct opt_row *row, const char *name, int verb)
{
	printf("complete -c allocsnoop -n '__allocsnoop_is %s'", name);
	if (row->letter)
		printf(" -s %c", row->letter);
	printf(" -l %s", row->name);
	fish_value(row, verb);
	fputs(" -d '", stdout);
	put_quoted(row->help, "\\", "\\'");
	puts("'");
}

static void fish_options(const char *name, int verb)
{
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (belongs_to(&opt_rows[i], verb))
			fish_option(&opt_rows[i], name, verb);
	}
}

static void put_fish(void)
{
	fputs(fish_head, stdout);
	fputs("set -g __allocsnoop_takes", stdout);
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (!is_offered(&opt_rows[i]) || !opt_rows[i].arg)
			continue;
		if (opt_rows[i].letter)
			printf(" -%c", opt_rows[i].letter);
		printf(" --%s", opt_rows[i].name);
	}
	puts("\n");
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb == VERB_LATER)
			continue;
		printf("complete -c allocsnoop -n '__allocsnoop_is record' -a %s -d '", v->name);
		put_quoted(v->help, "\\", "\\'");
		puts("'");
		if (takes_files(v))
			printf("complete -c allocsnoop -n '__allocsnoop_is %s' -F\n", v->name);
	}
	fish_options("record", VERB_RECORD);
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb != VERB_LATER)
			fish_options(v->name, v->verb);
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
