#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Reports on the way: SIGUSR1 and intervals never go back and end at the truth; SIGINT and SIGTERM give
# one report more; a reader that goes away ends it quietly.
. "$(dirname "$0")/../harness/lib.sh"
need_root
page=$TMP/page

start() { # OUT OPTIONS: JSON to standard output
	counter_file "$page"
	gated "$WORK/counter" "$page"
	background "$SNOOP" -f json -p "$TARGET" "${@:2}" </dev/null >"$1" 2>"$1.err"
	SNOOP_PID=$BG
	until_true 30 attached_or_gone "$SNOOP_PID" "$1.err"
	is_tracing "$1.err" || fail "$(cat "$1.err")"
	release
}

reports() { # FILE N: that many are complete
	[ "$(jq -s length "$1" 2>/dev/null || echo 0)" -ge "$2" ]
}

monotone() { # FILE
	is_same "totals in ${1##*/} go back" "$(jq -s '[.[].totals.alloc_count] | . != sort' "$1")" false
}

start "$TMP/usr1.json"
for n in 1 2 3; do
	until_true 30 counted_past "$page" $((n * 1500))
	kill -USR1 "$SNOOP_PID"
	until_true 20 reports "$TMP/usr1.json" "$n" || fail "no report after SIGUSR1 number $n"
	! gone_or_zombie "$SNOOP_PID" || fail "SIGUSR1 ended it"
done
kill -TERM "$SNOOP_PID"
finish "$SNOOP_PID"
is_same "reports" "$(jq -s length "$TMP/usr1.json")" 4
monotone "$TMP/usr1.json"
is_same "the target lives" "$(process_state "$TARGET" | tr SR RR)" R
counter_stop "$page"
finish "$TARGET"

start "$TMP/interval.json" -i 200ms
until_true 30 reports "$TMP/interval.json" 3 || fail "no three reports"
counter_stop "$page"
finish "$TARGET"
finish "$SNOOP_PID"
monotone "$TMP/interval.json"
count=$(counter_read "$page")
is_same "the last report" "$(jq -s -r '.[-1].totals | "\(.alloc_count) \(.alloc_bytes)"' "$TMP/interval.json")" "$count $((count * 64))"

start "$TMP/int.json"
until_true 30 counted_past "$page" 1000
kill -INT "$SNOOP_PID"
finish "$SNOOP_PID"
is_same "reports after SIGINT" "$(jq -s length "$TMP/int.json")" 1
counter_stop "$page"
finish "$TARGET"

# A pipe that is closed: nothing but the line about what is traced may be said.
"$SNOOP" -f folded -- "$WORK/fan" 12 10 </dev/null 2>"$TMP/head.err" | head -n 1 >"$TMP/head.out" || :
is_same "lines read" "$(wc -l <"$TMP/head.out")" 1
is_same "complaints" "$(grep -vE 'tracing .*sites?' "$TMP/head.err" || :)" ""
