#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A saved profile of a real program, written in every format: what each one's own reader makes of it is what JSON
# has, to the byte (go tool pprof, jeprof, heaptrack_print, ms_print, DHAT's viewer and ours in a browser, speedscope's
# schema, a CSV reader, the grammar of folded stacks). The same of all that can be asked of a saved profile: views,
# groups, estimates, differences, sums, and nothing at all.
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/formats.sh"
. "$(dirname "$0")/../harness/pprof.sh"
need_root
need jq go jeprof heaptrack_print ms_print python3
need_browser
export DH_VIEW=/usr/libexec/valgrind/dh_view.html
[ -e $DH_VIEW ] || skip "no dh_view.html here"

VALUES='alloc-bytes alloc-count live-bytes live-count'

report() { # OUT FORMAT OPTIONS-AND-FILES...
	"$SNOOP" report -q -f "$2" -o "$1.$2" "${@:3}" 2>"$TMP/report.err" || {
		show "$TMP/report.err"
		fail "report -f $2 ${*:3}"
	}
}

# What readers say, `NAME SUM` a line, is what JSON has.
agrees() { # WHAT SUMS JSON-SUMS
	[ -s "$2" ] || fail "$1 says nothing"
	grep -vxFf "$3" "$2" >"$TMP/others" || return 0
	fail "$1 says $(paste -sd, "$TMP/others"), JSON $(paste -sd, "$3")"
}

# ---- readers ----

by_pprof() { # FILE
	paste -d ' ' <(printf '%s\n' alloc_count alloc_bytes live_count live_bytes) <(raw_sums "$1" | tr ' ' '\n')
}

by_jeprof() { # FILE
	local what
	for what in alloc_space:alloc_bytes alloc_objects:alloc_count inuse_space:live_bytes inuse_objects:live_count; do
		echo "${what#*:} $(jeprof --text --show_bytes --"${what%:*}" "$1" 2>/dev/null | sed -n '1s/^Total: \([0-9]*\) .*/\1/p')"
	done
}

by_heaptrack() { # FILE
	local what
	for what in allocations:alloc_count temporary:temporary_count leaked:live_bytes peak:peak_bytes; do
		heaptrack_print --disable-builtin-suppressions -f "$1" -p 0 -a 0 -T 0 -l 0 -F "$TMP/heaptrack" \
			--flamegraph-cost-type "${what%:*}" >/dev/null
		echo "${what#*:} $(awk '{ sum += $NF } END { printf "%d\n", sum }' "$TMP/heaptrack")"
	done
}

by_massif() { # FILE
	ms_print --threshold=0 "$1" >"$TMP/ms_print"
	paste -d ' ' <(printf '%s\n' peak_bytes live_bytes) \
		<(sed -n 's/^[^(]*(\([0-9,]*\)B) (heap allocation functions).*/\1/p' "$TMP/ms_print" | tr -d ,)
}

# all_readers NAME...: what each format's reader says of NAME.pb.gz.
all_readers() {
	local at name format members=(alloc_count alloc_bytes live_count live_bytes freed_count freed_bytes
		peak_count peak_bytes temporary_count grown_bytes) pages=()
	for name; do
		at=$TMP/$name
		for format in json pprof jeprof heaptrack massif dhat speedscope csv html; do
			report "$at" $format "$at.pb.gz"
		done
		report "$at" svg --value live-bytes "$at.pb.gz"
		losses_are_zero "$at.json"
		jq -r '.stacks as $stacks | $ARGS.positional[] as $name | "\($name) \([$stacks[][$name] | [., 0] | max] | add // 0)"' \
			"$at.json" --args "${members[@]}" >"$at.sums"
		for format in pprof jeprof heaptrack massif; do
			by_$format "$at.$format" >"$at.$format.sums"
			agrees "$format of $name" "$at.$format.sums" "$at.sums"
		done
		pages+=("$at".{html,svg,speedscope,dhat})
	done
	read_by totals "${pages[@]}" >"$TMP/browser"
	for name; do
		for format in html svg speedscope dhat; do
			sed -n "s/^$name\.$format //p" "$TMP/browser" >"$TMP/$name.$format.sums"
			agrees "$format of $name" "$TMP/$name.$format.sums" "$TMP/$name.sums"
		done
		[ "$(wc -l <"$TMP/$name.html.sums")" -ge 8 ] || fail "the page of $name shows $(paste -sd, "$TMP/$name.html.sums")"
	done
}

saved_again() { # PATH OPTIONS-AND-FILES...
	report "$1" pprof "${@:2}"
	report "$1.again" json "$1.pprof"
	cmp -s <(jq -c '[.totals, .losses]' "$1.json") <(jq -c '[.totals, .losses]' "$1.again.json") ||
		fail "saved and read again, ${1##*/} is another"
}

# Of whatever options, without readers that take their time: files to be added up in the end.
files=()
all_files() { # NAME FORMATS OPTIONS-AND-FILES...
	local at=$TMP/$1 format value
	for format in json $2; do
		report "$at" "$format" "${@:3}"
	done
	files+=("$at.json")
	for format in $2; do
		files+=("$at.$format")
	done
	[ "$3" = --by ] || saved_again "$at" "${@:3}"
	for value in $VALUES; do
		for format in folded svg; do
			report "$at.$value" $format --value "$value" "${@:3}"
			files+=("$at.$value.$format")
		done
	done
}

# ---- a program with threads, inlined functions, recursion, blocks of no bytes ----

cat >"$MADE/threads.cc" <<'CC'
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

template <class T> struct Cache {
	std::map<T, std::string> all;
	void fill(int n)
	{
		for (int i = 0; i < n; i++)
			all[T(i)] = std::string(40 + i % 200, 'x');
	}
};

static void *volatile kept[1000];

__attribute__((noinline)) int walk(int depth)
{
	std::string s(100, 'a');

	return depth ? walk(depth - 1) + (int)s.size() : 0;
}

static void worker(int id)
{
	Cache<long> cache;

	for (int i = 0; i < 5; i++) {
		cache.fill(300);
		walk(60 + id);
	}
	for (int i = 0; i < 200; i++)
		kept[id * 200 + i] = malloc(i % 3 * i);
	for (int i = 0; i < 100; i++)
		free(kept[id * 200 + i]);
}

int main()
{
	std::vector<std::thread> all;

	for (int i = 0; i < 4; i++)
		all.emplace_back(worker, i);
	for (auto &one : all)
		one.join();
	for (int i = 0; i < 100; i++)
		free(kept[800 + i] = malloc(1 << 20));
}
CC
echo 'struct { int a; } b[9];' >"$MADE/one.c"
g++ -O2 -g -pthread -o "$MADE/threads" "$MADE/threads.cc"
# They end one after the other, as the kernel takes their probes away; the readers don't wait for that.
recorded=()
record() { # NAME OPTIONS -- COMMAND...
	background "$SNOOP" -q -o "$TMP/$1.pb.gz" "${@:2}"
	recorded+=("$BG")
}
record threads -l -i 20ms --by thread -- "$MADE/threads"
script='import json; kept = json.loads(json.dumps(list(range(2000))))'
record python3 -l -- python3 -c "$script # $(printf 'whose command line is long %.0s' {1..9})"
record gcc -l -- gcc -O1 -pipe -c -x c -o /dev/null "$MADE/one.c"
record sampled -l --sample-rate 0.3 -- "$MADE/threads"
record alloc -- "$MADE/threads"
for pid in "${recorded[@]}"; do
	finish "$pid"
done
all_readers threads python3 gcc

# ---- views and groups ----

several='csv speedscope svg html dhat jeprof massif'
saved=$TMP/threads.pb.gz
VALUES="$VALUES peak-bytes grown-bytes temporary-count" all_files plain "$several" "$saved"
VALUES='alloc-bytes live-count'
all_files lines "$several" --lines "$saved"
all_files focus "$several" --lines --focus 'walk|fill' "$saved"
all_files ignore "$several" --ignore walk "$saved"
all_files hide "$several" --hide 'operator new|malloc|thread' "$saved"
all_files hide_all "$several" --hide . "$saved"
all_files nothing "csv html dhat jeprof" --focus 'no function has this name' "$saved"
all_files one 'csv speedscope svg html dhat jeprof' --focus main --hide . "$saved"
for key in function file process thread size; do
	all_files "by_$key" 'csv speedscope svg html dhat jeprof' --by $key "$saved"
done
all_files gcc_by_process 'csv speedscope svg html dhat jeprof' --by process "$TMP/gcc.pb.gz"

# Threads are seen where they were asked for, in each format that has frames.
for format in json csv alloc-bytes.folded alloc-bytes.svg speedscope html dhat jeprof; do
	tids=$(grep -oE "$(jq -r '[.stacks[].tid // empty | tostring] | unique | join("|")' "$TMP/by_thread.json")" \
		"$TMP/by_thread.$format" | sort -u | wc -l)
	[ "$tids" -ge 5 ] || fail "$tids threads in $format"
done
! grep -q tid "$TMP/plain.dhat" || fail "threads, although nobody asked"

# ---- sums, differences, estimates ----

all_files merged "$several" "$saved" "$TMP/python3.pb.gz" "$TMP/gcc.pb.gz"
all_files sampled 'csv speedscope svg html dhat jeprof massif' "$TMP/sampled.pb.gz"
"$SNOOP" diff -q -o "$TMP/diff.pb.gz" "$TMP/sampled.pb.gz" "$saved"
all_files diff 'csv speedscope svg html jeprof' "$TMP/diff.pb.gz"
for format in dhat massif heaptrack; do
	refused 1 "format $format: has no place for differences" "$SNOOP" report -f $format "$TMP/diff.pb.gz"
done
VALUES='alloc-bytes alloc-count'
all_files alloc 'csv speedscope svg html jeprof' "$TMP/alloc.pb.gz"

python3 "$TREE/tests/harness/sums.py" "${files[@]}" >"$TMP/agree" || {
	show "$TMP/agree"
	fail "sums differ"
}
is_same "files that agree" "$(tail -n 1 "$TMP/agree")" "${#files[@]} agree"
