/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line as data. One row is one option: the parser, --help and the manual page are read
 * off the same table (table.c), so that none of them can know an option the others don't.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdio.h>
#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

enum opt_kind {
	OPT_HEADING,  /* no option: a title in --help */
	OPT_SET,      /* takes no value: sets an int to row.number */
	OPT_LATER,    /* known, but not in this version */
	OPT_TEXT,     /* const char *, not empty */
	OPT_SIZE,     /* u64 bytes: 512K */
	OPT_DURATION, /* u64 nanoseconds: 10s */
	OPT_RATE,     /* double in (0, 1]: 1/100 */
	OPT_COUNT,    /* u32 */
	OPT_MANY,     /* u64: 500000, 4M */
	OPT_PIDS,     /* appended to cli_opts.pids */
	OPT_CHOICE,   /* int: a word of row.choices */
	OPT_CHOICES,  /* int: words of row.choices, comma-separated, their values or'ed */
	OPT_PROBE,    /* appended to cli_opts.probes */
	OPT_PERCENT,  /* double, of 100; `none` is 0 */
	OPT_REGEX,    /* const char *: an extended regular expression */
	OPT_KIND_MAX
};

enum verb {
	VERB_RECORD = 1, /* no word: trace */
	VERB_LIST = 2,
	VERB_LATER = 4,
	VERB_DOCTOR = 8,
	VERB_REPORT = 16,
	VERB_DIFF = 32,
	VERB_MERGE = 64,
	VERB_SAVED = VERB_REPORT | VERB_DIFF | VERB_MERGE, /* read saved profiles */
	VERB_REPORTS = VERB_RECORD | VERB_SAVED,	   /* write a report */
	VERB_TOP = 256,
	VERB_ALL = VERB_RECORD | VERB_LIST | VERB_DOCTOR | VERB_SAVED | VERB_TOP,
};

/* cli_opts.value: it depends on --live, or on what was saved. */
#define VALUE_NOT_GIVEN -1

struct choice {
	const char *name; /* NULL ends the list */
	int value;	  /* enum allocsnoop_value */
	bool later;	  /* known, but not in this version */
};

struct opt_row {
	char letter;	  /* 0: none */
	const char *name; /* without the dashes */
	const char *arg;  /* how --help calls the value; NULL: takes none */
	const char *help;
	enum opt_kind kind;
	size_t into; /* where in struct cli_opts */
	const struct choice *choices;
	int number;   /* OPT_SET: what is set */
	u64 most;     /* numbers: the largest allowed; 0: no limit */
	bool zero_ok; /* numbers: 0 has a meaning */
	bool expert;  /* in --help-all only */
	u16 verbs;    /* where it means something; 0: VERB_RECORD only */
	bool formats; /* its words are the names of format_rows */
};

struct verb_row {
	const char *name; /* NULL ends the list */
	const char *args;
	const char *help;
	enum verb verb;
};

struct format_row {
	const char *name;      /* NULL ends the list; as the library calls it */
	const char *extension; /* of -o files, with the dot */
	const char *help;
	bool binary;	   /* not for terminals: nothing that people read there */
	bool holds_losses; /* else they go to standard error */
	bool has_rows;	   /* --top means something, and a line can stand between reports */
	bool lines;	   /* with source lines and inlined functions without --lines */
	bool single;	   /* only one fits into a stream: --interval needs a file */
	bool later;	   /* known, but not in this version */
	const char *other; /* another extension, or NULL */
	bool whole;	   /* has rows as they were recorded: --by means nothing */
	bool threads;	   /* but --by thread to a recording: its rows keep their threads */
	u32 values;	   /* 1 << enum allocsnoop_value that it can be about; 0: any */
	bool all_values;   /* all values are in it: --value means nothing */
	bool live;	   /* recordings need --live */
	bool exact;	   /* and neither sampling nor --older, and blocks of allocators only */
	const char *stem;  /* of -o files: `massif.out`, `massif.out.12`; NULL: none */
};

enum help_wanted { HELP_NO, HELP_EVERYDAY, HELP_ALL };

struct cli_opts {
	enum verb verb;
	char **words;		 /* COMMAND and its arguments, or FILE of `list`; NULL: none */
	VEC(const char *) files; /* saved profiles */
	VEC(pid_t) pids;
	int follow;
	const char *cgroup;
	const char *comm;
	VEC(const char *) probes;
	const char *user;
	int events;
	double sample_rate;
	u64 sample_bytes;
	double max_overhead;   /* percent; 0: none */
	bool overhead_default; /* nobody asked */
	u64 min_size;
	u64 max_size;
	u32 max_depth;
	u64 max_table_memory;
	u64 max_memory;
	int live;
	u64 older_ns; /* 0: live is all that is live */
	u64 max_live;
	u64 max_rows;
	u64 duration_ns; /* 0: until a signal comes or the targets end */
	u64 interval_ns; /* 0: one report, at the end */
	const char *format_name;
	const struct format_row *format;
	const char *output; /* NULL: standard output */
	int value;
	bool value_given;
	int by;
	u32 top;
	int tree;
	const char *focus; /* regular expressions; NULL: none */
	const char *ignore;
	const char *hide;
	int lines;
	int no_inlines;
	int verbosity; /* -1 quiet, 0, 1 verbose */
	int help;      /* enum help_wanted */
	int version;
};

/* table.c: data only */
extern const struct opt_row opt_rows[];
extern const size_t opt_row_cnt;
extern const struct verb_row verb_rows[];
extern const struct format_row format_rows[];

/*
 * Reads the command line. 0, or -EINVAL (usage) or -ENOMEM with the words in base/err.h. The result
 * borrows argv; free it with cli_opts__fini(), after failure too.
 */
int cli_opts__parse(struct cli_opts *o, int argc, char **argv);
void cli_opts__fini(struct cli_opts *o);

/* format.c */
/* The format that the file's name stands for: the longest extension it has; NULL: none. */
const struct format_row *format__of_output(const char *path);
/* Sets o->format, by its name or the output's. 0, or -EINVAL in words. */
int format__choose(struct cli_opts *o);
/* What can't be told of a recording of this kind, said before it. 0, or -EINVAL in words. */
int format__check_recording(const struct cli_opts *o);

/* suggest.c: the remedies of usage errors, given to err__hint() */
void suggest__option(char **argv, int at);		    /* argv[at] is an unknown option */
void suggest__word(char **words, const struct cli_opts *o); /* words[0] is no verb */
void suggest__choice(const struct choice *choices, const char *word);
/* How far apart two words are: insertions, deletions, changes and swaps of neighbours. */
u32 suggest__distance(const char *a, const char *b);

/* help.c: needs the table only */
/* What the option does; `newline` stands where a line is full and before what isn't there yet. */
void help__describe(const struct opt_row *row, const char *newline, FILE *out);
void help__print(bool all);

#endif
