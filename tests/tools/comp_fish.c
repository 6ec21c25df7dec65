/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion of fish: a list of conditions and candidates. */
#include "mkcomp.h"

static const char fish_head[] =
	"# fish completion for allocsnoop, made from its table of options.\n"
	"\n"
	"# The word that says what to do; `record` when there is none yet, `--` where COMMAND "
	"begins.\n"
	"function __allocsnoop_verb\n"
	"\tset -l skip no\n"
	"\tset -l verb record\n"
	"\tfor word in (commandline -opc)[2..]\n"
	"\t\tif test $skip = yes\n"
	"\t\t\tset skip no\n"
	"\t\telse if test \"$word\" = --\n"
	"\t\t\techo command\n"
	"\t\t\treturn\n"
	"\t\telse if contains -- $word $__allocsnoop_takes\n"
	"\t\t\tset skip yes\n"
	"\t\telse if not string match -q -- '-*' $word\n"
	"\t\t\tset verb $word\n"
	"\t\t\tcontains -- $word $__allocsnoop_runs; or break\n"
	"\t\tend\n"
	"\tend\n"
	"\techo $verb\n"
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

void put_fish(void)
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
	fputs("\nset -g __allocsnoop_runs ", stdout);
	put_command_verbs();
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
