#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One of two processes with the same libc is traced: the other is in no number and is not slowed; that the
# traced one is slowed is said once.
. "$(dirname "$0")/../harness/lib.sh"
need_root

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
[ $((during * 10)) -ge $((full * 7)) ] || fail "the other one: $during turns/ms while tracing, $full before"

until_true 20 grep -q -- --max-overhead "$TMP/out.json.err" || fail "no warning that the target is slowed"
counter_stop "$TMP/traced"
finish "$traced"
attached_done "$TMP/out.json"
is_same "warnings" "$(grep -c -- --max-overhead "$TMP/out.json.err")" 1
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
[ $((during * 10)) -ge $((full * 7)) ] || fail "beside a command: $during turns/ms while tracing, $full before"
counter_stop "$TMP/traced"
finish "$SNOOP_PID"
sound "$TMP/command.json"
count=$(counter_read "$TMP/traced")
is_same "all of the command" "$(total "$TMP/command.json")" "$count $((count * 64))"
counter_stop "$TMP/other"
finish "$other"
