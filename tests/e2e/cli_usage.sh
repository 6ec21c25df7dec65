#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Wrong command lines: status 2, one line that names option and value, and the remedy as a hint.
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$SNOOP" ] || fail "no $SNOOP: run make"

# usage 'WORDS' 'HINT' ARGS...: both are extended regular expressions, an empty HINT means none.
usage() {
	local words=$1 hint=$2
	shift 2
	refused 2 "$words" "$SNOOP" "$@"
	if [ -n "$hint" ]; then
		grep '^hint: ' "$TMP/refused.err" | grep -qE -- "$hint" || {
			show "$TMP/refused.err"
			fail "'$*': no hint with '$hint'"
		}
	else
		! grep -q '^hint: ' "$TMP/refused.err" || fail "'$*': an unexpected hint"
	fi
}

# Habits from other tools.
usage "'-c': unknown option" '^hint: allocsnoop -- \./x$' -c ./x
usage "'-c': unknown option" '^hint: allocsnoop -- \./x -a b$' -c ./x -a b
usage "'-c': unknown option" '^hint: allocsnoop -- \./x$' -c./x
usage "'sqlite3': unknown command" 'allocsnoop -- sqlite3 a\.db$' sqlite3 a.db
usage "'help': unknown command" 'allocsnoop --help' help
usage "'lst': unknown command" 'allocsnoop list' lst
usage "--pid 'sqlite3': not a process id" 'pgrep .*sqlite3' -p sqlite3
usage "'2': unknown command" 'allocsnoop -p 1,2,3$' -p 1 2 3

# Near misses.
usage "'--durration': unknown option" '--duration' --durration 5
usage "'--sample-byte5': unknown option" '--sample-bytes' --sample-byte5=1
usage "'--li': unknown option" '--live, --lines' --li
usage "'-z': unknown option" '--help' -z
usage "--by 'fnction': unknown" "'function'" --by fnction
usage "--value 'x': unknown" 'alloc-bytes, alloc-count' --value x
usage "--value 'peek-bytes': unknown" "'peak-bytes'" -l --value peek-bytes
usage "--format 'xml': unknown" 'text, folded, json' -f xml

# Bad values.
usage "--pid '0': not a process id" '' -p 0
usage "--pid '-5': not a process id" '' -p -5
usage "--pid '99999999999': not a process id" '' -p 99999999999
usage "--pid ''" '' -p ''
usage "--pid 'x'" 'pgrep' -p 1,x
usage "--duration '5x': not a duration" '200ms' -d 5x
usage "--duration '0': must be above 0" '' -d 0
usage "--interval '-1': not a duration" '10s' -i -1
usage "--sample-rate '2'" '1/100' --sample-rate 2
usage "--sample-rate '0'" '1/100' --sample-rate 0
usage "--sample-rate 'nan'" '1/100' --sample-rate nan
usage "--sample-bytes '0': must be above 0" '' --sample-bytes 0
usage "--sample-bytes '1Q': not a size" '512K' --sample-bytes 1Q
usage "--sample-bytes '99999999999G': size out of range" '' --sample-bytes 99999999999G
usage "--probe 'x': column 1: no colon between object and function" "^hint: write it as 'libpool" --probe x
usage "--probe 'x:y': column 4: no arguments" 'size=ARG2' --probe x:y
usage "--probe 'x:y\(size=ARG7\)': column 10: not ARG1 to ARG6" 'size=ARG2' --probe 'x:y(size=ARG7)'
usage "--probe 'preset:postgre': no such preset" 'postgres, nginx, apr, cpython' --probe preset:postgre
usage "--max-depth '1001': must be at most 1000" '' --max-depth 1001
usage "--top 'many': not a number" '20' -t many
usage "--older '5x': not a duration" '200ms' -l --older 5x
usage "--older '0': must be above 0" '' -l --older 0
usage "--max-live '1Q': not a number" '512K' -l --max-live 1Q
usage "--max-live '0': must be above 0" '' -l --max-live 0
usage "--max-live '2G': must be at most 536870912" '' -l --max-live 2G
usage "--max-overhead 'x': not a percentage" 'none' --max-overhead x
usage "--output '': must not be empty" '' -o ''
usage "--user 'no such user': no such user" '' --user 'no such user' -- true
usage "--quiet: takes no value" '' --quiet=3
usage "--duration: needs a value: DUR" '' -d
usage "--pid: needs a value: LIST" '' --pid
usage "'--\?.2Jx': unknown option" '--help' $'--\033[2Jx'

# What does not go together.
usage "no COMMAND after '--'" '' --
usage "--pid: not together with a COMMAND" '' -p 1 -- true
usage "--user: needs a COMMAND" '' --user nobody
usage "--min-size: above --max-size" '' --min-size 5 --max-size 4
usage "--older: needs --live" '' --older 5s
usage "--max-live: needs --live" '' --max-live 1M
usage "--max-rows: needs --live" '' --max-rows 1M
for value in live-bytes live-count peak-bytes grown-bytes temporary-count; do
	usage "--value: all but alloc-bytes and alloc-count need --live" '' --value "$value"
done
usage "--value peak-bytes: not together with sampling" '' -l --value peak-bytes --sample-rate 0.5
usage "--value peak-bytes: not together with sampling" '' -l --value peak-bytes --sample-bytes 1K
usage "--max-overhead: not together with --live" 'without --live' --live --max-overhead 5
usage "--max-overhead '0': not a percentage" 'none' --max-overhead 0
usage "--max-overhead '101': not a percentage" 'none' --max-overhead 101
usage "--live: means nothing to 'list'" '' list -l
usage "--live: not together with --event fault" '' -l -e mmap,fault
usage "--live: --event malloc, or mmap and brk" '' -l -e malloc,brk
usage "--event 'page': unknown" 'one of: malloc' -e mmap,page
usage "--sample-rate: not together with --sample-bytes" '' --sample-rate 0.5 --sample-bytes 1K
usage "--top: means nothing to --format json" '' -t 5 -f json
usage "--format dhat: needs --live" 'add -l' -f dhat
usage "--format massif: needs --live" 'add -l' -o massif.out.12
usage "--format dhat: needs --live" 'add -l' -o /tmp/dhat.out.json.dhat.json
usage "--top: means nothing to --format json" '' -t 5 -o massif.out.json
usage "--duration: means nothing to 'list'" '' list -d 5
usage "--top: means nothing to --format pprof" '' -t 5 -o x.pprof
usage "--by: means nothing to --format pprof" '' --by function -f pprof
usage "--by: means nothing to --format massif" '' -l --by thread -o x.massif
usage "--by: means nothing to --format heaptrack" '' -l --by thread -f heaptrack
usage "--value: --format pprof is about" '' -l --value peak-bytes -o x.pb.gz
usage "list: a FILE or --pid, not both" '' list -p 1 /bin/true
usage "list: one FILE, not 'b' too" '' list a b
usage "list: --event mmap, brk and fault place no probes" '' list -e mmap
usage "--pid: means nothing to 'doctor'" '' doctor -p 1
usage "--quiet: means nothing to 'doctor'" '' doctor -q
usage "--max-rows: not together with --event mmap" '' -l -e mmap --max-rows 5
usage "--comm: name '1234567890abcdef': longer than any process name" '15 bytes' --comm 1234567890abcdef
usage "--comm: name 'a,,b': an empty pattern" '' --comm a,,b
usage "--duration: means nothing to 'doctor'" '' doctor -d 5
usage "doctor: takes options only, not 'x'" '' doctor x
for option in '-d 5' '-o x' '-f json' '--by process' '-t 5'; do
	# Words of one option, split on purpose.
	usage "means nothing to 'top'" '' top $option
done
usage "top: takes options only, not 'sqlite3'" '^hint: .*allocsnoop top -- sqlite3$' top sqlite3 a.db
usage "no COMMAND after '--'" '' top --
usage "--pid: not together with a COMMAND" '' top -p 1 -- true
usage "--value: 'top' has no column for it" 'live-bytes' top -l --value peak-bytes
usage "--older: needs --live" '' top --older 5s
usage 'top: standard input is not a terminal' 'allocsnoop -i 1s' top
usage "--format folded: 'doctor' has no such format" 'text or json' doctor -f folded

# Views, and saved profiles.
usage "--focus '\(': Unmatched \(" '' --focus '(' -- touch "$TMP/ran"
usage "--ignore 'a\{1': Unmatched" '' --ignore 'a{1'
usage "--hide '\[a': Unmatched" '' report --hide '[a' x
usage "--focus '': must not be empty" '' --focus ''
[ ! -e "$TMP/ran" ] || fail "COMMAND ran with a bad regular expression"
usage "--no-inlines: needs --lines with --format text" '' --no-inlines
usage "--no-inlines: needs --lines with --format json" '' report --no-inlines -f json x
usage "--by type: for saved profiles" '' --by type
usage "--by: means nothing to --format pprof" '' merge --by process a b
usage "--value: --format pprof is about alloc-bytes" '' merge --value peak-bytes a b
usage "--duration: means nothing to 'report'" '' report -d 5 x
usage "--live: means nothing to 'merge'" '' merge -l x
usage "--pid: means nothing to 'diff'" '' diff -p 1 x y
usage "report: no FILE" "'-' is standard input" report
usage "merge: no FILE" "'-' is standard input" merge -o x
usage "diff: two profiles, OLD and NEW, not 1" '' diff a
usage "diff: two profiles, OLD and NEW, not 3" '' diff a b c
usage "'-': standard input can be read only once" '' report - a -
usage "--format 'xml': unknown" 'pprof' report -f xml a

