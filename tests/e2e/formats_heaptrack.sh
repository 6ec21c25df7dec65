#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# heaptrack's file, read by heaptrack_print: allocations, temporary ones, the peak and what is left are, to the byte,
# what the same recording says in JSON, and what programs say of themselves.
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/formats.sh"
need_root
need heaptrack_print
formats_build

# folded FILE COST: of each stack, as flame graphs take it. heaptrack leaves out leaks of libraries that it knows.
folded() {
	heaptrack_print --disable-builtin-suppressions -f "$1" -p 0 -a 0 -T 0 -l 0 -F "$1.$2" \
		--flamegraph-cost-type "$2" >"$1.print" 2>"$1.err" || fail "heaptrack_print of ${1##*/}: $(cat "$1.err")"
	[ ! -s "$1.err" ] || fail "heaptrack_print of ${1##*/}: $(head -3 "$1.err")"
}

sum() { # FILE COST [FUNCTION]
	awk -v leaf=";${3:-};" -v any="${3:-}" '
		{ value = $NF; sub(/ [0-9]+$/, ""); line = ";" $0 }
		any == "" || substr(line, length(line) - length(leaf) + 1) == leaf { sum += value }
		END { printf "%d\n", sum }' "$1.$2"
}

agrees() { # PATH
	local cost sums calls temporary print=$1.heaptrack.print
	local costs=(allocations temporary leaked peak)
	read -ra sums < <(json_sums "$1.json" alloc_count temporary_count live_bytes peak_bytes)
	for cost in 0 1 2 3; do
		folded "$1.heaptrack" "${costs[cost]}"
		is_same "${costs[cost]} of ${1##*/}" "$(sum "$1.heaptrack" "${costs[cost]}")" "${sums[cost]}"
	done
	calls=$(sed -n 's/^calls to allocation functions: \([0-9]*\).*/\1/p' "$print")
	temporary=$(sed -n 's/^temporary memory allocations: \([0-9]*\).*/\1/p' "$print")
	is_same "calls and temporary ones of ${1##*/}" "$calls $temporary" "${sums[0]} ${sums[1]}"
}

run() { # NAME COMMAND...
	formats "$TMP/$1" heaptrack 0 "${@:2}"
	agrees "$TMP/$1"
}

# Programs that keep their own books.
run times "$WORK/live_times"
while read -r word site count bytes; do
	case $word in
	temporary) is_same "temporary blocks of $site" "$(sum "$TMP/times.heaptrack" temporary "$site")" "$count" ;;
	live) is_same "live bytes of $site" "$(sum "$TMP/times.heaptrack" leaked "$site")" "$bytes" ;;
	peak)
		[ "$site" != total ] || site=
		is_same "peak of ${site:-all}" "$(sum "$TMP/times.heaptrack" peak "$site")" "$bytes"
		;;
	esac
done < <(grep -E '^(temporary|live|peak) ' "$TMP/times.stdout")
run edges "$WORK/live_edges" "$WORK/blink"
run churn "$WORK/churn" 4 50 5000 0 1

# Blocks that are temporary in eight threads at once, some of them at the peak.
cat >"$MADE/pairs.c" <<'END'
#include <pthread.h>
#include <stdlib.h>

static void *pairs(void *arg)
{
	for (size_t i = 0; i < 2000; i++) {
		void *volatile p = malloc(100 + i * 7919 % 3000);

		free(p);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, pairs, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}
END
gcc -O0 -g -pthread -o "$MADE/pairs" "$MADE/pairs.c"
run pairs "$MADE/pairs"

# A real program, with children; others when there is time.
run gcc gcc -O1 -c -o "$TMP/x.o" "$MADE/pairs.c"
if [ "$(often short long)" = long ]; then
	run nothing true
	run sqlite3 sqlite3 :memory: "create table t(a); insert into t values(hex(randomblob(100000)))"
	run perl perl -e 'my %h; $h{$_} = $_ x 3 for 1 .. 20000'
	run git git -C "$TREE" log --stat -3
	run python3 /usr/bin/python3 -c 'import json; json.dumps(list(range(1000)))'
fi

# What it isn't: found out before anything runs.
refused 2 "--format heaptrack: needs --live" "$SNOOP" -f heaptrack -- touch "$TMP/ran"
refused 2 "--format heaptrack: not together with sampling" "$SNOOP" -l -f heaptrack --sample-rate 0.5 -- touch "$TMP/ran"
refused 2 "--format heaptrack: not together with sampling" "$SNOOP" -l -f heaptrack --sample-bytes 1K -- touch "$TMP/ran"
refused 2 "--format heaptrack: not together with --older" "$SNOOP" -l -f heaptrack --older 1s -- touch "$TMP/ran"
refused 2 "--format heaptrack: not together with --event mmap" "$SNOOP" -l -f heaptrack -e mmap -- touch "$TMP/ran"
refused 2 "--by: means nothing to --format heaptrack" "$SNOOP" -l -f heaptrack --by size -- touch "$TMP/ran"
refused 2 "--value: means nothing to --format heaptrack" "$SNOOP" -l -o "$TMP/x.heaptrack" --value live-count -- touch "$TMP/ran"
[ ! -e "$TMP/ran" ] && [ ! -e "$TMP/x.heaptrack" ] || fail "a refused run ran"
"$SNOOP" -q -l -o "$TMP/x.heaptrack" -- true
grep -q '^X true$' "$TMP/x.heaptrack" || fail "-o x.heaptrack is none"
