/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion of zsh: a function for _arguments(). */
#include "mkcomp.h"

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

void put_zsh(void)
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
