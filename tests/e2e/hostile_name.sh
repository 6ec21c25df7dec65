#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process named with separators, an escape sequence, a newline and a byte that is not UTF-8 breaks no
# format and reaches no terminal.
. "$(dirname "$0")/../harness/lib.sh"
need_root

gated "$WORK/hostile_name"
attach "$TMP/out.json" -p "$TARGET"
background "$SNOOP" -f folded --value alloc-count -o "$TMP/out.folded" -p "$TARGET" </dev/null 2>"$TMP/folded.err"
folded=$BG
background "$SNOOP" -f text -o "$TMP/out.txt" -p "$TARGET" </dev/null 2>"$TMP/text.err"
text=$BG
for err in folded text; do
	until_true 30 attached_or_gone "${!err}" "$TMP/$err.err"
	is_tracing "$TMP/$err.err" || fail "$(cat "$TMP/$err.err")"
done
release
finish "$TARGET"
attached_done "$TMP/out.json"
finish "$folded"
finish "$text"

is_same "name in JSON" "$(ask "$TMP/out.json" 'at_site("hostile_work")[].comm == "a;b\nc\u001b[31m\ufffd\"\\"')" true
stack_is "$TMP/out.json" "hostile_work main" 9 693
is_same "folded lines" "$(wc -l <"$TMP/out.folded")" "$(ask "$TMP/out.json" '.stacks | length')"
is_same "root of the folded line" "$(grep -c '^a:b[^;]*;.*main;hostile_work;malloc 9$' "$TMP/out.folded")" 1
for file in out.txt out.folded out.json text.err folded.err; do
	iconv -f UTF-8 -t UTF-8 "$TMP/$file" >/dev/null || fail "$file is not UTF-8"
	is_same "control characters in $file" "$(tr -d '\n\t' <"$TMP/$file" | LC_ALL=C grep -c '[[:cntrl:]]' || :)" 0
done
