/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the manual page, read off the same tables as --help: a page written by hand would soon
 * describe another program. What only the page tells of an option stands here, beside its name; a
 * name that no option has ends the build. Links src/cli/table.c and src/cli/help.c.
 */
#include <allocsnoop.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

#define PAGE_DATE "2026-11-30" /* when the words below were looked at last */
#define LINE_MAX  66	       /* of the source: mandoc(1) asks for less than 80 */

/* ---- what only the page tells ---- */

/* In these texts *word* is bold and ~word~ italic. */
static const struct {
	const char *option;
	const char *text;
} more[] = {
	{ "pid",
	  "Numbers parted by commas or blanks; the option may be repeated. The id of a thread is "
	  "refused, with its process as the hint." },
	{ "follow", "Recording ends when all of them have ended." },
	{ "cgroup",
	  "A path in the unified hierarchy, or the name or the beginning of the id of one "
	  "container or service. Processes below it count too." },
	{ "comm",
	  "Patterns as of *glob*(7), parted by commas, compared with the name at the moment of "
	  "the call. A name has at most 15 bytes." },
	{ "user", "With its ids, groups and HOME, as *su*(1) would." },
	{ "event",
	  "*mmap*, *brk* and *fault* (first touches of anonymous memory) are growth by whichever "
	  "code; they place no probes." },
	{ "probe",
	  "~OBJECT~:~FUNC~(size=ARG2) counts calls of a function with the size in its second "
	  "argument; ~OBJECT~:free=~FUNC~(ptr=ARG1) ends blocks. Alone, only these are traced; "
	  "*-e malloc* adds the others. The option may be repeated." },
	{ "live",
	  "Blocks are followed to their free: live bytes, ages, lifetimes, peaks, growth." },
	{ "sample-rate", "Numbers are unbiased estimates then, each with its standard error." },
	{ "sample-bytes",
	  "Large blocks are kept more often than small ones, so bytes are estimated well." },
	{ "max-overhead",
	  "The default is 5 without *-p*, *--live* and ~COMMAND~, else *none*. What would "
	  "cost more is counted in short windows and estimated. Not with *--live*." },
	{ "interval", "With *--live* a report also says what has grown since the last one. "
		      "Of *top* it is how often it looks, 1s when it isn't given." },
	{ "output",
	  "~FILE~ is replaced by a whole report or left as it is; *-* is standard output." },
	{ "value",
	  "Rows are sorted by it, and it is the one value of formats that have only one." },
	{ "tree",
	  "Callers stand above what they call; with *--by function* the allocators come first "
	  "and their callers below. Numbers stand where they change, recursion is told once, and "
	  "what has less than 0.5 % is summed up in place; with *--top* so many nodes are shown." },
	{ "top", "In the sections of a report 5 when it isn't given." },
};

/* ---- roff ---- */

static int column; /* of the line at hand */

static void put_raw(const char *text)
{
	fputs(text, stdout);
	column += (int)strlen(text);
}

static void end_line(void)
{
	if (column)
		putchar('\n');
	column = 0;
}

static void request(const char *text)
{
	end_line();
	puts(text);
}

/* What troff would read as its own: backslashes, hyphens, quotes, and a leading dot. */
static void put_char(char c)
{
	char plain[2] = { c };

	put_raw(c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '\'' ? "\\(aq" : plain);
}

/* An option in a sentence: "--live", "-p". */
static size_t option_len(const char *word)
{
	size_t dashes = strspn(word, "-"), len = dashes;

	while (isalnum((unsigned char)word[len]) || (word[len] == '-' && len > dashes))
		len++;
	return dashes >= 1 && dashes <= 2 && isalpha((unsigned char)word[dashes]) ? len : 0;
}

static void put_bold(const char *text, size_t len)
{
	put_raw("\\fB");
	for (size_t i = 0; i < len; i++)
		put_char(text[i]);
	put_raw("\\fR");
}

/* One word; marks: '*' and '~' turn bold and italic on and off. */
static void put_word(const char *word, size_t len, bool marks)
{
	static char font = 'R';

	if (*word == '.' || *word == '\'')
		fputs("\\&", stdout);
	for (size_t i = 0; i < len; i++) {
		size_t option = marks || (i && word[i - 1] != '(') ? 0 : option_len(word + i);

		if (marks && (word[i] == '*' || word[i] == '~')) {
			font = font != 'R' ? 'R' : word[i] == '*' ? 'B' : 'I';
			printf("\\f%c", font);
			column += 3;
		} else if (option) {
			put_bold(word + i, option);
			i += option - 1;
		} else {
			put_char(word[i]);
		}
	}
}

/* A text in lines; a sentence begins a new one. */
static void put_text(const char *text, bool marks)
{
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");

		if (column && column + (int)len > LINE_MAX)
			end_line();
		else if (column)
			put_raw(" ");
		put_word(text, len, marks);
		if (text[len - 1] == '.' && len > 1)
			end_line();
		text += len;
	}
}

/* What --help says of an option, as one line. */
static void put_help(const struct opt_row *row)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	help__describe(row, " ", out);
	fclose(out);
	if (text)
		put_text(text, false);
	free(text);
}

/* Arguments as a synopsis has them: words in capitals are what the user puts there. */
static void put_synopsis(const char *args)
{
	for (size_t len; *args; args += len) {
		len = strcspn(args, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
		for (size_t i = 0; i < len; i++)
			put_char(args[i]);
		args += len;
		len = option_len(args);
		if (len) {
			put_bold(args, len);
			continue;
		}
		len = strspn(args, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (len) {
			fputs("\\fI", stdout);
			printf("%.*s\\fR", (int)len, args);
			column += (int)len;
		} else if (*args) {
			put_char(*args);
			len = 1;
		}
	}
}

/* ---- options ---- */

static void put_more(const struct opt_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		if (strcmp(more[i].option, row->name))
			continue;
		end_line();
		request(".br");
		put_text(more[i].text, true);
	}
}

static void put_option(const struct opt_row *row)
{
	char heading[128];

	if (row->kind == OPT_HEADING) {
		snprintf(heading, sizeof(heading), ".SS %s", row->help);
		request(heading);
		return;
	}
	request(".TP");
	if (row->letter)
		printf("\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", stdout);
	put_word(row->name, strlen(row->name), false);
	fputs("\\fR", stdout);
	if (row->arg)
		printf(" \\fI%s\\fR", row->arg);
	column++;
	end_line();
	put_help(row);
	put_more(row);
	end_line();
}

/* What only the page tells of a command. */
static const struct {
	enum verb verb;
	const char *text;
} verb_more[] = {
	{ VERB_REPORT, "Of several files it is the sum. Any heap profile of *pprof* can be read; "
		       "*-* is standard input." },
	{ VERB_MERGE, "Without *-f* and *-o* the sum is written as pprof, which *report* reads." },
	{ VERB_TOP, "*h* shows the keys, *q* quits; ~COMMAND~ runs on then." },
};

static bool is_common(const struct opt_row *row)
{
	return row->verbs == VERB_ALL || row->kind == OPT_HEADING || row->kind == OPT_LATER;
}

static void put_verb_options(const struct verb_row *v)
{
	const char *before = "Options:";
	char word[64];

	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (is_common(&opt_rows[i]) || !(opt_rows[i].verbs & v->verb))
			continue;
		if (strcmp(before, ","))
			put_text(before, false);
		else
			put_raw(before);
		snprintf(word, sizeof(word), "--%s", opt_rows[i].name);
		put_text(word, false);
		before = ",";
	}
	put_raw(strcmp(before, ",") ? "" : ".");
	end_line();
}

static void put_verb(const struct verb_row *v)
{
	request(".TP");
	put_bold(v->name, strlen(v->name));
	put_raw(*v->args ? " " : "");
	put_synopsis(v->args);
	end_line();
	put_text(v->help, false);
	put_raw(v->verb == VERB_LATER ? " (not yet)." : ".");
	end_line();
	for (size_t i = 0; i < ARRAY_SIZE(verb_more); i++) {
		if (verb_more[i].verb == v->verb)
			put_text(verb_more[i].text, true);
	}
	end_line();
	if (v->verb != VERB_LATER)
		put_verb_options(v);
}

static void put_formats(void)
{
	for (const struct format_row *f = format_rows; f->name; f++) {
		request(".TP");
		put_bold(f->name, strlen(f->name));
		printf(" (\\fI%s\\fR", f->extension);
		if (f->other)
			printf(", \\fI%s\\fR", f->other);
		if (f->stem)
			printf(", \\fI%s.*\\fR", f->stem);
		putchar(')');
		column++;
		end_line();
		put_text(f->help, false);
		put_text(f->later ? "(not yet)" : "", false);
		put_text(f->live ? "(needs --live)" : "", false);
		put_text(f->binary ? "(not for terminals)" : "", false);
		end_line();
	}
}

/* ---- the page ---- */

struct item {
	const char *name;
	const char *text;
};

static void put_items(const struct item *items, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		request(".TP");
		put_text(items[i].name, true);
		end_line();
		put_text(items[i].text, true);
		end_line();
	}
}

static void put_paragraph(const char *text)
{
	put_text(text, true);
	end_line();
}

static void put_head(void)
{
	static const char *const forms[] = {
		"[OPTIONS]",
		"[OPTIONS] -p PID[,PID...]",
		"[OPTIONS] -- COMMAND [ARG...]",
	};

	printf(".TH ALLOCSNOOP 1 %s \"allocsnoop %s\" \"User Commands\"\n", PAGE_DATE,
	       ALLOCSNOOP_VERSION);
	request(".SH NAME");
	request("allocsnoop \\- who allocates memory, what and how much");
	request(".SH SYNOPSIS\n.nf");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		put_raw("\\fBallocsnoop\\fR ");
		put_synopsis(forms[i]);
		end_line();
	}
	for (const struct verb_row *v = verb_rows; v->name; v++) {
		if (v->verb == VERB_LATER)
			continue;
		printf("\\fBallocsnoop %s\\fR%s", v->name, *v->args ? " " : "");
		column++;
		put_synopsis(v->args);
		end_line();
	}
	request(".fi");
}

static void put_description(void)
{
	request(".SH DESCRIPTION");
	put_paragraph("Counts the allocations of every process, of the given ones, or of ~COMMAND~ "
		      "and its "
		      "children, and reports them by call stack. The programs need no preparation: "
		      "probes "
		      "are put on the functions of their allocators while they run, stacks are "
		      "unwound in "
		      "the kernel, and names are found afterwards.");
	request(".PP");
	put_paragraph(
		"Without a target the processes of the machine lose at most 5 percent of their CPU "
		"time (*--max-overhead*): all is counted as long as that is enough, else short "
		"windows, and the report has estimates with their errors.");
	request(".PP");
	put_paragraph(
		"Reports say how sure their numbers are (*exact*, or the estimator), and list at "
		"their end what could not be seen.");
}

static void put_commands(void)
{
	request(".SH COMMANDS");
	put_paragraph("Without one of these words processes are traced.");
	for (const struct verb_row *v = verb_rows; v->name; v++)
		put_verb(v);
}

static void put_options(void)
{
	request(".SH OPTIONS");
	put_paragraph("Sizes take *K M G* (1024), durations *ms s m h*; bare numbers are bytes and "
		      "seconds. "
		      "Options end at *--* or at the first word; those of a command may stand "
		      "behind its words, too.");
	for (size_t i = 0; i < opt_row_cnt; i++)
		put_option(&opt_rows[i]);
	request(".SH FORMATS");
	put_paragraph("Where *-f* isn't given, the ending of the *-o* file chooses.");
	put_formats();
}

static void put_report(void)
{
	request(".SH \"THE TEXT REPORT\"");
	put_paragraph("A header (what was traced, how, how long, totals), the rows, then losses. "
		      "Stacks are "
		      "written with the allocator first. A function that calls itself is told "
		      "once, *x* ~N~, "
		      "and functions that take turns are told once too.");
	request(".PP");
	put_paragraph(
		"On a terminal lines are as wide as it is: names lose their middles, and where "
		"there "
		"isn't room the columns go that say what others say already; there are bars and "
		"colours. A file or a pipe gets whole lines without them.");
}

static void put_behaviour(void)
{
	static const struct item signals[] = {
		{ "*SIGINT*, *SIGTERM*, *SIGHUP*", "End the recording with the report; a second "
						   "one quits at once. ~COMMAND~, when it "
						   "still runs, runs on untraced." },
		{ "*SIGUSR1*", "A report now; the recording goes on." },
		{ "*SIGPIPE*", "Nobody reads the report any more: a quiet end." },
	};
	static const struct item statuses[] = {
		{ "*0*", "Done. *doctor*: processes can be traced here." },
		{ "*1*", "Failed; one line on standard error says what and why." },
		{ "*2*", "A wrong command line." },
		{ "other", "With ~COMMAND~ its own status; 128+~N~ when signal ~N~ ended it." },
	};
	static const struct item variables[] = {
		{ "*NO_COLOR*", "Set to anything but nothing: no colours." },
		{ "*TERM*", "Without it, or *dumb*: no colours." },
		{ "*COLUMNS*", "The width of the terminal, when set; else the terminal is asked." },
		{ "*LC_ALL*, *LC_CTYPE*, *LANG*",
		  "In a locale without UTF-8 lines and bars are made of ASCII." },
		{ "*SUDO_USER*, *SUDO_UID*, *SUDO_GID*",
		  "Under *sudo*(8) reports belong to the invoking user, and a hint names *--user* "
		  "where ~COMMAND~ would run as root." },
		{ "*PATH*", "Where ~COMMAND~ is looked for." },
	};
	static const struct item files[] = {
		{ "~/sys/kernel/btf/vmlinux~", "Types of the running kernel; needed." },
		{ "~/usr/lib/debug/.build-id~", "Symbols that were split off, found by build id." },
		{ "~/proc/PID/map_files~",
		  "How the files of processes are opened, also deleted ones." },
	};

	request(".SH SIGNALS");
	put_items(signals, ARRAY_SIZE(signals));
	request(".SH \"EXIT STATUS\"");
	put_items(statuses, ARRAY_SIZE(statuses));
	request(".SH ENVIRONMENT");
	put_items(variables, ARRAY_SIZE(variables));
	request(".SH FILES");
	put_items(files, ARRAY_SIZE(files));
}

static void put_examples(void)
{
	static const struct {
		const char *text, *command;
	} examples[] = {
		{ "A program from its first allocation on:",
		  "allocsnoop -- sqlite3 test.db 'select count(*) from t'" },
		{ "The same as one tree of calls:",
		  "allocsnoop --tree -- sqlite3 test.db 'select count(*) from t'" },
		{ "Ten seconds of a service, for a flame graph:",
		  "allocsnoop -p \"$(pgrep -d, -x nginx)\" -d 10s -o out.folded" },
		{ "The whole machine, within 5 percent of its CPU time:", "allocsnoop -d 10s" },
		{ "What isn't freed, and what grows:", "allocsnoop --live -p 1234 -i 10s" },
		{ "Which code makes resident memory grow:", "allocsnoop -e fault -p 1234 -d 30s" },
		{ "PostgreSQL's memory contexts:",
		  "allocsnoop --probe preset:postgres -p 1234 -d 5s" },
		{ "What would be probed:", "allocsnoop list -p 1234" },
	};

	request(".SH EXAMPLES");
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		if (i)
			request(".PP");
		put_paragraph(examples[i].text);
		request(".PP\n.nf\n.RS 4");
		for (const char *c = examples[i].command; *c; c++)
			put_char(*c);
		request(".RE\n.fi");
	}
}

static void put_notes(void)
{
	request(".SH NOTES");
	request(".SS Cost");
	put_paragraph(
		"Each probed call traps into the kernel, which takes about a microsecond where the "
		"allocation itself takes a fraction of that. A program that allocates all the time "
		"becomes several times slower; sampling saves the stack walk, not the trap. "
		"*--max-overhead* sets a bound. With *-p* and ~COMMAND~ other processes pay "
		"nothing.");
	request(".SS Safety");
	put_paragraph(
		"Nothing is written into a traced program but the kernel's breakpoints, and with "
		"*--live* the kernel's return probes. They go away at the end, also when "
		"allocsnoop "
		"is killed. Names in reports come from traced programs: control characters in them "
		"never reach a terminal.");
	request(".SS Needs");
	put_paragraph("Linux 6.1 or newer with BTF, on x86_64, and root. *allocsnoop doctor* says "
		      "what works "
		      "on a machine, and what helps.");
	request(".SH \"SEE ALSO\"");
	put_paragraph(
		"*perf*(1), *bpftrace*(8), *gdb*(1), *ltrace*(1), *malloc*(3), *valgrind*(1), "
		"*cgroups*(7), *glob*(7)");
}

/* Texts of options that there aren't would be lost without a word. */
static bool check_more(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		size_t at = 0;

		while (at < opt_row_cnt && (opt_rows[at].kind == OPT_HEADING ||
					    strcmp(opt_rows[at].name, more[i].option)))
			at++;
		if (at < opt_row_cnt)
			continue;
		fprintf(stderr, "mkman: no option --%s\n", more[i].option);
		return false;
	}
	return true;
}

int main(void)
{
	if (!check_more())
		return 1;
	put_head();
	put_description();
	put_commands();
	put_options();
	put_report();
	put_behaviour();
	put_examples();
	put_notes();
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
