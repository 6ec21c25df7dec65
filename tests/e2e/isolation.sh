#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One of two processes with the same libc is traced: the other is in no number and is not slowed; that the
# traced one is slowed is said once.
# alone: measures how fast a process runs
. "$(dirname "$0")/../harness/lib.sh"
need_root

# What the warning says that a call costs.
call_ns() { # PROFILE
	sed -nE 's/.* while traced \(([0-9]+)\.([0-9]) us a call\).*/\1\200/p' "$1.err" | sed 's/^0*//'
}

# A probe makes it ten times slower, the load on the core's other thread by a third.
not_trapped() {
	[ $((during * 2)) -ge "$full" ]
}

counter_file "$TMP/traced"
counter_file "$TMP/other"
gated "$WORK/counter" "$TMP/other"
other=$TARGET
release
gated "$WORK/counter" "$TMP/traced"
traced=$TARGET
until_true 20 counted_past "$TMP/other" 100000
full=$(counter_speed "$TMP/other" "$other")

attach "$TMP/out.json" -p "$traced"
release
until_true 30 counted_past "$TMP/traced" 10000
during=$(counter_speed "$TMP/other" "$other")
not_trapped || fail "the other one: $during turns/ms while tracing, $full before"

until_true 20 grep -q -- --max-overhead "$TMP/out.json.err" || fail "no warning that the target is slowed"
counter_stop "$TMP/traced"
finish "$traced"
attached_done "$TMP/out.json"
is_same "warnings" "$(grep -c -- --max-overhead "$TMP/out.json.err")" 1
told=$(call_ns "$TMP/out.json")
count=$(counter_read "$TMP/traced")
is_same "all of the traced one" "$(total "$TMP/out.json")" "$count $((count * 64))"
is_same "processes" "$(ask "$TMP/out.json" '.processes[].pid')" "$traced"
counter_stop "$TMP/other"
finish "$other"

# The same for a command: what runs beside it stays outside.
counter_file "$TMP/other"
gated "$WORK/counter" "$TMP/other"
other=$TARGET
release
until_true 20 counted_past "$TMP/other" 100000
full=$(counter_speed "$TMP/other" "$other")
counter_file "$TMP/traced"
attach "$TMP/command.json" -- "$WORK/counter" "$TMP/traced"
until_true 30 counted_past "$TMP/traced" 10000
during=$(counter_speed "$TMP/other" "$other")
not_trapped || fail "beside a command: $during turns/ms while tracing, $full before"
counter_stop "$TMP/traced"
finish "$SNOOP_PID"
sound "$TMP/command.json"
count=$(counter_read "$TMP/traced")
is_same "all of the command" "$(total "$TMP/command.json")" "$count $((count * 64))"
counter_stop "$TMP/other"
finish "$other"

# With --live there are three probes where there was one.
counter_file "$TMP/traced"
gated "$WORK/counter" "$TMP/traced"
attach "$TMP/live.json" -l -p "$TARGET"
release
until_true 30 grep -q -- --max-overhead "$TMP/live.json.err" || fail "no warning with --live"
counter_stop "$TMP/traced"
finish "$TARGET"
attached_done "$TMP/live.json"
live=$(call_ns "$TMP/live.json")
[ $((live * 2)) -ge $((told * 3)) ] || fail "a call costs $live ns with --live, $told ns without?"
