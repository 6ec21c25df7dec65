#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Which format -o means, where losses are told, and what a report that can't be written says, in the
# formats of other tools; and that names of the traced program harm no reader.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq jeprof python3 xmllint

dir=$TMP/dir
mkdir "$dir"
pids=()
for file in a.speedscope.json b.json c.svg d.csv e.heap; do
	background "$SNOOP" -q -o "$dir/$file" -- true
	pids+=("$BG")
done
for pid in "${pids[@]}"; do
	finish "$pid"
done
jq -e '."$schema" | test("speedscope")' "$dir/a.speedscope.json" >/dev/null || fail "-o a.speedscope.json"
jq -e '.allocsnoop == 1' "$dir/b.json" >/dev/null || fail "-o b.json"
xmllint --noout "$dir/c.svg" || fail "-o c.svg"
head -c 9 "$dir/d.csv" | grep -q '^pid,pids,' || fail "-o d.csv"
head -n 1 "$dir/e.heap" | grep -q '^--- symbol$' || fail "-o e.heap"
is_same "files left" "$(ls -A "$dir" | wc -l)" 5

for format in speedscope svg csv jeprof; do
	refused 2 "top: means nothing to --format $format" "$SNOOP" -t 3 -f $format -- true
	refused 2 "only one report of --format $format fits into standard output" "$SNOOP" -i 1s -f $format -- true
done
refused 1 "cannot write '/dev/full': No space left" "$SNOOP" -q -f svg -o /dev/full -- true
"$SNOOP" -q -f csv -- true 2>"$TMP/err" | true || :
is_same "words about a closed pipe" "$(wc -l <"$TMP/err")" 0

# A name with a separator, a newline, an escape, a quote and what isn't UTF-8.
gated "$WORK/hostile_name"
pids=()
for file in a.speedscope.json c.svg d.csv e.heap; do
	background "$SNOOP" -o "$dir/$file" --value alloc-count -p "$TARGET" </dev/null 2>"$TMP/$file.err"
	pids+=("$BG")
done
for file in a.speedscope.json c.svg d.csv e.heap; do
	until_true 30 is_tracing "$TMP/$file.err" || fail "$(cat "$TMP/$file.err")"
done
background "$SNOOP" -f svg -p "$TARGET" </dev/null >"$TMP/stream.svg" 2>"$TMP/stream.err"
stream=$BG
until_true 30 is_tracing "$TMP/stream.err" || fail "$(cat "$TMP/stream.err")"
kill -USR1 "$stream"
until_true 10 grep -q '^allocsnoop: no report now: .*use -o FILE$' "$TMP/stream.err" || fail "SIGUSR1: $(cat "$TMP/stream.err")"
release
finish "$TARGET"
finish "$stream"
xmllint --noout "$TMP/stream.svg" || fail "the SVG on standard output"
for pid in "${pids[@]}"; do
	finish "$pid"
done
is_same "the name in speedscope" "$(jq -c '.shared.frames[] | select(.file == null) | .name' "$dir/a.speedscope.json")" \
	"$(printf '%s' '"a;b\nc\u001b[31m�\"\\"')"
is_same "active profile" "$(jq -c '.profiles[.activeProfileIndex] | [.name, .endValue]' "$dir/a.speedscope.json")" '["allocations",9]'
is_same "the name in the SVG" "$(xmllint --xpath '(//*[local-name()="g"])[2]/*[local-name()="text"]/text()' "$dir/c.svg")" 'a;b�c�[31m�"\'
is_same "the name in the CSV" "$(python3 -c 'import csv, sys; print([(r["comm"], r["alloc_bytes"]) for r in
	csv.DictReader(open(sys.argv[1], newline=""), strict=True)])' "$dir/d.csv")" \
	"$(python3 -c 'print([("a;b\ufffdc\ufffd[31m\ufffd\"\\", "693")])')"
is_same "jeprof" "$(jeprof --text --alloc_objects "$dir/e.heap" 2>/dev/null | head -n 1)" "Total: 9 objects"
for file in "$dir"/*; do
	iconv -f UTF-8 -t UTF-8 "$file" >/dev/null || fail "$file is not UTF-8"
	is_same "control characters in $file" "$(tr -d '\r\n' <"$file" | LC_ALL=C grep -c '[[:cntrl:]]' || :)" 0
done
