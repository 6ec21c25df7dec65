/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the manual page, read off the same tables as --help: a page written by hand would soon
 * describe another program. Links src/cli/table.c and src/cli/help.c.
 */
#include <allocsnoop.h>
#include <stdio.h>

#include "cli/options.h"

/* Quotes what troff would read as its own: backslashes, hyphens, and a leading dot or quote. */
static void put(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

static void put_option(const struct opt_row *row)
{
	if (row->kind == OPT_HEADING) {
		printf(".SS %s\n", row->help);
		return;
	}
	fputs(".TP\n", stdout);
	if (row->letter)
		printf("\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", stdout);
	put(row->name);
	fputs("\\fR", stdout);
	if (row->arg)
		printf(" \\fI%s\\fR", row->arg);
	putchar('\n');
	help__describe(row, "\n", stdout);
	putchar('\n');
}

static void put_verbs(void)
{
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		printf(".TP\n\\fB%s\\fR ", v->name);
		put(v->args);
		printf("\n%s%s\n", v->help, v->verb == VERB_LATER ? " (not yet)" : "");
	}
}

static void put_formats(void)
{
	for (const struct format_row *f = format_rows; f->name; f++)
		printf(".TP\n\\fB%s\\fR (\\fI%s\\fR)\n%s%s\n", f->name, f->extension, f->help,
		       f->later ? " (not yet)" : "");
}

int main(void)
{
	printf(".TH ALLOCSNOOP 1 \"\" \"allocsnoop %s\" \"User Commands\"\n", ALLOCSNOOP_VERSION);
	puts(".SH NAME\nallocsnoop \\- who allocates memory, what and how much\n"
	     ".SH SYNOPSIS\n.nf\n"
	     "\\fBallocsnoop\\fR [\\fIOPTIONS\\fR]\n"
	     "\\fBallocsnoop\\fR [\\fIOPTIONS\\fR] \\fB\\-p\\fR \\fIPID\\fR[,\\fIPID\\fR...]\n"
	     "\\fBallocsnoop\\fR [\\fIOPTIONS\\fR] \\fB\\-\\-\\fR \\fICOMMAND\\fR "
	     "[\\fIARG\\fR...]\n"
	     "\\fBallocsnoop list\\fR [\\fB\\-p\\fR \\fIPID\\fR | \\fIFILE\\fR]\n"
	     "\\fBallocsnoop doctor\\fR [\\fB\\-f json\\fR]\n.fi\n"
	     ".SH DESCRIPTION\n"
	     "Counts the allocations of every process, of the given ones, or of COMMAND and its\n"
	     "children, and reports them by call stack. The programs need no preparation.\n"
	     ".PP\n"
	     "Without \\fB\\-p\\fR and \\fICOMMAND\\fR the processes lose at most 5 percent of "
	     "their "
	     "CPU time\n"
	     "(\\fB\\-\\-max\\-overhead\\fR): all is counted as long as that is enough, else short "
	     "windows, and\n"
	     "the report has estimates. With \\fB\\-\\-live\\fR there is no budget.\n"
	     ".SH COMMANDS");
	put_verbs();
	puts(".SH OPTIONS\n"
	     "Sizes take K M G (1024), durations ms s m h; bare numbers are bytes and seconds.");
	for (size_t i = 0; i < opt_row_cnt; i++)
		put_option(&opt_rows[i]);
	puts(".SH FORMATS");
	put_formats();
	puts(".SH SIGNALS\n"
	     "SIGINT, SIGTERM and SIGHUP end the recording with the report; a second one quits at\n"
	     "once. SIGUSR1 gives a report now and goes on. COMMAND, when it still runs at the "
	     "end,\n"
	     "runs on untraced.\n"
	     ".SH EXIT STATUS\n"
	     "0 done, 1 failed, 2 usage; with COMMAND its own status, 128+N when signal N ended "
	     "it.\n"
	     "\\fBdoctor\\fR: 0 when processes can be traced here.\n"
	     ".SH EXAMPLES\n.nf\n"
	     "allocsnoop \\-\\- sqlite3 test.db 'select count(*) from t'\n"
	     "allocsnoop \\-p 1234 \\-d 10s \\-o out.folded\n"
	     "allocsnoop \\-d 10s\n"
	     "allocsnoop \\-\\-live \\-p 1234 \\-i 10s\n"
	     "allocsnoop \\-e fault \\-p 1234 \\-d 30s\n"
	     "allocsnoop \\-\\-probe preset:postgres \\-p 1234 \\-d 5s\n"
	     "allocsnoop list \\-p 1234\n.fi");
	return ferror(stdout) ? 1 : 0;
}
