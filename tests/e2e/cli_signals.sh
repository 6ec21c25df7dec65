#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# SIGINT and SIGTERM end with one report, a second one quits at once, SIGUSR1 reports and goes on, a
# closed pipe ends quietly, intervals never go back.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq perl

sleep 1000 & target=$!

# begin OUT ARGS...: starts allocsnoop with its reports in OUT, returns when it counts.
begin() {
	local out=$1
	shift
	background "$SNOOP" -f json "$@" </dev/null >"$out" 2>"$out.err"
	SNOOP_PID=$BG
	until_true 30 attached_or_gone "$SNOOP_PID" "$out.err"
	is_tracing "$out.err" || { show "$out.err"; fail "allocsnoop $*: does not begin"; }
}

reports_are() { # FILE COUNT
	is_same "reports in ${1##*/}" "$(jq -s length "$1")" "$2"
}

has_reports() { # FILE COUNT
	[ "$(jq -s length "$1" 2>/dev/null)" = "$2" ]
}

for sig in INT TERM; do
	begin "$TMP/$sig" -p "$target"
	kill -"$sig" "$SNOOP_PID"
	finish "$SNOOP_PID"
	reports_are "$TMP/$sig" 1
	case $(process_state "$target") in X | Z) fail "SIG$sig ended the target" ;; esac
done

# timeout(1) sends its signal twice in a row; that is one wish.
timeout -s INT 5 "$SNOOP" -f json -p "$target" </dev/null >"$TMP/timeout" 2>/dev/null || :
reports_are "$TMP/timeout" 1

# COMMAND outlives the recording: status 0, and it runs on.
begin "$TMP/survivor" -- sleep 1000
child=$(pgrep -P "$SNOOP_PID" -x sleep)
kill -TERM "$SNOOP_PID"
finish "$SNOOP_PID"
case $(process_state "$child") in X | Z) fail "COMMAND ended with allocsnoop" ;; esac
kill -KILL "$child"
reports_are "$TMP/survivor" 1

# SIGUSR1: a report now, and on.
begin "$TMP/usr1" -p "$target"
for cnt in 1 2; do
	kill -USR1 "$SNOOP_PID"
	until_true 20 has_reports "$TMP/usr1" "$cnt" || fail "no report on SIGUSR1"
done
kill -INT "$SNOOP_PID"
finish "$SNOOP_PID"
reports_are "$TMP/usr1" 3
jq -se 'map(.duration_ns) | . == sort' "$TMP/usr1" >/dev/null || fail "time went back"

# A file holds the latest report, whole.
begin "$TMP/stdout" -o "$TMP/latest.json" -p "$target"
kill -USR1 "$SNOOP_PID"
until_true 20 has_reports "$TMP/latest.json" 1 || fail "no report in the file on SIGUSR1"
kill -INT "$SNOOP_PID"
finish "$SNOOP_PID"
reports_are "$TMP/latest.json" 1
[ ! -s "$TMP/stdout" ] || fail "-o writes to standard output too"

# Intervals: sums since the start.
"$SNOOP" -q -f json -i 200ms -- perl -e \
	'for (1 .. 100) { push @a, "x" x 10000; select undef, undef, undef, 0.01 }' >"$TMP/interval"
[ "$(jq -s length "$TMP/interval")" -ge 3 ] || fail "-i 200ms gave less than 3 reports in a second"
jq -se 'map(.totals.alloc_count) as $n | $n == ($n | sort) and $n[-1] > $n[0]' "$TMP/interval" >/dev/null ||
	fail "totals went back: $(jq -c .totals.alloc_count "$TMP/interval")"
"$SNOOP" -q -f text -i 200ms -d 500ms -p "$target" >"$TMP/text"
[ "$(grep -cE '^--- [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} ---$' "$TMP/text")" -ge 2 ] ||
	fail "no lines with the time between reports"

# A closed pipe: a quiet end, not a report of its own.
begin_pipe() {
	local status=0
	# SIGPIPE as a shell at a terminal has it, whatever started this test.
	env --default-signal=PIPE "$SNOOP" -q -f json -i 100ms -p "$target" 2>"$TMP/pipe.err" || status=$?
	echo "$status" >"$TMP/pipe.status"
}
begin_pipe | head -c 1 >/dev/null
case $(cat "$TMP/pipe.status") in 0 | 141) ;; *) fail "a closed pipe ends with $(cat "$TMP/pipe.status")" ;; esac
[ ! -s "$TMP/pipe.err" ] || fail "a closed pipe is complained about: $(cat "$TMP/pipe.err")"

# A second signal quits at once, here out of a write that nobody reads.
mkfifo "$TMP/full"
exec 4<>"$TMP/full"
head -c 65536 /dev/zero >&4
background "$SNOOP" -f json -p "$target" </dev/null >"$TMP/full" 2>"$TMP/second.err" 4>&-
pid=$BG
until_true 30 is_tracing "$TMP/second.err" || fail "does not begin"
in_write() { # __NR_write to standard output
	[[ $(cat "/proc/$pid/syscall") == '1 0x1 '* ]]
}
kill -INT "$pid"
until_true 20 in_write || fail "does not come to its report"
sleep 0.2 # two signals within 100 ms are one wish
kill -INT "$pid"
finish "$pid" 130
