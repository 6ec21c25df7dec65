#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Exit statuses, what COMMAND receives, and what is said on standard error while recording.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq

# status_of WANTED ARGS...
status_of() {
	local is=0 want=$1
	shift
	"$SNOOP" -q -f json "$@" </dev/null >"$TMP/out" 2>"$TMP/err" || is=$?
	[ "$is" = "$want" ] || {
		show "$TMP/err"
		fail "'$*': status $is, not $want"
	}
}

status_of 0 -- true
status_of 7 -- sh -c 'exit 7'
status_of 137 -- sh -c 'kill -9 $$'
status_of 143 -- sh -c 'kill -TERM $$'
jq -e '.allocsnoop == 1' "$TMP/out" >/dev/null || fail "no report for a command that was killed"
[ ! -s "$TMP/err" ] || fail "-q is not quiet: $(cat "$TMP/err")"

refused 1 'no-such-command' "$SNOOP" -- ./no-such-command
sleep 0 & gone=$!
wait "$gone"
refused 1 "$gone" "$SNOOP" -p "$gone" -d 1s

# COMMAND's words arrive as they are: options behind it and behind -- are its own.
"$SNOOP" -q -o "$TMP/x.json" -- printf '<%s>' -p --live '' 'a b' -- >"$TMP/words"
is_same "COMMAND's words" "$(cat "$TMP/words")" '<-p><--live><><a b><-->'
status_of 0 --user nobody -- sh -c 'test "$(id -un)" = nobody'

# The end by time: the target goes on.
sleep 1000 & target=$!
start=${EPOCHREALTIME/./}
status_of 0 -d 300ms -p "$target"
[ $((${EPOCHREALTIME/./} - start)) -ge 300000 ] || fail "-d 300ms ended early"
case $(process_state "$target") in X | Z) fail "-d ended the target" ;; esac

# One line at the start where there is no terminal; none with -q.
"$SNOOP" -d 100ms -p "$target" >/dev/null 2>"$TMP/err"
is_same "the first words" "$(grep -cE '^tracing 1 process, [0-9]+ sites?; Ctrl-C for the report$' "$TMP/err")" 1
# What COMMAND maps is waited for.
"$SNOOP" -o "$TMP/z.json" -- sleep 0.7 2>"$TMP/err"
is_same "the first words of a COMMAND" "$(grep -cE '^tracing 1 process, [1-9][0-9]* sites; ' "$TMP/err")" 1
"$SNOOP" -v -d 100ms -p "$target" >/dev/null 2>"$TMP/err"
[ "$(wc -l <"$TMP/err")" -gt 1 ] || fail "-v says nothing"

# On a terminal: one line, redrawn and erased, and no line at the start.
if command -v script >/dev/null; then
	script -qec "$SNOOP -d 1s -f json -o $TMP/y.json -p $target" /dev/null </dev/null >"$TMP/screen"
	grep -q 'events/s' "$TMP/screen" || fail "no progress line on a terminal"
	if grep -q '^tracing' "$TMP/screen"; then fail "the first words on a terminal"; fi
	# Erased: blanks from the first column, and the cursor back there.
	tail -c 20 "$TMP/screen" | grep -qE $'^ +\r$' || fail "the line is not erased"
fi

# Under sudo a COMMAND that becomes root is told of.
SUDO_USER=nobody "$SNOOP" -o "$TMP/z.json" -- true 2>"$TMP/err"
grep -q '^hint: .*--user nobody' "$TMP/err" || fail "no hint at --user under sudo"
SUDO_USER=nobody "$SNOOP" -o "$TMP/z.json" --user nobody -- true 2>"$TMP/err"
if grep -q '^hint: .*--user' "$TMP/err"; then fail "a hint at --user that was given"; fi
