/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every option, command and format: to add one is to add a row. Data only, no code: the program
 * that writes the manual page links this file alone.
 */
#include <allocsnoop.h>

#include "cli/options.h"

#define INTO(field) .into = offsetof(struct cli_opts, field)

/* Options of what is traced and how. */
#define TRACES .verbs = VERB_RECORD | VERB_TOP

static const struct choice events[] = {
	{ "malloc", ALLOCSNOOP_TRACE_MALLOC, false },
	{ "mmap", ALLOCSNOOP_TRACE_MMAP, false },
	{ "brk", ALLOCSNOOP_TRACE_BRK, false },
	{ "fault", ALLOCSNOOP_TRACE_FAULT, false },
	{},
};

static const struct choice values[] = {
	{ "alloc-bytes", ALLOCSNOOP_ALLOC_BYTES, false },
	{ "alloc-count", ALLOCSNOOP_ALLOC_COUNT, false },
	{ "live-bytes", ALLOCSNOOP_LIVE_BYTES, false },
	{ "live-count", ALLOCSNOOP_LIVE_COUNT, false },
	{ "peak-bytes", ALLOCSNOOP_PEAK_BYTES, false },
	{ "grown-bytes", ALLOCSNOOP_GROWN_BYTES, false },
	{ "temporary-count", ALLOCSNOOP_TEMPORARY_COUNT, false },
	{},
};

static const struct choice keys[] = {
	{ "stack", ALLOCSNOOP_BY_STACK, false }, { "function", ALLOCSNOOP_BY_FUNCTION, false },
	{ "file", ALLOCSNOOP_BY_FILE, false },	 { "process", ALLOCSNOOP_BY_PROCESS, false },
	{ "size", ALLOCSNOOP_BY_SIZE, false },	 { "thread", ALLOCSNOOP_BY_THREAD, false },
	{ "type", ALLOCSNOOP_BY_TYPE, false },	 {},
};

/* clang-format off */
const struct opt_row opt_rows[] = {
	{ .help = "What is traced" },
	{ 'p', "pid", "LIST", "these processes: 12,345", OPT_PIDS,
	  .verbs = VERB_RECORD | VERB_LIST | VERB_TOP },
	{ 0, "follow", NULL, "with -p: and the children they fork later", OPT_SET, INTO(follow),
	  .number = 1, TRACES },
	{ 0, "cgroup", "PATH", "only processes in this cgroup, container or service", OPT_TEXT,
	  INTO(cgroup), TRACES },
	{ 0, "comm", "GLOB", "only processes with this name: nginx, 'cc1*,ld'", OPT_TEXT,
	  INTO(comm), TRACES },
	{ 0, "user", "USER", "run COMMAND as this user", OPT_TEXT, INTO(user), TRACES },
	{ 'e', "event", "LIST", "what is traced", OPT_CHOICES, INTO(events),
	  .choices = events, .verbs = VERB_RECORD | VERB_LIST | VERB_TOP },
	{ 0, "probe", "SPEC", "own allocator; preset:cpython, postgres, nginx, apr", OPT_PROBE,
	  .verbs = VERB_RECORD | VERB_LIST | VERB_TOP },

	{ .help = "Which allocations" },
	{ 'l', "live", NULL, "follow frees: what is still there, and for how long", OPT_SET,
	  INTO(live), .number = 1, TRACES },
	{ 0, "older", "DUR", "with --live: only blocks at least this old are live", OPT_DURATION,
	  INTO(older_ns), TRACES },
	{ 0, "max-live", "N", "with --live: blocks followed at once (1M)", OPT_MANY, INTO(max_live),
	  .most = 1ull << 29, .expert = true, TRACES },
	{ 0, "max-rows", "N", "with --live: sums of stacks followed at once (128K)", OPT_MANY,
	  INTO(max_rows), .most = 1ull << 24, .expert = true, TRACES },
	{ 0, "min-size", "SIZE", "only blocks of at least SIZE bytes", OPT_SIZE, INTO(min_size),
	  .zero_ok = true, TRACES },
	{ 0, "max-size", "SIZE", "only blocks of at most SIZE bytes", OPT_SIZE, INTO(max_size),
	  TRACES },
	{ 0, "sample-rate", "RATE", "keep each with this probability: 0.01, 1/100", OPT_RATE,
	  INTO(sample_rate), TRACES },
	{ 0, "sample-bytes", "SIZE", "keep one per SIZE bytes on average: 512K", OPT_SIZE,
	  INTO(sample_bytes), TRACES },
	{ 0, "max-overhead", "PCT", "CPU time that targets may lose: 5 (percent), none",
	  OPT_PERCENT, INTO(max_overhead), TRACES },
	{ 0, "max-depth", "N", "frames a stack may have (512, at most 1000)", OPT_COUNT,
	  INTO(max_depth), .most = 1000, .expert = true, TRACES },
	{ 0, "max-table-memory", "SIZE", "of unwind rows in the kernel (256M)", OPT_SIZE,
	  INTO(max_table_memory), .expert = true, TRACES },
	{ 0, "max-memory", "SIZE", "of stacks and sums that are kept (256M)", OPT_SIZE,
	  INTO(max_memory), .expert = true, TRACES },

	{ .help = "When" },
	{ 'd', "duration", "DUR", "stop after DUR: 200ms, 10s, 5m, 1h", OPT_DURATION,
	  INTO(duration_ns) },
	{ 'i', "interval", "DUR", "a report every DUR, of all since the start", OPT_DURATION,
	  INTO(interval_ns), TRACES },

	{ .help = "The report" },
	{ 'f', "format", "FMT", "its format, or as the name of FILE says", OPT_TEXT,
	  INTO(format_name), .formats = true, .verbs = VERB_REPORTS | VERB_DOCTOR },
	{ 'o', "output", "FILE", "write it to FILE, whole or not at all", OPT_TEXT, INTO(output),
	  .verbs = VERB_REPORTS },
	{ 0, "value", "VAL", "what is counted (live-bytes with --live)", OPT_CHOICE, INTO(value),
	  .choices = values, .verbs = VERB_REPORTS | VERB_TOP },
	{ 0, "by", "KEY", "what a row is", OPT_CHOICE, INTO(by),
	  .choices = keys, .verbs = VERB_REPORTS },
	{ 't', "top", "N", "rows in text (20)", OPT_COUNT, INTO(top), .verbs = VERB_REPORTS },
	{ 0, "tree", NULL, "text: one tree of calls instead of rows", OPT_SET, INTO(tree),
	  .number = 1, .verbs = VERB_REPORTS },
	{ 0, "focus", "RE", "only stacks with a matching function or file", OPT_REGEX,
	  INTO(focus), .verbs = VERB_REPORTS },
	{ 0, "ignore", "RE", "only stacks without one", OPT_REGEX, INTO(ignore),
	  .verbs = VERB_REPORTS },
	{ 0, "hide", "RE", "leave matching functions and files out of stacks", OPT_REGEX,
	  INTO(hide), .verbs = VERB_REPORTS },
	{ 0, "lines", NULL, "source lines and inlined functions", OPT_SET, INTO(lines),
	  .number = 1, .verbs = VERB_REPORTS | VERB_TOP },
	{ 0, "no-inlines", NULL, "with --lines: no inlined functions", OPT_SET, INTO(no_inlines),
	  .number = 1, .verbs = VERB_REPORTS },

	{ .help = "Other" },
	{ 'q', "quiet", NULL, "errors only", OPT_SET, INTO(verbosity), .number = -1,
	  .verbs = VERB_REPORTS | VERB_LIST | VERB_TOP },
	{ 'v', "verbose", NULL, "every file and probe place", OPT_SET, INTO(verbosity), .number = 1,
	  .verbs = VERB_RECORD | VERB_LIST | VERB_TOP },
	{ 'h', "help", NULL, "this text", OPT_SET, INTO(help), .number = HELP_EVERYDAY,
	  .verbs = VERB_ALL },
	{ 0, "help-all", NULL, "this text with the options for experts", OPT_SET, INTO(help),
	  .number = HELP_ALL, .verbs = VERB_ALL },
	{ 'V', "version", NULL, "the version", OPT_SET, INTO(version), .number = 1,
	  .verbs = VERB_ALL },
};

const size_t opt_row_cnt = ARRAY_SIZE(opt_rows);

const struct verb_row verb_rows[] = {
	{ "list", "[-p PID | FILE]", "what would be probed, and why", VERB_LIST },
	{ "report", "FILE...", "read saved profiles again", VERB_REPORT },
	{ "diff", "OLD NEW", "what changed from OLD to NEW", VERB_DIFF },
	{ "merge", "FILE...", "add profiles up, save the sum", VERB_MERGE },
	{ "doctor", "[-f json]", "what works here, and what helps", VERB_DOCTOR },
	{ "top", "[-p PID | -- COMMAND]", "a live view", VERB_TOP },
	{},
};

const struct format_row format_rows[] = {
	{ "text", ".txt", "for people", .holds_losses = true, .has_rows = true },
	{ "folded", ".folded", "one stack a line, for flame graphs", .holds_losses = false },
	{ "json", ".json", "everything, for programs", .holds_losses = true },
	{ "pprof", ".pb.gz", "everything, for pprof and to be read again", .binary = true,
	  .single = true, .holds_losses = true, .other = ".pprof", .whole = true, .threads = true, .lines = true,
	  .values = 1u << ALLOCSNOOP_ALLOC_BYTES | 1u << ALLOCSNOOP_ALLOC_COUNT |
		    1u << ALLOCSNOOP_LIVE_BYTES | 1u << ALLOCSNOOP_LIVE_COUNT },
	{ "html", ".html", "a page to explore", .binary = true, .single = true,
	  .holds_losses = true, .lines = true },
	{ "speedscope", ".speedscope.json", "for speedscope.app", .single = true, .lines = true },
	{ "svg", ".svg", "a flame graph as an image", .holds_losses = true, .single = true },
	{ "csv", ".csv", "one record for each row, for spreadsheets", .single = true,
	  .lines = true },
	{ "jeprof", ".heap", "jemalloc's heap profile, for jeprof", .holds_losses = true,
	  .single = true },
	{ "dhat", ".dhat.json", "for valgrind's dh_view.html", .live = true, .single = true,
	  .lines = true, .stem = "dhat.out" },
	{ "heaptrack", ".heaptrack", "for heaptrack_print and heaptrack_gui", .live = true,
	  .single = true, .exact = true, .whole = true, .all_values = true, .lines = true },
	{ "massif", ".massif", "for ms_print", .live = true, .single = true, .whole = true,
	  .all_values = true, .lines = true, .stem = "massif.out" },
	{},
};
/* clang-format on */
