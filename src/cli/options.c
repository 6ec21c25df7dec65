/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the command line off the option table. getopt_long() takes the words apart; each kind of
 * value has one reader; what options mean to each other is checked once, at the end.
 */
#include "cli/options.h"

#include <allocsnoop.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"

/* Depends on whether there is a target. */
#define OVERHEAD_NOT_GIVEN	(-1)
#define OVERHEAD_WITHOUT_TARGET 5

/* Values that getopt_long() returns for long options: above every letter. */
#define LONG_BASE 256

struct parser {
	struct cli_opts *o;
	int argc;
	char **argv;
	struct option *longs; /* the table in the shape that getopt_long() wants */
	char *shorts;
	bool *seen;  /* which rows were given */
	bool dashes; /* the options ended with `--` */
};

static void parser__fini(struct parser *p)
{
	free(p->longs);
	free(p->shorts);
	free(p->seen);
}

static int parser__init(struct parser *p)
{
	struct option *l = p->longs = calloc(opt_row_cnt + 1, sizeof(*p->longs));
	char *s = p->shorts = calloc(opt_row_cnt + 2, 2);

	p->seen = calloc(opt_row_cnt, sizeof(*p->seen));
	if (!l || !s || !p->seen)
		return err__fail(-ENOMEM, "out of memory");
	*s++ = '+'; /* stop at the first word: COMMAND's options are not ours */
	*s++ = ':'; /* tell a missing value from an unknown option */
	for (size_t i = 0; i < opt_row_cnt; i++) {
		const struct opt_row *row = &opt_rows[i];

		if (row->kind == OPT_HEADING)
			continue;
		*l++ = (struct option){ row->name, row->arg ? required_argument : no_argument, NULL,
					LONG_BASE + (int)i };
		if (!row->letter)
			continue;
		*s++ = row->letter;
		if (row->arg)
			*s++ = ':';
	}
	optind = 1;
	opterr = 0;
	return 0;
}

static const struct opt_row *row__find(int val)
{
	if (val >= LONG_BASE && (size_t)(val - LONG_BASE) < opt_row_cnt)
		return &opt_rows[val - LONG_BASE];
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (val && opt_rows[i].letter == val)
			return &opt_rows[i];
	}
	return NULL;
}

/* ---- one value ---- */

static int value__bad(const struct opt_row *row, const char *text, const char *why)
{
	return err__fail(-EINVAL, "--%s '%s': %s", row->name, text, why);
}

static int value__later(const struct opt_row *row, const char *text)
{
	return err__fail(-EINVAL, "--%s %s: not yet in this version", row->name, text);
}

static int number__check(const struct opt_row *row, const char *text, u64 val)
{
	if (!val && !row->zero_ok)
		return value__bad(row, text, "must be above 0");
	if (row->most && val > row->most)
		return err__fail(-EINVAL, "--%s '%s': must be at most %" PRIu64, row->name, text,
				 row->most);
	return 0;
}

static int number__bad(const struct opt_row *row, const char *text, int err, const char *what,
		       const char *examples)
{
	if (err == -ERANGE)
		return err__fail(-EINVAL, "--%s '%s': %s out of range", row->name, text, what);
	err__fail(-EINVAL, "--%s '%s': not a %s", row->name, text, what);
	err__hint("write it as %s", examples);
	return -EINVAL;
}

static int read_set(const struct opt_row *row, const char *text, void *into)
{
	(void)text;
	*(int *)into = row->number;
	return 0;
}

static int read_later(const struct opt_row *row, const char *text, void *into)
{
	(void)text;
	(void)into;
	return err__fail(-EINVAL, "--%s: not yet in this version", row->name);
}

static int read_text(const struct opt_row *row, const char *text, void *into)
{
	if (!*text)
		return value__bad(row, text, "must not be empty");
	*(const char **)into = text;
	return 0;
}

static int read_size(const struct opt_row *row, const char *text, void *into)
{
	u64 bytes;
	int err = units__parse_size(text, &bytes);

	if (err)
		return number__bad(row, text, err, "size", "4096, 512K or 1.5M");
	err = number__check(row, text, bytes);
	if (!err)
		*(u64 *)into = bytes;
	return err;
}

static int read_duration(const struct opt_row *row, const char *text, void *into)
{
	u64 ns;
	int err = units__parse_duration(text, &ns);

	if (err)
		return number__bad(row, text, err, "duration", "200ms, 10s, 5m or 1h");
	err = number__check(row, text, ns);
	if (!err)
		*(u64 *)into = ns;
	return err;
}

static int read_many(const struct opt_row *row, const char *text, void *into)
{
	u64 val;
	int err = units__parse_size(text, &val);

	if (err)
		return number__bad(row, text, err, "number", "500000, 512K or 4M");
	err = number__check(row, text, val);
	if (!err)
		*(u64 *)into = val;
	return err;
}

static int read_rate(const struct opt_row *row, const char *text, void *into)
{
	double rate;
	int err = units__parse_rate(text, &rate);

	if (err) {
		value__bad(row, text, "not a rate above 0 and up to 1");
		err__hint("write it as 0.01, 1/100 or 1%%");
		return -EINVAL;
	}
	*(double *)into = rate;
	return 0;
}

static int read_count(const struct opt_row *row, const char *text, void *into)
{
	u64 val;
	int err = units__parse_u64(text, &val);

	if (!err && val > UINT32_MAX)
		err = -ERANGE;
	if (err)
		return number__bad(row, text, err, "number", "20");
	err = number__check(row, text, val);
	if (!err)
		*(u32 *)into = val;
	return err;
}

static int read_percent(const struct opt_row *row, const char *text, void *into)
{
	char percent[32] = "";
	size_t len = strcspn(text, "%");
	double rate;

	if (!strcmp(text, "none")) {
		*(double *)into = 0;
		return 0;
	}
	if (len + 1 < sizeof(percent)) {
		memcpy(percent, text, len);
		percent[len] = '%'; /* "5" is "5%" */
	}
	if ((text[len] && text[len + 1]) || units__parse_rate(percent, &rate))
		return number__bad(row, text, -EINVAL, "percentage", "5, or none");
	*(double *)into = rate * 100;
	return 0;
}

static int choice__read(const struct opt_row *row, const char *text, size_t len, int *val)
{
	CLEANUP(free__p) char *word = strndup(text, len);

	if (!word)
		return err__fail(-ENOMEM, "out of memory");
	for (const struct choice *c = row->choices; c->name; c++) {
		if (strcmp(c->name, word))
			continue;
		*val = c->value;
		return c->later ? value__later(row, word) : 0;
	}
	value__bad(row, word, "unknown");
	suggest__choice(row->choices, word);
	return -EINVAL;
}

static int read_choice(const struct opt_row *row, const char *text, void *into)
{
	return choice__read(row, text, strlen(text), into);
}

static int read_choices(const struct opt_row *row, const char *text, void *into)
{
	int all = 0;

	for (;; text++) {
		size_t len = strcspn(text, ",");
		int val = 0;
		int err = choice__read(row, text, len, &val);

		if (err)
			return err;
		all |= val;
		text += len;
		if (!*text)
			break;
	}
	*(int *)into = all;
	return 0;
}

static int pid__bad(const struct opt_row *row, const char *word)
{
	value__bad(row, word, "not a process id");
	if (word[strspn(word, "-0123456789")])
		err__hint("allocsnoop -p \"$(pgrep -d, -x '%s')\"", word);
	return -EINVAL;
}

static int pids__add(struct cli_opts *o, pid_t pid)
{
	for (size_t i = 0; i < o->pids.cnt; i++) {
		if (o->pids.v[i] == pid)
			return 0;
	}
	if (vec__push(&o->pids, pid))
		return err__fail(-ENOMEM, "out of memory");
	return 0;
}

/* `into` is the whole struct: the vector isn't one plain field. Blanks separate too, for "$(pgrep
 * x)". */
static int read_pids(const struct opt_row *row, const char *text, void *into)
{
	CLEANUP(free__p) char *copy = strdup(text);
	char *rest = copy, *word;
	bool any = false;

	if (!copy)
		return err__fail(-ENOMEM, "out of memory");
	while ((word = strsep(&rest, ", \t\n"))) {
		u64 pid;
		int err;

		if (!*word)
			continue;
		any = true;
		if (units__parse_u64(word, &pid) || !pid || pid > INT_MAX)
			return pid__bad(row, word);
		err = pids__add(into, pid);
		if (err)
			return err;
	}
	return any ? 0 : value__bad(row, text, "no process id in it");
}

/* What the library said, behind `before`. */
static int library__refuses(const char *before)
{
	CLEANUP(free__p) char *why = strdup(allocsnoop__error());
	CLEANUP(free__p) char *hint = strdup(allocsnoop__hint());

	err__fail(-EINVAL, "%s%s", before, why ? why : "");
	if (hint && *hint)
		err__hint("%s", hint);
	return -EINVAL;
}

static int read_probe(const struct opt_row *row, const char *text, void *into)
{
	struct cli_opts *o = into;

	(void)row;
	if (allocsnoop__check_probe(text))
		return library__refuses("--"); /* its words begin with "probe" */
	if (vec__push(&o->probes, text))
		return err__fail(-ENOMEM, "out of memory");
	return 0;
}

static int read_regex(const struct opt_row *row, const char *text, void *into)
{
	char before[32];

	if (!*text)
		return value__bad(row, text, "must not be empty");
	snprintf(before, sizeof(before), "--%s ", row->name);
	if (allocsnoop__check_regex(text))
		return library__refuses(before); /* its words begin with the expression */
	*(const char **)into = text;
	return 0;
}

typedef int (*read_fn)(const struct opt_row *row, const char *text, void *into);

static const read_fn readers[OPT_KIND_MAX] = {
	[OPT_SET] = read_set,	      [OPT_LATER] = read_later,	      [OPT_TEXT] = read_text,
	[OPT_SIZE] = read_size,	      [OPT_DURATION] = read_duration, [OPT_RATE] = read_rate,
	[OPT_COUNT] = read_count,     [OPT_PIDS] = read_pids,	      [OPT_CHOICE] = read_choice,
	[OPT_CHOICES] = read_choices, [OPT_PROBE] = read_probe,	      [OPT_PERCENT] = read_percent,
	[OPT_MANY] = read_many,	      [OPT_REGEX] = read_regex,
};

/* ---- the words ---- */

static int option__fail(const struct parser *p, int got, int at)
{
	const struct opt_row *row = row__find(optopt);
	bool is_long = !strncmp(p->argv[at], "--", 2);

	if (got == ':')
		return err__fail(-EINVAL, "--%s: needs a value: %s", row->name, row->arg);
	if (row && is_long)
		return err__fail(-EINVAL, "--%s: takes no value", row->name);
	if (is_long)
		err__fail(-EINVAL, "'%.*s': unknown option", (int)strcspn(p->argv[at], "="),
			  p->argv[at]);
	else
		err__fail(-EINVAL, "'-%c': unknown option", optopt);
	suggest__option(p->argv, at);
	return -EINVAL;
}

/* Options from argv[optind] up to the first word or `--`. */
static int options__read(struct parser *p)
{
	struct cli_opts *o = p->o;

	while (!o->help && !o->version) {
		int at = optind;
		int got = getopt_long(p->argc, p->argv, p->shorts, p->longs, NULL);
		const struct opt_row *row;
		int err;

		p->dashes = got == -1 && at < p->argc && !strcmp(p->argv[at], "--");
		if (got == -1)
			return 0;
		if (got == '?' || got == ':')
			return option__fail(p, got, at);
		row = row__find(got);
		err = readers[row->kind](row, optarg,
					 row->into ? (char *)o + row->into : (void *)o);
		if (err)
			return err;
		p->seen[row - opt_rows] = true;
	}
	return 0;
}

static int verb__read(struct cli_opts *o, char **words)
{
	const struct verb_row *v = verb_rows;

	while (v->name && strcmp(v->name, words[0]))
		v++;
	if (!v->name) {
		err__fail(-EINVAL, "'%s': unknown command", words[0]);
		suggest__word(words, o);
		return -EINVAL;
	}
	if (v->verb == VERB_LATER)
		return err__fail(-EINVAL, "%s: not yet in this version", v->name);
	o->verb = v->verb;
	return 0;
}

/* `top` takes options and a COMMAND behind `--`. */
static int top_words__read(struct parser *p)
{
	int err = options__read(p);

	if (err || p->o->help || p->o->version)
		return err;
	if (p->dashes && optind >= p->argc)
		return err__fail(-EINVAL, "no COMMAND after '--'");
	if (optind >= p->argc)
		return 0;
	if (!p->dashes) {
		err__fail(-EINVAL, "top: takes options only, not '%s'", p->argv[optind]);
		err__hint("to start a program: allocsnoop top -- %s", p->argv[optind]);
		return -EINVAL;
	}
	p->o->words = &p->argv[optind];
	return 0;
}

static int verb_word__take(struct cli_opts *o, char **word)
{
	if (o->verb == VERB_DOCTOR)
		return err__fail(-EINVAL, "doctor: takes options only, not '%s'", *word);
	if (o->verb & VERB_SAVED)
		return vec__push(&o->files, *word) ? err__fail(-ENOMEM, "out of memory") : 0;
	if (o->words)
		return err__fail(-EINVAL, "list: one FILE, not '%s' too", *word);
	o->words = word;
	return 0;
}

/* Options stand on either side of a command's words, but not behind `--`. */
static int verb_words__read(struct parser *p)
{
	bool dashes = false;
	int err = 0;

	while (!err && optind < p->argc) {
		if (!dashes)
			err = options__read(p);
		if (err || p->o->help || p->o->version || optind >= p->argc)
			return err;
		dashes |= p->dashes;
		err = verb_word__take(p->o, &p->argv[optind++]);
	}
	return err;
}

static int words__read(struct parser *p)
{
	int err = options__read(p);

	if (err || p->o->help || p->o->version)
		return err;
	if (p->dashes) {
		if (optind >= p->argc)
			return err__fail(-EINVAL, "no COMMAND after '--'");
		p->o->words = &p->argv[optind];
		return 0;
	}
	if (optind >= p->argc)
		return 0;
	err = verb__read(p->o, &p->argv[optind++]);
	if (!err)
		err = p->o->verb == VERB_TOP ? top_words__read(p) : verb_words__read(p);
	return err;
}

/* ---- what options mean to each other ---- */

static int user__check(const struct cli_opts *o)
{
	if (!o->user)
		return 0;
	if (!o->words)
		return err__fail(-EINVAL,
				 "--user: needs a COMMAND to run: allocsnoop --user %s -- ...",
				 o->user);
	if (!getpwnam(o->user))
		return err__fail(-EINVAL, "--user '%s': no such user", o->user);
	return 0;
}

/* Values that only mode live has, and the one of exact counting. */
static int value__check(struct cli_opts *o)
{
	bool sampled = o->sample_bytes || o->sample_rate < 1;

	o->value_given = o->value != VALUE_NOT_GIVEN;
	if (!o->value_given)
		o->value = o->live ? ALLOCSNOOP_LIVE_BYTES : ALLOCSNOOP_ALLOC_BYTES;
	if (!o->live && o->value != ALLOCSNOOP_ALLOC_BYTES && o->value != ALLOCSNOOP_ALLOC_COUNT)
		return err__fail(-EINVAL,
				 "--value: all but alloc-bytes and alloc-count need --live");
	if (o->value == ALLOCSNOOP_PEAK_BYTES && sampled)
		return err__fail(-EINVAL, "--value peak-bytes: not together with sampling");
	return 0;
}

static int live__check(struct cli_opts *o)
{
	if (o->live && o->events & ALLOCSNOOP_TRACE_FAULT)
		return err__fail(-EINVAL,
				 "--live: not together with --event fault: pages go one by "
				 "one, in ways that can't be followed");
	if (o->live && (o->events & ALLOCSNOOP_TRACE_MALLOC || o->probes.cnt) &&
	    o->events & ~ALLOCSNOOP_TRACE_MALLOC)
		return err__fail(-EINVAL, "--live: --event malloc, or mmap and brk: blocks lie in "
					  "mappings, and would be live twice");
	if (!o->live && o->older_ns)
		return err__fail(-EINVAL, "--older: needs --live");
	if (!o->live && o->max_live)
		return err__fail(-EINVAL, "--max-live: needs --live");
	if (!o->live && o->max_rows)
		return err__fail(-EINVAL, "--max-rows: needs --live");
	if (o->max_rows && o->events & ~ALLOCSNOOP_TRACE_MALLOC)
		return err__fail(-EINVAL, "--max-rows: not together with --event mmap and brk, "
					  "whose rows --max-memory bounds");
	return value__check(o);
}

static int comm__check(const char *comm)
{
	return allocsnoop__check_comm(comm) ? library__refuses("--comm: ") : 0;
}

/* Filters are for what isn't named otherwise. */
static int filter__check(const struct cli_opts *o)
{
	const char *given = o->comm ? "comm" : o->cgroup ? "cgroup" : NULL;

	if (o->follow && o->words)
		return err__fail(-EINVAL, "--follow: COMMAND's children are followed anyway");
	if (o->follow && !o->pids.cnt)
		return err__fail(-EINVAL, "--follow: needs --pid");
	if (given && o->pids.cnt)
		return err__fail(-EINVAL, "--%s: not together with --pid", given);
	if (o->cgroup && o->words)
		return err__fail(-EINVAL, "--cgroup: not together with a COMMAND");
	return o->comm ? comm__check(o->comm) : 0;
}

/* Whoever named no target can't know whom it slows. */
static int overhead__check(struct cli_opts *o)
{
	bool probes = !o->events || o->events & ALLOCSNOOP_TRACE_MALLOC || o->probes.cnt;

	if (o->max_overhead == OVERHEAD_NOT_GIVEN) {
		o->overhead_default = true;
		o->max_overhead =
			o->words || o->pids.cnt || o->live || !probes ? 0 : OVERHEAD_WITHOUT_TARGET;
	}
	if (o->max_overhead && !probes)
		return err__fail(-EINVAL, "--max-overhead: --event mmap, brk and fault place no "
					  "probes: there is nothing to keep a budget with");
	if (!o->live || !o->max_overhead)
		return 0;
	err__fail(-EINVAL, "--max-overhead: not together with --live: a block whose free falls "
			   "between two windows would seem to leak");
	err__hint("without --live, or with --live and --max-overhead none");
	return -EINVAL;
}

static int by__check(const struct cli_opts *o)
{
	if (o->by == ALLOCSNOOP_BY_TYPE)
		return err__fail(-EINVAL, "--by type: for saved profiles that name types: a "
					  "recording doesn't know them");
	return 0;
}

static int record__check(struct cli_opts *o)
{
	int err;

	if (o->words && o->pids.cnt)
		return err__fail(-EINVAL, "--pid: not together with a COMMAND");
	if (o->sample_bytes && o->sample_rate < 1)
		return err__fail(-EINVAL, "--sample-rate: not together with --sample-bytes");
	if (o->max_size && o->min_size > o->max_size)
		return err__fail(-EINVAL, "--min-size: above --max-size");
	err = live__check(o);
	if (!err)
		err = by__check(o);
	if (!err)
		err = filter__check(o);
	if (!err)
		err = overhead__check(o);
	if (!err)
		err = user__check(o);
	if (!err)
		err = format__choose(o);
	return err ? err : format__check_recording(o);
}

/* Options that mean nothing to a command. */
static int verb__check(const struct parser *p)
{
	const struct verb_row *v = verb_rows;

	while (v->verb != p->o->verb)
		v++;
	for (size_t i = 0; i < opt_row_cnt; i++) {
		if (p->seen[i] && !(opt_rows[i].verbs & v->verb))
			return err__fail(-EINVAL, "--%s: means nothing to '%s'", opt_rows[i].name,
					 v->name);
	}
	return 0;
}

static int doctor__check(const struct parser *p)
{
	const char *format = p->o->format_name;
	int err = verb__check(p);

	if (err || !format || !strcmp(format, "text") || !strcmp(format, "json"))
		return err;
	err__fail(-EINVAL, "--format %s: 'doctor' has no such format", format);
	err__hint("text or json");
	return -EINVAL;
}

static int list__check(const struct parser *p)
{
	int err = verb__check(p);

	if (err)
		return err;
	if (p->o->words && p->o->pids.cnt)
		return err__fail(-EINVAL, "list: a FILE or --pid, not both");
	if (p->o->events & ~ALLOCSNOOP_TRACE_MALLOC)
		return err__fail(-EINVAL, "list: --event mmap, brk and fault place no probes: "
					  "there is nothing to list");
	return 0;
}

/* What depends on the profiles is checked when they have been read (saved.c). */
static int saved__check(const struct parser *p)
{
	const struct cli_opts *o = p->o;
	const char *what = o->verb == VERB_MERGE ? "merge" : "report";
	size_t streams = 0;
	int err = verb__check(p);

	if (err)
		return err;
	if (o->verb == VERB_DIFF && o->files.cnt != 2)
		return err__fail(-EINVAL, "diff: two profiles, OLD and NEW, not %zu", o->files.cnt);
	if (!o->files.cnt) {
		err__fail(-EINVAL, "%s: no FILE", what);
		err__hint("a profile that '-o FILE.pb.gz' has saved; '-' is standard input");
		return -EINVAL;
	}
	for (size_t i = 0; i < o->files.cnt; i++)
		streams += !strcmp(o->files.v[i], "-");
	if (streams > 1)
		return err__fail(-EINVAL, "'-': standard input can be read only once");
	return format__choose(p->o);
}

/* What can be sorted by has a column. */
static int top__check(const struct parser *p)
{
	int err = verb__check(p);

	if (!err)
		err = record__check(p->o);
	if (err || p->o->value <= ALLOCSNOOP_LIVE_COUNT)
		return err;
	err__fail(-EINVAL, "--value: 'top' has no column for it");
	err__hint("alloc-bytes, alloc-count, live-bytes or live-count");
	return -EINVAL;
}

int cli_opts__parse(struct cli_opts *o, int argc, char **argv)
{
	CLEANUP(parser__fini) struct parser p = { .o = o, .argc = argc, .argv = argv };
	int err;

	*o = (struct cli_opts){
		.verb = VERB_RECORD,
		.sample_rate = 1,
		.value = VALUE_NOT_GIVEN,
		.max_overhead = OVERHEAD_NOT_GIVEN,
	};
	err = parser__init(&p);
	if (!err)
		err = words__read(&p);
	o->value_given = o->value != VALUE_NOT_GIVEN;
	if (err || o->help || o->version)
		return err;
	if (o->verb == VERB_DOCTOR)
		return doctor__check(&p);
	if (o->verb & VERB_SAVED)
		return saved__check(&p);
	if (o->verb == VERB_TOP)
		return top__check(&p);
	return o->verb == VERB_LIST ? list__check(&p) : record__check(o);
}

void cli_opts__fini(struct cli_opts *o)
{
	vec__free(&o->pids);
	vec__free(&o->probes);
	vec__free(&o->files);
}
