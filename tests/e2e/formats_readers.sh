#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One recording in five formats, at the same time: what the readers of each say (jeprof, a CSV reader,
# speedscope's schema and page, a browser) is what JSON and the program's own books say, to the byte.
. "$(dirname "$0")/../harness/lib.sh"
. "$TREE/tests/harness/formats.sh"
need_root
need jq jeprof python3 xmllint
need_browser

# record OUT OPTIONS...: begins to write the target's profile in each format.
formats=(speedscope.json svg csv heap)
record() {
	local format
	attach "$TMP/$1.json" -p "$TARGET" "${@:2}"
	others=()
	for format in "${formats[@]}"; do
		background "$SNOOP" -o "$TMP/$1.$format" -p "$TARGET" "${@:2}" </dev/null 2>"$TMP/$1.$format.err"
		others+=("$BG")
	done
	for format in "${formats[@]}"; do
		until_true 30 is_tracing "$TMP/$1.$format.err" || {
			show "$TMP/$1.$format.err"
			fail "allocsnoop -o $1.$format does not begin"
		}
	done
}

recorded() { # OUT
	local pid
	finish "$TARGET"
	attached_done "$TMP/$1.json"
	for pid in "${others[@]}"; do
		finish "$pid"
	done
	losses_are_zero "$TMP/$1.json"
}

# jeprof_total FILE OPTION: the number in its first line.
jeprof_total() {
	jeprof --text --show_bytes "$2" "$1" 2>"$TMP/jeprof.err" | sed -n '1s/^Total: \([0-9]*\) .*/\1/p'
}

# ---- live ----

gated "$WORK/churn" 2 40 3000 0 0
record live -l
release
recorded live
as_expected "$TMP/live.json" "$TARGET_OUT"
read -r alloc_count alloc_bytes < <(total "$TMP/live.json")
read -r live_count live_bytes < <(total "$TMP/live.json" live)
read -r site_count site_bytes < <(awk '$1 == "live" && $2 == "site_007" { print $3, $4 }' "$TARGET_OUT")
[ "$live_bytes" -ge "$site_bytes" ] && [ "$site_bytes" -gt 0 ] || fail "nothing is live"

is_same "values of speedscope" "$(jq -c '[.profiles[] | .name, .unit, .endValue]' "$TMP/live.speedscope.json")" \
	"$(jq -nc '["allocated bytes", "bytes", $ab, "allocations", "none", $ac, "live bytes", "bytes", $lb,
		"live blocks", "none", $lc, "bytes at the peak", "bytes", $pb, "temporary blocks", "none", $t]' \
		--argjson ab "$alloc_bytes" --argjson ac "$alloc_count" --argjson lb "$live_bytes" --argjson lc "$live_count" \
		--argjson pb "$(ask "$TMP/live.json" '[.stacks[].peak_bytes] | add')" \
		--argjson t "$(ask "$TMP/live.json" .totals.temporary_count)")"
is_same "site_007 in speedscope" "$(jq '.shared.frames as $f | .profiles[.activeProfileIndex] | [.samples, .weights] |
	transpose | map(select(any(.[0][]; $f[.].name == "site_007"))[1]) | add' "$TMP/live.speedscope.json")" "$site_bytes"
read_by speedscope "$TMP/live.speedscope.json" site_007 >"$TMP/page" &
page=$!
read_by svg "$TMP/live.svg" site_007 >"$TMP/image" &
image=$!

wait "$page"
grep -q 'KB .* site_007$' "$TMP/page" || fail "speedscope's page says '$(cat "$TMP/page")' of site_007"

xmllint --noout "$TMP/live.svg" || fail "the SVG is not XML"
wait "$image"
grep -qE "^live bytes: .*\($live_bytes bytes\), 100.0 %, in $live_count blocks" "$TMP/image" &&
	grep -qE "^live bytes: .*\($site_bytes bytes\).*, in $site_count blocks" "$TMP/image" ||
	fail "tooltips: '$(cat "$TMP/image")', not $live_bytes in $live_count, $site_bytes in $site_count"

python3 - "$TMP/live.csv" >"$TMP/sums" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline=''), strict=True))
def sums(what, rows):
    return ' '.join(str(sum(int(r[what + n]) for r in rows)) for n in ('_count', '_bytes'))
print(sums('alloc', rows), sums('live', rows), sums('freed', rows), sums('exit', rows))
print(sums('live', [r for r in rows if 'site_007' in r['stack'].split(';')]))
assert all(None not in r and None not in r.values() for r in rows)
assert all(r['stack'].split(';')[-1] == r['allocator'] for r in rows)
PYTHON
is_same "sums of the CSV" "$(sed -n 1p "$TMP/sums")" \
	"$(total "$TMP/live.json") $(total "$TMP/live.json" live) $(total "$TMP/live.json" freed) $(total "$TMP/live.json" exit)"
is_same "site_007 in the CSV" "$(sed -n 2p "$TMP/sums")" "$site_count $site_bytes"

heap=$TMP/live.heap
is_same "jeprof's totals" "$(for what in --inuse_space --inuse_objects --alloc_space --alloc_objects; do
	jeprof_total "$heap" $what
done | paste -sd ' ')" "$live_bytes $live_count $alloc_bytes $alloc_count"
# It leaves out the frames of allocators; what is left of a stack begins with its caller.
is_same "site_007 in jeprof" "$(jeprof --text --show_bytes "$heap" 2>/dev/null | awk '$NF == "site_007" { print $1 }')" "$site_bytes"
[ ! -s "$TMP/jeprof.err" ] || ! grep -vE '^Using local file' "$TMP/jeprof.err" || fail "jeprof complains"
# Without our names, by the files.
sed '1,/^--- heap$/d' "$heap" >"$TMP/bare.heap"
is_same "site_007 in jeprof, by the file" "$(jeprof --text --cum --show_bytes --add_lib="$WORK/churn" "$WORK/churn" "$TMP/bare.heap" 2>/dev/null |
	awk '$NF == "site_007" { print $4 }')" "$site_bytes"

# ---- without frees ----

formats=(speedscope.json heap)
gated "$WORK/cxx_family"
record alloc
release
recorded alloc
as_expected "$TMP/alloc.json" "$TARGET_OUT"
heap=$TMP/alloc.heap
is_same "jeprof's totals" "$(jeprof_total "$heap" --alloc_objects) $(jeprof_total "$heap" --alloc_space)" "$(total "$TMP/alloc.json")"
is_same "what is in use" "$(jeprof_total "$heap" --inuse_space)" ""
grep -q '^WARNING: only allocations were recorded.*--alloc_space' "$TMP/jeprof.err" || fail "jeprof does not say what to do"
is_same "values of speedscope" "$(jq -c '[.profiles[].endValue]' "$TMP/alloc.speedscope.json")" \
	"[$(total "$TMP/alloc.json" | awk '{ print $2 "," $1 }')]"
