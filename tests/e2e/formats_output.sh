#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Which format -o means, where losses are told, and what a report that can't be written says, in the
# formats of other tools; and that names of the traced program harm no reader.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq jeprof python3 xmllint

dir=$TMP/dir
mkdir "$dir"
for file in a.speedscope.json b.json c.svg d.csv e.heap; do
	"$SNOOP" -q -o "$dir/$file" -- true
done
jq -e '."$schema" | test("speedscope")' "$dir/a.speedscope.json" >/dev/null || fail "-o a.speedscope.json"
jq -e '.allocsnoop == 1' "$dir/b.json" >/dev/null || fail "-o b.json"
xmllint --noout "$dir/c.svg" || fail "-o c.svg"
head -c 9 "$dir/d.csv" | grep -q '^pid,pids,' || fail "-o d.csv"
head -n 1 "$dir/e.heap" | grep -q '^--- symbol$' || fail "-o e.heap"
is_same "files left" "$(ls -A "$dir" | wc -l)" 5

for format in speedscope svg csv jeprof; do
	refused 1 "cannot write '/dev/full': No space left" "$SNOOP" -q -f $format -o /dev/full -- true
	refused 2 "top: means nothing to --format $format" "$SNOOP" -t 3 -f $format -- true
	status=0
	"$SNOOP" -q -f $format -- true 2>"$TMP/err" | true || status=$?
	is_same "$format to a closed pipe" "$(wc -l <"$TMP/err")" 0
done

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
release
finish "$TARGET"
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
